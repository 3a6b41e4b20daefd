"""Specs build what the same Python builds, and every bad one is refused with its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof as tp
from tileproof import S, TileLayout, laneid, tx, warpid
from tileproof.report.plain import report_text
from tileproof.spec.build import check_spec
from tileproof.spec.errors import SpecError

BASE = """
[symbols.i]
lo = 0
hi = 63

[symbols.n]
lo = 8
multiple_of = 8

[tensors.A]
shape = ["n", 64]
dtype = "float32"

[tensors.B]
shape = [4096]
dtype = "bfloat16"
align = 16

[tensors.SM]
shape = [4, 8, 4]
dtype = "uint32"
space = "shared"
align = 1024

[tensors.raw]
shape = [12]
dtype = "uint32"
space = "registers"

[tensors.W]
over = "raw"
shape = [4]
at = 2

[tensors.M]
shape = [4, 8, 4]
dtype = "uint32"
space = "registers"
layout = "(4,8,4):(1,4@laneid,1@laneid)"
"""

i = tp.symbol("i", 0, 63)
n = tp.symbol("n", 8, multiple_of=8)
a = tp.tensor("A", (n, 64), "float32")
b = tp.tensor("B", (4096,), "bfloat16", align=16)
sm = tp.tensor("SM", (4, 8, 4), "uint32", "shared", align=1024)
raw = tp.tensor("raw", (12,), "uint32", "registers")
w = raw.declare((4,), at=2, name="W")
m = tp.tensor(
    "M", (4, 8, 4), "uint32", "registers", layout=TileLayout(S[(4, 8, 4) : (1, 4 @ laneid, 1 @ laneid)])
)
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"

SAME = {
    """opcode = "ld.global.v4.b32"
operands = ["W", { tensor = "A", steps = [{ slice = ["i % n", "4*(i//8) : 4*(i//8) + 4"] }] }]""": lambda: (
        tp.check("ld.global.v4.b32", w, a[i % n, 4 * (i // 8) : 4 * (i // 8) + 4])
    ),
    """opcode = "ld.global.v4.b32"
operands = ["W", { tensor = "B", steps = [{ slice = ["4*i : 4*i + 8"] }, { view = "uint32" }] }]""": lambda: (
        tp.check("ld.global.v4.b32", w, b[4 * i : 4 * i + 8].view("uint32"))
    ),
    """opcode = "ld.global.v4.b32"
assume = "i % 2 == 0"
operands = ["W", { tensor = "B", steps = [{ slice = ["4*i : 4*i + 8"] }, { view = "uint32" }] }]""": lambda: (
        tp.check("ld.global.v4.b32", w, b[4 * i : 4 * i + 8].view("uint32"), assume=i % 2 == 0)
    ),
    f"""opcode = "{LDMATRIX}"
scope = "warp"
block = 64
active = ["tx < 40"]
operands = ["M", "SM"]""": lambda: tp.check(LDMATRIX, m, sm, scope="warp", block=64, active=tx < 40),
    f"""opcode = "{LDMATRIX}"
scope = "warp"
block = [32, 2]
active = ["warpid < i", "i > 0"]
operands = ["M", "SM"]""": lambda: tp.check(
        LDMATRIX, m, sm, scope="warp", block=(32, 2), active=(warpid < i, i > 0)
    ),
    """opcode = "st.global.b32"
operands = [{ tensor = "B", steps = [{ view = "b32" }, { sub = { start = ["2*i"], extent = [1] } }] },
            { tensor = "W", steps = [{ slice = ["1:2"] }] }]
parameters = { pred = "i < 4", index_bits = 64 }""": lambda: tp.check(
        "st.global.b32", b.view("b32").sub([2 * i], [1]), w[1:2], pred=i < 4, index_bits=64
    ),
    """opcode = "ld.shared.v2.b32"
operands = [{ tensor = "raw", steps = [{ view = [3, 2, 2] }, { permute = [1, 0, 2] }] },
            { tensor = "SM", steps = [{ slice = [0, "0:3", "0:2"] }, { view = ["3", 1, 2] },
                { rearrange = "a b c -> b a c" }, { broadcast = [2, 3, 2] }] }]""": lambda: tp.check(
        "ld.shared.v2.b32",
        raw.view(3, 2, 2).permute(1, 0, 2),
        sm[0, 0:3, 0:2].view(3, 1, 2).rearrange("a b c -> b a c").broadcast(2, 3, 2),
    ),
}


def check_text(folder: Path, text: str, **keywords):
    path = folder / "spec.toml"
    path.write_text(text, encoding="utf-8")
    return check_spec(path, **keywords)


@pytest.mark.parametrize(("call", "python"), SAME.items(), ids=range(len(SAME)))
def test_a_spec_gives_the_report_that_python_gives(tmp_path, call, python):
    (checked,) = check_text(tmp_path, f"{BASE}[[calls]]\n{call}\n")
    assert report_text(checked.report) == report_text(python())


SWIZZLES = [
    "{ bits = 3, base = 4, shift = 3, unit = 'byte' }",
    "{ per_element = 2, swizzle_len = 3, atom_len = 3 }",
]


@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("layout", ["", "layout = '(8,8,4):(32,4,1)'"])
def test_a_swizzle_applies_to_the_layout_or_to_row_major(tmp_path, swizzle, layout):
    text = f"""
[tensors.T]
shape = [8, 8, 4]
dtype = "uint32"
space = "shared"
align = 1024
swizzle = {swizzle}
{layout}
[tensors.R]
shape = [8, 4]
dtype = "uint32"
space = "registers"
[[calls]]
opcode = "ld.shared.v4.b32"
operands = ["R", {{ tensor = "T", steps = [{{ slice = [":", 1] }}] }}]
"""
    (checked,) = check_text(tmp_path, text)
    assert checked.report.verdict is tp.Verdict.PROVED
    assert str(checked.report.call.operands[1].tensor.layout) == "Swizzle<3,2,3> o (8,8,4):(32,4,1)"


def test_an_expectation_is_compared_with_the_verdict(tmp_path):
    calls = "".join(
        f"[[calls]]\nopcode = 'ld.global.v4.b32'\noperands = ['W', 'W']\n{expect}\n"
        for expect in ("expect = 'refuted'", "expect = 'proved'", "")
    )
    met, missed, none = check_text(tmp_path, BASE + calls)
    assert [c.report.verdict for c in (met, missed, none)] == [tp.Verdict.REFUTED] * 3
    assert (met.as_expected, missed.as_expected, none.as_expected) == (True, False, True)


STORE_TWICE = """
[[calls]]
opcode = "st.global.b32"
block = 64
operands = [
    { tensor = "A", steps = [{ slice = ["0", "0:1"] }] },
    { tensor = "W", steps = [{ slice = ["0:1"] }] },
]
"""


@pytest.mark.parametrize(
    ("own", "given", "verdict", "hazards"),
    [
        ("", None, "PROVED", 1),
        ("", "error", "REFUTED", 0),
        ("", "ignore", "PROVED", 0),
        ("hazards = 'error'", None, "REFUTED", 0),
        ("hazards = 'error'", "warn", "PROVED", 1),
    ],
)
def test_the_policy_for_hazards_is_the_call_s_unless_one_is_given(tmp_path, own, given, verdict, hazards):
    (checked,) = check_text(tmp_path, BASE + STORE_TWICE + own, hazards=given)
    assert checked.report.verdict.name == verdict
    assert len(checked.report.hazards) == hazards


REFUSED = [
    ("[symbols.'a b']\n", "symbols.a b: 'a b' is no name"),
    ("[symbols.laneid]\n", "symbols.laneid: 'laneid' is a thread axis"),
    ("[symbols.k]\nlo = 3\nhi = 2\n", "symbols.k: symbol k has no value"),
    ("[tensors.T]\nshape = [4]\ndtype = 'float33'\n", "tensors.T: unknown element type 'float33'"),
    (
        "[tensors.T]\nshape = [4]\ndtype = 'b32'\nspace = 'sharde'\n",
        "tensors.T: tensor T: unknown state space 'sharde'",
    ),
    (
        "[tensors.T]\nshape = [4]\ndtype = 'b32'\nalign = 3\n",
        "tensors.T: tensor T: align must be a power of two",
    ),
    ("[tensors.T]\nshape = [0]\ndtype = 'b32'\n", "tensors.T: tensor T: dimension 0 has size 0"),
    (
        "[tensors.T]\nshape = ['q']\ndtype = 'b32'\n",
        "tensors.T.shape: column 1: unknown name 'q'. Known here: i, n",
    ),
    ("[tensors.T]\nshape = ['tx']\ndtype = 'b32'\n", "tensors.T.shape: column 1: unknown name 'tx'"),
    (
        "[tensors.T]\nshape = [4]\ndtype = 'b32'\nlayout = '(4):(1@lane)'\n",
        "tensors.T.layout: layout text, column 8",
    ),
    (
        "[tensors.T]\nshape = [4]\ndtype = 'b32'\nlayout = '(8):(1)'\n",
        "tensors.T: tensor T: the extents (8,)",
    ),
    (
        "[tensors.T]\nshape = [4]\ndtype = 'b32'\nlayout = 'Swizzle<3,99,3> o (4):(1)'\n",
        "tensors.T.layout: Swizzle<3,99,3> counts bits of an offset, which has at most 64",
    ),
    (
        "[tensors.T]\nshape = [4]\ndtype = 'b32'\nswizzle = { bits = 3, base = 0, shift = 2 }\n",
        "tensors.T.swizzle: no such swizzle",
    ),
    (
        "[tensors.T]\nshape = [4]\nover = 'Q'\n",
        "tensors.T: over 'Q', which is no tensor of this file: A, B, SM, raw",
    ),
    (
        "[tensors.X]\nshape = [4]\nover = 'Y'\n[tensors.Y]\nshape = [4]\nover = 'X'\n",
        "these tensors stand over each other in a circle: X over Y over X",
    ),
    ("[tensors.X]\nshape = [4]\nover = 'X'\n", "these tensors stand over each other in a circle: X over X"),
]


@pytest.mark.parametrize(("table", "message"), REFUSED)
def test_a_bad_symbol_or_tensor(tmp_path, table, message):
    with pytest.raises(SpecError) as caught:
        check_text(tmp_path, f"{BASE}{table}[[calls]]\nopcode = 'ld.global.b32'\noperands = []\n")
    assert message in str(caught.value)


LOAD = "opcode = 'ld.global.v4.b32'\n"
OPERAND = LOAD + "operands = ['W', {{ tensor = 'B', steps = [{}] }}]"
BAD_CALLS = [
    (LOAD + "operands = ['W', 'Q']", "calls[0].operands[1].tensor: 'Q' is no tensor of this file: A, B,"),
    (LOAD + "operands = ['W']", "calls[0]: ld.global.v4.b32 takes 2 operands in PTX order, got 1"),
    ("opcode = 'ld.globl.b32'\noperands = []", "calls[0]: 'ld.globl.b32': '.globl' (qualifier 1)"),
    (LOAD + "operands = ['W', 'B']\nscope = 'block'", "calls[0]: unknown scope 'block'"),
    (LOAD + "operands = ['W', 'B']\nblock = 2048", "calls[0]: block=(2048,) has 2048 members"),
    (
        LOAD + "operands = ['W', 'B']\nparameters = { foo = 1 }",
        "calls[0]: ld.global.v4.b32 has no parameter foo",
    ),
    (
        LOAD + "operands = ['W', 'B']\nparameters = { scope = 1 }",
        "calls[0].parameters.scope: not a parameter",
    ),
    (
        LOAD + "operands = ['W', 'B']\nparameters = { pred = 'i <' }",
        "calls[0].parameters.pred: column 4: the text ends",
    ),
    (
        LOAD + "operands = ['W', 'B']\nactive = ['tid < 4']",
        "calls[0].active[0]: column 1: unknown name 'tid'",
    ),
    (LOAD + "operands = ['W', 'B']\nassume = ['n > 8', 'i']", "calls[0].assume[1]: column 1: a relation"),
    (LOAD + "operands = ['W', 'B']\nassume = ['i > 3', 'i < 2']", "calls[0].operands"),
    (
        OPERAND.format("{ slice = ['0:4', '0'] }"),
        "steps[0].slice: B: a rank-1 view cannot be sliced by 2 items",
    ),
    (
        OPERAND.format("{ slice = ['0:i'] }"),
        "steps[0].slice: B: dimension 0: the extent of [0 : i] is not static",
    ),
    (
        OPERAND.format("{ slice = ['0:4:0'] }"),
        "steps[0].slice: B: dimension 0: the step must be a positive constant",
    ),
    (
        OPERAND.format("{ sub = { start = [0, 0], extent = [1] } }"),
        "steps[0].sub: B: a region of a rank-1 view",
    ),
    (
        OPERAND.format("{ permute = [1] }"),
        "steps[0].permute: B: permute needs each of the dimensions 0..0 once",
    ),
    (OPERAND.format("{ rearrange = 'a b -> a' }"), "steps[0].rearrange: rearrange 'a b -> a'"),
    (
        OPERAND.format("{ rearrange = 'a -> a', sizes = { pattern = 2 } }"),
        "steps[0].rearrange: rearrange 'a -> a'",
    ),
    (OPERAND.format("{ view = 'b33' }"), "steps[0].view: unknown element type 'b33'"),
    (OPERAND.format("{ view = [3] }"), "steps[0].view: B: (4096,) has 4096 elements"),
    (
        OPERAND.format("{ slice = ['0:8'] }, { broadcast = [9] }"),
        "steps[1].broadcast: B: shape (8,) does not",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_a_bad_call(tmp_path, call, message):
    if "i > 3" in call:
        call = (
            OPERAND.format("{ slice = ['8*i : 8*i + 8'] }, { view = 'b32' }")
            + "\nassume = ['i > 3', 'i < 2']"
        )
        message = "calls[0]: the assumptions and guards contradict each other"
    with pytest.raises(SpecError) as caught:
        check_text(tmp_path, f"{BASE}[[calls]]\n{call}\n")
    assert message in str(caught.value)


def test_a_stopped_solver_stops_the_program(tmp_path, monkeypatch):
    from tileproof.spec import build

    def stopped(*operands, **keywords):
        return replace(tp.check(*operands, **keywords), reason="undecided (interrupted from keyboard)")

    monkeypatch.setattr(build, "check", stopped)
    with pytest.raises(KeyboardInterrupt):
        check_text(tmp_path, f"{BASE}[[calls]]\n{LOAD}operands = ['W', 'W']\n")


def test_storage_in_a_long_chain_is_refused(tmp_path):
    chain = "".join(f"[tensors.T{k}]\nshape = [4]\nover = 'T{k + 1}'\n" for k in range(2000))
    text = (
        f"{BASE}{chain}[tensors.T2000]\nshape = [4]\nover = 'raw'\n[[calls]]\nopcode = 'x'\noperands = []\n"
    )
    with pytest.raises(SpecError, match="builds on too many others"):
        check_text(tmp_path, text)


words = st.sampled_from(
    [
        "i",
        "n",
        "0",
        "4",
        "-1",
        "tx",
        "laneid",
        "64",
        "18446744073709551615",
        "n*n",
        "i // 8",
        "i % 3",
        "select(i < 2, 0, n)",
    ]
)
steps = st.one_of(
    st.tuples(words, words).map(lambda p: f"{{ slice = ['{p[0]} : {p[0]} + 4', '{p[1]} : {p[1]} + 4'] }}"),
    words.map(lambda x: f"{{ slice = ['{x}'] }}"),
    st.sampled_from(["b8", "b16", "b32", "b64", "b128", "float4_e2m1fn", "bool"]).map(
        lambda t: f"{{ view = '{t}' }}"
    ),
    st.lists(st.sampled_from([1, 2, 4, 64]), min_size=1, max_size=3).map(lambda s: f"{{ view = {s} }}"),
    st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=3).map(lambda s: f"{{ permute = {s} }}"),
    st.lists(st.sampled_from([1, 4, 9]), min_size=1, max_size=3).map(lambda s: f"{{ broadcast = {s} }}"),
    st.sampled_from(["a b -> b a", "(a b) -> a b", "a -> (a)", "a b -> (b a)", "a -> ("]).map(
        lambda p: f"{{ rearrange = '{p}', sizes = {{ a = 4 }} }}"
    ),
)


@given(
    operands=st.lists(
        st.tuples(st.sampled_from(["A", "B", "SM", "raw", "W", "M"]), st.lists(steps, max_size=3)),
        min_size=2,
        max_size=2,
    ),
    opcode=st.sampled_from(["ld.global.v4.b32", "st.shared.b16", "ld.shared.v2.b64", LDMATRIX, "ldmatrix"]),
    scope=st.sampled_from(["thread", "warp", "warpgroup", "cta", "cluster"]),
    active=st.sampled_from(["tx < 40", "laneid % 2 == 0", "i < n", "n < 0", "n*n == i"]),
)
def test_no_spec_ends_in_any_other_way(tmp_path_factory, operands, opcode, scope, active):
    listed = ", ".join(f"{{ tensor = '{name}', steps = [{', '.join(s)}] }}" for name, s in operands)
    call = f"opcode = '{opcode}'\nscope = '{scope}'\nactive = ['{active}']\noperands = [{listed}]\n"
    try:
        (checked,) = check_text(tmp_path_factory.getbasetemp(), f"{BASE}[[calls]]\n{call}")
    except SpecError as error:
        assert "spec.toml: calls[0]" in str(error)
    else:
        assert isinstance(checked.report.verdict, tp.Verdict)
