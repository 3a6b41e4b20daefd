"""Whole kernels: each call is proved where it stands, then everything is written as one PTX module.

>>> import numpy as np
>>> from tileproof.layouts.axes import tx
>>> k = Kernel("copy", block=64)
>>> a = k.parameter("A", (64, 4), "float32")
>>> b = k.parameter("B", (64, 4), "float32")
>>> words = k.registers("words", (4,), "float32")
>>> load = k.apply("ld.global.v4.f32", words, a[tx])
>>> store = k.apply("st.global.v4.f32", b[tx], words)
>>> source, target = np.arange(256, dtype="float32"), np.zeros(256, "float32")
>>> k.simulate(source, target).issued["st.global.v4.f32"]
2
>>> bool((source == target).all())
True

A kernel holds what its author writes, in that order: no barrier, election or wait is ever added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from tileproof.contracts.architectures import PtxVersion
from tileproof.contracts.launch import Launch
from tileproof.contracts.operands import Given
from tileproof.emit.blocks import Blocks
from tileproof.emit.declarations import Declarations, Shape
from tileproof.emit.module import lacking, module_text
from tileproof.emit.plan import Plan, Slots, lowerable, plan
from tileproof.emit.raw import RawReader
from tileproof.emit.statements import Apply, Definition, Fill, Loop, When, calls
from tileproof.errors import CallError, EmissionError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.index import Index, IndexLike, Relation, as_index, as_relation, leaf
from tileproof.layouts.layout import TileLayout
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide, simplify
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.traverse import leaves
from tileproof.layouts.view import ViewOperations
from tileproof.proofs.check import Hazards, prove
from tileproof.proofs.check_ewise import Input, prove_ewise
from tileproof.proofs.report import Report
from tileproof.scalars.expression import Scalar
from tileproof.scalars.function import LambdaExpr
from tileproof.scalars.traverse import postorder

if TYPE_CHECKING:
    from tileproof.emit.assemble import Cubin
    from tileproof.simulate import SimulationResult

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
"""The first of these that has all of a kernel's instructions is its default."""


class Kernel:
    """A kernel under construction.

    ``block`` and ``cluster`` are extents in x, y, z order. ``ptx_version`` is the least ``.version`` of the
    module; what the proven calls and the raw instructions need counts by itself.
    """

    def __init__(
        self,
        name: str,
        *,
        block: int | Iterable[int] = 32,
        cluster: int | Iterable[int] | None = None,
        ptx_version: PtxVersion = (0, 0),
    ) -> None:
        self.name = name
        self._declared = Declarations(name)
        self._launch = Launch.of(block, cluster)
        self._ptx_version = ptx_version
        self._blocks = Blocks()
        self._raw = RawReader(self._declared.bits)

    # Declarations.

    def parameter(
        self,
        name: str,
        shape: Shape,
        dtype: str,
        *,
        layout: TileLayout | str | None = None,
        align: int | None = None,
    ) -> Tensor:
        """A tensor in global memory, passed by pointer.

        A launch checks type and size of the argument, and that its address is a multiple of ``align`` bytes.
        """
        return self._declared.pointer(name, shape, dtype, layout, align)

    def scalar(
        self, name: str, lo: int | None = None, hi: int | None = None, *, multiple_of: int = 1
    ) -> Index:
        """An integer parameter, ``.s32`` if its inclusive bounds allow, else ``.s64``. A launch checks it."""
        return self._declared.scalar(name, lo, hi, multiple_of)

    def block_index(self, axis: Literal["x", "y", "z"], count: int) -> Index:
        """``%ctaid`` along an axis, where the grid has at most ``count`` CTAs; a launch checks that."""
        return self._declared.block_index(axis, count)

    def shared(
        self,
        name: str,
        shape: Shape,
        dtype: str,
        *,
        layout: TileLayout | str | None = None,
        align: int | None = None,
    ) -> Tensor:
        """A tensor in static shared memory, at a multiple of ``align`` bytes, at most 1024.

        Raises :class:`CallError` for a greater one, which assembles and is not kept.
        """
        return self._declared.variable(name, shape, dtype, "shared", layout, align)

    def local(
        self,
        name: str,
        shape: Shape,
        dtype: str,
        *,
        layout: TileLayout | str | None = None,
        align: int | None = None,
    ) -> Tensor:
        """A tensor in the local memory of each thread."""
        return self._declared.variable(name, shape, dtype, "local", layout, align)

    def registers(
        self,
        name: str,
        shape: Shape,
        dtype: str,
        *,
        layout: TileLayout | str | None = None,
        fill: int | None = None,
    ) -> Tensor:
        """Registers of each thread, one for each storage slot of the layout, as wide as an element.

        ``fill`` is a bit pattern that all of them are set to here. ``declare`` on the result gives other
        tensors over the same registers.
        """
        file = self._declared.registers(name, shape, dtype, layout)
        if fill is not None:
            if not -(1 << (file.bits - 1)) <= fill < 1 << file.bits:
                raise CallError(f"registers {name}: fill is {fill:#x}, which {file.bits} bits cannot hold")
            self._blocks.add(Fill(file, fill % (1 << file.bits)))
        return file.tensor

    # Statements.

    def apply(
        self,
        opcode: str,
        *operands: Given,
        scope: str = "thread",
        assume: Relation | Iterable[Relation] = (),
        **parameters: Any,
    ) -> Report:
        """Prove a call in its place and add its instructions.

        The launch, the guards and loops around the call and what was assumed before it are facts for the
        proof. Other keywords are those of ``tp.check``. Raises :class:`ContractError` unless it is proved.
        """
        given = [name for name in ("block", "cluster", "active") if name in parameters]
        if given:
            raise CallError(
                f"apply takes no {', '.join(given)}: the kernel and its blocks (when, loop) say that"
            )
        for operand in operands:
            self._demand_declared(operand)
            self._demand_scalars(operand)
        extra = Launch.of(assume=assume).assumptions
        self._demand_symbols(*extra)
        # Block indices and loop variables differ between the CTAs of a cluster, nowhere inside one.
        known = self._blocks.assumed_by_all(extra) if scope == "cluster" else [*self._blocks.assumed, *extra]
        report = prove(
            opcode,
            *operands,
            scope=scope,
            block=self._launch.block,
            cluster=self._launch.cluster,
            active=self._blocks.guard,
            assume=known,
            **parameters,
        )
        planned = plan(report)
        self._demand_symbols(*planned.expressions)
        self._demand_widths(planned)
        self._blocks.add(Apply(planned))
        self._blocks.vouch(extra, self._declared.scalars)
        return report

    def ewise(
        self,
        function: LambdaExpr | Callable[..., Any],
        destination: ViewOperations,
        *inputs: Input,
        scope: str = "thread",
        assume: Relation | Iterable[Relation] = (),
        hazards: Hazards = "warn",
    ) -> Report:
        """Prove a scalar function in its place and compute it at each register coordinate.

        Operands and keywords are those of :func:`tileproof.check_ewise`. Raises :class:`ContractError` unless it is
        proved.
        """
        for operand in (destination, *inputs):
            self._demand_declared(operand)
            self._demand_scalars(operand)
        extra = Launch.of(assume=assume).assumptions
        self._demand_symbols(*extra)
        known = self._blocks.assumed_by_all(extra) if scope == "cluster" else [*self._blocks.assumed, *extra]
        report = prove_ewise(
            function,
            destination,
            *inputs,
            scope=scope,
            block=self._launch.block,
            cluster=self._launch.cluster,
            active=self._blocks.guard,
            assume=known,
            hazards=hazards,
        )
        planned = plan(report)
        self._demand_widths(planned)
        self._blocks.add(Apply(planned))
        self._blocks.vouch(extra, self._declared.scalars)
        return report

    def raw(self, text: str) -> None:
        """Add one instruction, or a ``.reg`` declaration, as it is; no proof knows what it does.

        It is held against the instruction table: its opcode, its operands, and the widths of the registers
        that the kernel or a ``.reg`` declares. Raises :class:`OpcodeError` or :class:`CallError` with what
        would be legal. Control flow is refused: which threads reach a call is proved from :meth:`when` and
        :meth:`loop`.
        """
        self._blocks.add(self._raw.read(text))

    def assume(self, relation: Relation) -> None:
        """Vouch for a relation, from here to the end of the block.

        If it is about parameters alone, a launch checks it.
        """
        vouched = as_relation(relation)
        self._demand_symbols(vouched)
        self._blocks.assume(vouched)
        self._blocks.vouch([vouched], self._declared.scalars)

    @contextmanager
    def when(self, condition: Relation) -> Iterator[None]:
        """A block for the threads for which the condition holds."""
        relation = as_relation(condition)
        lowered = lowerable(relation, self._launch)
        self._demand_symbols(lowered)
        with self._blocks.nested(relation) as block:
            yield
        self._blocks.add(When(lowered, block.body))

    @contextmanager
    def loop(self, name: str, start: IndexLike, stop: IndexLike, step: IndexLike = 1) -> Iterator[Index]:
        """A runtime loop over ``start + step*turn`` for the turns 0, 1, ... while that is below ``stop``.

        It gives that variable. Bounds may differ between threads, as in ``k.loop("i", tx, 1024, 32)``: a
        thread takes part in a turn if its own variable is below its own ``stop``. ``step`` must be sure to be
        positive.
        """
        first, end, stride = as_index(start), as_index(stop), as_index(step)
        least = bounds(stride)[0]
        if least is None or least < 1:
            raise CallError(f"loop {name}: the step {stride!r} may be less than 1")
        longest = bounds(simplify(end - first))[1]
        turns = None if longest is None else max(0, -(-longest // least))
        last = None if turns is None else max(0, turns - 1)
        counter = Leaf(self._declared.take_name(name), "symbol", 0, last, uniform="cta")
        turn = Leaf(name, "symbol", 0, turns, uniform="cta", copy=1)
        self._demand_symbols(first, end, stride)
        goes_on = lowerable(first + stride * leaf(turn) < end, self._launch)
        variable = first + stride * leaf(counter)
        with self._blocks.nested(decide(variable < end), counter) as block:
            yield variable
        self._blocks.add(Loop(counter, turn, goes_on, block.body))

    # Results.

    @property
    def reports(self) -> tuple[Report, ...]:
        """The reports of the proven calls, in the order of the text."""
        return tuple(planned.report for body in self._blocks.bodies for planned in calls(body))

    @property
    def definition(self) -> Definition:
        """The kernel as data. Raises :class:`EmissionError` inside a block that is still open."""
        if self._blocks.depth:
            raise EmissionError(f"kernel {self.name}: a block is still open; leave its with statement first")
        declared = self._declared
        return Definition(
            self.name,
            self._launch,
            tuple(declared.parameters),
            tuple(declared.variables),
            tuple(declared.files.values()),
            next(self._blocks.bodies),
            tuple(self._blocks.vouched),
            (declared.grid.get("x"), declared.grid.get("y"), declared.grid.get("z")),
            self._ptx_version,
        )

    @property
    def architecture(self) -> str:
        """The first of sm_80, sm_90a, sm_100a and sm_120a that has all that the kernel needs."""
        definition = self.definition
        fitting = (arch for arch in ARCHITECTURES if lacking(definition, arch) is None)
        return next(fitting, ARCHITECTURES[0])

    def ptx(self, arch: str | None = None) -> str:
        """The PTX module for ``arch``, by default for :attr:`architecture`.

        Raises :class:`EmissionError` for an architecture that lacks an instruction.
        """
        return module_text(self.definition, arch or self.architecture)

    def assemble(self, arch: str | None = None) -> Cubin:
        """The assembled module. Raises :class:`AssemblerError` where no assembler is installed."""
        from tileproof.emit.assemble import assemble

        target = arch or self.architecture
        return assemble(self.ptx(target), target)

    def simulate(
        self, *arguments: Any, grid: int | Sequence[int] = 1, arch: str | None = None
    ) -> SimulationResult:
        """Execute the PTX on the CPU. Arguments are those of :meth:`launch`; arrays are changed in place."""
        from tileproof.emit.host import simulate

        target = arch or self.architecture
        return simulate(self.definition, self.ptx(target), target, arguments, grid)

    def launch(self, *arguments: Any, grid: int | Sequence[int] = 1, device: int = 0) -> None:
        """Assemble for a GPU, check the arguments against all that was proved with, and run.

        Arguments come in the order of the parameters. A tensor takes a NumPy array, which is copied there and
        back, or an object with ``__cuda_array_interface__``, either with its elements in storage order; a
        scalar takes an integer. Raises :class:`LaunchError`, before anything runs, which names the parameter,
        what is needed and what was found.
        """
        from tileproof.emit import host, launch

        definition = self.definition
        host.check_arguments(definition, arguments, grid)
        cubin = self.assemble(host.device_architecture(device))
        passed = host.packed(definition, arguments)
        shape, cluster = self._launch.block, self._launch.cluster
        launch.launch(cubin, self.name, grid, shape, passed, cluster=cluster, device=device)

    # What the above is made of.

    def _demand_declared(self, operand: object) -> None:
        if isinstance(operand, ViewOperations):
            storage = operand.as_view().tensor.storage
            if not self._declared.knows(storage):
                raise CallError(
                    f"kernel {self.name}: {storage.name} is not declared here; make it with parameter, "
                    "shared, local or registers of the kernel"
                )

    def _demand_symbols(self, *expressions: Index | Relation) -> None:
        """Raise :class:`CallError` unless each symbol has a value here."""
        known = [*self._declared.scalars, *self._blocks.counters]
        for variable in leaves(*expressions):
            if variable.kind == "symbol" and not variable.name.startswith("%") and variable not in known:
                raise CallError(
                    f"kernel {self.name}: {variable.name} has no value here; it must be a scalar of the "
                    "kernel or the variable of an enclosing loop"
                )

    def _demand_scalars(self, given: object) -> None:
        """Raise :class:`CallError` unless each variable of a scalar expression is a parameter here."""
        if isinstance(given, Scalar):
            known: list[object] = [*self._declared.parameters]
            for node in postorder(given):
                if node.op == "variable" and not any(item is node for item in known):
                    raise CallError(
                        f"kernel {self.name}: {node.value} ({node.dtype}) has no value here; it must be a "
                        "scalar of the kernel"
                    )

    def _demand_widths(self, planned: Plan) -> None:
        for operand in planned.issues[0]:
            if isinstance(operand, Slots):
                file = self._declared.files[operand.storage]
                if file.bits != operand.bits:
                    raise EmissionError(
                        f"{planned.report.call.form.spelling}: {file.tensor.name} has {file.bits}-bit "
                        f"registers ({file.tensor.dtype}), and its view here {operand.bits}-bit elements; "
                        "declare registers as wide as the instruction's"
                    )
