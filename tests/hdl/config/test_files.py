"""Outputs are there as a whole or not at all, and what stops them is said with their name."""

from __future__ import annotations

import errno
import os
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cdma.hdl.config.files import write_file


@contextmanager
def no_more_than(size: int) -> Iterator[None]:
    """No file of this process can be longer: the error of a disk that is full, with another number."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_is_written_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    for content in ("an é", b"\0\n", ""):
        write_file(path, content)
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_full_disk_leaves_what_was_there(before: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "out"
    if before is not None:
        path.write_bytes(before)
    with no_more_than(4096), pytest.raises(OSError) as caught:
        write_file(path, bytes(4097))
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([] if before is None else [before])


def test_an_interrupt_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Path, to: Path) -> None:
        raise KeyboardInterrupt

    (tmp_path / "out").write_bytes(b"before")
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "out", "after")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"before"]


def test_links_and_modes_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "folder/link"
    link.parent.mkdir()
    link.symlink_to("../real")
    write_file(link, "through a link to nothing yet")
    real.chmod(0o640)
    write_file(link, "new")
    assert link.is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("new", 0o640)
    assert sorted(each.name for each in link.parent.iterdir()) == ["link"]


def test_devices_pipes_and_open_files_are_written_directly(tmp_path: Path) -> None:
    write_file("/dev/null", "gone")
    with pytest.raises(OSError) as caught:
        write_file("/dev/full", "x")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, "through")
    reader.join(10)
    assert read == [b"through"] and pipe.is_fifo()
    with (tmp_path / "log").open("ab") as log:
        log.write(b"first ")
        log.flush()
        inode = os.fstat(log.fileno()).st_ino
        write_file(f"/dev/fd/{log.fileno()}", "second")
    assert (tmp_path / "log").stat().st_ino == inode


@pytest.mark.parametrize(("name", "number"), [
    ("folder", errno.EISDIR), ("file/out", errno.ENOTDIR), ("none/out", errno.ENOENT), ("loop", errno.ELOOP),
    ("loop/out", errno.ELOOP), ("x" * 256, errno.ENAMETOOLONG)])
def test_what_cannot_be_written_is_named(name: str, number: int, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError) as caught:
        write_file(tmp_path / name, "x")
    assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path / name))
    assert sorted(tmp_path.rglob("*")) == before
