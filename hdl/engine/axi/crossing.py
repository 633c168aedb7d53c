"""An AXI4 port in another clock domain than its masters."""

from __future__ import annotations

from amaranth.hdl import Const, DomainRenamer, Module, ResetInserter, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.crossing_reset import CrossingReset
from cdma.hdl.common.dual_clock_fifo import DualClockFifo
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.skid import Skid
from cdma.hdl.engine.axi.bursts import INCR
from cdma.hdl.engine.axi.isolation import AxiIsolation
from cdma.hdl.engine.axi.signature import axi_full, axi_read, axi_write

__all__ = ["FAR", "AxiCrossing"]

FAR = "link"
"""Clock domain of the port."""

_BEATS = 16
_REQUESTS = 8
_CONSTANT = ("id", "size", "burst")


class AxiCrossing(wiring.Component):
    """Takes the channels of a port to the domain ``link``, through FIFOs with two clocks.

    ::

                              sync  |  link
             +-----------+  ar, aw  |   8 rows         +-----+
        i -->|           |========[FIFO]==============>|     |--> o
             | isolation |   w      |  16 rows         | far |
        <----|           |========[FIFO]==============>|     |
             |           |<=======[FIFO]===============|     |<--
             +-----------+   r, b   |  16, 8 rows      +-----+
                  ^ open, lost      |                     ^ open
                  +-------------- [resets] ---------------+

    While the far side is open, channels pass; :class:`cdma.hdl.common.crossing_reset.CrossingReset` says when. When it
    was reset, :class:`cdma.hdl.engine.axi.isolation.AxiIsolation` answers for it. Fields that never change are not
    passed but made again: identifier, size and kind of burst. ``rlast`` is not passed, because masters count beats; at
    ``i`` it is
    0.

    Beats come out behind their address, or with it, as masters send them: those of a burst wait until its address is
    valid at the port.

    Latency: a cycle of the sender and 3 to 4 of the receiver for each channel. Throughput: a beat per cycle of the
    slower clock.

    **Whole bursts.** With ``whole`` beats, W has two bursts of rows, and an address is passed on only behind the last
    beat of its burst. It comes out a cycle after a beat would, so that all beats are there, even if the bits of the
    count of the beats come a cycle late::

        aw --> [FIFO of addresses] --> bursts complete? --> [FIFO: sync | link] --> [register] --> o

    Parameters
    ----------
    address_bits, beat_bytes : int
        Bits of an address, bytes of a beat.
    outstanding, most_beats : int
        Greatest number of outstanding bursts each way, and of beats of a burst.
    user_bits : int, optional
        Bits of AxUSER. With it AxCACHE, AxPROT, AxQOS and AxUSER are passed too; without it the port has none.
    whole : int
        Rows of the longest burst, a power of two, if addresses wait for their data; 0: they do not.

    Members
    -------
    i : In(port)
        From the masters, in ``sync``.
    o : Out(port)
        The port, in ``link``. In reset all ``valid`` and ``ready`` are 0 from the next edge on.

    Source: AMBA AXI and ACE (IHI 0022), A3.
    """

    def __init__(self, address_bits: int, beat_bytes: int, outstanding: int, most_beats: int,
                 user_bits: int | None = None, whole: int = 0):
        self._beat_bytes = beat_bytes
        self._most = outstanding, most_beats
        self._whole = whole
        bare = wiring.Signature({**axi_read(address_bits, beat_bytes).members,
                                 **axi_write(address_bits, beat_bytes).members})
        self._port = bare if user_bits is None else axi_full(address_bits, beat_bytes, user_bits)
        super().__init__({"i": In(self._port), "o": Out(self._port)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.resets = resets = CrossingReset(FAR)
        m.submodules.isolation = isolation = AxiIsolation(self._port, *self._most)
        wiring.connect(m, wiring.flipped(self.i), isolation.i)
        m.d.comb += [isolation.open.eq(resets.near_open), isolation.lost.eq(resets.lost),
                     resets.drained.eq(isolation.drained)]
        near, far = isolation.o, self.o
        due = self._due(m, far, resets)
        for channel, rows in (("ar", _REQUESTS), ("aw", _REQUESTS), ("w", 2 * self._whole or _BEATS),
                              ("r", _BEATS), ("b", _REQUESTS)):
            self._pass(m, channel, rows, near, far, resets, due if channel == "w" else Const(1))
        for channel in ("ar", "aw"):
            m.d.comb += [getattr(far, f"{channel}size").eq(exact_log2(self._beat_bytes)),
                         getattr(far, f"{channel}burst").eq(INCR)]
        return m

    def _due(self, m: Module, far: wiring.PureInterface, resets: CrossingReset) -> Value:
        """Whether the port has, or has had, the address of the beats that are next."""
        # Bursts whose address was taken, and whose last beat was not; -1: all beats are gone of the one whose address
        # still waits, and those behind it have to wait too.
        begun = Signal(range(-1, self._most[0] + 1))
        m.d[FAR] += begun.eq(begun + (far.awvalid & far.awready) - (far.wvalid & far.wready & far.wlast))
        with m.If(resets.far_clear):
            m.d[FAR] += begun.eq(0)
        return (begun > 0) | (far.awvalid & (begun == 0))

    def _pass(self, m: Module, channel: str, rows: int, near: wiring.PureInterface, far: wiring.PureInterface,
              resets: CrossingReset, due: Value) -> None:
        """Passes a channel through a FIFO, at whose end transfers wait until they are ``due``."""
        fields = [name for name in self._port.members if name.startswith(channel) and not name.endswith((
            "valid", "ready")) and name not in ("rlast", *(f"{channel}{each}" for each in _CONSTANT))]
        layout = data.StructLayout({name: self._port.members[name].shape for name in fields})
        out = channel in ("ar", "aw", "w")
        source, sink = (near, far) if out else (far, near)
        domains = {"writes": "sync", "reads": FAR} if out else {"writes": FAR, "reads": "sync"}
        m.submodules[channel] = fifo = DualClockFifo(layout, rows, **domains)
        source_open, sink_open = (resets.near_open, resets.far_open) if out else (resets.far_open, resets.near_open)
        source_clear, sink_clear = ((resets.near_clear, resets.far_clear) if out
                                    else (resets.far_clear, resets.near_clear))
        way_in = stream.Signature(layout).create(path=(channel, "in"))
        way_out = stream.Signature(layout).create(path=(channel, "out"))
        m.d.comb += [
            *(way_in.payload[name].eq(getattr(source, name)) for name in fields),
            way_in.valid.eq(getattr(source, f"{channel}valid") & source_open),
            getattr(source, f"{channel}ready").eq(way_in.ready & source_open),
            *(getattr(sink, name).eq(way_out.payload[name]) for name in fields),
            getattr(sink, f"{channel}valid").eq(way_out.valid & sink_open & due),
            way_out.ready.eq(getattr(sink, f"{channel}ready") & sink_open & due),
            fifo.i_clear.eq(source_clear), fifo.o_clear.eq(sink_clear),
        ]
        if channel == "aw" and self._whole:
            self._hold_addresses(m, layout, near, way_in, fifo, way_out, resets)
        else:
            _connect(m, way_in, fifo.i)
            _connect(m, fifo.o, way_out)

    def _hold_addresses(self, m: Module, layout: data.StructLayout, near: wiring.PureInterface,
                        way_in: stream.Interface, fifo: DualClockFifo, way_out: stream.Interface,
                        resets: CrossingReset) -> None:
        """Passes an address on when the last beat of its burst is in the FIFO of the beats."""
        outstanding = self._most[0]
        near_clear, far_clear = Signal(), Signal()
        m.d.comb += [near_clear.eq(resets.near_clear), far_clear.eq(resets.far_clear)]
        m.submodules.addresses = addresses = ResetInserter(near_clear)(StreamFifo(layout, outstanding))
        m.submodules.late = late = ResetInserter({FAR: far_clear})(DomainRenamer(FAR)(Skid(layout)))
        complete = Signal(range(outstanding + 2))
        ends = near.wvalid & near.wready & near.wlast
        _connect(m, way_in, addresses.i)
        m.d.comb += [
            Value.cast(fifo.i.payload).eq(Value.cast(addresses.o.payload)),
            fifo.i.valid.eq(addresses.o.valid & (complete != 0)),
            addresses.o.ready.eq(fifo.i.ready & (complete != 0)),
        ]
        _connect(m, fifo.o, late.i)
        _connect(m, late.o, way_out)
        m.d.sync += complete.eq(complete + ends - (fifo.i.valid & fifo.i.ready))
        with m.If(near_clear):
            m.d.sync += complete.eq(0)


def _connect(m: Module, source: stream.Interface, sink: stream.Interface) -> None:
    """Connects two streams with payloads of one width."""
    assert Shape.cast(source.payload.shape()).width == Shape.cast(sink.payload.shape()).width
    m.d.comb += [Value.cast(sink.payload).eq(Value.cast(source.payload)), sink.valid.eq(source.valid),
                 source.ready.eq(sink.ready)]
