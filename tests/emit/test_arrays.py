"""Array arguments of other libraries: what is read of them, what is refused, that results reach their memory."""

from __future__ import annotations

import gc
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.emit.dlpack_tensors import OfNumPy, Tensor
from tileproof import Kernel, S, TileLayout, tx
from tileproof.emit import host
from tileproof.emit.arguments import pack
from tileproof.emit.arrays import described
from tileproof.errors import LaunchError


def copy_kernel(dtype: str = "float32", rows: int = 32) -> Kernel:
    k = Kernel("copy", block=32)
    a, b = k.parameter("A", (rows, 4), dtype), k.parameter("B", (rows, 4), dtype)
    words = k.registers("words", (4,), dtype)
    k.apply("ld.global.v4.b32", words, a[tx])
    k.apply("st.global.v4.b32", b[tx], words)
    return k


def cuda(**fields: Any) -> Any:
    interface = {"shape": (32, 4), "typestr": "<f4", "data": (0x7000_0000, False), "version": 3}
    return SimpleNamespace(__cuda_array_interface__={**interface, **fields})


def aligned() -> Any:
    """As :data:`F`, at a multiple of 256 bytes."""
    memory = np.zeros(512 + 256, np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start : start + 512].view(np.float32).reshape(32, 4)


F = np.zeros((32, 4), np.float32)


@pytest.mark.parametrize("wrap", [OfNumPy, Tensor, lambda a: Tensor(a, legacy=True)])
def test_a_simulation_works_in_the_memory_of_a_dlpack_tensor(wrap: Any) -> None:
    a, b = np.arange(128, dtype=np.float32).reshape(32, 4), np.zeros((32, 4), np.float32)
    copy_kernel().simulate(wrap(a), wrap(b))
    assert (b == a).all()


def test_a_tensor_without_a_numpy_type_is_worked_on_as_bits() -> None:
    k = Kernel("halves", block=32)
    a, b = k.parameter("A", (32, 2), "bfloat16"), k.parameter("B", (32, 2), "bfloat16")
    words = k.registers("words", (1,), "uint32")
    k.apply("ld.global.b32", words, a[tx].view("uint32"))
    k.apply("st.global.b32", b[tx].view("uint32"), words)
    x, y = np.arange(64, dtype=np.uint16).reshape(32, 2), np.zeros((32, 2), np.uint16)
    k.simulate(Tensor(x, code=4), Tensor(y, code=4))
    assert (x == y).all()
    with pytest.raises(LaunchError, match="A: needed elements of type bfloat16 or uint16, found float16"):
        k.simulate(Tensor(x, code=2), Tensor(y, code=4))


def test_a_borrowed_tensor_is_given_back() -> None:
    array = np.zeros(4, np.float32)
    before = sys.getrefcount(array)
    found = described(OfNumPy(array))
    assert found is not None
    assert found.host is not None
    assert found.host.ctypes.data == array.ctypes.data
    del found
    gc.collect()
    assert sys.getrefcount(array) == before


def test_a_tensor_on_the_device_is_passed_by_pointer() -> None:
    array = aligned()
    tensor = Tensor(array, device=(2, 1))
    (packed,) = pack([tensor], stream=77)
    assert (packed.address, packed.device, packed.host) == (array.ctypes.data, 1, None)
    assert packed.value == array.ctypes.data.to_bytes(8, "little")
    pack([tensor])
    assert tensor.streams == [77, 1]
    with pytest.raises(LaunchError, match="A: needed a NumPy array to simulate with, found a Tensor"):
        copy_kernel().simulate(tensor, F)


def test_a_tensor_on_the_host_is_packed_as_an_array() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    tensor = Tensor(array)
    (packed,) = pack([tensor])
    assert packed.span == (array.ctypes.data, array.ctypes.data + 12)
    assert tensor.streams == [None]
    frozen = pack([Tensor(array, flags=1)])[0].host
    assert frozen is not None
    assert not frozen.flags.writeable


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (3, 0), (13, 0)])
def test_devices_that_a_kernel_can_reach(device: tuple[int, int]) -> None:
    found = described(Tensor(F, device=device))
    assert found is not None
    assert (found.address is None) == (device[0] in (1, 3))
    assert found.device == (0 if device[0] == 2 else None)


REFUSED: list[tuple[Any, str]] = [
    (Tensor(F, device=(10, 0)), "lies on a device of DLPack type 10, which is neither a CPU nor a CUDA GPU"),
    (Tensor(F, code=5), "DLPack type code 5 with 32 bits in 1 lanes"),
    (Tensor(F, lanes=4), "in 4 lanes"),
    (Tensor(F, major=2), "comes in DLPack 2.0; needed is 1.x"),
    (Tensor(F, flags=2), "comes as a copy, or padded"),
    (Tensor(F, flags=4), "comes as a copy, or padded"),
    (Tensor(F, name=b"used_dltensor"), "gives no DLPack tensor but <capsule object"),
    (Tensor(F, error=BufferError("requires grad")), "does not give its elements by DLPack: requires grad"),
    (Tensor(F, error=RuntimeError("lost")), "does not give its elements by DLPack: lost"),
    (cuda(typestr="?!"), "has a __cuda_array_interface__ that cannot be read: "),
    (cuda(data=(1,)), "has a __cuda_array_interface__ that cannot be read: "),
    (cuda(mask=1), "has a mask"),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_borrowed_is_told_of_its_parameter(argument: Any, words: str) -> None:
    for run in (copy_kernel().simulate, copy_kernel().launch):
        with pytest.raises(LaunchError) as error:
            run(F, argument)
        assert str(error.value).startswith(f"kernel copy, parameter B: the {type(argument).__name__} ")
        assert words in str(error.value)


READ_ONLY = F.copy()
READ_ONLY.flags.writeable = False

BAD: list[tuple[Any, Any, str]] = [
    (F, READ_ONLY, "B: needed an array that can be written, found one that is read-only"),
    (F, Tensor(F, flags=1), "B: needed an array that can be written"),
    (F, cuda(data=(0x7000_0000, True)), "B: needed an array that can be written"),
    (F.T.copy(), F, r"A: needed shape \(32, 4\), found shape \(4, 32\)"),
    (F[:, :2].repeat(2, 0).copy(), F, r"A: needed shape \(32, 4\), found shape \(64, 2\)"),
    (F[:31], F, "A: needed at least 512 bytes, found 496 bytes"),
    (F[:, ::2], F, r"A: needed a contiguous array, found one of shape \(32, 2\) with strides \(4, 2\), in elem"),
    (np.asfortranarray(F), F, r"A: needed a contiguous array, found .* strides \(1, 32\)"),
    (Tensor(F, strides=(1, 32)), F, r"A: needed a contiguous array, found .* strides \(1, 32\)"),
    (cuda(strides=(16, 8)), F, r"A: needed a contiguous array, found .* strides \(4, 2\)"),
    (cuda(strides=(18, 4)), F, r"A: needed a contiguous array, found .* strides \(-1, 1\)"),
    (cuda(typestr="<f8"), F, "A: needed elements of type float32, found float64"),
    (cuda(data=(0x7000_0004, False)), F, "A: needed an address that is a multiple of 256 bytes, found 0x70000004"),
    (F.astype(np.int32), F, "A: needed elements of type float32, found int32"),
    (3, F, "A: needed a NumPy array or an array on the device, found a int"),
    (np.float32(3), F, "A: needed a NumPy array or an array on the device, found a float32"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "words"), BAD, ids=range(len(BAD)))
def test_arrays_that_do_not_fit_are_refused_before_anything_runs(a: Any, b: Any, words: str) -> None:
    with pytest.raises(LaunchError, match=f"kernel copy, parameter {words}"):
        copy_kernel().launch(a, b)


GOOD: list[Any] = [
    F,
    np.zeros(128, np.float32),
    np.zeros((1, 32, 4), np.float32),
    np.zeros((33, 4), np.float32),
    READ_ONLY,
    cuda(),
    cuda(data=(0x7000_0000, True)),
    cuda(strides=(16, 4)),
    cuda(shape=(1, 32, 1, 4), strides=(7, 16, 99, 4)),
    Tensor(F, strides=(4, 1)),
    Tensor(aligned(), device=(2, 0), strides=(4, 1)),
]


@pytest.mark.parametrize("a", GOOD, ids=range(len(GOOD)))
def test_arrays_that_fit(a: Any) -> None:
    host.check_arguments(copy_kernel().definition, (a, F.copy()), 1)


def test_the_sizes_of_other_layouts_are_no_shape_of_the_argument() -> None:
    """A column-major parameter takes its storage, in whatever shape it comes."""
    k = Kernel("columns", block=32)
    a = k.parameter("A", (32, 4), "float32", layout=TileLayout(S[(32, 4) : (1, 32)]))
    k.apply("ld.global.b32", k.registers("w", (4, 1), "float32"), a[tx].view(4, 1))
    host.check_arguments(k.definition, (np.zeros((4, 32), np.float32),), 1)
    with pytest.raises(LaunchError, match="A: needed at least 512 bytes"):
        host.check_arguments(k.definition, (np.zeros((4, 31), np.float32),), 1)


def test_an_empty_array_is_compact_whatever_its_strides() -> None:
    found = described(np.zeros((0, 4), np.float32)[:, ::2])
    assert found is not None
    assert found.compact
    empty = described(Tensor(np.zeros((0, 4), np.float32)))
    assert empty is not None
    assert empty.host is not None
    assert empty.host.shape == (0, 4)


@pytest.mark.parametrize("argument", [None, 5, "text", [1.0], np.float32(1), object()])
def test_what_is_no_array(argument: Any) -> None:
    assert described(argument) is None
