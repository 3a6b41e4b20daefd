"""Hardware maps as files: what a GPU did with every form, to be read where there is none.

    maps = read(Path("tests/hardware/nvidia-h200.maps.json"))
    maps.movement["ldmatrix.sync.aligned.m8n8.x4.shared.b16"].lane      # (register, lane, byte) -> supplying lane
    maps.registers["add.rn.f32 d, a, b"].results["d"]                   # bits, for each tuple of patterns

A line of the file is a register. ``"own:0+4"`` says that its four bytes are those from byte 0 on of what the lane's
own address points at; where lanes differ there is one such text for each, with the number of the lane that supplies
the address; ``zero`` is nobody's. Of a copy a line is a value of its size operand, and the bytes are the chunk's.
Results of register forms are hexadecimal, one for each tuple of :func:`tileproof.fuzz.patterns.tuples`.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tileproof.errors import TileproofError
from tileproof.fuzz.execute.register_table import register_forms
from tileproof.fuzz.execute.table import TableForm, table_forms
from tileproof.fuzz.patterns import PATTERNS
from tileproof.fuzz.reconstruct import LANES, ZERO, Movement, sizes

FORMAT = 1

_PIECE = re.compile(r"(?:(own|\d+):(\d+)|zero)\+(\d+)")


class MapsError(TileproofError):
    """A file of maps that cannot be used; the text names the file, the form and what is wrong."""


@dataclass(frozen=True, eq=False)
class Registers:
    """What a form on registers computed: for each written register its bits, and its value for each tuple.

    ``feeds`` says which (half of a) register that is read changes which that is written.
    """

    bits: Mapping[str, int]
    results: Mapping[str, tuple[int, ...]]
    feeds: str


@dataclass(frozen=True, eq=False)
class HardwareMaps:
    """All maps of one device; forms by their labels."""

    device: str
    driver: str
    seed: int
    tileproof: str
    movement: Mapping[str, Movement]
    registers: Mapping[str, Registers]

    @property
    def slug(self) -> str:
        """The device's name as files have it."""
        return re.sub(r"[^a-z0-9]+", "-", self.device.lower()).strip("-")


def write(maps: HardwareMaps, path: Path) -> None:
    """Write a file that is complete or, whatever happens, as it was before."""
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(dumped(maps))
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def dumped(maps: HardwareMaps) -> str:
    """The text of a file: one line for each register of a form."""
    head: dict[str, Any] = {"format": FORMAT, "device": maps.device, "driver": maps.driver, "seed": maps.seed}
    head["tileproof"] = maps.tileproof
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    forms = {form.label: form for form in table_forms()}
    moved = [_block(label, _moved(forms[label], one)) for label, one in maps.movement.items()]
    computed = [_block(label, _computed(one)) for label, one in maps.registers.items()]
    for name, blocks in (("movement", moved), ("registers", computed)):
        lines.append(f'  "{name}": {{\n' + ",\n".join(blocks) + "\n  }" if blocks else f'  "{name}": {{}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _block(label: str, content: Mapping[str, Any]) -> str:
    own = ",\n".join(f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return f"    {json.dumps(label)}: {{\n{own}\n    }}"


def _computed(one: Registers) -> dict[str, str]:
    written = {
        name: " ".join(f"{value:0{max(1, one.bits[name] // 4)}x}" for value in values)
        for name, values in one.results.items()
    }
    return {"feeds": one.feeds, **written}


def _rows(form: TableForm) -> tuple[str, ...]:
    """The lines of a form: its registers, or the values of a copy's size operand."""
    if form.kind == "copy":
        return tuple(
            {"": "chunk", "size": f"src-size {n}", "ignore": f"ignore-src {n}"}[form.amount]
            for n in sizes(form)
        )
    return tuple(f"r{n}" for n in range(form.registers))


def _moved(form: TableForm, one: Movement) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row, name in enumerate(_rows(form)):
        lanes = [_text(one.lane[row, lane], one.offset[row, lane], lane) for lane in range(LANES)]
        plain = [_text(one.lane[row, lane], one.offset[row, lane], None) for lane in range(LANES)]
        found[name] = lanes[0] if len(set(lanes)) == 1 else plain
    return found


def _text(lanes: Any, offsets: Any, own: int | None) -> str:
    """The runs of a register's bytes; ``own`` is the lane that is called so."""
    pieces: list[tuple[int, int, int]] = []
    for lane, offset in zip(lanes.tolist(), offsets.tolist(), strict=True):
        if pieces:
            last, start, length = pieces[-1]
            if lane == last and (lane == ZERO or offset == start + length):
                pieces[-1] = last, start, length + 1
                continue
        pieces.append((lane, offset, 1))
    return " ".join(
        f"zero+{length}" if lane == ZERO else f"{'own' if lane == own else lane}:{start}+{length}"
        for lane, start, length in pieces
    )


def read(path: Path) -> HardwareMaps:
    """The maps of a file. Raises :class:`MapsError` for what is missing, torn or not a map of its form."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MapsError(
            f"{path}: cannot be read ({error.strerror}); `tileproof fuzz record` writes such files"
        ) from error
    except ValueError as error:
        raise MapsError(
            f"{path}: not JSON ({error}); record it again with `tileproof fuzz record`"
        ) from error
    return parsed(content, str(path))


def parsed(content: Any, where: str) -> HardwareMaps:
    """The maps in the content of a file; ``where`` names it in messages."""
    keys = {
        "format": int,
        "device": str,
        "driver": str,
        "seed": int,
        "tileproof": str,
        "movement": dict,
        "registers": dict,
    }
    if not isinstance(content, dict):
        raise MapsError(f"{where}: needed is an object with {', '.join(keys)}")
    for key, kind in keys.items():
        if not isinstance(content.get(key), kind):
            raise MapsError(f"{where}: {key} is {content.get(key)!r}; needed is {kind.__name__}")
    if content["format"] != FORMAT:
        raise MapsError(
            f"{where}: format {content['format']}; this tileproof reads format {FORMAT}: record it again"
        )
    forms = {form.label: form for form in table_forms()}
    movement = {
        label: _movement(_known(label, forms, where), body, where)
        for label, body in content["movement"].items()
    }
    others = {form.label: form for form in register_forms()}
    registers = {}
    for label, body in content["registers"].items():
        widths = {r.name: r.bits for r in _known(label, others, where).written}
        registers[label] = _results(label, widths, body, where)
    return HardwareMaps(
        content["device"], content["driver"], content["seed"], content["tileproof"], movement, registers
    )


def _known(label: str, forms: Mapping[str, Any], where: str) -> Any:
    if label not in forms:
        raise MapsError(f"{where}: {label!r} is no form that this tileproof knows; record it again")
    return forms[label]


def _movement(form: TableForm, body: Any, where: str) -> Movement:
    rows = _rows(form)
    if not isinstance(body, dict) or tuple(body) != rows:
        got = list(body) if isinstance(body, dict) else body
        raise MapsError(f"{where}: {form.label} has the lines {got}; needed are {', '.join(rows)}")
    width = form.bits // 8
    lane = np.empty((len(rows), LANES, width), np.int16)
    offset = np.empty_like(lane)
    for row, (name, given) in enumerate(body.items()):
        texts = [given] * LANES if isinstance(given, str) else given
        at = f"{where}: {form.label}, {name}"
        if not isinstance(texts, list) or len(texts) != LANES:
            raise MapsError(f"{at}: needed is one text, or one for each of {LANES} lanes")
        for own, text in enumerate(texts):
            lane[row, own], offset[row, own] = _pieces(text, own, width, form.access, f"{at}, lane {own}")
    return Movement(lane, offset)


def _pieces(text: Any, own: int, width: int, access: int, at: str) -> tuple[list[int], list[int]]:
    lanes: list[int] = []
    offsets: list[int] = []
    for piece in text.split(" ") if isinstance(text, str) else [""]:
        found = _PIECE.fullmatch(piece)
        if found is None:
            raise MapsError(f"{at}: {text!r}; needed are pieces such as own:0+4, 12:8+2 or zero+3")
        length = int(found[3])
        lane = ZERO if found[1] is None and found[2] is None else own if found[1] == "own" else int(found[1])
        start = 0 if lane == ZERO else int(found[2])
        if lane >= LANES or (lane != ZERO and start + length > access):
            raise MapsError(
                f"{at}: {piece!r} is outside the {access} bytes that one of {LANES} lanes points at"
            )
        lanes += [lane] * length
        offsets += [0] * length if lane == ZERO else list(range(start, start + length))
    if len(lanes) != width:
        raise MapsError(f"{at}: {text!r} has {len(lanes)} bytes; needed are {width}")
    return lanes, offsets


def _results(label: str, widths: Mapping[str, int], body: Any, where: str) -> Registers:
    if (
        not isinstance(body, dict)
        or set(body) != {"feeds", *widths}
        or not all(isinstance(v, str) for v in body.values())
    ):
        raise MapsError(f"{where}: {label} needs the texts feeds, {', '.join(widths)}")
    found = {}
    for name, bits in widths.items():
        numbers = body[name].split(" ")
        if len(numbers) != PATTERNS or not all(re.fullmatch(f"[0-9a-f]{{{bits // 4}}}", n) for n in numbers):
            raise MapsError(
                f"{where}: {label}, {name}: needed are {PATTERNS} numbers of {bits // 4} hexadecimal digits each"
            )
        found[name] = tuple(int(n, 16) for n in numbers)
    return Registers(dict(widths), found, body["feeds"])
