"""Memory images: bytes at addresses, and addresses that answer with an error."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from golden.buffers import Bytes
from golden.engine.status import Response

__all__ = ["Fault", "Memory"]

_PAGE_BYTES = 4096
_MOST_BEATS = 256


@dataclass(frozen=True)
class Fault:
    """Addresses from ``start`` to before ``end`` answer with an error, on reads, writes or both."""

    start: int
    end: int
    response: Response = Response.SLVERR
    reads: bool = True
    writes: bool = True


@dataclass
class Memory:
    """Bytes from ``base`` on.

    Parameters
    ----------
    base
        Address of the first byte.
    image
        The bytes; written in place.
    faults
        Addresses that answer with an error.
    """

    base: int
    image: Bytes
    faults: list[Fault] = field(default_factory=list)

    def read(self, address: int, size: int) -> Bytes:
        """A copy of so many bytes; ValueError if they are not all there."""
        return self._view(address, size).copy()

    def write(self, address: int, data: Bytes) -> None:
        """Write bytes; ValueError if there is no room for all."""
        self._view(address, data.size)[:] = data

    def _view(self, address: int, size: int) -> Bytes:
        at = address - self.base
        if at < 0 or at + size > self.image.size:
            raise ValueError(f"{size} bytes at {address:#x} are not within the {self.image.size} bytes from "
                             f"{self.base:#x} on")
        return self.image[at:at + size]

    def fault(self, address: int, size: int, beat_bytes: int, *, write: bool) -> tuple[int, Response] | None:
        """The first burst of an access that answers with an error: its first address, and the response.

        Bursts end at 4 KiB boundaries, and after 256 beats.
        """
        most = min(_PAGE_BYTES, _MOST_BEATS * beat_bytes)
        end = address + size
        while address < end:
            until = min(end, (address // most + 1) * most)
            for each in self.faults:
                # Whole beats are read.
                last = until if write else address + -(-(until - address) // beat_bytes) * beat_bytes
                if (each.writes if write else each.reads) and each.start < last and address < each.end:
                    return address, each.response
            address = until
        return None


def image(size: int, fill: int = 0) -> Bytes:
    """So many bytes of the same value."""
    return np.full(size, fill, np.uint8)
