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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Literal, overload

from tileproof.contracts.architectures import PtxVersion
from tileproof.contracts.launch import Launch
from tileproof.contracts.operands import Given
from tileproof.emit import names
from tileproof.emit.blocks import Blocks
from tileproof.emit.declarations import Declarations, Shape
from tileproof.emit.mbarrier import MBarrier
from tileproof.emit.mbarrier import checked as checked_barrier
from tileproof.emit.plan import Plan, Slots, lowerable, plan
from tileproof.emit.raw import RawReader
from tileproof.emit.runnable import Runnable
from tileproof.emit.statements import Apply, Assume, Barrier, Definition, Fill, Loop, Note, When, calls
from tileproof.errors import CallError, EmissionError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.index import Index, IndexLike, Relation, as_index, as_relation, leaf, negate
from tileproof.layouts.layout import TileLayout
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide, simplify
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.traverse import leaves
from tileproof.layouts.view import ViewOperations
from tileproof.proofs.check import Hazards, prove
from tileproof.proofs.check_ewise import Input, prove_ewise
from tileproof.proofs.discharge import BUDGET
from tileproof.proofs.report import Report
from tileproof.scalars.expression import Scalar
from tileproof.scalars.function import LambdaExpr
from tileproof.scalars.traverse import postorder

POLICY = {"hazards": "warn", "budget": BUDGET}
"""The keywords of ``tp.check`` that are not about the instruction, with what they are where nobody says more."""


class Kernel(Runnable):
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

    @overload
    def scalar(
        self,
        name: str,
        lo: int | None = None,
        hi: int | None = None,
        *,
        multiple_of: int = 1,
        dtype: None = None,
    ) -> Index: ...

    @overload
    def scalar(self, name: str, *, dtype: str) -> Scalar: ...

    def scalar(
        self,
        name: str,
        lo: int | None = None,
        hi: int | None = None,
        *,
        multiple_of: int = 1,
        dtype: str | None = None,
    ) -> Index | Scalar:
        """An integer parameter, ``.s32`` if its inclusive bounds allow, else ``.s64``. A launch checks it.

        With a ``dtype`` (float16, bfloat16, float32, float64, or int or uint of 16, 32, 64 bits) it is a typed
        scalar, which register instructions and scalar functions take, and of which proofs know nothing. A
        launch takes a number, and rounds it to the nearest of a floating-point type.
        """
        if dtype is None:
            return self._declared.scalar(name, lo, hi, multiple_of)
        if (lo, hi, multiple_of) != (None, None, 1):
            raise CallError(f"scalar {name}: bounds and multiple_of are for integers; {dtype} takes none")
        return self._declared.typed_scalar(name, dtype)

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
        dynamic: bool = False,
    ) -> Tensor:
        """A tensor in static shared memory, of which there are 48 KiB, or in ``dynamic`` shared memory.

        Its address is a multiple of ``align`` bytes, at most 1024. Raises :class:`CallError` for a greater one,
        which assembles and is not kept. :meth:`launch` asks for what dynamic tensors need.
        """
        if dynamic:
            return self._declared.in_dynamic(name, shape, dtype, layout, align)
        return self._declared.variable(name, shape, dtype, "shared", layout, align)

    def mbarrier(self, name: str | Tensor, count: int = 1) -> MBarrier:
        """``count`` barriers, words of 8 bytes in static shared memory, to be initialised by one thread.

        A tensor in place of a name is their words: uint64, in shared memory, declared by this kernel.
        """
        if isinstance(name, Tensor):
            self._demand_declared(name)
            return MBarrier(name, self._barrier)
        return MBarrier(self._declared.variable(name, (count,), "uint64", "shared", None, 8), self._barrier)

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
            self.fill(file.tensor, fill)
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
        return self._proved(partial(prove, opcode), operands, scope, assume, parameters)

    def ewise(
        self,
        function: LambdaExpr | Callable[..., Any],
        destination: ViewOperations,
        *inputs: Input,
        scope: str = "thread",
        assume: Relation | Iterable[Relation] = (),
        hazards: Hazards = "warn",
        budget: int = BUDGET,
    ) -> Report:
        """Prove a scalar function in its place and compute it at each register coordinate.

        Operands and keywords are those of :func:`tileproof.check_ewise`. Raises :class:`ContractError` unless it is
        proved.
        """
        policy = {"hazards": hazards, "budget": budget}
        return self._proved(partial(prove_ewise, function), (destination, *inputs), scope, assume, policy)

    def fill(self, registers: Tensor, pattern: int) -> None:
        """Set all slots of registers, those that no call names too, to a bit pattern as wide as an element."""
        file = self._declared.files.get(registers.storage)
        if file is None:
            raise CallError(f"kernel {self.name}: {registers.name} are no registers of this kernel")
        if not -(1 << (file.bits - 1)) <= pattern < 1 << file.bits:
            raise CallError(
                f"registers {file.tensor.name}: fill is {pattern:#x}, which {file.bits} bits cannot hold"
            )
        self._blocks.add(Fill(file, pattern % (1 << file.bits)))

    def note(self, text: str) -> None:
        """Add a comment of one line."""
        self._blocks.add(Note(text))

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
        self._blocks.add(Assume(vouched))
        self._blocks.vouch([vouched], self._declared.scalars)

    @contextmanager
    def when(self, condition: Relation) -> Iterator[None]:
        """A block for the threads for which the condition holds."""
        relation = as_relation(condition)
        lowered = lowerable(relation, self._launch)
        self._demand_symbols(lowered)
        with self._blocks.nested(relation) as block:
            yield
        self._blocks.add(When(lowered, block.body, relation))

    def otherwise(self) -> AbstractContextManager[None]:
        """A block for the threads that did not take the :meth:`when` right before it."""
        last = self._blocks.last
        if not isinstance(last, When):
            raise CallError(f"kernel {self.name}: otherwise stands right after a when block")
        return self.when(negate(last.written))

    def unroll(self, name: str, start: int, stop: int, step: int = 1) -> Iterator[int]:
        """``for i in k.unroll("i", 0, 8, 2)``: the statements inside once for each number, a plain constant."""
        if not all(isinstance(n, int) and not isinstance(n, bool) for n in (start, stop, step)) or step == 0:
            raise CallError(
                f"unroll {name}: start, stop and step are integers and step is not 0, got "
                f"{start!r}, {stop!r}, {step!r}"
            )
        return self._turns(names.identifier(name), range(start, stop, step))

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
        self._blocks.add(Loop(counter, turn, goes_on, block.body, (first, end, stride)))

    def order(self, names: Sequence[str]) -> None:
        """Give the parameters another order than that of their declaration; each is named once."""
        self._declared.order(names)

    @property
    def turns(self) -> tuple[Index, ...]:
        """The numbers of the turns, from 0, of the loops around here, the outermost first."""
        return tuple(leaf(counter) for counter in self._blocks.counters)

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
            tuple(declared.dynamic),
        )

    @classmethod
    def from_json(cls, text: str) -> Kernel:
        """The kernel of a document. Nothing in it is trusted: each call is proved again.

        Raises :class:`SpecError`, which names every fault by its place, for a document that is no kernel, and
        :class:`ContractError` for a call that is not proved.
        """
        from tileproof.spec.kernel_read import kernel_of_json

        return kernel_of_json(text)

    # What the above is made of.

    def _proved(
        self,
        prover: Callable[..., Report],
        operands: Sequence[Given],
        scope: str,
        assume: Relation | Iterable[Relation],
        parameters: Mapping[str, Any],
    ) -> Report:
        """Prove a call where it stands, and add it."""
        for operand in operands:
            self._demand_declared(operand)
            self._demand_scalars(operand)
        extra = Launch.of(assume=assume).assumptions
        self._demand_symbols(*extra)
        # Block indices and loop variables differ between the CTAs of a cluster, nowhere inside one.
        known = self._blocks.assumed_by_all(extra) if scope == "cluster" else [*self._blocks.assumed, *extra]
        report = prover(
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
        policy = {
            name: parameters[name] for name, usual in POLICY.items() if parameters.get(name, usual) != usual
        }
        self._blocks.add(Apply(planned, extra, policy))
        self._blocks.vouch(extra, self._declared.scalars)
        return report

    def _turns(self, name: str, turns: range) -> Iterator[int]:
        for number in turns:
            self.note(f"{name} = {number}")
            yield number

    def _barrier(self, barrier: Barrier) -> None:
        lowered = checked_barrier(barrier, self._launch)
        self._demand_symbols(lowered.index, *(() if lowered.operand is None else (lowered.operand,)))
        self._blocks.add(lowered)

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
