"""ldmatrix, stmatrix, movmatrix against the element formulas of ISA 9.7.14.5.15 to .17, lane by lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.simulate.kernels import Array, run
from tileproof.simulate import SimulationError

TWO = ".param .u64 in, .param .u64 out"
TILE = """
    .shared .align 16 .b8 tile[512];
    ld.param.u64 %rd0, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd2, %r0, 16;
    add.u64 %rd0, %rd0, %rd2;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r20, tile;
    mad.lo.u32 %r21, %r0, 16, %r20;
"""
FILL = (
    TILE
    + """
    ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd0];
    st.shared.v4.b32 [%r21], {%r1, %r2, %r3, %r4};
    mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
    bar.sync 0;
"""
)
"""Row l of the tile, 16 bytes at %r21, is what lane l brought; %r10 to %r13 take the result."""
KEEP = "\n    st.global.v4.b32 [%rd1], {%r10, %r11, %r12, %r13};\n"


def load(instruction: str, rows: Array, address: str = "") -> Array:
    """Runs an ldmatrix over 32 rows of 16 bytes; returns each lane's four registers as bytes (32, 4, 4)."""
    out = np.zeros((32, 16), np.uint8)
    run(FILL + address + instruction + KEEP, [rows.copy(), out], parameters=TWO, target="sm_100a")
    return out.reshape(32, 4, 4)


def registers(count: int) -> str:
    return "{" + ", ".join(f"%r{10 + index}" for index in range(count)) + "}"


@pytest.fixture
def rows() -> Array:
    return np.random.default_rng(3).integers(0, 256, (32, 16), np.uint8)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("space", [".shared", ".shared::cta"])
def test_ldmatrix_m8n8(rows: Array, count: int, space: str) -> None:
    found = load(f"ldmatrix.sync.aligned.m8n8.x{count}{space}.b16 {registers(count)}, [%r21];", rows).view(
        np.uint16
    )
    halves = rows.view(np.uint16)
    for lane in range(32):
        for i in range(count):
            for h in range(2):
                assert found[lane, i, h] == halves[8 * i + lane // 4, 2 * (lane % 4) + h]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_m8n8_transposed(rows: Array, count: int) -> None:
    found = load(
        f"ldmatrix.sync.aligned.m8n8.x{count}.trans.shared.b16 {registers(count)}, [%r21];", rows
    ).view(np.uint16)
    halves = rows.view(np.uint16)
    for lane in range(32):
        for i in range(count):
            for h in range(2):
                assert found[lane, i, h] == halves[8 * i + 2 * (lane % 4) + h, lane // 4]


def test_ldmatrix_takes_each_row_from_the_address_of_its_lane(rows: Array) -> None:
    found = load(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r22];",
        rows,
        "xor.b32 %r22, %r0, 5; mad.lo.u32 %r22, %r22, 16, %r20;\n",
    ).view(np.uint16)
    halves = rows[np.arange(32) ^ 5].view(np.uint16)
    expected = halves.reshape(4, 8, 8)
    for lane in range(32):
        for i in range(4):
            assert (
                found[lane, i].tolist()
                == expected[i, lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2].tolist()
            )


def test_ldmatrix_by_generic_address(rows: Array) -> None:
    address = "cvt.u64.u32 %rd5, %r21; cvta.shared.u64 %rd5, %rd5;\n"
    generic = load("ldmatrix.sync.aligned.m8n8.x4.b16 {%r10, %r11, %r12, %r13}, [%rd5];", rows, address)
    shared = load("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r21];", rows)
    assert (generic == shared).all()


def unpack(row: Array, width: int) -> list[int]:
    """16 values of `width` bits from the bits of a row, lowest first."""
    number = int.from_bytes(row.tobytes(), "little")
    return [number >> width * place & (1 << width) - 1 for place in range(16)]


WIDE: list[tuple[str, int, Callable[[Array, int], list[int]]]] = [
    ("b8", 8, unpack),
    ("b8x16.b6x16_p32", 6, unpack),
    ("b8x16.b4x16_p64", 4, unpack),
]


@pytest.mark.parametrize(("word", "width", "read"), WIDE[1:], ids=[row[0] for row in WIDE[1:]])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_m8n16(
    rows: Array, count: int, word: str, width: int, read: Callable[[Array, int], list[int]]
) -> None:
    found = load(f"ldmatrix.sync.aligned.m8n16.x{count}.shared.{word} {registers(count)}, [%r21];", rows)
    values = [read(row, width) for row in rows]
    for lane in range(32):
        for i in range(count):
            for b in range(4):
                assert found[lane, i, b] == values[8 * i + lane // 4][4 * (lane % 4) + b]


@pytest.mark.parametrize(("word", "width", "read"), WIDE, ids=[row[0] for row in WIDE])
@pytest.mark.parametrize("count", [1, 2])
def test_ldmatrix_m16n16(
    rows: Array, count: int, word: str, width: int, read: Callable[[Array, int], list[int]]
) -> None:
    found = load(
        f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{word} {registers(2 * count)}, [%r21];", rows
    )
    values = [read(row, width) for row in rows]
    for lane in range(32):
        for i in range(count):
            for r in range(2):
                for b in range(4):
                    assert found[lane, 2 * i + r, b] == values[16 * i + 4 * (lane % 4) + b][lane // 4 + 8 * r]


def store(instruction: str, fragments: Array) -> Array:
    """Runs an stmatrix of %r1 to %r4; returns the tile, 32 rows of 16 bytes, zero where not stored."""
    out = np.zeros((32, 16), np.uint8)
    body = (
        TILE
        + f"""
    ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd0];
    mov.b32 %r5, 0;
    st.shared.v4.b32 [%r21], {{%r5, %r5, %r5, %r5}};
    bar.sync 0;
    {instruction}
    bar.sync 0;
    ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r21];
"""
        + KEEP
    )
    run(body, [fragments.copy(), out], parameters=TWO, target="sm_100a")
    return out


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_stmatrix_m8n8(rows: Array, count: int, transposed: bool) -> None:
    sources = "{" + ", ".join(f"%r{1 + index}" for index in range(count)) + "}"
    word = ".trans" if transposed else ""
    found = store(f"stmatrix.sync.aligned.m8n8.x{count}{word}.shared.b16 [%r21], {sources};", rows).view(
        np.uint16
    )
    expected = np.zeros((32, 8), np.uint16)
    for lane in range(32):
        for i in range(count):
            for h in range(2):
                row, column = lane // 4, 2 * (lane % 4) + h
                if transposed:
                    row, column = column, row
                expected[8 * i + row, column] = rows.view(np.uint16).reshape(32, 4, 2)[lane, i, h]
    assert (found == expected).all()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix_m16n8(rows: Array, count: int) -> None:
    sources = "{" + ", ".join(f"%r{1 + index}" for index in range(count)) + "}"
    found = store(f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%r21], {sources};", rows)
    expected = np.zeros((32, 16), np.uint8)
    for lane in range(32):
        for i in range(count):
            for b in range(4):
                m, n = lane // 4 + 8 * (b // 2), 2 * (lane % 4) + b % 2
                expected[8 * i + n, m] = rows.reshape(32, 4, 4)[lane, i, b]
    assert (found == expected).all()


def test_movmatrix_transposes(rows: Array) -> None:
    found = load("movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r1;", rows).view(np.uint16)
    first = rows.view(np.uint16).reshape(32, 4, 2)[:, 0]
    matrix = first.reshape(8, 8)
    for lane in range(32):
        for h in range(2):
            assert found[lane, 0, h] == matrix[2 * (lane % 4) + h, lane // 4]


def test_the_warps_of_a_block_load_their_own_rows() -> None:
    data = np.arange(64 * 8, dtype=np.uint16).reshape(64, 8)
    out = np.zeros((64, 4), np.uint32)
    body = (
        FILL.replace("tile[512]", "tile[1024]")
        + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r21];"
        + KEEP
    )
    run(body, [data, out], parameters=TWO, block=64)
    assert (out.view(np.uint16).reshape(2, 32, 4, 2)[1, 5, 3] == data[32 + 24 + 1, 2:4]).all()


FAULTS = [
    (
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r21+8];",
        r"lane 0 .*misaligned shared address 0x8, byte 8 of 'tile'.*multiple of 16",
    ),
    (
        "add.u32 %r21, %r21, 128; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r21];",
        r"lane 24 .*past the end of 'tile'",
    ),
    (
        "@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r21];",
        r"only lanes 0-3 execute it; lanes 4-31 have a false predicate",
    ),
    (
        "@%p1 bra skip; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r21]; skip:",
        r"only lanes 4-31 execute it; lanes 0-3 are at line \d+",
    ),
    ("@%p1 exit; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r21];", r"lanes 0-3 have exited"),
    ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r21+4], {%r1, %r2};", "misaligned shared address 0x4"),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10}, [%r21];", "takes 2 registers in braces"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r10, [%r21];", "takes 1 registers in braces"),
    ("ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r10, %r11}, [%r21];", "m16n16 has to be .trans"),
    ("ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8x16.b4x16_p64 {%r10}, [%r21];", "m8n16 cannot be .trans"),
    ("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r10}, [%r21];", "m16n16 has no .x4"),
    ("ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%r10}, [%r21];", "this type does not go with the shape"),
    (
        "ldmatrix.sync.aligned.m8n8.x1.shared::cluster.b16 {%r10}, [%r21];",
        "does not know ldmatrix with .shared::cluster",
    ),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r21], {%r30};", "reads %r30, which is undefined"),
]


@pytest.mark.parametrize(("instruction", "message"), FAULTS)
def test_undefined_behaviour_is_an_error(rows: Array, instruction: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        load(instruction, rows, "setp.lt.u32 %p1, %r0, 4;\n")


def test_a_partial_warp_cannot_execute_an_aligned_instruction() -> None:
    body = FILL + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r21];"
    with pytest.raises(
        SimulationError, match=r"warp 1, lane 0 .*only lanes 0-15 execute it; lanes 16-31 do not exist"
    ):
        run(
            body.replace("tile[512]", "tile[1024]"),
            [np.zeros((48, 16), np.uint8)] * 2,
            parameters=TWO,
            block=48,
        )


UNUSED = """
    setp.lt.u32 %p1, %r0, {count};
    @%p1 mov.u32 %r22, %r21;
    ldmatrix.sync.aligned.m8n8.x{n}.shared.b16 {registers}, [%r22];
"""


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lanes_that_provide_no_row_need_no_address(rows: Array, count: int) -> None:
    text = UNUSED.format(count=8 * count, n=count, registers=registers(count))
    load(text, rows)
    with pytest.raises(SimulationError, match=f"lane {8 * count - 1} .*reads %r22"):
        load(text.replace(f"%r0, {8 * count};", f"%r0, {8 * count - 1};"), rows)


def test_up_to_sm_75_every_lane_needs_a_valid_address(rows: Array) -> None:
    out = np.zeros((32, 16), np.uint8)
    text = FILL + "ADDRESS ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r22];"
    duplicated = "and.b32 %r22, %r0, 7; mad.lo.u32 %r22, %r22, 16, %r20;"
    beyond = "mad.lo.u32 %r22, %r0, 32, %r20;"
    for target in ("sm_75", "sm_80"):
        run(text.replace("ADDRESS", duplicated), [rows.copy(), out], parameters=TWO, target=target)
    run(text.replace("ADDRESS", beyond), [rows.copy(), out], parameters=TWO, target="sm_80")
    with pytest.raises(SimulationError, match=r"lane 16 .*past the end of 'tile'"):
        run(text.replace("ADDRESS", beyond), [rows.copy(), out], parameters=TWO, target="sm_75")


def test_a_fragment_of_memory_that_nobody_wrote_is_undefined(rows: Array) -> None:
    body = (
        TILE
        + """
    setp.ge.u32 %p1, %r0, 8;
    @%p1 st.shared.v4.b32 [%r21], {%r0, %r0, %r0, %r0};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r21];
    add.u32 %r11, %r11, 0;
    add.u32 %r10, %r10, 0;
"""
    )
    with pytest.raises(SimulationError, match=r"add.u32 %r10, .*reads %r10, which is undefined"):
        run(body, [rows, rows.copy()], parameters=TWO)
