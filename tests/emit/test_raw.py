"""Raw instructions are held against the instruction table, and what they need counts in the module."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tileproof.emit.kernel import Kernel
from tileproof.emit.raw import RawReader
from tileproof.errors import CallError, EmissionError, OpcodeError
from tileproof.layouts.axes import tx


def reader() -> RawReader:
    return RawReader({"%word_0": 32}.get)


def version(k: Kernel, arch: str | None = None) -> str:
    found = re.search(r"^\.version (\S+)$", k.ptx(arch), re.MULTILINE)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("text", "architecture", "module_version"),
    [
        ("bar.sync 0;", "sm_80", "7.0"),
        ("fence.proxy.alias;", "sm_80", "7.5"),
        ("mbarrier.arrive.shared.b64 _, [SM];", "sm_80", "7.1"),
        ("mbarrier.arrive.shared.b64 _, [SM], 2;", "sm_90a", "8.0"),
        ("mbarrier.arrive.relaxed.cta.shared.b64 _, [SM];", "sm_90a", "8.6"),
        ("setmaxnreg.dec.sync.aligned.u32 40;", "sm_90a", "8.0"),
        ("st.bulk.shared::cta [SM], 64, 0;", "sm_100a", "8.6"),
        ("@%p0 st.async.release.gpu.global.b32 [%rd0], %r0;", "sm_100a", "8.7"),
    ],
)
def test_a_raw_instruction_counts_in_target_and_version(
    text: str, architecture: str, module_version: str
) -> None:
    k = Kernel("raw")
    with k.when(tx == 0), k.loop("i", 0, 2):
        k.raw(text)
    assert k.architecture == architecture
    assert version(k) == module_version


def test_the_version_that_is_asked_for_is_the_least() -> None:
    k = Kernel("raw", ptx_version=(8, 1))
    k.raw("fence.proxy.alias;")
    assert version(k) == "8.1"


def test_a_target_without_a_raw_instruction_is_refused() -> None:
    k = Kernel("raw")
    k.raw("setmaxnreg.dec.sync.aligned.u32 40;")
    with pytest.raises(
        EmissionError, match="for setmaxnreg the target must be sm_90a or an 'a' or 'f' target"
    ):
        k.ptx("sm_90")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bar.sync 16;", "operand 1, a, is '16'"),
        ("bar.sink 0;", "'.sink' .qualifier 1. is not a qualifier of bar; did you mean '.sync'"),
        ("frobnicate.b32 %r0;", "there is no instruction 'frobnicate'"),
        (
            "mbarrier.arrive.expect_tx.shared.b64 [SM], 64;",
            "takes 3 operands: state, .addr., txCount; it has 2",
        ),
    ],
)
def test_what_the_table_refuses_is_refused(text: str, message: str) -> None:
    with pytest.raises((CallError, OpcodeError), match=message):
        Kernel("raw").raw(text)


def test_registers_of_the_kernel_have_the_widths_that_it_declares() -> None:
    k = Kernel("raw")
    k.registers("wide", (2,), "uint64")
    k.registers("narrow", (1,), "uint8")
    k.raw("and.b64 %wide_0, %wide_1, 3;")
    k.raw("and.b16 %narrow_0, %narrow_0, 3;")
    k.raw("and.b32 %wide_2, %other, 3;")
    with pytest.raises(CallError, match="%wide_1 has 64 bits; it must be a register of 32 bits"):
        k.raw("and.b32 %bit, %wide_1, 3;")


@pytest.mark.parametrize(
    ("declaration", "name", "bits"),
    [
        (".reg .pred %q;", "%q", 1),
        (".reg .b32 %a, b;", "b", 32),
        (".reg  .f64  %d<3> ;", "%d2", 64),
        (".reg .b16 %h<2>, %i<4>;", "%i3", 16),
        (".reg .b16 %i<4>;", "%i4", None),
        (".reg .b16 %i<4>;", "%i", None),
        (".reg .v2 .f32 %v;", "%v", None),
        (".reg .v2 .f32 %v;", "%v.y", 32),
        (".reg .v4 .f64 %v, %w;", "%w.a", 64),
        (".reg .v2.b16 %v<3>;", "%v2.g", 16),
        (".reg .b32 %a;", "%word_0", 32),
    ],
)
def test_registers_that_a_raw_text_declares(declaration: str, name: str, bits: int | None) -> None:
    """A 64-bit operand is refused where the register is known to have other bits."""
    raw = reader()
    assert raw.read(declaration).statement is None
    if bits in (None, 64):
        assert raw.read(f"brev.b64 {name}, {name};").statement is not None
    else:
        with pytest.raises(CallError, match=f"{name} has {'one bit' if bits == 1 else f'{bits} bits'}"):
            raw.read(f"brev.b64 {name}, {name};")


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        (".reg .v2 .f32 %v;", "brev.b32 %v.z, %v.x;"),
        (".reg .v2 .f32 %v;", "brev.b32 %w.x, %v.x;"),
        (".reg .v2 .b32 %v<3>;", "brev.b32 %v3.x, %v2.x;"),
        (".reg .b32 %v;", "brev.b32 %v.x, %v;"),
    ],
)
def test_only_vectors_that_are_declared_have_elements(declaration: str, text: str) -> None:
    raw = reader()
    raw.read(declaration)
    with pytest.raises(CallError, match="operand 1, d, is"):
        raw.read(text)


@pytest.mark.parametrize("names", ["%laneid", "%a, %clock64", "%pm<3>", "%envreg3<1>, %envreg<4>"])
def test_the_name_of_a_special_register_is_not_declared(names: str) -> None:
    with pytest.raises(CallError, match="is a special register"):
        reader().read(f".reg .b32 {names};")


def test_names_near_those_of_special_registers_are_declared() -> None:
    raw = reader()
    raw.read(".reg .b64 %clock<64>, %laneid_, %pm8;")
    assert raw.read("add.u64 %clock63, %laneid_, %pm8;").statement is not None
    assert raw.read("add.u64 %clock63, %clock9, %clock0;").statement is not None


def test_variables_of_the_kernel_have_addresses_and_no_values() -> None:
    k = Kernel("raw")
    k.shared("tile", (32, 1), "uint32")
    k.registers("word", (1,), "uint32")
    k.raw("mov.u32 %word_0, tile+64;")
    k.raw("ld.shared.b32 %word_0, [tile];")
    with pytest.raises(CallError, match="operand 2, a, is 'tile', and tile is a variable"):
        k.raw("add.u32 %word_0, tile, 1;")


@pytest.mark.parametrize(
    ("text", "architecture", "module_version"),
    [
        ("mov.u32 %r0, %tid.x;", "sm_80", "7.0"),
        ("mov.u32 %r0, %reserved_smem_offset_0;", "sm_80", "7.6"),
        ("mov.u32 %r0, %cluster_ctarank;", "sm_90a", "8.0"),
        ("cvt.u64.u32 %rd0, %aggr_smem_size;", "sm_90a", "8.1"),
        ("max.f32 %f0, %f1, %f2, %f3;", "sm_100a", "8.8"),
        ("mov.b128 %q0, {%rd0, %rd1};", "sm_80", "8.3"),
    ],
)
def test_what_the_operands_need_counts(text: str, architecture: str, module_version: str) -> None:
    k = Kernel("raw")
    k.raw(text)
    assert (k.architecture, version(k)) == (architecture, module_version)


@pytest.mark.parametrize(
    "text",
    [
        "mov.u32 %r0, %tid.x;",
        "add.rn.f32 %f0, %f1, %f2;",
        "cvt.rn.bf16x2.f32 %r0, %f0, %f1;",
        "cp.async.bulk.commit_group;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r0], 16;",
        "tcgen05.fence::before_thread_sync;",
    ],
)
def test_the_table_has_all_of_these(text: str) -> None:
    statement = reader().read(text).statement
    assert statement is not None
    assert statement.form.spelling == text.removesuffix(";").split(" ")[0]


def test_the_longest_mnemonic_is_meant() -> None:
    """`add.cc` is no `add`."""
    assert reader().read("add.cc.u32 %a, %b, %c;").statement is not None
    with pytest.raises(OpcodeError):
        reader().read("add.cc.f32 %a, %b, %c;")
    with pytest.raises(OpcodeError):
        reader().read("cp.async.bulky;")


def test_long_numbers_are_names_like_others() -> None:
    k = Kernel("raw")
    k.registers("word", (1,), "uint32")
    k.raw(f".reg .b64 %d<{'9' * 5000}>;")
    k.raw(".reg .b64 %e<3>;")
    for name in ("%d", "%e", "%word_"):
        k.raw(f"brev.b32 {name}{'9' * 5000}, %x;")


def test_no_text_is_read() -> None:
    with pytest.raises(CallError, match="raw takes one PTX instruction"):
        Kernel("raw").raw(None)  # type: ignore[arg-type]


def test_raw_instructions_run() -> None:
    k = Kernel("raw")
    out = k.parameter("Out", (32, 1), "uint32")
    word = k.registers("word", (1,), "uint32", fill=6)
    k.raw("lop3.b32 %word_0, %word_0, 3, 0, 0x3C;")
    k.raw("shfl.sync.idx.b32 %word_0, %word_0, 0, 31, -1;")
    k.apply("st.global.b32", out[tx], word)
    found = np.zeros(32, np.uint32)
    k.simulate(found)
    assert (found == 5).all()
