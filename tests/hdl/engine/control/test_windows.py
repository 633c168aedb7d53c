"""The address windows on the bus: what they refuse, when they can be written, and that only a reset unlocks them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.engine import Status, Window
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.windows import WINDOW_REGISTERS
from cdma.hdl.engine.control.windows import Windows as Registers
from tests.hdl.bench import clocked
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, SLVERR, Bench, good, simulated

_CONFIG = CONFIG.replace(address_windows=True, attribute_registers=True, user_bits=4, link_cache=7)
_DEVICE, _LINK = Window(0x12_3450_0000, 0x12_3460_0000), Window(0x7_FFFF_F000, 0x8_0000_2000)
_BOTH = pytest.mark.parametrize(("name", "operation"), DIRECTIONS)


def _values(device: Window = _DEVICE, link: Window = _LINK) -> dict[str, int]:
    """The registers of windows."""
    return {f"{memory}_{end}_{half}": getattr(window, end.lower()) >> 32 * (half == "HI") & 0xFFFFFFFF
            for memory, window in (("DEVICE", device), ("LINK", link)) for end in ("BASE", "LIMIT")
            for half in ("LO", "HI")}


async def _write(bench: Bench, values: dict[str, int], response: int = 0) -> None:
    for name, value in values.items():
        await bench.write(name, value, response=response)


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
            name = "window_control" if number == 300 else rng.choice(WINDOW_REGISTERS)
            lock = name == "window_control"
            value, idle = rng.choice([0, rng.getrandbits(32)]), rng.random() < 0.7
            if lock and number < 350:
                value = value & ~1 | (number == 300)
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


@_BOTH
@simulated(lambda: Bench(_CONFIG))
async def test_descriptors_are_held_inside(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """A descriptor that does not fit is refused before the data path sees it; the next one that does is taken."""
    await _write(bench, _values())
    await bench.reads(**_values())
    (source, length), (destination, room) = [(_DEVICE.base, 0x10_0000), (_LINK.base, 0x3000)][::3 - 2 * operation]
    size, space = ("raw_bytes", "capacity") if operation == 1 else ("packed_bytes", "raw_bytes")
    right = {"source": source, size: length, "destination": destination, space: room}
    outside, behind = Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW
    for changes, status in (
            ({}, Status.OK),
            ({"source": source - 4096}, outside), ({"source": source + 4096}, outside), ({size: length + 4}, outside),
            ({"destination": destination - 4096}, behind), ({"destination": destination + 4096}, behind),
            ({space: room + 4}, behind), ({"source": 0, "destination": 0}, outside),
            ({}, Status.OK)):
        await bench.push(name, good(operation, tag=7, **right | changes))
        await bench.outcomes(name, (7, status))
    assert len(bench.paths[name].seen) == 2


@_BOTH
@simulated(lambda: Bench(_CONFIG))
async def test_rings_are_held_inside(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """A ring that does not lie in the link's window cannot be enabled, and no entry of it is read; nor can the one
    that is there after a soft reset."""
    base, limit = 0x5000, 0x8000
    control, refused = f"{name.upper()}_RING_CONTROL", f"{name.upper()}_REFUSED"
    await _write(bench, _values(Window(), Window(base, limit)))
    for place, entries, fits in ((base, 128, True), (base - 64, 2, False), (limit, 2, False), (limit - 64, 2, False),
                                 (limit - 64 * 64, 64, True), (base, 256, False), (base + 64, 65536, False),
                                 (0, 2, False)):
        for register, value in (("BASE_LO", place), ("BASE_HI", 0), ("SIZE", entries)):
            await bench.write(f"{name.upper()}_RING_{register}", value)
        if fits:
            await bench.ring(name, place, entries, good(operation, tag=5))
            assert (await bench.completion(name)).tag == 5
            await bench.reads(**{control: 1, refused: 0})
            await bench.write(control, 0)
        else:
            await bench.refused(control, 1, refused, 4)
            await bench.reads(**{control: 0})
    await bench.soft_reset()
    await bench.write(control, 1, response=SLVERR)


@simulated(lambda: Bench(_CONFIG))
async def test_the_lock(bench: Bench, ctx: Any) -> None:
    """Once locked, nothing changes windows and attributes but a reset by the pin: no write, no soft reset, and no other
    value of the lock. Before, a soft reset changes attributes, but no window."""
    windows, attributes = _values(), {"LANE_ATTRIBUTES": 0x5_092F, "LINK_ATTRIBUTES": 0xA_0F10}
    await _write(bench, {**windows, **attributes, "WINDOW_CONTROL": 0})
    await bench.reads(**windows, **attributes, WINDOW_CONTROL=0)
    await bench.soft_reset()
    await bench.reads(**windows, LANE_ATTRIBUTES=3, LINK_ATTRIBUTES=7, REFUSED=0)
    await _write(bench, {**attributes, "WINDOW_CONTROL": 1})
    for reset in (False, True):
        if reset:
            await bench.soft_reset()
        await bench.reads(REFUSED=0)
        for name in (*windows, "WINDOW_CONTROL", *attributes):
            for value in (0, 0xFFFFFFFF):
                await bench.refused(name, value, "REFUSED", 2 if name in attributes else 1)
        await bench.reads(**windows, **attributes, WINDOW_CONTROL=1)
        await bench.push("offload", good(1, tag=1))
        await bench.outcomes("offload", (1, Status.SOURCE_OUTSIDE_WINDOW))
    # The bit of a refused write is cleared by a soft reset, as those of the channels are.
    await bench.write("LINK_BASE_LO", 0, response=SLVERR)
    await bench.soft_reset()
    await bench.reads(REFUSED=0)
    for port in ("lane", "link"):
        seen, register = ctx.get(bench.dut.attributes[port]), attributes[f"{port.upper()}_ATTRIBUTES"]
        assert (seen.cache, seen.prot, seen.qos, seen.user) == (
            register & 15, register >> 4 & 7, register >> 8 & 15, register >> 16)


@_BOTH
@simulated(lambda: Bench(_CONFIG))
async def test_windows_in_use_stay(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """No window can be changed while a descriptor is being processed or a ring is enabled; it can be locked."""
    path = bench.paths[name]
    path.cycles = 100_000
    await bench.push(name, good(operation))
    while not path.inside:
        await ctx.tick()
    await _write(bench, _values(), SLVERR)
    await bench.reads(REFUSED=1)
    path.cycles = 3
    await bench.write(f"{name.upper()}_ABORT", 1)
    await bench.completion(name)
    await bench.ring(name, 0x4000, 4)
    await _write(bench, _values(), SLVERR)
    await bench.reads(**dict.fromkeys(_values(), 0))
    await bench.write(f"{name.upper()}_RING_CONTROL", 0)
    await _write(bench, _values())
    await bench.ring(name, _LINK.base, 4)
    await bench.write("WINDOW_CONTROL", 1)
    await bench.reads(**_values(), WINDOW_CONTROL=1)
