"""The configuration of a block core: one frozen dataclass, checked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cdma.hdl.config.settings import (
    BEAT_BYTES,
    BLOCK_BYTES,
    CODINGS_ALLOWED,
    PIPELINES,
    PRESETS,
    CodingSettings,
    CoreSettings,
    names_in,
    parameter,
    read_named,
)

__all__ = ["BLOCK_CORES", "BlockCoreConfig", "block_preset_names", "load_block"]

BLOCK_CORES = ("block_compressor", "block_decompressor")
"""The block cores that can be generated without an engine."""

_PRESETS = PRESETS / "block"


@dataclass(frozen=True, kw_only=True)
class BlockCoreConfig(CodingSettings, CoreSettings):
    """Parameters that are fixed when a block core is built.

    Raises
    ------
    TypeError
        If a value has the wrong type.
    ValueError
        If a value, or a combination of values, is not allowed; the message names what was given and what is allowed.
    """

    core: str = parameter("block_compressor", "which block core to build", BLOCK_CORES)
    name: str = parameter("", "name of the top module; cdma_CORE when empty", allowed="a Verilog identifier")
    about: str = parameter("", "one line saying what this configuration is for", allowed="any text")
    beat_bytes: int = parameter(32, "bytes of one transfer on both streams", BEAT_BYTES)
    codings: tuple[str, ...] = parameter(
        ("zvc8", "zvc16", "zvc32"), "codings that are built, chosen per packet at run time",
        allowed=CODINGS_ALLOWED)
    block_bytes: int = parameter(4096, "raw bytes of a block", BLOCK_BYTES, "a power of two from 512 to 32768")
    pipeline: str = parameter(
        "small",
        "small: few registers and a short latency; fast: registers behind memories and networks, for FPGAs", PIPELINES)

    def __post_init__(self) -> None:
        self._check()
        self._check_codings()


def block_preset_names() -> list[str]:
    """Names of the shipped presets of block cores, sorted."""
    return names_in(_PRESETS)


def load_block(preset_or_file: str | Path) -> BlockCoreConfig:
    """The configuration of a preset by name, or of a TOML file by path; errors as :func:`cdma.hdl.config.core.load`."""
    return read_named(BlockCoreConfig, _PRESETS, preset_or_file, " of the block cores")
