"""The solver reading of expressions, in the vocabulary of SMT-LIB 2 and in two theories.

* integers with division by constants, for affine terms and unbounded variables; * bit-vectors as wide as the
bounds of all subterms demand, where bits are mixed (swizzles) or variables multiplied.

Where bits are mixed but something is unbounded, the low bits that can be touched are split off as Booleans:
XOR with a number below ``2**k`` changes only the low ``k`` bits, so the rest stays an integer. That is exact,
and linear.

The translation is written once. What it builds terms with is a :class:`Terms`: Z3's interface, or SMT-LIB
text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from tileproof.layouts.bounds import bounds, is_multiple
from tileproof.layouts.index import Index, Relation
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import postorder

BITWISE = ("xor", "and", "or")
MOST_BITS = 120


class UnencodableError(Exception):
    """An expression that neither theory can express; the text names it."""


class Terms(Protocol):
    """Builds terms; ``width`` is that of all bit-vectors, ``None`` for integers. Operators bear SMT-LIB's
    names.
    """

    def number(self, value: int, width: int | None) -> Any: ...

    def truth(self, value: bool) -> Any: ...

    def variable(self, name: str, width: int | None) -> Any: ...

    def boolean(self, name: str) -> Any: ...

    def apply(self, operator: str, *arguments: Any) -> Any: ...


_INTEGER = {"add": "+", "mul": "*", "div": "div", "mod": "mod", "lt": "<", "le": "<="}
_VECTOR = {
    "add": "bvadd", "mul": "bvmul", "lt": "bvslt", "le": "bvsle", "xor": "bvxor", "and": "bvand", "or": "bvor",
}  # fmt: skip


def nodes(*roots: Any) -> list[Any]:
    """Every distinct node below the roots, arguments first."""
    return postorder(*roots)


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
    """Translates expressions over one set of solver variables; ``side`` holds what bounds and defines them."""

    def __init__(self, width: int | None, terms: Terms | None = None) -> None:
        if terms is None:
            from tileproof.proofs.z3_terms import Z3Terms

            terms = Z3Terms()
        self.width = width
        self.linear = True
        self.side: list[Any] = []
        self.variables: dict[Leaf, Any] = {}
        self._terms: dict[int, Any] = {}
        self._make = terms
        self._names = _INTEGER if width is None else _VECTOR

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

    def number(self, value: int) -> Any:
        return self._make.number(value, self.width)

    def term(self, node: Any) -> Any:
        """The term of an index or relation. Raises :class:`UnencodableError`."""
        for item in nodes(node):
            if item.uid not in self._terms:
                self._terms[item.uid] = self._translate(item)
        return self._terms[node.uid]

    def at_most(self, a: Any, b: Any) -> Any:
        """``a <= b``, signed."""
        return self._make.apply(self._names["le"], a, b)

    def _translate(self, node: Any) -> Any:
        op, make = node.op, self._make.apply
        if op == "const":
            return self.number(node.args[0])
        if op == "truth":
            return self._make.truth(node.args[0])
        if op == "leaf":
            return self._variable(node.args[0])
        a = [self._terms[x.uid] for x in node.args]
        if op in ("mul", "div", "mod") and node.args[1].op != "const":
            self.linear = False
        if op in ("div", "mod"):
            return self._division(op, node, a[0], a[1])
        if op in BITWISE:
            return self._bitwise(node, a[0], a[1])
        if op in ("add", "mul", "lt"):
            return make(self._names[op], *a)
        if op in ("min", "max"):
            smaller = self.at_most(a[0], a[1])
            return make("ite", smaller, *(a if op == "min" else a[::-1]))
        return make({"select": "ite", "eq": "=", "not": "not", "all": "and", "any": "or"}[op], *a)

    def _variable(self, variable: Leaf) -> Any:
        if variable in self.variables:
            return self.variables[variable]
        # Different variables are different unknowns even where they are called alike.
        name = f"{variable.label}:{variable.kind}:{len(self.variables)}"
        step = self.number(variable.multiple_of)
        term = self._make.variable(name, self.width)
        if variable.multiple_of > 1:
            if self.width is None:
                term = self._make.apply("*", step, term)
            else:
                self.side.append(
                    self._make.apply("=", self._make.apply("bvsrem", term, step), self.number(0))
                )
        if variable.lo is not None:
            self.side.append(self.at_most(self.number(variable.lo), term))
        if variable.hi is not None:
            self.side.append(self.at_most(term, self.number(variable.hi)))
        self.variables[variable] = term
        return term

    def _division(self, op: str, node: Any, a: Any, b: Any) -> Any:
        make = self._make.apply
        if self.width is None:
            # For a positive divisor SMT-LIB's div and mod on integers round to minus infinity, as ours do.
            return make(op, a, b)
        divisor = node.args[1].value
        if divisor is not None and divisor & (divisor - 1) == 0:
            if op == "div":
                return make("bvashr", a, self.number(divisor.bit_length() - 1))
            return make("bvand", a, self.number(divisor - 1))
        lo, _ = bounds(node.args[0])
        if lo is not None and lo >= 0:
            return make("bvudiv" if op == "div" else "bvurem", a, b)
        remainder = make("bvsmod", a, b)  # the sign of the divisor, which is positive
        return remainder if op == "mod" else make("bvsdiv", make("bvsub", a, remainder), b)

    def _bitwise(self, node: Index, a: Any, b: Any) -> Any:
        op, make = node.op, self._make.apply
        if self.width is not None:
            return make(self._names[op], a, b)
        x, y = node.args
        lo, hi = bounds(y)
        if lo is None or hi is None or lo < 0:
            x, y, a, b = y, x, b, a
            lo, hi = bounds(y)
        if lo is None or hi is None or lo < 0:
            raise UnencodableError(f"{node!r} mixes the bits of two numbers without bounds")
        bits = range(_zeros(y, hi.bit_length()), hi.bit_length())
        name = f"{len(self._terms)}"
        high_x, bits_x, low_x = self._split(f"x{name}", a, bits)
        _, bits_y, _ = self._split(f"y{name}", b, bits)
        total = self._weighted([make(op, p, q) for p, q in zip(bits_x, bits_y, strict=True)], bits)
        if op == "and":
            return total
        return make("+", make("+", total, make("*", high_x, self.number(1 << bits.stop))), low_x)

    def _weighted(self, booleans: list[Any], bits: range) -> Any:
        """The number whose bits at the positions ``bits`` are ``booleans`` and whose other bits are zero."""
        total = self.number(0)
        for position, bit in zip(bits, booleans, strict=True):
            total = self._make.apply(
                "+", total, self._make.apply("ite", bit, self.number(1 << position), self.number(0))
            )
        return total

    def _split(self, name: str, term: Any, bits: range) -> tuple[Any, list[Any], Any]:
        """``term == high * 2**stop + sum(bit * 2**i) + low`` with ``0 <= low < 2**start``."""
        make = self._make.apply
        high, low = self._make.variable(f"high:{name}", None), self._make.variable(f"low:{name}", None)
        booleans = [self._make.boolean(f"bit:{name}:{i}") for i in bits]
        total = make(
            "+", make("*", high, self.number(1 << bits.stop)), make("+", low, self._weighted(booleans, bits))
        )
        bounded = [make("<=", self.number(0), low), make("<", low, self.number(1 << bits.start))]
        self.side += [make("=", term, total), *bounded]
        return high, booleans, low


def _zeros(node: Index, most: int) -> int:
    """How many low bits of ``node`` are sure to be zero, at most ``most``."""
    zeros = 0
    while zeros < most and is_multiple(node, 2 << zeros):
        zeros += 1
    return zeros


def theory_for(roots: Iterable[Relation]) -> int | None:
    """The width of bit-vectors when bits are mixed or variables multiplied and all is bounded; ``None`` for
    integers.
    """
    roots = list(roots)
    mixes = any(
        n.op in BITWISE or (n.op in ("mul", "div", "mod") and n.args[1].op != "const") for n in nodes(*roots)
    )
    return bit_width(roots) if mixes else None
