"""The register bank: every offset of the window, read and written, as docs/registers.md has it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Signal, Value

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.bank import Bank
from cdma.hdl.engine.control.register import Access, Home, Register
from cdma.hdl.engine.control.store import Command
from cdma.hdl.engine.control.table import registers, reserved
from tests.hdl.bench import clocked

_CONFIG = EngineConfig(lanes=3, address_bits=33, codings=("zvc8", "zvc32", "float32"), narrowing=False, crc=False)


class _Owners(Elaboratable):
    """The bank between owners of registers that refuse a write, push a window or count when they are told to.

    What an owner asks for must come in the cycle of the write.
    """

    def __init__(self) -> None:
        self.dut = Bank(_CONFIG)
        self.refuse, self.push, self.count = Signal(), Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self.dut
        written = Value.cast(dut.written).any()
        m.d.comb += [dut.refuse.eq(self.refuse & written), dut.push.eq(self.push & written),
                     dut.count.eq(self.count & written)]
        return m


@dataclass
class _Seen:
    """What the bank did in an access."""

    written: list[tuple[str, int]] = field(default_factory=list)
    commands: list[dict[str, Any]] = field(default_factory=list)


class _Bench:
    """Accesses, and a store that takes its time."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.top = _Owners()
        self.dut = self.top.dut
        self.seen = _Seen()
        self.kept = 0               # what the store answers
        self.values: dict[str, int] = {}

    async def watch(self, ctx: Any) -> None:
        """Notes writes."""
        names = list(self.dut.written.shape().members)
        while True:
            _, _, written, data = await ctx.tick().sample(Value.cast(self.dut.written), self.dut.data)
            self.seen.written += [(name, data) for bit, name in enumerate(names) if written >> bit & 1]

    async def store(self, ctx: Any) -> None:
        """Answers commands, and holds the bank to what it asked first."""
        command = self.dut.command
        names = ("kind", "direction", "word", "write", "write_data", "snapshot", "clear")
        while True:
            await ctx.tick()
            if not ctx.get(command.valid):
                continue
            asked = {name: ctx.get(getattr(command, name)) for name in names}
            for _ in range(self.rng.choice([0, 0, 1, 7])):
                await ctx.tick()
                assert ctx.get(command.valid), "a command went before it was done"
            assert asked == {name: ctx.get(getattr(command, name)) for name in names}, "a command changed"
            ctx.set(command.done, 1)
            ctx.set(command.read_data, self.kept)
            await ctx.tick()
            ctx.set(command.done, 0)
            ctx.set(command.read_data, self.rng.getrandbits(32))
            self.seen.commands.append(asked)

    async def access(self, ctx: Any, offset: int, data: int | None = None, strobe: int = 15) -> tuple[int, bool]:
        """Reads, or writes ``data``: what was read, and whether the access was answered with an error."""
        port = self.dut.port
        self.seen = _Seen()
        self.kept = self.rng.getrandbits(32)
        for _ in range(self.rng.choice([0, 0, 3])):
            assert ctx.get(self.dut.idle)
            await ctx.tick()
        ctx.set(port.address, offset // 4)
        ctx.set(port.write_data, self.rng.getrandbits(32) if data is None else data)
        ctx.set(port.write_strobe, strobe)
        begins = port.read if data is None else port.write
        ctx.set(begins, 1)
        assert not ctx.get(self.dut.idle)
        await ctx.tick()
        ctx.set(begins, 0)
        for _ in range(20):
            if ctx.get(port.ack):
                break
            assert not ctx.get(self.dut.idle)
            await ctx.tick()
        else:
            raise AssertionError(f"no answer to an access at {offset:#x}")
        found = ctx.get(port.read_data), bool(ctx.get(port.error))
        await ctx.tick()
        assert not ctx.get(port.ack)
        return found

    def run(self, process: Any) -> None:
        """Simulates until the process ends."""
        async def prepared(ctx: Any) -> None:
            for register in registers(_CONFIG):
                if register.home is Home.LOGIC and register.access is not Access.WO:
                    view = getattr(self.dut.values, register.name.lower())
                    self.values[register.name] = 0
                    for each in register.fields:
                        value = self.rng.getrandbits(each.width)
                        self.values[register.name] |= value << each.lsb
                        ctx.set(view[each.name.lower()], value)
            await process(ctx)

        async def completions(ctx: Any) -> None:
            # The word of each direction comes one cycle after its number, from then until the number changes.
            while True:
                _, _, word = await ctx.tick().sample(self.dut.port.address)
                for direction in range(2):
                    ctx.set(self.dut.completion[direction], _completion_word(direction, word & 15))

        clocked(self.top, prepared, self.watch, self.store, completions)


def _completion_word(direction: int, word: int) -> int:
    return 0xC0_0000 + 0x100 * direction + word


def _direction(register: Register) -> int:
    return int(register.name.startswith("PREFETCH_"))


@pytest.mark.parametrize("seed", range(2))
def test_every_offset_is_read(seed: int) -> None:
    bench = _Bench(seed)
    table = {register.offset: register for register in registers(_CONFIG)}
    beside = reserved(registers(_CONFIG))

    async def process(ctx: Any) -> None:
        unknown = [offset for offset in range(0, 4096, 4) if offset not in table]
        offsets = [*table, *beside, *bench.rng.sample(unknown, 40)]
        bench.rng.shuffle(offsets)
        for offset in offsets:
            found, error = await bench.access(ctx, offset, strobe=bench.rng.randrange(16))
            register = table.get(offset)
            assert error == (register is None and offset not in beside), f"{offset:#x}"
            assert bench.seen.written == []
            if register is None:
                assert (found, bench.seen.commands) == (0, [])
                continue
            kept = register.home in (Home.WINDOW, Home.SNAPSHOT)
            assert len(bench.seen.commands) == kept, register.name
            if kept:
                command, = bench.seen.commands
                kind = Command.WINDOW if register.home is Home.WINDOW else Command.SNAPSHOT
                assert (command["kind"], command["direction"]) == (kind, _direction(register)), register.name
                assert (command["word"], command["write"]) == (register.offset % 64 // 4, 0), register.name
                assert found == bench.kept, register.name
            elif register.home is Home.CONSTANT:
                assert found == register.reset, register.name
            elif register.home is Home.COMPLETION:
                assert found == _completion_word(_direction(register), register.offset % 64 // 4), register.name
            else:
                assert found == bench.values.get(register.name, 0), register.name

    bench.run(process)


def test_every_offset_is_written() -> None:
    bench = _Bench(3)
    table = {register.offset: register for register in registers(_CONFIG)}
    beside = reserved(registers(_CONFIG))

    async def process(ctx: Any) -> None:
        rng = bench.rng
        unknown = [offset for offset in range(0, 4096, 4) if offset not in table]
        cases = [(offset, strobe, refused) for offset in [*table, *beside, *rng.sample(unknown, 20)]
                 for strobe, refused in ((15, False), (0, False), (rng.randrange(1, 15), False), (15, True))]
        rng.shuffle(cases)
        for offset, strobe, refused in cases:
            data = rng.getrandbits(32)
            ctx.set(bench.top.refuse, refused)
            _, error = await bench.access(ctx, offset, data, strobe)
            register = table.get(offset)
            if register is None:
                silent = strobe == 0 or offset in beside
                assert (error, bench.seen) == (not silent, _Seen()), f"{offset:#x}"
                continue
            # A read-only register and a strobe that is low change nothing; a write of no byte is not an error.
            allowed = register.access is not Access.RO and strobe == 15
            logic = register.home is Home.LOGIC
            name = register.name
            assert bench.seen.written == ([(name.lower(), data)] if allowed and logic else []), name
            assert error == (strobe != 0 and (not allowed or (logic and refused))), name
            if allowed and not logic:
                command, = bench.seen.commands
                assert command == {"kind": Command.WINDOW, "direction": _direction(register),
                                   "word": register.offset % 64 // 4, "write": 1, "write_data": data,
                                   "snapshot": data & 1, "clear": data >> 1 & 1}, name
            else:
                assert bench.seen.commands == [], name

    bench.run(process)


def test_writes_that_the_store_carries_out() -> None:
    bench = _Bench(4)
    offset = {register.name: register.offset for register in registers(_CONFIG)}

    async def process(ctx: Any) -> None:
        for asks, kind, register in ((bench.top.push, Command.PUSH, "DOORBELL"),
                                     (bench.top.count, Command.COUNT, "COUNTER_CONTROL")):
            for direction, name in enumerate(("OFFLOAD", "PREFETCH")):
                for data in range(4):
                    for refused in (False, True):
                        ctx.set(asks, 1)
                        ctx.set(bench.top.refuse, refused)
                        _, error = await bench.access(ctx, offset[f"{name}_{register}"], data)
                        assert error == refused
                        found = [(each["kind"], each["direction"], each["snapshot"], each["clear"])
                                 for each in bench.seen.commands]
                        assert found == ([] if refused else [(kind, direction, data & 1, data >> 1)])
                        ctx.set(asks, 0)
                        ctx.set(bench.top.refuse, 0)
                        # The next access is one of its own.
                        assert await bench.access(ctx, 0) == (0x414D4463, False)
                        assert bench.seen.commands == []

    bench.run(process)
