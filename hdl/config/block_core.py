"""The configuration of a block core: one frozen dataclass, checked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdl.codec.coding import CODINGS, EXPONENTS, TAGS_FIRST
from hdl.config.settings import BLOCK_BYTES, PRESETS, CoreSettings, names_in, parameter, read_named

__all__ = ["BLOCK_CORES", "BlockCoreConfig", "block_preset_names", "load_block"]

BLOCK_CORES = ("block_compressor", "block_decompressor")
"""The block cores that can be generated without an engine."""

_PRESETS = PRESETS / "block"


@dataclass(frozen=True, kw_only=True)
class BlockCoreConfig(CoreSettings):
    """Parameters that are fixed when a block core is built.

    Raises
    ------
    TypeError
        If a value has the wrong type.
    ValueError
        If a value, or a combination of values, is not allowed; the message names what was given and what is allowed.
    """

    core: str = parameter("block_compressor", "which block core to build", "block_compressor or block_decompressor")
    name: str = parameter("", "name of the top module; cdma_CORE when empty", "a Verilog identifier")
    about: str = parameter("", "one line saying what this configuration is for", "any text")
    beat_bytes: int = parameter(32, "bytes of one transfer on both streams", "16, 32 or 64")
    codings: tuple[str, ...] = parameter(
        ("zvc8", "zvc16", "zvc32"), "codings that are built, chosen per packet at run time",
        "one or more of zvc8, zvc16, zvc32; bfloat16 beside zvc16; float32 beside zvc32")
    block_bytes: int = parameter(4096, "raw bytes of a block", "a power of two from 512 to 32768")
    pipeline: str = parameter(
        "small",
        "small: few registers and a short latency; fast: one more stage behind the memories, for FPGAs",
        "small or fast; small only for block_decompressor, which has one pipeline")

    def __post_init__(self) -> None:
        self._check_core(BLOCK_CORES)
        self._check_number("block_bytes", BLOCK_BYTES)
        self._check_codings()
        if self.core == "block_decompressor" and self.pipeline != "small":
            raise ValueError(f"pipeline must be small for block_decompressor, which has one pipeline, "
                             f"not {self.pipeline!r}")

    def _check_codings(self) -> None:
        given: Any = self.codings
        if isinstance(given, str):
            given = [each.strip() for each in given.split(",")]
        if not isinstance(given, tuple | list):
            raise TypeError(f"codings must be a list of names, not {given!r}")
        for each in given:
            if each not in list(CODINGS):
                raise ValueError(f"codings must be one or more of {', '.join(CODINGS)}, not {each!r}")
        if not given:
            raise ValueError(f"codings must name at least one of {', '.join(CODINGS)}, not none")
        for size, number in EXPONENTS.items():
            (name,) = (each for each, other in CODINGS.items() if other == number)
            if name in given and f"zvc{8 * size}" not in given:
                raise ValueError(f"codings with {name} must have zvc{8 * size} too, not {', '.join(given)}")
        object.__setattr__(self, "codings", tuple(name for name in CODINGS if name in given))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The coding numbers that a packet may choose."""
        return tuple(CODINGS[name] for name in self.codings)

    @property
    def element_bytes(self) -> tuple[int, ...]:
        """Element sizes in bytes that are built with zero-value coding."""
        return tuple(size for size, number in TAGS_FIRST.items() if number in self.numbers)

    @property
    def exponents(self) -> tuple[int, ...]:
        """Element sizes in bytes that are built with exponent coding too."""
        return tuple(size for size, number in EXPONENTS.items() if number in self.numbers)


def block_preset_names() -> list[str]:
    """Names of the shipped presets of block cores, sorted."""
    return names_in(_PRESETS)


def load_block(preset_or_file: str | Path) -> BlockCoreConfig:
    """The configuration of a preset by name, or of a TOML file by path; errors as :func:`hdl.config.core.load`."""
    return read_named(BlockCoreConfig, _PRESETS, preset_or_file, " of the block cores")
