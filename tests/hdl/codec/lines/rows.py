"""Packets of packed bytes cut into rows, and a player of them, for tests of the rows' ring and of its tag reader."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdma.hdl.codec.lines.row_buffer import ROWS

__all__ = ["Feed", "Row", "one_hot", "rows_of"]


@dataclass(frozen=True)
class Row:
    """A row: its bytes, and the packet it is of."""

    content: bytes          # those in use
    packet: bytes           # all of the packet
    place: int              # of the row's first byte in the packet
    element: int            # the packet's element size in bytes
    last: bool              # it is the packet's last one


def rows_of(packets: Sequence[tuple[bytes, int]], size: int) -> list[Row]:
    """The rows of packets, each its bytes and its element size."""
    return [Row(packet[place:place + size], packet, place, element, place + size >= len(packet))
            for packet, element in packets for place in range(0, max(1, len(packet)), size)]


def one_hot(number: int) -> int:
    """The place in the ring of a row, counted from the first one ever."""
    return 1 << number % ROWS


class Feed:
    """Offers rows as beats; what does not count in them is noise."""

    def __init__(self, port: Any, rows: Sequence[Row], size: int, rng: random.Random, busy: float):
        self.port, self.rows, self._size, self._rng, self._busy = port, rows, size, rng, busy
        self.taken = 0
        self._offered = False

    def offer(self, ctx: Any) -> bool:
        """Sets the port for a cycle; whether the beat is taken in it."""
        rng = self._rng
        if not self._offered and self.taken < len(self.rows) and rng.random() < self._busy:
            self._offered = True
            row = self.rows[self.taken]
            content = row.content + rng.randbytes(self._size - len(row.content))
            ctx.set(self.port.payload, {
                "data": int.from_bytes(content, "little"), "last": row.last,
                "keep": (1 << len(row.content)) - 1 if row.last else rng.getrandbits(self._size),
                "element": rng.randrange(8) if row.place else row.element})
        ctx.set(self.port.valid, self._offered)
        return self._offered and bool(ctx.get(self.port.ready))

    def moved(self) -> None:
        """The beat was taken."""
        self.taken += 1
        self._offered = False
