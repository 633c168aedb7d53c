"""The address windows on the bus: what they refuse, when they can be written, and that only a reset unlocks them."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.golden.engine import Status
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, SLVERR, Bench, good, simulated, words_of

_CONFIG = CONFIG.replace(address_windows=True, attribute_registers=True, user_bits=4, link_cache=7)


async def _write(bench: Bench, values: dict[str, int]) -> None:
    for name, value in values.items():
        await bench.write(name, value)


@simulated(lambda: Bench(_CONFIG))
async def test_the_lock(bench: Bench, ctx: Any) -> None:
    """Once locked, nothing changes windows and attributes but a reset by the pin: no write, no soft reset, and no other
    value of the lock. Before, a soft reset changes attributes, but no window."""
    windows = {"DEVICE_BASE_LO": 0x3450_0000, "DEVICE_BASE_HI": 0x12, "DEVICE_LIMIT_LO": 0x3460_0000,
               "DEVICE_LIMIT_HI": 0x12, "LINK_BASE_LO": 0xFFFF_F000, "LINK_BASE_HI": 0x7, "LINK_LIMIT_LO": 0x2000,
               "LINK_LIMIT_HI": 0x8}
    attributes = {"LANE_ATTRIBUTES": 0x5_092F, "LINK_ATTRIBUTES": 0xA_0F10}
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


@simulated(lambda: Bench(_CONFIG))
async def test_a_limit_of_whole_4_gib(bench: Bench, ctx: Any) -> None:
    """It is one, though the lower half of its register is 0; no limit are two halves of 0."""
    for memory, field in (("DEVICE", "source"), ("LINK", "destination")):
        for high, status in ((1, Status[f"{field.upper()}_OUTSIDE_WINDOW"]), (0, Status.OK)):
            await bench.write(f"{memory}_LIMIT_HI", high)
            await bench.push("offload", good(1, tag=high, **{field: 1 << 32}))
            await bench.outcomes("offload", (high, status))


@pytest.mark.parametrize(("name", "operation"), DIRECTIONS)
@simulated(lambda: Bench(_CONFIG.replace(write_back=True), writes=False))
async def test_windows_stay_while_anything_may_use_them(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """A transfer at work, a ring that is enabled, or a write-back ring: of one direction each."""
    upper = name.upper()
    bench.paths[name].cycles = 100_000
    begins = {"DOORBELL": 1, "RING_CONTROL": 1, "WRITE_BACK_CONTROL": 1}
    ends = {"DOORBELL": "ABORT", "RING_CONTROL": "RING_CONTROL", "WRITE_BACK_CONTROL": "WRITE_BACK_CONTROL"}
    for number, word in enumerate(words_of(good(operation).pack())):
        await bench.write(f"{upper}_DESCRIPTOR_{number}", word)
    for register, value in begins.items():
        await bench.write("LINK_BASE_LO", 0)
        await bench.write(f"{upper}_{register}", value)
        for window in ("DEVICE_BASE_LO", "DEVICE_LIMIT_HI", "LINK_BASE_LO", "LINK_LIMIT_HI"):
            await bench.refused(window, 0x7000, "REFUSED", 1)
            await bench.reads(**{window: 0})
        await bench.write(f"{upper}_{ends[register]}", register == "DOORBELL")
        if register == "DOORBELL":
            await bench.completion(name)


@pytest.mark.parametrize(("name", "operation"), DIRECTIONS)
@simulated(lambda: Bench(_CONFIG.replace(write_back=True, page_lists=True), writes=False))
async def test_rings_and_page_lists_are_in_the_window_of_the_link(bench: Bench, ctx: Any, name: str, operation: int
                                                                   ) -> None:
    """And not in that of the device, which is elsewhere."""
    await _write(bench, {"LINK_BASE_LO": 0x4000, "LINK_LIMIT_LO": 0x6000, "DEVICE_BASE_LO": 0x8000,
                         "DEVICE_LIMIT_LO": 0xA000})
    window = ctx.get(bench.dut.window)
    assert (window.base, window.limit, window.unlimited) == (4, 6, 0)
    for kind, bit in (("RING", 4), ("WRITE_BACK", 8)):
        for base, inside in ((0x3000, False), (0x4000, True), (0x5FC0, False), (0x8000, False)):
            await _write(bench, {f"{name.upper()}_{kind}_BASE_LO": base, f"{name.upper()}_{kind}_SIZE": 4})
            control = f"{name.upper()}_{kind}_CONTROL"
            if inside:
                await bench.write(control, 1)
                await bench.write(control, 0)
            else:
                await bench.refused(control, 1, f"{name.upper()}_REFUSED", bit)
