"""Flat tops of the block cores, with AXI4-Stream ports under the names that FPGA tools and bus models expect."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import Out

from cdma.hdl.codec.coding import EXPONENTS
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.generate.axis import AxiStreamTop

__all__ = ["AxiStreamBlockCompressor", "AxiStreamBlockDecompressor", "axi_stream_block_core", "block_user_layout",
           "raw_user_layout"]

ERROR_BITS, LINE_BITS = 4, 8
"""Widths of the error ports: those of the largest block."""


def raw_user_layout() -> data.StructLayout:
    """``tuser`` of a raw packet into the compressor.

    ``coding`` is that of its blocks; bit 7 does not count. ``fallback``: blocks stay raw that would not get shorter.
    """
    return data.StructLayout({"coding": 8, "fallback": 1})


def block_user_layout() -> data.StructLayout:
    """``tuser`` of a payload, the same at the compressor's output and at the decompressor's input.

    ``coding`` as in the header of the block; ``raw_bytes`` and ``payload_bytes`` of the block; ``cut``: the packet
    ended within an element, whose bytes were dropped. The decompressor reads ``coding`` and ``raw_bytes``.
    """
    return data.StructLayout({"coding": 8, "raw_bytes": 16, "payload_bytes": 16, "cut": 1})


class AxiStreamBlockCompressor(AxiStreamTop):
    """The block compressor between two AXI4-Stream ports.

    ::

        s_axis_*, tuser: coding, fallback --> BlockCompressor --> m_axis_*, tuser: description of the block

    Packets in are of any length, packets out are payloads, one of each block. Latency and throughput are those of
    :class:`cdma.hdl.codec.payload.block_compressor.BlockCompressor`.

    Parameters
    ----------
    config : BlockCoreConfig
        What to build.

    Members
    -------
    aclk, aresetn : In(1)
        Clock, and synchronous reset, active low.
    s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tuser, s_axis_tvalid, s_axis_tready
        Raw bytes. ``tuser`` is :func:`raw_user_layout`, read on the first beat of a packet. ``tkeep`` is read on the
        last beat only, where the kept bytes come first.
    m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser, m_axis_tvalid, m_axis_tready
        Payloads; ``tkeep`` is all ones except on the last beat, and bytes that are not kept are 0. ``tuser`` is
        :func:`block_user_layout`, the same on all beats of a payload.

    Source: AMBA AXI4-Stream (IHI 0051A), sections 2.2 (handshake: valid does not wait for ready) and 2.4 (keep).
    """

    def __init__(self, config: BlockCoreConfig):
        self._config = config
        super().__init__(config.beat_bytes, raw_user_layout().size, block_user_layout().size, {})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        core = BlockCompressor(config.beat_bytes, config.element_bytes, config.block_bytes, config.pipeline,
                               config.exponents)
        self._connected(m, core)
        raw, block = Signal(raw_user_layout()), Signal(block_user_layout())
        m.d.comb += [
            raw.eq(self.s_axis_tuser),
            core.i.payload.element.eq(raw.coding[:3]),
            core.i.payload.exponents.eq(Cat(raw.coding[:7] == EXPONENTS[size] for size in config.exponents).any()),
            core.i.payload.fallback.eq(raw.fallback),
            self.m_axis_tkeep.eq(core.o.payload.keep),
            # Bytes that are not kept may change in the core while their beat waits.
            self.m_axis_tdata.eq(core.o.payload.data & Cat(bit.replicate(8) for bit in core.o.payload.keep)),
            *(block[field].eq(core.block[field]) for field in ("coding", "raw_bytes", "payload_bytes", "cut")),
            self.m_axis_tuser.eq(block),
        ]
        return m


class AxiStreamBlockDecompressor(AxiStreamTop):
    """The block decompressor between two AXI4-Stream ports.

    ::

        s_axis_*, tuser: description of the block --> BlockDecompressor --> m_axis_*
                                                              +---> error_code, error_line

    Each packet in is the payload of a block, each packet out its raw bytes. Latency and throughput are those of
    :class:`cdma.hdl.codec.payload.block_decompressor.BlockDecompressor`.

    Parameters
    ----------
    config : BlockCoreConfig
        What to build.

    Members
    -------
    aclk, aresetn : In(1)
        Clock, and synchronous reset, active low.
    s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tuser, s_axis_tvalid, s_axis_tready
        Payloads, without the length field of a short block. ``tuser`` is :func:`block_user_layout`, read on the first
        beat. ``tkeep`` is read on the last beat only, where the kept bytes come first.
    m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tvalid, m_axis_tready
        Raw bytes; ``tkeep`` is all ones except on the last beat.
    error_code : Out(4)
        Result of the block, valid while ``m_axis_tvalid`` and ``m_axis_tlast`` are high: a value of ``PayloadError``.
    error_line : Out(8)
        Valid with ``error_code`` other than OK: the line of the block at fault.

    Source: AMBA AXI4-Stream (IHI 0051A), sections 2.2 (handshake: valid does not wait for ready) and 2.4 (keep).
    """

    def __init__(self, config: BlockCoreConfig):
        self._config = config
        super().__init__(config.beat_bytes, block_user_layout().size, 0, {
            "error_code": Out(ERROR_BITS), "error_line": Out(LINE_BITS)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        core = BlockDecompressor(config.beat_bytes, config.element_bytes, config.block_bytes,
                                 exponents=config.exponents, pipeline=config.pipeline)
        self._connected(m, core)
        block = Signal(block_user_layout())
        m.d.comb += [
            block.eq(self.s_axis_tuser),
            core.i.payload.coding.eq(block.coding),
            core.i.payload.raw_bytes.eq(block.raw_bytes),
            self.m_axis_tdata.eq(core.o.payload.data),
            # In the core, a beat before the last one may have any mask.
            self.m_axis_tkeep.eq(core.o.payload.keep | (~core.o.payload.last).replicate(len(self.m_axis_tkeep))),
            self.error_code.eq(core.error.code),
            self.error_line.eq(core.error.line),
        ]
        return m


def axi_stream_block_core(config: BlockCoreConfig) -> AxiStreamBlockCompressor | AxiStreamBlockDecompressor:
    """The top of a block core."""
    return (AxiStreamBlockCompressor if config.core == "block_compressor" else AxiStreamBlockDecompressor)(config)
