from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tileproof.emit import assemble as module
from tileproof.emit.assemble import Cubin, assemble, available_assemblers, disassemble
from tileproof.errors import AssemblerError

ASSEMBLERS = ["nvjitlink", "ptxas"]
ARCHS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]

BODY = """
.address_size 64
.visible .entry scale(.param .u64 out, .param .u32 factor)
{
    .shared .align 16 .b8 tile[512];
    .reg .b64 %rd<3>;
    .reg .b32 %r<5>;
    ld.param.u64 %rd0, [out];
    ld.param.u32 %r0, [factor];
    mov.u32 %r1, %tid.x;
    mov.u32 %r4, tile;
    mad.lo.u32 %r4, %r1, 4, %r4;
    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r2, [%r4];
    mul.lo.u32 %r2, %r2, %r1;
    mul.wide.u32 %rd1, %r1, 4;
    add.u64 %rd2, %rd0, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


def ptx(arch: str, body: str = BODY, version: str = "8.8") -> str:
    return f".version {version}\n.target {arch}{body}"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that takes every temporary file of the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def program(folder: Path, name: str, body: str) -> Path:
    """A stand-in for a CUDA program, alone on PATH."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport os, sys\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without an assembler; programs put into the returned folder are on PATH."""

    def missing() -> Any:
        raise ImportError("No module named 'cuda'")

    monkeypatch.setattr(module, "_nvjitlink_bindings", missing)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "bin"


@pytest.mark.parametrize("assembler", ASSEMBLERS)
@pytest.mark.parametrize("arch", ARCHS)
def test_every_target_assembles(assembler: Any, arch: str, temporary: Path) -> None:
    cubin = assemble(ptx(arch), arch, assembler=assembler)
    assert cubin.arch == arch
    assert cubin.image.startswith(b"\x7fELF")
    assert cubin.assembler.name == assembler
    (kernel,) = cubin.kernels
    assert (kernel.name, kernel.static_shared_bytes, kernel.spill_store_bytes) == ("scale", 512, 0)
    assert 4 <= kernel.registers <= 32
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("assembler", ASSEMBLERS)
def test_the_log_is_the_same_on_every_run(assembler: Any) -> None:
    first, second = (assemble(ptx("sm_90a"), "sm_90a", assembler=assembler) for _ in range(2))
    assert first == second
    assert "registers" in first.log


def test_auto_takes_the_first_that_works() -> None:
    assert [info.name for info in available_assemblers()] == ASSEMBLERS
    assert assemble(ptx("sm_80"), "sm_80").assembler.name == "nvjitlink"


REFUSED = [
    # what is wrong, the arch, the PTX, the number and the text of the quoted line, the complaint
    ("opcode", "sm_80", ptx("sm_80", BODY.replace("bar.sync 0", "bar.synch 0")), 15, "bar.synch 0;", "synch"),
    ("operand", "sm_80", ptx("sm_80", BODY.replace("ld.shared.u32", "ld.shared.v4.u32")), 16, "v4", "vector"),
    ("version", "sm_80", ptx("sm_80", version="99.0"), 1, ".version 99.0", "Unsupported .version 99.0"),
    ("older version", "sm_80", ptx("sm_80", version="6.0"), 2, ".target sm_80", "does not support .target"),
    ("target", "sm_100a", ptx("sm_90a"), 2, ".target sm_90a", "cannot be compiled to future architecture"),
]


@pytest.mark.parametrize("assembler", ASSEMBLERS)
@pytest.mark.parametrize(
    ("arch", "text", "number", "line", "complaint"),
    [row[1:] for row in REFUSED],
    ids=[row[0] for row in REFUSED],
)
def test_a_refusal_quotes_the_line(
    assembler: Any, arch: str, text: str, number: int, line: str, complaint: str, temporary: Path
) -> None:
    with pytest.raises(AssemblerError) as refusal:
        assemble(text, arch, assembler=assembler)
    message = str(refusal.value)
    assert message.startswith(assembler)
    assert f"refused the PTX for {arch}" in message
    assert complaint.lower() in message.lower()
    quotes = [part.split("|", 1) for part in message.splitlines() if "|" in part]
    assert any(int(given) == number and line in source for given, source in quotes)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("assembler", ASSEMBLERS)
def test_an_architecture_that_the_assembler_does_not_know(assembler: Any) -> None:
    with pytest.raises(AssemblerError, match=r"(?s)sm_9999"):
        assemble(ptx("sm_80"), "sm_9999", assembler=assembler)


@pytest.mark.parametrize("assembler", ASSEMBLERS)
@pytest.mark.parametrize("text", ["not PTX", ".version 8.8", "\ud800", "// \N{GREEK SMALL LETTER MU}"])
def test_text_that_is_no_module_is_refused(assembler: Any, text: str) -> None:
    with pytest.raises(AssemblerError, match="refused the PTX for sm_80"):
        assemble(text, "sm_80", assembler=assembler)


@pytest.mark.parametrize(
    ("text", "arch", "assembler", "needed"),
    [
        (ptx("sm_80"), "sm80", "auto", "needed is sm_NN"),
        (ptx("sm_80"), "sm_90b", "auto", "needed is sm_NN"),
        (ptx("sm_80"), "sm_80 -o /x", "auto", "needed is sm_NN"),
        ("  \n", "sm_80", "auto", "is empty"),
        (ptx("sm_80") + "\0", "sm_80", "auto", "NUL"),
        (ptx("sm_80"), "sm_80", "nvcc", "'auto', 'nvjitlink' or 'ptxas'"),
    ],
)
def test_bad_arguments(text: str, arch: str, assembler: Any, needed: str) -> None:
    with pytest.raises(AssemblerError, match=needed):
        assemble(text, arch, assembler=assembler)


@pytest.mark.parametrize("broken", ["create", "add_data", "complete", "get_linked_cubin", None])
def test_every_nvjitlink_handle_is_destroyed(broken: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._nvjitlink_bindings()
    opened: list[int] = []
    closed: list[int] = []

    class Bindings:
        def __getattr__(self, name: str) -> Any:
            return self.fail if name == broken else getattr(real, name)

        def fail(self, *arguments: Any) -> None:
            raise real.nvJitLinkError(real.Result.ERROR_INTERNAL)

        def create(self, count: int, options: list[str]) -> int:
            if broken == "create":
                self.fail()
            opened.append(real.create(count, options))
            return opened[-1]

        def destroy(self, handle: int) -> None:
            closed.append(handle)
            real.destroy(handle)

    monkeypatch.setattr(module, "_nvjitlink_bindings", Bindings)
    if broken is None:
        assemble(ptx("sm_80"), "sm_80", assembler="nvjitlink")
    else:
        with pytest.raises(AssemblerError, match="ERROR_INTERNAL"):
            assemble(ptx("sm_80"), "sm_80", assembler="nvjitlink")
    assert opened == closed
    assert len(opened) == (broken != "create")


def test_without_an_assembler_the_error_says_what_to_install(bare: Path) -> None:
    assert available_assemblers() == ()
    with pytest.raises(AssemblerError, match=r"tileproof\[gpu\].*tileproof\[ptxas\]"):
        assemble(ptx("sm_80"), "sm_80")
    with pytest.raises(AssemblerError, match=r"No module named 'cuda'.*tileproof\[gpu\]"):
        assemble(ptx("sm_80"), "sm_80", assembler="nvjitlink")
    with pytest.raises(AssemblerError, match=r"tileproof\[ptxas\]"):
        assemble(ptx("sm_80"), "sm_80", assembler="ptxas")
    with pytest.raises(AssemblerError, match=r"nvdisasm.*tileproof\[ptxas\]"):
        disassemble(Cubin("sm_80", b"", module.AssemblerInfo("ptxas", "1"), "", ()))


VERSION = "if '--version' in sys.argv: print('Cuda compilation tools, release 12.3, V12.3.4'); sys.exit()"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("print('no version')", "does not say its version"),
        (f"{VERSION}\nos.kill(os.getpid(), 9)", "was killed by signal 9"),
        (f"{VERSION}\nsys.exit(3)", "ended with exit code 3"),
        (VERSION, "ended with exit code 0 without a message"),
    ],
    ids=["no version", "killed", "silent", "no output"],
)
def test_a_ptxas_that_misbehaves(body: str, complaint: str, bare: Path, temporary: Path) -> None:
    program(bare, "ptxas", body)
    with pytest.raises(AssemblerError, match=complaint):
        assemble(ptx("sm_80"), "sm_80", assembler="ptxas")
    assert list(temporary.iterdir()) == []


def test_a_ptxas_that_cannot_be_run(bare: Path) -> None:
    program(bare, "ptxas", VERSION).write_bytes(b"\x00not a program")
    with pytest.raises(AssemblerError, match="ptxas cannot be run: Exec format error"):
        assemble(ptx("sm_80"), "sm_80", assembler="ptxas")


def test_where_programs_are_looked_for(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.find_tool("ptxas") is None
    on_path = program(bare, "ptxas", VERSION)
    assert module.find_tool("ptxas") == on_path
    (tmp_path / "cuda").mkdir()
    in_cuda_home = program(tmp_path / "cuda" / "bin", "ptxas", VERSION)
    monkeypatch.setenv("CUDA_HOME", os.path.relpath(tmp_path / "cuda"))
    found = module.find_tool("ptxas")
    assert found is not None
    assert found.is_absolute()
    assert found.resolve() == in_cuda_home.resolve()


def test_the_machine_instructions_of_a_cubin(temporary: Path) -> None:
    text = disassemble(assemble(ptx("sm_90a"), "sm_90a"))
    assert ".text.scale" in text
    assert "BAR.SYNC" in text
    assert "EXIT" in text
    assert list(temporary.iterdir()) == []


def test_an_image_that_is_no_cubin(temporary: Path) -> None:
    with pytest.raises(AssemblerError, match=r"nvdisasm .* on the cubin for sm_80: \S"):
        disassemble(Cubin("sm_80", b"junk", module.AssemblerInfo("ptxas", "1"), "", ()))
    assert list(temporary.iterdir()) == []
