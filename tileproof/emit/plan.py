"""From a proven call to the operands of each instruction: register slots, addresses and values, not yet text.

The operands come from the family's ``issue``, in the coordinates of the contract. Here each repeat gets its
constants, and group coordinates become those of the executing thread, which knows itself by its special
registers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

from tileproof.contracts.call import Call
from tileproof.contracts.families import load
from tileproof.contracts.issue import Constant, IssueOperand, Memory, Named, Predicate, Registers
from tileproof.contracts.launch import Launch, Thread
from tileproof.contracts.width import exact_points, fits, index_bits
from tileproof.emit.lower import narrow, special, width_of
from tileproof.errors import EmissionError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.index import Index, Relation, as_index, as_relation, const, leaf
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import Affine, decide, normal, simplify
from tileproof.layouts.tensor import Storage
from tileproof.layouts.traverse import leaves, substitute
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Slots:
    """Registers of one thread: their numbers, counted in registers of ``bits``; ``exact`` ones are no wider."""

    storage: Storage
    bits: int
    numbers: tuple[int, ...]
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Address:
    """In bytes: the base of ``storage`` plus ``runtime``, computed in ``bits``, plus ``displacement``."""

    storage: Storage
    runtime: Index
    displacement: int
    bits: int


@dataclass(frozen=True, eq=False)
class Value:
    """A number in a register of ``bits``, or ``immediate`` if it is one."""

    value: Index
    bits: int
    immediate: bool = False


Planned = Slots | Address | Value | Constant | Named | Predicate | None
_At = Callable[[Mapping[Leaf, Index]], Planned]


@dataclass(frozen=True, eq=False)
class Plan:
    """A proven call, ready to be written: operands in PTX order for each instruction, in row-major order."""

    report: Report
    predicate: Relation | None
    issues: tuple[tuple[Planned, ...], ...]

    @property
    def expressions(self) -> Iterable[Index | Relation]:
        """All that has to be computed at run time."""
        if self.predicate is not None:
            yield self.predicate
        for issue in self.issues:
            for operand in issue:
                if isinstance(operand, Address):
                    yield operand.storage.base + operand.runtime
                elif isinstance(operand, Value):
                    yield operand.value
                elif isinstance(operand, Predicate):
                    yield operand.relation


def plan(report: Report) -> Plan:
    """Plan a call. Raises :class:`EmissionError` unless it is proved, and for a register slot that varies."""
    _demand_proof(report)
    call = report.call
    prepared = [_prepare(report, operand) for operand in load()[call.form.mnemonic].issue(call)]
    issues = []
    for point in product(*map(range, call.repeat_extents)):
        at = {variable.args[0]: const(n) for variable, n in zip(call.repeat, point, strict=True)}
        issues.append(tuple(operand(at) for operand in prepared))
    return Plan(report, _predicate(call), tuple(issues))


def _demand_proof(report: Report) -> None:
    if report.verdict is Verdict.PROVED:
        return
    from tileproof.report.plain import finding_lines, headline

    lines = [f"PTX is written for proven calls only. {headline(report)}"]
    if report.reason:
        lines.append(f"  {report.reason}")
    for failure in report.failures[:1]:
        lines += finding_lines(failure)
    raise EmissionError("\n".join(lines))


def executing(launch: Launch) -> Thread:
    """The executing thread in terms of its special registers (PTX ISA 10: ``%tid``, ``%cluster_ctaid``)."""
    x, y, _ = launch.block
    tid = [leaf(special(f"%tid.{axis}", extent)) for axis, extent in zip("xyz", launch.block, strict=True)]
    linear = tid[0] + tid[1] * x + tid[2] * (x * y)
    cta = [
        leaf(special(f"%cluster_ctaid.{axis}", extent))
        for axis, extent in zip("xyz", launch.cluster or (1, 1, 1), strict=True)
    ]
    return Thread(simplify(linear // 32), simplify(linear % 32), (cta[0], cta[1], cta[2]))


def seen_by_thread(expression: Any, launch: Launch) -> Any:
    """An expression of the author's with its thread axes as the executing thread sees them."""
    return launch.seen_by(executing(launch), expression)


def _whereabouts(call: Call, expression: Index) -> dict[Leaf, Index]:
    """What the group and thread coordinates in the expression are for the executing thread."""
    me = executing(call.launch)
    known = {"lane": me.lane, "warp": me.warp, "warpgroup": me.warp // 4}
    known |= {f"cta_{axis}": value for axis, value in zip("xyz", me.cta, strict=True)}
    grouped = known | {"warp": me.warp % 4 if call.scope == "warpgroup" else me.warp}
    found = {}
    for variable in leaves(expression):
        if variable.kind == "thread" and variable.name in known:
            found[variable] = known[variable.name]
        elif variable.kind == "group":
            step, first = call.slabs[variable.name]
            found[variable] = (grouped[variable.name] - first) // step
    return found


def _prepare(report: Report, operand: IssueOperand) -> _At:
    call = report.call
    if isinstance(operand, Registers):
        return lambda at: _slots(call, operand, at)
    if isinstance(operand, Memory):
        return _Addresses(report, operand).at
    if operand is None or isinstance(operand, Constant | Named):
        return lambda _: operand
    if isinstance(operand, Predicate):
        predicate = Predicate(lowerable(operand.relation, call.launch))
        return lambda _: predicate
    value = simplify(seen_by_thread(as_index(operand.value), call.launch))
    width = width_of(value)
    if operand.immediate and width > operand.bits:
        raise EmissionError(
            f"{call.form.spelling}: bounds do not show that {value!r} can be computed in {operand.bits} bits; "
            "declare narrower bounds of its symbols"
        )
    planned = Value(value, operand.bits, operand.immediate)
    return lambda _: planned


def _slots(call: Call, operand: Registers, at: Mapping[Leaf, Index]) -> Slots:
    bits, numbers = operand.view.bits, []
    for offset in operand.offsets:
        place = simplify(substitute(offset, {**_whereabouts(call, offset), **at}))
        if place.value is None:
            what = ", ".join(v.label for v in leaves(place))
            raise EmissionError(
                f"{call.form.spelling}: the register slot of {operand.view.name} depends on {what} (it is at "
                f"byte {place!r}); registers have no address, so unroll the loop or slice with constants"
            )
        numbers.append(place.value // (bits // 8))
    return Slots(operand.view.tensor.storage, bits, tuple(numbers), operand.exact)


class _Addresses:
    """The addresses of one memory operand, at each repeat.

    The proof has shown that the exact points of ``simplify(address.offset)`` fit in ``bits``. What is lowered
    is another form of it, so each of its exact points has to fit by bounds or be one that was proved.
    """

    def __init__(self, report: Report, operand: Memory) -> None:
        self.call, self.operand = report.call, operand
        self.storage = operand.view.tensor.storage
        self.offset = simplify(operand.address.offset)
        self.bits = index_bits(self.call, self.offset)
        self.proved: list[Index] = [
            finding.obligation.found[1][0]
            for finding in report.findings
            if finding.obligation.id.endswith(".no-overflow")
            and finding.obligation.address is not None
            and finding.obligation.address.name == operand.address.name
        ]
        self.here = _whereabouts(self.call, self.offset)
        self._anchors: dict[int, int] = {}

    def at(self, point: Mapping[Leaf, Index]) -> Address:
        replacement = {**self.here, **point}
        specific = substitute(self.offset, replacement)
        proved = {simplify(substitute(p, replacement)) for p in self.proved}
        if self._keeps_value(simplify(specific), proved):
            return self._shared(normal(specific))
        if self._keeps_value(specific, proved):
            return Address(self.storage, specific, 0, self.bits)
        raise EmissionError(
            f"{self.call.form.spelling}: it is not sure that the offset {specific!r} of "
            f"{self.operand.view.name} can be computed in {self.bits} bits; declare bounds of its symbols"
        )

    def _keeps_value(self, offset: Index, proved: Collection[Index]) -> bool:
        return all(
            fits(p, self.bits) or (self.bits == 64 and p.op == "leaf") or simplify(p) in proved
            for p in exact_points(offset)
        )

    def _shared(self, offset: Affine) -> Address:
        """Divide into what is computed and a displacement, so that repeats share what is computed.

        Where that alone may be negative or may not fit in 32 bits, it is taken at the first repeat, whose
        offset is known to be in place.
        """
        runtime = _factored(offset.terms)
        start = self._anchors.get(runtime.uid, 0 if self._stands_alone(runtime) else offset.constant)
        if not -(1 << 31) <= offset.constant - start < 1 << 31:
            start = offset.constant  # a displacement is a signed 32-bit number (PTX ISA 6.4.1)
        self._anchors[runtime.uid] = start
        return Address(self.storage, _factored(offset.terms, start), offset.constant - start, self.bits)

    def _stands_alone(self, runtime: Index) -> bool:
        if self.storage.space in ("shared", "local"):
            lo = bounds(runtime)[0]
            return fits(runtime, 32) and lo is not None and lo >= 0
        return self.bits == 64 or narrow(runtime)


def _factored(terms: Mapping[Index, int], constant: int = 0) -> Index:
    """The sum with the terms' common factor outside, where one multiplication does for all.

    The constant goes inside if it has that factor: ``(127 - t) * 16`` takes one instruction less than a negation, a
    shift and a sum for ``-t * 16 + 2032``.
    """
    common = gcd(*terms.values()) if terms else 1
    inside, outside = (constant // common, 0) if constant % common == 0 else (0, constant)
    total = const(inside)
    for atom, factor in terms.items():
        total = total + atom * (factor // common)
    return total * common + outside


def _predicate(call: Call) -> Relation | None:
    given = call.parameters.get("pred")
    if given is None:
        return None
    relation = lowerable(as_relation(given), call.launch)
    return None if relation.value is True else relation


def lowerable(relation: Relation, launch: Launch) -> Relation:
    """The relation as the executing thread computes it, simplified where bounds allow.

    Raises :class:`EmissionError` when 64 bits might not be enough.
    """
    plain = seen_by_thread(relation, launch)
    simple = decide(plain)
    try:
        width_of(simple)
    except EmissionError:
        width_of(plain)
        return plain  # type: ignore[no-any-return]
    return simple
