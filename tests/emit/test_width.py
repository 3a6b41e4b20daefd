"""Guards narrow the arithmetic that is emitted: the narrowest width that is proved."""

from __future__ import annotations

import numpy as np
import pytest

from tileproof import Kernel, Verdict, check, symbol, tensor
from tileproof.layouts.index import Relation


def kernel(limit: int) -> Kernel:
    k = Kernel("narrow", block=1)
    a = k.parameter("A", (1 << 32,), "uint32")
    out = k.parameter("Out", (4,), "uint32")
    n = k.scalar("n")
    words = k.registers("words", (4,), "uint32", fill=0)
    with k.when((n >= 0) & (n < limit) & (n % 4 == 0)):
        k.apply("ld.global.v4.b32", words, a[n : n + 4])
    k.apply("st.global.v4.b32", out, words)
    return k


@pytest.mark.parametrize(("limit", "wide"), [(1 << 28, False), ((1 << 29) + 4, True)])
def test_a_guard_decides_the_width(limit: int, wide: bool) -> None:
    text = kernel(limit).ptx("sm_90a")
    line = next(part for part in text.splitlines() if "ld.global.v4.b32 {" in part)
    body = text[: text.index(line)]
    # 64-bit arithmetic multiplies the 64-bit scalar; 32-bit arithmetic narrows it first.
    assert ("mad.lo.s64" in body or "shl.b64" in body) is wide, body


def obligations(*active: Relation) -> list[str]:
    n = symbol("n")
    a, words = tensor("A", (1 << 32,), "uint32"), tensor("W", (4,), "uint32", "registers")
    report = check("ld.global.v4.b32", words, a[n : n + 4], active=active)
    assert report.verdict is Verdict.PROVED
    return [f.obligation.sentence for f in report.findings if f.obligation.id == "ld.no-overflow"]


def test_the_narrow_width_is_an_obligation_of_its_own() -> None:
    n = symbol("n")
    narrow = obligations(n >= 0, n < 1 << 28, n % 4 == 0)
    assert len(narrow) == 1
    assert "32-bit" in narrow[0]
    assert obligations(n >= 0, n < 1 << 30, n % 4 == 0) == []


def test_narrow_arithmetic_reads_the_right_words() -> None:
    k = Kernel("narrow_small", block=1)
    a, out, n = k.parameter("A", (64,), "uint32"), k.parameter("Out", (4,), "uint32"), k.scalar("n")
    words = k.registers("words", (4,), "uint32", fill=0)
    with k.when((n >= 0) & (n < 61) & (n % 4 == 0)):
        k.apply("ld.global.v4.b32", words, a[n : n + 4])
    k.apply("st.global.v4.b32", out, words)
    data, got = np.arange(64, dtype=np.uint32), np.zeros(4, np.uint32)
    k.simulate(data, got, 40)
    assert got.tolist() == [40, 41, 42, 43]
