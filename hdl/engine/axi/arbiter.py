"""Share one AXI4 port among several masters: its read channels, or its write channels."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.engine.axi.signature import axi_read, axi_write

__all__ = ["AxiReadArbiter", "AxiWriteArbiter"]

_REQUEST = ("addr", "len", "size", "burst")


def _requests(m: Module, masters: Sequence[wiring.PureInterface], port: wiring.PureInterface, channel: str, free: Value
              ) -> tuple[Signal, Signal]:
    """Gives the requests of masters to a port in turn, through a register: round robin, beginning with the master after
    the one served last.

    Parameters
    ----------
    m : Module
        Where the logic goes.
    masters : sequence
        Whose requests they are.
    port
        The port they share.
    channel : str
        ``ar`` or ``aw``.
    free : Value
        A request may be taken.

    Returns
    -------
    tuple
        Whether a request is taken in this cycle, and the number of its master.
    """
    count = len(masters)
    latest = Signal(range(count))
    chosen = Signal(range(count))
    some = Cat(getattr(master, f"{channel}valid") for master in masters).any()
    with m.Switch(latest):
        for after in range(count):
            with m.Case(after):
                for number in [(after - k) % count for k in range(count)]:
                    with m.If(getattr(masters[number], f"{channel}valid")):
                        m.d.comb += chosen.eq(number)
    asks = Signal()
    takes = Signal()
    ready = getattr(port, f"{channel}ready")
    m.d.comb += [takes.eq(some & ~asks & free), getattr(port, f"{channel}valid").eq(asks)]
    m.d.comb += [getattr(master, f"{channel}ready").eq(takes & (chosen == number))
                 for number, master in enumerate(masters)]
    m.d.sync += asks.eq(takes | (asks & ~ready))
    with m.If(takes):
        m.d.sync += latest.eq(chosen)
    for name in (f"{channel}{each}" for each in _REQUEST):
        held = Signal.like(getattr(port, name), name=f"held_{name}", reset_less=True)
        m.d.comb += getattr(port, name).eq(held)
        with m.If(takes):
            m.d.sync += held.eq(Array(getattr(master, name) for master in masters)[chosen])
    return takes, chosen


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

        takes, chosen = _requests(m, [*self.i], self.o, "ar", open_.i.ready)
        m.d.comb += [
            open_.i.valid.eq(takes),
            open_.i.payload.owner.eq(chosen),
            open_.i.payload.len.eq(Array(master.arlen for master in self.i)[chosen]),
        ]

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


class AxiWriteArbiter(wiring.Component):
    """Merges the write channels of several masters: addresses in turn, beats in the order of the addresses, responses
    to the master of the burst.

    ::

        i[0] aw -->+-------+    +----------+
        i[1] aw -->| turns |--->| register |--> o aw
          ...      +-------+    +----------+
                       +--> [owners of the bursts that have beats to come] --+
        i[k] w --------------------------------------------------------------+--> o w
                       +--> [FIFO of owners] --+
        i[k] b <-------------------------------+--------------------------------- o b

    Latency: 1 cycle for an address, none for beats and responses. Throughput: one beat per cycle across bursts of two
    beats or more; one address every 2 cycles.

    The beats of a burst are not mixed with others: those of the next one come when its last has gone. A master's first
    beat waits until its address was taken. ``i.wready`` depends on ``o.wready`` and registers, ``o.bready`` on the
    masters' ``bready`` and registers; neither on a ``valid``.

    Parameters
    ----------
    address_bits, beat_bytes : int
        Bits of an address, bytes of a beat.
    inputs : int
        Number of masters, 1 or more; served round robin. Each sends the beats of its bursts in order.
    outstanding : int
        Greatest number of outstanding bursts.

    Members
    -------
    i : In(axi_write(address_bits, beat_bytes)).array(inputs)
        From the masters.
    o : Out(axi_write(address_bits, beat_bytes))
        The port they share.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes), A5.3 (write data come in the order of the addresses, and
    responses of one identifier too).
    """

    def __init__(self, address_bits: int, beat_bytes: int, inputs: int, outstanding: int):
        self._inputs = inputs
        self._outstanding = outstanding
        port = axi_write(address_bits, beat_bytes)
        super().__init__({"i": In(port).array(inputs), "o": Out(port)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._inputs
        # It holds `outstanding` owners: one of them in its output register.
        m.submodules.open = open_ = StreamFifo(range(count), self._outstanding - 1)
        # Bursts with beats to come: the one whose beats go, and the next one.
        sending = Signal(range(3))
        owner, after = Signal(range(count)), Signal(range(count))
        ends = Signal()
        takes, chosen = _requests(m, [*self.i], self.o, "aw", open_.i.ready & (sending != 2))
        m.d.comb += [
            open_.i.valid.eq(takes), open_.i.payload.eq(chosen),
            ends.eq(self.o.wvalid & self.o.wready & self.o.wlast),
        ]
        m.d.sync += sending.eq(sending + takes - ends)
        with m.If(ends):
            m.d.sync += owner.eq(after)
        with m.If(takes):
            m.d.sync += after.eq(chosen)
            with m.If((sending == 0) | (ends & (sending == 1))):
                m.d.sync += owner.eq(chosen)

        m.d.comb += self.o.wvalid.eq((sending != 0) & Array(master.wvalid for master in self.i)[owner])
        m.d.comb += [getattr(self.o, name).eq(Array(getattr(master, name) for master in self.i)[owner])
                     for name in ("wdata", "wstrb", "wlast")]
        answered = open_.o.payload
        m.d.comb += [
            self.o.bready.eq(open_.o.valid & Array(master.bready for master in self.i)[answered]),
            open_.o.ready.eq(self.o.bvalid & self.o.bready),
        ]
        for number, master in enumerate(self.i):
            m.d.comb += [
                master.wready.eq(self.o.wready & (sending != 0) & (owner == number)),
                master.bvalid.eq(self.o.bvalid & open_.o.valid & (answered == number)),
                master.bresp.eq(self.o.bresp),
            ]
        return m
