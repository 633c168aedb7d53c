"""Places in a memory: taken, given back, and merged with what is free beside them."""

from __future__ import annotations

__all__ = ["FullError", "Places"]


class FullError(Exception):
    """There is no place of that size."""


class Places:
    """The free bytes of a memory.

    Parameters
    ----------
    base, size
        The addresses there are.
    grain
        Places begin and end at its multiples.
    """

    def __init__(self, base: int, size: int, grain: int) -> None:
        start = -(-base // grain) * grain
        self.grain = grain
        self._free = [(start, (base + size) // grain * grain)]

    @property
    def free(self) -> int:
        """Bytes that are free, in all."""
        return sum(end - start for start, end in self._free)

    @property
    def largest(self) -> int:
        """Bytes of the largest place."""
        return max((end - start for start, end in self._free), default=0)

    def rounded(self, size: int) -> int:
        """Bytes of a place for so many: whole grains."""
        return -(-size // self.grain) * self.grain

    def take(self, size: int, align: int = 1) -> int:
        """The address of a place, the first that fits.

        Parameters
        ----------
        align
            The address is a multiple of this, and of the grain.

        Raises
        ------
        FullError
            If there is none.
        """
        need, align = self.rounded(size), max(align, self.grain)
        for at, (start, end) in enumerate(self._free):
            address = -(-start // align) * align
            if address + need <= end:
                left = [(start, address), (address + need, end)]
                self._free[at:at + 1] = [each for each in left if each[0] < each[1]]
                return address
        raise FullError

    def give(self, address: int, size: int) -> None:
        """Free a place, or a part of one that begins and ends at a multiple of the grain."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted([*self._free, (address, address + self.rounded(size))]):
            if merged and merged[-1][1] == start:
                merged[-1] = merged[-1][0], end
            elif start < end:
                merged.append((start, end))
        self._free = merged
