"""Proved views run on the simulator, and what comes out is what brute force says; whatever is tampered with shows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tileproof as tp
import tileproof.fuzz.execute.expected
from tileproof.emit.assemble import assemble
from tileproof.errors import TileproofError
from tileproof.fuzz.build import checked
from tileproof.fuzz.execute.batch import module_text
from tileproof.fuzz.execute.entry import Entry, Expected, Trapped
from tileproof.fuzz.execute.expected import difference, expected
from tileproof.fuzz.execute.harness import Fragment, entry
from tileproof.fuzz.execute.look import look, look_at
from tileproof.fuzz.execute.moves import executable
from tileproof.fuzz.execute.points import UnexecutedError
from tileproof.fuzz.execute.runner import SimulateRunner
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.execute.tags import POISON
from tileproof.fuzz.families import generate, pages
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.description import Access, Backing, Call, Factor, Operand, Region, Symbol
from tileproof.fuzz.rows import Chunk, choices_of

VIEWS = 120
SIMULATED = Simulated()
REGISTERS = (*pages()["arithmetic"], *pages()["ewise"])
MEMORY = tuple(family for family in executable() if family not in REGISTERS)
UNKNOWN = "the simulator does not know"


@pytest.mark.parametrize("family", executable())
def test_seeded_views_leave_what_brute_force_says(family: str) -> None:
    ((chunk, rows),) = SimulateRunner().run([Chunk(family, 5, 0, VIEWS)])
    assert [row.number for row in rows] == list(chunk.numbers)
    faults = {row.number: row.faults for row in rows if row.faults}
    assert not faults
    proved = [row.result for row in rows if row.verdict == "proved" and UNKNOWN not in row.result]
    seen = Counter(result.partition(":")[0] for result in proved)
    assert seen["agreed"] > 0.75 * seen.total(), seen
    assert all(
        row.executed == "emitted" and row.device == "simulate" for row in rows if row.result == "agreed"
    )


def prepared(call: Call) -> tuple[Fragment, Entry, Expected]:
    fragment = Fragment.of(checked(call))
    made, frame = entry("v", fragment, call)
    return fragment, made, expected(frame)


def run(made: Entry, wanted: Expected) -> str:
    (dump,) = SIMULATED.run([made])
    return f"trapped: {dump.reason}" if isinstance(dump, Trapped) else difference(dump, wanted)


@pytest.mark.parametrize("family", executable())
def test_the_code_in_the_kernel_is_the_emitted_code(family: str) -> None:
    call = generate(family, Choices.replayed([]))
    fragment, made, _ = prepared(call)
    assert tp.emit(checked(call)).endswith(f"\n{fragment.text}\n")
    assert fragment.text in made.text


def plain(family: str) -> Call:
    """A proved call of two instructions or more without guard, predicate, symbol or hazard."""
    return next(filter(is_plain, (generate(family, Choices.seeded(seed)) for seed in range(1000))))


def is_plain(call: Call) -> bool:
    if call.guard is not None or call.pred is not None or call.symbols:
        return False
    try:
        fragment, _, wanted = prepared(call)
    except (TileproofError, UnexecutedError):
        return False
    return len(instructions(fragment.text, call)) > 1 and bool(wanted.told.all())


def instructions(text: str, call: Call) -> list[str]:
    return [line for line in text.splitlines() if line.strip().startswith(f"{call.opcode} ")]


def displaced(text: str, call: Call) -> str:
    """The last address of the last instruction, 32 bytes further on."""
    line = instructions(text, call)[-1]
    at = line.rindex("]")
    return text.replace(
        line, f"{line[:at]}+32{line[at:]}" if "+" not in line[line.rindex("[") : at] else further(line)
    )


def further(line: str) -> str:
    start = line.rindex("+") + 1
    end = line.rindex("]")
    return f"{line[:start]}{int(line[start:end]) + 32}{line[end:]}"


def dropped(text: str, call: Call) -> str:
    return text.replace(instructions(text, call)[-1] + "\n", "")


def swapped(text: str, call: Call) -> str:
    """The first two instructions exchange their registers, or, without registers, their destinations."""
    first, second = instructions(text, call)[:2]
    operand = re.compile(r"%R\w*(?:, %R\w*)*|(?<= )\[[^]]*\](?=, \[)")
    one, other = operand.search(first), operand.search(second)
    assert one
    assert other
    assert one[0] != other[0]
    changed = first.replace(one[0], other[0], 1), second.replace(other[0], one[0], 1)
    return text.replace(first, "first").replace(second, changed[1]).replace("first", changed[0])


@pytest.mark.parametrize("tamper", [displaced, dropped, swapped])
@pytest.mark.parametrize("family", MEMORY)
def test_tampered_code_is_caught(family: str, tamper: object) -> None:
    call = plain(family)
    fragment, made, wanted = prepared(call)
    assert run(made, wanted) == ""
    changed = tamper(fragment.text, call)  # type: ignore[operator]
    assert changed != fragment.text
    found = run(replace(made, text=made.text.replace(fragment.text, changed)), wanted)
    assert "instead of" in found or found.startswith("trapped"), found


@pytest.mark.parametrize("family", MEMORY)
def test_every_expected_byte_is_held_against_the_dump(family: str) -> None:
    _, made, wanted = prepared(plain(family))
    written = np.flatnonzero(wanted.dump.reshape(-1) != POISON)
    assert written.size
    for byte in (written[0], written[-1], np.flatnonzero(wanted.dump.reshape(-1) == POISON)[0]):
        dump = wanted.dump.copy()
        dump.reshape(-1)[byte] ^= 1
        found = run(made, Expected(dump, wanted.told))
        assert found.startswith(f"byte {byte % made.dump_bytes} of CTA {byte // made.dump_bytes} is ")
        told = np.ones(dump.shape, bool)
        told.reshape(-1)[byte] = False
        assert run(made, Expected(dump, told)) == ""


@pytest.mark.parametrize("family", executable())
def test_entries_assemble_for_hopper(family: str) -> None:
    views = list(look_at(Chunk(family, 9, 0, 60), "sm_90a"))
    entries = [view.entry for view in views if view.entry is not None]
    assert len(entries) > 20
    cubin = assemble(module_text(entries, "sm_90a"), "sm_90a", assembler="ptxas", optimization=0)
    assert {kernel.name for kernel in cubin.kernels} == {made.name for made in entries}


# Words that a thread stores are told by their thread: one 32-bit store of each lane.
LANES = Access(
    "st", "thread", (40,), "global", 32, 1,
    Operand("R", "registers", 32, (1,), (Factor(1, 1),), region=(Region(0, 1),)),
    Operand("A", "global", 32, (40, 1), (Factor(40, 1), Factor(1, 1)), align=4, region=(Region("tx", None), Region(0, 1))),
)  # fmt: skip


def words(call: Call) -> list[list[int]]:
    """The expected words of the dump of each CTA, without poison."""
    _, made, wanted = prepared(call)
    assert run(made, wanted) == ""
    poison = int.from_bytes(bytes([POISON] * 4), "little")
    return [[int(w) for w in cta if w != poison] for cta in wanted.dump.view("u4")]


def test_the_words_of_a_store_are_tags_of_their_threads() -> None:
    # A thread's registers are filled 16 bytes apart, so register 0 of thread t has the tag of word 4*t.
    assert words(LANES) == [[(4 * t + 1) * 0x9E3779B1 % 2**32 for t in range(40)]]


def test_a_guard_and_a_predicate_leave_poison() -> None:
    assert len(words(replace(LANES, guard=("<", "lane", 5)))[0]) == 5 + 5
    assert len(words(replace(LANES, pred=("<", "tx", 7)))[0]) == 7


def test_a_cta_for_each_value_of_a_symbol() -> None:
    call = replace(
        LANES,
        memory=replace(LANES.memory, backing=Backing(400, "i")),
        symbols=(Symbol("i", 0, 300, 20),),
        assume=("<", "i", 100),
    )
    _, made, wanted = prepared(call)
    assert (made.grid, run(made, wanted)) == (5, "")
    first = [int(np.flatnonzero(cta != POISON)[0]) for cta in wanted.dump]
    assert [at - first[0] for at in first] == [0, 80, 160, 240, 320]


@pytest.mark.parametrize("uniform", ["warp", "thread"])
def test_symbols_that_vary_have_values_that_vary(uniform: str) -> None:
    call = replace(
        LANES, block=(256,), guard=("<", "i", 2), symbols=(Symbol("i", 0, 3, 1, uniform),),
        memory=replace(LANES.memory, shape=(256, 1), factors=(Factor(256, 1), Factor(1, 1))),
    )  # fmt: skip
    _, made, wanted = prepared(call)
    assert run(made, wanted) == ""
    counts = {int((cta.view("u4") != 0xA5A5A5A5).sum()) for cta in wanted.dump}
    assert len(counts) > 1
    assert all(count % 32 == 0 for count in counts) == (uniform == "warp")


def test_what_two_threads_store_to_one_place_is_left_open() -> None:
    call = replace(LANES, memory=replace(LANES.memory, factors=(Factor(40, 0), Factor(1, 1))))
    _, made, wanted = prepared(call)
    assert run(made, wanted) == ""
    assert int((~wanted.told).sum()) == 4


def test_zeros_and_data_that_meet_are_left_open() -> None:
    """Two warpgroups copy to one place; what the one fills with zeros the other reads."""
    view = look("cp.async", choices_of(1, 741))
    assert view.expected is not None
    assert view.undefined
    assert not view.expected.told.all()


def test_writing_to_the_tagged_memory_is_a_trap() -> None:
    _, made, wanted = prepared(LANES)
    text = made.text.replace("bar.sync 0;", "").replace("ret;", "st.global.b32 [$ocean], $t;\nret;")
    assert "read only" in run(replace(made, text=text), wanted)


# Only `values`, the arithmetic of register instructions, asks the simulator.
LIBRARY_FREE = ("points", "moves", "frame", "expected", "entry", "tags", "near", "masks", "scalars")
EXPECTING = [
    p
    for p in sorted(Path(tileproof.fuzz.execute.expected.__file__).parent.rglob("*.py"))
    if p.parent.name == "family" or p.stem in LIBRARY_FREE
]


@pytest.mark.parametrize("path", EXPECTING, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_what_is_expected_imports_nothing_of_the_library(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {
        name for name in imported if name.startswith("tileproof") and not name.startswith("tileproof.fuzz.")
    } == set()
    assert imported.isdisjoint(
        {"tileproof.fuzz.build", "tileproof.fuzz.agreement", "tileproof.fuzz.execute.harness"}
    )


def test_a_view_from_its_choices_is_the_view_of_its_number() -> None:
    runner = SimulateRunner()
    ((_, rows),) = runner.run([Chunk("ld", 2, 30, 4)])
    for row in rows:
        again = runner.again("ld", choices_of(2, row.number))
        assert replace(again, seed=2, number=row.number, milliseconds={}) == replace(row, milliseconds={})


@pytest.mark.parametrize("family", executable())
def test_legal_choices_are_proved_and_executed_more_often_than_not(family: str) -> None:
    views = list(look_at(Chunk(family, 5, 0, 40), "sm_90a", legal=True))
    assert not [v.row.faults for v in views if v.row.faults]
    assert sum(v.row.verdict == "proved" for v in views) >= 28
    assert not any("compare" in v.row.milliseconds for v in views)
