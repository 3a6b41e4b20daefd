"""From a proven call to the operands of each instruction: register slots, addresses and values, not yet text.

The operands come from the family's ``issue``, in the coordinates of the contract. Here each repeat gets its
constants, and group coordinates become those of the executing thread, which knows itself by its special
registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from math import gcd
from typing import Any, NoReturn

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
from tileproof.layouts.normal import Affine, combine, decide, normal, simplify
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
_Point = tuple[int, ...]  # the numbers of a repeat
_At = Callable[[_Point], Planned]


@dataclass(frozen=True, eq=False)
class Plan:
    """A proven call, ready to be written: operands in PTX order for each instruction, in row-major order."""

    report: Report
    predicate: Relation | None
    issues: tuple[tuple[Planned, ...], ...]

    @property
    def repeats(self) -> Iterator[tuple[int, ...]]:
        """The repeat of each instruction."""
        return product(*map(range, self.report.call.repeat_extents))

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """For each operand the numbers of its registers over all repeats, each once; none if it has no registers."""
        return tuple(
            tuple(dict.fromkeys(chain.from_iterable(o.numbers for o in operands if isinstance(o, Slots))))
            for operands in zip(*self.issues, strict=True)
        )

    @property
    def expressions(self) -> Iterable[Index | Relation]:
        """All that has to be computed at run time."""
        found: dict[Index | Relation, None] = {}
        if self.predicate is not None:
            found[self.predicate] = None
        for issue in self.issues:
            for operand in issue:
                if isinstance(operand, Address):
                    found[operand.storage.base] = None
                    found[operand.runtime] = None
                elif isinstance(operand, Value):
                    found[operand.value] = None
                elif isinstance(operand, Predicate):
                    found[operand.relation] = None
        return found


def plan(report: Report) -> Plan:
    """Plan a call.

    Raises :class:`EmissionError` unless it is proved, for a register slot that varies or is none, and for registers
    in two widths.
    """
    _demand_proof(report)
    call = report.call
    prepared = [_prepare(report, operand) for operand in load()[call.form.mnemonic].issue(call)]
    points = product(*map(range, call.repeat_extents))
    issues = tuple([tuple([operand(point) for operand in prepared]) for point in points])
    _demand_registers(call, issues)
    return Plan(report, _predicate(call), issues)


def _demand_registers(call: Call, issues: Sequence[Sequence[Planned]]) -> None:
    """A physical register has one width, so its storage has one in a call.

    Of a call that no thread executes anything is proved, also of registers that are none.
    """
    widths: dict[str, int] = {}
    for operand in (o for o in issues[0] if isinstance(o, Slots)):
        name = operand.storage.name
        if widths.setdefault(name, operand.bits) != operand.bits:
            raise EmissionError(
                f"{call.form.spelling}: {name} is used as registers of {widths[name]} and of {operand.bits} bits; "
                "declare registers as wide as each operand's elements"
            )
    for operand in (o for issue in issues for o in issue if isinstance(o, Slots)):
        least = min(operand.numbers, default=0)
        if least < 0:
            raise EmissionError(
                f"{call.form.spelling}: slot {least} of {operand.storage.name} lies before its first register; no "
                "thread executes the call, so nothing was asked of its registers, but they have to be there to be named"
            )


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
        return _Registers(call, operand).at
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


class _Repeated:
    """The normal form of an expression at each repeat, in time that does not depend on the expression.

    The form is taken once with the repeat as variables. At a repeat its variables are numbers: a variable
    that is a term of its own adds to the constant, and any other term that it is in is taken anew, once for
    all repeats that agree in what the term depends on.
    """

    def __init__(self, call: Call, expression: Index) -> None:
        form = normal(substitute(expression, _whereabouts(call, expression)))
        number = {variable.args[0]: n for n, variable in enumerate(call.repeat)}
        self._repeat = [variable.args[0] for variable in call.repeat]
        self.constant = form.constant
        self.fixed: dict[Index, int] = {}
        self.steps: list[tuple[int, int]] = []
        self.varying: list[tuple[Index, int, tuple[int, ...], dict[_Point, Affine]]] = []
        for atom, factor in form.terms.items():
            inside = tuple(number[v] for v in leaves(atom) if v in number)
            if not inside:
                self.fixed[atom] = factor
            elif atom.op == "leaf":
                self.steps.append((inside[0], factor))
            else:
                self.varying.append((atom, factor, inside, {}))

    def shift(self, point: _Point) -> int:
        """What the repeat's own terms add to the constant."""
        return sum([factor * point[number] for number, factor in self.steps])

    def at(self, point: _Point) -> tuple[int, dict[Index, int]]:
        """The constant and the terms; those are ``fixed`` itself where no term varies."""
        constant = self.constant + self.shift(point)
        if not self.varying:
            return constant, self.fixed
        total = Affine(constant, self.fixed)
        for atom, factor, inside, known in self.varying:
            key = tuple([point[n] for n in inside])
            form = known.get(key)
            if form is None:
                at = {self._repeat[n]: const(point[n]) for n in inside}
                form = known[key] = normal(substitute(atom, at))
            total = combine(total, form, factor)
        return total.constant, total.terms


class _Registers:
    """The registers of one register operand, at each repeat."""

    def __init__(self, call: Call, operand: Registers) -> None:
        self.call, self.operand = call, operand
        self.storage, self.bits = operand.view.tensor.storage, operand.view.bits
        self.offsets = [_Repeated(call, offset) for offset in operand.offsets]
        first = self.offsets[0]
        # The usual case, in which all registers move alike from repeat to repeat.
        self.alike = all(not o.fixed and not o.varying and o.steps == first.steps for o in self.offsets)

    def at(self, point: _Point) -> Slots:
        size = self.bits // 8
        if self.alike:
            shift = self.offsets[0].shift(point)
            numbers = [(offset.constant + shift) // size for offset in self.offsets]
        else:
            numbers = [self._fixed(*offset.at(point)) // size for offset in self.offsets]
        return Slots(self.storage, self.bits, tuple(numbers), self.operand.exact)

    def _fixed(self, constant: int, terms: dict[Index, int]) -> int:
        if terms:
            self._fail(Affine(constant, terms))
        return constant

    def _fail(self, place: Affine) -> NoReturn:
        byte = simplify(_factored(place.terms) + place.constant)
        what = ", ".join(v.label for v in leaves(byte))
        raise EmissionError(
            f"{self.call.form.spelling}: the register slot of {self.operand.view.name} depends on {what} (it is "
            f"at byte {byte!r}); registers have no address, so unroll the loop or slice with constants"
        )


class _Addresses:
    """The addresses of one memory operand, at each repeat.

    The proof has shown that the exact points of ``simplify(address.offset)`` fit in ``bits``. What is lowered
    is another form of it, so each of its exact points has to fit by bounds or be one that was proved. A point
    that is proved at one repeat is proved: what it says no longer depends on the repeat. The exact points of
    a sum are those of its terms.
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
        self.form = _Repeated(self.call, self.offset)
        self._sure: set[int] = set()
        self._anchors: dict[int, tuple[int, Index]] = {}
        self._runtimes: dict[tuple[tuple[int, int], ...], Index] = {}
        self._fixed: Index | None = None

    def at(self, point: _Point) -> Address:
        constant, terms = self.form.at(point)
        runtime = self._runtime(terms, point)
        if runtime is not None:
            return self._shared(runtime, terms, constant)
        specific = substitute(self.offset, self._replacement(point))
        if self._keeps_value(specific, point):
            return Address(self.storage, specific, 0, self.bits)
        raise EmissionError(
            f"{self.call.form.spelling}: it is not sure that the offset {specific!r} of "
            f"{self.operand.view.name} can be computed in {self.bits} bits; declare bounds of its symbols"
        )

    def _replacement(self, point: _Point) -> dict[Leaf, Index]:
        numbers = {v.args[0]: const(n) for v, n in zip(self.call.repeat, point, strict=True)}
        return {**self.here, **numbers}

    def _keeps_value(self, part: Index, point: _Point) -> bool:
        unsure = [
            p for p in exact_points(part) if not fits(p, self.bits) and (self.bits == 32 or p.op != "leaf")
        ]
        if unsure:
            replacement = self._replacement(point)
            proved = {simplify(substitute(p, replacement)) for p in self.proved}
            if not all(simplify(p) in proved for p in unsure):
                return False
        self._sure.add(part.uid)
        return True

    def _runtime(self, terms: Mapping[Index, int], point: _Point) -> Index | None:
        """The sum of the terms, if lowering it is sure to keep its value."""
        if terms is self.form.fixed and self._fixed is not None:
            return self._fixed
        if not all(atom.uid in self._sure or self._keeps_value(atom, point) for atom in terms):
            return None
        key = tuple([(atom.uid, factor) for atom, factor in terms.items()])
        found = self._runtimes.get(key)
        if found is None:
            found = self._runtimes[key] = _factored(terms)
        if terms is self.form.fixed:
            self._fixed = found
        return found

    def _shared(self, runtime: Index, terms: Mapping[Index, int], constant: int) -> Address:
        """Divide into what is computed and a displacement, so that repeats share what is computed.

        Where that alone may be negative or may not fit in 32 bits, it is taken at the first repeat, whose
        offset is known to be in place.
        """
        anchor = self._anchors.get(runtime.uid)
        if anchor is None:
            anchor = self._anchored(terms, 0 if self._stands_alone(runtime) else constant)
        if not -(1 << 31) <= constant - anchor[0] < 1 << 31:
            anchor = self._anchored(
                terms, constant
            )  # a displacement is a signed 32-bit number (PTX ISA 6.4.1)
        self._anchors[runtime.uid] = anchor
        start, node = anchor
        return Address(self.storage, node, constant - start, self.bits)

    def _anchored(self, terms: Mapping[Index, int], start: int) -> tuple[int, Index]:
        return start, _factored(terms, start)

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
