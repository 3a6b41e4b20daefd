"""Barriers in shared memory: the exact instructions, what they need, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tileproof import Kernel, tx
from tileproof.emit.mbarrier import MBarrier
from tileproof.errors import CallError, EmissionError


def written(body: Callable[[Kernel, MBarrier], None], arch: str = "sm_90a", count: int = 4) -> list[str]:
    """What the operations add to an empty kernel, assembled as a check."""
    k = Kernel("waits", block=64)
    bar = k.mbarrier("bar", count)
    body(k, bar)
    k.assemble(arch)
    lines = [line.strip() for line in k.ptx(arch).splitlines()]
    return lines[lines.index("mov.u32 %bar, bar;") + 1 : lines.index("ret;")]


OPERATIONS: list[tuple[Callable[[Kernel, MBarrier], None], list[str]]] = [
    (lambda k, b: b.init(), ["mbarrier.init.shared.b64 [%bar], 1;"]),
    (lambda k, b: b.init(64), ["mbarrier.init.shared.b64 [%bar], 64;"]),
    (lambda k, b: b.inval(), ["mbarrier.inval.shared.b64 [%bar];"]),
    (lambda k, b: b.arrive(), ["mbarrier.arrive.shared.b64 _, [%bar];"]),
    (lambda k, b: b.arrive(2), ["mbarrier.arrive.shared.b64 _, [%bar], 2;"]),
    (
        lambda k, b: b.arrive_expect_tx(4096, at=3),
        ["add.s32 %r0, %bar, 24;", "mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 4096;"],
    ),
    (
        lambda k, b: b.wait(1),
        ["$wait_1:", "mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 1;", "@!%p0 bra $wait_1;"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "lines"), OPERATIONS, ids=range(len(OPERATIONS)))
def test_each_operation_is_one_instruction(
    body: Callable[[Kernel, MBarrier], None], lines: list[str]
) -> None:
    assert written(body) == lines


def test_a_ring_of_barriers_in_a_loop() -> None:
    def ring(k: Kernel, bar: MBarrier) -> None:
        with k.loop("i", 0, 16) as i:
            bar.wait(i // 4 % 2, at=i % 4)

    lines = written(ring)
    (wait,) = (line for line in lines if line.startswith("mbarrier"))
    assert lines[lines.index(wait) - 1] == "$wait_3:"
    assert lines[lines.index(wait) + 1] == "@!%p1 bra $wait_3;"
    assert "and.b32 %r0, %i, 3;" in lines


def test_a_barrier_of_each_thread() -> None:
    assert "mbarrier.arrive.shared.b64 _, [%r3];" in written(lambda k, b: b.arrive(at=tx // 16))


def test_a_barrier_is_an_aligned_word_that_instructions_can_be_given() -> None:
    k = Kernel("words", block=32)
    bar = k.mbarrier("bar", 3)
    assert bar.tensor.storage.align == 8
    assert bar[2].extents == (1,)
    assert bar[2].bits == 64
    assert ".shared .align 8 .b8 bar[24];" in k.ptx()


@pytest.mark.parametrize(
    ("body", "version", "least"),
    [
        (lambda b: b.init(3), "7.0", 80),
        (lambda b: b.arrive(), "7.1", 80),
        (lambda b: b.arrive(2), "7.8", 90),
        (lambda b: b.wait(0), "7.8", 90),
        (lambda b: b.arrive_expect_tx(16), "8.0", 90),
    ],
)
def test_what_an_operation_needs(body: Callable[[MBarrier], None], version: str, least: int) -> None:
    k = Kernel("needs", block=32)
    body(k.mbarrier("bar"))
    target = f"sm_{least}"
    assert k.ptx(target).startswith(f".version {version}\n")
    assert k.assemble(target).image
    older = "sm_75" if least == 80 else "sm_80"
    with pytest.raises(
        EmissionError, match=f"mbarrier.* the target must be {target} or later, and it is {older}"
    ):
        k.ptx(older)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda b, n: b.init(0), "bar.init: count is 0, whose bounds are 0; .* from 1 to 1048575"),
        (lambda b, n: b.init(1 << 20), "from 1 to 1048575"),
        (lambda b, n: b.arrive(0), "bar.arrive: count is 0"),
        (lambda b, n: b.arrive_expect_tx(1 << 20), "bar.arrive_expect_tx: tx is 1048576, .* from 0 to 1048575"),
        (lambda b, n: b.arrive_expect_tx(-1), "tx is -1"),
        (lambda b, n: b.wait(2), "bar.wait: parity is 2, .* from 0 to 1"),
        (lambda b, n: b.wait(n), "parity is n, whose bounds are unknown"),
        (lambda b, n: b.wait(0, at=4), "bar.wait: at is 4, whose bounds are 4; .* from 0 to 3"),
        (lambda b, n: b.wait(0, at=-1), "at is -1"),
        (lambda b, n: b.wait(0, at=tx // 8), r"at is tx // 8, whose bounds are 0 to 7; .* from 0 to 3"),
    ],
)  # fmt: skip
def test_what_is_not_sure_to_be_in_range_is_refused(body: Callable[..., None], words: str) -> None:
    k = Kernel("range", block=64)
    bar, n = k.mbarrier("bar", 4), k.scalar("n")
    with pytest.raises(CallError, match=words):
        body(bar, n)
    assert "mbarrier" not in k.ptx()


def test_a_symbol_from_elsewhere_is_refused() -> None:
    k = Kernel("foreign", block=64)
    other = Kernel("other").scalar("m", 0, 1)
    with pytest.raises(CallError, match="m has no value here"):
        k.mbarrier("bar").wait(other)
    with pytest.raises(CallError, match="static shared memory to 49160 bytes"):
        k.mbarrier("many", 6144)
