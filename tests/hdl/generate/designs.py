# amaranth: UnusedElaboratable=no
"""Every preset with its ports but without its Verilog, which takes long."""

from __future__ import annotations

from cdma.hdl.common.modules import port_values
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.catalog import Design, load_design, names
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.engine import Engine
from cdma.hdl.generate.axis import AxiStreamCore
from cdma.hdl.generate.axis_blocks import AxiStreamBlockCompressor, AxiStreamBlockDecompressor
from cdma.hdl.generate.interfaces import Port
from cdma.hdl.generate.verilog import Verilog

__all__ = ["FAR", "PRESETS", "TWO_CLOCKS", "described"]

PRESETS = {name: load_design(name) for name in names()}
"""All presets of engines, cores and block cores, by name."""

FAR = EngineConfig(name="far", about='Says "far" & <wide>.', lanes=16, beat_bytes=16, link_beat_bytes=64,
                   address_bits=64, outstanding_reads=32, burst_beats=16, memories="wrapped", write_back=True,
                   link_read_ids=16)
"""An engine at the limits of what its description can hold."""

TWO_CLOCKS = EngineConfig(name="two_clocks", lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512,
                          buffer_bytes=640, codings=("zvc32",), transfers_in_flight=1, link_clock="separate")
"""A small engine whose link has a clock of its own."""


def described(config: Design) -> Verilog:
    """A design as it is handed over, without text."""
    if isinstance(config, EngineConfig):
        top = Engine(config)
    elif isinstance(config, BlockCoreConfig):
        blocks = {"block_compressor": AxiStreamBlockCompressor, "block_decompressor": AxiStreamBlockDecompressor}
        top = blocks[config.core](config)
    else:
        top = AxiStreamCore(config)
    return Verilog(config, "", tuple(Port(name, direction.value, len(value))
                                     for name, (value, direction) in port_values(top).items()))
