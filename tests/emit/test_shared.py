"""Shared memory: where dynamic tensors lie, what a target has, what the machine finds there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileproof import Kernel, tx
from tileproof.emit import launch as launcher
from tileproof.emit import shared
from tileproof.errors import CallError, EmissionError
from tileproof.layouts.tensor import tensor

KIB = 1024


def through_two_tensors() -> Kernel:
    k = Kernel("through", block=32)
    a, b = k.parameter("A", (32, 4), "uint32"), k.parameter("B", (32, 4), "uint32")
    flag = k.shared("flag", (3,), "uint8")
    one = k.shared("one", (33, 4), "uint32", align=16, dynamic=True)
    two = k.shared("two", (32, 4), "uint32", align=1024, dynamic=True)
    words, byte = k.registers("words", (4,), "uint32"), k.registers("byte", (1,), "uint8", fill=1)
    k.apply("st.shared.b8", flag[1:2], byte, hazards="ignore")
    k.apply("ld.global.v4.b32", words, a[tx])
    k.apply("st.shared.v4.b32", one[32 - tx], words)
    k.apply("st.shared.v4.b32", two[tx], words)
    k.raw("bar.sync 0;")
    k.apply("ld.shared.v4.b32", words, one[tx + 1])
    k.apply("st.global.v4.b32", b[tx], words)
    return k


def test_dynamic_tensors_are_one_array_at_aligned_offsets() -> None:
    k = through_two_tensors()
    text = k.ptx("sm_90a", comments=False)
    assert "\n.extern .shared .align 1024 .b8 through$dynamic[];\n" in text
    assert "mov.u32 %one, through$dynamic;\n" in text
    assert "mov.u32 %two, through$dynamic+1024;\n" in text
    assert k.assemble("sm_90a").kernels[0].name == "through"
    a, b = np.arange(128, dtype=np.uint32).reshape(32, 4), np.zeros((32, 4), np.uint32)
    k.simulate(a, b)
    assert (b == a[::-1]).all()


def test_a_launch_asks_for_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(launcher, "compute_capability", lambda device: (9, 0))
    monkeypatch.setattr(launcher, "launch", lambda *a, **named: asked.append(named["dynamic_shared"]))
    array = np.zeros((32, 4), np.uint32)
    through_two_tensors().launch(array, array)
    assert asked == [1024 + 32 * 16]


def test_placement_leaves_no_tensor_unaligned_and_none_overlapping() -> None:
    made = [
        tensor(f"T{n}", (size,), "uint8", "shared", align=align)
        for n, (size, align) in enumerate([(3, 1), (5, 4), (1, 1), (7, 16), (2, 2)])
    ]
    assert [offset for _, offset in shared.placed(made)] == [0, 4, 9, 16, 24]
    assert shared.extent(made) == 26
    assert shared.extent([]) == 0
    assert shared.alignment(made) == 16


@pytest.mark.parametrize(
    ("arch", "kib"),
    [("sm_75", 64), ("sm_80", 163), ("sm_86", 99), ("sm_89", 99), ("sm_90", 227), ("sm_90a", 227),
     ("sm_100a", 227), ("sm_103f", 227), ("sm_120a", 99), ("sm_121", 99)],
)  # fmt: skip
def test_what_a_cta_has_on_a_target(arch: str, kib: int) -> None:
    full = Kernel("full", block=32)
    full.shared("SM", (kib * KIB - 16,), "uint8", dynamic=True)
    full.shared("flag", (16,), "uint8")
    full.ptx(arch)
    full.shared("More", (1,), "uint8")
    with pytest.raises(
        EmissionError,
        match=rf"kernel full: {kib * KIB + 1} bytes of shared memory are declared \(17 static, "
        rf"{kib * KIB - 16} dynamic\), and a CTA has {kib * KIB} on {arch}",
    ):
        full.ptx(arch)


def test_the_gap_before_an_aligned_array_counts() -> None:
    k = Kernel("gap", block=32)
    k.shared("flag", (1,), "uint8")
    k.shared("SM", (226 * KIB,), "uint8", align=1024, dynamic=True)
    k.ptx("sm_90a")
    k.shared("More", (1,), "uint8", dynamic=True)
    with pytest.raises(EmissionError, match=f"a CTA has {227 * KIB} on sm_90a"):
        k.ptx("sm_90a")


def test_the_default_target_has_enough_shared_memory() -> None:
    k = Kernel("large", block=32)
    k.shared("SM", (164 * KIB,), "uint8", dynamic=True)
    assert k.architecture == "sm_90a"


def test_shared_memory_that_no_target_has() -> None:
    k = Kernel("much", block=32)
    k.shared("SM", (227 * KIB,), "uint8", dynamic=True)
    with pytest.raises(CallError, match=r"More brings dynamic shared memory to 232449 bytes.*232448"):
        k.shared("More", (1,), "uint8", dynamic=True)
    with pytest.raises(CallError, match="49153 bytes, and 49152 is the most; declare it with dynamic=True"):
        k.shared("More", (48 * KIB + 1,), "uint8")
    with pytest.raises(CallError, match="has a static size"):
        k.shared("More", (k.scalar("n", 1, 4),), "uint8", dynamic=True)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_alignment_that_shared_memory_does_not_keep(dynamic: bool) -> None:
    """On hardware the base under .align 2048 lies at an odd multiple of 1024."""
    k = Kernel("aligned", block=32)
    k.shared("SM", (4,), "uint8", align=1024, dynamic=dynamic)
    with pytest.raises(CallError, match="tensor More: align is 2048, and shared memory keeps at most 1024"):
        k.shared("More", (4,), "uint8", align=2048, dynamic=dynamic)
    assert k.local("spill", (4,), "uint8", align=2048).storage.align == 2048
