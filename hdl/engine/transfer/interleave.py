"""The interleave of blocks over lanes: the lane of an address, and the blocks of a lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.common.counters import counter
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.records import BLOCK_BITS

__all__ = ["BlockWalker", "LaneFinder", "lane_bits", "lane_block_layout"]


def lane_bits(config: EngineConfig) -> int:
    """Bits of a lane's number."""
    return max(1, ceil_log2(config.lanes))


def lane_block_layout(config: EngineConfig) -> data.StructLayout:
    """A block for a lane to offload: address, raw length, how to code it, and its number modulo 256.

    ``bytes`` counts bytes of device memory, also where values are narrowed. ``element``, ``exponents``, ``narrow``,
    ``fallback`` and ``leave_raw`` are those of :func:`cdma.hdl.engine.transfer.records.request_layout`.
    """
    return data.StructLayout({"address": config.address_bits, "bytes": range(config.block_bytes + 1), "element": 3,
                              "exponents": 1, "narrow": Narrowing, "fallback": 1, "leave_raw": 1, "sequence": 8})


class LaneFinder(wiring.Component):
    """Finds the lane of an address: (address / block_bytes) mod lanes.

    If the number of lanes is no power of two, the remainder is computed by long division, one address bit per cycle.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    address : In(address_bits)
        The address, read in the cycle of ``start``.
    start : In(1)
        Starts the computation.
    done : Out(1)
        ``lane`` is valid; stays high until the next ``start``.
    lane : Out(lane_bits)
        The lane.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({"address": In(config.address_bits), "start": In(1), "done": Out(1),
                          "lane": Out(lane_bits(config))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._config.lanes
        block = self.address[exact_log2(self._config.block_bytes):]
        if lanes & (lanes - 1) == 0:
            with m.If(self.start):
                m.d.sync += [self.lane.eq(block[:exact_log2(lanes)]), self.done.eq(1)]
            return m
        rest = Signal.like(block, reset_less=True)
        left = Signal(range(len(block) + 1))
        step = Signal(lane_bits(self._config) + 1)
        m.d.comb += [step.eq(Cat(rest[-1], self.lane)), self.done.eq(left == 0)]
        with m.If(self.start):
            m.d.sync += [rest.eq(block), left.eq(len(block)), self.lane.eq(0)]
        with m.Elif(~self.done):
            m.d.sync += [
                rest.eq(rest << 1),
                left.eq(left - 1),
                self.lane.eq(Mux(step >= lanes, step - lanes, step)),
            ]
        return m


class BlockWalker(wiring.Component):
    """Gives a lane the blocks of a transfer that belong to it, independently of the other lanes.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    load : In(1)
        Begin a transfer at the lane's first block, while ``free``; all inputs are read in this cycle only.
    free : Out(1)
        All blocks of the transfer before are taken.
    page : In(address_bits - log2(block_bytes))
        Address of that block divided by ``block_bytes``.
    to_end : In(signed(BLOCK_BITS + 1))
        Number of that block, less the number of blocks of the transfer; not negative when the transfer has no block for
        this lane.
    sequence : In(8)
        Number of that block, modulo 256.
    element, exponents, narrow, fallback, leave_raw : In
        How the blocks are to be coded, as in the request.
    tail_bytes : In(range(block_bytes + 1))
        Raw bytes of the transfer's last block.
    o : Out(stream.Signature(lane_block_layout(config)))
        The blocks.
    """

    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        pages = config.address_bits - exact_log2(config.block_bytes)
        super().__init__({
            "load": In(1), "free": Out(1), "page": In(pages), "to_end": In(BLOCK_BITS + 1), "sequence": In(8),
            "element": In(3), "exponents": In(1), "narrow": In(Narrowing), "fallback": In(1), "leave_raw": In(1),
            "tail_bytes": In(range(config.block_bytes + 1)),
            "o": Out(stream.Signature(lane_block_layout(config))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        page = Signal.like(self.page, reset_less=True)
        sequence = Signal.like(self.sequence, reset_less=True)
        to_end = Signal(BLOCK_BITS + 1)
        tail_bytes = Signal.like(self.tail_bytes, reset_less=True)
        how = []        # register, input, output
        for name in ("element", "exponents", "narrow", "fallback", "leave_raw"):
            value = Value.cast(getattr(self, name))
            how.append((Signal.like(value, name=name, reset_less=True), value, Value.cast(self.o.payload[name])))
        m.d.comb += [
            self.free.eq(~to_end[-1]),
            self.o.valid.eq(to_end[-1]),
            self.o.payload.address.eq(page << exact_log2(config.block_bytes)),
            self.o.payload.bytes.eq(Mux(to_end.all(), tail_bytes, config.block_bytes)),
            self.o.payload.sequence.eq(sequence),
            *(shown.eq(held) for held, _, shown in how),
        ]
        with m.If(self.load):
            m.d.sync += [tail_bytes.eq(self.tail_bytes), *(held.eq(value) for held, value, _ in how)]
        for number, first in ((page, self.page), (to_end, self.to_end), (sequence, self.sequence)):
            counter(m, number, self.o.valid & self.o.ready, clear=self.load, begin=first, by=config.lanes)
        return m
