"""PTX text -> `syntax.Module`. The grammar covers modules, kernels, declarations and instruction statements
(ISA 4 and 5).

Opcodes and special registers are single words with their dots (`ld.global.v4.u32`, `%tid.x`): what the parts
of an opcode mean is the business of each instruction, not of the grammar. Device functions (`.func`) are not
covered.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput

from tileproof.errors import SimulationError
from tileproof.simulate import syntax

GRAMMAR = r"""
module: ".version" DECIMAL ".target" words ("," words)* (".address_size" INTEGER)? item*
?item: declaration | kernel | pragma
words: WORD

kernel: attribute* ".entry" WORD ["(" [parameter ("," parameter)*] ")"] directive* scope
parameter: attribute+ declarator
directive: attribute | DOTWORD INTEGER ("," INTEGER)+ -> numbers | pragma

declaration: attribute+ declarator ("," declarator)* ["=" initial] ";"
attribute: DOTWORD [INTEGER]
declarator: WORD extent*
extent: "[" [INTEGER] "]"
initial: constant | "{" constant ("," constant)* "}"
registers: ".reg" DOTWORD+ register ("," register)* ";"
register: WORD ["<" INTEGER ">"]
pragma: ".pragma" STRING ("," STRING)* ";"

scope: "{" statement* "}"
?statement: registers | declaration | scope | label | instruction | pragma
label: WORD ":"
instruction: [guard] WORD [operand ("," operand)*] ";"
guard: "@" WORD -> guard | "@" "!" WORD -> inverted_guard

?operand: name | sum | constant | negation | pair | vector | address
name: WORD
sum: WORD "+" INTEGER
negation: "!" WORD
pair: WORD "|" WORD
vector: "{" operand ("," operand)* "}"
address: "[" base ("," operand)* "]"
?start: name | integer
base: start ["+" integer]

?constant: integer | real
integer: INTEGER -> integer | MINUS INTEGER -> negative_integer
real: (DECIMAL | HEXADECIMAL_REAL) -> real | MINUS DECIMAL -> negative_real

MINUS: "-"
HEXADECIMAL_REAL.4: /0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}/
DECIMAL.3: /\d+\.\d*([eE][+-]?\d+)?|\d+[eE][+-]?\d+/
INTEGER.2: /(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?/
WORD: /[A-Za-z_$%][\w$]*((\.|::)[\w$]+)*/
DOTWORD: /\.[A-Za-z_]\w*(::\w+)*/
DEBUG.5: /\.(loc|file)\b[^\n]*/
STRING: /"[^"\n]*"/

%ignore /\s+/
%ignore /\/\/[^\n]*/
%ignore /\/\*(.|\n)*?\*\//
%ignore DEBUG
"""

_SPACES = ("global", "shared", "shared::cta", "local", "const", "param")
_LINKAGE = ("visible", "extern", "weak", "common")


class PtxSyntaxError(SimulationError):
    """PTX text that the grammar or the declarations' rules do not allow."""


def dotted(words: Iterable[str]) -> str:
    """`.a, .b` for messages."""
    return ", ".join(f".{word}" for word in words)


def _integer(text: str) -> int:
    digits = text.rstrip("U")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return int(digits, 8)
    return int(digits, 0)


def _real(text: str) -> syntax.Real:
    if text[:2] in ("0f", "0F"):
        octets = bytes.fromhex(text[2:])
        return syntax.Real(struct.unpack(">f", octets)[0], 32, int.from_bytes(octets))
    if text[:2] in ("0d", "0D"):
        octets = bytes.fromhex(text[2:])
        return syntax.Real(struct.unpack(">d", octets)[0], 64, int.from_bytes(octets))
    value = float(text)
    return syntax.Real(value, None, struct.unpack("<Q", struct.pack("<d", value))[0])


class _Attribute(NamedTuple):
    """A dotted word of a declaration or a kernel, and the number after it, if any."""

    word: str
    number: int | None
    line: int


class _Declarator(NamedTuple):
    name: str
    elements: int | None
    is_array: bool


def _variable(
    attributes: list[_Attribute], declarator: _Declarator, initial: tuple[Any, ...] = ()
) -> syntax.Variable:
    name, elements, is_array = declarator
    line = attributes[0][2]
    words = [word for word, _, _ in attributes if word not in _LINKAGE and word != "align"]
    if len(words) < 2 or words[0] not in _SPACES:
        raise PtxSyntaxError(
            f"line {line}: declaration of {name!r} needs a state space ({dotted(_SPACES)}) and then a type; "
            f"found {dotted(words) or 'nothing'}"
        )
    space, kind, *rest = words
    pointer_at = next((i for i, (word, _, _) in enumerate(attributes) if word == "ptr"), len(attributes))
    aligns = [(i, number) for i, (word, number, _) in enumerate(attributes) if word == "align"]
    own = [number for i, number in aligns if i < pointer_at]
    pointee = [number for i, number in aligns if i > pointer_at]
    return syntax.Variable(
        name=name,
        space=space.split("::")[0],
        type=kind,
        elements=elements,
        align=own[0] if own else None,
        attributes=tuple(rest),
        pointee_align=pointee[0] if pointee else None,
        is_array=is_array,
        is_extern=any(word == "extern" for word, _, _ in attributes),
        initial=initial,
        line=line,
    )


@v_args(inline=True)
class _Builder(Transformer[Token, Any]):
    """Builds the tree of `syntax` while the parser runs; `pragma` statements vanish."""

    def words(self, word: Token) -> str:
        return str(word)

    def attribute(self, word: Token, number: Token | None) -> _Attribute:
        return _Attribute(str(word)[1:], None if number is None else _integer(number), word.line or 0)

    def extent(self, size: Token | None) -> int | None:
        return None if size is None else _integer(size)

    def declarator(self, name: Token, *extents: int | None) -> _Declarator:
        total: int | None = 1
        for extent in extents:
            total = None if extent is None or total is None else total * extent
        return _Declarator(str(name), total, bool(extents))

    def initial(self, *values: Any) -> tuple[Any, ...]:
        return values

    def declaration(self, *parts: Any) -> list[syntax.Variable]:
        *declared, initial = parts
        attributes = [part for part in declared if isinstance(part, _Attribute)]
        declarators = [part for part in declared if isinstance(part, _Declarator)]
        return [_variable(attributes, declarator, initial or ()) for declarator in declarators]

    def parameter(self, *parts: Any) -> syntax.Variable:
        *attributes, declarator = parts
        return _variable(attributes, declarator)

    def register(self, name: Token, count: Token | None) -> tuple[str, int | None]:
        return str(name), None if count is None else _integer(count)

    def registers(self, *parts: Any) -> syntax.RegisterDeclaration:
        words = [part for part in parts if isinstance(part, Token)]
        if len(words) != 1:
            raise PtxSyntaxError(
                f"line {words[0].line}: vector registers ({' '.join(words)}) are unknown; declare scalars"
            )
        names = tuple(part for part in parts if not isinstance(part, Token))
        return syntax.RegisterDeclaration(str(words[0])[1:], names, words[0].line or 0)

    def pragma(self, *_: Token) -> None:
        return None

    def directive(self, content: _Attribute | None) -> tuple[str, tuple[int, ...]] | None:
        if content is None:
            return None
        word, number, _ = content
        return word, () if number is None else (number,)

    def numbers(self, word: Token, *values: Token) -> tuple[str, tuple[int, ...]]:
        return str(word)[1:], tuple(_integer(value) for value in values)

    def label(self, word: Token) -> syntax.Label:
        return syntax.Label(str(word), word.line or 0)

    def guard(self, word: Token) -> syntax.Guard:
        return syntax.Guard(syntax.Name(str(word)), False)

    def inverted_guard(self, word: Token) -> syntax.Guard:
        return syntax.Guard(syntax.Name(str(word)), True)

    def instruction(self, guard: syntax.Guard | None, opcode: Token, *operands: Any) -> syntax.Instruction:
        found = tuple(operand for operand in operands if operand is not None)
        return syntax.Instruction(str(opcode), found, guard, opcode.line or 0, opcode.start_pos or 0)

    def name(self, word: Token) -> syntax.Name:
        return syntax.Name(str(word))

    def sum(self, word: Token, offset: Token) -> syntax.Sum:
        return syntax.Sum(syntax.Name(str(word)), _integer(offset))

    def negation(self, word: Token) -> syntax.Negation:
        return syntax.Negation(syntax.Name(str(word)))

    def pair(self, first: Token, second: Token) -> syntax.Pair:
        return syntax.Pair(syntax.Name(str(first)), syntax.Name(str(second)))

    def vector(self, *elements: Any) -> syntax.Vector:
        return syntax.Vector(elements)

    def base(self, base: Any, offset: syntax.Integer | None) -> tuple[Any, int]:
        return base, 0 if offset is None else offset.value

    def address(self, base: tuple[Any, int], *rest: Any) -> syntax.Address:
        return syntax.Address(base[0], base[1], rest)

    def integer(self, text: Token) -> syntax.Integer:
        return syntax.Integer(_integer(text))

    def negative_integer(self, _: Token, text: Token) -> syntax.Integer:
        return syntax.Integer(-_integer(text))

    def real(self, text: Token) -> syntax.Real:
        return _real(text)

    def negative_real(self, _: Token, text: Token) -> syntax.Real:
        return _real("-" + text)

    def scope(self, *statements: Any) -> syntax.Scope:
        flat: list[syntax.Statement] = []
        for statement in statements:
            if isinstance(statement, list):
                flat += statement
            elif statement is not None:
                flat.append(statement)
        return syntax.Scope(tuple(flat))

    def kernel(self, *parts: Any) -> syntax.Kernel:
        name = next(part for part in parts if isinstance(part, Token))
        after = parts[parts.index(name) + 1 :]
        parameters = tuple(part for part in after if isinstance(part, syntax.Variable))
        directives: dict[str, tuple[int, ...]] = dict(part for part in after if isinstance(part, tuple))
        return syntax.Kernel(str(name), parameters, directives, after[-1], name.line or 0)

    def module(self, version: Token, *parts: Any) -> syntax.Module:
        major, minor = str(version).split(".")
        targets = tuple(part for part in parts if type(part) is str)
        variables = tuple(variable for part in parts if isinstance(part, list) for variable in part)
        kernels = tuple(part for part in parts if isinstance(part, syntax.Kernel))
        return syntax.Module((int(major), int(minor)), targets, variables, kernels, "")


@functools.cache
def _parser() -> Callable[[str], Any]:
    return Lark(GRAMMAR, start="module", parser="lalr", transformer=_Builder(), maybe_placeholders=True).parse


@functools.lru_cache(maxsize=64)
def parse(ptx: str) -> syntax.Module:
    """PTX text -> its syntax tree. Raises `PtxSyntaxError` with the line and text of the first thing that is
    not PTX.
    """
    try:
        module: syntax.Module = _parser()(ptx)
    except UnexpectedInput as error:
        lines = ptx.splitlines()
        line = error.line if isinstance(error.line, int) and error.line > 0 else len(lines)
        text = lines[line - 1].strip() if 0 < line <= len(lines) else "end of text"
        expected = sorted(getattr(error, "expected", None) or getattr(error, "allowed", None) or ())
        raise PtxSyntaxError(
            f"line {line}: `{text}` is not PTX that the simulator reads (column {error.column}; "
            f"expected one of {', '.join(expected)})"
        ) from None
    return syntax.Module(module.version, module.targets, module.variables, module.kernels, ptx)
