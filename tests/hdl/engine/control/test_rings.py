"""Descriptor rings: entries in order, around the ring's end, beside the doorbell, and when link memory fails."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.engine.built import parameters
from tests.hdl.engine.control.bench import CONFIG, Bench, good

_SLVERR = 2
_OK, _UNREAD = Status.OK.value, Status.DESCRIPTOR_READ_ERROR.value


@pytest.mark.parametrize("preset", ["tiny", "engine", "wide"])
def test_entries_come_in_order_around_the_end(preset: str) -> None:
    """More descriptors than the ring holds, so the driver waits for the head; every beat size of the link."""
    bench = Bench(load_engine(preset).replace(address_bits=40), seed=3, pauses=0.2, latency=10)
    base, size, total = 0x77_0000_1FC0, 4, 19
    place = base % 0x10000

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "prefetch", base, size)
        written = taken = 0
        while taken < total:
            head = await bench.read(ctx, "PREFETCH_RING_HEAD")
            assert head < size
            while written < total and (written + 1) % size != head:
                bench.ring(place, [good(2, tag=written)], written % size, size)
                written += 1
            await bench.write(ctx, "PREFETCH_RING_TAIL", written % size)
            if await bench.read(ctx, "PREFETCH_COMPLETIONS"):
                assert await bench.outcome(ctx, "prefetch") == (taken, _OK)
                taken += 1
        assert await bench.read(ctx, "PREFETCH_RING_HEAD") == total % size
        assert await bench.read(ctx, "PREFETCH_QUEUE") == bench.config.queue_depth << 8
        assert await bench.read(ctx, "IRQ_STATUS") == 0

    bench.run(driver)
    beats = 64 // bench.config.link_beat_bytes
    assert bench.memory.bursts == [(base + 64 * (number % size), beats) for number in range(total)]


def test_both_rings_take_turns() -> None:
    bench = Bench(seed=4, latency=20)
    bench.ring(0, [good(1, tag=k) for k in range(12)])
    bench.ring(0x4000, [good(2, tag=k) for k in range(12)])

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "offload", 0, 16)
        await bench.start_ring(ctx, "prefetch", 0x4000, 1 << 16)
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 12)
        await bench.write(ctx, "PREFETCH_RING_TAIL", 12)
        for tag in range(12):
            for name in ("offload", "prefetch"):
                assert await bench.outcome(ctx, name) == (tag, _OK)

    bench.run(driver)
    turns = [address >> 14 for address, _ in bench.memory.bursts]
    assert sorted(turns) == [0] * 12 + [1] * 12
    assert turns[1:9] in ([0, 1] * 4, [1, 0] * 4)


def test_the_ring_waits_for_places_in_the_queue() -> None:
    bench = Bench()
    bench.paths["offload"].cycles = 100000
    bench.ring(0, [good(1, tag=k) for k in range(31)])

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "offload", 0, 32)
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 31)
        await bench.wait(ctx, 1200)
        depth = bench.config.queue_depth
        assert await bench.read(ctx, "OFFLOAD_RING_HEAD") == depth + 1     # one is at work
        assert await bench.read(ctx, "OFFLOAD_QUEUE") == depth
        await bench.write(ctx, "OFFLOAD_DOORBELL", 1, response=_SLVERR)
        bench.paths["offload"].cycles = 2
        await bench.write(ctx, "OFFLOAD_ABORT", 1)
        for tag in range(31):
            assert await bench.outcome(ctx, "offload") == (tag, _OK if tag else Status.ABORTED.value)

    bench.run(driver)


@pytest.mark.parametrize("seed", range(4))
def test_ring_and_doorbell_together(seed: int) -> None:
    """Each keeps its own order, and nothing of one gets into a descriptor of the other."""
    bench = Bench(seed=seed, pauses=0.3, latency=seed * 5)
    bench.ring(0x8000, [good(1, tag=k, source=4096 * k, crc=k * 0x01010101) for k in range(16)])
    path = bench.paths["offload"]

    async def driver(ctx: Any) -> None:
        tags: list[int] = []
        await bench.start_ring(ctx, "offload", 0x8000, 32)
        await bench.push(ctx, "offload", good(1, tag=100, source=100 * 4096, crc=100 * 0x01010101))
        rung = 1
        while len(tags) < 16 + 12:
            await bench.write(ctx, "OFFLOAD_RING_TAIL", min(16, 2 + len(tags)))
            path.cycles = bench.rng.randrange(40)
            if rung < 12 and await bench.read(ctx, "OFFLOAD_QUEUE") >> 8 > 1:
                # The ring has one entry on the way at most, so a second free place stays free for the doorbell.
                for word, value in ((1, 100 + rung), (2, (100 + rung) * 4096), (12, (100 + rung) * 0x01010101)):
                    await bench.write(ctx, f"OFFLOAD_DESCRIPTOR_{word}", value % (1 << 32))
                await bench.until(ctx, "OFFLOAD_QUEUE", 0, 0)
                if await bench.read(ctx, "OFFLOAD_QUEUE") >> 8:
                    await bench.write(ctx, "OFFLOAD_DOORBELL", 1)
                    rung += 1
            if await bench.read(ctx, "OFFLOAD_COMPLETIONS"):
                tag, status = await bench.outcome(ctx, "offload")
                assert status == _OK
                tags.append(tag)
        assert [tag for tag in tags if tag < 100] == list(range(16))
        assert [tag for tag in tags if tag >= 100] == list(range(100, 112))
        assert [(seen["source"], seen["crc"]) for seen in path.seen] == [
            (tag * 4096, tag * 0x01010101 % (1 << 32)) for tag in tags]

    bench.run(driver)


def test_the_ring_takes_the_place_that_a_doorbell_was_meant_for() -> None:
    """A driver reads that a place is free; an entry of the ring takes it first. The refusal shows in REFUSED."""
    bench = Bench()
    path = bench.paths["offload"]
    path.cycles = 100000
    bench.ring(0x8000, [good(1, tag=100)])

    async def driver(ctx: Any) -> None:
        depth = bench.config.queue_depth
        await bench.start_ring(ctx, "offload", 0x8000, 2)
        await bench.push(ctx, "offload", good(1, tag=0))
        await bench.until(ctx, "OFFLOAD_QUEUE", 0xFF, 0)
        for _ in range(depth - 1):
            await bench.write(ctx, "OFFLOAD_DOORBELL", 1)
        assert await bench.read(ctx, "OFFLOAD_QUEUE") >> 8 == 1
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 1)
        await bench.until(ctx, "OFFLOAD_RING_HEAD", 1, 1)
        await bench.write(ctx, "OFFLOAD_DOORBELL", 1, response=_SLVERR)
        assert await bench.read(ctx, "OFFLOAD_REFUSED") == 1
        path.cycles = 2
        await bench.write(ctx, "OFFLOAD_ABORT", 1)
        tags = [(await bench.outcome(ctx, "offload"))[0] for _ in range(depth + 1)]
        assert tags == [0] * depth + [100]
        await bench.wait(ctx, 200)
        assert await bench.read(ctx, "OFFLOAD_COMPLETIONS") == 0

    bench.run(driver)


@pytest.mark.parametrize("address_bits", [32, 40, 64])
def test_a_ring_beyond_the_last_address_is_not_enabled(address_bits: int) -> None:
    """Rings around the end of the addresses: those that golden takes can be enabled, the others stay disabled."""
    config = CONFIG.replace(address_bits=address_bits)
    built = parameters(config)
    bench = Bench(config, seed=address_bits)
    top = 1 << address_bits
    cases = [(entries, top - 64 * entries + 64 * shift)
             for entries in (1 << power for power in range(1, 17)) for shift in (-1, 0, 1)]
    cases += [(entries, top - 64 * bench.rng.randrange(1, 1 << bench.rng.randrange(1, 18)))
              for entries in bench.rng.choices([1 << power for power in range(1, 17)], k=60)]
    cases += [(2, top - 64), (1 << 16, top - 64), (1 << 16, 0), (1 << 16, top // 2 - 64)]

    async def driver(ctx: Any) -> None:
        taken = 0
        for entries, base in cases:
            fits = built.takes_ring(base, entries)
            await bench.write(ctx, "PREFETCH_RING_BASE_LO", base & 0xFFFFFFFF)
            await bench.write(ctx, "PREFETCH_RING_BASE_HI", base >> 32)
            await bench.write(ctx, "PREFETCH_RING_SIZE", entries)
            await bench.write(ctx, "PREFETCH_RING_CONTROL", 1, response=0 if fits else _SLVERR)
            assert await bench.read(ctx, "PREFETCH_RING_CONTROL") == fits, (entries, hex(base))
            assert await bench.read(ctx, "PREFETCH_REFUSED") == 4 * (not fits), (entries, hex(base))
            await bench.write(ctx, "PREFETCH_RING_CONTROL", 0)
            await bench.write(ctx, "PREFETCH_REFUSED", 7)
            taken += fits
        assert 0 < taken < len(cases)

    bench.run(driver)


def test_the_last_entry_may_end_with_the_addresses() -> None:
    bench = Bench()
    base = (1 << bench.config.address_bits) - 4 * 64
    bench.ring(base % 0x10000, [good(2, tag=k) for k in range(4)])

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "prefetch", base, 4)
        for tag in range(6):
            await bench.write(ctx, "PREFETCH_RING_TAIL", (tag + 1) % 4)
            assert await bench.outcome(ctx, "prefetch") == (tag % 4, _OK)

    bench.run(driver)
    assert [address for address, _ in bench.memory.bursts] == [base + 64 * (k % 4) for k in range(6)]


@pytest.mark.parametrize("bad_beat", [0, 1])
@pytest.mark.parametrize("answer", [2, 3])
def test_an_entry_that_cannot_be_read(bad_beat: int, answer: int) -> None:
    """Its completion comes in its place between the others; the ring stops there, and can go on there."""
    bench = Bench(latency=7)
    base = 0x55_0000_4000
    bench.ring(0x4000, [good(1, tag=k, interrupt=True) for k in range(6)])
    bench.memory.faulty = {base + 64 * 3 + 32 * bad_beat: answer}
    bench.paths["offload"].cycles = 400

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "offload", base, 8)
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 6)
        await bench.until(ctx, "OFFLOAD_RING_CONTROL", 1, 0)
        assert await bench.read(ctx, "OFFLOAD_RING_HEAD") == 3
        assert await bench.read(ctx, "IRQ_STATUS") & 6 == 4     # no completion failed yet
        await bench.push(ctx, "offload", good(1, tag=50, interrupt=True))
        # Enabled again at once, while the failure still waits behind other transfers.
        await bench.write(ctx, "OFFLOAD_RING_CONTROL", 1)
        await bench.wait(ctx, 100)
        assert len(bench.memory.bursts) == 4
        for tag in range(3):
            assert await bench.outcome(ctx, "offload") == (tag, _OK)
        bench.memory.faulty.clear()
        done = await bench.completion(ctx, "offload")
        assert (done.tag, done.status, done.response, done.place) == (0, _UNREAD, answer, base + 64 * 3)
        assert (done.operation, done.lane, done.bytes_written, done.crc) == (0, 0, 0, 0)
        assert await bench.read(ctx, "IRQ_STATUS") == 7
        for tag in (50, 3, 4, 5):
            assert await bench.outcome(ctx, "offload") == (tag, _OK)
        assert await bench.read(ctx, "OFFLOAD_RING_HEAD") == 6
        assert await bench.read(ctx, "OFFLOAD_RING_CONTROL") == 1
        assert len(bench.paths["offload"].seen) == 7

    bench.run(driver)


def test_one_ring_fails_and_the_other_goes_on() -> None:
    bench = Bench(CONFIG.replace(link_beat_bytes=64), seed=5, pauses=0.2)
    bench.ring(0, [good(1, tag=k) for k in range(4)])
    bench.ring(0x4000, [good(2, tag=k) for k in range(4)])
    bench.memory.faulty = {0x4040: 2}

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "offload", 0, 8)
        await bench.start_ring(ctx, "prefetch", 0x4000, 8)
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 4)
        await bench.write(ctx, "PREFETCH_RING_TAIL", 4)
        for tag in range(4):
            assert await bench.outcome(ctx, "offload") == (tag, _OK)
        assert await bench.outcome(ctx, "prefetch") == (0, _OK)
        done = await bench.completion(ctx, "prefetch")
        assert (done.tag, done.status, done.place) == (0, _UNREAD, 0x4040)
        assert await bench.read(ctx, "IRQ_STATUS") == 0x60
        assert await bench.read(ctx, "PREFETCH_RING_CONTROL") == 0
        assert await bench.read(ctx, "OFFLOAD_RING_CONTROL") == 1
        # A new ring, elsewhere.
        await bench.start_ring(ctx, "prefetch", 0x4080, 4)
        assert await bench.read(ctx, "PREFETCH_RING_HEAD") == 0
        await bench.write(ctx, "PREFETCH_RING_TAIL", 2)
        for tag in (2, 3):
            assert await bench.outcome(ctx, "prefetch") == (tag, _OK)

    bench.run(driver)


def test_disabling_lets_the_entry_on_the_way_come() -> None:
    bench = Bench(latency=150)
    bench.ring(0, [good(1, tag=k) for k in range(4)])

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "offload", 0, 4)
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 3)
        while not bench.memory.bursts:
            await ctx.tick()
        await bench.write(ctx, "OFFLOAD_RING_CONTROL", 0)
        assert await bench.read(ctx, "OFFLOAD_RING_CONTROL") == 1      # not yet at rest
        assert await bench.read(ctx, "OFFLOAD_QUEUE") == 7 << 8        # its place is taken already
        for register, value in (("BASE_LO", 0x4000), ("BASE_HI", 1), ("SIZE", 8)):
            await bench.write(ctx, f"OFFLOAD_RING_{register}", value, response=_SLVERR)
            assert await bench.read(ctx, "OFFLOAD_REFUSED") == 4
            await bench.write(ctx, "OFFLOAD_REFUSED", 4)
        await bench.until(ctx, "OFFLOAD_RING_CONTROL", 1, 0)
        assert await bench.read(ctx, "OFFLOAD_RING_HEAD") == 1
        assert await bench.read(ctx, "OFFLOAD_RING_BASE_LO") == await bench.read(ctx, "OFFLOAD_RING_BASE_HI") == 0
        assert await bench.read(ctx, "OFFLOAD_RING_SIZE") == 4
        assert await bench.outcome(ctx, "offload") == (0, _OK)
        await bench.wait(ctx, 300)
        assert len(bench.memory.bursts) == 1
        await bench.write(ctx, "OFFLOAD_RING_CONTROL", 1)
        for tag in (1, 2):
            assert await bench.outcome(ctx, "offload") == (tag, _OK)

    bench.run(driver)


def test_addresses_carry_across_32_bits() -> None:
    bench = Bench()
    base = 0x12_FFFF_FF80
    for number in range(4):
        place = (base + 64 * number) % 0x10000
        bench.memory.content[place:place + 64] = good(1, tag=number).pack()
    assert struct.unpack_from("<I", bench.memory.content, 4) == (2,)

    async def driver(ctx: Any) -> None:
        await bench.start_ring(ctx, "offload", base, 8)
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 4)
        for tag in range(4):
            assert await bench.outcome(ctx, "offload") == (tag, _OK)

    bench.run(driver)
    assert [address for address, _ in bench.memory.bursts] == [base + 64 * k for k in range(4)]
