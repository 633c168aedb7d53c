"""The decompressor of blocks whose tags come first: payloads in, raw beats out."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.codec.coding import largest_payload
from hdl.codec.payload.payload_store import PayloadStore
from hdl.codec.payload.row_unpacker import RowUnpacker
from hdl.codec.payload.unpacking import payload_beat_layout, payload_error_layout
from hdl.common.beat import beat_stream

__all__ = ["BlockDecompressor"]


class BlockDecompressor(wiring.Component):
    """Expands and checks the payloads of blocks in zero-value coding with the tags first, one raw beat per cycle.

    ::

                             order
                            +------>
        i --> payload store | tags   row unpacker --> o, error
                            +------>
                            | data
                            +------>

    Latency: 11 cycles from the first beat of a payload to the first raw beat, and one more for each beat that its tags
    fill. Throughput: 1 raw beat per cycle, unless the packed side is empty or the memory's one
    port is busy. It reads the rows of the tags and then those of the data: rows that tags and data share are read
    twice. Blocks follow each other without a gap while the next payload comes in time.

    Errors are reported with the last raw beat of their block, the first one in the order of docs/formats.md. Then the
    next block works. A block whose coding is not built, whose raw length is not possible or whose tags are not whole
    gives one raw beat, which holds anything.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that are built: one or more of 1, 2, 4. Each block chooses one.
    block_bytes : int
        Raw bytes of the largest block: 512 to 32768, a multiple of 128.
    rows : int, optional
        Rows of the memory, each of a beat: those of the longest payload, and one, at least. A quarter more than that
        when not given.

    Members
    -------
    i : In(stream.Signature(payload_beat_layout(beat_bytes)))
        Payloads, without the word of a short block. ``ready`` is a function of registers.
    o : Out(beat_stream(beat_bytes))
        Raw beats. ``o.ready`` reaches no other port within a cycle.
    error : Out(payload_error_layout(block_bytes))
        Valid with the last beat of a block: its result.

    Source: docs/formats.md, tags first.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], block_bytes: int, rows: int | None = None):
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(element_bytes))
        self._block_bytes = block_bytes
        longest = -(-largest_payload(block_bytes, self._sizes) // beat_bytes)
        self._rows = longest + longest // 4 + 1 if rows is None else rows
        super().__init__({
            "i": In(stream.Signature(payload_beat_layout(beat_bytes))),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(payload_error_layout(block_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = PayloadStore(self._beat_bytes, self._sizes, self._block_bytes, self._rows)
        m.submodules.unpacker = unpacker = RowUnpacker(self._beat_bytes, self._sizes, self._block_bytes)
        wiring.connect(m, wiring.flipped(self.i), store.i)
        wiring.connect(m, store.order, unpacker.order)
        wiring.connect(m, store.tags, unpacker.tags)
        wiring.connect(m, store.data, unpacker.data)
        wiring.connect(m, unpacker.o, wiring.flipped(self.o))
        m.d.comb += self.error.eq(unpacker.error)
        return m
