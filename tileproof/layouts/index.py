"""Index expressions: one formula, written once, read as a number, SymPy, Z3 or PTX.

    i = symbol("i", 0, 63)
    row = i // 8 * 64 + i % 8          # builds an expression, computes nothing
    row < 512                          # builds a relation, decides nothing

An :class:`Index` is an integer over the unbounded integers; a :class:`Relation` is a truth value over such
integers. Both are immutable and hash-consed: equal structure is the same object, so identity is a cheap
equality and every reading can remember what it made of a node. Constructors fold constants and the units of
arithmetic (``x + 0``, ``x * 1``, ``x // 1``) and nothing else, so that what a proof starts from is what its
author wrote.

Division rounds to minus infinity and the remainder has the sign of the divisor, which must be provably
positive. Machine width never enters here; it is an obligation of its own.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Union

from tileproof.errors import LayoutError
from tileproof.layouts.leaf import Leaf, LeafKind, Uniformity

if TYPE_CHECKING:
    import sympy

IndexLike = Union["Index", "Operand", int, "sympy.Expr"]
"""What is accepted wherever an index is: an expression, an axis, a Python or NumPy integer, a SymPy expression."""


_serial = itertools.count()
_interned: dict[tuple[Any, ...], Any] = {}
_INTERN_LIMIT = 400_000
# Variables are never forgotten, so one variable is one node for good.
_leaves: dict[Leaf, Index] = {}


def _intern(cls: type[Any], op: str, args: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
    found = _interned.get(key)
    if found is None:
        if len(_interned) > _INTERN_LIMIT:
            # Sharing is a saving, not a promise: nothing is wrong if equal nodes are built twice after this.
            _interned.clear()
        found = _interned.setdefault(key, _make(cls, op, args))
    return found


def _make(cls: type[Any], op: str, args: tuple[Any, ...]) -> Any:
    node = object.__new__(cls)
    node.op, node.args, node.uid, node.memo = op, args, next(_serial), {}
    return node


class Expression:
    """A node: operator, arguments, a serial number that identifies it, and what each reading made of it."""

    __slots__ = ("args", "memo", "op", "uid")
    op: str
    args: tuple[Any, ...]
    uid: int
    memo: dict[str, Any]

    def __hash__(self) -> int:
        return self.uid

    def __repr__(self) -> str:
        from tileproof.layouts.text import expression_text

        return expression_text(self)

    @property
    def sympy(self) -> Any:
        """The same as a SymPy expression, to go on with or to print; as an index or relation it reads back."""
        from tileproof.layouts.sympy_reading import to_sympy

        return to_sympy(self)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _rebuild, (type(self), self.op, self.args)


def _rebuild(cls: type[Any], op: str, args: tuple[Any, ...]) -> Any:
    if op == "leaf":
        return leaf(args[0])
    if op == "const":
        return const(args[0])
    if op == "truth":
        return truth(args[0])
    return _intern(cls, op, args, (op, *(a.uid for a in args)))


class Operand:
    """Mixin that lets an object take part in index arithmetic; it needs ``as_index``."""

    __slots__ = ()

    def as_index(self) -> Index:
        raise NotImplementedError

    def __add__(self, other: IndexLike) -> Index:
        return add(self.as_index(), as_index(other))

    def __radd__(self, other: IndexLike) -> Index:
        return add(as_index(other), self.as_index())

    def __sub__(self, other: IndexLike) -> Index:
        return add(self.as_index(), mul(as_index(other), const(-1)))

    def __rsub__(self, other: IndexLike) -> Index:
        return add(as_index(other), mul(self.as_index(), const(-1)))

    def __mul__(self, other: IndexLike) -> Index:
        return mul(self.as_index(), as_index(other))

    def __rmul__(self, other: IndexLike) -> Index:
        return mul(as_index(other), self.as_index())

    def __neg__(self) -> Index:
        return mul(self.as_index(), const(-1))

    def __floordiv__(self, other: IndexLike) -> Index:
        return floordiv(self.as_index(), as_index(other))

    def __rfloordiv__(self, other: IndexLike) -> Index:
        return floordiv(as_index(other), self.as_index())

    def __mod__(self, other: IndexLike) -> Index:
        return mod(self.as_index(), as_index(other))

    def __rmod__(self, other: IndexLike) -> Index:
        return mod(as_index(other), self.as_index())

    def __lshift__(self, bits: int) -> Index:
        return mul(self.as_index(), const(1 << _shift_amount(bits)))

    def __rshift__(self, bits: int) -> Index:
        return floordiv(self.as_index(), const(1 << _shift_amount(bits)))

    def __xor__(self, other: IndexLike) -> Index:
        return bitwise("xor", self.as_index(), as_index(other))

    def __rxor__(self, other: IndexLike) -> Index:
        return bitwise("xor", as_index(other), self.as_index())

    def __and__(self, other: IndexLike) -> Index:
        return bitwise("and", self.as_index(), as_index(other))

    def __rand__(self, other: IndexLike) -> Index:
        return bitwise("and", as_index(other), self.as_index())

    def __or__(self, other: IndexLike) -> Index:
        return bitwise("or", self.as_index(), as_index(other))

    def __ror__(self, other: IndexLike) -> Index:
        return bitwise("or", as_index(other), self.as_index())

    def __truediv__(self, other: object) -> Index:
        raise TypeError("an index is an integer: write // (floor division) instead of /")

    def __eq__(self, other: object) -> Relation:  # type: ignore[override]
        return equal(self.as_index(), as_index(other))

    def __ne__(self, other: object) -> Relation:  # type: ignore[override]
        return negate(equal(self.as_index(), as_index(other)))

    def __lt__(self, other: IndexLike) -> Relation:
        return less(self.as_index(), as_index(other))

    def __le__(self, other: IndexLike) -> Relation:
        return negate(less(as_index(other), self.as_index()))

    def __gt__(self, other: IndexLike) -> Relation:
        return less(as_index(other), self.as_index())

    def __ge__(self, other: IndexLike) -> Relation:
        return negate(less(self.as_index(), as_index(other)))

    def __bool__(self) -> bool:
        raise TypeError("an index expression has no truth value: compare it, or use select() and assumptions")

    def __hash__(self) -> int:
        return id(self)


class Index(Operand, Expression):
    """An integer expression. Build it with ordinary operators on symbols, axes and integers."""

    __slots__ = ()
    __hash__ = Expression.__hash__

    def as_index(self) -> Index:
        return self

    @property
    def value(self) -> int | None:
        """The number itself when the expression is a constant, else ``None``."""
        return self.args[0] if self.op == "const" else None

    def __index__(self) -> int:
        if self.op != "const":
            raise TypeError(f"{self!r} is symbolic; a plain integer is needed here")
        return int(self.args[0])


class Relation(Expression):
    """A truth value over index expressions. Combine with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    def __and__(self, other: Relation) -> Relation:
        return conjunction((self, as_relation(other)))

    def __or__(self, other: Relation) -> Relation:
        return disjunction((self, as_relation(other)))

    def __invert__(self) -> Relation:
        return negate(self)

    @property
    def value(self) -> bool | None:
        """The truth value when it is already decided by constants, else ``None``."""
        return self.args[0] if self.op == "truth" else None

    def __bool__(self) -> bool:
        if self.op == "truth":
            return bool(self.args[0])
        raise TypeError(
            f"the relation {self!r} is neither true nor false yet: combine relations with & | ~ "
            "(a chained comparison such as 0 <= i < n must be written (0 <= i) & (i < n))"
        )


def _shift_amount(bits: object) -> int:
    amount = as_index(bits).value
    if amount is None or amount < 0:
        raise LayoutError(f"a shift amount must be a constant that is not negative, got {bits!r}")
    return amount


# Constructors. Each folds constants and units of its operator, and nothing else.


def const(value: int) -> Index:
    """A plain integer."""
    result: Index = _intern(Index, "const", (value,), ("const", value))
    return result


def truth(value: bool) -> Relation:
    """A decided relation."""
    result: Relation = _intern(Relation, "truth", (bool(value),), ("truth", bool(value)))
    return result


def leaf(variable: Leaf) -> Index:
    """The expression that is one variable."""
    found = _leaves.get(variable)
    if found is None:
        found = _leaves.setdefault(variable, _make(Index, "leaf", (variable,)))
    return found


@cache
def leaf_of(
    name: str,
    kind: LeafKind,
    lo: int | None = None,
    hi: int | None = None,
    multiple_of: int = 1,
    uniform: Uniformity = "grid",
    copy: int = 0,
) -> Index:
    """The expression that is the variable with these fields, for variables that are needed again and again."""
    return leaf(Leaf(name, kind, lo, hi, multiple_of, uniform, copy))


def add(a: Index, b: Index) -> Index:
    """``a + b``."""
    if a.op == "const":
        if b.op == "const":
            return const(a.args[0] + b.args[0])
        if a.args[0] == 0:
            return b
    elif b.op == "const" and b.args[0] == 0:
        return a
    result: Index = _intern(Index, "add", (a, b), ("add", a.uid, b.uid))
    return result


def mul(a: Index, b: Index) -> Index:
    """``a * b``."""
    if a.op == "const":
        if b.op == "const":
            return const(a.args[0] * b.args[0])
        a, b = b, a
    if b.op == "const":
        if b.args[0] == 0:
            return b
        if b.args[0] == 1:
            return a
    result: Index = _intern(Index, "mul", (a, b), ("mul", a.uid, b.uid))
    return result


def _operand_text(node: Index) -> str:
    return repr(node) if node.op in ("leaf", "const") else f"({node!r})"


def _positive_divisor(a: Index, b: Index, sign: str) -> None:
    from tileproof.layouts.bounds import bounds

    lo = bounds(b)[0]
    if lo is None or lo < 1:
        raise LayoutError(
            f"the divisor of {_operand_text(a)} {sign} {_operand_text(b)} may be zero or negative "
            f"(its least value is {'unknown' if lo is None else lo}); "
            "declare the symbol with a lower bound of 1"
        )


def floordiv(a: Index, b: Index) -> Index:
    """``a // b``, rounding to minus infinity. Raises :class:`LayoutError` when ``b`` may be zero or negative."""
    if b.op == "const" and b.args[0] > 0:
        if b.args[0] == 1:
            return a
        if a.op == "const":
            return const(a.args[0] // b.args[0])
    else:
        _positive_divisor(a, b, "//")
    result: Index = _intern(Index, "div", (a, b), ("div", a.uid, b.uid))
    return result


def mod(a: Index, b: Index) -> Index:
    """``a % b``, never negative. Raises :class:`LayoutError` when ``b`` may be zero or negative."""
    if b.op == "const" and b.args[0] > 0:
        if b.args[0] == 1:
            return const(0)
        if a.op == "const":
            return const(a.args[0] % b.args[0])
    else:
        _positive_divisor(a, b, "%")
    result: Index = _intern(Index, "mod", (a, b), ("mod", a.uid, b.uid))
    return result


_BITWISE: dict[str, Callable[[int, int], int]] = {
    "xor": lambda a, b: a ^ b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}


def bitwise(op: str, a: Index, b: Index) -> Index:
    """``a ^ b``, ``a & b`` or ``a | b`` on integers in two's complement of unlimited width."""
    if a.op == "const":
        if b.op == "const":
            return const(_BITWISE[op](a.args[0], b.args[0]))
        a, b = b, a
    if b.op == "const" and b.args[0] == 0:
        return b if op == "and" else a
    result: Index = _intern(Index, op, (a, b), (op, a.uid, b.uid))
    return result


def minimum(a: IndexLike, b: IndexLike) -> Index:
    """The smaller of two indices."""
    x, y = as_index(a), as_index(b)
    if x.op == "const" and y.op == "const":
        return const(min(x.args[0], y.args[0]))
    return x if x is y else _intern(Index, "min", (x, y), ("min", x.uid, y.uid))


def maximum(a: IndexLike, b: IndexLike) -> Index:
    """The larger of two indices."""
    x, y = as_index(a), as_index(b)
    if x.op == "const" and y.op == "const":
        return const(max(x.args[0], y.args[0]))
    return x if x is y else _intern(Index, "max", (x, y), ("max", x.uid, y.uid))


def select(condition: Relation, a: IndexLike, b: IndexLike) -> Index:
    """``a`` where the condition holds, else ``b``."""
    c, x, y = as_relation(condition), as_index(a), as_index(b)
    if c.op == "truth":
        return x if c.args[0] else y
    return x if x is y else _intern(Index, "select", (c, x, y), ("select", c.uid, x.uid, y.uid))


def equal(a: Index, b: Index) -> Relation:
    """``a == b``."""
    if a is b:
        return truth(True)
    if a.op == "const" and b.op == "const":
        return truth(a.args[0] == b.args[0])
    result: Relation = _intern(Relation, "eq", (a, b), ("eq", a.uid, b.uid))
    return result


def less(a: Index, b: Index) -> Relation:
    """``a < b``."""
    if a is b:
        return truth(False)
    if a.op == "const" and b.op == "const":
        return truth(a.args[0] < b.args[0])
    result: Relation = _intern(Relation, "lt", (a, b), ("lt", a.uid, b.uid))
    return result


def negate(a: Relation) -> Relation:
    """The relation that holds where ``a`` does not."""
    if a.op == "truth":
        return truth(not a.args[0])
    if a.op == "not":
        inner: Relation = a.args[0]
        return inner
    result: Relation = _intern(Relation, "not", (a,), ("not", a.uid))
    return result


def _connective(op: str, unit: bool, items: Iterable[Relation]) -> Relation:
    kept: list[Relation] = []
    for item in items:
        if item.op == "truth":
            if item.args[0] is not unit:
                return item
        elif item not in kept:
            kept.append(item)
    if not kept:
        return truth(unit)
    if len(kept) == 1:
        return kept[0]
    result: Relation = _intern(Relation, op, tuple(kept), (op, *(k.uid for k in kept)))
    return result


def conjunction(items: Iterable[Relation]) -> Relation:
    """All of them hold (true for none)."""
    return _connective("all", True, items)


def disjunction(items: Iterable[Relation]) -> Relation:
    """At least one of them holds (false for none)."""
    return _connective("any", False, items)


def implies(premise: Relation, conclusion: Relation) -> Relation:
    """Where the premise holds, so does the conclusion."""
    return disjunction((negate(premise), conclusion))


def as_index(value: IndexLike | object) -> Index:
    """Any index-like value as an :class:`Index`. Raises :class:`LayoutError` for anything else."""
    if isinstance(value, Index):
        return value
    if isinstance(value, bool):
        raise LayoutError(f"an index is an integer, got the truth value {value}")
    if isinstance(value, int):
        return const(value)
    if isinstance(value, Operand):
        return value.as_index()
    if _is_sympy(value):
        from tileproof.layouts.sympy_reading import index_from_sympy

        return index_from_sympy(value)
    try:
        return const(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise LayoutError(
            f"an index must be an integer, a symbol, an Index or a SymPy expression, got {value!r}"
        ) from None


def _is_sympy(value: object) -> bool:
    """Tell without importing SymPy. Applied functions have a class of their own that no module holds."""
    return any(str(c.__module__).partition(".")[0] == "sympy" for c in type(value).__mro__)


def as_relation(value: Relation | bool | object) -> Relation:
    """Any relation-like value as a :class:`Relation`. Raises :class:`LayoutError` for anything else."""
    if isinstance(value, Relation):
        return value
    if isinstance(value, bool):
        return truth(value)
    if _is_sympy(value):
        from tileproof.layouts.sympy_reading import relation_from_sympy

        return relation_from_sympy(value)
    raise LayoutError(f"a relation such as n % 4 == 0 is needed, got {value!r}")
