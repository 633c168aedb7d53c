"""Every register on the bus, against the table: what is there after reset, what a write leaves, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.engine.control.register import Access, Register
from cdma.hdl.engine.control.table import pages, registers, reserved, with_options
from tests.hdl.engine.control.bench import Bench, good

_SLVERR = 2
_CONFIGS = [load_engine("tiny"), load_engine("wide").replace(
    address_bits=64, crc=False, attribute_registers=True, user_bits=5, lane_user=17, link_cache=15, link_qos=3,
    address_windows=True, write_back=True, buffer_parity=True),
    load_engine("tiny").replace(name="windows", address_windows=True)]
_CONDITIONAL = ("RING_SIZE", "RING_TAIL", "WRITE_BACK_SIZE", "WRITE_BACK_HEAD")   # take only some values


def _kept(register: Register) -> int:
    """Bits of a register that a driver can set."""
    return sum(field.mask for field in register.fields if field.access is Access.RW)


@pytest.mark.parametrize("config", [*map(load_engine, engine_preset_names()), with_options(load_engine("engine"))],
                         ids=[*engine_preset_names(), "options"])
def test_the_table_is_sound(config: EngineConfig) -> None:
    table = registers(config)
    assert len({register.name for register in table}) == len(table)
    assert len({register.offset for register in table}) == len(table)
    for register in table:
        assert register.offset % 4 == 0 and 0 <= register.offset < 1 << 12
        assert register.reset < 1 << 32 and register.description.endswith(".")
        assert register.fields and len({field.name for field in register.fields}) == len(register.fields)
        taken = 0
        for field in register.fields:
            assert field.mask < 1 << 32 and not field.mask & taken, f"{register.name}.{field.name}"
            assert 0 <= field.reset < 1 << field.width and field.description
            taken |= field.mask
    for page in pages(config):
        assert all(register.offset < 0x100 for register in page.registers)


@pytest.mark.parametrize("config", _CONFIGS, ids=lambda config: config.name)
def test_reset_values_and_access(config: EngineConfig) -> None:
    """All registers are written before any is read again, so a write that reaches a second register shows."""
    bench = Bench(config)
    table = registers(config)

    async def driver(ctx: Any) -> None:
        for register in table:
            assert await bench.read(ctx, register.offset) == register.reset, register.name
        expected = {register.name: register.reset for register in table}
        for number, register in enumerate(table):
            value = 0xFFFFFFFE ^ number << 8    # the lowest bit is clear: nothing starts, rings stay disabled
            if register.access is Access.RO:
                await bench.write(ctx, register.offset, value, response=_SLVERR)
            elif register.access is not Access.RW:
                await bench.write(ctx, register.offset, value & ~register.fields[0].mask & ~register.fields[-1].mask)
            elif register.name.endswith(_CONDITIONAL):
                continue
            else:
                await bench.write(ctx, register.offset, value)
                expected[register.name] = value & _kept(register)
        for register in table:
            assert await bench.read(ctx, register.offset) == expected[register.name], register.name

    bench.run(driver)


def test_addresses_without_a_register() -> None:
    bench = Bench(seed=1, pauses=0.4)
    mapped = {register.offset for register in registers(bench.config)} | set(reserved(registers(bench.config)))
    holes = [offset for offset in range(0, 1 << 12, 4) if offset not in mapped]
    chosen = [offset for offset in holes if offset < 0x300] + bench.rng.sample(holes, 40)

    async def driver(ctx: Any) -> None:
        for offset in chosen:
            assert await bench.read(ctx, offset, response=_SLVERR) == 0
            await bench.write(ctx, offset, 0xFFFFFFFF, response=_SLVERR)
        for register in registers(bench.config):
            assert await bench.read(ctx, register.offset) == register.reset, register.name

    bench.run(driver)


def test_writes_of_less_than_a_word_are_refused() -> None:
    bench = Bench(seed=2)

    async def driver(ctx: Any) -> None:
        for name in ("IRQ_ENABLE", "OFFLOAD_DESCRIPTOR_3", "PREFETCH_RING_BASE_LO", "OFFLOAD_DOORBELL", "CONTROL"):
            for strobe in (1, 7, 14):
                await bench.write(ctx, name, 0xFFFFFFFF, strobe, response=_SLVERR)
        for register in registers(bench.config):
            assert await bench.read(ctx, register.offset) == register.reset, register.name

    bench.run(driver)


@pytest.mark.parametrize("config", _CONFIGS, ids=lambda config: config.name)
def test_a_bus_of_64_bits(config: EngineConfig) -> None:
    """Behind a converter, which makes two accesses of each, every register is read and written, alone and with the
    other half of its 8 bytes: all is answered with OKAY, and a half that is not written keeps its value and starts
    nothing, though the bus has ones there."""
    bench = Bench(config, seed=5)
    table = {register.offset: register for register in registers(config)}
    values = {offset: register.reset for offset, register in table.items()}
    ones = 0xFFFFFFFF

    async def load(ctx: Any, place: int) -> list[int]:
        return [await bench.read(ctx, place), await bench.read(ctx, place + 4)]

    async def store(ctx: Any, place: int, low: int, high: int, strobe: int) -> None:
        await bench.write(ctx, place, low, strobe & 15)
        await bench.write(ctx, place + 4, high, strobe >> 4)

    def written(offset: int, value: int) -> int:
        """Writes a register that holds what is written, in the model; others would start something: they get 0."""
        register = table.get(offset)
        if register is not None and (register.access is not Access.RW or register.name.endswith(_CONDITIONAL)):
            return values[offset] if register.access is Access.RW else 0
        if register is not None:
            values[offset] = value & _kept(register)
        return value

    async def driver(ctx: Any) -> None:
        for name in ("OFFLOAD", "PREFETCH"):
            await bench.write(ctx, f"{name}_COMPLETION_POP", 1, response=_SLVERR)
            values[bench.offset[f"{name}_REFUSED"]] = 2     # a bit that a write of 1 would clear
        places = sorted({offset & ~7 for offset in table})
        for number, place in enumerate(places):
            value = 0xFFFFFFFE ^ number << 8    # the lowest bit is clear: nothing starts, rings stay disabled
            await store(ctx, place, ones, ones, 0)
            halves = [table[half].access is not Access.RO if half in table else True for half in (place, place + 4)]
            if halves[0]:
                await store(ctx, place, written(place, value), ones, 0x0F)
            if halves[1]:
                await store(ctx, place, ones, written(place + 4, value), 0xF0)
            if all(halves):
                await store(ctx, place, written(place, ~value & ones), written(place + 4, ~value & ~1 & ones), 0xFF)
        for place in places:
            assert await load(ctx, place) == [values.get(place, 0), values.get(place + 4, 0)], f"{place:#x}"

    bench.run(driver)


@pytest.mark.parametrize(("name", "other"), [("OFFLOAD", "PREFETCH"), ("PREFETCH", "OFFLOAD")])
def test_refused_writes_leave_a_bit_that_says_so(name: str, other: str) -> None:
    """A driver that sees no bus errors reads there what was refused; a bit stays until 1 is written to it."""
    bench = Bench()
    bench.paths[name.lower()].cycles = 100000
    doorbell, pop, ring = 1, 2, 4

    async def driver(ctx: Any) -> None:
        async def refused(register: str, value: int, bit: int) -> None:
            await bench.write(ctx, f"{name}_{register}", value, response=_SLVERR)
            assert await bench.read(ctx, f"{name}_REFUSED") == bit, register
            await bench.write(ctx, f"{name}_REFUSED", 7 & ~bit)
            assert await bench.read(ctx, f"{name}_REFUSED") == bit, register
            await bench.write(ctx, f"{name}_REFUSED", bit)
            assert await bench.read(ctx, f"{name}_REFUSED") == 0, register

        await refused("COMPLETION_POP", 1, pop)
        await refused("RING_SIZE", 3, ring)
        await refused("RING_TAIL", 2, ring)
        await bench.write(ctx, f"{name}_RING_CONTROL", 1)
        for register in ("RING_BASE_LO", "RING_BASE_HI", "RING_SIZE"):
            await refused(register, 64, ring)
        await bench.push(ctx, name.lower(), good(1 + (name == "PREFETCH")))
        await bench.until(ctx, f"{name}_QUEUE", 0xFF, 0)
        for _ in range(bench.config.queue_depth):
            await bench.write(ctx, f"{name}_DOORBELL", 1)
        assert await bench.read(ctx, f"{name}_REFUSED") == 0
        await refused("DOORBELL", 1, doorbell)
        # What does nothing is not refused.
        await bench.write(ctx, f"{name}_DOORBELL", 0)
        await bench.write(ctx, f"{name}_COMPLETION_POP", 0)
        assert await bench.read(ctx, f"{name}_REFUSED") == 0
        # Several together, and a soft reset clears them.
        await bench.write(ctx, f"{name}_DOORBELL", 1, response=_SLVERR)
        await bench.write(ctx, f"{name}_COMPLETION_POP", 1, response=_SLVERR)
        assert await bench.read(ctx, f"{name}_REFUSED") == doorbell | pop
        assert await bench.read(ctx, f"{other}_REFUSED") == 0
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        assert await bench.read(ctx, f"{name}_REFUSED") == 0

    bench.run(driver)


def test_ring_registers_refuse_what_cannot_be() -> None:
    bench = Bench()

    async def driver(ctx: Any) -> None:
        for value in (0, 1, 3, 6, 0x10001, 0x18000, 0x20000, 0x80000000, 0x80000002):
            await bench.write(ctx, "OFFLOAD_RING_SIZE", value, response=_SLVERR)
        assert await bench.read(ctx, "OFFLOAD_RING_SIZE") == 2
        for power in range(1, 17):
            await bench.write(ctx, "OFFLOAD_RING_SIZE", 1 << power)
            assert await bench.read(ctx, "OFFLOAD_RING_SIZE") == 1 << power
            await bench.write(ctx, "OFFLOAD_RING_TAIL", 1 << power, response=_SLVERR)
            await bench.write(ctx, "OFFLOAD_RING_TAIL", (1 << power) - 1)
            assert await bench.read(ctx, "OFFLOAD_RING_TAIL") == (1 << power) - 1
        await bench.write(ctx, "OFFLOAD_RING_SIZE", 16)
        assert await bench.read(ctx, "OFFLOAD_RING_TAIL") == 0
        await bench.write(ctx, "OFFLOAD_RING_CONTROL", 1)
        for name in ("BASE_LO", "BASE_HI", "SIZE"):
            await bench.write(ctx, f"OFFLOAD_RING_{name}", 64, response=_SLVERR)
        assert await bench.read(ctx, "OFFLOAD_RING_BASE_LO") == 0
        assert await bench.read(ctx, "OFFLOAD_RING_SIZE") == 16
        await bench.write(ctx, "PREFETCH_RING_SIZE", 64)    # the other direction's is not enabled
        await bench.write(ctx, "OFFLOAD_RING_CONTROL", 0)
        await bench.write(ctx, "OFFLOAD_RING_SIZE", 64)

    bench.run(driver)
