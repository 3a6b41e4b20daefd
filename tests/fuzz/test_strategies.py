"""The strategies for other people's tests: what they give, and to what they shrink."""

from __future__ import annotations

import subprocess
import sys
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import tileproof as tp
from tileproof import fuzz
from tileproof.errors import CallError
from tileproof.fuzz.families import generate, pages
from tileproof.fuzz.generate.choices import Choices

FEW = settings(max_examples=20, suppress_health_check=list(HealthCheck), database=None)
MANY = settings(max_examples=300, suppress_health_check=list(HealthCheck), database=None)
FIRST = [mnemonics[0] for mnemonics in pages().values()]


@pytest.mark.parametrize("family", FIRST)
def test_a_call_has_all_that_a_test_needs(family: str) -> None:
    @FEW
    @given(fuzz.calls(family))
    def check(call: fuzz.Example) -> None:
        report = call.check()
        assert isinstance(report, tp.Report)
        assert report.call.form.mnemonic == family
        again = tp.check_ewise if family == "ewise" else tp.check
        assert again(call.opcode, *call.operands, **call.keywords).verdict is report.verdict  # type: ignore[operator]
        assert repr(call).startswith("import tileproof as tp\n")
        assert call.check(hazards="ignore").hazards == ()

    check()


@pytest.mark.parametrize("legal", [True, False])
def test_calls_are_legal_or_not_as_asked(legal: bool) -> None:
    @FEW
    @given(fuzz.calls(legal=legal))
    def check(call: fuzz.Example) -> None:
        assert call.legal is legal
        assert (call.check().verdict is tp.Verdict.REFUTED) <= (not legal)

    check()


@FEW
@given(st.data())
def test_views_are_of_the_space_and_width_asked_for(data: st.DataObject) -> None:
    space = data.draw(st.sampled_from(("global", "shared", "local", "const", "registers")))
    bits = data.draw(st.sampled_from((8, 16, 32, 64, 128)))
    view = data.draw(fuzz.views(space, bits))
    assert (view.tensor.space, view.bits) == (space, bits)
    assert data.draw(fuzz.views()).bits in (8, 16, 32, 64, 128)


@pytest.mark.parametrize("family", FIRST)
def test_kernels_are_proved_and_written(family: str) -> None:
    @settings(FEW, max_examples=8)
    @given(fuzz.kernels(family))
    def check(kernel: tp.Kernel) -> None:
        (report,) = kernel.reports
        assert report.verdict is tp.Verdict.PROVED
        assert report.call.form.mnemonic == family
        assert ".visible .entry example" in kernel.ptx()

    check()


def plain(call: fuzz.Example) -> bool:
    """Nothing is swizzled, copied, permuted or put into other storage, and there are few dimensions."""
    operands = call.description.operands
    strange = [(o.swizzle, o.replicas, o.backing, o.order) for o in operands]
    return not any(map(any, strange)) and max(len(o.shape) for o in operands) <= 4


@pytest.mark.parametrize(("family", "demand"), [("ld", "aligned"), ("ewise", "dtype")])
def test_a_failing_property_shrinks_to_a_plain_call(family: str, demand: str) -> None:
    def fails(call: fuzz.Example) -> bool:
        return demand in call.outcome.failing

    least = find(fuzz.calls(family), fails, settings=MANY, random=Random(1))
    assert plain(least), least
    assert f"{family}.{demand}" in {f.obligation.id for f in least.check().failures}


@pytest.mark.parametrize("family", FIRST)
def test_the_plainest_kernel_is_one_instruction(family: str) -> None:
    kernel = fuzz.Example(generate(family, Choices.replayed(()))).kernel()
    spelling = kernel.reports[0].call.form.spelling
    assert kernel.ptx().count(f"    {spelling} ") == (family != "ewise")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fuzz.calls("ldmatrx"), "no calls of 'ldmatrx' are made up; there are calls of .*ldmatrix"),
        (lambda: fuzz.kernels("mma"), "no calls of 'mma' are made up"),
        (
            lambda: fuzz.views(space="smem"),
            "space is one of global, shared, local, const, registers, got 'smem'",
        ),
        (lambda: fuzz.views(bits=24), "bits is one of 32, 16, 8, 64, 128, got 24"),
    ],
)
def test_what_there_is_none_of_is_told(make: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        make()


def test_without_hypothesis_the_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['hypothesis'] = None; from tileproof import fuzz; fuzz.mix('ld', 1);\n"
        "try: fuzz.calls\nexcept ImportError as error: print(error)"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.stdout.strip().endswith("which is not installed: pip install 'tileproof[fuzz]'"), (
        finished.stderr
    )
