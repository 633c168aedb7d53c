"""Places of tensors and streams in simulated memories, with gaps between them in which a stray byte is detected."""

from __future__ import annotations

import numpy as np

from cdma.verif.common.stream import Bytes

__all__ = ["Arena", "OutOfSpaceError"]

_GUARD = 64


class OutOfSpaceError(RuntimeError):
    """An image has no room left."""


class Arena:
    """Allocates places in an image one after the other, with guard bytes before and after each.

    The guards are at least 64 bytes of noise, as is all memory that is not allocated; a comparison of the whole image
    checks them too.

    Parameters
    ----------
    base, size
        The addresses there are.
    align
        Every place starts at a multiple of it.
    rng
        Chooses how wide the gaps are, and the noise.

    Members
    -------
    image
        What the memory has to be loaded with.
    """

    def __init__(self, base: int, size: int, align: int, rng: np.random.Generator) -> None:
        self.base = base
        self.size = size
        self.image = rng.integers(0, 256, size, dtype=np.uint8)
        self._align = align
        self._rng = rng
        self._free = 0

    def take(self, size: int, gap: int = 3, align: int | None = None) -> int:
        """Allocates bytes and returns their address.

        Parameters
        ----------
        gap
            Multiples of the alignment that may be left out, at most.
        align
            The address is a multiple of this; by default the alignment of all places.

        Raises
        ------
        OutOfSpaceError
            If there are not so many left.
        """
        align = align or self._align
        start = -(-(self._free + _GUARD) // align) + int(self._rng.integers(0, gap + 1))
        start *= align
        if start + size + _GUARD > self.size:
            raise OutOfSpaceError(f"{size} bytes do not fit after {start} of {self.size} bytes")
        self._free = start + size
        return self.base + start

    def put(self, data: Bytes, gap: int = 3) -> int:
        """The address of bytes that were put into the image."""
        address = self.take(data.size, gap)
        at = address - self.base
        self.image[at:at + data.size] = data
        return address

    def view(self, address: int, size: int) -> Bytes:
        """Bytes of the image."""
        return self.image[address - self.base:address - self.base + size]

    def clear(self) -> None:
        """Free all places; the image is kept."""
        self._free = 0
