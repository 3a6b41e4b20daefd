"""All kernels of this folder by name: what tests and the recording of a GPU go through.

An example is a module with ``build``, ``inputs``, ``expected``, ``ISSUED`` and ``LOWEST``. It may have an ``ULP``, and
``VARIANTS``, whose values its functions take.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from _run import Build, Expected, Inputs


@dataclass(frozen=True)
class Example:
    """A kernel, its arguments before it and what they hold after it.

    ``issued`` says how often warps issue an opcode, ``lowest`` which architecture the kernel needs at least. ``ulp`` is
    how far off a GPU's floats may be, in units in the last place; 0 is bit by bit.
    """

    build: Build
    inputs: Inputs
    expected: Expected
    issued: dict[str, int]
    lowest: str
    ulp: int = 0


def examples() -> dict[str, Example]:
    """Every example; the name of a variant follows that of its module."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        module = import_module(path.stem)
        steps = (module.build, module.inputs, module.expected)
        rest = (module.ISSUED, module.LOWEST, getattr(module, "ULP", 0))
        variants = getattr(module, "VARIANTS", None)
        if variants is None:
            found[path.stem] = Example(*steps, *rest)
        else:
            for name, variant in variants.items():
                found[f"{path.stem}_{name}"] = Example(*(partial(step, variant) for step in steps), *rest)
    return found
