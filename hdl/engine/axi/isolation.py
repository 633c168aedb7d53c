"""Answers in the place of a port that was lost."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.axi.signature import Resp

__all__ = ["AxiIsolation"]


class AxiIsolation(wiring.Component):
    """Passes the channels of an AXI4 port while it is open, and keeps account of what the far side owes the master.

    ::

                    open
        i ar, aw, w ------------------------> o
        i r, b <-------+--------------------- o
                       ^
                       +-- [beats owed], [bursts owed]: SLVERR

    ==================  ============================================  ========================================
    state               what is owed                                  what is new
    ==================  ============================================  ========================================
    ``open``            comes from the far side                       goes to the far side
    closed, ``lost``    is answered with SLVERR                       is taken, and answered with SLVERR
    closed              is answered with SLVERR; a write burst that   waits
                        has begun, address or data, is taken whole
    ==================  ============================================  ========================================

    Beats are counted, so nothing is stored of a burst. A beat that waits at ``i`` when the port closes becomes one with
    SLVERR.

    Latency: none. ``i.rvalid`` and ``i.bvalid`` depend on registers, ``open`` and ``o``.

    Parameters
    ----------
    port : wiring.Signature
        Of the channels, as the master has them: :func:`cdma.hdl.engine.axi.signature.axi_full`.
    outstanding, most_beats : int
        Greatest number of outstanding bursts each way, and of beats of a burst.

    Members
    -------
    i : In(port)
        The master.
    o : Out(port)
        The far side. ``valid`` is withdrawn when the port closes.
    open : In(1)
        The far side works.
    lost : In(1)
        It is in reset; not together with ``open`` for more than a cycle.
    drained : Out(1)
        Nothing is owed, and no write burst has begun.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes, responses).
    """

    def __init__(self, port: wiring.Signature, outstanding: int, most_beats: int):
        self._most = outstanding, most_beats
        super().__init__({"i": In(port), "o": Out(port), "open": In(1), "lost": In(1), "drained": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outstanding, most_beats = self._most
        near, far = self.i, self.o
        for name, member in far.signature.members.items():
            if not name.endswith(("valid", "ready", "resp")):
                source, sink = (near, far) if member.flow is Out else (far, near)
                m.d.comb += getattr(sink, name).eq(getattr(source, name))

        beats = Signal(range(outstanding * most_beats + 1))     # of reads
        addresses = Signal(range(outstanding + 1))              # of writes that have no response yet
        bursts = Signal(range(outstanding + 2))                 # that were sent to the last beat, and have none either
        sends = Signal()                                        # beats of a burst are to come
        needs_address, needs_beats = Signal(), Signal()
        m.d.comb += [
            needs_address.eq(bursts + sends > addresses), needs_beats.eq(sends | (addresses > bursts)),
            self.drained.eq((beats == 0) & (addresses == 0) & (bursts == 0) & ~sends),
        ]
        for channel, taken in (("ar", self.lost), ("aw", self.lost | needs_address), ("w", self.lost | needs_beats)):
            m.d.comb += [
                getattr(far, f"{channel}valid").eq(getattr(near, f"{channel}valid") & self.open),
                getattr(near, f"{channel}ready").eq(Mux(self.open, getattr(far, f"{channel}ready"), taken)),
            ]
        for channel, owed in (("r", beats != 0), ("b", (addresses != 0) & (bursts != 0))):
            m.d.comb += [
                getattr(near, f"{channel}valid").eq(Mux(self.open, getattr(far, f"{channel}valid"), owed)),
                getattr(near, f"{channel}resp").eq(Mux(self.open, getattr(far, f"{channel}resp"), Resp.SLVERR)),
                getattr(far, f"{channel}ready").eq(getattr(near, f"{channel}ready") & self.open),
            ]

        moves = {channel: getattr(near, f"{channel}valid") & getattr(near, f"{channel}ready")
                 for channel in ("ar", "r", "aw", "w", "b")}
        m.d.sync += [
            beats.eq(beats + Mux(moves["ar"], near.arlen + 1, 0) - moves["r"]),
            addresses.eq(addresses + moves["aw"] - moves["b"]),
            bursts.eq(bursts + (moves["w"] & near.wlast) - moves["b"]),
        ]
        with m.If(moves["w"]):
            m.d.sync += sends.eq(~near.wlast)
        return m
