"""What can be done with a kernel that is written: its PTX, its cubin, a simulation, a launch, a document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tileproof.emit import shared
from tileproof.emit.module import lacking, module_text
from tileproof.emit.statements import Definition

if TYPE_CHECKING:
    from tileproof.emit.assemble import Cubin
    from tileproof.simulate import SimulationResult

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
"""The first of these that has all of a kernel's instructions is its default."""


class Runnable(ABC):
    """A kernel that is given by its definition."""

    name: str

    @property
    @abstractmethod
    def definition(self) -> Definition:
        """The kernel as data. Raises :class:`EmissionError` if it is not complete."""

    @property
    def architecture(self) -> str:
        """The first of sm_80, sm_90a, sm_100a and sm_120a that has all that the kernel needs."""
        definition = self.definition
        fitting = (arch for arch in ARCHITECTURES if lacking(definition, arch) is None)
        return next(fitting, ARCHITECTURES[0])

    def ptx(self, arch: str | None = None, *, comments: bool = True) -> str:
        """The PTX module for ``arch``, by default for :attr:`architecture`.

        ``comments`` name the proof of each instruction: call ``n`` is that of ``reports[n]``. Raises
        :class:`EmissionError` for an architecture that lacks an instruction or has too little shared memory.
        """
        return module_text(self.definition, arch or self.architecture, comments)

    def assemble(self, arch: str | None = None) -> Cubin:
        """The assembled module. Raises :class:`AssemblerError` where no assembler is installed."""
        from tileproof.emit.assemble import assemble

        target = arch or self.architecture
        return assemble(self.ptx(target), target)

    def simulate(
        self, *arguments: Any, grid: int | Sequence[int] = 1, arch: str | None = None
    ) -> SimulationResult:
        """Execute the PTX on the CPU. Arguments are those of :meth:`launch`; arrays are changed in place."""
        from tileproof.emit.host import simulate

        target = arch or self.architecture
        return simulate(self.definition, self.ptx(target), target, arguments, grid)

    def launch(
        self, *arguments: Any, grid: int | Sequence[int] = 1, device: int = 0, stream: int | None = None
    ) -> None:
        """Assemble for a GPU, check the arguments against all that was proved with, run, and wait.

        Arguments come in the order of the parameters. A tensor takes a NumPy array or a DLPack tensor on the
        host, which is copied there and back, or an array on the device (``__cuda_array_interface__``, DLPack),
        with its elements in row-major order; a scalar takes a number. ``stream`` is the handle of a CUDA stream
        whose work comes first; without it the launch waits for all work on the device. Raises
        :class:`LaunchError`, before anything runs, which names the parameter, what is needed and what was
        found.
        """
        from tileproof.emit import host, launch

        definition = self.definition
        host.check_arguments(definition, arguments, grid)
        cubin = self.assemble(host.device_architecture(device))
        passed = host.packed(definition, arguments)
        launch.launch(
            cubin,
            self.name,
            grid,
            definition.launch.block,
            passed,
            cluster=definition.launch.cluster,
            dynamic_shared=shared.extent(definition.dynamic),
            device=device,
            stream=stream,
        )

    def to_json(self) -> str:
        """The kernel as a document, in the format of spec files: declarations, statements, calls, guards.

        Raises :class:`CallError` for what the format has no words for, and as :attr:`definition` does.
        """
        from tileproof.spec.kernel_write import kernel_json

        return kernel_json(self.definition)
