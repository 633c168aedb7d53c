"""A memory behind an AXI4 port, on Amaranth's simulator: it answers late, pauses at will, and watches the rules."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from cdma.hdl.engine.axi.bursts import MOST_BEATS, burst_beats
from tests.hdl.bench import Process
from tests.hdl.engine.axi.traffic import Pace

__all__ = ["SIZE", "Memory"]

SIZE = 1 << 16
"""Bytes that the memory has; addresses wrap around."""


@dataclass(eq=False)
class _Burst:
    """A burst that is read, and how many of its beats have gone."""

    identifier: int
    address: int
    beats: int
    due: int
    gone: int = 0


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
    pauses, stretch
        Share of cycles that each channel pauses, and how long a pause may last.
    early
        Take written beats before their request.
    most_beats
        Beats of a burst that are allowed.
    silent
        Give no responses.
    faulty
        Responses other than OKAY, by the address of a beat that is read, or of a burst that is written.
    content
        The bytes.
    image
        The bytes that are to be there when :meth:`check` is called; at first those that are.
    domain
        Clock domain of the port; its reset makes the memory forget all transactions.
    changes
        Share of the beats read behind which another burst goes on, though this one has not ended; None: bursts are
        answered in order.
    withheld
        Identifiers that are not answered.
    orders
        The identifiers of the bursts in the order of their last beats.
    """

    axi: Any
    beat_bytes: int
    rng: random.Random
    latency: int = 0
    pauses: float = 0.0
    stretch: int = 1
    early: bool = False
    most_beats: int = MOST_BEATS
    silent: bool = False
    faulty: dict[int, int] = field(default_factory=dict)
    content: bytearray = field(default_factory=lambda: bytearray(SIZE))
    image: bytearray = field(init=False)
    domain: str = "sync"
    changes: float | None = None
    withheld: tuple[int, ...] = ()
    orders: list[int] = field(default_factory=list)
    mixed: int = 0
    bursts: list[tuple[int, int]] = field(default_factory=list)
    most_open: int = 0
    open: int = 0

    def __post_init__(self) -> None:
        self.image = bytearray(self.content)

    @property
    def processes(self) -> list[Process]:
        """What serves the channels that the port has."""
        return [serve for channel, serve in (("ar", self.read), ("aw", self.write))
                if hasattr(self.axi, f"{channel}valid")]

    def check(self, most: int = SIZE) -> None:
        """Nothing is open, no more than so many bursts were at once, and all bytes are right."""
        assert self.open == 0
        assert self.most_open <= most
        assert self.content == self.image

    def _pace(self) -> Pace:
        return Pace(self.rng, self.pauses, self.stretch)

    def _check(self, address: int, beats: int, size: int, burst: int) -> None:
        assert address % self.beat_bytes == 0
        assert 1 << size == self.beat_bytes
        assert burst == 1
        span = burst_beats(self.beat_bytes, self.most_beats) * self.beat_bytes
        assert address // span == (address + beats * self.beat_bytes - 1) // span, f"{address:x}+{beats} crosses {span}"
        self.bursts.append((address, beats))

    def _opens(self, count: int) -> None:
        self.open += count
        self.most_open = max(self.most_open, self.open)

    def _forget(self, ctx: Any, *pins: Any) -> None:
        """What a reset does to the outputs of the port."""
        for pin in pins:
            ctx.set(pin, 0)
        self.open = 0

    async def read(self, ctx: Any) -> None:
        """Serves the read channels, for ever."""
        axi, now = self.axi, 0
        open_: list[_Burst] = []
        shown: _Burst | None = None
        last: _Burst | None = None
        waiting: tuple[int, int] | None = None
        pace = {channel: self._pace() for channel in ("ar", "r")}
        while True:
            ready = pace["ar"].go()
            ctx.set(axi.arready, ready)
            if shown is None and open_ and not self.silent and pace["r"].go():
                shown = last = self._chosen(open_, now, last)
                if shown is not None:
                    place = shown.address + shown.gone * self.beat_bytes
                    chunk = bytes(self.content[place % SIZE:place % SIZE + self.beat_bytes])
                    ctx.set(axi.rdata, int.from_bytes(chunk, "little"))
                    ctx.set(axi.rresp, self.faulty.get(place, 0))
                    ctx.set(axi.rlast, self.rng.random() < 0.5)     # the masters do not need it
                    ctx.set(axi.rid, shown.identifier)
                    ctx.set(axi.rvalid, 1)
            _, reset, arvalid, arid, araddr, arlen, arsize, arburst, rready = await ctx.tick(self.domain).sample(
                axi.arvalid, axi.arid, axi.araddr, axi.arlen, axi.arsize, axi.arburst, axi.rready)
            now += 1
            if reset:
                self._forget(ctx, axi.rvalid)
                open_.clear()
                shown = last = waiting = None
                continue
            if waiting is None:
                self._opens(arvalid)
            else:
                assert arvalid and (araddr, arlen) == waiting, "a request changed before it was taken"
            waiting = (araddr, arlen) if arvalid and not ready else None
            if arvalid and ready:
                self._check(araddr, arlen + 1, arsize, arburst)
                assert self.changes is None or arid not in [each.identifier for each in open_], f"{arid} is in use"
                open_.append(_Burst(arid, araddr, arlen + 1, now + self.latency))
            if shown is not None and rready:
                ctx.set(axi.rvalid, 0)
                ctx.set(axi.rid, self.rng.getrandbits(len(axi.rid)))    # nobody may look at it
                shown.gone += 1
                if shown.gone == shown.beats:
                    open_.remove(shown)
                    self.orders.append(shown.identifier)
                    self.open -= 1
                shown = None

    def _chosen(self, bursts: list[_Burst], now: int, last: _Burst | None) -> _Burst | None:
        """The burst whose beat is next."""
        if self.changes is None:
            return bursts[0] if bursts[0].due <= now else None
        bursts = [each for each in bursts if each.due <= now and each.identifier not in self.withheld]
        if last in bursts and self.rng.random() >= self.changes:
            return last
        self.mixed += last in bursts
        return self.rng.choice(bursts) if bursts else None

    async def write(self, ctx: Any) -> None:
        """Serves the write channels, for ever."""
        axi, now = self.axi, 0
        requests: deque[tuple[int, int]] = deque()
        beats: deque[tuple[int, int, int]] = deque()
        answers: deque[tuple[int, int]] = deque()
        waiting: dict[str, tuple[int, ...]] = {}
        pace = {channel: self._pace() for channel in ("aw", "w", "b")}
        while True:
            ready = {"aw": pace["aw"].go(), "w": pace["w"].go()}
            if not self.early:
                ready["w"] = ready["w"] and (bool(requests) or (ready["aw"] and bool(ctx.get(axi.awvalid))))
            ctx.set(axi.awready, ready["aw"])
            ctx.set(axi.wready, ready["w"])
            if not ctx.get(axi.bvalid) and answers and answers[0][1] <= now and not self.silent and pace["b"].go():
                ctx.set(axi.bresp, self.faulty.get(answers[0][0], 0))
                ctx.set(axi.bvalid, 1)
            (_, reset, awvalid, awaddr, awlen, awsize, awburst, wvalid, wdata, wstrb, wlast, bvalid,
             bready) = await ctx.tick(self.domain).sample(
                axi.awvalid, axi.awaddr, axi.awlen, axi.awsize, axi.awburst, axi.wvalid, axi.wdata, axi.wstrb,
                axi.wlast, axi.bvalid, axi.bready)
            now += 1
            if reset:
                self._forget(ctx, axi.bvalid)
                requests.clear()
                beats.clear()
                answers.clear()
                waiting.clear()
                continue
            self._opens(awvalid and "aw" not in waiting)
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
                beats.append((wdata, wstrb, wlast))
            while requests and len(beats) >= requests[0][1]:
                address, count = requests.popleft()
                self._store(address, [beats.popleft() for _ in range(count)])
                answers.append((address, now + self.latency))
            assert not any(last for _, _, last in list(beats)[:-1]), "more beats than requests"
            if bvalid and bready:
                ctx.set(axi.bvalid, 0)
                answers.popleft()
                self.open -= 1

    def _store(self, address: int, beats: list[tuple[int, int, int]]) -> None:
        assert [last for _, _, last in beats] == [0] * (len(beats) - 1) + [1], "wlast is wrong"
        for number, (word, strobe, _) in enumerate(beats):
            place = (address + number * self.beat_bytes) % SIZE
            for byte in range(self.beat_bytes):
                if strobe >> byte & 1:
                    self.content[place + byte] = word >> 8 * byte & 255
