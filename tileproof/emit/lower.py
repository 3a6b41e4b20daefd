"""The PTX reading of index expressions: integer instructions that compute what ``evaluate`` says.

    lowering = Lowering(code, {i: Register("%i", 32)})
    lowering.operand(i * 16 + 4, 32)         # writes shl, add and returns "%r1"

Arithmetic is done in 32 or 64 bits. Sums, products, bitwise operations and remainders by powers of two are
right modulo ``2**bits`` whatever their operands; everything else reads its operands as signed numbers, which
must fit. Those are the *exact points* of ``contracts.width``. That they fit is for the caller to make sure:
:func:`width_of` does by bounds, ``plan.py`` also by proofs. In 64 bits, subexpressions that are sure to fit
in 32 bits are computed there and widened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from tileproof.contracts.width import exact_points, fits
from tileproof.emit.code import Code, TemporaryKind
from tileproof.emit.registers import Register
from tileproof.errors import EmissionError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.index import Index, Relation
from tileproof.layouts.leaf import Leaf


def special(name: str, extent: int) -> Leaf:
    """A variable that is a 32-bit special register such as ``%tid.x``, with values below ``extent``."""
    return Leaf(name, "thread", 0, extent - 1)


def width_of(expression: Index | Relation) -> int:
    """32 if bounds show that the expression keeps its meaning in 32 bits, else 64.

    Raises :class:`EmissionError` when 64 bits are not sure to do either.
    """
    if keeps_meaning(expression, 32):
        return 32
    for point in _exact_points(expression):
        if not fits(point, 64) and point.op != "leaf":
            raise EmissionError(
                f"{expression!r} is computed in 64 bits, and bounds do not show that {point!r} fits; "
                "declare narrower bounds of its symbols"
            )
    return 64


def keeps_meaning(expression: Index | Relation, bits: int) -> bool:
    """Whether bounds show that all exact points fit, so that the expression is right modulo ``2**bits``."""
    return all(fits(point, bits) for point in _exact_points(expression))


def _exact_points(expression: Index | Relation) -> tuple[Index, ...]:
    return exact_points(cast("Index", expression))  # which walks any node


def narrow(node: Index) -> bool:
    """Whether bounds show that the number and all that it is computed from fit in 32 bits."""
    found: bool | None = node.memo.get("narrow")
    if found is None:
        found = node.memo["narrow"] = fits(node, 32) and keeps_meaning(node, 32)
    return found


class Lowering:
    """Writes instructions to ``code``; equal expressions are computed once.

    ``registers`` says where the variables are; those named as special registers are read from them.
    """

    def __init__(self, code: Code, registers: Mapping[Leaf, Register], outer: Lowering | None = None) -> None:
        self.code = code
        self._registers = registers
        self._outer = outer
        self._known: dict[tuple[int, ...], str] = {}

    def nested(self) -> Lowering:
        """For a guarded block or a loop: it sees what was computed before, and keeps what it computes."""
        return Lowering(self.code, self._registers, self)

    def operand(self, node: Index, bits: int) -> str:
        """A register or an immediate that holds the number modulo ``2**bits``."""
        if node.op == "const":
            return _immediate(node.args[0], bits)
        found = self._find(node.uid, bits)
        if found is None:
            if node.op == "leaf":
                found = self._leaf(node, bits)
            elif bits == 64 and narrow(node):
                found = self._widened(node)
            else:
                found = _INTEGERS[node.op](self, node, bits)
            self._known[node.uid, bits] = found
        return found

    def number(self, node: Index, bits: int) -> str:
        """As :meth:`operand`, for a number that fits in ``bits`` but may be computed from some that do not."""
        if bits == 64 or keeps_meaning(node, bits):
            return self.operand(node, bits)
        found = self._find(node.uid, bits, 64)
        if found is None:
            found = self._known[node.uid, bits, 64] = self._compute(
                "cvt.u32.u64", bits, self.operand(node, 64)
            )
        return found

    def constant(self, pattern: int, bits: int) -> str:
        """A register of ``bits`` that holds a bit pattern."""
        key = (-1, pattern, bits)
        found = self._find(*key)
        if found is None:
            text = f"0x{pattern:0{bits // 4}X}"
            found = self._known[key] = self.code.compute(f"mov.b{bits}", _KINDS[bits], text)
        return found

    def predicate(self, node: Relation, bits: int) -> str:
        """A predicate register that holds the truth value."""
        found = self._find(node.uid, bits)
        if found is None:
            found = self._known[node.uid, bits] = _TRUTHS[node.op](self, node, bits)
        return found

    def address(self, base: Index, offset: Index, bits: int, width: int) -> str:
        """A register of ``width`` bits that holds ``base + offset``; the offset is computed in ``bits``."""
        if bits == width or (narrow(offset) if width == 64 else keeps_meaning(offset, 32)):
            return self.operand(base + offset, width)
        key = (base.uid, offset.uid, bits)
        found = self._find(*key)
        if found is None:
            opcode = "cvt.s64.s32" if width == 64 else "cvt.u32.u64"
            part = self._compute(opcode, width, self.operand(offset, bits))
            found = self._known[key] = self._compute(f"add.s{width}", width, self.operand(base, width), part)
        return found

    def _find(self, *key: int) -> str | None:
        scope: Lowering | None = self
        while scope is not None:
            found = scope._known.get(key)
            if found is not None:
                return found
            scope = scope._outer
        return None

    def _compute(self, opcode: str, bits: int, *operands: str) -> str:
        return self.code.compute(opcode, _KINDS[bits], *operands)

    # Variables and changes of width.

    def _leaf(self, node: Index, bits: int) -> str:
        variable: Leaf = node.args[0]
        if variable.lo is not None and variable.lo == variable.hi:
            return _immediate(variable.lo, bits)
        if variable.name.startswith("%"):
            if bits == 64:
                return self._widened(node)
            return self._compute("mov.u32", 32, variable.name)
        register = self._registers.get(variable)
        if register is None:
            raise EmissionError(
                f"{variable.label} has no register here: a symbol must be a parameter of the kernel or the "
                "variable of an enclosing loop"
            )
        if register.bits == bits:
            return register.name
        return self._widened(node) if bits == 64 else self._compute("cvt.u32.u64", 32, register.name)

    def _widened(self, node: Index) -> str:
        opcode = "cvt.u64.u32" if _natural(node) else "cvt.s64.s32"
        return self._compute(opcode, 64, self.operand(node, 32))

    # Operations that are right modulo 2**bits.

    def _add(self, node: Index, bits: int) -> str:
        for product, addend in (node.args[::-1], node.args):
            if product.op == "mul" and self._find(product.uid, bits) is None:
                fused = self._multiply_add(product, addend, bits)
                if fused is not None:
                    return fused
        a, b = node.args if node.args[0].op != "const" else node.args[::-1]
        return self._compute(f"add.s{bits}", bits, *self._pair(a, b, bits))

    def _multiply_add(self, product: Index, addend: Index, bits: int) -> str | None:
        a, b = _ordered(product.args)
        if b.value == -1:
            return self._compute(f"sub.s{bits}", bits, self.operand(addend, bits), self.operand(a, bits))
        if bits == 64 and narrow(a) and narrow(b):
            return self._compute(
                f"mad.wide.{_sign(a, b)}32", 64, *self._pair(a, b, 32), self.operand(addend, 64)
            )
        if _is_power_of_two(b):
            return None  # a shift and an add, which is what assemblers fuse
        return self._compute(f"mad.lo.s{bits}", bits, *self._pair(a, b, bits), self.operand(addend, bits))

    def _mul(self, node: Index, bits: int) -> str:
        a, b = _ordered(node.args)
        if bits == 64 and narrow(a) and narrow(b):
            return self._compute(f"mul.wide.{_sign(a, b)}32", 64, *self._pair(a, b, 32))
        factor = b.value
        if factor is not None and factor % (1 << bits) == 0:
            return "0"
        if factor == -1:
            return self._compute(f"neg.s{bits}", bits, self.operand(a, bits))
        if factor is not None and _is_power_of_two(b):
            return self._compute(f"shl.b{bits}", bits, self.operand(a, bits), str(factor.bit_length() - 1))
        return self._compute(f"mul.lo.s{bits}", bits, *self._pair(a, b, bits))

    def _bitwise(self, node: Index, bits: int) -> str:
        return self._compute(f"{node.op}.b{bits}", bits, *self._pair(*_ordered(node.args), bits))

    def _pair(self, a: Index, b: Index, bits: int) -> tuple[str, str]:
        return self.operand(a, bits), self.operand(b, bits)

    def _select(self, node: Index, bits: int) -> str:
        condition, a, b = node.args
        chosen = self.predicate(condition, bits)
        return self._compute(f"selp.b{bits}", bits, *self._pair(a, b, bits), chosen)

    # Operations that read numbers. Whether `div` and `rem` round a negative number down or to zero is left to
    # the machine (PTX ISA 9.7.1.9); what the sign of the rest corrects here comes out right with either.

    def _div(self, node: Index, bits: int) -> str:
        a, b = node.args
        dividend = self._number(a, bits)
        if not _representable(b, bits):
            return "0" if _natural(a) else self._sign_mask(dividend, bits)
        if _is_power_of_two(b):
            kind = "u" if _natural(a) else "s"
            return self._compute(f"shr.{kind}{bits}", bits, dividend, str(b.value.bit_length() - 1))
        divisor = self.operand(b, bits)
        if _natural(a):
            return self._compute(f"div.u{bits}", bits, dividend, divisor)
        quotient = self._compute(f"div.s{bits}", bits, dividend, divisor)
        whole = self._compute(f"mul.lo.s{bits}", bits, quotient, divisor)
        rest = self._compute(f"sub.s{bits}", bits, dividend, whole)
        return self._compute(f"add.s{bits}", bits, quotient, self._sign_mask(rest, bits))

    def _mod(self, node: Index, bits: int) -> str:
        a, b = node.args
        if _is_power_of_two(b):
            if b.value >= 1 << bits:
                return self.operand(a, bits)
            return self._compute(f"and.b{bits}", bits, self.operand(a, bits), str(b.value - 1))
        dividend, rest = self._number(a, bits), ""
        if not _representable(b, bits):
            if _natural(a):
                return dividend
            rest = dividend
        elif _natural(a):
            return self._compute(f"rem.u{bits}", bits, dividend, self.operand(b, bits))
        else:
            rest = self._compute(f"rem.s{bits}", bits, dividend, self.operand(b, bits))
        lift = self._compute(f"and.b{bits}", bits, self._sign_mask(rest, bits), self.operand(b, bits))
        return self._compute(f"add.s{bits}", bits, rest, lift)

    def _sign_mask(self, value: str, bits: int) -> str:
        """-1 for a negative number, else 0."""
        return self._compute(f"shr.s{bits}", bits, value, str(bits - 1))

    def _extremum(self, node: Index, bits: int) -> str:
        a, b = _ordered(node.args)
        if not _representable(b, bits):
            # Every number of this width is on one side of the constant.
            return self.operand(a if (b.value > 0) == (node.op == "min") else b, bits)
        return self._compute(f"{node.op}.s{bits}", bits, self._number(a, bits), self.operand(b, bits))

    def _number(self, node: Index, bits: int) -> str:
        if not _representable(node, bits):
            raise EmissionError(f"the constant {node!r} does not fit in {bits} bits; pass index_bits=64")
        return self.operand(node, bits)

    # Relations.

    def _truth(self, node: Relation, bits: int) -> str:  # noqa: ARG002 - one signature for all readings
        return self.code.compute("mov.pred", "pred", "1" if node.args[0] else "0")

    def _compare(self, node: Relation, bits: int, opposite: bool = False) -> str:
        a, b = _ordered(node.args) if node.op == "eq" else node.args
        for one, other, is_left in ((a, b, True), (b, a, False)):
            if not _representable(one, bits) and other.op != "const":
                holds = node.op == "lt" and (one.value < 0) == is_left
                return self.code.compute("mov.pred", "pred", "1" if holds != opposite else "0")
        if narrow(a) and narrow(b):
            bits = 32
        name = {"eq": ("eq", "ne"), "lt": ("lt", "ge")}[node.op][opposite]
        return self.code.compute(f"setp.{name}.s{bits}", "pred", *self._pair(a, b, bits))

    def _not(self, node: Relation, bits: int) -> str:
        inner = node.args[0]
        if inner.op in ("eq", "lt"):
            return self._compare(inner, bits, opposite=True)
        return self.code.compute("not.pred", "pred", self.predicate(inner, bits))

    def _connective(self, node: Relation, bits: int) -> str:
        first, *others = (self.predicate(item, bits) for item in node.args)
        for other in others:
            first = self.code.compute("and.pred" if node.op == "all" else "or.pred", "pred", first, other)
        return first


_KINDS: dict[int, TemporaryKind] = {16: "b16", 32: "b32", 64: "b64"}

_INTEGERS: dict[str, Callable[[Lowering, Any, int], str]] = {
    "add": Lowering._add,
    "mul": Lowering._mul,
    "div": Lowering._div,
    "mod": Lowering._mod,
    "xor": Lowering._bitwise,
    "and": Lowering._bitwise,
    "or": Lowering._bitwise,
    "min": Lowering._extremum,
    "max": Lowering._extremum,
    "select": Lowering._select,
}

_TRUTHS: dict[str, Callable[[Lowering, Any, int], str]] = {
    "truth": Lowering._truth,
    "eq": Lowering._compare,
    "lt": Lowering._compare,
    "not": Lowering._not,
    "all": Lowering._connective,
    "any": Lowering._connective,
}


def _immediate(value: int, bits: int) -> str:
    """The constant modulo ``2**bits``, as a signed number."""
    half = 1 << (bits - 1)
    return str((value + half) % (1 << bits) - half)


def _representable(node: Index, bits: int) -> bool:
    """Whether a number that is read is of that width: constants may be too large, others are exact points."""
    return node.op != "const" or fits(node, bits)


def _natural(node: Index) -> bool:
    lo = bounds(node)[0]
    return lo is not None and lo >= 0


def _sign(a: Index, b: Index) -> str:
    return "u" if _natural(a) and _natural(b) else "s"


def _is_power_of_two(node: Index) -> bool:
    value = node.value
    return value is not None and value > 0 and value & (value - 1) == 0


def _ordered(arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """The operands of a commutative operation: constants last, others by their text, which no run changes."""
    a, b = sorted(arguments, key=lambda node: (node.op == "const", repr(node)))
    return a, b
