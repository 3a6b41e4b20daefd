"""The Z3 reading of expressions, in two theories.

* integers with division by constants, for affine terms and unbounded variables;
* bit-vectors as wide as the bounds of all subterms demand, where bits are mixed (swizzles) or variables multiplied.

Where bits are mixed but something is unbounded, the low bits that can be touched are split off as Booleans: XOR with a
number below ``2**k`` changes only the low ``k`` bits, so the rest stays an integer. That is exact, and linear.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import z3

from tileproof.layouts.bounds import bounds, is_multiple
from tileproof.layouts.index import Index, Leaf, Relation, leaves

BITWISE = ("xor", "and", "or")
MOST_BITS = 120


class Unencodable(Exception):
    """An expression that neither reading can express; the text names it."""


_local = threading.local()


def context() -> z3.Context:
    """This thread's context; Z3 contexts are never shared between threads."""
    found = getattr(_local, "context", None)
    if found is None:
        found = _local.context = z3.Context()
    return found


def nodes(*roots: Any) -> list[Any]:
    """Every distinct node below the roots, arguments first."""
    done: dict[int, Any] = {}

    def visit(node: Any) -> None:
        if node.uid not in done:
            if node.op not in ("leaf", "const", "truth"):
                for argument in node.args:
                    visit(argument)
            done[node.uid] = node

    for root in roots:
        visit(root)
    return list(done.values())


def bit_width(roots: Iterable[Any]) -> int | None:
    """Bits of a signed bit-vector that holds every subterm; ``None`` when one is unbounded or very large."""
    width = 2
    for node in nodes(*roots):
        if isinstance(node, Index):
            lo, hi = bounds(node)
            if lo is None or hi is None:
                return None
            width = max(width, lo.bit_length() + 1, hi.bit_length() + 1)
    width += 1  # floor division of a negative number passes one step below it
    return width if width <= MOST_BITS else None


class Reading:
    """Translates expressions over one set of solver variables; ``side`` holds what defines them."""

    def __init__(self, width: int | None) -> None:
        self.width = width
        self.linear = True
        self.side: list[z3.BoolRef] = []
        self.variables: dict[Leaf, z3.ExprRef] = {}
        self._terms: dict[int, Any] = {}
        self._ctx = context()

    @property
    def theory(self) -> str:
        """What the terms are, for people."""
        if self.width is not None:
            return f"{self.width}-bit vectors"
        return "linear integers" if self.linear else "integers"

    @property
    def logic(self) -> str:
        """The SMT-LIB logic that the terms need."""
        if self.width is not None:
            return "QF_BV"
        return "QF_LIA" if self.linear else "QF_NIA"

    def number(self, value: int) -> z3.ExprRef:
        if self.width is None:
            return z3.IntVal(value, self._ctx)
        return z3.BitVecVal(value, self.width, self._ctx)

    def value_of(self, model: z3.ModelRef, variable: Leaf) -> int:
        found = model.eval(self.variables[variable], model_completion=True)
        return int(found.as_long()) if self.width is None else int(found.as_signed_long())

    def term(self, node: Any) -> Any:
        """The Z3 term of an index or relation. Raises :class:`Unencodable`."""
        for item in nodes(node):
            if item.uid not in self._terms:
                self._terms[item.uid] = self._translate(item)
        return self._terms[node.uid]

    def at_most(self, a: z3.ExprRef, b: z3.ExprRef) -> z3.BoolRef:
        return a <= b  # signed for bit-vectors

    def _translate(self, node: Any) -> Any:
        op = node.op
        if op == "const":
            return self.number(node.args[0])
        if op == "truth":
            return z3.BoolVal(node.args[0], self._ctx)
        if op == "leaf":
            return self._variable(node.args[0])
        a = [self._terms[x.uid] for x in node.args]
        if op == "add":
            return a[0] + a[1]
        if op in ("mul", "div", "mod") and node.args[1].op != "const":
            self.linear = False
        if op == "mul":
            return a[0] * a[1]
        if op in ("div", "mod"):
            return self._division(op, node, a[0], a[1])
        if op in BITWISE:
            return self._bitwise(node, a[0], a[1])
        if op == "min":
            return z3.If(a[0] <= a[1], a[0], a[1])
        if op == "max":
            return z3.If(a[0] <= a[1], a[1], a[0])
        if op == "select":
            return z3.If(a[0], a[1], a[2])
        if op == "eq":
            return a[0] == a[1]
        if op == "lt":
            return a[0] < a[1]
        if op == "not":
            return z3.Not(a[0])
        return z3.And(*a) if op == "all" else z3.Or(*a)

    def _variable(self, variable: Leaf) -> z3.ExprRef:
        if variable in self.variables:
            return self.variables[variable]
        # Different variables are different unknowns even where they are called alike.
        name = f"{variable.label}:{variable.kind}:{len(self.variables)}"
        step = variable.multiple_of
        lo, hi = variable.lo, variable.hi
        if self.width is None:
            term = z3.Int(name, self._ctx)
            if step > 1:
                term = z3.IntVal(step, self._ctx) * z3.Int(name + "/step", self._ctx)
        else:
            term = z3.BitVec(name, self.width, self._ctx)
            if step > 1:
                self.side.append(z3.SRem(term, self.number(step)) == self.number(0))
        if lo is not None:
            self.side.append(term >= self.number(lo))
        if hi is not None:
            self.side.append(term <= self.number(hi))
        self.variables[variable] = term
        return term

    def _division(self, op: str, node: Any, a: Any, b: Any) -> Any:
        if self.width is None:
            # For a positive divisor SMT-LIB's div and mod on integers round to minus infinity, as ours do.
            return a / b if op == "div" else a % b
        divisor = node.args[1].value
        if divisor is not None and divisor & (divisor - 1) == 0:
            if op == "div":
                return a >> self.number(divisor.bit_length() - 1)
            return a & self.number(divisor - 1)
        lo, _ = bounds(node.args[0])
        if lo is not None and lo >= 0:
            return z3.UDiv(a, b) if op == "div" else z3.URem(a, b)
        remainder = a % b  # bvsmod: the sign of the divisor, which is positive
        return remainder if op == "mod" else (a - remainder) / b

    def _bitwise(self, node: Index, a: Any, b: Any) -> Any:
        op = node.op
        if self.width is not None:
            return a ^ b if op == "xor" else a & b if op == "and" else a | b
        x, y = node.args
        lo, hi = bounds(y)
        if lo is None or hi is None or lo < 0:
            x, y, a, b = y, x, b, a
            lo, hi = bounds(y)
        if lo is None or hi is None or lo < 0:
            raise Unencodable(f"{node!r} mixes the bits of two numbers without bounds")
        bits = range(_zeros(y, hi.bit_length()), hi.bit_length())
        high_x, bits_x, low_x = self._split(x, a, bits)
        _, bits_y, _ = self._split(y, b, bits)
        mixed = {
            "xor": lambda p, q: z3.Xor(p, q),
            "and": lambda p, q: z3.And(p, q),
            "or": lambda p, q: z3.Or(p, q),
        }[op]
        one, none = z3.IntVal(1, self._ctx), z3.IntVal(0, self._ctx)
        total: Any = none
        for position, p, q in zip(bits, bits_x, bits_y, strict=True):
            total = total + z3.If(mixed(p, q), one, none) * (1 << position)
        return total if op == "and" else total + high_x * (1 << bits.stop) + low_x

    def _split(self, node: Index, term: Any, bits: range) -> tuple[Any, list[Any], Any]:
        """``term == high * 2**stop + sum(bit * 2**i) + low`` with ``0 <= low < 2**start``."""
        ctx, name = self._ctx, f"{node.uid}@{bits.start}-{bits.stop}"
        high = z3.Int(f"high{name}", ctx)
        low = z3.Int(f"low{name}", ctx)
        booleans = [z3.Bool(f"bit{name}.{i}", ctx) for i in bits]
        one, none = z3.IntVal(1, ctx), z3.IntVal(0, ctx)
        total = high * (1 << bits.stop) + low
        for position, bit in zip(bits, booleans, strict=True):
            total = total + z3.If(bit, one, none) * (1 << position)
        self.side += [term == total, low >= 0, low < (1 << bits.start)]
        return high, booleans, low


def _zeros(node: Index, most: int) -> int:
    """How many low bits of ``node`` are sure to be zero, at most ``most``."""
    zeros = 0
    while zeros < most and is_multiple(node, 2 << zeros):
        zeros += 1
    return zeros


def reading_for(roots: Iterable[Relation]) -> Reading:
    """The reading that suits: bit-vectors when bits are mixed or variables multiplied and all is bounded."""
    roots = list(roots)
    mixes = any(
        n.op in BITWISE or (n.op in ("mul", "div", "mod") and n.args[1].op != "const") for n in nodes(*roots)
    )
    return Reading(bit_width(roots) if mixes else None)


def domain(roots: Iterable[Any]) -> Mapping[Leaf, None]:
    return dict.fromkeys(leaves(*roots))
