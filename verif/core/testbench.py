"""The testbench of the two cores: golden says what must come out, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cdma.golden.codec import lines as zvc
from cdma.golden.codec.errors import StreamError
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.config.core import CoreConfig
from cdma.verif.common.base import Model, Testbench
from cdma.verif.common.cover import cover
from cdma.verif.common.stalls import pattern
from cdma.verif.common.stream import Bytes, Packet, Received
from cdma.verif.core.axis import Sink, Source
from cdma.verif.core.lines import walk

__all__ = ["CompressorModel", "CoreModel", "CoreTestbench", "DecompressorModel", "Expected", "StreamTestbench",
           "first_difference", "model_of"]

LINES = 1 << 24
"""The error line is counted modulo this."""


@dataclass(frozen=True)
class Expected:
    """What must come out for a packet.

    Parameters
    ----------
    data
        The right bytes; of a packet that fails, as far as they are known.
    least
        How many of them must come out.
    error
        The code beside the last beat.
    line
        The line beside the last beat of a packet that fails.
    starts
        Offset in ``data`` of every line.
    """

    data: Bytes
    least: int
    error: ErrorCode
    line: int
    starts: np.ndarray[Any, Any]


def first_difference(expected: Bytes, seen: Bytes, starts: np.ndarray[Any, Any],
                     least: int | None = None) -> str | None:
    """The first differing byte with its line, in a sentence; None when there is none.

    Parameters
    ----------
    starts
        Offset of every line in ``expected``.
    least
        How many bytes ``seen`` must have at least; as many as ``expected`` when not given.
    """
    common = min(expected.size, seen.size)
    differs = np.flatnonzero(expected[:common] != seen[:common])
    at = int(differs[0]) if differs.size else common
    line = max(0, int(np.searchsorted(starts, at, side="right")) - 1)
    if differs.size:
        return f"byte {at} (line {line}) is 0x{seen[at]:02x}, not 0x{expected[at]:02x}"
    least = expected.size if least is None else least
    if not least <= seen.size <= expected.size:
        wanted = f"{expected.size}" if least == expected.size else f"{least} to {expected.size}"
        return f"{seen.size} bytes came out, not {wanted} (line {line})"
    return None


class CoreModel(Model[Packet, Received]):
    """Base of the models of both cores: compares a packet with what is expected."""

    def difference(self, expected: Expected, seen: Received) -> str | None:
        """What is wrong with a packet that came out: error code, error line, bytes."""
        faults = []
        if seen.error != expected.error.value:
            faults.append(f"error code is {seen.error}, not {expected.error.value} ({expected.error.name.lower()})")
        if expected.error is not ErrorCode.OK and seen.line != expected.line:
            faults.append(f"error line is {seen.line}, not {expected.line}")
        if fault := first_difference(expected.data, seen.data, expected.starts, expected.least):
            faults.append(fault)
        return "; ".join(faults) or None


class CompressorModel(CoreModel):
    """Packed bytes by the golden model; a fraction of an element is dropped and reported."""

    def expect(self, item: Packet) -> Expected:
        """What must come out for raw bytes."""
        fraction = item.data.size % item.element_bytes
        raw = item.data[:item.data.size - fraction]
        packed = zvc.compress(raw, item.element_bytes)
        sizes = zvc.line_packed_bytes(raw, item.element_bytes)
        error = ErrorCode.TRAILING_BYTES if fraction else ErrorCode.OK
        cover("line_core", "compressor", item.element_bytes, error.name)
        return Expected(packed, packed.size, error, 0, np.cumsum(sizes) - sizes)


class DecompressorModel(CoreModel):
    """Raw bytes by the golden model; of a stream that fails, the code, the line, and the bytes that are known."""

    def expect(self, item: Packet) -> Expected:
        """What must come out for packed bytes."""
        try:
            raw = zvc.decompress(item.data, item.element_bytes)
        except StreamError as error:
            cover("line_core", "decompressor", item.element_bytes, error.reason.name)
            return _failing(item, error)
        cover("line_core", "decompressor", item.element_bytes, ErrorCode.OK.name)
        return Expected(raw, raw.size, ErrorCode.OK, 0, np.arange(0, raw.size, LINE_BYTES))


def _failing(packet: Packet, error: StreamError) -> Expected:
    lines = walk(packet.data, packet.element_bytes)
    number = error.line or 0
    least = known = number * LINE_BYTES
    data = packet.data
    if number < len(lines):
        # The elements that are present fill the line up to the first missing one.
        line = lines[number]
        claimed = line.tag.bit_count()
        bits = [bit for bit in range(LINE_BYTES // packet.element_bytes) if line.tag >> bit & 1]
        there = line.held // packet.element_bytes
        known += bits[there] * packet.element_bytes if there < claimed else LINE_BYTES
        data = np.concatenate([data, np.zeros(claimed * packet.element_bytes - line.held, np.uint8)])
    elif lines:
        data = data[:lines[-1].offset + LINE_BYTES // packet.element_bytes // 8 + lines[-1].held]
    else:
        data = data[:0]
    raw = zvc.decompress(data, packet.element_bytes)[:known]
    return Expected(raw, least, ErrorCode[error.reason.name], number % LINES, np.arange(0, max(known, 1), LINE_BYTES))


def model_of(core: str) -> CompressorModel | DecompressorModel:
    """The model of a core by its name."""
    return CompressorModel() if core == "compressor" else DecompressorModel()


class StreamTestbench(Testbench[Any, Received]):
    """A core between a source and a sink.

    Parameters
    ----------
    dut
        The flat top.
    beat_bytes
        Bytes of a beat.
    model
        Says what must come out.
    growth
        How many times as long as a packet that goes in those may be that come out.
    progress
        Called now and then with the number of beats that came out.

    Members
    -------
    core
        Name of the kind of core.
    """

    core = ""

    def __init__(self, dut: Any, beat_bytes: int, model: Model[Any, Received], growth: int,
                 progress: Callable[[int], None] | None = None) -> None:
        super().__init__(dut, model)
        board = self.scoreboard
        self.source = Source(dut, "s_axis", beat_bytes, self.sent)
        self.sink = Sink(dut, "m_axis", beat_bytes, board.observe, board.fault, progress)
        self.agents = [self.source, self.sink]
        self._beat_bytes = beat_bytes
        self._growth = growth
        self._slowness = 3.0

    def sent(self, packet: Packet) -> None:
        """Note that a packet is going in."""
        self.scoreboard.sent(packet)

    def outputs(self, packet: Packet) -> int:
        """How many packets come out for one."""
        return 1

    def idle(self) -> None:
        """Drive the idle values of both streams."""
        self.source.idle()
        self.sink.idle()

    def in_reset(self) -> None:
        """Check that nothing is offered while the reset is held."""
        if not self.sink.quiet():
            self.scoreboard.fault("m_axis_tvalid is not low in reset")

    def stall(self, idle: float, backpressure: float, seed: int, burst: float = 1.0) -> None:
        """Choose the pauses of both sides.

        Parameters
        ----------
        idle, backpressure
            Share of the cycles that the source and the sink pause.
        burst
            Mean length of a pause in cycles.
        """
        cover("core_stall", self.core, f"source {'pauses' if idle else 'free'}",
              f"sink {'pauses' if backpressure else 'free'}")
        self.source.stalls = pattern(idle, seed, burst)
        self.sink.stalls = pattern(backpressure, seed + 1, burst)
        self._slowness = 1 / (1 - idle) + 1 / (1 - backpressure) + burst

    async def play(self, packets: Sequence[Packet], to_the_end: bool = False) -> list[Received]:
        """Send packets and wait until all came out.

        Parameters
        ----------
        to_the_end
            Go on after a difference.

        Returns
        -------
        list
            What came out for them.

        Raises
        ------
        AssertionError
            If anything was wrong.
        """
        board = self.scoreboard
        before = len(board.seen)
        for packet in packets:
            self.source.send(packet)
        wanted = sum(map(self.outputs, packets))
        longest = max((packet.data.size for packet in packets), default=0) * self._growth // self._beat_bytes
        patience = int((longest + 100) * 4 * self._slowness)
        while True:
            await self.drain(patience, to_the_end)
            if len(board.seen) - before >= wanted:
                return board.seen[before:]


class CoreTestbench(StreamTestbench):
    """A core of lines between a source and a sink.

    Parameters
    ----------
    dut
        The flat top.
    config
        What it was built from.
    model
        Says what must come out; the golden model when not given.
    progress
        Called now and then with the number of beats that came out.
    """

    def __init__(self, dut: Any, config: CoreConfig, model: Model[Packet, Received] | None = None,
                 progress: Callable[[int], None] | None = None) -> None:
        # A line of nothing but a tag becomes 32 times as long; a packed line is at most 9/8 of a raw one.
        growth = 34 if config.core == "decompressor" else 3
        super().__init__(dut, config.beat_bytes, model or model_of(config.core), growth, progress)
        self.config = config
        self.core = config.core
