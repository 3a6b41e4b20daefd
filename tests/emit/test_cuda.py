"""Proven calls as CUDA C++ functions: their text, and what a compiler makes of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tests.emit import test_copies as copies
from tests.emit import test_fragment as fragments
from tileproof import Report, S, TileLayout, laneid, tx
from tileproof.emit.assemble import assemble, find_tool
from tileproof.emit.cuda import identifier, source
from tileproof.emit.plan import plan
from tileproof.errors import CallError, EmissionError
from tileproof.simulate import simulate

V4 = "ld.global.v4.b32"
ROWS = fragments.ROWS
NVCC = find_tool("nvcc")
needs_nvcc = pytest.mark.skipif(
    NVCC is None or shutil.which("g++") is None, reason="no nvcc, or no host compiler"
)


def typed(dtype: str, opcode: str, count: int = 2) -> Report:
    words = tp.tensor("R", (2, count), dtype, "registers")
    return tp.check(opcode, words, tp.tensor("A", (2, count), dtype, align=64))


def floats() -> Report:
    return typed("float32", "ld.global.v2.f32")


def doubles() -> Report:
    return typed("float64", "ld.global.v2.f64")


def integers() -> Report:
    return typed("int32", "ld.global.v2.s32")


def longs() -> Report:
    return typed("int64", "ld.global.v2.b64")


def halves() -> Report:
    return typed("float16", "ld.global.v2.b16")


def octets() -> Report:
    return typed("uint8", "ld.global.v4.b8", 4)


def wide() -> Report:
    return typed("uint128", "ld.global.b128", 1)


def stored() -> Report:
    words = tp.tensor("R", (2,), "float32", "registers")
    return tp.check("st.global.v2.f32", tp.tensor("A", (32, 2), "float32")[tx], words)


def many() -> Report:
    """64 registers and 16 instructions: more operands than compilers of other machines take."""
    words = tp.tensor("R", (16, 4), "uint32", "registers")
    return tp.check(V4, words, tp.tensor("A", (16, 4), "uint32"))


def keywords() -> Report:
    """Names that C++ has already."""
    words = tp.tensor("register", (4,), "uint32", "registers")
    row, step = tp.symbol("int", 0, 7), tp.symbol("r0", 0, 7)
    return tp.check(V4, words, tp.tensor("this", (64, 4), "uint32")[row + step])


def fused() -> Report:
    """A typed scalar, and a constant in a register of 16 bits."""
    d, a = (tp.tensor(name, (2, 1), "float16", "registers") for name in "DA")
    return tp.prove("fma.rn.f16", d, a, tp.variable("alpha", "float16"), 0.5)


def greater() -> Report:
    d, a = (tp.tensor(name, (2, 1), "int32", "registers") for name in "DA")
    return tp.prove("max.s32", d, a, tp.symbol("n", 0, 7) + tx)


def packed() -> Report:
    words = tp.tensor("D", (2, 1), "uint32", "registers")
    return tp.prove("cvt.rn.f16x2.f32", words, *(tp.tensor(n, (2, 1), "float32", "registers") for n in "AB"))


def picked() -> Report:
    d, a = (tp.tensor(name, (2, 1), "float64", "registers") for name in "DA")
    return tp.prove("neg.f64", d, a, pred=tx < 7, preserve_dst=True)


@tp.scalar_function
def shifted(x: tp.float32, by: tp.float32, low: tp.int64) -> tp.float32:
    if x > tp.float32(low):
        return x * by
    return by


def composed() -> Report:
    made, x = (tp.tensor(name, (3,), "float32", "registers") for name in "Rx")
    alpha, double = tp.variable("alpha", "float32"), tp.variable("double", "int64")
    return tp.check_ewise(shifted, made, x, alpha + 1, double)


TYPES = [floats, doubles, integers, longs, halves, octets, wide, stored]
CALLS = [*fragments.CALLS, *copies.CALLS, *TYPES, many, keywords, fused, greater, packed, picked, composed]
SHOWN = [
    fragments.interleaved, fragments.guarded, fragments.cluster, fragments.predicated, fragments.hinted, copies.everything,
    wide, stored, keywords, fused, composed,
]  # fmt: skip


@pytest.mark.parametrize("call", SHOWN, ids=lambda f: f.__name__)
def test_the_text_of_a_function(call: Any, snapshot: SnapshotAssertion) -> None:
    assert tp.emit(call(), format="cuda") == snapshot


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("ld.global.v4.b32", "ld_global_v4_b32"),
        ("st.shared::cta.b8", "st_shared_cta_b8"),
        ("i", "i"),
        ("int", "int_"),
        ("std", "std_"),
        ("a$b", "a_b"),
        ("__x__", "x"),
        ("_", "v"),
        ("4", "v4"),
        ("größe", "gr_e"),
    ],
)
def test_names_in_cpp(name: str, plain: str) -> None:
    assert identifier(name) == plain
    assert identifier(plain) == plain


def test_the_function_is_called_after_the_opcode_or_as_one_says() -> None:
    report = tp.check(V4, fragments.WORDS, ROWS[tx])
    assert "void ld_global_v4_b32(std::uint32_t (&R)[4], std::uint64_t A)" in tp.emit(report, format="cuda")
    assert "void row(std::uint32_t" in tp.emit(report, format="cuda", name="row")


@pytest.mark.parametrize("name", ["", "a b", "int", "4x", "f;g", "__f"])
def test_what_is_no_name_is_refused(name: str) -> None:
    report = tp.check(V4, fragments.WORDS, ROWS[tx])
    with pytest.raises(EmissionError, match="cannot be the name of a C\\+\\+ function"):
        tp.emit(report, format="cuda", name=name)


def test_two_functions_of_one_name_are_refused() -> None:
    planned = plan(tp.check(V4, fragments.WORDS, ROWS[tx]))
    assert source([(planned, "a"), (planned, "b")]).count("__device__") == 2
    with pytest.raises(EmissionError, match="two functions would be called ld_global_v4_b32"):
        source([(planned, None), (planned, None)])


def test_two_parameters_of_one_name_are_refused() -> None:
    one, two = tp.symbol("a__b", 0, 7), tp.symbol("a_b", 0, 7)
    with pytest.raises(EmissionError, match=r"would both be a_b in C\+\+; rename one of them"):
        tp.emit(tp.check(V4, fragments.WORDS, ROWS[one + two]), format="cuda")


def test_a_block_of_ptx_has_no_name() -> None:
    report = tp.check(V4, fragments.WORDS, ROWS[tx])
    with pytest.raises(CallError, match="name= is for format='cuda'"):
        tp.emit(report, name="f")
    with pytest.raises(CallError, match="'ptx' and 'cuda'"):
        tp.emit(report, format="c")


def test_nothing_is_written_without_a_proof() -> None:
    with pytest.raises(EmissionError, match="proven calls only"):
        tp.emit(tp.check(V4, fragments.WORDS, ROWS.view(256)[fragments.I : fragments.I + 4]), format="cuda")


def test_registers_that_cpp_does_not_have_are_refused() -> None:
    octets, words = (
        tp.tensor("H", (2, 4), "uint8", "registers"),
        tp.tensor("W", (2, 1), "uint32", "registers"),
    )
    report = tp.prove("mov.b32", words, octets)
    assert ".b8" in tp.emit(report)
    with pytest.raises(
        EmissionError, match=r"mov\.b32 takes H in registers of 8 bits, and an asm statement of C\+\+ has"
    ):
        tp.emit(report, format="cuda")


def test_what_is_not_executed_keeps_its_destination() -> None:
    guarded = tp.emit(fragments.predicated(), format="cuda")
    assert guarded.count('"+&r"') == 4
    assert '"=&r"' not in guarded
    assert tp.emit(fragments.interleaved(), format="cuda").count('"=&r"') == 4


def test_temporaries_hide_no_register_of_the_compiler() -> None:
    """A ``%rd0`` that is declared in the block would hide the compiler's, which an operand may be."""
    for call in CALLS:
        text = tp.emit(call(), format="cuda", name="f")
        (block_of_ptx,) = re.findall(r"asm volatile\((.*?)\n        :", text, re.DOTALL)
        assert not re.findall(r"%(?!\d)", block_of_ptx.replace("%%", "")), call
        assert not re.findall(r"%%(?!tid|ntid|laneid|warpid|ctaid|cluster_ctaid)", block_of_ptx), call


@pytest.mark.parametrize("name", ["D\n#error", "D\r\n#error", "D\u2028x", "\\"])
def test_a_comment_ends_with_its_line(name: str) -> None:
    source_ = tp.tensor("A", (64, 4), "uint32").declare((64, 4), name=name)[tx]
    text = tp.emit(tp.check(V4, fragments.WORDS, source_), format="cuda")
    before = [line for line in text.splitlines() if not line.startswith("//")]
    assert before[:2] == ["#include <cstdint>", ""]
    assert before[2].startswith("__device__")
    assert not any(line.endswith("\\") for line in text.splitlines())


# What a compiler makes of it


def parameters(text: str) -> list[str]:
    (declared,) = re.findall(r"^__device__ .*? void \w+\((.*)\)$", text, re.MULTILINE)
    return re.split(r", (?=(?:const |std::|unsigned|float|double))", declared)


def caller(text: str, name: str) -> str:
    """A kernel that gets every argument of the function from memory and writes every array back."""
    arguments, before, after = [], [], []
    for number, declared in enumerate(parameters(text)):
        array = re.fullmatch(r"(?:const )?(.*) \(&(\w+)\)\[(\d+)\]", declared)
        if array is None:
            kind, variable = declared.rsplit(" ", 1)
            before.append(f"{kind} {variable} = *({kind}*)(in + {16 * number});")
        else:
            kind, variable, count = array.groups()
            each = f"for (int j = 0; j < {count}; ++j)"
            before.append(
                f"{kind} {variable}[{count}]; {each} {variable}[j] = (({kind}*)(in + {4096 * number}))[j];"
            )
            after.append(f"{each} (({kind}*)out)[j] = {variable}[j];")
        arguments.append(variable)
    lines = [*before, f"{name}({', '.join(arguments)});", *after]
    inside = "\n    ".join(lines)
    return f'{text}\nextern "C" __global__ void k_{name}(char* in, char* out)\n{{\n    {inside}\n}}\n'


def compiled(text: str, folder: Path, arch: str) -> str:
    """The PTX that nvcc makes; its warnings are errors."""
    made, result = folder / "k.cu", folder / "k.ptx"
    made.write_text(text, encoding="utf-8")
    command = [
        str(NVCC),
        "-ptx",
        f"-arch={arch}",
        "-std=c++17",
        "-Werror",
        "all-warnings",
        "-o",
        str(result),
        str(made),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return result.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def everything_compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The PTX of one kernel for each call, compiled at once."""
    parts = [caller(tp.emit(call(), format="cuda", name=call.__name__), call.__name__) for call in CALLS]
    return compiled("\n".join(parts), tmp_path_factory.mktemp("nvcc"), "sm_100a")


def renamed(lines: list[str]) -> list[str]:
    """The lines with their registers numbered in the order in which they are mentioned."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return found[0] if "." in found[0] else numbers.setdefault(found[0], f"<{len(numbers)}>")

    return [re.sub(r"(?:%|\bt_)[a-zA-Z_]\w*(?:\.[xyz])?", number, line.strip()) for line in lines]


def block(ptx: str, name: str) -> list[str]:
    """The lines of the only asm statement of a kernel."""
    (kernel,) = (part for part in ptx.split(".visible .entry ") if part.startswith(f"k_{name}("))
    (inside,) = re.findall(r"// begin inline asm\n(.*?)// end inline asm", kernel, re.DOTALL)
    return [line for line in inside.splitlines() if line.strip()]


@needs_nvcc
@pytest.mark.parametrize("call", CALLS, ids=lambda f: f.__name__)
def test_the_compiler_keeps_exactly_the_instructions(call: Any, everything_compiled: str) -> None:
    report = call()
    written = [line for line in tp.emit(report).splitlines() if not line.startswith("//")]
    kept = block(everything_compiled, call.__name__)
    assert renamed(kept) == renamed(written)
    opcode = "selp.f32" if call is composed else report.call.form.spelling
    assert len(plan(report).issues) == sum(f"{opcode} " in line for line in kept)


@needs_nvcc
def test_what_the_compiler_makes_assembles(everything_compiled: str) -> None:
    assert len(assemble(everything_compiled, "sm_100a").kernels) == len(CALLS)


KERNEL = """
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    __shared__ __align__(16) unsigned tile[256];
    unsigned words[4] = {7, 7, 7, 7}, fragment[11];
    for (int j = 0; j < 11; ++j) fragment[j] = 1000 + j;
    load(words, (std::uint64_t)__cvta_generic_to_global(in));
    for (int j = 0; j < 4; ++j) { tile[4 * threadIdx.x + j] = words[j]; tile[128 + 4 * threadIdx.x + j] = ~words[j]; }
    __syncthreads();
    matrices(fragment, (std::uint32_t)__cvta_generic_to_shared(tile));
    for (int j = 0; j < 11; ++j) out[11 * threadIdx.x + j] = fragment[j];
}
"""


@needs_nvcc
def test_a_kernel_of_somebody_else_returns_the_right_numbers(tmp_path: Path) -> None:
    """Loads under a predicate, then matrices: the compiler's own code around both functions."""
    words = tp.tensor("R", (4,), "uint32", "registers")
    load = tp.check(V4, words, tp.tensor("A", (32, 4), "uint32")[tx], pred=laneid % 8 != 3, preserve_dst=True)
    functions = source([(plan(load), "load"), (plan(fragments.interleaved()), "matrices")])
    text = compiled(functions + KERNEL, tmp_path, "sm_90a")
    data = np.arange(128, dtype=np.uint32) * 3 + 11
    out = np.zeros((32, 11), np.uint32)
    simulate(text, [data, out])

    loaded = data.reshape(32, 4).copy()
    loaded[np.arange(32) % 8 == 3] = 7
    tile = np.concatenate([loaded.reshape(-1), ~loaded.reshape(-1)])
    assert (out[:, [1, 3, 4, 5, 6, 7, 9]] == np.array([1001, 1003, 1004, 1005, 1006, 1007, 1009])).all()
    for lane in range(32):
        for k in range(2):
            for m in range(2):
                # SM[2*r+m, w, k] of the reference's layout (16,4,2):(8,1,128)
                assert out[lane, 8 * k + 2 * m] == tile[8 * (2 * (lane // 4) + m) + lane % 4 + 128 * k]


def test_layouts_of_registers_share_an_array() -> None:
    raw = tp.tensor("raw", (23,), "uint32", "registers")
    vectors = raw.declare((3, 4), layout=TileLayout(S[(3, 4) : (8, 2)]))
    text = tp.emit(tp.check(V4, vectors, tp.tensor("A", (3, 4), "uint32")), format="cuda", name="f")
    assert "(std::uint32_t (&raw)[23], std::uint64_t A)" in text
    assert re.findall(r"raw\[(\d+)\]", text) == [str(8 * i + 2 * j) for i in range(3) for j in range(4)]
