"""Registers in files that are mapped, and what is said of files that do not fit."""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import struct
from pathlib import Path

import pytest

from cdma.driver import FileRegisters, UioRegisters, VfioRegisters
from cdma.driver.layout import WINDOW_SIZE


def _file(path: Path, size: int) -> Path:
    path.write_bytes(bytes(size))
    return path


def test_a_file(tmp_path: Path) -> None:
    path = _file(tmp_path / "resource0", 3 * mmap.PAGESIZE)
    with FileRegisters(path, mmap.PAGESIZE + 8) as registers:
        registers.write32(0x24, 0x1234_5678)
        assert registers.read32(0x24) == 0x1234_5678
        registers.write32(WINDOW_SIZE - 4, 0xFFFF_FFFF)
    content = path.read_bytes()
    assert content[mmap.PAGESIZE + 8 + 0x24:][:4] == bytes.fromhex("78563412")
    assert content[mmap.PAGESIZE + 8 + WINDOW_SIZE - 4:][:4] == bytes(4 * [255])
    assert sum(content) == 0x78 + 0x56 + 0x34 + 0x12 + 4 * 255


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    path = _file(tmp_path / "resource0", WINDOW_SIZE)
    with pytest.raises(ValueError, match="multiple of 4, not 2"):
        FileRegisters(path, 2)
    with pytest.raises(ValueError, match="does not hold 4096 bytes of registers from 0x4 on"):
        FileRegisters(path, 4)
    with pytest.raises(OSError, match="nothing"):
        FileRegisters(tmp_path / "nothing")


def _uio(folder: Path, number: int, size: int, inside: int) -> tuple[Path, Path]:
    described = folder / "class" / "uio0" / "maps" / f"map{number}"
    described.mkdir(parents=True)
    (described / "size").write_text(f"{size:#x}\n")
    (described / "offset").write_text(f"{inside:#x}\n")
    return _file(folder / "uio0", 3 * mmap.PAGESIZE), folder / "class"


def test_uio(tmp_path: Path) -> None:
    path, sysfs = _uio(tmp_path, 1, WINDOW_SIZE, 0x10)
    with UioRegisters(path, 1, sysfs) as registers:
        registers.write32(4, 0x0403_0201)
    assert path.read_bytes()[mmap.PAGESIZE + 0x14:][:4] == bytes([1, 2, 3, 4])
    with pytest.raises(FileNotFoundError):
        UioRegisters(path, 0, sysfs)
    path, sysfs = _uio(tmp_path / "small", 0, 256, 0)
    with pytest.raises(ValueError, match=r"map 0 of .* has 256 bytes, and the engine's registers have 4096"):
        UioRegisters(path, 0, sysfs)


def test_interrupts_of_uio(tmp_path: Path) -> None:
    """Allowed with a 1, counted by a read; a time limit passes without one."""
    path, sysfs = _uio(tmp_path, 0, WINDOW_SIZE, 0)
    ours, kernel = socket.socketpair()
    registers = UioRegisters(path, 0, sysfs)
    os.dup2(ours.fileno(), registers._file)
    assert not registers.wait_interrupt(0.01)
    kernel.send(struct.pack("=I", 1))
    assert registers.wait_interrupt(1)
    assert kernel.recv(100) == 2 * struct.pack("=I", 1)
    registers.close()
    ours.close()
    kernel.close()


def test_vfio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The region that VFIO describes is mapped; the device stays open."""
    path = _file(tmp_path / "device", 4 * mmap.PAGESIZE)
    flags, size = 7, 2 * WINDOW_SIZE

    def ioctl(device: int, request: int, asked: bytearray) -> int:
        length, _, region, _, _, _ = struct.unpack("=IIIIQQ", asked)
        assert (length, request) == (32, ord(";") << 8 | 100 + 8)
        asked[:] = struct.pack("=IIIIQQ", length, flags, region, 0, size, region * mmap.PAGESIZE)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    device = os.open(path, os.O_RDWR)
    with VfioRegisters(device, 2, 16) as registers:
        registers.write32(8, 0x0403_0201)
    assert os.pread(device, 4, 2 * mmap.PAGESIZE + 24) == bytes([1, 2, 3, 4])
    with pytest.raises(ValueError, match="region 0 has 8192 bytes, and the engine's registers need 4096 from 0x1004"):
        VfioRegisters(device, 0, 0x1004)
    flags = 3
    with pytest.raises(OSError, match="VFIO does not map region 0"):
        VfioRegisters(device, 0)
    os.close(device)
