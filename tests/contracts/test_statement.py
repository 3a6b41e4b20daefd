from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tileproof.contracts.grammar import table
from tileproof.contracts.notation import syntax_line
from tileproof.contracts.statement import Parts, Statement, parts, read
from tileproof.errors import CallError, OpcodeError

ROOT = Path(__file__).parents[2]
WIDTHS = {"%p": 1, "%h": 16, "%r": 32, "%rd": 64}


def refusal(text: str) -> str:
    with pytest.raises((CallError, OpcodeError)) as caught:
        read(text, WIDTHS.get)
    return str(caught.value)


def test_a_statement_says_what_its_text_says() -> None:
    statement = read("@!%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r0],  1024;")
    assert statement.guard == "!%p0"
    assert statement.form.spelling == "mbarrier.arrive.expect_tx.shared.b64"
    assert statement.operands == ("_", "[%r0]", "1024")


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("cp.async.wait_all;", ()),
        ("  bar.sync\t0 ; ", ("0", None)),
        ("bar.red.popc.u32 %r, 1, !%p;", ("%r", "1", None, "!%p")),
        ("bar.red.popc.u32 %r, 1, 64, %p;", ("%r", "1", "64", "%p")),
        ("cp.async.ca.shared.global [%r], [%rd+-8], 16;", ("[%r]", "[%rd+-8]", "16", None, None)),
        ("cp.async.ca.shared.global [s+4], [%rd], 16, %p;", ("[s+4]", "[%rd]", "16", None, "%p")),
        ("cp.async.ca.shared.global [s], [%rd], 0x10, %r;", ("[s]", "[%rd]", "0x10", "%r", None)),
        ("st.global.v2.b32 [%rd], { %r , %r };", ("[%rd]", "{ %r , %r }")),
        ("ld.global.v8.b32 {%r,_,_,_,_,_,_,%r}, [%rd];", ("{%r,_,_,_,_,_,_,%r}", "[%rd]")),
        ("elect.sync _|%p, -1;", ("_|%p", "-1")),
        ("shfl.sync.idx.b32 %r | %p, %r, 0b11, 037, 4294967295U;", ("%r | %p", "%r", "0b11", "037", "4294967295U")),
        ("setp.lt.and.f32 %p|q, %r, 0f3F800000, !%p;", ("%p|q", "%r", "0f3F800000", "!%p")),
        ("selp.f64 %rd, -1.5e3, 0d3FF0000000000000, %p;", ("%rd", "-1.5e3", "0d3FF0000000000000", "%p")),
        ("mapa.shared::cluster.u32 %r, smem+16, 3;", ("%r", "smem+16", "3")),
        ("ld.b8 %h, [%rd];", ("%h", "[%rd]")),
    ],
)  # fmt: skip
def test_operands(text: str, operands: tuple[str | None, ...]) -> None:
    assert read(text, WIDTHS.get).operands == operands


@pytest.mark.parametrize(
    "text",
    [
        "bar.sync 16;",
        "bar.sync 0, 48;",
        "bar.arrive 1, 0;",
        "bar.sync;",
        "cp.async.wait_all 0;",
        "cp.async.ca.shared.global [%r], [%rd], 5;",
        "cp.async.cg.shared.global [%r], [%rd], 8;",
        "cp.async.ca.shared.global [%r], [%rd], 4, 5;",
        "cp.async.cg.shared.global [%r], [%rd], 16, 4, %p;",
        "cp.async.ca.shared.global [%r], [%r], 4;",
        "cp.async.ca.shared.global %r, [%rd], 4;",
        "cp.async.ca.shared.global.L2::cache_hint [%r], [%rd], 4;",
        "mbarrier.init.b64 [%r], 1;",
        "mbarrier.init.shared.b64 [%r], 0;",
        "mbarrier.arrive.shared::cluster.b64 %rd, [%r];",
        "mbarrier.arrive.expect_tx.shared.b64 [%r], 1024;",
        "mbarrier.test_wait.parity.shared.b64 %p, [%r], 2;",
        "st.global.v4.b32 [%rd], {%r, %r, %r};",
        "st.global.v2.b32 [%rd], %r;",
        "ld.global.v4.b32 {%r, _, %r, %r}, [%rd];",
        "ld.global.v8.b32 {_,_,_,_,_,_,_,_}, [%rd];",
        "ld.b64 %r, [%rd];",
        "elect.sync %p, -1;",
        "elect.sync _, -1;",
        "elect.sync %r|%r, -1;",
        "setp.lt.f32 %p, %r, 1;",
        "setp.lt.s32 %p, %r, 1.0;",
        "setp.lt.s32 %r, %r, 1;",
        "setp.lt.f16 %p, %h, 1.0;",
        "and.b32 %r, %rd, %r;",
        "and.b32 %r, %tid.x, %r;",
        "and.b32 _, %r, %r;",
        "lop3.b32 %r, %r, %r, %r, 256;",
        "setmaxnreg.inc.sync.aligned.u32 28;",
        "fence.proxy.tensormap::generic.acquire.gpu [%rd], 64;",
        "@%r bar.sync 0;",
        "bar.sync [0;",
        "bar.sync 0);",
        "bar.sync 0,;",
        "bar.sync ,0;",
        "bar.wait 0;",
        "baz 0;",
        "bar.sync 0",
        "and.b32 é, é, é;",
    ],
)
def test_messages(text: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(text) == snapshot


@pytest.mark.parametrize(
    ("text", "version", "has", "lacks"),
    [
        ("cp.async.ca.shared.global [%r], [%rd], 4, 4;", (7, 0), "sm_80", "sm_75"),
        ("cp.async.ca.shared.global [%r], [%rd], 4, %p;", (7, 5), "sm_80", "sm_75"),
        ("mbarrier.arrive.shared.b64 %rd, [%r];", (7, 0), "sm_80", "sm_75"),
        ("mbarrier.arrive.shared.b64 _, [%r];", (7, 1), "sm_80", "sm_75"),
        ("mbarrier.arrive.shared.b64 _, [%r], 2;", (7, 8), "sm_90", "sm_89"),
        ("mbarrier.arrive.noComplete.shared.b64 %rd, [%r], 2;", (7, 0), "sm_80", "sm_75"),
        ("setmaxnreg.dec.sync.aligned.u32 40;", (8, 0), "sm_90a", "sm_90"),
        ("setmaxnreg.dec.sync.aligned.u32 40;", (8, 0), "sm_120f", "sm_120"),
        ("redux.sync.min.f32 %r, %r, -1;", (8, 6), "sm_103a", "sm_120a"),
    ],
)
def test_operands_count_in_versions_and_targets(
    text: str, version: tuple[int, int], has: str, lacks: str
) -> None:
    statement = read(text, WIDTHS.get)
    assert statement.ptx_version == version
    assert statement.unsupported_reason(has) is None
    assert str(statement.unsupported_reason(lacks)).startswith(f"{statement.form.spelling}: for ")
    assert statement.ptx_version_on("sm_121a") == (8, 8)


def test_where_a_name_may_be_two_operands_what_both_need_counts() -> None:
    """`x` may be the register src-size or the predicate ignore-src."""
    text = "cp.async.ca.shared.global [a], [b], 4, x;"
    assert read(text).ptx_version == (7, 5)
    assert read(text, {"x": 32}.get).ptx_version == (7, 0)


def test_names_of_unknown_width_are_taken() -> None:
    assert read("and.b32 a, b, $c;").operands == ("a", "b", "$c")
    assert read("@q ld.global.b64 %x, [y];").guard == "q"


@pytest.mark.parametrize(
    "text", ["", ";", "bar.sync 0", "a; b;", "$l:", "@%p;", "l: ret;", "{ exit; }", "0;"]
)
def test_what_is_no_statement_has_no_parts(text: str) -> None:
    assert parts(text) is None


def test_a_constant_has_64_bits_at_most() -> None:
    assert read("and.b64 a, b, 18446744073709551615;").operands[2] == "18446744073709551615"
    for digits in ("18446744073709551616", "9" * 5000, "-9223372036854775809"):
        assert "must be" in refusal(f"and.b64 a, b, {digits};")


def test_parts_need_no_table() -> None:
    assert parts("@%p foo.bar::x  a, {b} ;") == Parts("%p", "foo.bar::x", "a, {b}")


@given(st.text() | st.text("ld.bar_async %rp[]{},!|+-0x1;@", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read(text)
    except (CallError, OpcodeError) as error:
        assert str(error)
    else:
        assert isinstance(found, Statement)


@given(
    st.sampled_from(["bar.sync", "setp.lt.s32", "cp.async.ca.shared.global", "atom.global.add.f32", "elect.sync"]),
    st.lists(
        st.sampled_from(["%p", "!%p", "%r", "%rd", "_", "[%rd]", "[%r+4]", "{%r,%r}", "4", "-1", "1.0", "%r|%p"]),
        max_size=5,
    ),
)  # fmt: skip
def test_any_operands_are_read_or_refused(opcode: str, operands: list[str]) -> None:
    text = f"{opcode} {', '.join(operands)};"
    try:
        found = read(text, WIDTHS.get)
    except CallError as error:
        assert opcode in str(error)
    else:
        assert [text for text in found.operands if text is not None] == operands


def test_syntax_lines(snapshot: SnapshotAssertion) -> None:
    mnemonics = (
        "bar",
        "cp.async",
        "mbarrier.arrive",
        "atom",
        "setp",
        "elect.sync",
        "ld",
        "cp.async.wait_all",
    )
    lines = {i.mnemonic: syntax_line(i) for i in table()}
    assert "\n".join(lines[mnemonic] for mnemonic in mnemonics) == snapshot


def test_importing_the_reader_imports_nothing_heavy() -> None:
    code = "import sys, tileproof.contracts.statement; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"z3", "sympy", "numpy", "lark", "pydantic", "typer", "rich"} & set(done.stdout.split())
