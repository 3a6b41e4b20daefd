"""What a random call shows of itself makes it again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tileproof.errors import LayoutError
from tileproof.fuzz.build import build
from tileproof.fuzz.families import generate, judge, pages
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.rows import choices_of
from tileproof.fuzz.snippet import snippet

ROOT = Path(__file__).parents[2]
CALLS = 25


def exists(call: Call) -> bool:
    try:
        build(call)
    except LayoutError:
        return False
    return True


@pytest.mark.parametrize("page", pages())
def test_a_snippet_has_the_same_report(page: str, tmp_path: Path) -> None:
    mnemonics = pages()[page]
    calls = [generate(mnemonics[n % len(mnemonics)], choices_of(5, n)) for n in range(CALLS)]
    possible = [call for call in calls if not judge(call).unreachable and exists(call)]
    assert len(possible) > CALLS // 2
    script = tmp_path / "snippets.py"
    shown = "print(repr(str(report)))"
    script.write_text("\n".join(f"{snippet(call)}\n{shown}\n" for call in possible))
    finished = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines() == [repr(str(build(call).report())) for call in possible]
