"""From a TOML file to its tables. Every fault of the file is told at once, each with its place."""

from __future__ import annotations

import json
import re
import reprlib
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tileproof.spec.errors import SpecError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from tileproof.spec.model import SpecTable

Model = TypeVar("Model", bound="BaseModel")

LARGEST_FILE = 16 << 20
"""Bytes. A spec is written by hand; what is larger is something else."""

_CALL = re.compile(r"^[ \t]*\[\[[ \t]*calls[ \t]*\]\]", re.MULTILINE)
_MOST_FAULTS = 20


def read_text(path: Path) -> str:
    """The text of a file. Raises :class:`SpecError` for what cannot be read or is no text."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SpecError(f"{path}: cannot be read: {reason}") from error
    if len(content) > LARGEST_FILE:
        raise SpecError(f"{path}: larger than {LARGEST_FILE >> 20} MiB, which no spec is")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{path}: not text in UTF-8 (byte {error.start}, line {line})") from error


SYNTAXES = (".toml", ".json")
"""The suffixes of spec files. Both syntaxes say the same."""


def read_data(path: Path) -> tuple[dict[str, Any], list[int]]:
    """What a spec file says, unchecked, and the line of each call of a TOML file.

    Raises :class:`SpecError`, for a syntax error with line and column.
    """
    text = read_text(path)
    if path.suffix == ".json":
        return json_data(str(path), text), []
    try:
        data = tomllib.loads(text)
    except RecursionError as error:
        raise SpecError(f"{path}: lists or tables nest too deep") from error
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: {error}") from error
    except ValueError as error:
        raise SpecError(f"{path}: a number has too many digits, or a date does not exist: {error}") from error
    return data, [text.count("\n", 0, match.start()) + 1 for match in _CALL.finditer(text)]


def json_data(source: str, text: str) -> dict[str, Any]:
    """A JSON object. Raises :class:`SpecError`, for a syntax error with line and column."""
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise SpecError(f"{source}: {error.msg} (at line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise SpecError(f"{source}: lists or tables nest too deep") from error
    except ValueError as error:
        raise SpecError(f"{source}: {error}") from error
    if not isinstance(data, dict):
        raise SpecError(f"{source}: needs a table, got {reprlib.repr(data)}")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {reprlib.repr(key)} stands twice in one table")
        found[key] = value
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def describes_kernel(data: dict[str, Any]) -> bool:
    """Whether a spec describes a kernel in full, and not calls alone."""
    return "kernel" in data


def read_tables(path: Path) -> tuple[SpecTable, list[int]]:
    """The tables of a spec file, and the line of each call (empty where they are not told apart).

    Raises :class:`SpecError` naming every fault by its path in the file; a syntax error by line and column.
    """
    return spec_tables(path, *read_data(path))


def spec_tables(path: Path, data: dict[str, Any], lines: list[int]) -> tuple[SpecTable, list[int]]:
    """The tables of a spec. Raises :class:`SpecError` naming every fault by its path in the file."""
    from tileproof.spec.model import TABLES, SpecTable

    tables = validated(str(path), data, SpecTable, TABLES)
    return tables, lines if len(lines) == len(tables.calls) else []


def validated(source: str, data: Any, root: type[Model], tables: dict[str, type[BaseModel]]) -> Model:
    """The data as the model ``root``; ``tables`` are the models under each key, to tell known keys.

    Raises :class:`SpecError` naming every fault by its path in the data.
    """
    from pydantic import ValidationError

    try:
        return root.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
    except RecursionError as error:
        raise SpecError(f"{source}: lists or tables nest too deep") from error
    faults = [_fault(detail, {**tables, "": root}) for detail in details]
    shown = faults[:_MOST_FAULTS]
    if len(faults) > len(shown):
        shown.append(f"and {len(faults) - len(shown)} more")
    raise SpecError("\n".join(f"{source}: {fault}" for fault in shown))


def _fault(detail: ErrorDetails, tables: dict[str, type[BaseModel]]) -> str:
    location, kind = detail["loc"], detail["type"]
    place = place_text(location)
    if kind == "extra_forbidden":
        known = _keys(location[:-1], tables)
        near = get_close_matches(str(location[-1]), known, 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        return f"{place}: unknown key{hint} The keys are {', '.join(known)}"
    if kind == "missing":
        return f"{place}: is missing"
    if kind == "value_error":
        message = detail["msg"].removeprefix("Value error, ")
        return f"{place}: {message}" if place else message
    if kind == "literal_error":
        wanted = detail["msg"].replace("Input should be", "must be")
        return f"{place}: {wanted}, got {reprlib.repr(detail['input'])}"
    if kind == "too_short":
        return f"{place}: needs at least one entry"
    wanted = {"dict_type": "a table", "model_type": "a table", "list_type": "a list"}.get(kind, detail["msg"])
    return f"{place or 'the file'}: needs {wanted}, got {reprlib.repr(detail['input'])}"


def place_text(location: tuple[int | str, ...]) -> str:
    """A path in the file as it is usually written: ``calls[0].operands[1].layout``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if re.fullmatch(r"\w+", part) else repr(part)
            text += f".{name}" if text else name
    return text


def _keys(location: tuple[int | str, ...], tables: dict[str, type[BaseModel]]) -> list[str]:
    """The keys that the table at a place may have."""
    named = (
        location[0] in ("symbols", "tensors", "scalars", "block_index", "functions") if location else False
    )
    keys = [p for depth, p in enumerate(location) if isinstance(p, str) and not (named and depth == 1)]
    return list(tables[keys[-1] if keys else ""].model_fields)
