"""Keeps the accounts of a transfer: capacity left at the destination, and totals."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.common.counters import count_down, count_up, counter
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS
from cdma.hdl.engine.transfer.streams import framed_stream

__all__ = ["Ledger", "counted_layout"]


def counted_layout(config: EngineConfig) -> data.StructLayout:
    """Counts of a block, sent with its first beat: see :func:`cdma.hdl.engine.transfer.streams.framed_stream`."""
    framed: Any = framed_stream(config).members["payload"].shape
    return data.StructLayout({name: framed[name].shape for name in ("block_words", "nonzero", "raw")})


class Ledger(wiring.Component):
    """Checks whether each block fits into the capacity that is left, and adds up the totals of those that do.

    The capacity left is kept in two counters, so that no comparison or subtraction is as wide as a length: ``purse``,
    in words, which holds enough for any block while ``reserve`` is not zero, and ``reserve``, in units that refill
    the purse.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    start : In(1), capacity : In(LENGTH_BITS)
        A transfer begins; its capacity in bytes.
    begins : In(1), facts : In(counted_layout(config))
        A block begins; what is counted of it.
    fits : Out(1)
        In the same cycle: no block so far has exceeded the capacity, including one that begins.
    overflow : Out({valid, block})
        From the next cycle on: number of the first block that did not fit. Nothing is counted any more, until reset.
    nonzero, raw_blocks : Out
        Totals, valid two cycles after the last block began.
    """

    def __init__(self, config: EngineConfig):
        self._facts = counted_layout(config)
        self._pipeline = config.pipeline
        super().__init__({
            "start": In(1), "capacity": In(LENGTH_BITS), "begins": In(1), "facts": In(self._facts), "fits": Out(1),
            "overflow": Out(data.StructLayout({"valid": 1, "block": BLOCK_BITS})),
            "nonzero": Out(LENGTH_BITS), "raw_blocks": Out(BLOCK_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        facts = self.facts
        unit = len(facts.block_words)       # a block has fewer than 2 ** unit words
        purse = Signal(unit + 1, reset_less=True)
        reserve = Signal(LENGTH_BITS - exact_log2(WORD_BYTES) - unit, reset_less=True)
        refilled = Signal(unit + 1)
        over = Signal()
        booked = Signal()
        some = reserve.any()
        if self._pipeline == "fast":
            # The same from a register.
            some = Signal(name="some", reset_less=True)
            with m.If(self.start):
                m.d.sync += some.eq((self.capacity >> exact_log2(WORD_BYTES))[unit:].any())
            with m.Elif(~purse[-1]):
                m.d.sync += some.eq(reserve[1:].any())
        m.d.comb += [
            refilled.eq(Cat(purse[:-1], purse[-1] | some)),
            over.eq(self.begins & (refilled < facts.block_words)),
            self.fits.eq(~over & ~self.overflow.valid),
            booked.eq(self.begins & self.fits),
        ]
        m.d.sync += purse.eq(refilled)
        with m.If(~purse[-1] & some):
            count_down(m, reserve)
        with m.If(over):
            m.d.sync += self.overflow.valid.eq(1)
        with m.If(booked):
            m.d.sync += purse.eq(refilled - facts.block_words)
            count_up(m, self.overflow.block)
            with m.If(facts.raw):
                count_up(m, self.raw_blocks)
        low = self.nonzero[:len(facts.nonzero)]
        carry = Signal()
        m.d.sync += carry.eq(0)
        with m.If(booked):
            m.d.sync += Cat(low, carry).eq(low + facts.nonzero)
        counter(m, self.nonzero[len(low):], carry, clear=self.start)
        with m.If(self.start):
            m.d.sync += [
                Cat(purse[:-1], reserve).eq(self.capacity >> exact_log2(WORD_BYTES)),
                purse[-1].eq(0),
                self.overflow.block.eq(0),
                low.eq(0),
                self.raw_blocks.eq(0),
            ]
        return m
