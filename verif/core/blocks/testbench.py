"""The testbench of the block cores: golden says what must come out, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdma.golden.codec.coding import SHORT, Coding, coding_name
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.verif.common.base import Model
from cdma.verif.common.cover import cover
from cdma.verif.common.stream import Packet, Received
from cdma.verif.core.blocks.packets import Expected, Payload, RawPacket, difference, expected_raw, payloads
from cdma.verif.core.testbench import StreamTestbench

__all__ = ["BlockTestbench"]


class _Model(Model[Expected, Received]):
    """Judges packets by what they must be."""

    def expect(self, item: Expected) -> Expected:
        """The packet that must come out."""
        return item

    def difference(self, expected: Expected, seen: Received) -> str | None:
        """What is wrong with a packet that came out."""
        return difference(expected, seen)


class BlockTestbench(StreamTestbench):
    """A block core between a source and a sink.

    Parameters
    ----------
    dut
        The flat top.
    config
        What it was built from.
    expect
        What must come out of a packet; the golden model says it when not given.
    progress
        Called now and then with the number of beats that came out.
    """

    def __init__(self, dut: Any, config: BlockCoreConfig,
                 expect: Callable[[Packet, BlockCoreConfig], list[Expected]] | None = None,
                 progress: Callable[[int], None] | None = None) -> None:
        # A line of zeros without a tag is a byte; a block of tags and data is at most 9/8 of a raw one.
        super().__init__(dut, config.beat_bytes, _Model(), 130 if config.core == "block_decompressor" else 3, progress)
        self.config = config
        self.core = config.core
        self._expect = expect or _by_golden

    def sent(self, packet: Packet) -> None:
        """Note that a packet is going in, of which one or several come out."""
        for expected in self._expect(packet, self.config):
            self.scoreboard.sent(expected)

    def outputs(self, packet: Packet) -> int:
        """How many packets come out for one: the blocks of a raw packet, or one."""
        return max(1, -(-packet.data.size // self.config.block_bytes)) if isinstance(packet, RawPacket) else 1


def _by_golden(packet: Packet, config: BlockCoreConfig) -> list[Expected]:
    if isinstance(packet, RawPacket):
        found = payloads(packet, config.block_bytes)
        for payload in found:
            raw = Coding(payload.coding & ~SHORT) is Coding.RAW
            cover("block_core_block", coding_name(Coding(packet.coding)),
                  *["cut"] if payload.cut else ["short" if payload.raw_bytes < config.block_bytes else "whole",
                                                "raw" if raw else "coded"])
        return [Expected(payload.data, payload.user, about=f"block {number} of {packet}")
                for number, payload in enumerate(found)]
    assert isinstance(packet, Payload)
    expected = expected_raw(packet, config)
    number = packet.coding & ~SHORT
    cover("block_core", coding_name(Coding(number)) if number in config.numbers else "other", expected.error.name)
    return [expected]
