"""The registry of contracts: what each family gives to the rest of the program."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import PROVED, memory, registers
from tileproof import S, TileLayout, laneid, warpid
from tileproof.contracts.call import Call
from tileproof.contracts.families import Family, contract, load
from tileproof.contracts.grammar import enumerate_spellings, resolve, table
from tileproof.contracts.issue import Memory, Registers, Scalar
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves

OWNERS = (4 @ laneid, 1 @ laneid)


def test_every_instruction_of_the_table_has_a_family() -> None:
    assert set(load()) == {i.mnemonic for i in table()}
    assert load() is load()


@pytest.mark.parametrize(
    ("mnemonics", "page", "collective", "parameters"),
    [
        (("ld", "st"), "ld_st", False, {"pred", "preserve_dst", "cache_policy", "index_bits"}),
        (("ldmatrix", "stmatrix"), "matrix", True, {"index_bits"}),
    ],
)
def test_family(mnemonics: tuple[str, ...], page: str, collective: bool, parameters: set[str]) -> None:
    family = load()[mnemonics[0]]
    assert all(load()[m] is family for m in mnemonics)
    assert (family.mnemonics, family.page, family.collective, family.operands) == (
        mnemonics,
        page,
        collective,
        2,
    )
    assert set(family.parameters) == parameters
    assert all(text and not text.endswith(".") for text in family.parameters.values())


def test_registering(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Family] = {}
    monkeypatch.setattr("tileproof.contracts.families._FAMILIES", known)

    def nothing(*_: Any) -> Any:
        return ()

    assert (
        contract("a", "b", sample=nothing, issue=nothing, operands=3, parameters={"p": "one"})(nothing)
        is nothing
    )
    assert set(known) == {"a", "b"}
    assert known["a"] is known["b"]
    assert known["a"].operands == 3
    assert not known["a"].collective
    assert set(known["a"].parameters) == {"p", "index_bits"}


SUPPORTED = [
    o
    for m in ("ldmatrix", "stmatrix")
    for o in enumerate_spellings(m)
    if ".m8n8." in o and ".shared" in o and o.endswith(".b16")
]


@pytest.mark.parametrize("opcode", SUPPORTED)
def test_samples_of_matrices_are_proved(opcode: str) -> None:
    operands = load()["ldmatrix"].sample(resolve(opcode))
    report = tp.check(opcode, *operands, scope="warp", hazards="error")
    assert report.verdict is PROVED
    assert report.call.repeat_extents == (2,)


SPELLINGS = [
    f"{m}.{space}{vector}.{type_}"
    for m, space, (vector, types) in product(
        ("ld", "st"),
        ("global", "shared", "shared::cta", "local"),
        [("", ("b8", "u16", "s32", "f64", "b128")), (".v2", ("b8", "b64")), (".v4", ("u8", "b16", "f32"))],
    )
    for type_ in types
    if not (type_ == "b128" and space == "local")
] + [
    "ld.global.v4.b64",
    "ld.global.v8.f32",
    "st.global.v8.b32",
    "ld.const.v4.b32",
    "ld.param.b64",
    "ld.shared::cluster.v2.b64",
]


@pytest.mark.parametrize("opcode", SPELLINGS)
def test_samples_of_accesses_are_proved(opcode: str) -> None:
    form = resolve(opcode)
    operands = load()[form.mnemonic].sample(form)
    report = tp.check(opcode, *operands, block=1, hazards="error")
    assert report.verdict is PROVED, str(report)
    assert report.call.repeat_extents == (2,)


# What is written after the opcode


def issued(opcode: str, *operands: Any, **keywords: Any) -> tuple[Call, tuple[Any, ...]]:
    report = tp.prove(opcode, *operands, **keywords)
    return report.call, load()[report.call.form.mnemonic].issue(report.call)


def at(
    call: Call, expression: Any, *, warp: int = 0, lane: int = 0, repeat: tuple[int, ...] = (), **symbols: int
) -> int:
    """The value that a thread sees in one repeat."""
    known = {"warp": warp, "lane": lane, **{f"repeat{d}": r for d, r in enumerate(repeat)}, **symbols}
    values: dict[Leaf, int] = {v: known[v.name] for v in leaves(expression)}
    return int(evaluate(expression, values))


@pytest.mark.parametrize("opcode", ["ld.global.v4.b32", "st.global.v4.b32"])
def test_issue_of_an_access(opcode: str) -> None:
    regs = registers((2, 32, 3, 4), (1 @ warpid, 1 @ laneid, 8, 2))
    array = tp.tensor("A", (2, 32, 3, 4), "b32")
    load_ = opcode.startswith("ld")
    call, operands = issued(opcode, *((regs, array) if load_ else (array, regs)), scope="cta", block=64)
    kinds = [type(o) for o in operands]
    assert kinds == ([Registers, Memory] if load_ else [Memory, Registers])
    group, access = operands if load_ else operands[::-1]
    assert group.view is call.operands[0 if load_ else 1]
    assert access.view.name == "A"
    for w, l, k in product(range(2), (0, 7, 31), range(3)):
        assert [at(call, o, repeat=(k,)) for o in group.offsets] == [4 * (8 * k + 2 * i) for i in range(4)]
        assert at(call, access.address.offset, warp=w, lane=l, repeat=(k,)) == 16 * ((w * 32 + l) * 3 + k)


def test_issue_of_a_cache_policy() -> None:
    policy = tp.symbol("policy")
    _, operands = issued(
        "ld.global.L2::cache_hint.v2.b64",
        registers((2,), bits=64),
        memory((2,), bits=64),
        cache_policy=policy,
    )
    *_, scalar = operands
    assert isinstance(scalar, Scalar)
    assert (scalar.value, scalar.bits) == (policy, 64)
    _, plain = issued("ld.global.v2.b64", registers((2,), bits=64), memory((2,), bits=64))
    assert len(plain) == 2


def test_issue_of_a_guarded_start() -> None:
    i = tp.symbol("i", 0, 7)
    call, (_, access) = issued(
        "ld.global.v4.b32", registers((2, 4)), memory((64,))[8 * i : 8 * i + 8].view(2, 4)
    )
    assert at(call, access.address.offset, repeat=(1,), i=3) == 4 * (24 + 4)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("mnemonic", ["ldmatrix", "stmatrix"])
def test_issue_of_matrices(mnemonic: str, count: int) -> None:
    """Lane ``8*matrix + row`` supplies the address of a row, and the lanes that are left repeat valid ones."""
    regs = registers((2, count, 8, 4), (8, 2, *OWNERS))
    layout = TileLayout(S[(2, count, 8, 4) : (400, 40, 4, 1)])
    rows = tp.tensor("SM", (2, count, 8, 4), "b32", "shared", layout=layout, align=16)
    load_ = mnemonic == "ldmatrix"
    opcode = f"{mnemonic}.sync.aligned.m8n8.x{count}.shared.b16"
    call, operands = issued(opcode, *((regs, rows) if load_ else (rows, regs)), scope="warp")
    group, access = operands if load_ else operands[::-1]
    assert isinstance(group, Registers)
    assert isinstance(access, Memory)
    assert len(group.offsets) == count
    for k, lane in product(range(2), range(32)):
        assert [at(call, o, lane=lane, repeat=(k,)) for o in group.offsets] == [
            4 * (8 * k + 2 * m) for m in range(count)
        ]
        found = at(call, access.address.offset, lane=lane, repeat=(k,))
        valid = [4 * (400 * k + 40 * m + 4 * r) for m in range(count) for r in range(8)]
        assert found == valid[lane] if lane < 8 * count else found in valid
