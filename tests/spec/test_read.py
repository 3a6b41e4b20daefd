"""Files that cannot be read, and tables that are not well formed: each fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileproof.spec.errors import SpecError
from tileproof.spec.read import LARGEST_FILE, place_text, read_tables

GOOD = """
[tensors.A]
shape = [4]
dtype = "float32"

# [[calls]] in a comment is no call
[[calls]]
opcode = "ld.global.b32"
operands = ["A", { tensor = "A", steps = [{ slice = ["0:1"] }] }]

  [[ calls ]]
opcode = "ld.global.b32"
operands = []
"""


def read(folder: Path, text: str | bytes) -> str:
    """The complaint about a file, without its name."""
    path = folder / "spec.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as caught:
        read_tables(path)
    return str(caught.value).replace(f"{path}: ", "")


def test_a_good_file_has_its_tables_and_lines(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(GOOD, encoding="utf-8")
    tables, lines = read_tables(path)
    assert lines == [7, 11]
    assert [o.tensor for o in tables.calls[0].operands] == ["A", "A"]
    assert tables.calls[0].scope == "thread"
    assert tables.calls[0].block == (32,)


def test_calls_written_inline_have_no_lines(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text("calls = [{ opcode = 'ld.global.b32', operands = [] }]", encoding="utf-8")
    assert read_tables(path)[1] == []


def test_a_byte_order_mark_is_no_fault(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(GOOD, encoding="utf-8-sig")
    assert len(read_tables(path)[0].calls) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.toml", "cannot be read: No such file"),
        ("", "cannot be read: Is a directory"),
        ("a\0b", "embedded null"),
    ],
)
def test_what_is_no_file(tmp_path, name, message):
    with pytest.raises(SpecError, match=message):
        read_tables(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = 1\n\xff\xfe", "not text in UTF-8 (byte 6, line 2)"),
        (b"\x7fELF\x02\x01\x01\x00\x80", "not text in UTF-8 (byte 8, line 1)"),
        ("[symbols.i\nlo = 0", "Expected ']' at the end of a table declaration (at line 1, column 11)"),
        ("a = 1\na = 2\n", "Cannot overwrite a value (at line 2, column 6)"),
        ("a = " + "[" * 3000, "lists or tables nest too deep"),
        ("a = " + "9" * 5000, "a number has too many digits"),
        ("a = 2026-02-31", "Invalid date or datetime (at line 1"),
        ("", "calls: is missing"),
        ("calls = []", "calls: needs at least one entry"),
        ("calls = 3", "calls: needs a list, got 3"),
        ("calls = [3]", "calls[0]: needs a table, got 3"),
    ],
)
def test_a_file_that_is_no_spec(tmp_path, content, message):
    assert message in read(tmp_path, content)


def test_a_file_of_absurd_size(tmp_path):
    assert read(tmp_path, b"#" * (LARGEST_FILE + 1)) == "larger than 16 MiB, which no spec is"


CALL = '[[calls]]\nopcode = "ld.global.b32"\noperands = []\n'
FAULTS = [
    (
        "symbols.i",
        "low = 1",
        "symbols.i.low: unknown key; did you mean lo? The keys are lo, hi, multiple_of, uniform",
    ),
    ("symbols.i", "lo = 1.5", "symbols.i.lo: needs an integer, got 1.5"),
    ("symbols.i", "hi = true", "symbols.i.hi: needs an integer, got True"),
    (
        "symbols.i",
        "hi = 18446744073709551617",
        "symbols.i.hi: is larger than 2**64 in magnitude: 18446744073709551617",
    ),
    ("symbols.i", "multiple_of = 0", "symbols.i.multiple_of: needs a positive integer, got 0"),
    (
        "symbols.i",
        "uniform = 'block'",
        "symbols.i.uniform: must be 'grid', 'cluster', 'cta', 'warp' or 'thread', got 'block'",
    ),
    ("symbols.steps", "foo = 0", "symbols.steps.foo: unknown key. The keys are lo, hi, multiple_of, uniform"),
    ("tensors.A", "dtype = 'b32'", "tensors.A.shape: is missing"),
    ("tensors.A", "shape = []\ndtype = 'b32'", "tensors.A.shape: needs at least one entry"),
    ("tensors.A", "shape = 4\ndtype = 'b32'", "tensors.A.shape: needs a list, got 4"),
    (
        "tensors.A",
        "shape = [4, 1.0]\ndtype = 'b32'",
        "tensors.A.shape[1]: needs an integer or an expression in text, got 1.0",
    ),
    ("tensors.A", "shape = [4]\ndtype = 32", "tensors.A.dtype: needs text, got 32"),
    ("tensors.A", "shape = [4]", "tensors.A: a tensor with storage of its own needs dtype"),
    ("tensors.A", "shape = [4]\ndtype = 'b32'\nat = 0", "tensors.A: at goes with over"),
    (
        "tensors.A",
        "shape = [4]\nover = 'B'\nalign = 16",
        "tensors.A: space and align follow from the storage of 'B'",
    ),
    (
        "tensors.A",
        "shape = [4]\nover = 'B'\nspace = 'shared'",
        "tensors.A: space and align follow from the storage",
    ),
    (
        "tensors.A",
        "shape = [4]\ndtype = 'b32'\nswizzle = { bits = 3 }",
        "tensors.A.swizzle: needs bits, base and shift",
    ),
    (
        "tensors.A",
        "shape = [4]\ndtype = 'b32'\nswizzle = { bits = 3, base = 4, shift = 65 }",
        "tensors.A.swizzle.shift: counts bits of an offset, so it is at most 64 in magnitude; got 65",
    ),
    (
        "tensors.A",
        """shape = [4]
dtype = 'b32'
swizzle = { per_element = 3, swizzle_len = 3, atom_len = 3, unit = 'byte' }""",
        "tensors.A.swizzle: needs bits, base and shift",
    ),
    ("tensors.'a b'", "shape = [4]\nsize = 1", "tensors.'a b'.size: unknown key"),
]


@pytest.mark.parametrize(("table", "lines", "message"), FAULTS)
def test_a_fault_of_a_symbol_or_tensor(tmp_path, table, lines, message):
    assert message in read(tmp_path, f"[{table}]\n{lines}\n{CALL}")


CALL_FAULTS = [
    ("opcode = 3\noperands = []", "calls[0].opcode: needs text, got 3"),
    ("operands = []", "calls[0].opcode: is missing"),
    ("opcode = 'x'", "calls[0].operands: is missing"),
    ("opcode = 'x'\noperands = {}", "calls[0].operands: needs a list, got {}"),
    ("opcode = 'x'\noperands = [[1]]", "calls[0].operands[0]: needs a table, got [1]"),
    ("opcode = 'x'\noperands = [{}]", "calls[0].operands[0]: an operand is a tensor or a scalar"),
    (
        "opcode = 'x'\noperands = []\nblock = [1, 2, 3, 4]",
        "calls[0].block: needs one to three positive integers",
    ),
    ("opcode = 'x'\noperands = []\nblock = 0", "calls[0].block: needs a positive integer, got 0"),
    ("opcode = 'x'\noperands = []\nactive = 3", "calls[0].active: needs text, got 3"),
    (
        "opcode = 'x'\noperands = []\nhazards = 'no'",
        "calls[0].hazards: must be 'warn', 'error' or 'ignore', got 'no'",
    ),
    (
        "opcode = 'x'\noperands = []\nexpect = 'yes'",
        "calls[0].expect: must be 'proved', 'refuted', 'undecided' or",
    ),
    (
        "opcode = 'x'\noperands = []\nparameters = { a = 1.5 }",
        "calls[0].parameters.a: needs an integer or an expression",
    ),
]

STEP_FAULTS = [
    (
        "{ slyce = [] }",
        "slyce: unknown key; did you mean slice? The keys are slice, sub, permute, rearrange, sizes,",
    ),
    ("{}", ": a step is one of slice, sub, permute, rearrange, view, broadcast; got none"),
    (
        "{ permute = [0], view = 'b8' }",
        ": a step is one of slice, sub, permute, rearrange, view, broadcast; got permute and",
    ),
    ("{ permute = [0], sizes = { a = 2 } }", ": sizes goes with rearrange"),
    ("{ rearrange = 'a -> a', sizes = { a = 0 } }", "sizes.a: needs a positive integer, got 0"),
    ("{ slice = [] }", "slice: needs at least one entry"),
    ("{ slice = [1.5] }", "slice[0]: needs an integer or an expression in text, got 1.5"),
    ("{ view = 3 }", "view: needs an element type in text or a list of sizes, got 3"),
    ("{ broadcast = [0] }", "broadcast[0]: needs a positive integer, got 0"),
    ("{ sub = { start = [0] } }", "sub.extent: is missing"),
    (
        "{ sub = { start = [0], extent = [1], stop = 1 } }",
        "sub.stop: unknown key. The keys are start, extent",
    ),
]


@pytest.mark.parametrize(("lines", "message"), CALL_FAULTS)
def test_a_fault_of_a_call(tmp_path, lines, message):
    assert message in read(tmp_path, f"[[calls]]\n{lines}\n")


@pytest.mark.parametrize(("step", "message"), STEP_FAULTS)
def test_a_fault_of_a_step(tmp_path, step, message):
    told = read(
        tmp_path, f"{CALL}[[calls]]\nopcode = 'x'\noperands = ['A', {{ tensor = 'A', steps = [{step}] }}]\n"
    )
    assert told.startswith(f"calls[1].operands[1].steps[0]{'' if message.startswith(':') else '.'}{message}")


def test_every_fault_is_told_at_once(tmp_path):
    faults = "".join(f"[symbols.s{n}]\nlo = 'x'\n" for n in range(30)) + CALL
    told = read(tmp_path, faults).split("\n")
    assert told[:2] == [
        "symbols.s0.lo: needs an integer, got 'x'",
        "symbols.s1.lo: needs an integer, got 'x'",
    ]
    assert len(told) == 21
    assert told[20] == "and 10 more"


def test_a_place_is_written_as_in_the_file():
    assert place_text(("calls", 0, "operands", 1, "layout")) == "calls[0].operands[1].layout"
    assert place_text(("tensors", "a b", "shape")) == "tensors.'a b'.shape"
