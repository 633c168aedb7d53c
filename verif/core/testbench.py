"""The testbench of the cores: a source, a sink, and golden, which says what must come out, byte for byte."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, SimTimeoutError, with_timeout

from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.core import CoreConfig
from cdma.verif.common.cover import cover
from cdma.verif.common.job import CLOCK_NS
from cdma.verif.common.stalls import pattern
from cdma.verif.common.stream import Packet, Received
from cdma.verif.core.axis import Sink, Source
from cdma.verif.core.packets import Expected, by_golden, difference

__all__ = ["Config", "CoreTestbench", "core_config"]

Config = CoreConfig | BlockCoreConfig
"""What a core is built from."""

_MOST_FAULTS = 100

_GROWTH = {"compressor": 3, "decompressor": 34, "block_compressor": 3, "block_decompressor": 130}
"""How many times as long as a packet that goes in those may be that come out. A line of nothing but a tag becomes 32
times as long, a line of zeros without a tag is a byte; what is packed is at most 9/8 of raw bytes."""


def core_config(values: dict[str, Any]) -> Config:
    """The configuration of a core from its parameters."""
    return BlockCoreConfig(**values) if "codings" in values else CoreConfig(**values)


class CoreTestbench:
    """A core between a source and a sink, and what came out compared with what must, in order.

    Parameters
    ----------
    dut
        The flat top; the clock is ``aclk``, the reset ``aresetn``.
    config
        What it was built from.
    expect
        What must come out for a packet; the golden model says it when not given.
    progress
        Called now and then with the number of beats that came out.

    Members
    -------
    differences
        A sentence for each packet that was wrong, and for each time the protocol was broken (the first hundred).
    judged
        For every packet that was expected and came out, what was wrong with it, or None.
    seen
        Every packet that came out.
    """

    def __init__(self, dut: Any, config: Config, expect: Callable[[Packet, Any], list[Expected]] = by_golden,
                 progress: Callable[[int], None] | None = None) -> None:
        self.dut = dut
        self.config: Any = config
        self.differences: list[str] = []
        self.judged: list[str | None] = []
        self.seen: list[Received] = []
        self._expect = expect
        self._expected: deque[tuple[str, Expected]] = deque()
        self._sent = 0
        self._changed = Event()
        self._clock: Clock | None = None
        self._slowness = 3.0
        self.source = Source(dut, config.beat_bytes, self._begins)
        self.sink = Sink(dut, config.beat_bytes, self._observe, self._fault, progress)

    def _begins(self, packet: Packet) -> None:
        """Note that a packet is going in, of which one or several come out."""
        for expected in self._expect(packet, self.config):
            self._expected.append((f"packet {self._sent} ({expected})", expected))
            self._sent += 1

    def _observe(self, packet: Received) -> None:
        """Judge a packet that came out."""
        self.seen.append(packet)
        if self._expected:
            name, expected = self._expected.popleft()
            self.judged.append(difference(expected, packet))
            if self.judged[-1] is not None:
                self.differences.append(f"{name}: {self.judged[-1]}")
        else:
            self.differences.append(f"{packet} came out, but nothing was outstanding")
        self._changed.set()

    def _fault(self, sentence: str) -> None:
        """Note a fault that belongs to no packet: a broken protocol."""
        if len(self.differences) < _MOST_FAULTS:
            self.differences.append(sentence)
        self._changed.set()

    async def reset(self, cycles: int = 3) -> None:
        """Reset the design, the source and the sink; packets that are not finished are discarded."""
        if self._clock is None:
            self._clock = Clock(self.dut.aclk, CLOCK_NS, "ns")
            self._clock.start()
        for side in (self.source, self.sink):
            side.stop()
        self._expected.clear()
        self.dut.aresetn.value = 0
        self.source.idle()
        self.sink.idle()
        await ClockCycles(self.dut.aclk, cycles)
        if not self.sink.quiet():
            self._fault("m_axis_tvalid is not low in reset")
        self.dut.aresetn.value = 1
        for side in (self.source, self.sink):
            side.start()

    def close(self) -> None:
        """Stop source, sink and clock, so that another testbench can take the design."""
        self.source.stop()
        self.sink.stop()
        if self._clock is not None:
            self._clock.stop()

    def stall(self, idle: float, backpressure: float, seed: int, burst: float = 1.0) -> None:
        """Choose the pauses of both sides.

        Parameters
        ----------
        idle, backpressure
            Share of the cycles that the source and the sink pause.
        burst
            Mean length of a pause in cycles.
        """
        cover("core_stall", self.config.core, f"source {'pauses' if idle else 'free'}",
              f"sink {'pauses' if backpressure else 'free'}")
        self.source.stalls = pattern(idle, seed, burst)
        self.sink.stalls = pattern(backpressure, seed + 1, burst)
        self._slowness = 1 / (1 - idle) + 1 / (1 - backpressure) + burst

    async def play(self, packets: Sequence[Packet], to_the_end: bool = False) -> list[Received]:
        """Send packets and wait until all came out, then a little longer for what must not come.

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
            With the first differences, or with what did not come out.
        """
        before = len(self.seen)
        self.source.queue.extend(packets)
        longest = max((packet.data.size for packet in packets), default=0) * _GROWTH[self.config.core]
        patience = int((longest // self.config.beat_bytes + 100) * 4 * self._slowness)
        while (self.source.queue or self._expected) and (to_the_end or not self.differences):
            self._changed.clear()
            try:
                await with_timeout(self._changed.wait(), patience * CLOCK_NS, "ns")
            except SimTimeoutError:
                waits = self._expected[0][0] if self._expected else "nothing"
                self._fault(f"{waits}: nothing came out for {patience} cycles, {len(self._expected)} packets are "
                            "outstanding")
                break
        else:
            await ClockCycles(self.dut.aclk, 40)
        self.check()
        return self.seen[before:]

    def check(self) -> None:
        """Raise AssertionError when anything was wrong so far."""
        if faults := self.differences:
            more = f"\nand {len(faults) - 3} more" if len(faults) > 3 else ""
            raise AssertionError("\n".join(faults[:3]) + more)
