"""Instructions on registers against what two versions of ptxas assembled, recorded in `ptxas-registers.tsv`."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path

from tests.contracts.test_grammar_ptxas import VERSIONS, Row, read_row
from tests.contracts.test_matrices_ptxas import disagreements
from tileproof.contracts.grammar import Form, shapes
from tileproof.contracts.scalar_operands import operand_types
from tileproof.errors import OpcodeError

RECORDED = Path(__file__).parents[1] / "data" / "ptxas-registers.tsv"

BITS = {"h": 16, "r": 32, "f": 32, "rd": 64, "fd": 64, "b": 8, "q": 128, "p": 1}
"""The width of the registers that the recorded operands name."""

OTHER_ORDER = "ptxas takes .relu and .satfinite in any order; each syntax line of the ISA has one"
S2F6 = "the fixed-point pair .s2f6x2 of PTX ISA 9.1 has a scale operand and is not in the table"
ONLY_107 = "only sm_107a has it, of which the ISA 9.1 says nothing"
BYTES = "arithmetic on four bytes is of PTX ISA 9.2"
VECTOR = "a vector of ptxas that the ISA's syntax lines do not have"
SINCE_91 = "ptxas 13.0 takes it with .version 9.0, ptxas 13.5 from 9.1 on as the table"

# Spellings that ptxas assembles and the table refuses. No difference goes the other way.
DIFFERENCES = {
    "mov.v2.b32": VECTOR,
    "cvt.rn.satfinite.e2m1x2.f16x2": SINCE_91,
    "add.u8x4": BYTES,
    "sub.u8x4": BYTES,
    "sub.s8x4": BYTES,
    "min.u8x4": BYTES,
    "min.s8x4": BYTES,
    "max.u8x4": BYTES,
    "max.s8x4": BYTES,
    "neg.s8x4": BYTES,
    "cvt.rn.satfinite.relu.f16x2.f32": OTHER_ORDER,
    "cvt.rz.satfinite.relu.f16x2.f32": OTHER_ORDER,
    "cvt.rn.satfinite.relu.bf16x2.f32": OTHER_ORDER,
    "cvt.rz.satfinite.relu.bf16x2.f32": OTHER_ORDER,
    "cvt.rn.satfinite.relu.f16.f32": OTHER_ORDER,
    "cvt.rz.satfinite.relu.f16.f32": OTHER_ORDER,
    "cvt.rz.satfinite.relu.bf16.f32": OTHER_ORDER,
    "cvt.rs.satfinite.relu.f16x2.f32": OTHER_ORDER,
    "cvt.rs.satfinite.relu.bf16x2.f32": OTHER_ORDER,
    "cvt.rn.relu.satfinite.e4m3x2.f32": OTHER_ORDER,
    "cvt.rn.relu.satfinite.e5m2x2.f32": OTHER_ORDER,
    "cvt.rn.relu.satfinite.e2m1x2.f32": OTHER_ORDER,
    "cvt.rn.relu.satfinite.e2m3x2.f32": OTHER_ORDER,
    "cvt.rz.satfinite.e4m3x2.f32": ONLY_107,
    "cvt.rz.satfinite.e5m2x2.f32": ONLY_107,
    "cvt.rz.satfinite.e2m1x2.f32": ONLY_107,
    "cvt.rz.satfinite.e2m3x2.f32": ONLY_107,
    "cvt.rz.satfinite.e3m2x2.f32": ONLY_107,
    "cvt.rn.satfinite.ue5m3x2.f32": ONLY_107,
    "cvt.rz.satfinite.ue5m3x2.f32": ONLY_107,
    "cvt.rp.satfinite.ue5m3x2.f32": ONLY_107,
    "cvt.rz.ue5m3x2.f32": ONLY_107,
    "cvt.rp.ue5m3x2.f32": ONLY_107,
    "cvt.rn.satfinite.ue5m3x2.f16x2": ONLY_107,
    "cvt.rn.f16x2.ue5m3x2": ONLY_107,
    "cvt.rn.satfinite.ue5m3x2.bf16x2": ONLY_107,
    "cvt.rz.ue5m3x2.bf16x2": ONLY_107,
    "cvt.rn.satfinite.s2f6x2.f32": S2F6,
    "cvt.rn.satfinite.relu.s2f6x2.f32": S2F6,
    "cvt.rn.relu.satfinite.s2f6x2.f32": S2F6,
    "cvt.rz.satfinite.s2f6x2.f32": S2F6,
    "cvt.rn.satfinite.s2f6x2.bf16x2": S2F6,
    "cvt.rn.bf16x2.s2f6x2": S2F6,
    "cvt.rn.relu.bf16x2.s2f6x2": S2F6,
}

# Operands that are not the registers of a tensor, or not of the opcode.
UNFIT = {
    ("cvt.rn.satfinite.e2m1x2.f32", "%h10, %f1, %f2"),
    ("mov.b32", "%r10, {%h1,%h2,%h3}"),
    ("mov.u32", "%r10, %cluster_ctarank"),
    ("mov.u32", "%r10, smem"),
    ("add.rn.f32x2", "%fd10, %fd11, %fd12"),
    ("add.f16x2", "%f10, %f11, %f12"),
    ("cvt.rn.f16x2.f32", "%f10, %f1, %f2"),
}


@cache
def rows() -> tuple[Row, ...]:
    with RECORDED.open(encoding="utf-8", newline="") as lines:
        return tuple(
            read_row(cells) for cells in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        )


def forms_of(row: Row) -> tuple[Form, ...]:
    try:
        return shapes(row.spelling)
    except OpcodeError:
        return ()


def fitting(row: Row) -> Form | None:
    """The form whose operands are those of the row."""
    written = re.findall(r"\{[^}]*\}|[^,\s]+", row.operands)
    return next((form for form in forms_of(row) if fits(form, written)), None)


def fits(form: Form, written: list[str]) -> bool:
    if len(written) != len(form.operands):
        return False
    for text, operand, type_ in zip(written, form.operands, operand_types(form), strict=True):
        names = re.findall(r"%([a-z]+)\d", text)
        bits = {BITS.get(name) for name in names}
        wider = form.mnemonic == "cvt" and {form.get("to"), form.get("from")} & {"u8", "s8"}
        if operand.braced != text.startswith("{") or len(names) != operand.registers:
            return False
        if type_.endswith("x2") and any(name.startswith("f") for name in names):
            return False  # pairs are in registers of bits
        if bits != {operand.bits} and not (wider and operand.bits == 8):
            return False
    return True


def legal(form: Form, version: str, target: str) -> bool:
    return form.ptx_version <= VERSIONS[version] and form.supports(target)


def test_exactly_the_listed_rows_have_operands_that_do_not_fit() -> None:
    assert {(row.spelling, row.operands) for row in rows() if forms_of(row) and not fitting(row)} == UNFIT


def test_the_table_agrees_with_ptxas_but_for_the_listed_differences() -> None:
    verdicts = Counter[bool]()
    different = set()
    for row in rows():
        form = fitting(row)
        if form is None and forms_of(row):
            continue
        verdicts.update(row.verdicts.values())
        found = list(disagreements(row, form))
        if found:
            different.add(row.spelling)
            assert form is None or not any(legal(form, *where) for where in found), (row.spelling, found)
    assert different == DIFFERENCES.keys()
    assert verdicts[True] > 3500
    assert verdicts[False] > 4000


# ptxas has 8-bit floats on sm_90 from PTX ISA 7.8 on and on sm_89 from 8.1 on; the table says 8.1 for both.
LATER = {"cvt.rn.satfinite.e4m3x2.f32"}


def test_lowest_versions() -> None:
    found, recorded = {}, {}
    for row in rows():
        form = fitting(row)
        if row.lowest_version != "-" and form is not None:
            target, version = row.lowest_version.split(":")
            key = (row.spelling, form.shape)
            found[key] = "{}.{}".format(*form.ptx_version_on(target))
            recorded[key] = version
    assert {key[0] for key in found if found[key] != recorded[key]} == LATER
    assert len(recorded) >= 20
