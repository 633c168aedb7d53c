"""The AXI4-Lite front end, between a master that obeys only the handshakes and a few registers."""

from __future__ import annotations

import random
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Cat

from cdma.hdl.engine.axi.lite import AxiLite
from tests.hdl.bench import Process, clocked
from tests.hdl.engine.axi.traffic import Pace, give

_WORDS = 16     # registers there are; the port has room for more
_CHANNELS = ("aw", "w", "ar")


async def _registers(ctx: Any, port: Any, content: list[int], log: list[tuple[int, ...]], pace: Pace) -> None:
    """Registers of 32 bits behind a port; they also watch its rules."""
    while True:
        _, _, write, read, address, word, strobe = await ctx.tick().sample(
            port.write, port.read, port.address, port.write_data, port.write_strobe)
        if not (write or read):
            continue
        assert not (write and read)
        while not pace.go():
            _, _, again, late_address, late_word, late_strobe = await ctx.tick().sample(
                port.write | port.read, port.address, port.write_data, port.write_strobe)
            assert not again and address == late_address
            assert read or (word, strobe) == (late_word, late_strobe)
        known = address < _WORDS
        ctx.set(port.ack, 1)
        ctx.set(port.error, not known)
        if read:
            ctx.set(port.read_data, content[address] if known else 0)
            log.append((address,))
        else:
            log.append((address, word, strobe))
            if known:
                mask = sum(255 << 8 * k for k in range(4) if strobe >> k & 1)
                content[address] = content[address] & ~mask | word & mask
        _, _, again = await ctx.tick().sample(port.write | port.read)
        assert not again
        ctx.set(port.ack, 0)


@pytest.mark.parametrize("seed", range(8))
def test_any_order_at_any_pace(seed: int) -> None:
    """Each channel goes at its own pace; writes and reads keep their own order."""
    rng = random.Random(seed)
    dut = AxiLite(8)
    bus = dut.bus
    content = [rng.getrandbits(32) for _ in range(_WORDS)]
    model = list(content)
    log: list[tuple[int, ...]] = []
    writes = [(rng.randrange(1 << 8), rng.getrandbits(32), rng.randrange(16)) for _ in range(60)]
    reads = [rng.randrange(1 << 8) for _ in range(60)]
    answers: dict[str, list[Any]] = {"b": [], "r": []}
    items = {"aw": [address for address, _, _ in writes], "w": [word | strobe << 32 for _, word, strobe in writes],
             "ar": reads}
    fields = {"aw": bus.awaddr, "w": Cat(bus.wdata, bus.wstrb), "ar": bus.araddr}
    values = {"b": (bus.bresp,), "r": (bus.rresp, bus.rdata)}

    def send(channel: str) -> Process:
        stream = SimpleNamespace(payload=fields[channel], valid=getattr(bus, f"{channel}valid"),
                                 ready=getattr(bus, f"{channel}ready"))
        return lambda ctx: give(ctx, stream, items[channel], Pace(rng, rng.choice([0, 0.5, 0.9]), 5))

    def take(channel: str) -> Process:
        async def process(ctx: Any) -> None:
            pace = Pace(rng, rng.choice([0, 0.5, 0.9]), 5)
            held: Any = None
            while True:
                ready = pace.go()
                ctx.set(getattr(bus, f"{channel}ready"), ready)
                _, _, valid, *value = await ctx.tick().sample(getattr(bus, f"{channel}valid"), *values[channel])
                assert held is None or (valid and value == held), "a response changed before it was taken"
                held = value if valid and not ready else None
                if valid and ready:
                    answers[channel].append(value)
        return process

    async def registers(ctx: Any) -> None:
        await _registers(ctx, dut.port, content, log, Pace(rng, rng.choice([0, 0.5]), 3))

    async def watch(ctx: Any) -> None:
        for _ in range(20000):
            await ctx.tick()
            if len(answers["b"]) == len(writes) and len(answers["r"]) == len(reads):
                break
        assert (len(answers["b"]), len(answers["r"])) == (len(writes), len(reads))
        to_write, to_read = deque(writes), deque(reads)
        expected: dict[str, list[Any]] = {"b": [], "r": []}
        for access in log:
            known = access[0] < _WORDS
            if len(access) == 1:
                assert access[0] == to_read.popleft() >> 2
                expected["r"].append([0 if known else 2, model[access[0]] if known else 0])
                continue
            address, word, strobe = to_write.popleft()
            assert access == (address >> 2, word, strobe)
            expected["b"].append([0 if known else 2])
            if known:
                mask = sum(255 << 8 * k for k in range(4) if strobe >> k & 1)
                model[access[0]] = model[access[0]] & ~mask | word & mask
        assert answers == expected
        assert content == model

    clocked(dut, watch, registers, *(send(channel) for channel in _CHANNELS), *(take(channel) for channel in values))


def test_writes_do_not_keep_reads_waiting() -> None:
    dut = AxiLite(8)
    log: list[tuple[int, ...]] = []

    async def registers(ctx: Any) -> None:
        await _registers(ctx, dut.port, [0] * _WORDS, log, Pace(random.Random(1), 0))

    async def watch(ctx: Any) -> None:
        for channel in _CHANNELS:
            ctx.set(getattr(dut.bus, f"{channel}valid"), 1)
        ctx.set(dut.bus.bready, 1)
        ctx.set(dut.bus.rready, 1)
        await ctx.tick().repeat(100)
        kinds = [len(access) for access in log]
        assert len(kinds) >= 30 and kinds == [3, 1] * (len(kinds) // 2) + [3] * (len(kinds) % 2)

    clocked(dut, watch, registers)
