"""Maps reconstructed from tagged runs are those that the ISA draws, and what is wrong in a file is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileproof.contracts.grammar import enumerate_spellings, resolve
from tileproof.errors import TileproofError
from tileproof.fuzz.execute.entry import Entry, Trapped
from tileproof.fuzz.execute.register_table import RegisterForm, register_forms
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.execute.table import TableForm, table_form, table_forms
from tileproof.fuzz.maps import HardwareMaps, MapsError, dumped, parsed, read, write
from tileproof.fuzz.reconstruct import (
    LANES,
    Movement,
    ReconstructionError,
    reconstruct,
    sizes,
    tagged_runs,
)
from tileproof.fuzz.record import record, record_maps

SIMULATOR = Simulated()


def ran(form: TableForm) -> Movement:
    runs = tagged_runs(form, 7)
    dumps: list[Any] = SIMULATOR.run([run.entry for run in runs])
    return reconstruct(runs, dumps)


SOME = [
    form
    for form in table_forms()
    if form.collective or "v" in form.opcode or form.bits in (8, 128) or form.kind == "copy"
]


@pytest.mark.parametrize("form", SOME[::3], ids=lambda form: form.label)
def test_maps_are_those_of_the_manual(form: TableForm, by_hand: HardwareMaps) -> None:
    found, wanted = ran(form), by_hand.movement[form.label]
    assert found.lane.tolist() == wanted.lane.tolist()
    assert found.offset.tolist() == wanted.offset.tolist()


@pytest.mark.parametrize("opcode", ["ldmatrix", "stmatrix"])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
def test_matrices(opcode: str, count: int, trans: str, by_hand: HardwareMaps) -> None:
    form = table_form(f"{opcode}.sync.aligned.m8n8.x{count}{trans}.shared.b16")
    test_maps_are_those_of_the_manual(form, by_hand)


def test_every_movement_of_the_instruction_table_has_a_form() -> None:
    """Of ld and st those with a state space, in plain bits; of the others all that sm_90a has."""
    wanted = set()
    for mnemonic in ("ld", "st"):
        for spelling in enumerate_spellings(mnemonic):
            form = resolve(spelling)
            plain = {"vec", "type", "space"}
            if {k for k, v in form.qualifiers.items() if v is not None} - plain or not form.supports(
                "sm_90a"
            ):
                continue
            space = form.get("space")
            if (form.get("type") or "")[0] == "b" and space and not space.startswith("param"):
                wanted.add(spelling)
    for mnemonic in ("ldmatrix", "stmatrix"):
        wanted |= {
            s for s in enumerate_spellings(mnemonic)
            if resolve(s).supports("sm_90a") and resolve(s).get("space") and resolve(s).get("type") == "b16"
        }  # fmt: skip
    assert wanted == {form.opcode for form in table_forms() if form.kind != "copy"}
    copies = {(f.opcode, f.chunk) for f in table_forms() if f.kind == "copy"}
    assert copies == {
        (f"cp.async.{operator}.{space}.global", size)
        for space in ("shared", "shared::cta")
        for operator, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16))
    }


def test_two_lanes_that_cannot_be_told_apart_are_no_map() -> None:
    form = table_form("ld.shared.b32")
    runs = tagged_runs(form, 7)
    dumps: list[Any] = [SIMULATOR.run([run.entry])[0].copy() for run in runs]  # type: ignore[union-attr]
    dumps[0][:, :4] ^= 1
    with pytest.raises(
        ReconstructionError, match=r"ld\.shared\.b32: register byte 0 has 0 origins that explain all 24"
    ):
        reconstruct(runs, dumps)


def test_a_stray_write_is_no_map() -> None:
    form = table_form("st.local.b32")
    runs = tagged_runs(form, 7)
    dump: Any = SIMULATOR.run([runs[0].entry])[0].copy()  # type: ignore[union-attr]
    free = int(np.flatnonzero(dump[0, : runs[0].memory_bytes] == 0xA5)[0])
    dump[0, free] = 1
    with pytest.raises(ReconstructionError, match="no lane's address points at"):
        reconstruct(runs, [dump])


SMALL = (
    "add.rn.f32 d, a, b",
    "cvt.rn.f16x2.f32 d, a, b",
    "mov.b64 {d0, d1, d2, d3}, a",
    "setp.lt.f32 d, a, b",
    "fma.rn.f16x2 d, a, b, c",
)


def some(labels: tuple[str, ...]) -> list[RegisterForm]:
    return [form for form in register_forms() if form.label in labels]


@pytest.fixture(scope="module")
def maps() -> HardwareMaps:
    moved = [table_form("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"), table_form("st.global.v2.b16")]
    return record_maps(
        SIMULATOR,
        driver="none",
        movement=[*moved, table_form("cp.async.ca.shared.global", 4, "size")],
        registers=some(SMALL),
    )


@pytest.mark.parametrize(
    ("label", "feeds"),
    [
        # 9.7.9.21: "for .f16x2 ... the converted input a is stored in the upper half of d and b in the lower half".
        ("cvt.rn.f16x2.f32 d, a, b", "d.0 < b; d.1 < a"),
        ("mov.b64 {d0, d1, d2, d3}, a", "d0 < a.0; d1 < a.1; d2 < a.2; d3 < a.3"),
        ("fma.rn.f16x2 d, a, b, c", "d.0 < a.0 b.0 c.0; d.1 < a.1 b.1 c.1"),
        ("add.rn.f32 d, a, b", "d < a b"),
        ("setp.lt.f32 d, a, b", "d < a b"),
    ],
)
def test_what_feeds_what(maps: HardwareMaps, label: str, feeds: str) -> None:
    assert maps.registers[label].feeds == feeds


def test_a_tie_is_rounded_to_even(maps: HardwareMaps) -> None:
    """The first tuples are 1 + 2**-24 and (1 + 2**-23) + 2**-24."""
    assert maps.registers["add.rn.f32 d, a, b"].results["d"][:2] == (0x3F800000, 0x3F800002)


def test_a_file_is_read_as_it_was_written(maps: HardwareMaps, tmp_path: Path) -> None:
    path = tmp_path / "one.maps.json"
    write(maps, path)
    again = read(path)
    assert dumped(again) == path.read_text() == dumped(maps)
    assert list(tmp_path.iterdir()) == [path]
    for label, one in maps.movement.items():
        assert (again.movement[label].lane == one.lane).all()
        assert (again.movement[label].offset == one.offset).all()


def test_a_file_has_a_line_for_each_register(maps: HardwareMaps, snapshot: Any) -> None:
    assert dumped(maps) == snapshot


def test_a_failed_write_leaves_the_file_as_it_was(
    maps: HardwareMaps, tmp_path: Path, monkeypatch: Any
) -> None:
    path = tmp_path / "one.maps.json"
    path.write_text("old")

    def full(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tileproof.fuzz.maps.dumped", full)
    with pytest.raises(OSError, match="No space"):
        write(maps, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_recordings_do_not_depend_on_the_run(maps: HardwareMaps) -> None:
    again = record_maps(
        SIMULATOR,
        driver="none",
        movement=[table_form(o) for o in list(maps.movement)[:2]],
        registers=some(SMALL),
    )
    text = dumped(maps)
    for line in dumped(again).splitlines():
        assert line.rstrip(",") in text


STMATRIX = "stmatrix.sync.aligned.m8n8.x1.shared.b16"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("device"), "device is None; needed is str"),
        (lambda c: c.update(format=9), "format 9; this tileproof reads format 1: record it again"),
        (lambda c: c["movement"].update({"ld.global.b33": {}}), "'ld.global.b33' is no form that this tileproof knows"),
        (lambda c: c["movement"].update({STMATRIX: {"r1": "own:0+4"}}), r"has the lines \['r1'\]; needed are r0"),
        (lambda c: c["movement"].update({STMATRIX: {"r0": ["own:0+4"]}}), "one text, or one for each of 32 lanes"),
        (lambda c: c["movement"].update({STMATRIX: {"r0": "own:0+5"}}), "lane 0: 'own:0\\+5' has 5 bytes; needed are 4"),
        (lambda c: c["movement"].update({STMATRIX: {"r0": "own:14+4"}}), "outside the 16 bytes that one of 32 lanes"),
        (lambda c: c["movement"].update({STMATRIX: {"r0": "32:0+4"}}), "outside the 16 bytes that one of 32 lanes"),
        (lambda c: c["movement"].update({STMATRIX: {"r0": "mine:0+4"}}), "pieces such as own:0\\+4"),
        (lambda c: c["registers"].update({"add.rn.f32 d, a, b": {"d": ""}}), "needs the texts feeds, d"),
        (lambda c: c["registers"].update({"add.rn.f32 d, a, b": {"feeds": "", "d": "1"}}), "40 numbers of 8 hexadecimal"),
    ],
)  # fmt: skip
def test_bad_files_are_told(maps: HardwareMaps, change: Any, message: str) -> None:
    content = json.loads(dumped(maps))
    change(content)
    with pytest.raises(MapsError, match=message):
        parsed(content, "x.json")


@pytest.mark.parametrize(
    ("text", "message"), [(None, "cannot be read"), ("{", "not JSON"), ("[]", "needed is an object")]
)
def test_unreadable_files_are_told(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(MapsError, match=message):
        read(path)


class Trapping:
    name = "Broken 1"

    def run(self, entries: list[Entry]) -> list[Trapped]:
        return [Trapped("CUDA_ERROR_LAUNCH_FAILED")] * len(entries)


def test_a_trap_ends_a_recording(tmp_path: Path) -> None:
    with pytest.raises(
        TileproofError, match="on Broken 1 trapped, so there is nothing to record: CUDA_ERROR"
    ):
        record(tmp_path / "new", Trapping(), driver="1")  # type: ignore[arg-type]
    assert not list(tmp_path.rglob("*.json"))


def test_sizes_and_lanes() -> None:
    assert LANES == 32
    assert sizes(table_form("cp.async.ca.shared.global", 4, "size")) == (0, 1, 2, 3, 4)
