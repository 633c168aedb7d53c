"""Flat tops: a core with AXI4-Stream ports under the names that FPGA tools and bus models expect."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.codec.lines.compressor import Compressor
from hdl.codec.lines.decompressor import Decompressor
from hdl.config.core import CoreConfig

__all__ = ["AxiStreamCore"]


class AxiStreamCore(wiring.Component):
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
        n = config.beat_bytes
        members = {
            "aclk": In(1), "aresetn": In(1),
            "s_axis_tdata": In(8 * n), "s_axis_tkeep": In(n), "s_axis_tlast": In(1), "s_axis_tuser": In(3),
            "s_axis_tvalid": In(1), "s_axis_tready": Out(1),
            "m_axis_tdata": Out(8 * n), "m_axis_tkeep": Out(n), "m_axis_tlast": Out(1),
            "m_axis_tvalid": Out(1), "m_axis_tready": In(1),
            "error_code": Out(2),
        }
        if config.core == "decompressor":
            members["error_line"] = Out(Decompressor.LINE_BITS)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        core = (Compressor if self._config.core == "compressor" else Decompressor)(
            self._config.beat_bytes, self._config.element_bytes, self._config.pipeline)
        m.submodules.core = core
        m.d.comb += [
            sync.clk.eq(self.aclk),
            sync.rst.eq(~self.aresetn),
            core.i.payload.data.eq(self.s_axis_tdata),
            core.i.payload.keep.eq(self.s_axis_tkeep),
            core.i.payload.last.eq(self.s_axis_tlast),
            core.i.payload.element.eq(self.s_axis_tuser),
            core.i.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(core.i.ready),
            self.m_axis_tdata.eq(core.o.payload.data),
            self.m_axis_tkeep.eq(core.o.payload.keep),
            self.m_axis_tlast.eq(core.o.payload.last),
            self.m_axis_tvalid.eq(core.o.valid),
            core.o.ready.eq(self.m_axis_tready),
        ]
        if isinstance(core, Decompressor):
            m.d.comb += [self.error_code.eq(core.error.code), self.error_line.eq(core.error.line)]
        else:
            m.d.comb += self.error_code.eq(core.error)
        return m
