"""A new instruction family is one decorated function."""

from __future__ import annotations

import pytest

from tests.simulate.kernels import threads
from tileproof.errors import InternalError
from tileproof.simulate import SimulationError, registry
from tileproof.simulate.issue import Issue
from tileproof.simulate.registry import Decoder, Execute, find, instruction
from tileproof.simulate.scalars import U32

STORE = "\n    st.global.u32 [%rd2], %r1;\n"


def scale(code: Decoder) -> Execute:
    factor = {"twice": 2, "thrice": 3}[code.need("twice", "thrice")]
    code.scalar(U32)
    code.finish(operands=2)

    def execute(issue: Issue) -> None:
        issue.write(0, U32, issue.read(1, U32) * U32.dtype.type(factor))

    return execute


@pytest.fixture(autouse=True)
def own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TABLE", dict(registry._TABLE))


def test_a_registered_instruction_runs() -> None:
    instruction("scale")(scale)
    found = threads("scale.thrice.u32 %r1, %r0;" + STORE)
    assert found.tolist() == [3 * lane for lane in range(32)]


def test_what_the_decoder_does_not_consume_is_refused() -> None:
    instruction("scale")(scale)
    with pytest.raises(SimulationError, match=r"does not know scale with .quickly"):
        threads("scale.thrice.quickly.u32 %r1, %r0;")
    with pytest.raises(SimulationError, match=r"needs one of .twice, .thrice"):
        threads("scale.u32 %r1, %r0;")


def test_the_longest_registered_name_wins() -> None:
    instruction("scale")(scale)
    instruction("scale.deep.er", members=True)(scale)
    for opcode, name in [
        ("scale.twice.u32", "scale"),
        ("scale.deep.u32", "scale"),
        ("scale.deep.er.u32", "scale.deep.er"),
        ("bar.warp.sync", "bar.warp.sync"),
        ("bar.sync", "bar"),
        ("barrier.cluster.arrive.aligned", "barrier.cluster"),
    ]:
        entry = find(opcode)
        assert entry is not None
        assert entry.name == name
    assert find("rescale.twice.u32") is None


def test_a_name_is_registered_once() -> None:
    with pytest.raises(InternalError, match="'add' is registered twice"):
        instruction("add")(scale)
