"""Random operands of instructions on registers: whatever the table takes assembles."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.contracts.test_grammar_assembles import NEWEST
from tests.contracts.test_operands_assemble import module, width
from tests.contracts.test_statement_assembles import REGISTER_INSTRUCTIONS, texts
from tileproof.contracts.grammar import enumerate_spellings, shapes
from tileproof.contracts.statement import read
from tileproof.emit.assemble import assemble
from tileproof.errors import CallError

ARCH = "sm_100a"
TRIES = 6000
OTHERS = (
    "%p1", "!%p1", "%p1|%p2", "%b1", "%h1", "%r1", "%rd1", "%q1", "%r1|%p1", "_", "_|%p1", "%v.q", "%r1.x",
    "0", "-1", "3", "16", "255", "5U", "WARP_SZ", "1.0", "-.5", "1e400", "0f3F800000", "0d3FF0000000000000",
    "%tid.x", "%tid", "%ctaid.y", "%laneid", "%clock64", "%gridid", "%envreg3", "%is_explicit_cluster",
    "s", "s+16", "s[4]", "%rd1+8", "%r1[2]", "[%rd1]", "[%r1]", "[%rd1+-8]", "[%laneid]", "{%r1}", "{%r1, %r2}",
    "{%r1, _}", "{_, _}", "{%h1, %h2, %h3, %h4}", "{%rd1, %rd2}", "{%r1, 1}", "{%r1, %rd1}", "{%b1, %b2}",
)  # fmt: skip
"""Elements of vectors are not among them: ptxas loses them where it expands an instruction, as it does div.rn.f32."""


def taken() -> Iterator[str]:
    """Statements that the table takes, of operands that are often their own and at times any others."""
    picker = random.Random("operands")
    spellings = [list(enumerate_spellings(instruction.mnemonic)) for instruction in REGISTER_INSTRUCTIONS]
    for _ in range(TRIES):
        form = picker.choice(shapes(picker.choice(picker.choice(spellings))))
        own = [list(texts(operand)) for operand in form.operands]
        chosen = (picker.choice(ways if picker.random() < 0.7 else OTHERS) for ways in own)
        text = f"{form.spelling} {', '.join(chosen)};"
        try:
            statement = read(text, width)
        except CallError:
            continue
        if statement.ptx_version <= NEWEST and statement.unsupported_reason(ARCH) is None:
            yield text


def test_what_the_table_takes_assembles() -> None:
    statements = dict.fromkeys(taken())
    assert len(statements) > 900
    assemble(module(ARCH, NEWEST, *statements), ARCH)
