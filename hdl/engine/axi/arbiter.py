"""Shares one AXI4 read port among several masters."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.common.fifo import StreamFifo
from hdl.engine.axi.signature import axi_read

__all__ = ["AxiReadArbiter"]

_REQUEST = ("araddr", "arlen", "arsize", "arburst")


class AxiReadArbiter(wiring.Component):
    """Merges the read channels of several masters: requests in turn, data to the master that requested it.

    ::

        i[0] ar -->+-------+    +----------+
        i[1] ar -->| turns |--->| register |--> o ar
          ...      +-------+    +----------+
                       +--> [FIFO of owners] --+
        i[k] r <--------------------- [count] -+----- o r

    Latency: 1 cycle for a request, none for data. Throughput: one request every 2 cycles, one beat per cycle.

    Bursts arrive in the order of their requests, so a master that does not take its data delays the others. Beats are
    counted: ``rlast`` and ``rid`` of the port are ignored, and ``rlast`` to the masters is computed. ``o.rready`` is
    that of the master whose burst arrives.

    Parameters
    ----------
    address_bits, beat_bytes : int
        Bits of an address, bytes of a beat.
    inputs : int
        Number of masters, 1 or more; served round robin.
    outstanding : int
        Greatest number of outstanding bursts.

    Members
    -------
    i : In(axi_read(address_bits, beat_bytes)).array(inputs)
        From the masters.
    o : Out(axi_read(address_bits, beat_bytes))
        The port they share.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes), A5.3 (transactions of one identifier stay in order).
    """

    def __init__(self, address_bits: int, beat_bytes: int, inputs: int, outstanding: int):
        self._inputs = inputs
        self._outstanding = outstanding
        port = axi_read(address_bits, beat_bytes)
        super().__init__({"i": In(port).array(inputs), "o": Out(port)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._inputs
        owned = data.StructLayout({"owner": range(count), "len": 8})
        # It holds `outstanding` bursts: one of them in its output register.
        m.submodules.open = open_ = StreamFifo(owned, self._outstanding - 1)

        # Requests: round robin, beginning with the master after the one served last.
        latest = Signal(range(count))
        chosen = Signal(range(count))
        some = Cat(master.arvalid for master in self.i).any()
        with m.Switch(latest):
            for after in range(count):
                with m.Case(after):
                    for number in [(after - k) % count for k in range(count)]:
                        with m.If(self.i[number].arvalid):
                            m.d.comb += chosen.eq(number)
        asks = Signal()
        takes = Signal()
        m.d.comb += [
            takes.eq(some & ~asks & open_.i.ready),
            open_.i.valid.eq(takes),
            open_.i.payload.owner.eq(chosen),
            open_.i.payload.len.eq(Array(master.arlen for master in self.i)[chosen]),
            self.o.arvalid.eq(asks),
        ]
        m.d.comb += [master.arready.eq(takes & (chosen == number)) for number, master in enumerate(self.i)]
        m.d.sync += asks.eq(takes | (asks & ~self.o.arready))
        with m.If(takes):
            m.d.sync += latest.eq(chosen)
        for name in _REQUEST:
            held = Signal.like(getattr(self.o, name), name=f"held_{name}", reset_less=True)
            m.d.comb += getattr(self.o, name).eq(held)
            with m.If(takes):
                m.d.sync += held.eq(Array(getattr(master, name) for master in self.i)[chosen])

        # Data.
        burst = open_.o.payload
        beat = Signal(8)
        ends = Signal()
        moves = Signal()
        m.d.comb += [
            ends.eq(beat == burst.len),
            self.o.rready.eq(open_.o.valid & Array(master.rready for master in self.i)[burst.owner]),
            moves.eq(self.o.rvalid & self.o.rready),
            open_.o.ready.eq(moves & ends),
        ]
        for number, master in enumerate(self.i):
            m.d.comb += [
                master.rvalid.eq(self.o.rvalid & open_.o.valid & (burst.owner == number)),
                master.rdata.eq(self.o.rdata),
                master.rresp.eq(self.o.rresp),
                master.rlast.eq(ends),
            ]
        with m.If(moves):
            m.d.sync += beat.eq(Mux(ends, 0, beat + 1))
        return m
