"""`simulate`: a whole launch, from PTX text and NumPy arguments to changed arrays and counts."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tileproof.errors import SimulationError
from tileproof.simulate import syntax
from tileproof.simulate.arguments import Argument, bind, scalar_bytes
from tileproof.simulate.geometry import Extent, Geometry, Launch, extent, volume
from tileproof.simulate.grammar import parse
from tileproof.simulate.machine import Machine, Tally
from tileproof.simulate.memory import Allocation, Memory, Space, fresh, host
from tileproof.simulate.program import LIMITS, Loader, Placed, Program

DEFAULT_LIMIT = 2_000_000


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What a launch executed. Arrays that were passed hold its output.

    `issued` counts, by opcode as spelled, the warps that executed it (with at least one thread whose
    predicate was true); `executed` counts the threads. `conflicts` counts the threads whose stored bytes were
    overwritten with others by a later lane of the same warp in the same instruction; on hardware such a
    result is not determined.
    """

    kernel: str
    issued: Mapping[str, int] = field(default_factory=dict)
    executed: Mapping[str, int] = field(default_factory=dict)
    conflicts: int = 0


def simulate(
    ptx: str,
    arguments: Sequence[Argument],
    *,
    kernel: str | None = None,
    grid: int | tuple[int, ...] = 1,
    block: int | tuple[int, ...] = 32,
    cluster: int | tuple[int, ...] | None = None,
    target: str = "sm_90a",
    dynamic_shared: int = 0,
    limit: int = DEFAULT_LIMIT,
) -> SimulationResult:
    """Executes one kernel of a PTX module on the CPU.

    `arguments` match the kernel's parameters in order: a C-contiguous writable array (or a `Buffer`) for a
    pointer, which is changed in place; a number for a scalar; an array of the exact size in bytes for a
    parameter passed by value. `grid`, `block` and `cluster` are extents, x first; without `cluster` the one
    that the kernel requires is taken. `dynamic_shared` is in bytes per block. Blocks run one after another,
    the blocks of a cluster together. `limit` bounds the number of instructions issued.

    Raises `SimulationError` for PTX that cannot be read or run and for anything that the PTX ISA leaves
    undefined: a misaligned or unmapped address, a register read before it was written, an aligned instruction
    that a part of a warp executes, a barrier that never completes. The message names kernel, line,
    instruction, block, warp, lane and what was wrong.
    """
    program = _load(ptx, kernel, target)
    launch = _launch(program, grid, block, cluster, dynamic_shared)
    bound = bind(program.placed["param"], arguments, program.name)
    shared = {
        "global": _space(
            "global", [*(_initialised(one) for one in program.placed["global"]), *bound.allocations]
        ),
        "const": _space("const", [_initialised(one, writable=False) for one in program.placed["const"]]),
        "param": _space("param", _parameters(program.placed["param"], bound.parameters)),
    }
    tally = Tally(limit, limit)
    conflicts = 0
    for index in range(volume(launch.clusters)):
        geometry = Geometry(launch, index, program.static_shared)
        memory = Memory({**shared, **_private(program, launch, geometry)}, geometry.blocks)
        machine = Machine(program, geometry, memory, tally)
        machine.run()
        conflicts += machine.conflicts
    return SimulationResult(
        program.name, MappingProxyType(dict(tally.issued)), MappingProxyType(dict(tally.executed)), conflicts
    )


@functools.lru_cache(maxsize=64)
def _load(ptx: str, kernel: str | None, target: str) -> Program:
    module = parse(ptx)
    _check_target(module.targets, target)
    names = [one.name for one in module.kernels]
    if kernel is None and len(names) != 1:
        raise SimulationError(
            f"the module has {len(names)} kernels ({', '.join(names)}); say which one with kernel="
        )
    chosen = (
        module.kernels[0]
        if kernel is None
        else next((one for one in module.kernels if one.name == kernel), None)
    )
    if chosen is None:
        raise SimulationError(f"the module has no kernel {kernel!r}; it has {', '.join(names)}")
    return Loader(module, chosen, target).load()


def _check_target(wanted: Sequence[str], device: str) -> None:
    """Plain code runs on its architecture and later ones, `f` code in its family, `a` code on its own only
    (ISA 11.1.2).
    """
    pattern = re.compile(r"sm_(\d+)([af]?)")
    has = pattern.fullmatch(device)
    if has is None:
        raise SimulationError(f"target {device!r} is not an architecture such as sm_90a")
    number, suffix = int(has[1]), has[2]
    for one in wanted:
        needs = pattern.fullmatch(one)
        if needs is None:
            continue
        least = int(needs[1])
        same_family = number // 10 == least // 10 and suffix != ""
        runs = {
            "": number >= least,
            "f": number >= least and same_family,
            "a": number == least and suffix == "a",
        }[needs[2]]
        if not runs:
            raise SimulationError(
                f"PTX for {one} does not run on {device}; pass target={one!r} to simulate it there"
            )


def _launch(
    program: Program,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    cluster: int | tuple[int, ...] | None,
    dynamic_shared: int,
) -> Launch:
    directives = program.directives
    required = directives.get("reqnctapercluster")
    threads = extent(block, "block")
    blocks = extent(cluster if cluster is not None else required or 1, "cluster")
    if required and blocks != _full(required):
        raise SimulationError(
            f"kernel {program.name!r} requires clusters of {_full(required)} blocks; cluster is {blocks}"
        )
    if "reqntid" in directives and threads != _full(directives["reqntid"]):
        raise SimulationError(
            f"kernel {program.name!r} requires blocks of {_full(directives['reqntid'])} threads (.reqntid); "
            f"block is {threads}"
        )
    if "maxntid" in directives and volume(threads) > volume(_full(directives["maxntid"])):
        raise SimulationError(
            f"kernel {program.name!r} takes at most {volume(_full(directives['maxntid']))} threads "
            f"(.maxntid); block is {threads}"
        )
    if "blocksareclusters" in directives:
        raise SimulationError(
            f"kernel {program.name!r} uses .blocksareclusters, which the simulator does not know"
        )
    most = LIMITS["shared"] - program.static_shared
    if dynamic_shared > most:
        raise SimulationError(
            f"dynamic_shared is {dynamic_shared} bytes; {program.static_shared} bytes of static shared "
            f"memory leave {most}"
        )
    has_cluster = cluster is not None or required is not None
    return Launch(extent(grid, "grid"), threads, blocks, has_cluster, dynamic_shared)


def _full(numbers: tuple[int, ...]) -> Extent:
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def _space(name: str, allocations: Sequence[Allocation]) -> Space:
    space = Space(name)
    for allocation in allocations:
        space.add(allocation)
    return space


def _initialised(placed: Placed, writable: bool = True) -> Allocation:
    """A `.global` or `.const` variable of the module: its initial values, then zeros (ISA 5.4.4)."""
    data: npt.NDArray[np.uint8] = np.zeros(placed.size or 0, np.uint8)
    where = f"line {placed.variable.line}: variable {placed.variable.name!r} ({placed.type})"
    octets = b"".join(scalar_bytes(one.value, placed.type, where) for one in _constants(placed))
    if len(octets) > data.size:
        raise SimulationError(f"{where}: more initial values than elements")
    data[: len(octets)] = np.frombuffer(octets, np.uint8)
    return host(placed.variable.name, placed.address, data, writable)


def _constants(placed: Placed) -> tuple[syntax.Integer | syntax.Real, ...]:
    return placed.variable.initial


def _parameters(placed: Sequence[Placed], octets: npt.NDArray[np.uint8]) -> list[Allocation]:
    return [
        host(
            one.variable.name,
            one.address,
            octets[one.address : one.address + (one.size or 0)],
            writable=False,
        )
        for one in placed
    ]


def _private(program: Program, launch: Launch, geometry: Geometry) -> dict[str, Space]:
    """Memory that begins undefined with every block: `.shared`, one copy per block, and `.local`, one per
    thread.
    """
    shared = [
        fresh(one.variable.name, one.address, one.size, geometry.blocks)
        for one in program.placed["shared"]
        if one.size is not None
    ]
    dynamic = [one for one in program.placed["shared"] if one.size is None]
    if dynamic:
        name = " = ".join(one.variable.name for one in dynamic)
        shared.append(fresh(name, dynamic[0].address, launch.dynamic_shared, geometry.blocks))
    local = [
        fresh(one.variable.name, one.address, one.size or 0, geometry.slots)
        for one in program.placed["local"]
    ]
    return {"shared": _space("shared", shared), "local": _space("local", local)}
