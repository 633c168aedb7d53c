"""The address windows on the bus: what they refuse, when they can be written, and that only a reset unlocks them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.engine import Window, Windows
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.windows import WINDOW_REGISTERS
from cdma.hdl.engine.control.windows import Windows as Registers
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import clocked
from tests.hdl.engine.control.bench import CONFIG, Bench, good

_SLVERR = 2
_CONFIG = CONFIG.replace(address_windows=True)
_DIRECTIONS = [("offload", 1), ("prefetch", 2)]
_NAMES = [f"{memory}_{end}_{half}" for memory in ("DEVICE", "LINK") for end in ("BASE", "LIMIT")
          for half in ("LO", "HI")]
_WINDOWS = Windows(Window(0x12_3450_0000, 0x12_3460_0000), Window(0x7_FFFF_F000, 0x8_0000_2000))


async def _write(bench: Bench, ctx: Any, windows: Windows, response: int = 0) -> None:
    for name, value in zip(_NAMES, _words(windows), strict=True):
        await bench.write(ctx, name, value, response=response)


def _words(windows: Windows) -> list[int]:
    return [half for window in (windows.device, windows.link) for end in (window.base, window.limit)
            for half in (end & 0xFFFFFFFF, end >> 32)]


async def _read(bench: Bench, ctx: Any) -> list[int]:
    return [await bench.read(ctx, name) for name in _NAMES]


@pytest.mark.parametrize("bits", [32, 40, 64])
def test_registers(bits: int) -> None:
    """Random writes against a model, many of them while the windows are in use; the last ones after the lock."""
    rng = random.Random(bits)
    dut = Registers(EngineConfig(address_bits=bits, address_windows=True))
    held = dict.fromkeys(WINDOW_REGISTERS, 0)
    masks = {"lo": 0xFFFFF000, "hi": (1 << bits - 32) - 1, "control": 1}

    async def process(ctx: Any) -> None:
        refused = taken = 0
        for number in range(400):
            name = rng.choice(WINDOW_REGISTERS)
            lock = name == "window_control"
            value, idle = rng.choice([0, rng.getrandbits(32)]), rng.random() < 0.7
            value &= ~1 if lock and number != 300 and number < 350 else 0xFFFFFFFF
            if number == 300:
                name, value, lock = "window_control", 1, True
            ctx.set(dut.write, {each: each == name for each in WINDOW_REGISTERS})
            ctx.set(dut.data, value)
            ctx.set(dut.idle, idle)
            refuse = bool(held["window_control"]) or not (lock or idle)
            assert ctx.get(dut.refuse) == refuse, (name, number)
            if not refuse:
                held[name] = value & masks[name.split("_")[-1]]
            refused, taken = refused + refuse, taken + (not refuse)
            await ctx.tick()
            ctx.set(dut.write, {})
            await ctx.tick()
            assert ctx.get(dut.locked) == held["window_control"]
            seen = ctx.get(dut.values)
            for memory in ("device", "link"):
                base, limit = ((held[f"{memory}_{end}_hi"] << 32 | held[f"{memory}_{end}_lo"]) >> 12
                               for end in ("base", "limit"))
                assert (seen[memory].base, seen[memory].limit, seen[memory].unlimited) == (base, limit, limit == 0)
        assert min(refused, taken) > 100

    clocked(dut, process)


def test_descriptors_are_held_inside() -> None:
    """A descriptor that does not fit is refused before the data path sees it; the next one that does is taken."""
    bench = Bench(_CONFIG)
    device, link = _WINDOWS.device, _WINDOWS.link

    async def driver(ctx: Any) -> None:
        await _write(bench, ctx, _WINDOWS)
        assert await _read(bench, ctx) == _words(_WINDOWS)
        for name, operation in _DIRECTIONS:
            places = [(device.base, 0x10_0000), (link.base, 0x3000)][::1 if operation == 1 else -1]
            sizes = ("raw_bytes", "capacity") if operation == 1 else ("packed_bytes", "raw_bytes")
            right = {"source": places[0][0], sizes[0]: places[0][1], "destination": places[1][0],
                     sizes[1]: places[1][1]}
            for changes, status in (
                    ({}, Status.OK),
                    ({"source": places[0][0] - 4096}, Status.SOURCE_OUTSIDE_WINDOW),
                    ({"source": places[0][0] + 4096}, Status.SOURCE_OUTSIDE_WINDOW),
                    ({sizes[0]: places[0][1] + 4}, Status.SOURCE_OUTSIDE_WINDOW),
                    ({"destination": places[1][0] - 4096}, Status.DESTINATION_OUTSIDE_WINDOW),
                    ({"destination": places[1][0] + 4096}, Status.DESTINATION_OUTSIDE_WINDOW),
                    ({sizes[1]: places[1][1] + 4}, Status.DESTINATION_OUTSIDE_WINDOW),
                    ({"source": 0, "destination": 0}, Status.SOURCE_OUTSIDE_WINDOW),
                    ({}, Status.OK)):
                await bench.push(ctx, name, good(operation, **right | changes))
                done = await bench.completion(ctx, name)
                assert done.status == status.value, (name, changes)
            assert len(bench.paths[name].seen) == 2

    bench.run(driver)


def test_the_lock() -> None:
    """Once locked, nothing changes them but a reset by the pin: not a soft reset, and no other value of the lock."""
    bench = Bench(_CONFIG)

    async def driver(ctx: Any) -> None:
        await _write(bench, ctx, _WINDOWS)
        await bench.write(ctx, "WINDOW_CONTROL", 0)
        assert await bench.read(ctx, "WINDOW_CONTROL") == 0
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        assert await _read(bench, ctx) == _words(_WINDOWS), "a soft reset changed the windows"
        await bench.write(ctx, "WINDOW_CONTROL", 1)
        for reset in (False, True):
            if reset:
                await bench.write(ctx, "CONTROL", 1)
                await bench.until(ctx, "CONTROL", 1, 0)
            assert await bench.read(ctx, "REFUSED") == 0
            for name in (*_NAMES, "WINDOW_CONTROL"):
                for value in (0, 0xFFFFFFFF):
                    await bench.write(ctx, name, value, response=_SLVERR)
                    assert await bench.read(ctx, "REFUSED") == 1
                    await bench.write(ctx, "REFUSED", 0)
                    assert await bench.read(ctx, "REFUSED") == 1
                    await bench.write(ctx, "REFUSED", 1)
            assert await bench.read(ctx, "WINDOW_CONTROL") == 1
            assert await _read(bench, ctx) == _words(_WINDOWS)
            await bench.push(ctx, "offload", good(1))
            assert (await bench.outcome(ctx, "offload"))[1] == Status.SOURCE_OUTSIDE_WINDOW.value
        # The bit of a refused write is cleared by a soft reset, as those of the channels are.
        await bench.write(ctx, "LINK_BASE_LO", 0, response=_SLVERR)
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        assert await bench.read(ctx, "REFUSED") == 0

    bench.run(driver)


def test_the_lock_holds_attributes() -> None:
    """Attributes can be written until the windows are locked; then neither a write nor a soft reset changes them."""
    bench = Bench(_CONFIG.replace(attribute_registers=True, user_bits=4, link_cache=7))
    chosen = {"LANE_ATTRIBUTES": 0x5_092F, "LINK_ATTRIBUTES": 0xA_0F10}
    address_window, attributes = 1, 2

    async def driver(ctx: Any) -> None:
        async def soft_reset(held: dict[str, int]) -> None:
            await bench.write(ctx, "CONTROL", 1)
            await bench.until(ctx, "CONTROL", 1, 0)
            assert {name: await bench.read(ctx, name) for name in held} == held

        for locked in (False, True):
            for name, value in chosen.items():
                await bench.write(ctx, name, value)
                assert await bench.read(ctx, name) == value
            if not locked:
                await soft_reset({"LANE_ATTRIBUTES": 3, "LINK_ATTRIBUTES": 7, "REFUSED": 0})
        await bench.write(ctx, "WINDOW_CONTROL", 1)
        await soft_reset(chosen)
        for name in chosen:
            for value in (0, 0xFFFFFFFF):
                await bench.write(ctx, name, value, response=_SLVERR)
                assert await bench.read(ctx, "REFUSED") == attributes
                await bench.write(ctx, "REFUSED", address_window)
                assert await bench.read(ctx, "REFUSED") == attributes
                await bench.write(ctx, "REFUSED", attributes)
        await bench.write(ctx, "DEVICE_BASE_LO", 0, response=_SLVERR)
        assert await bench.read(ctx, "REFUSED") == address_window
        await soft_reset(chosen)
        for port in ("lane", "link"):
            seen, register = ctx.get(bench.dut.attributes[port]), chosen[f"{port.upper()}_ATTRIBUTES"]
            assert (seen.cache, seen.prot, seen.qos, seen.user) == (
                register & 15, register >> 4 & 7, register >> 8 & 15, register >> 16)

    bench.run(driver)


@pytest.mark.parametrize(("name", "operation"), _DIRECTIONS)
def test_windows_in_use_stay(name: str, operation: int) -> None:
    """No window can be changed while a descriptor is being processed or a ring is enabled; it can be locked."""
    bench = Bench(_CONFIG)
    path = bench.paths[name]

    async def driver(ctx: Any) -> None:
        path.cycles = 100_000
        await bench.push(ctx, name, good(operation))
        while not path.running:
            await ctx.tick()
        await _write(bench, ctx, _WINDOWS, response=_SLVERR)
        assert await bench.read(ctx, "REFUSED") == 1
        path.cycles = 3
        await bench.write(ctx, f"{name.upper()}_ABORT", 1)
        await bench.completion(ctx, name)
        await bench.start_ring(ctx, name, 0x4000, 4)
        await _write(bench, ctx, _WINDOWS, response=_SLVERR)
        assert await _read(bench, ctx) == [0] * len(_NAMES)
        await bench.write(ctx, f"{name.upper()}_RING_CONTROL", 0)
        await _write(bench, ctx, _WINDOWS)
        await bench.start_ring(ctx, name, _WINDOWS.link.base, 4)
        await bench.write(ctx, "WINDOW_CONTROL", 1)
        assert await bench.read(ctx, "WINDOW_CONTROL") == 1
        assert await _read(bench, ctx) == _words(_WINDOWS)

    bench.run(driver)


@pytest.mark.parametrize(("name", "operation"), _DIRECTIONS)
def test_rings_are_held_inside(name: str, operation: int) -> None:
    """A ring that does not lie in the link's window cannot be enabled, and no entry of it is read; nor can the one
    that is there after a soft reset."""
    bench = Bench(_CONFIG)
    link = Window(0x5000, 0x8000)
    control, refused = f"{name.upper()}_RING_CONTROL", f"{name.upper()}_REFUSED"

    async def driver(ctx: Any) -> None:
        await _write(bench, ctx, Windows(link=link))
        for base, entries, fits in ((link.base, 128, True), (link.base - 64, 2, False), (link.limit, 2, False),
                                    (link.limit - 64 * 64, 64, True), (link.limit - 64, 2, False),
                                    (link.base, 256, False), (link.base + 64, 65536, False), (0, 2, False)):
            for register, value in (("BASE_LO", base & 0xFFFFFFFF), ("BASE_HI", base >> 32), ("SIZE", entries)):
                await bench.write(ctx, f"{name.upper()}_RING_{register}", value)
            await bench.write(ctx, control, 1, response=0 if fits else _SLVERR)
            assert await bench.read(ctx, control) == fits
            assert await bench.read(ctx, refused) == (0 if fits else 4)
            if fits:
                bench.ring(base, [good(operation, tag=5)])
                await bench.write(ctx, f"{name.upper()}_RING_TAIL", 1)
                assert (await bench.outcome(ctx, name))[0] == 5
                await bench.write(ctx, control, 0)
            await bench.write(ctx, refused, 4)
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        await bench.write(ctx, control, 1, response=_SLVERR)

    bench.run(driver)
