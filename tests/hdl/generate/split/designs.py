"""What the tests of split designs share: small designs, each generated once."""

from __future__ import annotations

from functools import cache

from cdma.hdl.config.catalog import load_design
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.verilog import Verilog, emit

__all__ = ["ALL", "single", "split"]

_ENGINE = EngineConfig(name="cdma_bare", lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024,
                       address_bits=32, codings=("zvc8",), crc=False)

ALL = {config.name: config for config in (
    load_design("compressor"), load_design("paper_decompressor"), load_design("block_decompressor"), _ENGINE,
    _ENGINE.replace(name="cdma_two", lanes=2), _ENGINE.replace(name="cdma_four", lanes=4),
    _ENGINE.replace(name="cdma_own", memories="wrapped", link_clock="separate"),
)}
"""Cores of both kinds, a small engine of one, two and four lanes, and one with wrapped memories and two clocks."""


@cache
def split(name: str) -> Verilog:
    """A design, module by module."""
    return emit(ALL[name], split=True)


@cache
def single(name: str) -> Verilog:
    """The same in one text."""
    return emit(ALL[name])
