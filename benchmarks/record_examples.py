"""Run the example kernels on this machine's GPU and record what came back.

    python benchmarks/record_examples.py --out tests/hardware

writes ``<gpu>.examples.json``: the bits of every argument after each kernel, as 32-bit words, with the GPU,
the driver and the assembler named. ``tests/hardware/test_recorded_examples.py`` compares them with the
expected numbers and the simulator, so the comparison also runs where no GPU is. Exits with 1 when a number
differs from the expected one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tileproof.emit.launch import compute_capability, device_name, driver_version

ROOT = Path(__file__).parents[1]
EXAMPLES = ("ld_128bit", "ld_rearranged", "ldmatrix_interleaved", "st_128bit", "stmatrix_interleaved")


def builds(example: Any) -> dict[str, tuple[Any, ...]]:
    """The kernels of an example module: one, or one for each variant."""
    steps = (example.build, example.inputs, example.expected)
    variants: dict[str, Any] | None = getattr(example, "VARIANTS", None)
    if variants is None:
        return {"": steps}
    return {name: tuple(partial(step, variant) for step in steps) for name, variant in variants.items()}


def nvidia_driver() -> str:
    """The version of the driver, as ``nvidia-smi`` tells it."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


def words(array: np.ndarray[Any, Any]) -> list[int]:
    return [int(w) for w in np.frombuffer(array.tobytes(), np.uint32)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the recording")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "examples"))
    major, minor = compute_capability()
    kernels, wrong = {}, 0
    for name in EXAMPLES:
        for variant, (build, inputs, expected) in builds(importlib.import_module(name)).items():
            label = name + (f".{variant}" if variant else "")
            arguments = inputs()
            build().launch(*arguments)
            matches = all((a.tobytes() == b.tobytes()) for a, b in zip(arguments, expected(), strict=True))
            wrong += not matches
            print(f"{label:32} {'right' if matches else 'WRONG'}")
            kernels[label] = [words(a) for a in arguments]
    content = {
        "gpu": device_name(),
        "compute_capability": f"{major}.{minor}",
        "driver": nvidia_driver(),
        "cuda": driver_version(),
        "kernels": kernels,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", device_name().lower()).strip("-")
    target = options.out / f"{slug}.examples.json"
    lines = [f'  "{k}": {json.dumps(v)}' for k, v in content.items() if k != "kernels"]
    body = ",\n".join(f'    "{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in kernels.items())
    target.write_text("{\n" + ",\n".join(lines) + ',\n  "kernels": {\n' + body + "\n  }\n}\n")
    print(f"wrote {target.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
