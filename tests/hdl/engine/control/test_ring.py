"""A ring's registers against a model in plain Python: what is stored, what is refused, when an entry is pending; of a
ring that the engine writes, when it is full, and its phase."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from cdma.golden.engine import OPEN, WINDOW_BYTES, Parameters, Window, Windows
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.ring import Ring
from tests.hdl.bench import clocked
from tests.hdl.engine.control.bench import window_pages

_REGISTERS = ("base_lo", "base_hi", "size", "tail", "control")


@dataclass
class _Model:
    """What the registers hold."""

    built: Parameters
    base: int = 0
    size: int = 2
    tail: int = 0
    head: int = 0
    enabled: bool = False
    reading: bool = False
    window: Window = OPEN.link
    writes: bool = False
    phase: int = 1
    settles: int = 0        # cycles in which the ring still counts as full after an entry was begun
    ahead: int = 0          # from the oldest open entry to the one that is begun next
    open: int = 0           # entries without a response
    spoiled: bool = False   # one of them failed
    pause: int = 0          # cycles without another response

    @property
    def next(self) -> int:
        return (self.head + self.ahead) % self.size

    @property
    def next_phase(self) -> int:
        return self.phase ^ (self.head + self.ahead >= self.size)

    @property
    def full(self) -> bool:
        return (self.next + 1) % self.size == self.tail

    @property
    def busy(self) -> bool:
        return self.open > 0 or self.spoiled if self.writes else self.reading

    @property
    def at_rest(self) -> bool:
        return not self.enabled and not self.busy

    @property
    def pending(self) -> bool:
        if self.writes:
            return self.enabled and not self.full and not self.settles
        return self.enabled and self.head != self.tail

    def reads(self, begins: bool, ends: bool, fails: bool) -> None:
        """The engine reads entries, one at a time."""
        if begins:
            self.reading = True
        if ends:
            self.reading = False
            self.enabled = self.enabled and not fails
            if not fails:
                self.head = (self.head + 1) % self.size

    def writes_entries(self, begins: bool, ends: bool, fails: bool) -> None:
        """The engine writes entries, several at a time; those behind one that failed count as not written."""
        self.pause = 3 if ends else max(0, self.pause - 1)
        if self.spoiled and not self.open:
            self.spoiled, self.ahead, self.settles = False, 0, 2
        if ends:
            self.open -= 1
            if fails:
                self.enabled, self.spoiled = False, True
            elif not self.spoiled:
                self.head = (self.head + 1) % self.size
                self.phase ^= self.head == 0
                self.ahead -= 1
        if begins:
            self.open, self.ahead, self.settles = self.open + 1, self.ahead + 1, 2

    def write(self, name: str, value: int) -> bool:
        """Writes a register; whether that is allowed."""
        if name in ("base_lo", "base_hi", "size") and not self.at_rest:
            return False
        if name == "base_lo":
            self.base = self.base >> 32 << 32 | value & ~63
        elif name == "base_hi":
            self.base = (value << 32 | self.base & 0xFFFFFFFF) & ((1 << self.built.address_bits) - 1)
        elif name == "size":
            if value not in [1 << k for k in range(1, 17)]:
                return False
            self.size, self.head, self.tail, self.phase, self.ahead = value, 0, 0, 1, 0
        elif name == "tail":
            if value >= self.size:
                return False
            self.tail = value
        else:
            if value & 1 and not self.built.takes_ring(self.base, self.size, self.window):
                return False
            self.enabled = bool(value & 1)
        return True


def _value(rng: random.Random, name: str, model: _Model) -> int:
    """A value to write: one that is allowed, most often, or one near a limit."""
    if name == "size":
        small = 1 << rng.randrange(1, 4)
        return rng.choice([small, small, 1 << rng.randrange(18), 3, 0, small | 1 << rng.randrange(32),
                           rng.getrandbits(17)])
    if name == "tail":
        return rng.choice([rng.randrange(model.size), model.size - 1, model.size, rng.getrandbits(32)])
    if name == "control":
        return rng.choice([0, 1, 1, 1, rng.getrandbits(32)])
    if name == "base_hi":
        return rng.choice([0, (1 << 32) - 1, (1 << 32) - 1, rng.getrandbits(32)])
    # Rings that end with the last address or the window, or one entry later, or begin with the window or one entry
    # earlier, or anywhere.
    ends = [((1 << 32) + model.window.limit - 64 * model.size) & 0xFFFFFFFF, (1 << 32) - 64 * model.size]
    return rng.choice([*ends, *(end + 64 for end in ends), *(model.window.base + step for step in (-64, 0, 0)),
                       0xFFFFFFC0, rng.getrandbits(32)]) & 0xFFFFFFFF


def _window(rng: random.Random, model: _Model) -> Window:
    """A window around the ring, which may begin a page late or end a page early, or one anywhere."""
    last = model.base + 64 * model.size - 1
    base = model.base // WINDOW_BYTES + rng.choice([0, 0, 0, 1, -1])
    limit = last // WINDOW_BYTES + rng.choice([1, 1, 1, 0, 2])
    pages = 1 << model.built.address_bits - 12
    pair = rng.choice([(base, limit), (base, limit), (base, 0), (0, 0), (0, limit), (rng.randrange(pages), 0)])
    return Window(*(each % pages * WINDOW_BYTES for each in pair))


@pytest.mark.parametrize(("windows", "writes"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("address_bits", [32, 33, 40, 64])
def test_registers(address_bits: int, windows: bool, writes: bool) -> None:
    rng = random.Random(address_bits)
    config = EngineConfig(address_bits=address_bits, address_windows=windows)
    dut = Ring(config, writes)
    model = _Model(Parameters.of(config), writes=writes)
    seen: Counter[tuple[str, bool]] = Counter()
    outside: Counter[str] = Counter()
    full, wraps, most = 0, 0, 0

    def set_window(ctx: Any) -> None:
        ctx.set(dut.window, window_pages(Windows(link=model.window))["link"])

    async def process(ctx: Any) -> None:
        nonlocal full, wraps, most
        since = 0
        if windows:
            set_window(ctx)
        for _ in range(4000 if not windows and not writes else 8000):
            ctx.set(dut.open, model.busy)
            if writes:
                ctx.set(dut.back, model.spoiled and not model.open)
            values = ctx.get(dut.values)
            assert (values.base * 64, values.size, values.tail, values.head) == (
                model.base, model.size, model.tail, model.head)
            assert values.enable == (not model.at_rest)
            # When the driver moves its index, a cycle goes by before the ring knows.
            late = writes and since == 0
            assert ctx.get(dut.pending) == model.pending or late
            if writes:
                assert (ctx.get(dut.phase), ctx.get(dut.next), ctx.get(dut.next_phase)) == (
                    model.phase, model.next, model.next_phase)
                most = max(most, model.ahead)
                assert since <= (2 if model.at_rest else 0) or model.settles or ctx.get(dut.full) == model.full
                full += model.full and model.enabled
                wraps += model.phase == 0
            model.settles = max(0, model.settles - 1)
            begins = model.pending and not model.spoiled and not model.reading and rng.random() < 0.5
            ends = not model.pause and (model.open > 0 if writes else model.reading) and rng.random() < 0.3
            fails = ends and not model.spoiled and rng.random() < (0.05 if writes else 0.2)
            # The bus writes in every third cycle at most, also in that in which an entry ends; none begins then.
            since += 1
            accesses = since >= 3 and not begins and rng.random() < 0.7
            if windows and accesses and model.at_rest and rng.random() < 0.2:
                # A window is written as any register is, while the ring is at rest.
                model.window = _window(rng, model)
                set_window(ctx)
                since, accesses = 0, False
            name = rng.choice(_REGISTERS) if accesses else ""
            since = 0 if name else since
            value = _value(rng, name, model) if name else rng.getrandbits(32)
            ctx.set(dut.write, {each: each == name for each in _REGISTERS})
            ctx.set(dut.data, value)
            if writes:
                ctx.set(dut.begin, begins)
            ctx.set(dut.advance, ends and not fails and not model.spoiled)
            ctx.set(dut.fail, fails)
            if name:
                allowed = model.write(name, value)
                assert ctx.get(dut.refuse) == (not allowed), (name, value)
                seen[name, allowed] += 1
                outside["inside" if allowed else "outside"] += (
                    name == "control" and value & 1 and model.base + 64 * model.size <= 1 << address_bits)
            await ctx.tick()
            (model.writes_entries if writes else model.reads)(begins, ends, fails)
            seen["read", not fails] += ends

    clocked(dut, process)
    assert set(seen) == {(name, allowed) for name in (*_REGISTERS, "read") for allowed in (True, False)}
    assert not writes or (full > 50 and wraps > 50 and most > 3), (full, wraps, most)
    assert outside["inside"] > 25 and (outside["outside"] > 10) == windows
