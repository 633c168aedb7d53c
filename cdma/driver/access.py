"""Access to registers: what the driver asks for, and files that are mapped into memory: UIO, VFIO, and any other."""

from __future__ import annotations

import fcntl
import mmap
import os
import select
import struct
from pathlib import Path
from types import TracebackType
from typing import Protocol

from cdma.driver.layout import WINDOW_SIZE

__all__ = ["FileRegisters", "Registers", "UioRegisters", "VfioRegisters"]

_REGION = struct.Struct("=IIIIQQ")
_REGION_INFO = 0x3B6C
_MAPPABLE = 4
_UIO_WORD = struct.Struct("=I")


class Registers(Protocol):
    """Whatever reads and writes the engine's registers, each as a whole, by their byte offsets in its window."""

    def read32(self, offset: int) -> int:
        """Read a register."""
        ...

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        ...


class FileRegisters:
    """Registers in a file that can be mapped: ``resource0`` of a PCI device, ``/dev/mem``, or a file for tests.

    Parameters
    ----------
    path
        The file.
    offset
        Where the engine's window begins in it, a multiple of 4; for ``/dev/mem`` the physical address.

    Raises
    ------
    OSError
        If it cannot be opened or mapped.
    ValueError
        If the offset is not a multiple of 4, or the window does not fit into the file.
    """

    def __init__(self, path: str | os.PathLike[str], offset: int = 0) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
        try:
            self._map(self._file, offset)
        except BaseException:
            os.close(self._file)
            raise

    def _map(self, file: int, offset: int) -> None:
        if offset < 0 or offset % 4:
            raise ValueError(f"the offset of the registers must be a multiple of 4, not {offset}")
        inside = offset % mmap.ALLOCATIONGRANULARITY
        try:
            self._memory = mmap.mmap(file, inside + WINDOW_SIZE, offset=offset - inside)
        except ValueError as error:
            raise ValueError(f"the file does not hold {WINDOW_SIZE} bytes of registers from {offset:#x} on") from error
        # An element of this view is read and written by one access of 32 bits.
        self._bytes = memoryview(self._memory)
        self._words = self._bytes[inside:inside + WINDOW_SIZE].cast("I")

    def read32(self, offset: int) -> int:
        """Read a register."""
        return self._words[offset >> 2]

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        self._words[offset >> 2] = value

    def close(self) -> None:
        """Unmap the registers and close the file."""
        self._words.release()
        self._bytes.release()
        self._memory.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> FileRegisters:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class UioRegisters(FileRegisters):
    """Registers of a device that Linux's UIO drives, and its interrupt.

    Parameters
    ----------
    path
        The device, ``/dev/uio0``.
    number
        Which of its maps holds the engine's registers.
    sysfs
        Where Linux describes the maps.

    Raises
    ------
    OSError
        If there is no such device or map.
    ValueError
        If the map is smaller than the window.
    """

    def __init__(self, path: str | os.PathLike[str], number: int = 0,
                 sysfs: str | os.PathLike[str] = "/sys/class/uio") -> None:
        described = Path(sysfs) / Path(path).name / "maps" / f"map{number}"
        size, inside = (int((described / name).read_text(), 0) for name in ("size", "offset"))
        if size < WINDOW_SIZE:
            raise ValueError(f"map {number} of {path} has {size} bytes, and the engine's registers have {WINDOW_SIZE}")
        # UIO takes the number of a map as an offset in pages.
        super().__init__(path, number * mmap.PAGESIZE + inside)

    def wait_interrupt(self, seconds: float | None = None) -> bool:
        """Allow the interrupt and wait for it; whether it came in time. Then call ``take_events``, which ends it."""
        os.write(self._file, _UIO_WORD.pack(1))
        if not select.select([self._file], [], [], seconds)[0]:
            return False
        os.read(self._file, _UIO_WORD.size)
        return True


class VfioRegisters(FileRegisters):
    """Registers in a region of a device that Linux's VFIO drives.

    Parameters
    ----------
    device
        The device's file descriptor, as ``VFIO_GROUP_GET_DEVICE_FD`` gives it; it stays yours to close.
    region
        Which region holds the engine's registers: for PCI the number of the BAR.
    offset
        Where the engine's window begins in the region.

    Raises
    ------
    OSError
        If the device has no such region, or it cannot be mapped.
    ValueError
        If the window does not fit into it.
    """

    def __init__(self, device: int, region: int = 0, offset: int = 0) -> None:
        self._file = -1
        asked = bytearray(_REGION.pack(_REGION.size, 0, region, 0, 0, 0))
        fcntl.ioctl(device, _REGION_INFO, asked)
        _, flags, _, _, size, place = _REGION.unpack(asked)
        if not flags & _MAPPABLE:
            raise OSError(f"VFIO does not map region {region} of the device")
        if offset + WINDOW_SIZE > size:
            raise ValueError(f"region {region} has {size} bytes, and the engine's registers need {WINDOW_SIZE} from "
                             f"{offset:#x} on")
        self._map(device, place + offset)
