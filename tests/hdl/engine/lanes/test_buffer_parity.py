"""Lanes with parity: an error in any of their memories is found before it does harm, and nothing else is."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.lanes.offload import OffloadLane
from cdma.hdl.engine.transfer.buffers import OFFLOAD_MEMORIES, PREFETCH_MEMORIES, LaneMemory
from tests.hdl.bench import Bench, pulse
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, give
from tests.hdl.engine.lanes.chain import Play
from tests.hdl.engine.link.streams import activations, packed

_OFFLOAD = [EngineConfig(beat_bytes=beat, link_beat_bytes=64, block_bytes=512, buffer_bytes=1280, buffer_parity=True,
                         codings=("zvc32", "float32")) for beat in (16, 32, 64)]
_PREFETCH = [
    EngineConfig(lanes=2, beat_bytes=32, link_beat_bytes=64, block_bytes=512, buffer_bytes=1280, buffer_parity=True,
                 codings=("zvc32", "float32"), safe_writes=True),
    EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024, buffer_parity=True,
                 codings=("zvc8", "zvc16")),
]
_BLOCKS = 12
_MOST = 3       # cycles from the read of a row to `spoiled`


def _sparse(rng: random.Random, length: int) -> bytes:
    """Values of which each block has zeros and others."""
    return b"".join(rng.randbytes(3) + b"\x3f" if rng.random() < 0.5 else bytes(4) for _ in range(length // 4))


class _Offload:
    """Blocks through a lane of offload: what came out, and when an error was found."""

    def __init__(self, config: EngineConfig) -> None:
        self.beat_bytes = config.beat_bytes
        self.dut = OffloadLane(config)
        self.bench = Bench(self.dut)

    def run(self, seed: int, memory: int | None) -> tuple[list[tuple[bytes, int]], int | None, list[bytes]]:
        """The framed blocks, each with the cycle of its last beat; the cycle of ``spoiled``; the blocks expected."""
        rng, dut = random.Random(seed), self.dut
        device = Memory(dut.axi, self.beat_bytes, rng, latency=10, pauses=0.3)
        device.content[:] = _sparse(rng, SIZE)
        codings = [rng.choice([0x14, 0x24]) if memory is None or memory < LaneMemory.LINE_RECORDS.value else 0x24
                   for _ in range(_BLOCKS)]
        asked = [{"element": 4, "exponents": coding == 0x24, "fallback": 1, "leave_raw": 0, "address": 512 * k,
                  "bytes": 512, "sequence": k} for k, coding in enumerate(codings)]
        expected = []
        for k, coding in enumerate(codings):
            framed = bytearray(blocks.compress(bytes(device.content[512 * k:512 * k + 512]), coding, 512).tobytes())
            framed[3] = k
            expected.append(bytes(framed))
        found: list[tuple[bytes, int]] = []
        spoiled: int | None = None

        async def ask(ctx: Any) -> None:
            if memory is not None:
                await pulse(ctx, dut.inject[memory])
            await give(ctx, dut.i, asked, Pace(rng, 0.1))

        async def take(ctx: Any) -> None:
            nonlocal spoiled
            content, pace = b"", Pace(rng, 0.3)
            for cycle in range(4000):
                ctx.set(dut.o.ready, pace.go())
                _, _, valid, ready, beat, now = await ctx.tick().sample(
                    dut.o.valid, dut.o.ready, dut.o.payload, dut.spoiled)
                if now and spoiled is None:
                    spoiled = cycle
                if valid and ready:
                    content += beat.data.to_bytes(64, "little")[:4 * beat.words]
                    if beat.last:
                        found.append((content, cycle))
                        content = b""
                if spoiled is not None or (len(found) == _BLOCKS and cycle > found[-1][1] + _MOST):
                    return

        self.bench.run(take, ask, device.read, seed=seed)
        return found, spoiled, expected


@pytest.fixture(scope="module", params=_OFFLOAD, ids=lambda config: str(config.beat_bytes))
def offload(request: pytest.FixtureRequest) -> _Offload:
    return _Offload(request.param)


@pytest.mark.parametrize("seed", range(4))
def test_offload_without_an_error(offload: _Offload, seed: int) -> None:
    found, spoiled, expected = offload.run(seed, None)
    assert spoiled is None
    assert [content for content, _ in found] == expected


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("memory", range(OFFLOAD_MEMORIES))
def test_offload_finds_an_error_in_each_memory(offload: _Offload, memory: int, seed: int) -> None:
    found, spoiled, expected = offload.run(seed, memory)
    assert spoiled is not None, f"an error in {LaneMemory(memory).name} was not found"
    for k, (content, cycle) in enumerate(found):
        assert content == expected[k] or cycle >= spoiled - _MOST, f"block {k} left wrong long before it was found"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("config", _PREFETCH)
def test_prefetch_without_an_error(config: EngineConfig, seed: int) -> None:
    rng = random.Random(seed)
    coding = config.numbers[seed % 2]
    raw = activations(rng, 6 * 512, 4)
    play = Play(config, packed(raw, coding, 512), len(raw), coding, pauses=0.2, latency=10, seed=seed)
    assert play.spoiled is None and play.fault is None
    assert play.raw() == raw


@pytest.mark.parametrize(("pauses", "cycle"), [(0.0, 0), (0.4, 0), (0.0, 75), (0.4, 120)])
@pytest.mark.parametrize("memory", range(PREFETCH_MEMORIES))
@pytest.mark.parametrize(("config", "coding"), [(config, coding) for config in _PREFETCH for coding in config.numbers])
def test_prefetch_writes_nothing_that_is_wrong(config: EngineConfig, coding: int, memory: int, pauses: float,
                                               cycle: int) -> None:
    rng = random.Random(f"{coding} {memory} {pauses} {cycle}")
    lane = rng.randrange(config.lanes)
    raw = _sparse(rng, 16 * 512)
    play = Play(config, packed(raw, coding, 512), len(raw), coding, pauses=pauses, latency=10,
                seed=rng.getrandbits(16), inject=(lane, memory, cycle))
    if memory == PREFETCH_MEMORIES - 1 and not config.safe_writes:
        # There is no such memory.
        assert play.spoiled is None and play.raw() == raw
        return
    assert play.spoiled == lane, f"an error in lane {lane} was found in {play.spoiled}"
    assert play.fault is None and play.untouched()
    assert all(byte in (0xA5, raw[at]) for at, byte in enumerate(play.raw()))
