"""``check`` and ``prove``: malformed calls are refused at once, and everything else is an answer."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import PROVED, REFUTED, UNDECIDED, failing, memory, registers
from tests.proofs.test_discharge import HARD
from tileproof import laneid, tx
from tileproof.errors import AssumptionError, CallError, LayoutError, OpcodeError, TileproofError
from tileproof.proofs.check import check, prove
from tileproof.proofs.report import ContractError

LOAD = "ld.global.v4.b32"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x1.shared.b16"
R4, A4 = registers((4,)), memory((4,))


def twice(name: str) -> tuple[Any, Any]:
    return tp.symbol(name, 0, 3), tp.symbol(name, 0, 4)


N3, N4 = twice("n")

MALFORMED = [
    ("ld.global.v3.b32", (R4, A4), {}, OpcodeError, r"'\.v3' \(qualifier 2\) is not a qualifier of ld"),
    ("ldd.global.b32", (R4, A4), {}, OpcodeError, "there is no instruction 'ldd' in the table; did you mean 'ld'"),
    ("", (R4, A4), {}, OpcodeError, "is not an opcode"),
    ("vmad.u32", (R4, A4), {}, OpcodeError, "there is no instruction 'vmad'"),
    (LOAD, (), {}, CallError, "takes 2 operands in PTX order, got 0"),
    (LOAD, (R4,), {}, CallError, "takes 2 operands in PTX order, got 1"),
    (LOAD, (R4, A4, A4), {}, CallError, "takes 2 operands in PTX order, got 3"),
    (LOAD, (R4, 5), {}, CallError, "operand 1 must be a tensor or a view, got 5"),
    (LOAD, (None, A4), {}, CallError, "operand 0 must be a tensor or a view, got None"),
    (LOAD, ("R", "A"), {}, CallError, "operand 0 must be a tensor or a view, got 'R'"),
    (LOAD, (R4, A4), {"mask": 3}, CallError, "has no parameter mask; its parameters are cache_policy, index_bits, pred"),
    (LOAD, (R4, A4), {"a": 1, "b": 2}, CallError, "has no parameter a, b;"),
    (LDMATRIX, (R4, A4), {"pred": True}, CallError, "has no parameter pred; its parameters are index_bits"),
    (LOAD, (R4, A4), {"scope": "block"}, CallError, "unknown scope 'block'; the scopes are thread, warp, warpgroup, cta, cluster"),
    (LOAD, (R4, A4), {"scope": None}, CallError, "unknown scope None"),
    (LOAD, (R4, A4), {"block": 0}, CallError, "block must be one to three positive integers, got 0"),
    (LOAD, (R4, A4), {"block": 1025}, CallError, "block=1025 has 1025 members; at most 1024 are possible"),
    (LOAD, (R4, A4), {"block": (32, 32, 2)}, CallError, "has 2048 members; at most 1024"),
    (LOAD, (R4, A4), {"block": 2.0}, CallError, "block must be one to three positive integers, got 2.0"),
    (LOAD, (R4, A4), {"cluster": (4, 8)}, CallError, "has 32 members; at most 16"),
    (LOAD, (R4, A4), {"hazards": "yes"}, CallError, "hazards is 'warn', 'error' or 'ignore', got 'yes'"),
    (LOAD, (R4, A4), {"hazards": None}, CallError, "hazards is 'warn', 'error' or 'ignore', got None"),
    (LOAD, (R4, A4), {"budget": 0}, CallError, "budget is a positive number of Z3 resource units, got 0"),
    (LOAD, (R4, A4), {"budget": "1"}, CallError, "budget is a positive number of Z3 resource units, got '1'"),
    (LOAD, (R4, A4), {"active": "n < 3"}, LayoutError, "a relation such as n % 4 == 0 is needed, got 'n < 3'"),
    (LOAD, (R4, A4), {"assume": [N3 + 1]}, LayoutError, "a relation such as n % 4 == 0 is needed"),
    (LOAD, (R4, A4), {"pred": "tx == 0"}, LayoutError, "a relation such as n % 4 == 0 is needed"),
    (LOAD, (R4, A4), {"scope": "cluster"}, CallError, "cluster scope needs cluster="),
    (LDMATRIX, (registers((1, 8, 4)), memory((1, 8, 4), space="shared")), {}, CallError, "its scope is warp or wider, not thread"),
    (LOAD, (R4, A4), {"cache_policy": tp.symbol("p")}, CallError, r"cache_policy does not apply: the opcode has no \.L2::cache_hint"),
    ("ld.global.L2::cache_hint.v4.b32", (R4, A4), {}, CallError, "needs cache_policy="),
    (LOAD, (R4, A4), {"preserve_dst": True}, CallError, "preserve_dst needs pred"),
    ("st.global.v4.b32", (A4, R4), {"preserve_dst": True, "pred": True}, CallError, "preserve_dst does not apply"),
    (LOAD, (R4, A4), {"index_bits": 8}, CallError, "index_bits is 32 or 64, got 8"),
    (LOAD, (R4, memory((4,), name="R")), {}, CallError, "two different storages are named R; give each its own name"),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "operands", "keywords", "error", "message"), MALFORMED)
def test_malformed(
    opcode: str, operands: Any, keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    for ask in (check, prove):
        with pytest.raises(error, match=message) as caught:
            ask(opcode, *operands, **keywords)
        assert isinstance(caught.value, TileproofError)
        assert not isinstance(caught.value, ContractError)


FAR = memory((4096,))
TWO_MEANINGS = [
    ("start and start", (registers((16,))[N3 : N3 + 4], FAR[N4 : N4 + 4]), {}),
    ("start and guard", (R4, FAR[N3 : N3 + 4]), {"active": N4 < 3}),
    ("start and assumption", (R4, FAR[N3 : N3 + 4]), {"assume": N4 < 3}),
    ("start and size", (R4, tp.tensor("A", (N4 + 1, 4), "b32")[N3, :]), {}),
    ("start and stride", (R4, memory((8, 4), (N4, 1))[N3, :]), {}),
    ("start and offset of a layout", (R4, memory((8, 4), (4, 1), N4)[N3, :]), {}),
    (
        "start and place of a declaration",
        (R4, tp.tensor("A", (64,), "b32").declare((8, 4), at=N4, name="D")[N3, :]),
        {},
    ),
    ("start and predicate", (R4, FAR[N3 : N3 + 4]), {"pred": N4 < 3}),
    ("guard and assumption", (R4, A4), {"active": N3 < 3, "assume": N4 < 3}),
    ("bounds", (R4, FAR[N3 : N3 + 4]), {"active": tp.symbol("n", 0, 3, multiple_of=3) < 2}),
    ("uniformity", (R4, FAR[N3 : N3 + 4]), {"active": tp.symbol("n", 0, 3, uniform="warp") < 2}),
]


@pytest.mark.parametrize(("name", "operands", "keywords"), TWO_MEANINGS, ids=[t[0] for t in TWO_MEANINGS])
def test_a_symbol_declared_twice(name: str, operands: Any, keywords: dict[str, Any]) -> None:
    with pytest.raises(
        CallError, match=r"the symbol n is declared twice, as .*; declare it once and use that object"
    ):
        check(LOAD, *operands, **keywords)


def test_the_same_symbol_or_storage_again_is_no_second_one() -> None:
    again = tp.symbol("n", 0, 3)
    assert check(LOAD, R4, FAR[4 * N3 : 4 * N3 + 4], active=again < 3).verdict is PROVED
    raw = tp.tensor("A", (64,), "b32", "registers")
    pair = registers((4,)), memory((4,))
    assert check(LOAD, *pair).verdict is PROVED
    both = raw.declare((4,), at=0, name="X"), raw.declare((4,), at=8, name="Y")
    assert failing(check(LOAD, *both)) == {"space"}


# Answers


def test_bad_views_are_answers() -> None:
    report = check(LOAD, registers((3,)), A4)
    assert report.verdict is REFUTED
    assert failing(report) == {"shape"}


def test_contradictory_assumptions() -> None:
    i, j = tp.symbol("i", 0, 9), tp.symbol("j", 0, 9)
    for keywords in (
        {"active": i > 9},
        {"active": laneid > 31},
        {"active": tx >= 32},
        {"active": i < j, "assume": j < i},
        {"assume": [i % 4 == 1, i % 2 == 0]},
        {"active": False},
    ):
        with pytest.raises(AssumptionError, match="contradict each other"):
            check(LOAD, R4, A4, **keywords)
    assert check(LOAD, R4, A4, active=tx >= 32, block=33).verdict is PROVED


def test_unfit_operands_are_told_before_assumptions_are_looked_at() -> None:
    assert failing(check(LOAD, registers((3,)), A4, active=tx >= 32)) == {"shape"}


def test_undecidable_assumptions() -> None:
    report = check(LOAD, R4, A4, assume=~HARD, budget=60_000)
    assert report.verdict is UNDECIDED
    assert report.findings == ()
    assert report.reason.startswith(
        "it could not be decided whether the assumptions and guards can hold together"
    )
    assert report.reason in str(report)


def test_a_spent_budget_is_undecided() -> None:
    u = tp.symbol("u", 0)
    start = (u * u + u) * 2 + (u ^ 1)
    report = check(LOAD, R4, memory((1 << 62,))[start : start + 4], active=u * u < 1 << 40, budget=1)
    assert report.verdict is not PROVED
    assert any(
        f.verdict is UNDECIDED and "budget of 1 Z3 resource units" in f.reason for f in report.findings
    )


def test_refuted_outweighs_undecided() -> None:
    k, m, n = (tp.symbol(name, 1) for name in "kmn")
    # No cube is the sum of two, which no budget shows. Whether the base is aligned has nothing to do with it.
    start = 4 * tp.select(k * k * k + m * m * m == n * n * n, 1 << 40, 1)
    view = tp.tensor("A", (1 << 40,), "b32", align=4)[start : start + 4]
    report = check(LOAD, R4, view, budget=3000)
    verdicts = {f.obligation.id: f.verdict for f in report.findings}
    assert verdicts["ld.in-bounds"] is UNDECIDED
    assert verdicts["ld.aligned"] is REFUTED
    assert report.verdict is REFUTED


def test_hazards_stand_beside_the_verdict() -> None:
    pair = memory((4,)), registers((4,))
    warned = check("st.global.v4.b32", *pair)
    assert (warned.verdict, len(warned.hazards)) == (PROVED, 1)
    assert all(not f.obligation.hazard for f in warned.findings)
    strict = check("st.global.v4.b32", *pair, hazards="error")
    assert (strict.verdict, strict.hazards) == (REFUTED, ())
    assert failing(strict) == {"write-conflict"}
    silent = check("st.global.v4.b32", *pair, hazards="ignore")
    assert (silent.verdict, silent.hazards) == (PROVED, ())
    wrong = check("st.global.v4.b32", memory((4,), align=8), pair[1], block=1)
    assert (wrong.verdict, wrong.hazards) == (REFUTED, ())
    fine = check("st.global.v4.b32", *pair, block=1)
    assert (fine.verdict, fine.hazards) == (PROVED, ())


def test_sympy_relations_are_understood() -> None:
    import sympy

    n = tp.symbol("n", 0, 100)
    written = sympy.Eq(sympy.Mod(n.sympy, 4), 0)
    view = FAR[n : n + 4]
    assert check(LOAD, R4, view, active=written).verdict is PROVED
    assert check(LOAD, R4, view, assume=[written]).verdict is PROVED
    assert check(LOAD, R4, view, pred=written).verdict is PROVED
    assert failing(check(LOAD, R4, view)) == {"aligned"}


# Verdicts and errors


@pytest.mark.parametrize("verdict", list(tp.Verdict), ids=lambda v: v.name)
def test_a_verdict_is_no_truth_value(verdict: tp.Verdict) -> None:
    with pytest.raises(TypeError, match="a verdict is not a truth value: compare it"):
        bool(verdict)
    with pytest.raises(TypeError):
        assert not verdict


def test_prove_returns_a_proof() -> None:
    report = prove(LOAD, R4, A4)
    assert report.verdict is PROVED
    assert report.counterexample is None


@pytest.mark.parametrize(
    ("opcode", "operands", "keywords", "verdict"),
    [
        (LOAD, (R4, memory((4,), align=8)), {}, REFUTED),
        (LOAD, (registers((5,)), A4), {}, REFUTED),
        (LOAD, (R4, A4), {"assume": ~HARD, "budget": 60_000}, UNDECIDED),
        ("ld.v4.b32", (R4, A4), {}, tp.Verdict.UNSUPPORTED),
        ("st.global.v4.b32", (A4, R4), {"hazards": "error"}, REFUTED),
    ],
)
def test_prove_raises_the_report(
    opcode: str, operands: Any, keywords: dict[str, Any], verdict: tp.Verdict
) -> None:
    with pytest.raises(ContractError) as caught:
        prove(opcode, *operands, **keywords)
    report = caught.value.report
    assert report.verdict is verdict
    assert str(caught.value) == str(report)
    assert isinstance(caught.value, TileproofError)
    assert check(opcode, *operands, **keywords).verdict is verdict


def test_a_known_instruction_without_a_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileproof.proofs.check.load", dict)
    report = check(LOAD, R4)
    assert report.verdict is tp.Verdict.UNSUPPORTED
    assert report.reason == "ld is a known instruction without a contract"
    with pytest.raises(CallError, match="operand 0 must be a tensor or a view"):
        check(LOAD, 4)  # type: ignore[arg-type]
