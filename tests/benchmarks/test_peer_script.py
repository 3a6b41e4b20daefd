"""What the benchmarks time: legal calls, and scripts of the same views for the peer (which need not be installed)."""

from __future__ import annotations

import ast
from typing import Any

import pytest

import tileproof as tp
from benchmarks.calls import calls
from tests.proofs.described_views import build, entries
from tileproof.fuzz.peer.script import HEAD, script

TIMED = [(call.name, size, entry) for call in calls() for size, entry in call.entries.items()]


def test_names_of_calls_are_unique() -> None:
    assert len({name for name, _, _ in TIMED}) == len(calls())


@pytest.mark.parametrize(("name", "size", "entry"), TIMED, ids=lambda v: v if isinstance(v, str) else "")
def test_every_timed_call_is_proved(name: str, size: str, entry: dict[str, Any]) -> None:
    opcode, operands, keywords = build(entry)
    report = tp.check(opcode, *operands, **keywords)
    assert report.verdict is tp.Verdict.PROVED, str(report)
    assert not report.hazards


@pytest.mark.parametrize("entry", [*entries(), *(e for _, _, e in TIMED)], ids=lambda e: e["name"])
def test_a_script_is_one_kernel_with_one_call(entry: dict[str, Any]) -> None:
    (kernel,) = [n for n in ast.parse(script(entry)).body if isinstance(n, ast.FunctionDef)]
    assert kernel.name == "k"
    applied = [n for n in ast.walk(kernel) if isinstance(n, ast.Attribute) and n.attr == "apply"]
    assert len(applied) == 1


def test_a_script_in_full() -> None:
    entry = {
        "opcode": "st.shared.v2.b32",
        "scope": "warp",
        "block": 64,
        "symbols": ["n", "m"],
        "context": ["j = n * 4", "else if n < 8", "for i in T.serial(4)"],
        "operands": [
            {"name": "SM", "space": "shared", "shape": [32, 4, "m"], "start": ["lane", "i", 0], "extent": [32, 1, 2],
             "align": 16, "strides": [8, 2, 1], "swizzle": [2, 3, 3]},
            {"space": "local", "shape": [32, 1, 2], "strides": [1, 2, 1], "axes": ["laneid", "m", "m"],
             "backing": [12, 2], "align_claim": 8},
        ],
    }  # fmt: skip
    assert script(entry).removeprefix(HEAD) == "\n".join(
        (
            (
                'L_SM = ComposeLayout(2, 3, 3, TileLayout(S[(32, 4, m,) : ((8) @ T.Axis.get("m"), '
                '(2) @ T.Axis.get("m"), (1) @ T.Axis.get("m"),)]))'
            ),
            (
                'L_A1 = TileLayout(S[(32, 1, 2,) : ((1) @ T.Axis.get("laneid"), (2) @ T.Axis.get("m"), '
                '(1) @ T.Axis.get("m"),)])'
            ),
            "@T.function",
            "def k(n: T.int32, m: T.int32):",
            "    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))",
            "    lane = T.cuda.lane_id()",
            '    SM = T.alloc_shared((32, 4, m,), "uint32", layout=L_SM, align=16)',
            '    A1_raw = T.alloc_tensor(ty_args=[T.Tensor((12,), "uint32", scope="local", layout="default")])',
            (
                '    A1 = T.decl_tensor(A1_raw.ptr_to([2]), ty_args=[T.Tensor((32, 1, 2,), "uint32", scope="local", '
                "layout=L_A1, align=8)])"
            ),
            "    j = n * 4",
            "    if n < 8:",
            "        T.evaluate(0)",
            "    else:",
            "        for i in T.serial(4):",
            (
                '            T.cuda.tile.apply(T.ptx["st.shared.v2.b32"], SM[lane : lane + 32, i : i + 1, 0 : 0 + 2], '
                'A1, scope="warp")'
            ),
            "",
        )
    )


def test_a_size_of_a_parameter_is_bound_by_its_shape() -> None:
    entry = {
        "opcode": "ld.global.b32",
        "scope": "thread",
        "block": [8, 4],
        "symbols": ["n"],
        "operands": [
            {"space": "local", "shape": [1]},
            {"space": "global", "shape": ["4*n"], "start": ["blk"], "extent": [1]},
        ],
    }
    text = script(entry)
    assert 'n = T.dynamic("n", "int32")\n' in text
    assert 'def k(A1: T.Tensor((4*n,), "uint32", layout=L_A1)):' in text
    assert "LaunchConfig(grid=32, block=(8, 4))" in text
