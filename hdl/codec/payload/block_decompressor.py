"""The decompressor of blocks whose tags come first: payloads in, raw beats out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import largest_payload
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.payload.payload_store import PayloadStore
from cdma.hdl.codec.payload.row_unpacker import RowUnpacker
from cdma.hdl.codec.payload.unpacking import payload_beat_layout, payload_error_layout
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.beat_width import BeatDownsizer, BeatUpsizer
from cdma.hdl.common.protected import protection
from cdma.hdl.common.skid import Skid

__all__ = ["BlockDecompressor"]


class BlockDecompressor(wiring.Component):
    """Expands and checks the payloads of blocks, one raw beat per cycle: zero-value coding with the tags first, and
    exponent coding.

    ::

                             order
                            +------>
        i --> payload store | words  row unpacker --> o, error
                            +------>
                            | lines
                            +------>
                            | data
                            +------>

    Lines are those of blocks with exponents. A group of these is 32 bytes: with beats of 16 bytes and exponents, pairs
    of beats go through a core of twice the width::

        i --> upsizer --> block decompressor, 32 bytes --> downsizer --> o, error

    For a lane of the engine, raw blocks (coding 0) take the same way: their slices of tags are all ones. And payloads
    may come in rows of 2 or 4 beats, from a link that is wider than the lane: the store takes a row per cycle.

    Latency from the first beat of a payload to the first raw beat: 11 cycles, and one more for each beat of tags but
    the first. In builds with exponents and beats of 32 bytes, 13 in place of 11, and 22 for a block with exponents,
    with one more for every 4 lines but the first 4. With beats of 16 bytes 15 and 23, with 64 bytes 13 and 23. A raw
    block takes 8, in builds with exponents 10, or 11 if beats and rows have 16 bytes. In the pipeline ``fast`` 4 more,
    with exponents 7.

    Throughput: 1 raw beat per cycle, unless the packed side is empty. Blocks follow each other without a gap while the
    next payload comes in time.

    The first error of a block, in the order of docs/formats.md, is reported with its last raw beat. Then the next block
    works. A block gives a single raw beat, or two of 16 bytes with exponents, if its coding is not built, its raw
    length is not possible, or its metadata is truncated. A block with a bad line header gives the beats up to the first
    one of this line. The content of beats of a block with an error is undefined.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that are built: one or more of 1, 2, 4. Each block chooses one.
    block_bytes : int
        Raw bytes of the largest block: 512 to 32768, a multiple of 128.
    rows : int, optional
        Rows of the memory, each of ``row_bytes``, with exponents of 32 bytes at least: those of the longest payload,
        and one, at least. A quarter more than that when not given.
    exponents : tuple of int, optional
        Those of the element sizes that are built with exponent coding too: 2 for bfloat16, 4 for float32.
    for_lane : bool, optional
        Whether blocks may be raw: ``coding`` 0, whose payload is its raw bytes, in whole units: of the smallest element
        size, with exponents of a byte. A payload that is too short gives ``TRUNCATED_DATA``, one that is too long
        ``TRAILING_BYTES``.
    row_bytes : int, optional
        Bytes that come in a cycle: ``beat_bytes``, as when not given, or 2 or 4 times that.
    protected : bool, optional
        With parity in both memories.
    pipeline : str, optional
        ``small``, as when not given, or ``fast``: with registers behind memories and networks, for FPGAs.

    Members
    -------
    i : In(stream.Signature(payload_beat_layout(row_bytes)))
        Payloads by rows, without the length field of a short block. ``ready`` is a function of registers; with rows of
        16 bytes and exponents, also of ``last``.
    o : Out(beat_stream(beat_bytes))
        Raw beats. ``o.ready`` reaches no other port within a cycle.
    error : Out(payload_error_layout(block_bytes))
        Valid with the last beat of a block: its result.
    inject : In(2), bad : Out(1)
        If ``protected``: as those of :class:`cdma.hdl.codec.payload.payload_store.PayloadStore`. An error is found
        before the first beat that depends on what was read.

    Raises
    ------
    ValueError
        If ``row_bytes`` is none of the three, or there are too few rows.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], block_bytes: int, rows: int | None = None,
                 exponents: tuple[int, ...] = (), for_lane: bool = False, row_bytes: int | None = None,
                 protected: bool = False, pipeline: str = "small"):
        self._protected = protected
        self._pipeline = pipeline
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(element_bytes))
        self._exponents = tuple(sorted(exponents))
        self._block_bytes = block_bytes
        self._for_lane = for_lane
        # Bytes of a row on the port; of a beat of the data path; and of a row of the memories.
        self._port_bytes = beat_bytes if row_bytes is None else row_bytes
        if self._port_bytes not in (beat_bytes, 2 * beat_bytes, 4 * beat_bytes):
            raise ValueError(f"row_bytes must be {beat_bytes}, {2 * beat_bytes} or {4 * beat_bytes} for beats of "
                             f"{beat_bytes} bytes, not {row_bytes}")
        self._core_bytes = max(beat_bytes, GROUP_BYTES) if exponents else beat_bytes
        self._row_bytes = max(self._port_bytes, self._core_bytes)
        longest = -(-largest_payload(block_bytes, self._sizes, self._exponents) // self._row_bytes)
        self._rows = longest + longest // 4 + 1 if rows is None else rows
        super().__init__({
            "i": In(stream.Signature(payload_beat_layout(self._port_bytes))),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(payload_error_layout(block_bytes)), **protection(protected, 2),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._core_bytes > self._beat_bytes:
            self._in_pairs(m)
            return m
        m.submodules.store = store = PayloadStore(
            self._beat_bytes, self._sizes, self._block_bytes, self._rows, self._exponents, self._for_lane,
            self._row_bytes // self._beat_bytes, self._protected, self._pipeline)
        if self._protected:
            m.d.comb += [store.inject.eq(self.inject), self.bad.eq(store.bad)]
        m.submodules.unpacker = unpacker = RowUnpacker(
            self._beat_bytes, self._sizes, self._block_bytes, self._exponents, self._for_lane, self._pipeline)
        if self._pipeline == "fast":
            # What comes is known late in a cycle, and so is whether there is room for it.
            m.submodules.taken = taken = Skid(self.i.payload.shape())
            wiring.connect(m, wiring.flipped(self.i), taken.i)
            wiring.connect(m, taken.o, store.i)
        else:
            wiring.connect(m, wiring.flipped(self.i), store.i)
        wiring.connect(m, store.order, unpacker.order)
        wiring.connect(m, store.words, unpacker.words)
        if self._exponents:
            wiring.connect(m, store.lines, unpacker.lines)
        wiring.connect(m, store.data, unpacker.data)
        wiring.connect(m, unpacker.o, wiring.flipped(self.o))
        m.d.comb += self.error.eq(unpacker.error)
        return m

    def _in_pairs(self, m: Module) -> None:
        """A core of twice the width, for pairs of beats."""
        rows_in: Any = wiring.flipped(self.i)
        if self._row_bytes > self._port_bytes:
            m.submodules.upsizer = upsizer = BeatUpsizer(self._port_bytes, {"coding": 8, "raw_bytes": 16})
            wiring.connect(m, rows_in, upsizer.i)
            rows_in = upsizer.o
        m.submodules.core = core = BlockDecompressor(
            self._core_bytes, self._sizes, self._block_bytes, self._rows, self._exponents, self._for_lane,
            self._row_bytes, self._protected, self._pipeline)
        if self._protected:
            m.d.comb += [core.inject.eq(self.inject), self.bad.eq(core.bad)]
        m.submodules.downsizer = downsizer = BeatDownsizer(
            self._beat_bytes, {"error": payload_error_layout(self._block_bytes)})
        wiring.connect(m, rows_in, core.i)
        wide, beat = downsizer.i.payload, downsizer.o.payload
        m.d.comb += [
            downsizer.i.valid.eq(core.o.valid), core.o.ready.eq(downsizer.i.ready),
            wide.data.eq(core.o.payload.data), wide.keep.eq(core.o.payload.keep), wide.last.eq(core.o.payload.last),
            wide.error.eq(core.error),
            self.o.valid.eq(downsizer.o.valid), downsizer.o.ready.eq(self.o.ready),
            self.o.payload.data.eq(beat.data), self.o.payload.keep.eq(beat.keep), self.o.payload.last.eq(beat.last),
            self.error.eq(beat.error),
        ]
