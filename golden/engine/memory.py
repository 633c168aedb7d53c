"""Memory images: bytes at addresses, and addresses that answer with an error."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cdma.golden.codec.buffers import Bytes, whole_number
from cdma.golden.engine.status import Response

__all__ = ["BurstError", "Fault", "Memory"]

_PAGE_BYTES = 4096


@dataclass(frozen=True)
class Fault:
    """Addresses from ``start`` to before ``end`` answer with an error, on reads, writes or both."""

    start: int
    end: int
    response: Response = Response.SLVERR
    reads: bool = True
    writes: bool = True


@dataclass(frozen=True)
class BurstError:
    """An access failed.

    Parameters
    ----------
    address
        First address of the burst.
    beat
        First address of its first beat that failed.
    response
        The AXI response.
    """

    address: int
    beat: int
    response: Response


class Memory:
    """Regions of bytes; addresses between them have no memory.

    Parameters
    ----------
    base
        Address of the first region's first byte.
    image
        Its bytes; written in place.
    faults
        Addresses that answer with an error.
    """

    def __init__(self, base: int, image: Bytes, faults: Iterable[Fault] = ()) -> None:
        self.image = image
        self.faults = list(faults)
        self._bases: list[int] = []
        self._images: list[Bytes] = []
        self.add(base, image)

    def add(self, base: int, image: Bytes) -> None:
        """Add a region; its bytes are written in place.

        Raises
        ------
        TypeError
            If the image is no flat array of bytes.
        ValueError
            If it overlaps another region.
        """
        if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 1:
            raise TypeError("the image of a memory must be a flat array of numpy.uint8, not "
                            f"{getattr(image, 'dtype', type(image).__name__)}{list(getattr(image, 'shape', ()))}")
        at = bisect_right(self._bases, whole_number(base, "base"))
        for each in range(max(at - 1, 0), min(at + 1, len(self._bases))):
            other, size = self._bases[each], self._images[each].size
            if base < other + size and other < base + image.size:
                raise ValueError(f"a region of {image.size} bytes at {base:#x} overlaps that of {size} bytes at "
                                 f"{other:#x}")
        self._bases.insert(at, base)
        self._images.insert(at, image)

    def read(self, address: int, size: int) -> Bytes:
        """A copy of ``size`` bytes; ValueError if they do not lie in one region."""
        return self._view(address, size).copy()

    def write(self, address: int, data: Bytes) -> None:
        """Write bytes; ValueError if they do not lie in one region."""
        self._view(address, data.size)[:] = data

    def _view(self, address: int, size: int) -> Bytes:
        each = bisect_right(self._bases, address) - 1
        if each >= 0:
            at = address - self._bases[each]
            if at + size <= self._images[each].size:
                return self._images[each][at:at + size]
        regions = ", ".join(f"{image.size} at {base:#x}" for base, image in zip(self._bases, self._images, strict=True))
        raise ValueError(f"{size} bytes at {address:#x} are not within a region: there are {regions}")

    def error(self, address: int, size: int, beat_bytes: int, *, write: bool,
              most_beats: int = 256) -> BurstError | None:
        """The first error of an access; None if there is none.

        An access is split into bursts of at most ``most_beats`` that end at multiples of their greatest length, and
        at 4 KiB boundaries. A beat fails if any of its bytes lies in a fault, also a byte that is not used; of several
        faults in a beat the first in the list answers.

        Parameters
        ----------
        address
            A multiple of ``beat_bytes``.
        most_beats
            Beats of a burst at most, a power of two.
        """
        end = address + -(-size // beat_bytes) * beat_bytes
        found: BurstError | None = None
        span = min(_PAGE_BYTES, most_beats * beat_bytes)
        for fault in self.faults:
            first = max(fault.start, address)
            if not (fault.writes if write else fault.reads) or first >= min(fault.end, end):
                continue
            beat = first // beat_bytes * beat_bytes
            if found is None or beat < found.beat:
                found = BurstError(max(address, beat // span * span), beat, fault.response)
        return found
