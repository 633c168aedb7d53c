"""The configuration of the engine: one frozen dataclass, checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cdma.hdl.codec.coding import CODINGS, TAGS_FIRST, largest_payload
from cdma.hdl.codec.narrowing.rounding import NARROWED_BYTES
from cdma.hdl.config.settings import (
    BEAT_BYTES,
    BLOCK_BYTES,
    CODINGS_ALLOWED,
    PIPELINES,
    PRESETS,
    CodingSettings,
    names_in,
    parameter,
    read_named,
)

__all__ = ["SWITCHES", "EngineConfig", "engine_preset_names", "load_engine"]

_PRESETS = PRESETS / "engine"
_NARROWING_BLOCK = 1024
# An allocate bit is for modifiable transactions only (IHI 0022, table A4-5).
_CACHES = (0, 1, 2, 3, 6, 7, 10, 11, 14, 15)
_RDL_WORDS = frozenset("""
    abstract accesstype addressingtype addrmap all alternate boolean bothedge compact component componentwidth desc
    encode external false field fullalign hw internal level mem na name nonsticky number onreadtype onwritetype
    precedencetype r rclr regalign regfile rset ruser rw rw1 signal sw true w w1 wclr woclr woset wot wr wset wuser wzc
    wzs wzt channel_registers lanememory status write_back_registers
""".split())
"""The keywords of SystemRDL 2.0 that are none of SystemVerilog, and the types in NAME.rdl."""
_C_PREFIXES = frozenset("""
    cdma_check cdma_codec_bad cdma_coding cdma_narrow cdma_reg_features cdma_reg_geometry cdma_reg_geometry_link
    cdma_reg_sizes cdma_status
""".split())
"""Names whose macros of what was built would be others of the headers: CDMA_CODING_ZVC8."""


@dataclass(frozen=True, kw_only=True)
class EngineConfig(CodingSettings):
    """Parameters that are fixed when an engine is built.

    Raises
    ------
    TypeError
        If a value has the wrong type.
    ValueError
        If a value, or a combination of values, is not allowed; the message names what was given and what is allowed.
    """

    name: str = parameter("cdma_engine", "name of the top module", allowed="a Verilog identifier")
    about: str = parameter("", "one line saying what this configuration is for", allowed="any text")
    lanes: int = parameter(4, "memory controllers, each with a lane of its own", range(1, 17))
    beat_bytes: int = parameter(32, "bytes of one transfer at a memory controller", BEAT_BYTES)
    link_beat_bytes: int = parameter(
        32, "bytes of one transfer at the link", BEAT_BYTES, "16, 32 or 64, at least beat_bytes")
    block_bytes: int = parameter(
        4096, "raw bytes of a block: unit of interleave and of coding", BLOCK_BYTES, "a power of two from 512 to 32768")
    buffer_bytes: int = parameter(
        5120, "packed bytes that a lane can hold, for each direction", range((1 << 20) + 1),
        "a multiple of link_beat_bytes, at least a quarter more than block_bytes, at most 1048576")
    address_bits: int = parameter(40, "bits of an address, at the lanes and at the link", range(32, 65))
    outstanding_reads: int = parameter(
        4, "greatest number of outstanding bursts of each port, each way; with write_back, the link's port also writes "
        "records: as many again, at most queue_depth - 1. With 1, a burst or a record is outstanding", range(1, 33))
    link_read_ids: int = parameter(
        1, "identifiers of the reads at the link: with 2 or more, so many are outstanding, each with its own, and may "
        "be answered in any order; takes as many bursts of memory", range(1, 17))
    burst_beats: int = parameter(
        256, "beats of the longest burst of each port, for interconnects that take no longer ones; 4 KiB limit it too",
        (16, 32, 64, 128, 256))
    transfers_in_flight: int = parameter(
        6, "transfers that each direction has at work at the same time, so that one begins while others drain",
        range(1, 33), "1 to 32; 1 takes the least area")
    queue_depth: int = parameter(8, "descriptors that each direction's queue holds", (8, 16, 32, 64))
    codings: tuple[str, ...] = parameter(
        tuple(CODINGS), "codings that the lanes are built for, chosen per descriptor", allowed=CODINGS_ALLOWED)
    crc: bool = parameter(True, "compute the CRC-32C of the block stream, both ways")
    narrowing: bool = parameter(
        False, "build the rounding of float32 to bfloat16 or float16 before coding, chosen per descriptor",
        allowed="true or false; needs zvc16 in codings, and block_bytes of 1024 or more")
    page_lists: bool = parameter(
        False, "build streams in pages of link memory, whose addresses the engine reads from a list")
    address_windows: bool = parameter(
        False, "build registers that confine descriptors and rings to a part of device memory and of link memory, with "
        "a lock")
    write_back: bool = parameter(
        False, "build rings in link memory to which the engine writes completions, with coalesced interrupts and "
        "an interrupt of one cycle for MSI")
    pipeline: str = parameter(
        "small", "fast, for FPGAs, has registers behind the memories and networks of the lanes' codecs, and a stage in "
        "front of the link's writer", PIPELINES)
    memories: str = parameter(
        "inferred", "how buffers become memory: inferred by tools, or in a module NAME_sram that you replace by macros",
        ("inferred", "wrapped"))
    safe_writes: bool = parameter(
        False, "give the address of a write only when all data of its burst are there, on the lanes' ports as on the "
        "link's: two more bursts of memory in each lane")
    buffer_parity: bool = parameter(
        False, "build parity in the memories of the lanes: a transfer that meets an error does not succeed; with a "
        "count of errors, and a register that injects one")
    link_clock: str = parameter(
        "shared", "separate: the link's port has a clock and a reset of its own, link_aclk and link_aresetn",
        ("shared", "separate"))
    lane_cache: int = parameter(
        0b0011, "AxCACHE of the lanes' ports: the default suits memory that no cache holds", _CACHES)
    lane_prot: int = parameter(0, "AxPROT of the lanes' ports: bit 0 privileged, bit 1 non-secure", range(8))
    lane_qos: int = parameter(0, "AxQOS of the lanes' ports: the higher, the more urgent; 0 takes no part", range(16))
    lane_user: int = parameter(0, "AxUSER of the lanes' ports", range(1 << 16), "0 to 2^user_bits - 1")
    link_cache: int = parameter(
        0b0011, "AxCACHE of the link's port: 15 or 7 where the link leads into a processor's caches", _CACHES)
    link_prot: int = parameter(0, "AxPROT of the link's port", range(8))
    link_qos: int = parameter(0, "AxQOS of the link's port", range(16))
    link_user: int = parameter(0, "AxUSER of the link's port", range(1 << 16), "0 to 2^user_bits - 1")
    user_bits: int = parameter(0, "bits of AxUSER; 0: the ports have none", range(17))
    attribute_registers: bool = parameter(
        False, "build registers by which a driver changes the attributes of both kinds of ports; the parameters are "
        "their reset values")

    def __post_init__(self) -> None:
        self._check()
        for words, name, of in ((_RDL_WORDS, self.name, ".rdl"), (_C_PREFIXES, self.name.lower(), "_regs.h")):
            if name in words:
                raise ValueError(f"name must not be {self.name!r}, which has a meaning in NAME{of}: take another one")
        self._check_codings()
        for port in ("lane", "link"):
            if getattr(self, f"{port}_user") >> self.user_bits:
                raise ValueError(f"{port}_user must be 0 to 2^user_bits - 1, not {getattr(self, f'{port}_user')} "
                                 f"beside user_bits {self.user_bits}")
        if self.narrowing and TAGS_FIRST[NARROWED_BYTES] not in self.numbers:
            raise ValueError(f"narrowing codes elements of 16 bits: codings must have zvc16, not "
                             f"{', '.join(self.codings)}")
        if self.narrowing and self.block_bytes < _NARROWING_BLOCK:
            raise ValueError(f"narrowing halves blocks: block_bytes must be at least {_NARROWING_BLOCK}, not "
                             f"{self.block_bytes}")
        if self.link_beat_bytes < self.beat_bytes:
            raise ValueError(f"link_beat_bytes must be at least beat_bytes, not {self.link_beat_bytes} beside "
                             f"beat_bytes {self.beat_bytes}")
        if self.buffer_bytes < self.block_bytes * 5 // 4:
            raise ValueError(f"buffer_bytes must be at least {self.block_bytes * 5 // 4}, a quarter more than "
                             f"block_bytes {self.block_bytes}, not {self.buffer_bytes}")
        if self.buffer_bytes % self.link_beat_bytes:
            raise ValueError(f"buffer_bytes must be a multiple of link_beat_bytes, not {self.buffer_bytes} beside "
                             f"link_beat_bytes {self.link_beat_bytes}")

    @property
    def link_reads(self) -> int:
        """Greatest number of outstanding reads at the link."""
        return self.link_read_ids if self.link_read_ids > 1 else self.outstanding_reads

    @property
    def link_id_bits(self) -> int:
        """Bits of an identifier at the link."""
        return max(1, (self.link_read_ids - 1).bit_length())

    @property
    def link_words(self) -> int:
        """Number of 4-byte words of a link beat."""
        return self.link_beat_bytes // 4

    @property
    def entries_ahead(self) -> int:
        """Greatest number of entries of descriptor rings that are on the way over the link, of both rings together."""
        return 1 if self.transfers_in_flight == 1 else min(16, self.queue_depth // 2)

    @property
    def outstanding_records(self) -> int:
        """Greatest number of records of completions that are outstanding at the link; 0 without write-back."""
        return min(self.outstanding_reads, self.queue_depth - 1) if self.write_back else 0

    @property
    def outstanding_link_writes(self) -> int:
        """Greatest number of outstanding bursts that are written at the link: one where one is asked for."""
        return self.outstanding_reads + (self.outstanding_records if self.outstanding_reads > 1 else 0)

    @property
    def largest_payload(self) -> int:
        """Bytes of the longest payload of a block, without a length field: no element is zero, and the coding is the
        one that adds most."""
        return largest_payload(self.block_bytes, self.element_bytes, self.exponents)


SWITCHES: Mapping[str, Any] = MappingProxyType(
    {each.name: True for each in fields(EngineConfig) if isinstance(each.default, bool)})
"""The parameters that are true or false, all of them true. Coverage, soak and sweeps set each of them both ways."""


def engine_preset_names() -> list[str]:
    """Names of the shipped presets of the engine, sorted."""
    return names_in(_PRESETS)


def load_engine(preset_or_file: str | Path) -> EngineConfig:
    """The configuration of a preset by name, or of a TOML file by path; errors as :func:`cdma.hdl.config.core.load`."""
    return read_named(EngineConfig, _PRESETS, preset_or_file, " of the engine")
