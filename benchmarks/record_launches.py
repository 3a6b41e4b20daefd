"""Launch kernels of the builder on this machine's GPU in every way that there is, and record what came of it.

    python benchmarks/record_launches.py

writes ``tests/hardware/<gpu>.launches.json``: for each way whether the numbers were right, with the GPU and the driver
named, and the device memory that failed launches left taken. Ways that need CuPy or PyTorch say so where these are
missing. Exits with 1, and writes nothing, where anything is wrong or there is no GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tileproof as tp
from benchmarks.record_examples import nvidia_driver
from tileproof import cbx, tx
from tileproof.emit.driver import Driver
from tileproof.emit.launch import compute_capability, device_name
from tileproof.errors import LaunchError, TileproofError

ROOT = Path(__file__).resolve().parents[1]

FAILURES = 200
"""Rounds of four launches that have to be refused."""


def scale() -> tp.Kernel:
    """Rows times a typed scalar; as many rows as a parameter says."""
    k = tp.Kernel("scale", block=64)
    n = k.scalar("n", 0, 4096)
    alpha = k.scalar("alpha", dtype="float32")
    a, b = k.parameter("A", (n, 4), "float32"), k.parameter("B", (n, 4), "float32")
    words = k.registers("words", (4,), "float32")
    row = k.block_index("x", 64) * 64 + tx
    with k.when(row < n):
        k.apply("ld.global.v4.f32", words, a[row])
        each = words.view(4, 1)
        k.apply("mul.f32", each, each, alpha)
        k.apply("st.global.v4.f32", b[row], words)
    return k


def reversed_tile() -> tp.Kernel:
    """64 KiB of dynamic shared memory, written in one order and read in the other."""
    k = tp.Kernel("reversed_tile", block=128)
    a, b = (k.parameter(name, (4096, 4), "uint32") for name in "AB")
    tile = k.shared("tile", (4096, 4), "uint32", align=16, dynamic=True)
    words = k.registers("words", (4,), "uint32")
    with k.loop("i", 0, 32) as i:
        k.apply("ld.global.v4.b32", words, a[i * 128 + tx])
        k.apply("st.shared.v4.b32", tile[i * 128 + tx], words)
    k.raw("bar.sync 0;")
    with k.loop("j", 0, 32) as j:
        k.apply("ld.shared.v4.b32", words, tile[4095 - (j * 128 + tx)])
        k.apply("st.global.v4.b32", b[j * 128 + tx], words)
    return k


def stages() -> tp.Kernel:
    """Four mbarriers, each waited for in both parities; what a warp writes another reads after the wait."""
    k = tp.Kernel("stages", block=64)
    a, b = (k.parameter(name, (16, 64), "uint32") for name in "AB")
    slots = k.shared("slots", (4, 64), "uint32")
    word = k.registers("word", (1,), "uint32")
    full = k.mbarrier("full", 4)
    with k.when(tx == 0):
        for stage in k.unroll("stage", 0, 4):
            full.init(64, at=stage)
    k.raw("bar.sync 0;")
    with k.loop("i", 0, 16) as i:
        k.apply("ld.global.b32", word, a[i, tx : tx + 1])
        k.apply("st.shared.b32", slots[i % 4, tx : tx + 1], word)
        full.arrive(at=i % 4)
        full.wait(i // 4 % 2, at=i % 4)
        k.apply("ld.shared.b32", word, slots[i % 4, 63 - tx : 64 - tx])
        k.apply("st.global.b32", b[i, tx : tx + 1], word)
        k.raw("bar.sync 0;")
    return k


def ranks() -> tp.Kernel:
    """Clusters of four CTAs; each writes rows by its rank."""
    k = tp.Kernel("ranks", block=32, cluster=4)
    a, b = (k.parameter(name, (4, 32), "uint32") for name in "AB")
    word = k.registers("word", (1,), "uint32")
    k.raw("barrier.cluster.arrive.aligned;")
    k.raw("barrier.cluster.wait.aligned;")
    k.apply("ld.global.b32", word, a[3 - cbx, tx : tx + 1])
    k.apply("st.global.b32", b[cbx, tx : tx + 1], word)
    return k


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 31, shape, dtype=np.uint32)
    return bits if dtype == "uint32" else (bits % 4096).astype(dtype)


def host(
    make: Callable[[], tp.Kernel], shape: tuple[int, ...], expect: Callable[[Any], Any], **launch: Any
) -> bool:
    """NumPy arrays, copied in and out."""
    kernel = make()
    source = numbers(shape, "uint32")
    target = np.zeros_like(source)
    kernel.launch(source, target, **launch)
    return bool(np.array_equal(target, expect(source)))


def scaled(arrays: Callable[[Any], Any], back: Callable[[Any], Any], **launch: Any) -> bool:
    """The kernel of a typed scalar on arrays of some library."""
    source = numbers((1000, 4), "float32")
    given, target = arrays(source), arrays(np.zeros_like(source))
    scale().launch(1000, 0.5, given, target, grid=16, **launch)
    return bool(np.array_equal(back(target), source / 2))


class OnlyDlpack:
    """An array that offers nothing but DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def torch_ways() -> dict[str, Callable[[], bool]]:
    import torch

    def on_gpu(array: Any) -> Any:
        return torch.from_numpy(array.copy()).cuda()

    def numpy(array: Any) -> Any:
        torch.cuda.synchronize()
        return array.cpu().numpy()

    def with_stream() -> bool:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            source = torch.arange(4000, device="cuda", dtype=torch.float32).reshape(1000, 4)
            for _ in range(50):
                source = source + 1
            target = torch.zeros_like(source)
            scale().launch(1000, 0.5, source, target, grid=16, stream=stream.cuda_stream)
            stream.synchronize()
        wanted = (np.arange(4000, dtype=np.float32).reshape(1000, 4) + 50) / 2
        return bool(np.array_equal(target.cpu().numpy(), wanted))

    return {
        "PyTorch": lambda: scaled(on_gpu, numpy),
        "PyTorch by DLPack": lambda: scaled(
            lambda a: OnlyDlpack(on_gpu(a)), lambda a: numpy(a.array)
        ),
        "PyTorch on a stream": with_stream,
    }  # fmt: skip


def cupy_ways() -> dict[str, Callable[[], bool]]:
    import cupy

    return {
        "CuPy": lambda: scaled(cupy.asarray, cupy.asnumpy),
        "CuPy by DLPack": lambda: scaled(lambda a: OnlyDlpack(cupy.asarray(a)), lambda a: cupy.asnumpy(a.array)),
    }  # fmt: skip


def kept_after_failures() -> int:
    """Bytes of device memory that are gone after many launches that are refused, some of them half-way."""
    driver = Driver()
    kernel = scale()
    good, short = numbers((1000, 4), "float32"), numbers((999, 4), "float32")
    kernel.launch(1000, 0.5, good, good.copy(), grid=16)

    def free() -> int:
        with driver.context(driver.device(0)):
            return _free(driver)

    before = free()
    for _ in range(FAILURES):
        for arguments in ((1000, 0.5, good, short), (5000, 0.5, good, good), (1000, 1e60, good, good)):
            try:
                kernel.launch(*arguments, grid=16)
            except LaunchError:
                continue
            raise TileproofError(f"a launch with {arguments[:2]} was not refused")
        try:
            reversed_tile().launch(
                np.zeros((4096, 4), np.uint32), np.zeros((4096, 4), np.uint32), grid=(1, 1, 70000)
            )
        except LaunchError:
            continue
        raise TileproofError("a grid of 70000 CTAs along z was not refused")
    return before - free()


def _free(driver: Driver) -> int:
    status, free, _ = driver.api.cuMemGetInfo()
    if status != driver.api.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"{driver.explain(status)} while asking for free memory")
    return int(free)


def ways() -> dict[str, Callable[[], bool]]:
    """Each way of launching."""
    found: dict[str, Callable[[], bool]] = {
        "typed scalar": lambda: scaled(np.copy, lambda a: a),
        "dynamic shared memory": lambda: host(reversed_tile, (4096, 4), lambda a: a[::-1], grid=1),
        "mbarriers": lambda: host(stages, (16, 64), lambda a: a[:, ::-1], grid=1),
        "clusters": lambda: host(ranks, (4, 32), lambda a: a[::-1], grid=4),
        "read from JSON": lambda: host(
            lambda: tp.Kernel.from_json(reversed_tile().to_json()), (4096, 4), lambda a: a[::-1], grid=1
        ),
    }  # fmt: skip
    for library, more in (("torch", torch_ways), ("cupy", cupy_ways)):
        if importlib.util.find_spec(library) is None:
            print(f"{library} is not installed: nothing is recorded of it")
        else:
            found |= more()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "hardware")
    options = parser.parse_args()
    try:
        name, capability = device_name(), compute_capability()
    except LaunchError as error:
        print(error, file=sys.stderr)
        return 1
    wrong = False
    recorded = {}
    for way, run in ways().items():
        try:
            right = run()
        except TileproofError as error:
            print(error)
            right = False
        wrong |= not right
        recorded[way] = "right" if right else "wrong"
        print(f"{way:26} {recorded[way]}")
    kept = kept_after_failures()
    print(f"{kept} bytes of device memory kept by {4 * FAILURES} refused launches")
    if wrong or kept > 0:
        return 1
    content = {
        "gpu": name, "compute_capability": f"{capability[0]}.{capability[1]}", "driver": nvidia_driver(),
        "launches": recorded, "refused_launches": 4 * FAILURES, "bytes_kept": kept,
    }  # fmt: skip
    path = options.out / f"{name.lower().replace(' ', '-')}.launches.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
