"""The cycles that a transfer takes in the engine, block by block, from the bytes of each block.

Offload. A lane reads a block at one beat per cycle into a store that holds a block and a few beats. When all of it is
there it decides how to code it, and packs it at one beat per cycle. A block is sent to the link, in stream order, when
all of it is in the lane's buffer. The link's writer collects a whole burst before it writes it, and holds two. ::

    read[k]  = max(read[k - lanes], space in the store)                   + beats
    coded[k] = max(read[k], coded[k - lanes], space in the buffer)        + beats
    sent[k]  = max(sent[k - 1], coded[k], space in the writer)            + link bytes / link beat
    burst[j] = max(burst[j - 1], burst j collected)                       + burst bytes / link bandwidth

Prefetch. Blocks arrive over the link in order, while the memory of their lane has space: it takes one block while the
one before is read. A lane expands a block at one beat per cycle while it arrives. ::

    begin[k] = max(come[k - 1], space in the buffer)
    come[k]  = begin[k] + link bytes / link bandwidth
    done[k]  = max(come[k], max(begin[k], done[k - lanes]) + beats)

The rest are the constants below. They were read from simulations and are the same for all presets.
:mod:`cdma.verif.engine.simulate` measures what this module predicts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.codec.coding import most_tag_rows
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats

__all__ = ["Blocks", "Timing"]

OFFLOAD_CYCLES = 57
"""Offload: cycles from the start of a descriptor to its completion, without those of blocks and memory latency."""
PREFETCH_CYCLES = 48
"""Prefetch: the same."""
OFFLOAD_EXPONENTS = 9
"""Offload: cycles more if blocks are coded with exponents, because their lengths are known later."""
PREFETCH_EXPONENTS = 18
"""Prefetch: the same, because line headers are counted first."""
REORDER_CYCLES = 3
"""Prefetch: cycles more if reads of the link have an identifier each, because they are put in order."""

_SPARE = 16         # beats that a lane's store of raw beats holds beside a block
_MORE_ROWS = 6      # packed rows that may wait in the compressor beside those that tags take
_FRAMED = 4         # most blocks in an offload buffer, also if they are short
_WAITING = 2        # most blocks in a prefetch buffer
_BURSTS = 2         # bursts in the link's writer
_HEADER = 4


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a tensor as they cross the link.

    Parameters
    ----------
    raw_bytes
        Of the tensor in device memory.
    link_bytes
        Of each block: header, payload, padding.
    raw
        Whether each is left raw.
    nonzero
        Elements that are not zero, as the completion counts them.
    part
        Raw bytes for each byte that is coded: 2 where float32 is narrowed to 16 bits.
    exponents
        Whether blocks that are not raw are coded with exponents.
    """

    raw_bytes: int
    link_bytes: NDArray[np.int64]
    raw: NDArray[np.bool_]
    nonzero: int = 0
    part: int = 1
    exponents: bool = False

    @property
    def packed_bytes(self) -> int:
        """Bytes of the block stream."""
        return int(self.link_bytes.sum())

    @property
    def raw_blocks(self) -> int:
        """How many are left raw."""
        return int(np.count_nonzero(self.raw))


class Timing:
    """Predicts the cycles of an engine's transfers.

    Parameters
    ----------
    config
        The engine.
    link
        Bytes that the link carries per cycle, limited to the port's width; None stands for the width.
    latency
        Cycles until memories answer.

    Raises
    ------
    ValueError
        If the link carries nothing, or the latency is negative.
    """

    def __init__(self, config: EngineConfig, link: float | None = None, latency: int = 0) -> None:
        if link is not None and not link > 0:
            raise ValueError(f"the link must carry more than 0 bytes in a cycle, not {link:g}")
        if latency < 0:
            raise ValueError(f"the latency must be 0 cycles or more, not {latency}")
        self.config = config
        self.latency = latency
        self._port = config.link_beat_bytes
        self._burst = burst_beats(self._port, config.burst_beats) * self._port
        # Packed rows of a block wait in the compressor too: as many as tags take, and a few.
        row = max(config.beat_bytes, GROUP_BYTES) if config.exponents else config.beat_bytes
        self._packed = row * (most_tag_rows(row, config.element_bytes, config.block_bytes) + _MORE_ROWS)
        self.link = float(self._port) if link is None else min(link, float(self._port))
        # Latency limits a port to its outstanding bursts per latency, for reads and for writes.
        open_ = config.outstanding_reads
        self._ordering = REORDER_CYCLES if config.link_read_ids > 1 else 0
        lane_burst = burst_beats(config.beat_bytes, config.burst_beats) * config.beat_bytes
        self._lane_moves = self._answered(config.beat_bytes, min(config.block_bytes, lane_burst), open_)
        self._link_writes = min(self.link, self._answered(self._port, self._burst, open_))
        self._link_reads = min(self.link, self._answered(self._port, self._burst, config.link_reads, self._ordering))
        odd = config.lanes & (config.lanes - 1)
        # If the number of lanes is not a power of two, the first lane comes from a long division of the block's number.
        self._finding = config.address_bits - (config.block_bytes.bit_length() - 1) if odd else 0

    def offload(self, blocks: Blocks) -> float:
        """Cycles from taking the descriptor to its completion."""
        config, lanes = self.config, self.config.lanes
        raw = _raw_lengths(blocks, config.block_bytes)
        reads = (raw / self._lane_moves).tolist()
        codes = np.ceil(raw / blocks.part / config.beat_bytes).tolist()
        sizes = blocks.link_bytes.tolist()
        read, coded, begun, sent = ([0.0] * len(sizes) for _ in range(4))
        rooms = [_Room(config.buffer_bytes + self._packed, _FRAMED) for _ in range(lanes)]
        writer = _Writer(self._burst, self._link_writes)
        now = 0.0
        for k, size in enumerate(sizes):
            before = k - lanes
            start, packing = (read[before], coded[before]) if before >= 0 else (0.0, 0.0)
            if before >= 0:
                # Space becomes free beat by beat, as the block before leaves the store.
                start = max(start, packing - codes[before] - _SPARE)
            read[k] = max(start + reads[k], packing - _SPARE)
            start = max(read[k], packing)
            rows = ceil(size / self._port) * self._port
            coded[k] = max(start + codes[k], *(sent[each] - share * (sent[each] - begun[each])
                                               for each, share in rooms[k % lanes].put(k, rows)), 0.0)
            begin = begun[k] = max(now, coded[k])
            now = sent[k] = max(begin + size / self._port, writer.room(size))
            writer.take(size, begin, now)
        return OFFLOAD_CYCLES + OFFLOAD_EXPONENTS * blocks.exponents + self._finding + 2 * self.latency + writer.end()

    def prefetch(self, blocks: Blocks) -> float:
        """Cycles from taking the descriptor to its completion."""
        config, lanes = self.config, self.config.lanes
        beats = (_raw_lengths(blocks, config.block_bytes) / self._lane_moves).tolist()
        sizes = blocks.link_bytes.tolist()
        rooms = [_Room(config.buffer_bytes, _WAITING) for _ in range(lanes)]
        done = [0.0] * len(sizes)
        come = 0.0
        for k, size in enumerate(sizes):
            takes = size / self._link_reads
            rows = ceil((size - _HEADER) / self._port) * self._port
            # Its last row waits until the blocks it replaces are done; earlier rows need only part of their space.
            begin = max(come, *(done[each] - takes for each, _ in rooms[k % lanes].put(k, rows)), 0.0)
            start = begin
            if k >= lanes:
                start = max(start, done[k - lanes])
            come = begin + takes
            done[k] = max(start + beats[k], come)
        return (PREFETCH_CYCLES + PREFETCH_EXPONENTS * blocks.exponents + self._ordering + self._finding
                + 2 * self.latency + max(done))

    def rough(self, raw_bytes: int, link_bytes: float) -> tuple[float, float]:
        """Cycles of offload and prefetch from sizes alone: start-up, and the time of the slower of lanes and link."""
        config = self.config
        lanes = raw_bytes / config.lanes
        begin = self._finding + 2 * self.latency
        filling = (2 * min(config.block_bytes, raw_bytes) / config.beat_bytes
                   + min(self._burst, link_bytes) / self.link)
        offload, prefetch = (max(link_bytes / moves, lanes / self._lane_moves)
                             for moves in (self._link_writes, self._link_reads))
        return OFFLOAD_CYCLES + begin + filling + offload, PREFETCH_CYCLES + self._ordering + begin + prefetch

    def _answered(self, beat: int, burst: int, most: int, more: int = 0) -> float:
        """Bytes that a port moves per cycle with ``most`` bursts outstanding, ``more`` cycles behind the memory."""
        return min(float(beat), most * burst / (self.latency + more + burst / beat))


class _Room:
    """A lane's buffer, and the blocks in it."""

    def __init__(self, size: int, most: int) -> None:
        self._free = size
        self._most = most
        self._held: deque[tuple[int, int]] = deque()

    def put(self, block: int, size: int) -> list[tuple[int, float]]:
        """Put a block in; returns the blocks that must leave first, and the share of each that may stay meanwhile."""
        left = []
        while self._held and (size > self._free or len(self._held) >= self._most):
            full = len(self._held) >= self._most
            other, freed = self._held.popleft()
            self._free += freed
            # Space becomes free row by row, but a place among the blocks only with the last one.
            left.append((other, 0.0 if full else min(1.0, max(0, self._free - size) / freed)))
        self._held.append((block, size))
        self._free -= size
        return left


class _Writer:
    """The link's writer: collects bursts, and writes one after the other."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst = burst
        self._rate = rate
        self._taken = 0
        self._gathered = 0.0
        self._ends: list[float] = []

    def room(self, size: int) -> float:
        """The cycle from which there is space for ``size`` more bytes."""
        free = self._taken + size - _BURSTS * self._burst
        if free <= 0:
            return 0.0
        number = min((free - 1) // self._burst, len(self._ends) - 1)
        return self._ends[number] - max(0, (number + 1) * self._burst - free) / self._rate

    def take(self, size: int, begin: float, end: float) -> None:
        """Take bytes that arrive at a constant rate from ``begin`` to ``end``."""
        self._taken += size
        while (len(self._ends) + 1) * self._burst <= self._taken:
            full = (len(self._ends) + 1) * self._burst
            self._write(end - (end - begin) * (self._taken - full) / size, self._burst)
        self._gathered = end

    def end(self) -> float:
        """The cycle in which everything is written."""
        rest = self._taken - len(self._ends) * self._burst
        if rest:
            self._write(self._gathered, rest)
        return self._ends[-1]

    def _write(self, gathered: float, size: int) -> None:
        before = self._ends[-1] if self._ends else 0.0
        self._ends.append(max(gathered, before) + size / self._rate)


def _raw_lengths(blocks: Blocks, block_bytes: int) -> NDArray[Any]:
    """Raw bytes of each block: the same for all except the last."""
    count = blocks.link_bytes.size
    lengths = np.full(count, block_bytes)
    lengths[-1] = blocks.raw_bytes - (count - 1) * block_bytes
    return lengths
