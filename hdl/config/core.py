"""The configuration of a core: one frozen dataclass, checked in one place.

Every parameter of the generator is a field of :class:`CoreConfig`. The presets (TOML), the command line's
``--set name=value`` and the JSON file of a design are all made from the fields and their metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cdma.hdl.codec.coding import ELEMENT_BITS
from cdma.hdl.config.settings import BEAT_BYTES, PIPELINES, PRESETS, CoreSettings, names_in, parameter, read_named

__all__ = ["CORES", "CoreConfig", "load", "preset_names"]

CORES = ("compressor", "decompressor")
"""The cores that can be generated without an engine."""


@dataclass(frozen=True, kw_only=True)
class CoreConfig(CoreSettings):
    """Parameters that are fixed when a core is built.

    Raises
    ------
    TypeError
        If a value has the wrong type.
    ValueError
        If a value is not allowed; the message names the parameter, what was given and what is allowed.
    """

    core: str = parameter("compressor", "which core to build", CORES)
    name: str = parameter("", "name of the top module; cdma_CORE when empty", allowed="a Verilog identifier")
    about: str = parameter("", "one line saying what this configuration is for", allowed="any text")
    beat_bytes: int = parameter(32, "bytes of one transfer on both streams", BEAT_BYTES)
    element_bits: tuple[int, ...] = parameter(
        ELEMENT_BITS, "element sizes the core can code, chosen per packet at run time",
        allowed="one or more of 8, 16, 32")
    pipeline: str = parameter(
        "small",
        "small: few registers and a short latency; fast: one more stage, where bits are counted, for a high clock",
        PIPELINES)

    def __post_init__(self) -> None:
        self._check()
        self._check_element_bits()

    @property
    def element_bytes(self) -> tuple[int, ...]:
        """The element sizes in bytes: the values that ``tuser`` may carry."""
        return tuple(bits // 8 for bits in self.element_bits)


def preset_names() -> list[str]:
    """Names of the shipped presets of cores, sorted."""
    return names_in(PRESETS)


def load(preset_or_file: str | Path) -> CoreConfig:
    """The configuration of a preset by name, or of a TOML file by path.

    Raises
    ------
    ValueError
        If there is no such preset or file, if it is not TOML, or if a parameter is not allowed.
    """
    return read_named(CoreConfig, PRESETS, preset_or_file)
