"""Random calls in the peer's language, which need not be installed for that, and what is made of its answers."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from tests.test_agreement import INTERLEAVED, STORE
from tileproof.errors import FuzzError
from tileproof.fuzz.backend.peer import result_of
from tileproof.fuzz.backends import backend_of
from tileproof.fuzz.families import generate
from tileproof.fuzz.oracle.description import Backing, Call, Factor, Region, Swizzle, Symbol
from tileproof.fuzz.peer.ask import Answer
from tileproof.fuzz.peer.describe import described
from tileproof.fuzz.peer.script import HEAD, script
from tileproof.fuzz.rows import choices_of


def memory(call: Call, **changes: object) -> Call:
    return replace(call, memory=replace(call.memory, **changes))  # type: ignore[arg-type]


def body(call: Call) -> str:
    entry = described(call)
    assert entry is not None
    return script(entry).removeprefix(HEAD)


def test_a_call_in_the_language_of_the_peer() -> None:
    call = replace(
        memory(INTERLEAVED, swizzle=Swizzle(2, 3, 3), align=1024),
        symbols=(Symbol("i", 1, 8, multiple_of=4),),
        assume=("<", "i", 8),
        guard=("all", ("<", "lane", 32), (">=", ("min", "warp", "i"), 0), ("not", ("==", "i", 7))),
        pred=("<", "tx", 32),
    )
    assert body(call).splitlines() == [
        ('L_R = TileLayout(S[(2, 2, 8, 4,) : ((8) @ T.Axis.get("m"), (2) @ T.Axis.get("m"), (4) @ T.Axis.get("laneid"), '
        '(1) @ T.Axis.get("laneid"),)])'),
        ('L_SM = ComposeLayout(3, 2, 3, TileLayout(S[(16, 4, 2,) : ((8) @ T.Axis.get("m"), (1) @ T.Axis.get("m"), '
        '(128) @ T.Axis.get("m"),)]))'),
        "@T.function",
        'def k(unused: T.Tensor((4,), "uint32")):',
        "    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=(32,)))",
        '    tid = T.cuda.thread_idx("x")',
        "    lane = T.cuda.lane_id()",
        "    warp = T.cuda.warp_id()",
        '    R = T.alloc_tensor(ty_args=[T.Tensor((2, 2, 8, 4,), "uint32", scope="local", layout=L_R)])',
        '    SM = T.alloc_shared((16, 4, 2,), "uint32", layout=L_SM, align=1024)',
        '    V_SM = SM.rearrange("(a b) c d -> d b a c", a=8, b=2)',
        "    for i in T.serial(4, 9, step=4):",
        "        T.evaluate(T.assume((i < 8)))",
        "        if T.And((lane < 32), T.And((T.min(warp, i) >= 0), T.Not((i == 7)))):",
        ('            T.cuda.tile.apply(T.ptx["ldmatrix.sync.aligned.m8n8.x2.shared.b16"], R, V_SM, pred=(tid < 32), '
        'scope="warp")'),
    ]  # fmt: skip


def test_a_region_is_cut_after_the_order_of_dimensions_is_changed() -> None:
    call = memory(
        STORE, order=(0, 2, 1, 3), region=(Region(0, 2), Region("i", 8), Region(0, 3), Region(0, 4)),
        backing=Backing(800, 16), offsets=((1, "m"), (2, "m")), replicas=(Factor(2, 768),),
    )  # fmt: skip
    text = body(replace(call, symbols=(Symbol("i", 0, 3),)))
    assert 'V_A = A.rearrange("a b c d -> a c b d")' in text
    assert "V_A[0 : 0 + 2, 0 : 0 + 3, i : i + 8, 0 : 0 + 4]" in text
    assert '+ R[(2,) : ((768) @ T.Axis.get("m"),)] + (3) @ T.Axis.get("m"))' in text
    assert "A_raw.ptr_to([16])" in text


INEXPRESSIBLE = {
    "a symbol of each thread": replace(STORE, symbols=(Symbol("i", 0, 3, uniform="thread"),)),
    "local memory": memory(STORE, space="local"),
    "words of 128 bits": memory(STORE, bits=128),
    "a read as another type": memory(STORE, read_as=16),
    "a size with a symbol in it": memory(STORE, shape=(2, 32, 3, "n")),
    "a stride with a symbol in it": memory(STORE, factors=(Factor(768, "n"),)),
    "every second element": memory(STORE, region=(Region(0, 2), Region(0, 16, 2), Region(0, 3), Region(0, 4))),
    "a dimension that is indexed": memory(STORE, region=(Region(0, None), Region(0, 32), Region(0, 3), Region(0, 4))),
    "a swizzle downwards": memory(STORE, swizzle=Swizzle(3, 3, -3)),
    "dimensions that are merged": memory(STORE, reshape=(64, 3, 4)),
    "a part of a dimension that is split": memory(
        STORE, region=(Region(0, 2), Region(0, 16), Region(0, 3), Region(0, 4)), reshape=(2, 4, 4, 3, 4)
    ),
    "a thread number without a name there": replace(STORE, guard=("<", "tid_in_wg", 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", INEXPRESSIBLE)
def test_what_the_peer_cannot_say(name: str) -> None:
    assert described(STORE) is not None
    assert described(INEXPRESSIBLE[name]) is None


@pytest.mark.parametrize("family", ["ld", "st", "ldmatrix", "stmatrix", "cp.async"])
def test_random_calls_become_one_kernel(family: str) -> None:
    entries = [described(generate(family, choices_of(1, n))) for n in range(150)]
    said = [entry for entry in entries if entry is not None]
    assert len(said) > 5
    for entry in said:
        ast.parse(script(entry))


@pytest.mark.parametrize(
    ("verdict", "answer", "result"),
    [
        ("proved", "accept", "agreed"),
        ("refuted", "reject", "agreed"),
        ("proved", "reject", "peer-refuses-legal"),
        ("proved", "later", "peer-refuses-legal"),
        ("refuted", "accept", "peer-accepts-illegal"),
        ("undecided", "accept", "peer-accepts"),
        ("unsupported", "reject", "peer-refuses"),
        ("proved", "timeout", "peer-timeout"),
        ("proved", "internal", "peer-internal: why"),
    ],
)
def test_an_answer_is_compared_with_the_verdict(verdict: str, answer: str, result: str) -> None:
    assert result_of(verdict, Answer(answer, message="why" if answer == "internal" else "")) == result


def test_the_peer_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileproof.fuzz.backend.peer.installed", lambda: None)
    with pytest.raises(
        FuzzError, match=r"backend peer cannot be used here: .* pip install 'tileproof\[peer\]'"
    ):
        backend_of("peer")
