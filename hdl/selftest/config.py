"""The configurations of the self-test images: of the one that tests the cores, and of the one that tests an engine."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.codec.coding import CODINGS, ELEMENT_BITS, LINE_BYTES, WORD_BYTES
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.config.settings import (
    BEAT_BYTES,
    BLOCK_BYTES,
    CODINGS_ALLOWED,
    PIPELINES,
    CodingSettings,
    Settings,
    parameter,
)

__all__ = ["CoresTestConfig", "EngineTestConfig", "SelftestConfig"]


@dataclass(frozen=True, kw_only=True)
class SelftestConfig(Settings):
    """What all images have, fixed when the image is built.

    Raises
    ------
    TypeError
        If a value has the wrong type.
    ValueError
        If a value is not allowed; the message names the parameter, what was given and what is allowed.
    """

    name: str = parameter("cdma_selftest", "name of the top module and of the files", allowed="a Verilog identifier")
    about: str = parameter("", "one line saying what this configuration is for", allowed="any text")
    beat_bytes: int = parameter(16, "bytes of one transfer on all streams and ports", BEAT_BYTES)
    pipeline: str = parameter("fast", "depth of the pipelines of the cores or lanes", PIPELINES)
    baud: int = parameter(115200, "bits per second of the UART", range(300, 3_000_001))
    pause_ms: int = parameter(1000, "milliseconds between two runs", range(1, 60_001))

    def __post_init__(self) -> None:
        self._check()

    def check_lines(self, lines: bytes) -> None:
        """Refuse lines of a dump that a test cannot send, before a part is begun that Amaranth would then miss.

        Raises
        ------
        ValueError
            If they are none, end inside a line, or are more than there is memory for.
        """
        if not lines or len(lines) % LINE_BYTES:
            raise ValueError(f"the dump's lines must be one or more of {LINE_BYTES} bytes, not {len(lines)} bytes")


@dataclass(frozen=True, kw_only=True)
class CoresTestConfig(SelftestConfig):
    """What the image that tests the cores is built with; errors as :class:`SelftestConfig`."""

    element_bits: tuple[int, ...] = parameter(
        ELEMENT_BITS, "element sizes that the cores can code and that are tested", allowed="one or more of 8, 16, 32")
    raw_bytes: int = parameter(65536, "bytes of a test with generated data", range(1024, (1 << 20) + 1),
                               "a multiple of 128 from 1024 to 1048576")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_element_bits()
        if self.raw_bytes % LINE_BYTES:
            raise ValueError(f"raw_bytes must be a multiple of {LINE_BYTES}, not {self.raw_bytes}")

    @property
    def element_bytes(self) -> tuple[int, ...]:
        """The element sizes in bytes, small ones first."""
        return tuple(bits // 8 for bits in self.element_bits)

    def core(self, name: str) -> CoreConfig:
        """The configuration of one of the two cores."""
        return CoreConfig(core=name, beat_bytes=self.beat_bytes, element_bits=self.element_bits,
                          pipeline=self.pipeline)


@dataclass(frozen=True, kw_only=True)
class EngineTestConfig(SelftestConfig, CodingSettings):
    """What the image that tests an engine is built with; errors as :class:`SelftestConfig`."""

    codings: tuple[str, ...] = parameter(
        tuple(CODINGS), "codings that the engine is built for and that are tested", allowed=CODINGS_ALLOWED)
    lanes: int = parameter(1, "lanes of the engine, each with a memory of its own", (1, 2, 4))
    block_bytes: int = parameter(1024, "raw bytes of a block", BLOCK_BYTES, "a power of two from 512 to 32768")
    raw_bytes: int = parameter(
        7168, "bytes of the longest tensor", range(1024, (1 << 16) + 1),
        "a multiple of block_bytes, from two blocks to 65536 bytes")
    latency: int = parameter(24, "cycles from a request to the answer of a memory", range(4, 256))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_codings()
        if self.raw_bytes % self.block_bytes or self.raw_bytes < 2 * self.block_bytes:
            raise ValueError(f"raw_bytes must be a multiple of block_bytes, two blocks or more, not {self.raw_bytes} "
                             f"beside block_bytes {self.block_bytes}")

    def check_lines(self, lines: bytes) -> None:
        super().check_lines(lines)
        if len(lines) > self.raw_bytes:
            raise ValueError(f"the dump's lines must be at most raw_bytes {self.raw_bytes}, not {len(lines)} bytes")

    @property
    def capacity(self) -> int:
        """Bytes of the longest block stream: every block raw, with a header."""
        return self.raw_bytes + self.raw_bytes // self.block_bytes * WORD_BYTES

    def engine(self) -> EngineConfig:
        """The configuration of the engine."""
        return EngineConfig(
            name=f"{self.name}_engine", lanes=self.lanes, beat_bytes=self.beat_bytes, link_beat_bytes=self.beat_bytes,
            block_bytes=self.block_bytes, buffer_bytes=self.block_bytes * 5 // 4, address_bits=32, outstanding_reads=2,
            transfers_in_flight=1, codings=self.codings, pipeline=self.pipeline)
