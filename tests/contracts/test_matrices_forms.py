"""What forms of matrix products, tensor memory and bulk copies say: numbers, operands, targets, messages."""

from __future__ import annotations

import re
from itertools import product

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.contracts.operand_text import fits
from tileproof.contracts import legality
from tileproof.contracts.grammar import Form, Operand, enumerate_spellings, resolve, table
from tileproof.errors import OpcodeError

WGMMA = "wgmma.mma_async.sync.aligned."
TMA = "cp.async.bulk.tensor."
LOAD = "mbarrier::complete_tx::bytes"
SPARSE_MXF4 = (
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
)


def operand(form: Form, name: str) -> Operand:
    return next(entry for entry in form.operands if entry.name == name)


def refusal(spelling: str) -> str:
    with pytest.raises(OpcodeError) as caught:
        resolve(spelling)
    return str(caught.value)


@pytest.mark.parametrize(
    ("spelling", "numbers"),
    [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            {"m": 16, "n": 8, "k": 16, "products": 1}
            | {
                "a_registers": 4,
                "b_registers": 2,
                "c_registers": 4,
                "d_registers": 4,
                "a_bits": 32,
                "d_bits": 32,
            },
        ),
        # Four products at once (PTX ISA 9.7.14.5.1).
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16",
            {"products": 4, "a_registers": 2, "b_registers": 2, "c_registers": 4, "d_registers": 8},
        ),
        (
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
            {"products": 1, "a_registers": 1, "b_registers": 1, "d_registers": 2, "a_bits": 64, "c_bits": 64},
        ),
        ("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rz", {"a_registers": 8, "b_registers": 4}),
        ("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", {"a_registers": 2, "b_registers": 1}),
        (
            "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
            {"k": 256, "a_registers": 4, "b_registers": 2},
        ),
        (
            "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e3m2.f16",
            {"a_registers": 4, "d_registers": 2},
        ),
        (
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
            {"k": 64, "a_registers": 4, "b_registers": 2},
        ),
        ("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", {"a_registers": 2, "b_registers": 2}),
        (SPARSE_MXF4, {"k": 128, "a_registers": 4, "b_registers": 4}),
        (WGMMA + "m64n72k16.f16.f16.f16", {"m": 64, "n": 72, "k": 16, "d_registers": 18}),
        (WGMMA + "m64n256k8.f32.tf32.tf32", {"n": 256, "k": 8, "d_registers": 128}),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8", {"k": 64, "d_registers": 4}),
        (
            "tcgen05.ld.sync.aligned.16x256b.x4.b32",
            {"repeats": 4, "lanes": 16, "columns": 32, "registers": 16},
        ),
        ("tcgen05.ld.sync.aligned.32x32b.x8.pack::16b.b32", {"lanes": 32, "columns": 16, "registers": 8}),
        ("tcgen05.st.sync.aligned.16x128b.x64.b32", {"columns": 256, "registers": 128}),
        ("tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.abs.NaN.f32", {"columns": 2, "registers": 2}),
        ("tcgen05.cp.cta_group::2.64x128b.warpx2::01_23", {"ctas": 2, "rows": 64, "row_bits": 128}),
        ("tcgen05.mma.cta_group::1.kind::tf32", {"ctas": 1, "k": 8, "lane_words": 4}),
        (
            "tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale.block32",
            {"ctas": 2, "k": 128, "lane_words": 8},
        ),
        ("tcgen05.mma.ws.sp.cta_group::1.kind::i8", {"k": 64}),
        (f"{TMA}3d.shared::cta.global.{LOAD}", {"rank": 3, "coordinates": 3}),
        (f"{TMA}2d.shared::cta.global.tile::gather4.{LOAD}", {"rank": 2, "coordinates": 5}),
        (f"{TMA}5d.shared::cluster.global.im2col.{LOAD}", {"coordinates": 5, "offsets": 3}),
        (f"{TMA}5d.shared::cluster.global.im2col::w::128.{LOAD}", {"coordinates": 5, "offsets": 2}),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16", {"element_bits": 16}),
        ("tensormap.replace.tile.global_stride.b1024.b64", {"value_bits": 64}),
    ],
)
def test_quantities(spelling: str, numbers: dict[str, int]) -> None:
    form = resolve(spelling)
    assert {name: form.quantity(name) for name in numbers} == numbers


@pytest.mark.parametrize("mnemonic", ["mma", "mma.sp", "mma.sp::ordered_metadata", "wgmma.mma_async"])
def test_a_shape_is_its_m_n_and_k(mnemonic: str) -> None:
    for spelling in enumerate_spellings(mnemonic):
        form = resolve(spelling)
        assert form.get("shape") == "m{}n{}k{}".format(*(form.quantity(name) for name in "mnk"))


# A and D of one warp or warpgroup hold every element once: registers times lanes times elements of a register.
@pytest.mark.parametrize("mnemonic", ["mma", "mma.sp", "mma.sp::ordered_metadata"])
def test_registers_hold_the_matrices(mnemonic: str) -> None:
    width = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s32": 32, "b1": 1, "s4": 4, "u4": 4}
    for spelling in enumerate_spellings(mnemonic):
        form = resolve(spelling)
        m, n, k = (form.quantity(name) for name in "mnk")
        packed = 4 if form.get("kind") in ("kind::mxf4", "kind::mxf4nvf4") else 8
        stored = k // 2 if mnemonic.startswith("mma.sp") else k
        for name, size in {"a": m * stored, "b": k * n, "c": m * n, "d": m * n}.items():
            bits = width.get(str(form.get(f"{name}type")), packed)
            held = 32 * form.quantity(f"{name}_registers") * form.quantity(f"{name}_bits")
            assert held == size * bits * form.quantity("products"), (spelling, name)


@pytest.mark.parametrize(
    ("spelling", "name", "expected"),
    [
        (
            WGMMA + "m64n16k16.f32.f16.f16",
            "d",
            Operand("d", "registers", "updated", 8, 32, braced=True),
        ),
        (
            WGMMA + "m64n16k16.f32.f16.f16",
            "a",
            Operand("a", "registers", "read", 4, 32, braced=True, instead=("descriptor",)),
        ),
        (
            WGMMA + "m64n16k16.f32.f16.f16",
            "imm-trans-a",
            Operand("imm-trans-a", "immediate", "read", 1, 64, constants=(0, 1), given=("a", "descriptor")),
        ),
        (
            "tcgen05.mma.cta_group::2.kind::f16",
            "disable-output-lane",
            Operand("disable-output-lane", "registers", "read", 8, 32, braced=True, optional=True),
        ),
        (
            f"{TMA}2d.global.shared::cta.tile::scatter4.bulk_group",
            "tensor",
            Operand("tensor", "tensor", "written", 5, 32, braced=False),
        ),
    ],
)
def test_operands(spelling: str, name: str, expected: Operand) -> None:
    assert operand(resolve(spelling), name) == expected


# The first text of each has the operands of the form, the others have not.
@pytest.mark.parametrize(
    ("spelling", "texts"),
    [
        (
            WGMMA + "m64n8k16.f16.f16.f16",
            [
                "{%r0,%r1}, %rd0, %rd1, %p0, 1, 1, 0, 0",
                "{%r0,%r1}, {%r2,%r3,%r4,%r5}, %rd1, %p0, 1, 1, 0, 0",
                "{%r0,%r1}, %rd0, %rd1, %p0, 1, 1, 0",
                "{%r0}, %rd0, %rd1, %p0, 1, 1, 0, 0",
            ],
        ),
        (WGMMA + "m64n8k16.f16.f16.f16", ["{%r0,%r1}, {%r2,%r3,%r4,%r5}, %rd1, 1, 1, 1, 0"]),
        (
            WGMMA + "m64n8k8.f32.tf32.tf32",
            ["{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p0, 1, 1", "{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p0"],
        ),
        (
            "tcgen05.mma.cta_group::1.kind::f16",
            ["[%r0], [%r1], %rd0, %r2, %p0, 3", "[%r0], [%r1], %rd0, %r2", "[%rd0], [%r1], %rd0, %r2, %p0"],
        ),
        (
            "tcgen05.mma.cta_group::1.kind::f16.ashift",
            ["[%r0], [%r1], %rd0, %r2, %p0", "[%r0], %rd1, %rd0, %r2, %p0"],
        ),
        (
            f"{TMA}3d.shared::cluster.global.im2col.{LOAD}.multicast::cluster",
            [
                "[%r0], [%rd0, {%r1,%r2,%r3}], [%r4], {%h0}, %h1",
                "[%r0], [%rd0, {%r1,%r2,%r3}], [%r4], %h1, {%h0}",
            ],
        ),
        ("tcgen05.fence::before_thread_sync", ["", "0"]),
    ],
)
def test_operand_texts(spelling: str, texts: list[str]) -> None:
    right, *wrong = texts
    assert fits(resolve(spelling), right)
    assert not any(fits(resolve(spelling), text) for text in wrong)


# Each first target has the form and each second one lacks it.
@pytest.mark.parametrize(
    ("spelling", "has", "lacks"),
    [
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "sm_75", "sm_72"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "sm_89", "sm_88"),
        ("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "sm_90", "sm_89"),
        ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", "sm_120f", "sm_120"),
        ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", "sm_121a", "sm_100a"),
        (SPARSE_MXF4, "sm_121a", "sm_121f"),
        ("movmatrix.sync.aligned.m8n8.trans.b16", "sm_75", "sm_72"),
        (WGMMA + "m64n8k16.f16.f16.f16", "sm_90a", "sm_90"),
        (WGMMA + "m64n8k16.f16.f16.f16", "sm_90a", "sm_100a"),
        ("wgmma.fence.sync.aligned", "sm_90a", "sm_100f"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32", "sm_100f", "sm_100"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32", "sm_110a", "sm_120a"),
        ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32", "sm_103f", "sm_100a"),
        ("tcgen05.shift.cta_group::1.down", "sm_103a", "sm_103f"),
        ("tcgen05.mma.cta_group::1.kind::i8", "sm_100a", "sm_103a"),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X", "sm_100a", "sm_100f"),
        ("tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale", "sm_100a", "sm_100f"),
        (f"cp.async.bulk.shared::cta.global.{LOAD}", "sm_90", "sm_89"),
        ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask", "sm_100", "sm_90a"),
        (f"{TMA}2d.shared::cta.global.tile::gather4.{LOAD}", "sm_120", "sm_90a"),
        (f"{TMA}2d.shared::cluster.global.tile::gather4.{LOAD}", "sm_100f", "sm_120a"),
        (f"{TMA}1d.shared::cta.global.{LOAD}.cta_group::1", "sm_110f", "sm_110"),
        ("tensormap.replace.tile.rank.global.b1024.b32", "sm_90a", "sm_90"),
        ("tensormap.replace.tile.swizzle_atomicity.global.b1024.b32", "sm_120f", "sm_90a"),
    ],
)
def test_targets(spelling: str, has: str, lacks: str) -> None:
    form = resolve(spelling)
    assert form.supports(has)
    assert not form.supports(lacks)
    assert str(form.unsupported_reason(lacks)).startswith(f"{spelling}: for ")


@pytest.mark.parametrize(
    ("spelling", "version", "section"),
    [
        ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", (6, 4), "9.7.14.5.14"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32", (8, 7), "9.7.14.5.14"),
        ("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc", (7, 1), "9.7.14.5.14"),
        ("mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", (8, 4), "9.7.14.6.3"),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", (8, 5), "9.7.14.6.3"),
        (WGMMA + "m64n8k32.s32.s8.u8", (8, 4), "9.7.15.5.2"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8", (8, 2), "9.7.15.6.3"),
        ("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", (8, 7), "9.7.16.10.9.1"),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32", (8, 8), "9.7.16.10.9.1"),
        ("multimem.cp.async.bulk.global.shared::cta.bulk_group", (9, 1), "9.7.9.26"),
        ("cp.async.bulk.wait_group.read", (8, 0), "9.7.9.27.2.2"),
    ],
)
def test_versions_and_sections(spelling: str, version: tuple[int, int], section: str) -> None:
    form = resolve(spelling)
    assert (form.ptx_version, form.section) == (version, section)


@pytest.mark.parametrize(
    "spelling",
    [
        WGMMA + "m64n12k16.f32.f16.f16",
        WGMMA + "m64n64k32.f32.f16.f16",
        WGMMA + "m64n40k32.s32.s8.s8",
        "wgmma.mma.sync.aligned.m64n64k16.f32.f16.f16",
        "mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4",
        "tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::fill",
        "tcgen05.ld.sync.aligned.16x256b.x64.b32",
        "tcgen05.cp.cta_group::1.64x128b.warpx4",
        "tcgen05.wait::cp.sync.aligned",
        f"{TMA}2d.shared.global.tile.{LOAD}",
        f"{TMA}2d.shared::cta.global.tile.{LOAD}.multicast::cluster",
        f"{TMA}2d.shared::cluster.global.im2col.{LOAD}",
        "cp.async.bulk.tensr.2d",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16",
        "tensormap.replace.tile.rank.global.b1024.b64",
    ],
)
def test_messages(spelling: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(spelling) == snapshot


LONG = [entry for entry in table() if len(entry.slots) > 3]


@pytest.mark.parametrize("instruction", LONG, ids=lambda entry: entry.mnemonic)
def test_no_misspelling_takes_a_long_search(instruction: object, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    fill = legality._fill

    def counted(*arguments: object) -> bool:
        nonlocal steps
        steps += 1
        return fill(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(legality, "_fill", counted)
    mnemonic = instruction.mnemonic  # type: ignore[attr-defined]
    longest = max(enumerate_spellings(mnemonic), key=len).removeprefix(mnemonic).split(".")[1:]
    for length in range(len(longest)):
        steps = 0
        assert "is not a qualifier of" in refusal(".".join((mnemonic, *longest[:length], "misspelt")))
        assert steps < 4000, longest[:length]


def test_a_misspelt_qualifier_of_a_long_slot_is_told_the_nearest() -> None:
    text = refusal(WGMMA + "m64n128k61.f32.f16.f16")
    shown = re.findall(r"\.m64n\d+k\d+", text.split("Legal there:")[1])
    assert len(shown) == 8
    assert ".m64n128k16" in shown
    assert text.endswith("and 106 more.")


def test_every_width_of_wgmma() -> None:
    shapes = {resolve(s).get("shape") for s in enumerate_spellings("wgmma.mma_async")}
    floats = {f"m64n{n}k{k}" for n, k in product(range(8, 257, 8), (8, 16, 32))}
    assert shapes == floats | {f"m64n{n}k256" for n in (8, 16, 24, *range(32, 257, 16))}
