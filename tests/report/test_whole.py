"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileproof.report.whole import OutputError, write_whole


def test_a_new_file_and_an_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.ptx"
    mask = os.umask(0o027)
    try:
        write_whole(path, "one\n")
    finally:
        os.umask(mask)
    assert path.read_text(encoding="utf-8") == "one\n"
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    write_whole(path, "two\n")
    assert path.read_text(encoding="utf-8") == "two\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "out.ptx")
    write_whole(tmp_path / "link", "one\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "out.ptx").read_text(encoding="utf-8") == "one\n"


def test_a_device_stays_a_device() -> None:
    write_whole(Path(os.devnull), "one\n")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    ("name", "message"), [("missing/out.ptx", "No such file"), ("", "Is a directory"), ("a\0b", "null")]
)
def test_what_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(OutputError, match=f"cannot be written: .*{message}"):
        write_whole(tmp_path / name, "one\n")
    assert list(tmp_path.iterdir()) == []


def test_what_fails_midway_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.ptx"
    path.write_text("old\n", encoding="utf-8")

    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new\n")
    assert path.read_text(encoding="utf-8") == "old\n"
    assert list(tmp_path.iterdir()) == [path]
