"""Scalar operands in spec files, and in the spec files that reports write of themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import registers
from tileproof import tx
from tileproof.scalars.expression import constant, variable
from tileproof.spec.errors import SpecError
from tileproof.spec.files import check_file

D, A = registers((2, 1), name="D"), registers((2, 1), name="A")
N = tp.symbol("n", 0, 2**31)

CALLS: list[tuple[str, Any]] = [
    ("add.f32", 2.5),
    ("add.f32", 3),
    ("add.f32", -0.0),
    ("add.f32", math.inf),
    ("add.f32", 1e-30),
    ("add.f32", constant(1.5, "float32")),
    ("add.f32", variable("alpha", "float32")),
    ("add.s32", -7),
    ("add.s32", N + tx),
    ("add.u32", N + tx),
    ("add.f16x2", 0x3C003C00),
]


@pytest.mark.parametrize(("opcode", "scalar"), CALLS, ids=[f"{o} {s}" for o, s in CALLS])
def test_a_report_writes_its_scalars(opcode: str, scalar: Any, tmp_path: Path) -> None:
    report = tp.check(opcode, D, A, scalar)
    spec = tmp_path / "again.toml"
    spec.write_text(report.reproduction())
    (again,) = check_file(spec)
    assert str(again.report) == str(report)
    assert repr(again.report.call.scalars) == repr(report.call.scalars)


def test_a_nan_is_a_number_too(tmp_path: Path) -> None:
    spec = tmp_path / "again.toml"
    spec.write_text(tp.check("add.f32", D, A, math.nan).reproduction())
    (again,) = check_file(spec)
    assert math.isnan(again.report.call.scalars[2])  # type: ignore[arg-type]


HEAD = """
[tensors.D]
shape = [2, 1]
dtype = "b32"
space = "registers"
[[calls]]
opcode = "add.f32"
operands = ["D", "D", {}]
"""

WRONG = [
    ("{ tensor = 'D', scalar = 1 }", "needs one of the keys tensor, scalar and expression"),
    ("{ steps = [] }", "needs one of the keys tensor, scalar and expression"),
    ("{ scalar = 1, steps = [{ view = 'b32' }] }", "steps goes with tensor"),
    ("{ tensor = 'D', dtype = 'float32' }", "dtype goes with scalar"),
    ("true", "needs an integer or an expression in text"),
    ("{ scalar = [1] }", "needs an integer or an expression in text"),
    ("{ scalar = 1.5, dtype = 'float64' }", "a scalar of float64, and the instruction takes .f32"),
    ("{ scalar = 'm + 1' }", "m"),
]


@pytest.mark.parametrize(("operand", "message"), WRONG, ids=[w[0] for w in WRONG])
def test_what_is_no_scalar(operand: str, message: str, tmp_path: Path) -> None:
    spec = tmp_path / "wrong.toml"
    spec.write_text(HEAD.replace("{}", operand))
    with pytest.raises(SpecError, match=message):
        check_file(spec)
