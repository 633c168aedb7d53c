"""The memory behind an AXI port: bytes there and back, latency, pauses, and every fault of a master."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.selftest.axi_memory import PAUSE_BITS, AxiMemory, Delay
from tests.hdl.bench import Bench, clocked

_BASE, _SIZE, _BEAT = 0x4000, 8192, 16
_OKAY, _SLVERR, _DECERR = 0, 2, 3
Answer = tuple[list[int], list[int], int]


def _memory(lanes: int = 1, lane: int = 0, latency: int = 10) -> AxiMemory:
    return AxiMemory(32, _BEAT, _BASE, _SIZE, 1024, latency, block_bytes=512, lanes=lanes, lane=lane)


async def _noise(ctx: Any, dut: AxiMemory, rng: random.Random) -> None:
    while True:
        ctx.set(dut.noise, rng.getrandbits(PAUSE_BITS))
        await ctx.tick()


async def _ask(ctx: Any, dut: AxiMemory, channel: str, address: int, beats: int, size: int = 4, burst: int = 1) -> None:
    axi = dut.axi
    for name, value in (("addr", address), ("len", beats - 1), ("size", size), ("burst", burst), ("valid", 1)):
        ctx.set(getattr(axi, f"{channel}{name}"), value)
    await ctx.tick().until(getattr(axi, f"{channel}ready"))
    ctx.set(getattr(axi, f"{channel}valid"), 0)


async def _read(ctx: Any, dut: AxiMemory, address: int, beats: int, rng: random.Random, **shape: int) -> Answer:
    """Data, responses, and the cycles until the first beat."""
    axi = dut.axi
    await _ask(ctx, dut, "ar", address, beats, **shape)
    words: list[int] = []
    responses: list[int] = []
    wait = 0
    while len(words) < beats:
        ready = rng.random() < 0.7
        ctx.set(axi.rready, ready)
        _, _, valid, data, resp, last = await ctx.tick().sample(axi.rvalid, axi.rdata, axi.rresp, axi.rlast)
        wait += not words and not valid
        if valid and ready:
            words.append(data)
            responses.append(resp)
            assert last == (len(words) == beats)
    ctx.set(axi.rready, 0)
    return words, responses, wait


async def _write(ctx: Any, dut: AxiMemory, address: int, words: list[int], strobes: list[int], *, last: int = -1,
                 **shape: int) -> int:
    """The response."""
    axi = dut.axi
    await _ask(ctx, dut, "aw", address, len(words), **shape)
    for k, (word, strobe) in enumerate(zip(words, strobes, strict=True)):
        for name, value in (("wdata", word), ("wstrb", strobe), ("wvalid", 1),
                            ("wlast", k == (len(words) - 1 if last < 0 else last))):
            ctx.set(getattr(axi, name), value)
        await ctx.tick().until(axi.wready)
    ctx.set(axi.wvalid, 0)
    ctx.set(axi.bready, 1)
    (resp,) = await ctx.tick().sample(axi.bresp).until(axi.bvalid)
    ctx.set(axi.bready, 0)
    return resp


def test_transfers_wait_for_the_latency_and_keep_their_order() -> None:
    delay = Delay(8, 4, 20)
    came: list[tuple[int, int]] = []
    now = [0]

    async def count(ctx: Any) -> None:
        while True:
            _, _, valid, ready, payload = await ctx.tick().sample(delay.o.valid, delay.o.ready, delay.o.payload)
            if valid and ready:
                came.append((now[0], payload))
            now[0] += 1

    async def process(ctx: Any) -> None:
        ctx.set(delay.o.ready, 1)
        sent = []
        for k, rest in enumerate((0, 0, 5, 30, 70, 0)):
            await ctx.tick().repeat(rest + 1)
            ctx.set(delay.i.payload, k)
            ctx.set(delay.i.valid, 1)
            await ctx.tick().until(delay.i.ready)
            sent.append(now[0])
            ctx.set(delay.i.valid, 0)
        await ctx.tick().repeat(120)
        assert [payload for _, payload in came] == list(range(6))
        for (at, _), begun in zip(came, sent, strict=True):
            assert at - begun >= 19
        # Transfers that overlap wait together: the first three within a few cycles.
        assert came[2][0] - came[0][0] <= sent[2] - sent[0] + 4

    clocked(delay, process, count)


@pytest.mark.parametrize(("lanes", "lane", "latency"), [(1, 0, 10), (2, 1, 40), (4, 2, 4)])
def test_bytes_are_kept(lanes: int, lane: int, latency: int) -> None:
    dut = _memory(lanes, lane, latency)
    rng = random.Random(lanes)
    blocks = range(lane, _SIZE // 512, lanes)
    content = {block: bytearray(512) for block in blocks}

    async def process(ctx: Any) -> None:
        ctx.set(dut.writable, _SIZE - 1024)
        written = 0
        for block in blocks:
            whole = [(1 << _BEAT) - 1] * 32
            assert await _write(ctx, dut, _BASE + 512 * block, [0] * 32, whole) == _OKAY
            written += 512
        for _ in range(12):
            block = rng.choice(blocks)
            first = rng.randrange(32)
            beats = rng.randint(1, 32 - first)
            words = [rng.getrandbits(8 * _BEAT) for _ in range(beats)]
            strobes = [rng.choice([(1 << _BEAT) - 1, rng.getrandbits(_BEAT), 0]) for _ in words]
            address = _BASE + 512 * block + _BEAT * first
            assert await _write(ctx, dut, address, words, strobes) == _OKAY
            for k, (word, strobe) in enumerate(zip(words, strobes, strict=True)):
                for byte in range(_BEAT):
                    if strobe >> byte & 1:
                        content[block][_BEAT * (first + k) + byte] = word >> 8 * byte & 255
            written += sum(strobe.bit_count() for strobe in strobes)
            block = rng.choice(blocks)
            words, responses, wait = await _read(ctx, dut, _BASE + 512 * block, 32, rng)
            assert b"".join(word.to_bytes(_BEAT, "little") for word in words) == content[block]
            assert set(responses) == {_OKAY} and wait >= latency - 1
        await ctx.tick().repeat(2)
        assert ctx.get(dut.written) == written

    clocked(dut, process, lambda ctx: _noise(ctx, dut, rng))


_FAULTS: dict[str, tuple[Any, int]] = {
    "outside": (lambda ctx, dut, rng: _read(ctx, dut, _BASE + _SIZE - _BEAT, 2, rng), _DECERR),
    "below": (lambda ctx, dut, rng: _read(ctx, dut, _BASE - _BEAT, 1, rng), _DECERR),
    "burst": (lambda ctx, dut, rng: _read(ctx, dut, _BASE, 2, rng, burst=2), _SLVERR),
    "size": (lambda ctx, dut, rng: _read(ctx, dut, _BASE, 2, rng, size=3), _SLVERR),
    "page": (lambda ctx, dut, rng: _read(ctx, dut, _BASE + 4096 - _BEAT, 2, rng), _SLVERR),
    "unaligned": (lambda ctx, dut, rng: _read(ctx, dut, _BASE + 4, 1, rng), _SLVERR),
    "write outside": (lambda ctx, dut, rng: _write(ctx, dut, _BASE + _SIZE, [1], [1]), _DECERR),
    "write burst": (lambda ctx, dut, rng: _write(ctx, dut, _BASE + 1024, [1], [1], burst=0), _SLVERR),
    "last": (lambda ctx, dut, rng: _write(ctx, dut, _BASE + 1024, [1, 2], [1, 1], last=0), _OKAY),
    "strayed": (lambda ctx, dut, rng: _write(ctx, dut, _BASE + 1008, [1], [1 << 15]), _OKAY),
    "strayed behind": (lambda ctx, dut, rng: _write(ctx, dut, _BASE + 1024 + 112, [1], [1 << 8]), _OKAY),
}
_NAMES = {"below": "outside", "size": "burst", "page": "burst", "unaligned": "burst", "write outside": "outside",
          "write burst": "burst", "strayed behind": "strayed"}


def test_what_a_master_does_wrong_is_seen() -> None:
    dut = _memory()
    rng = random.Random(3)

    async def process(ctx: Any) -> None:
        ctx.set(dut.writable, 120)
        # The window is the bytes from 1024 on: 7 rows, and the first 8 bytes of an eighth.
        assert await _write(ctx, dut, _BASE + 1024, [0] * 8, [(1 << _BEAT) - 1] * 7 + [255]) == _OKAY
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.faults.as_value())
        for name, (wrong, response) in _FAULTS.items():
            answer = await wrong(ctx, dut, rng)
            assert response in (answer[1] if isinstance(answer, tuple) else [answer]), name
            await ctx.tick().repeat(3)
            kind = _NAMES.get(name, name)
            found = {each: ctx.get(getattr(dut.faults, each)) for each in ("outside", "burst", "last", "strayed")}
            assert found[kind], (name, found)
            ctx.set(dut.clear, 1)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            await ctx.tick()
            assert not ctx.get(dut.faults.as_value())

    Bench(dut).run(process, lambda ctx: _noise(ctx, dut, rng))


def test_a_block_of_another_lane_is_outside() -> None:
    dut = _memory(2, 1)
    rng = random.Random(4)

    async def process(ctx: Any) -> None:
        for address, beats, wrong in ((512, 32, 0), (0, 1, 1), (512 + 496, 2, 1), (1024, 1, 1), (1536, 1, 0)):
            _, responses, _ = await _read(ctx, dut, _BASE + address, beats, rng)
            assert (responses[0] == _DECERR) == wrong, address
            assert ctx.get(dut.faults.outside) == wrong
            ctx.set(dut.clear, 1)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            await ctx.tick()

    clocked(dut, process, lambda ctx: _noise(ctx, dut, rng))


def test_local_accesses_go_past_the_port() -> None:
    dut = _memory()

    async def process(ctx: Any) -> None:
        ctx.set(dut.local.use, 1)
        for row, strobe, word in ((3, (1 << _BEAT) - 1, 0x1234), (3, 2, 0xFF00), (4, (1 << _BEAT) - 1, 7)):
            ctx.set(dut.local.row, row)
            ctx.set(dut.local.write, strobe)
            ctx.set(dut.local.write_data, word)
            await ctx.tick()
        ctx.set(dut.local.write, 0)
        for row, word in ((3, 0xFF34), (4, 7)):
            ctx.set(dut.local.row, row)
            await ctx.tick()
            assert ctx.get(dut.local.read_data) == word
        assert ctx.get(dut.written) == 0

    clocked(dut, process)
