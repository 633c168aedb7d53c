"""Every register on the bus, against the table: what is there after reset, what a write leaves, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.engine.control.register import Access
from cdma.hdl.engine.control.table import pages, registers, reserved, with_options
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, SLVERR, Bench, good, simulated

PARTS = ["cdma.hdl.engine.control.bank.Bank"]
"""Components whose faults show here; mutants of them were tried."""

_CONFIGS = [load_engine("tiny"), load_engine("wide").replace(
    address_bits=64, crc=False, attribute_registers=True, user_bits=5, lane_user=17, link_cache=15, link_qos=3,
    address_windows=True, write_back=True, buffer_parity=True),
    load_engine("tiny").replace(name="windows", address_windows=True)]
_CONDITIONAL = ("RING_SIZE", "RING_TAIL", "WRITE_BACK_SIZE", "WRITE_BACK_HEAD")   # take only some values


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
@simulated(lambda config: Bench(config, seed=5))
async def test_every_offset(bench: Bench, ctx: Any, config: EngineConfig) -> None:
    """All registers are written before any is read again, so a write that reaches a second register shows.

    A bus of 64 bits makes two writes of one: the half that is not written has no strobes, is answered with OKAY and
    changes nothing, though the bus has ones there; so do places beside a register, which read 0.
    """
    table = {register.offset: register for register in registers(config)}
    beside = reserved(table.values())
    holes = [offset for offset in range(0, 1 << 12, 4) if offset not in table and offset not in beside]
    values = {offset: register.reset for offset, register in table.items()} | dict.fromkeys(beside, 0)
    for offset, value in values.items():
        assert await bench.read(offset) == value, hex(offset)
    for name, _ in DIRECTIONS:
        await bench.write(f"{name.upper()}_COMPLETION_POP", 1, response=SLVERR)
        values[bench.offset[f"{name.upper()}_REFUSED"]] = 2     # a bit that a write of 1 would clear
    for number, offset in enumerate([*values, *holes[:40], *bench.rng.sample(holes[40:], 20)]):
        await bench.write(offset, 0xFFFFFFFF, 0)
        register = table.get(offset)
        value = 0xFFFFFFFE ^ number << 8 & 0xFFFFFFFF   # the lowest bit is clear: nothing starts, rings stay disabled
        if register is None:
            await bench.write(offset, value, response=0 if offset in beside else SLVERR)
            if offset not in beside:
                assert await bench.read(offset, response=SLVERR) == 0
            continue
        await bench.write(offset, 0xFFFFFFFF, (1, 7, 14)[number % 3], response=SLVERR)
        if register.access is Access.RO:
            await bench.write(offset, value, response=SLVERR)
        elif register.access is not Access.RW:
            await bench.write(offset, value & ~register.fields[0].mask & ~register.fields[-1].mask & ~2)
        elif not register.name.endswith(_CONDITIONAL):
            await bench.write(offset, value)
            values[offset] = value & sum(field.mask for field in register.fields if field.access is Access.RW)
    for offset, value in values.items():
        assert await bench.read(offset) == value, hex(offset)


@pytest.mark.parametrize(("name", "operation"), DIRECTIONS)
@simulated(lambda: Bench(CONFIG.replace(write_back=True), writes=False))
async def test_refused_writes_leave_a_bit_of_their_kind(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """A driver that sees no bus errors reads there what was refused; a bit stays until 1 is written to it."""
    upper, other = name.upper(), {"offload": "PREFETCH", "prefetch": "OFFLOAD"}[name]
    bench.paths[name].cycles = 100_000
    doorbell, pop, ring, write_back = 1, 2, 4, 8

    async def refused(*cases: tuple[str, int, int]) -> None:
        for register, value, bit in cases:
            await bench.refused(f"{upper}_{register}", value, f"{upper}_REFUSED", bit)

    await refused(("COMPLETION_POP", 1, pop), ("RING_SIZE", 3, ring), ("RING_TAIL", 2, ring),
                  ("WRITE_BACK_SIZE", 3, write_back), ("WRITE_BACK_HEAD", 2, write_back))
    await bench.write(f"{upper}_RING_CONTROL", 1)
    await refused(*((f"RING_{register}", 64, ring) for register in ("BASE_LO", "BASE_HI", "SIZE")))
    await bench.write(f"{other}_RING_SIZE", 64)         # the other direction's is not enabled
    await bench.push(name, good(operation))
    await bench.until(f"{upper}_QUEUE", 0xFF, 0)
    for level in range(bench.config.queue_depth):
        await bench.reads(**{f"{upper}_QUEUE": (bench.config.queue_depth - level) << 8 | level})
        await bench.write(f"{upper}_DOORBELL", 1)
    await bench.reads(**{f"{upper}_REFUSED": 0})
    await refused(("DOORBELL", 1, doorbell))
    # What does nothing is not refused.
    await bench.write(f"{upper}_DOORBELL", 0)
    await bench.write(f"{upper}_COMPLETION_POP", 0)
    await bench.reads(**{f"{upper}_REFUSED": 0})
    # With a write-back ring, too.
    await bench.write(f"{upper}_WRITE_BACK_CONTROL", 1)
    await refused(*((f"WRITE_BACK_{register}", 64, write_back) for register in ("BASE_LO", "BASE_HI", "SIZE")),
                  ("DOORBELL", 1, doorbell), ("COMPLETION_POP", 1, pop))
    # Several together, and a soft reset clears them.
    await bench.write(f"{upper}_DOORBELL", 1, response=SLVERR)
    await bench.write(f"{upper}_COMPLETION_POP", 1, response=SLVERR)
    await bench.reads(**{f"{upper}_REFUSED": doorbell | pop, f"{other}_REFUSED": 0})
    await bench.soft_reset()
    await bench.reads(**{f"{upper}_REFUSED": 0})
