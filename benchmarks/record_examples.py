"""Run every example kernel on this machine's GPU and record what came back.

    python benchmarks/record_examples.py

writes ``tests/hardware/<gpu>.examples.json``: the bits of every argument after each kernel, as 32-bit words, with the
GPU, the driver and the assembler named. ``tests/hardware/test_recorded_examples.py`` compares them with the expected
numbers and the simulator, so the comparison also runs where no GPU is. An example that needs a later architecture than
the GPU's is left out, and said to be.

Exits with 1, and writes nothing, where a number is not the expected one (bit by bit, or within the ``ULP`` that the
example states), a kernel does not run, or there is no GPU.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tileproof.emit.assemble import available_assemblers
from tileproof.emit.launch import compute_capability, device_name, driver_version
from tileproof.errors import TileproofError

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))

from _all import Example, examples  # noqa: E402 - of the folder that is on the path from here on
from _run import differences  # noqa: E402

Array = np.ndarray[Any, Any]


def runs_on(capability: str, example: Example) -> bool:
    """Whether a GPU of this compute capability, such as "9.0", has all that the example needs."""
    major, minor = map(int, capability.split("."))
    return int(example.lowest.removeprefix("sm_")) <= 10 * major + minor


def nvidia_driver() -> str:
    """The version of the driver, as ``nvidia-smi`` tells it."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


def words(array: Array) -> list[int]:
    return [int(w) for w in np.frombuffer(array.tobytes(), np.uint32)]


def arrays(recorded: Sequence[Sequence[int]], like: Sequence[Array]) -> list[Array]:
    """Recorded words as arrays of the types and shapes of others. Raises ``ValueError`` for another size."""
    return [
        np.array(held, np.uint32).view(other.dtype).reshape(other.shape)
        for held, other in zip(recorded, like, strict=True)
    ]


def launched(example: Example) -> tuple[list[Array], str]:
    """What the kernel's arguments hold after a launch, and what is wrong with them, or ``""``."""
    arguments, expected = example.inputs(), example.expected()
    try:
        example.build().launch(*arguments)
    except TileproofError as error:
        return arguments, f"did not run: {error}"
    wrong = differences(arguments, expected, example.ulp)
    unit = f"numbers off by more than {example.ulp} ulp" if example.ulp else "bytes differ"
    return arguments, f"{wrong} {unit}" if wrong else ""


def origin() -> dict[str, str]:
    """The GPU and the software of this machine. Raises :class:`LaunchError` or ``OSError`` where there is none."""
    return {
        "gpu": device_name(),
        "compute_capability": "{}.{}".format(*compute_capability()),
        "driver": nvidia_driver(),
        "cuda": driver_version(),
        "assembler": ", ".join(map(str, available_assemblers()[:1])),
    }


def text(head: dict[str, str], kernels: dict[str, list[list[int]]]) -> str:
    """The recording, a line for each kernel."""
    lines = [f'  "{key}": {json.dumps(value)}' for key, value in head.items()]
    body = ",\n".join(f'    "{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in kernels.items())
    return "{\n" + ",\n".join(lines) + ',\n  "kernels": {\n' + body + "\n  }\n}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=ROOT / "tests" / "hardware", help="folder for the recording"
    )
    options = parser.parse_args(arguments)
    try:
        head = origin()
    except (TileproofError, OSError, subprocess.CalledProcessError) as error:
        print(f"nothing recorded: {error}", file=sys.stderr)
        return 1
    kernels, failed = {}, []
    for name, example in examples().items():
        if not runs_on(head["compute_capability"], example):
            print(
                f"{name:26} left out: needs {example.lowest}, and {head['gpu']} is {head['compute_capability']}"
            )
            continue
        returned, problem = launched(example)
        print(f"{name:26} {f'WRONG: {problem}' if problem else 'right'}", flush=True)
        failed += [name] if problem else []
        kernels[name] = [words(array) for array in returned]
    if failed:
        print(
            f"nothing recorded: {len(failed)} of {len(kernels)} are wrong: {', '.join(failed)}",
            file=sys.stderr,
        )
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", head["gpu"].lower()).strip("-")
    target = options.out / f"{slug}.examples.json"
    target.write_text(text(head, kernels))
    print(f"wrote {target}: {len(kernels)} kernels")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
