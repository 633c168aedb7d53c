"""The register bank: every offset of the window, read and written, as docs/registers.md has it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Signal, Value

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.bank import Bank
from cdma.hdl.engine.control.register import Access, Home
from cdma.hdl.engine.control.store import Command
from cdma.hdl.engine.control.table import registers, reserved
from tests.hdl.bench import clocked
from tests.hdl.engine.control.bench import simulated

_CONFIG = EngineConfig(lanes=3, address_bits=33, codings=("zvc8", "zvc32", "float32"), narrowing=False, crc=False)
_TABLE = {register.offset: register for register in registers(_CONFIG)}
_BESIDE = reserved(_TABLE.values())
_HOLES = [offset for offset in range(0, 4096, 4) if offset not in _TABLE and offset not in _BESIDE]
_KEPT = {Home.WINDOW: Command.WINDOW, Home.SNAPSHOT: Command.SNAPSHOT}
_FIELDS = ("kind", "direction", "word", "write", "write_data", "snapshot", "clear")

_Command = tuple[Any, ...]
"""What the bank asks of the store: the values of _FIELDS."""


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


class _Bench:
    """Accesses, and a store that takes its time."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.top = _Owners()
        self.dut = self.top.dut
        self.written: list[tuple[str, int]] = []        # in the last access
        self.commands: list[_Command] = []
        self.kept = 0                                   # what the store answers
        self.values = {offset: register.reset if register.home is Home.CONSTANT else 0
                       for offset, register in _TABLE.items()}

    def run(self, process: Any) -> None:
        """Simulates until the process ends."""
        async def prepared(ctx: Any) -> None:
            for offset, register in _TABLE.items():
                if register.home is Home.LOGIC and register.access is not Access.WO:
                    for each in register.fields:
                        value = self.rng.getrandbits(each.width)
                        self.values[offset] |= value << each.lsb
                        ctx.set(getattr(self.dut.values, register.name.lower())[each.name.lower()], value)
                elif register.home is Home.COMPLETION:
                    self.values[offset] = _completion_word(_direction(offset), offset % 64 // 4)
            await process(ctx)

        clocked(self.top, prepared, self._watch, self._store, self._completions)

    async def _watch(self, ctx: Any) -> None:
        """Notes writes."""
        names = list(self.dut.written.shape().members)
        while True:
            _, _, written, data = await ctx.tick().sample(Value.cast(self.dut.written), self.dut.data)
            self.written += [(name, data) for bit, name in enumerate(names) if written >> bit & 1]

    async def _store(self, ctx: Any) -> None:
        """Answers commands, and holds the bank to what it asked first."""
        command = self.dut.command
        while True:
            await ctx.tick()
            if not ctx.get(command.valid):
                continue
            asked = tuple(ctx.get(getattr(command, name)) for name in _FIELDS)
            for _ in range(self.rng.choice([0, 0, 1, 7])):
                await ctx.tick()
                assert ctx.get(command.valid), "a command went before it was done"
            assert asked == tuple(ctx.get(getattr(command, name)) for name in _FIELDS), "a command changed"
            ctx.set(command.done, 1)
            ctx.set(command.read_data, self.kept)
            await ctx.tick()
            ctx.set(command.done, 0)
            ctx.set(command.read_data, self.rng.getrandbits(32))
            self.commands.append(asked)

    async def _completions(self, ctx: Any) -> None:
        """Shows the word of each direction one cycle after its number, from then until the number changes."""
        while True:
            _, _, word = await ctx.tick().sample(self.dut.port.address)
            for direction in range(2):
                ctx.set(self.dut.completion[direction], _completion_word(direction, word & 15))

    async def access(self, ctx: Any, offset: int, data: int | None = None, strobe: int = 15) -> tuple[int, bool]:
        """Reads, or writes ``data``: what was read, and whether the access was answered with an error."""
        port = self.dut.port
        self.written, self.commands, self.kept = [], [], self.rng.getrandbits(32)
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


def _completion_word(direction: int, word: int) -> int:
    return 0xC0_0000 + 0x100 * direction + word


def _direction(offset: int) -> int:
    return int(_TABLE[offset].name.startswith("PREFETCH_"))


@pytest.mark.parametrize("seed", range(2))
@simulated(_Bench)
async def test_every_offset_is_read(bench: _Bench, ctx: Any, seed: int) -> None:
    offsets = [*_TABLE, *_BESIDE, *bench.rng.sample(_HOLES, 40)]
    bench.rng.shuffle(offsets)
    for offset in offsets:
        found, error = await bench.access(ctx, offset, strobe=bench.rng.randrange(16))
        kind = _KEPT.get(_TABLE[offset].home) if offset in _TABLE else None
        commands = [] if kind is None else [(kind, _direction(offset), offset % 64 // 4, 0)]
        assert ([each[:4] for each in bench.commands], bench.written) == (commands, []), f"{offset:#x}"
        assert found == (bench.kept if commands else bench.values.get(offset, 0)), f"{offset:#x}"
        assert error == (offset in _HOLES), f"{offset:#x}"


@simulated(lambda: _Bench(3))
async def test_every_offset_is_written(bench: _Bench, ctx: Any) -> None:
    """A read-only register and a strobe that is low change nothing; a write of no byte is not an error."""
    rng = bench.rng
    cases = [(offset, strobe, refused) for offset in [*_TABLE, *_BESIDE, *rng.sample(_HOLES, 20)]
             for strobe, refused in ((15, False), (0, False), (rng.randrange(1, 15), False), (15, True))]
    rng.shuffle(cases)
    for offset, strobe, refused in cases:
        data = rng.getrandbits(32)
        ctx.set(bench.top.refuse, refused)
        _, error = await bench.access(ctx, offset, data, strobe)
        register = _TABLE.get(offset)
        allowed = register is not None and register.access is not Access.RO and strobe == 15
        logic = register is not None and register.home is Home.LOGIC
        written, commands = [], []
        if register is not None and allowed and logic:
            written = [(register.name.lower(), data)]
        elif allowed:
            commands = [(Command.WINDOW, _direction(offset), offset % 64 // 4, 1, data, data & 1, data >> 1 & 1)]
        assert (bench.written, bench.commands) == (written, commands), f"{offset:#x}"
        assert error == (strobe != 0 and offset not in _BESIDE and (not allowed or (logic and refused))), f"{offset:#x}"


@pytest.mark.parametrize("refused", [0, 1])
@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize(("asks", "kind", "register"), [("push", Command.PUSH, "DOORBELL"),
                                                        ("count", Command.COUNT, "COUNTER_CONTROL")])
@simulated(lambda: _Bench(4))
async def test_writes_that_the_store_carries_out(bench: _Bench, ctx: Any, asks: str, kind: Command, register: str,
                                                 direction: int, refused: int) -> None:
    name = f"{('OFFLOAD', 'PREFETCH')[direction]}_{register}"
    offset, = (offset for offset, each in _TABLE.items() if each.name == name)
    for data in range(4):
        ctx.set(getattr(bench.top, asks), 1)
        ctx.set(bench.top.refuse, refused)
        _, error = await bench.access(ctx, offset, data)
        assert error == refused
        found = [(of, to, snapshot, clear) for of, to, *_, snapshot, clear in bench.commands]
        assert found == ([] if refused else [(kind, direction, data & 1, data >> 1)])
        ctx.set(getattr(bench.top, asks), 0)
        ctx.set(bench.top.refuse, 0)
        # The next access is one of its own.
        assert await bench.access(ctx, 0) == (0x414D4463, False)
        assert bench.commands == []
