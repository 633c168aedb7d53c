"""Flat tops: cores with AXI4-Stream ports under the names that FPGA tools and bus models expect."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.config.core import CoreConfig

__all__ = ["AxiStreamCore", "AxiStreamTop"]


class AxiStreamTop(wiring.Component):
    """What all tops with AXI4-Stream ports have in common: clock, reset, and two streams.

    Source: AMBA AXI4-Stream (IHI 0051A), sections 2.2 (handshake: valid does not wait for ready) and 2.4 (keep).

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat.
    s_user, m_user : int
        Bits of ``tuser`` of the input and of the output; a stream without such bits has no such port.
    others : dict of str and wiring.Member
        Further ports.
    """

    def __init__(self, beat_bytes: int, s_user: int, m_user: int, others: dict[str, wiring.Member]):
        n = beat_bytes
        members = {
            "aclk": In(1), "aresetn": In(1),
            "s_axis_tdata": In(8 * n), "s_axis_tkeep": In(n), "s_axis_tlast": In(1), "s_axis_tuser": In(s_user),
            "s_axis_tvalid": In(1), "s_axis_tready": Out(1),
            "m_axis_tdata": Out(8 * n), "m_axis_tkeep": Out(n), "m_axis_tlast": Out(1), "m_axis_tuser": Out(m_user),
            "m_axis_tvalid": Out(1), "m_axis_tready": In(1),
        }
        super().__init__({name: member for name, member in members.items() if member.shape} | others)

    def _connected(self, m: Module, core: Any) -> None:
        """Add the core, and connect clock, reset and streams, but ``tuser``, and data and mask that leave."""
        m.domains.sync = sync = ClockDomain()
        m.submodules.core = core
        m.d.comb += [
            sync.clk.eq(self.aclk),
            sync.rst.eq(~self.aresetn),
            core.i.payload.data.eq(self.s_axis_tdata),
            core.i.payload.keep.eq(self.s_axis_tkeep),
            core.i.payload.last.eq(self.s_axis_tlast),
            core.i.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(core.i.ready),
            self.m_axis_tlast.eq(core.o.payload.last),
            self.m_axis_tvalid.eq(core.o.valid),
            core.o.ready.eq(self.m_axis_tready),
        ]


class AxiStreamCore(AxiStreamTop):
    """A core between two AXI4-Stream ports.

    ::

        s_axis_* --> Compressor or Decompressor --> m_axis_*
                                              +---> error_code, error_line

    Parameters
    ----------
    config : CoreConfig
        What to build.

    Members
    -------
    aclk, aresetn : In(1)
        Clock, and synchronous reset, active low.
    s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tuser, s_axis_tvalid, s_axis_tready
        Input of the core. ``tuser`` is the element size in bytes (1, 2 or 4), read on the first beat of a packet;
        ``tkeep`` is read on the last beat only, where the kept bytes come first.
    m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tvalid, m_axis_tready
        Output of the core; ``tkeep`` is all ones except on the last beat.
    error_code : Out(2)
        Result of the packet, valid while ``m_axis_tvalid`` and ``m_axis_tlast`` are high: a value of ``ErrorCode``.
    error_line : Out(24)
        Decompressor only, valid with ``error_code``: the line the packet failed in, modulo 2**24.

    Source: AMBA AXI4-Stream (IHI 0051A), sections 2.2 (handshake: valid does not wait for ready) and 2.4 (keep).
    """

    def __init__(self, config: CoreConfig):
        self._config = config
        line = {"error_line": Out(Decompressor.LINE_BITS)} if config.core == "decompressor" else {}
        super().__init__(config.beat_bytes, 3, 0, {"error_code": Out(2), **line})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = (Compressor if self._config.core == "compressor" else Decompressor)(
            self._config.beat_bytes, self._config.element_bytes, self._config.pipeline)
        self._connected(m, core)
        m.d.comb += [
            core.i.payload.element.eq(self.s_axis_tuser),
            self.m_axis_tdata.eq(core.o.payload.data),
            self.m_axis_tkeep.eq(core.o.payload.keep),
        ]
        if isinstance(core, Decompressor):
            m.d.comb += [self.error_code.eq(core.error.code), self.error_line.eq(core.error.line)]
        else:
            m.d.comb += self.error_code.eq(core.error)
        return m
