"""A memory behind an AXI4 port, on Amaranth's simulator: it answers late, pauses at will, and watches the rules."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from hdl.engine_config import burst_beats

__all__ = ["Memory"]


@dataclass
class Memory:
    """Bytes, and the processes that serve them.

    Parameters
    ----------
    axi
        The master's port.
    beat_bytes
        Bytes of a beat.
    rng
        Source of every pause.
    latency
        Cycles from a request to its first beat or its response.
    pauses
        Probability of a pause on each channel, in each cycle.
    faulty
        Addresses of bursts that are answered with an error, and the response.
    """

    axi: Any
    beat_bytes: int
    rng: random.Random
    latency: int = 0
    pauses: float = 0.0
    faulty: dict[int, int] = field(default_factory=dict)
    content: bytearray = field(default_factory=lambda: bytearray(1 << 16))
    bursts: list[tuple[int, int]] = field(default_factory=list)
    most_open: int = 0
    open: int = 0

    def _go(self) -> bool:
        return self.rng.random() >= self.pauses

    def _check(self, address: int, beats: int, size: int, burst: int) -> None:
        assert address % self.beat_bytes == 0
        assert 1 << size == self.beat_bytes
        assert burst == 1
        assert beats <= burst_beats(self.beat_bytes)
        assert address // 4096 == (address + beats * self.beat_bytes - 1) // 4096, f"{address:x}+{beats} crosses 4 KiB"
        self.bursts.append((address, beats))
        self.open += 1
        self.most_open = max(self.most_open, self.open)

    async def read(self, ctx: Any) -> None:
        """Serves the read channels, for ever."""
        axi, now = self.axi, 0
        queue: deque[tuple[int, int, int]] = deque()
        waiting: tuple[int, int] | None = None
        beat = 0
        while True:
            ready = self._go()
            ctx.set(axi.arready, ready)
            shown = bool(ctx.get(axi.rvalid))
            if not shown and queue and queue[0][2] <= now and self._go():
                address, _, _ = queue[0]
                place = address + beat * self.beat_bytes
                chunk = bytes(self.content[place % (1 << 16):place % (1 << 16) + self.beat_bytes])
                ctx.set(axi.rdata, int.from_bytes(chunk, "little"))
                ctx.set(axi.rresp, self.faulty.get(address, 0))
                ctx.set(axi.rlast, self.rng.random() < 0.5)     # the masters do not need it
                ctx.set(axi.rvalid, 1)
            _, _, arvalid, araddr, arlen, arsize, arburst, rvalid, rready = await ctx.tick().sample(
                axi.arvalid, axi.araddr, axi.arlen, axi.arsize, axi.arburst, axi.rvalid, axi.rready)
            now += 1
            if waiting is not None:
                assert arvalid and (araddr, arlen) == waiting, "a request changed before it was taken"
            waiting = (araddr, arlen) if arvalid and not ready else None
            if arvalid and ready:
                self._check(araddr, arlen + 1, arsize, arburst)
                queue.append((araddr, arlen + 1, now + self.latency))
            if rvalid and rready:
                ctx.set(axi.rvalid, 0)
                beat += 1
                if beat == queue[0][1]:
                    queue.popleft()
                    self.open -= 1
                    beat = 0

    async def write(self, ctx: Any) -> None:
        """Serves the write channels, for ever."""
        axi, now = self.axi, 0
        requests: deque[tuple[int, int]] = deque()
        answers: deque[tuple[int, int]] = deque()
        waiting: dict[str, tuple[int, ...]] = {}
        beat = 0
        while True:
            ready = {"aw": self._go()}
            # Beats are taken with their request or later.
            ready["w"] = self._go() and (bool(requests) or (ready["aw"] and bool(ctx.get(axi.awvalid))))
            ctx.set(axi.awready, ready["aw"])
            ctx.set(axi.wready, ready["w"])
            if not ctx.get(axi.bvalid) and answers and answers[0][1] <= now and self._go():
                ctx.set(axi.bresp, self.faulty.get(answers[0][0], 0))
                ctx.set(axi.bvalid, 1)
            (_, _, awvalid, awaddr, awlen, awsize, awburst, wvalid, wdata, wstrb, wlast, bvalid,
             bready) = await ctx.tick().sample(axi.awvalid, axi.awaddr, axi.awlen, axi.awsize, axi.awburst, axi.wvalid,
                                               axi.wdata, axi.wstrb, axi.wlast, axi.bvalid, axi.bready)
            now += 1
            for channel, valid, payload in (("aw", awvalid, (awaddr, awlen)), ("w", wvalid, (wdata, wstrb, wlast))):
                if channel in waiting:
                    assert valid and payload == waiting[channel], f"{channel} changed before it was taken"
                waiting.pop(channel, None)
                if valid and not ready[channel]:
                    waiting[channel] = payload
            if awvalid and ready["aw"]:
                self._check(awaddr, awlen + 1, awsize, awburst)
                requests.append((awaddr, awlen + 1))
            if wvalid and ready["w"]:
                address, beats = requests[0]
                for byte in range(self.beat_bytes):
                    if wstrb >> byte & 1:
                        self.content[(address + beat * self.beat_bytes + byte) % (1 << 16)] = wdata >> 8 * byte & 255
                beat += 1
                assert wlast == (beat == beats), "wlast is wrong"
                if beat == beats:
                    requests.popleft()
                    answers.append((address, now + self.latency))
                    beat = 0
            if bvalid and bready:
                ctx.set(axi.bvalid, 0)
                answers.popleft()
                self.open -= 1
