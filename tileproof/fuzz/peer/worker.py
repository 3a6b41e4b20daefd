"""Checks scripts with the peer, in a process of its own: a job in JSON on each line of input, an answer on
each of output.

A job is ``{"script": text, "runs": n, "seconds": s, "compile": bool}``. The check is timed alone: only what
the peer does inside the lowering of the tile call, which is its contract check and one loop nest of IR. The
time is that of the processor, as for the checks here: what else the machine does falls harder on long checks.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm_tirx
from tvm_tirx import tirx
from tvm_tirx.backend.cuda import transform as cuda
from tvm_tirx.target import Target
from tvm_tirx.tirx.tile.instruction import SPECS

TARGET = Target({"kind": "cuda", "arch": "sm_100a"})
OWN_REFUSALS = ("ValueError", "TypeError", "TileError")
"""What the peer raises when a contract is not met; anything else is a mistake of its own."""


@dataclass
class Watch:
    """The last lowering of a tile call: how long it took, and what it raised."""

    seconds: float = 0.0
    raised: str = ""
    text: str = ""

    def around(self, lower: Any) -> Any:
        def watched(*arguments: Any) -> Any:
            self.raised, self.text = "", ""
            start = time.thread_time()
            try:
                return lower(*arguments)
            except BaseException as error:
                self.raised, self.text = type(error).__name__, str(error)
                raise
            finally:
                self.seconds += time.thread_time() - start

        return watched


def parsed(text: str, folder: str) -> Any:
    """The kernel of a script, which the peer reads from a file."""
    path = Path(folder, "kernel.py")
    path.write_text(text)
    sys.modules.pop("kernel", None)
    spec = importlib.util.spec_from_file_location("kernel", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.k


def bound(kernel: Any) -> Any:
    """The kernel as a module, as far as it is before tile calls are lowered."""
    steps = [tirx.transform.BindTarget(TARGET), cuda.BindBackendConfig(), cuda.SpecializeEntryHelpers()]
    return tvm_tirx.ir.transform.Sequential(steps)(tvm_tirx.IRModule.from_expr(kernel))


def verdict(error: BaseException, watch: Watch) -> str:
    """``reject`` for the peer's own refusals, ``internal`` for errors of another kind."""
    kind = watch.raised or type(error).__name__
    slipped = watch.text.startswith(("int()", "unsupported operand", "Cannot")) or "' object" in watch.text
    return "reject" if kind in OWN_REFUSALS and not slipped else "internal"


def answer(job: dict[str, Any], watch: Watch, folder: str) -> dict[str, Any]:
    """The answer to a job."""
    # The peer raises a class of its own for each fault, and whatever it raises is its verdict.
    try:
        kernel = parsed(job["script"], folder)
        module = bound(kernel)
    except Exception as error:  # noqa: BLE001
        return {"verdict": "parse", "message": str(error).strip()[-300:]}
    times: list[float] = []
    found, message = "accept", ""
    started = time.perf_counter()
    while len(times) < job["runs"] and time.perf_counter() - started < job["seconds"]:
        watch.seconds = 0.0
        try:
            tirx.transform.TileDispatch()(module)
        except Exception as error:  # noqa: BLE001
            found, message = verdict(error, watch), watch.text or str(error)
        times.append(watch.seconds)
    if found == "accept" and job.get("compile"):
        try:
            tirx.compile(kernel, target=TARGET, pipeline="tirx")
        except Exception as error:  # noqa: BLE001
            found, message = "later", str(error)
    return {
        "verdict": found,
        "ms": statistics.median(times) * 1e3,
        "first": times[0] * 1e3,
        "runs": len(times),
        "message": message.strip()[:300],
    }


def main() -> None:
    """Answer jobs until the input ends."""
    # What the peer prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    watch = Watch()
    for name in ("tirx.cuda.tile.apply", "tirx.cuda.tile.ewise"):
        SPECS[name].lower = watch.around(SPECS[name].lower)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"ready": True}), file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line), watch, folder)), file=answers, flush=True)


if __name__ == "__main__":
    main()
