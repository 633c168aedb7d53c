"""The configuration of the self-test image."""

from __future__ import annotations

from dataclasses import dataclass

from hdl.codec.coding import ELEMENT_BITS, LINE_BYTES
from hdl.config.core import CoreConfig
from hdl.config.settings import BEAT_BYTES, PIPELINES, Settings, parameter

__all__ = ["SelftestConfig"]


@dataclass(frozen=True, kw_only=True)
class SelftestConfig(Settings):
    """What is fixed when the image is built.

    Raises
    ------
    TypeError
        If a value has the wrong type.
    ValueError
        If a value is not allowed; the message names the parameter, what was given and what is allowed.
    """

    name: str = parameter("cdma_selftest", "name of the top module and of the files", "a Verilog identifier")
    about: str = parameter("", "one line saying what this configuration is for", "any text")
    beat_bytes: int = parameter(16, "bytes of one transfer on all streams", "16, 32 or 64")
    element_bits: tuple[int, ...] = parameter(
        ELEMENT_BITS, "element sizes that the cores can code and that are tested", "one or more of 8, 16, 32")
    pipeline: str = parameter("fast", "depth of the cores' pipelines", "small or fast")
    raw_bytes: int = parameter(65536, "bytes of a test with generated data", "a multiple of 128 from 1024 to 1048576")
    baud: int = parameter(115200, "bits per second of the UART", "300 to 3000000")
    pause_ms: int = parameter(1000, "milliseconds between two runs", "1 to 60000")

    def __post_init__(self) -> None:
        self._check_text("name")
        self._check_text("about")
        self._check_name()
        self._check_number("beat_bytes", BEAT_BYTES)
        self._check_element_bits()
        self._check_text("pipeline", PIPELINES)
        self._check_number("raw_bytes", range(1024, (1 << 20) + 1))
        if self.raw_bytes % LINE_BYTES:
            raise ValueError(f"raw_bytes must be a multiple of {LINE_BYTES}, not {self.raw_bytes}")
        self._check_number("baud", range(300, 3_000_001))
        self._check_number("pause_ms", range(1, 60_001))

    @property
    def element_bytes(self) -> tuple[int, ...]:
        """The element sizes in bytes, small ones first."""
        return tuple(bits // 8 for bits in self.element_bits)

    def core(self, name: str) -> CoreConfig:
        """The configuration of one of the two cores."""
        return CoreConfig(core=name, beat_bytes=self.beat_bytes, element_bits=self.element_bits,
                          pipeline=self.pipeline)
