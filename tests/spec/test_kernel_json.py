"""Kernels as documents: what is written reads back as the same kernel, and what is wrong is told with its place."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tileproof import Kernel, LambdaExpr, S, Swizzle, TileLayout, Verdict, cbx, laneid, tx, ty, warpid
from tileproof.errors import CallError, EmissionError
from tileproof.proofs.report import ContractError
from tileproof.report.whole import write_whole
from tileproof.scalars.expression import constant
from tileproof.spec.errors import SpecError
from tileproof.spec.files import check_file
from tileproof.spec.kernel import kernel_of_spec, kernels_of_file

V4 = "ld.global.v4.b32"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[a-z]*.toml")) + sorted(
    (Path(__file__).parents[2] / "examples").glob("[a-z]*.py")
)


def everything() -> Kernel:
    """Each kind of declaration and statement."""
    k = Kernel("everything", block=64, cluster=2, ptx_version=(8, 3))
    n = k.scalar("n", 0, 4096, multiple_of=4)
    a = k.parameter("A", (64, n + 4), "uint32", align=512)
    alpha = k.scalar("alpha", dtype="float32")
    rows = k.scalar("rows", -3)
    b = k.parameter("B", (2, 64, 4), "uint32")
    del alpha
    at = k.block_index("x", 8)
    k.shared("flag", (3,), "uint8")
    bar = k.mbarrier("bar", 2)
    tile = k.shared(
        "tile", (64, 4), "uint32", layout=TileLayout(S[(64, 4) : (4, 1)], Swizzle(1, 2, 3)), align=128
    )
    big = k.shared("big", (64, 16), "uint32", align=1024, dynamic=True)
    k.local("spill", (4,), "uint32", align=16)
    raw = k.registers("raw", (12,), "uint32", fill=0xF00)
    view = raw.declare((3, 4), layout=TileLayout(S[(3, 4) : (1, 3)]))
    other = raw.declare((4,), name="view").declare((2, 2), at=0)
    k.assume(rows <= n)
    with k.when((tx == 0) & (n % 8 == 4)):
        bar.init(64)
        bar.init(2, at=1)
        bar.arrive_expect_tx(n // 4, at=1)
    with k.otherwise():
        k.raw("bar.warp.sync 0xffffffff;")
    with k.loop("i", ty, 16, 4) as i, k.loop("j", i, 16 - at, at + 1) as j:
        bar.wait(j % 2, at=0)
        with k.when(i + 4 <= n):
            k.assume(n % 16 == 0)
            k.apply(V4, view[0], a[tx, i // 4 * 4 : i // 4 * 4 + 4], assume=[n >= 0], hazards="error")
    for turn in k.unroll("turn", 0, 2):
        k.apply("st.shared.v4.b32", tile[63 - tx], view[turn : turn + 1].view(4))
    k.apply("st.shared.v2.b32", big[tx].view(4, 4)[::3, 2:4], other, hazards="ignore", pred=at < 3)
    spread = b.declare((2, 2, 32, 4), layout=TileLayout(S[(2, 2, 32, 4) : (256, 128, 4, 1)]))
    mine = raw.declare(
        (2, 2, 32, 4), layout=TileLayout(S[(2, 2, 32, 4) : (1 @ cbx, 1 @ warpid, 1 @ laneid, 1)]), at=4
    )
    k.apply("st.global.v4.b32", spread, mine, scope="cluster")
    bar.arrive(3)
    bar.inval(at=1)
    return k


def transposed() -> Kernel:
    k = Kernel("transposed", block=32)
    a, out = k.parameter("A", (8, 64), "uint16"), k.parameter("Out", (32, 8), "uint32")
    layout = TileLayout(S[(8, 64) : (64, 1)], Swizzle(3, 3, 3))
    sm = k.shared("SM", (8, 64), "uint16", layout=layout, align=1024)
    pieces = k.registers("pieces", (2, 4), "uint32")
    spread = pieces.declare((32, 2, 4), layout=TileLayout(S[(32, 2, 4) : (1 @ laneid, 4, 1)]))
    k.apply(V4, spread, a.view("uint32").view(2, 32, 4).permute(1, 0, 2), scope="warp")
    whole = sm.rearrange("(h r) (c e) -> h r c e", h=2, e=8)
    k.apply("st.shared.v4.b32", whole.view("uint32").rearrange("h r c w -> (r c) h w"), spread, scope="warp")
    k.raw("bar.sync 0;")
    mine = k.registers("mine", (8,), "uint32")
    fragment = mine.declare((4, 2, 8, 4), layout=TileLayout(S[(4, 2, 8, 4) : (2, 1, 4 @ laneid, 1 @ laneid)]))
    tiles = sm.rearrange("r (k m e) -> k m r e", k=4, m=2).view("uint32")
    k.apply("ldmatrix.sync.aligned.m8n8.x2.shared.b16", fragment, tiles, scope="warp")
    k.apply("st.global.b32", out[tx].view(8, 1), mine.view(8, 1))
    return k


@tp.scalar_function
def shifted(x: tp.float32, by: tp.float32) -> tp.float32:
    return tp.exp(x + by) * tp.float32(0.1)


def another_shifted() -> LambdaExpr:
    @tp.scalar_function
    def shifted(by: tp.float32, x: tp.float32) -> tp.float32:
        return x - by

    return shifted


def scalars() -> Kernel:
    """Register instructions and scalar functions with scalars of every kind."""
    k = Kernel("scalars", block=64)
    alpha, half = k.scalar("alpha", dtype="float32"), k.scalar("half", dtype="f16")
    n = k.scalar("n", 0, 1000)
    row = k.block_index("x", 4)
    x, y = k.registers("x", (2, 1), "float32", fill=0x3F800000), k.registers("y", (2, 1), "float32")
    words, halves = k.registers("words", (2, 1), "uint32", fill=1), k.registers("halves", (2, 1), "float16")
    for opcode, operands in (
        ("fma.rn.f32", (y, x, alpha, 2.5)),
        ("add.f32", (y, x, -0.0)),
        ("add.f32", (y, x, math.inf)),
        ("add.f32", (y, x, -math.inf)),
        ("max.f32", (y, x, math.nan)),
        ("add.f32", (y, x, constant(0.5, "float32"))),
        ("add.f32", (y, x, constant(math.inf, "float32"))),
        ("mov.b16", (halves, half)),
        ("fma.rn.f16", (halves, halves, -math.inf, 3)),
        ("add.s32", (words, words, n * 2 + tx + row)),
        ("add.u32", (words, words, (1 << 32) - 1)),
        ("max.s32", (words, words, -7)),
    ):
        k.apply(opcode, *operands)
    k.apply("neg.f32", y, x, pred=n < 7, preserve_dst=True)
    out, given = y.view(2), x.view(2)
    with k.when(n % 2 == 0):
        k.ewise(shifted, out, given, alpha, assume=[n >= 0], hazards="error")
    k.ewise(shifted, out, given, alpha * alpha + alpha, budget=1000)
    k.ewise(shifted, out, given, 2.5)
    k.ewise(shifted, out, 1, -math.inf)
    k.ewise(another_shifted(), out, math.nan, given)
    k.apply("st.global.b32", k.parameter("Out", (4, 64, 2, 1), "float32")[row, tx], y)
    return k


def copies() -> Kernel:
    """Each parameter of cp.async, in a loop."""
    k = Kernel("copies", block=64)
    n, policy = k.scalar("n", 0, 16), k.scalar("policy", 0)
    a, tile = (
        k.parameter("A", (64, 8, 4), "uint32"),
        k.shared("tile", (64, 8, 4), "uint32", align=16, dynamic=True),
    )
    with k.loop("i", 0, 8) as i:
        for opcode, keywords in (
            ("cp.async.cg.shared.global", {"src_size": n}),
            ("cp.async.ca.shared.global", {"ignore_src": n < i, "pred": tx + n < 60}),
            ("cp.async.cg.shared.global.L2::cache_hint", {"cache_policy": policy, "src_size": 8}),
            ("cp.async.cg.shared.global.L2::128B", {"ignore_src": True, "src_size": None}),
        ):
            kept = {name: value for name, value in keywords.items() if value is not None}
            k.apply(opcode, tile[tx, i], a[tx, i], chunk_bytes=16, **kept)
        k.raw("cp.async.commit_group;")
    k.raw("cp.async.wait_group 0;")
    return k


@pytest.mark.parametrize("build", [everything, transposed, scalars, copies], ids=lambda f: f.__name__)
def test_a_kernel_reads_back_as_itself(build: Callable[[], Kernel], snapshot: SnapshotAssertion) -> None:
    kernel = build()
    text = kernel.to_json()
    again = Kernel.from_json(text)
    assert again.ptx("sm_90a") == kernel.ptx("sm_90a")
    assert again.to_json() == text
    assert [r.verdict for r in again.reports] == [Verdict.PROVED] * len(kernel.reports)
    assert list(map(str, again.reports)) == list(map(str, kernel.reports))
    assert text == snapshot
    assert kernel.assemble("sm_90a").image


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_the_kernels_of_the_examples_read_back(path: Path) -> None:
    try:
        kernels = kernels_of_file(path)
    except ContractError:
        return  # an example of what is refused
    for kernel in kernels:
        again = Kernel.from_json(kernel.to_json())
        assert again.ptx() == kernel.ptx()
        assert again.to_json() == kernel.to_json()


def test_what_reads_back_checks_the_same_arguments() -> None:
    k = Kernel("checked", block=32)
    n = k.scalar("n", 0, 64)
    a = k.parameter("A", (n, 4), "uint32")
    words = k.registers("words", (4,), "uint32")
    k.assume(n % 32 == 0)
    with k.when(tx < n):
        k.apply(V4, words, a[tx])
    k.block_index("x", 4)
    again = Kernel.from_json(k.to_json())
    array = np.zeros((64, 4), np.uint32)
    for kernel in (k, again):
        kernel.simulate(32, array, grid=4)
        for arguments, grid in (((33, array), 1), ((64, array[:63]), 1), ((32, array), 5), ((65, array), 1)):
            with pytest.raises(tp.errors.LaunchError):
                kernel.simulate(*arguments, grid=grid)


def test_a_name_that_a_block_index_could_have_is_kept() -> None:
    k = Kernel("names", block=32)
    ctaid_x = k.scalar("ctaid_x", 0, 3)
    a = k.parameter("A", (8, 4, 32, 4), "uint32")
    k.apply(V4, k.registers("w", (4,), "uint32"), a[k.block_index("x", 8), ctaid_x, tx])
    document = json.loads(k.to_json())
    assert document["block_index"] == {"x": {"name": "ctaid_x_", "count": 8}}
    assert Kernel.from_json(k.to_json()).ptx() == k.ptx()


def test_raw_instructions_are_read_again_as_the_table_has_them() -> None:
    k = Kernel("raw", block=32, cluster=2)
    k.raw(".reg .b64 %state;")
    k.raw("mov.b64 %state, 0;")
    with k.when(tx == 0):
        k.raw("shl.b64 %state, %state, 1;")
    k.raw("barrier.cluster.arrive.aligned;")
    again = Kernel.from_json(k.to_json())
    assert again.architecture == k.architecture == "sm_90a"
    assert again.ptx() == k.ptx()
    document = json.loads(k.to_json())
    document["body"][0]["raw"] = ".reg .b32 %state;"
    with pytest.raises(SpecError, match=r"JSON: body\[1\]: mov\.b64: operand 1, d, is '%state'"):
        Kernel.from_json(json.dumps(document))


def test_every_call_is_proved_again() -> None:
    document = json.loads(transposed().to_json())
    document["tensors"]["SM"]["align"] = 8
    with pytest.raises(ContractError, match=r"st\.aligned"):
        Kernel.from_json(json.dumps(document))


def long_sum(k: Kernel) -> None:
    n = k.scalar("n", 0, 1)
    total = n
    for factor in range(2, 250):
        total = total + n * n // factor
    with k.when(total >= 0):
        pass


def axis_name(k: Kernel) -> None:
    k.scalar("laneid", 0, 3)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (long_sum, "kernel odd cannot be written: an expression has at most 200 operators"),
        (axis_name, "kernel odd cannot be written: 'laneid' is a thread axis"),
    ],
)  # fmt: skip
def test_what_the_format_has_no_words_for(build: Callable[[Kernel], None], words: str) -> None:
    k = Kernel("odd", block=32)
    build(k)
    with pytest.raises(CallError, match=words):
        k.to_json()


def test_a_kernel_that_is_not_complete_is_not_written() -> None:
    k = Kernel("open", block=32)
    with k.when(tx < 3), pytest.raises(EmissionError, match="a block is still open"):
        k.to_json()


# Malformed documents.

GOOD: dict[str, Any] = {
    "kernel": {"name": "good", "block": [32]},
    "parameters": ["n", "A"],
    "symbols": {"n": {"lo": 0, "hi": 63}},
    "tensors": {
        "A": {"shape": [64, 4], "dtype": "uint32"},
        "w": {"shape": [4], "dtype": "uint32", "space": "registers"},
        "bar": {"shape": [2], "dtype": "uint64", "space": "shared"},
        "v": {"shape": [4], "over": "w"},
    },
    "body": [
        {"loop": {"name": "i", "start": 0, "stop": "n"}, "body": [
            {"call": {"opcode": V4, "operands": ["v", {"tensor": "A", "steps": [{"slice": ["i"]}]}]}},
        ]},
        {"mbarrier": {"operation": "wait", "tensor": "bar", "at": 1, "operand": "n % 2"}},
    ],
}  # fmt: skip


def changed(*path_and_value: Any) -> dict[str, Any]:
    """The good document with another value at a path; ``...`` removes what is there."""
    *path, last, value = path_and_value
    document = json.loads(json.dumps(GOOD))
    place = document
    for part in path:
        place = place[part]
    if value is ...:
        del place[last]
    elif isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value
    return document


def nested(depth: int) -> list[Any]:
    body: list[Any] = []
    for _ in range(depth):
        body = [{"when": "tx < 3", "body": body}]
    return body


def with_function(statement: Any) -> dict[str, Any]:
    """The good document with the scalar function ``f`` of two floats, two such registers and a statement."""
    document = changed("body", 2, statement)
    document["functions"] = {"f": json.loads(shifted.to_json())}
    document["tensors"]["x"] = {"shape": [2], "dtype": "float32", "space": "registers"}
    return document


def renamed() -> dict[str, Any]:
    document = with_function({"note": "x"})
    document["functions"]["f"]["name"] = "g"
    return document


BAD: list[tuple[Any, str]] = [
    ("", "JSON: Expecting value (at line 1, column 1)"),
    ('{"kernel": ', "JSON: Expecting value (at line 1, column 12)"),
    ('{"kernel": {}, "kernel": {}}', "JSON: the key 'kernel' stands twice in one table"),
    ('{"kernel": NaN}', "JSON: NaN is no number of JSON"),
    ("[" * 100_000, "JSON: lists or tables nest too deep"),
    ('{"a": 1' + "0" * 5000 + "}", "JSON: Exceeds the limit"),
    ([], "JSON: needs a table, got []"),
    ({}, "JSON: kernel: is missing"),
    (changed("kernel", "name", ...), "JSON: kernel.name: is missing"),
    (changed("kernel", "name", "a b"), "JSON: kernel: 'a b' is no PTX identifier"),
    (changed("kernel", "block", [32, 64]), "JSON: kernel: block=(32, 64) has 2048 members"),
    (changed("kernel", "ptx_version", [8]), "JSON: kernel.ptx_version: needs major and minor, as in [8, 3], got [8]"),
    (changed("kernle", {}), "JSON: kernle: unknown key; did you mean kernel?"),
    (changed("kernel", "blok", 3), "JSON: kernel.blok: unknown key; did you mean block?"),
    (changed("parameters", ["A"]), "JSON: parameters: kernel good: its parameters are n, A; the order given is A"),
    (changed("parameters", ["A", "n", "n"]), "JSON: parameters: kernel good: its parameters are n, A"),
    (changed("symbols", "n", "hi", 1.5), "JSON: symbols.n.hi: needs an integer, got 1.5"),
    (changed("symbols", "tx", {}), "JSON: symbols.tx: 'tx' is a thread axis"),
    (changed("symbols", "n", "uniform", "warp"), "JSON: symbols.n: n varies inside the grid"),
    (changed("scalars", {"n": {"dtype": "float32"}}), "JSON: scalars.n: kernel good: the name n is taken"),
    (changed("scalars", {"f": {"dtype": "int8"}}), "JSON: scalars.f: scalar f: dtype is 'int8'"),
    (changed("block_index", {"w": {"name": "b", "count": 1}}), "JSON: block_index.w"),
    (changed("block_index", {"x": {"name": "n", "count": 1}}), "JSON: block_index.x: the name n is taken"),
    (changed("tensors", "A", "dtype", "word"), "JSON: tensors.A: unknown element type 'word'"),
    (changed("tensors", "A", "dynamic", True), "JSON: tensors.A: dynamic goes with space = 'shared'"),
    (changed("tensors", "A", "dynamic", 1), "JSON: tensors.A.dynamic: needs Input should be a valid boolean"),
    (changed("tensors", "v", "over", "x"), "JSON: tensors.v: over 'x', which is no tensor of this file"),
    (changed("tensors", "u", {"shape": ["j"], "over": "w"}), "JSON: tensors.u.shape: column 1: unknown name 'j'"),
    (changed("body", 0, "body", ...), "JSON: body[0]: when and loop have a body, other statements have none"),
    (changed("body", 1, "body", []), "JSON: body[1]: when and loop have a body, other statements have none"),
    (changed("body", 2, {}), "JSON: body[2]: a statement is one of call, ewise, raw, fill, note"),
    (changed("body", 2, {"raw": "nop;", "note": "x"}), "JSON: body[2]: a statement is one of call, ewise, raw, fill"),
    (changed("body", 2, {"row": "x"}), "JSON: body[2].row: unknown key; did you mean raw?"),
    (changed("body", 2, {"raw": "bra x;"}), "JSON: body[2]: raw takes no control flow"),
    (changed("body", 2, {"when": "n", "body": []}), "JSON: body[2].when[0]: column 1: a relation such as"),
    (changed("body", 2, {"assume": "i < 3"}), "JSON: body[2].assume[0]: column 1: unknown name 'i'"),
    (changed("body", 2, {"fill": {"registers": "A", "pattern": 0}}), "JSON: body[2].fill.pattern: kernel good: A are"),
    (changed("body", 2, {"fill": {"registers": "w", "pattern": "n"}}), "JSON: body[2].fill.pattern: a bit pattern"),
    (changed("body", 2, {"fill": {"registers": "q", "pattern": 0}}), "JSON: body[2].fill.registers: 'q' is no"),
    (changed("body", 2, {"note": 3}), "JSON: body[2].note: needs text, got 3"),
    (changed("body", 0, "loop", "step", 0), "JSON: body[0]: loop i: the step 0 may be less than 1"),
    (changed("body", 0, "loop", "name", "A"), "JSON: body[0]: kernel good: the name A is taken"),
    (changed("body", 0, "body", 0, "call", "opcode", "ld.globul.b32"), "JSON: body[0].body[0].call: "),
    (changed("body", 0, "body", 0, "call", "operands", ["v"]), "JSON: body[0].body[0].call: "),
    (changed("body", 0, "body", 0, "call", "operands", 0, "x"), "JSON: body[0].body[0].call.operands[0].tensor: 'x'"),
    (changed("body", 0, "body", 0, "call", "active", "tx < 3"), "JSON: body[0].body[0].call.active: unknown key"),
    (changed("body", 0, "body", 0, "call", "parameters", {"prd": 1}), "JSON: body[0].body[0].call: "),
    (changed("body", 0, "body", 0, "call", "parameters", {"scope": 1}), "call.parameters.scope: not a parameter"),
    (changed("body", 0, "body", 0, "call", "hazards", "no"), "JSON: body[0].body[0].call.hazards: must be 'warn'"),
    (changed("body", 1, "mbarrier", "at", 2), "JSON: body[1]: bar.wait: at is 2"),
    (changed("body", 1, "mbarrier", "operation", "sleep"), "JSON: body[1].mbarrier.operation: must be 'init'"),
    (changed("body", 1, "mbarrier", "operand", ...), "JSON: body[1]: wait needs an operand"),
    (changed("body", 1, "mbarrier", "operation", "inval"), "JSON: body[1]: inval has no operand"),
    (changed("body", 1, "mbarrier", "tensor", "A"), "JSON: body[1]: mbarrier: A: global uint32"),
    (changed("body", nested(60)), "blocks nest more than 50 deep"),
    (changed("body", 2, {"raw": "bar.sinc 0;"}), "JSON: body[2]: "),
    (changed("body", 2, {"raw": "shl.b64 %w_0, %w_0, 1;"}), "JSON: body[2]: shl.b64: operand 1, d, is '%w_0'"),
    (changed("functions", {"f": 3}), "JSON: functions.f: needs a table, got 3"),
    (changed("functions", {"f": {}}), "JSON: functions.f: not a scalar function"),
    (renamed(), "JSON: functions.f: the scalar function was changed after it was written"),
    (with_function({"ewise": {"function": "f", "operands": []}}), "body[2].ewise.operands: needs at least one entry"),
    (with_function({"ewise": {"function": "g", "operands": ["x"]}}), "body[2].ewise.function: 'g' is no function of this"),
    (with_function({"ewise": {"function": "f", "operands": ["x", "x"]}}), "JSON: body[2].ewise: shifted(x: float32, "),
    (with_function({"ewise": {"function": "f", "operands": [1, "x", 1]}}), "JSON: body[2].ewise: ewise shifted: the dest"),
    (with_function({"ewise": {"function": "f", "operands": ["x", "x", {"scalar": "n"}]}}), "JSON: body[2].ewise: shifted, par"),
    (with_function({"ewise": {"function": "f", "operands": ["x", "x", 1], "budget": 0}}), "JSON: body[2].ewise.budget: "),
    (with_function({"ewise": {"function": "f", "operands": ["x", "x", 1], "scpe": 0}}), "JSON: body[2].ewise.scpe: unknown"),
    (with_function({"call": {"opcode": "neg.f32", "operands": ["x", {"expression": [[1]]}]}}),
     "JSON: body[2].call.operands[1].expression: node 0 is [1]"),
    (with_function({"call": {"opcode": "neg.f32", "operands": ["x", {"scalar": "b", "dtype": "float32"}]}}),
     "JSON: body[2].call: kernel good: b (float32) has no value here"),
    (with_function({"call": {"opcode": "neg.f32", "operands": ["x", {"scalar": 1, "expression": []}]}}),
     "JSON: body[2].call.operands[1]: an operand is a tensor or a scalar"),
]  # fmt: skip


def test_the_good_document_is_good() -> None:
    kernel = Kernel.from_json(json.dumps(GOOD))
    assert V4 in kernel.ptx()
    Kernel.from_json(json.dumps(changed("body", nested(50))))


@pytest.mark.parametrize(("document", "words"), BAD, ids=range(len(BAD)))
def test_a_malformed_document_is_told_with_its_place(document: Any, words: str) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(SpecError) as error:
        Kernel.from_json(text)
    message = str(error.value)
    assert words in message
    assert message.count("JSON: ") == 1


def test_every_fault_of_the_tables_is_told() -> None:
    document = changed("symbols", "n", "hi", "x")
    document["body"][1]["mbarrier"]["at"] = None
    document["tensors"]["A"]["align"] = 0
    with pytest.raises(SpecError) as error:
        Kernel.from_json(json.dumps(document))
    assert len(str(error.value).splitlines()) == 3


# Files.

TOML = """
parameters = ["A"]
[kernel]
name = "rows"
block = 64
[tensors.A]
shape = [64, 4]
dtype = "uint32"
[tensors.w]
shape = [4]
dtype = "uint32"
space = "registers"
[[body]]
when = "tx < 40"
[[body.body]]
call = { opcode = "ld.global.v4.b32", operands = ["w", { tensor = "A", steps = [{ slice = ["tx"] }] }] }
"""


def test_both_syntaxes_say_the_same(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.toml", TOML)
    write_whole(tmp_path / "a.json", json.dumps(tomllib.loads(TOML)))
    kernels = [kernel_of_spec(tmp_path / name) for name in ("a.toml", "a.json")]
    assert kernels[0].ptx() == kernels[1].ptx()
    for name in ("a.toml", "a.json"):
        (checked,) = check_file(tmp_path / name)
        assert checked.report.verdict is Verdict.PROVED


def test_a_spec_of_calls_may_be_json(tmp_path: Path) -> None:
    spec = {
        "tensors": {"A": GOOD["tensors"]["A"], "w": GOOD["tensors"]["w"]},
        "calls": [{"opcode": V4, "operands": ["w", {"tensor": "A", "steps": [{"slice": [63]}]}]}],
    }
    write_whole(tmp_path / "calls.json", json.dumps(spec))
    (checked,) = check_file(tmp_path / "calls.json")
    assert checked.report.verdict is Verdict.PROVED
    assert kernel_of_spec(tmp_path / "calls.json").name == "calls"


def test_a_kernel_file_that_is_refuted_answers_so(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.toml", TOML.replace("tx < 40", "tx < 65").replace("[64, 4]", "[63, 4]"))
    (checked,) = check_file(tmp_path / "a.toml")
    assert checked.report.verdict is Verdict.REFUTED
    write_whole(tmp_path / "b.json", json.dumps(changed("body", [])))
    with pytest.raises(SpecError, match="the kernel makes no call"):
        check_file(tmp_path / "b.json")
    write_whole(tmp_path / "c.json", "{")
    with pytest.raises(SpecError, match=r"c\.json: Expecting property name .* \(at line 1, column 2\)"):
        check_file(tmp_path / "c.json")
