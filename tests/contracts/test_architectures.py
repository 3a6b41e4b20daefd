from __future__ import annotations

import pytest

from tileproof.contracts.architectures import ARCHITECTURES, Architecture, Targets, architecture
from tileproof.errors import CallError


def test_a_target_is_read_from_its_name() -> None:
    assert architecture("sm_103f") == Architecture("sm_103f", 103, "f", 100, (8, 8))
    assert architecture("sm_90").ptx_version == (7, 8)
    assert architecture("sm_90a").ptx_version == (8, 0)


@pytest.mark.parametrize("name", ["sm_95", "sm_90f", "90a", "SM_90", "compute_90", "sm_101a", "", None, 90])
def test_other_names_are_refused(name: object) -> None:
    with pytest.raises(CallError, match=r"is not a GPU target.*Known targets: sm_70, "):
        architecture(name)  # type: ignore[arg-type]


# What each part of a set includes, and the nearest target that it does not.
@pytest.mark.parametrize(
    ("targets", "included", "excluded"),
    [
        (Targets(90), {"sm_90", "sm_90a", "sm_100", "sm_121f"}, {"sm_89"}),
        (
            Targets(families=(100,)),
            {"sm_100a", "sm_100f", "sm_103f", "sm_107a"},
            {"sm_100", "sm_103", "sm_110a"},
        ),
        (Targets(families=(103,)), {"sm_103a", "sm_103f", "sm_107f"}, {"sm_100a", "sm_100f", "sm_103"}),
        (Targets(families=(120,)), {"sm_120a", "sm_121a", "sm_121f"}, {"sm_121", "sm_110f"}),
        (Targets(exact=("sm_90a",)), {"sm_90a"}, {"sm_90", "sm_100a"}),
        (Targets(110, exact=("sm_90a",)), {"sm_90a", "sm_110", "sm_120"}, {"sm_90", "sm_107a"}),
        (Targets(), set(), set(ARCHITECTURES)),
    ],
)
def test_targets(targets: Targets, included: set[str], excluded: set[str]) -> None:
    inside = {name for name, arch in ARCHITECTURES.items() if targets.include(arch)}
    assert included <= inside
    assert not excluded & inside


def test_targets_are_described() -> None:
    assert str(Targets(90)) == "sm_90 or later"
    assert str(Targets(families=(100, 120), exact=("sm_90a",))) == (
        "sm_90a or an 'a' or 'f' target of the family of sm_100, sm_120"
    )
