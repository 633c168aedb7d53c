"""The block merger against a model: packets of every length and fate, held to the raw length of their blocks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.codec.packets import ErrorCode
from hdl.config.engine import EngineConfig
from hdl.engine.lanes.block_merger import BlockMerger
from tests.hdl.bench import clocked

_SIZE = 16
_CONFIG = EngineConfig(lanes=1, beat_bytes=_SIZE, link_beat_bytes=_SIZE, block_bytes=512, buffer_bytes=1024)
_SHORT = 77

_Packet = tuple[int, bool, ErrorCode]       # bytes, whether an empty beat ends it, its fate


def _play(blocks: list[tuple[bool, bool, _Packet]], rng: random.Random) -> tuple[list[int], int, bool]:
    """Beats that come out by their numbers, blocks done, and whether one was bad; blocks are (raw, short, packet)."""
    dut = BlockMerger(_CONFIG)
    beats: dict[bool, list[tuple[int, int, bool, ErrorCode]]] = {False: [], True: []}
    number = 0
    for raw, _, (size, empty, code) in blocks:
        count = max(1, -(-size // _SIZE)) + empty
        for place in range(count):
            left = max(0, min(_SIZE, size - place * _SIZE))
            beats[raw].append((number, left, place == count - 1, code))
            number += 1
    out: list[int] = []
    done = 0

    async def process(ctx: Any) -> None:
        nonlocal done
        order = 0
        ctx.set(dut.short_bytes, _SHORT)
        waited = 0
        while waited < 60:
            if order < len(blocks):
                ctx.set(dut.order.payload, {"raw": blocks[order][0], "short": blocks[order][1]})
            ctx.set(dut.order.valid, order < len(blocks))
            for raw, port in ((False, dut.coded), (True, dut.bypass)):
                shown = bool(beats[raw]) and (ctx.get(port.valid) or rng.random() < 0.7)
                ctx.set(port.valid, shown)
                if shown:
                    place, left, last, code = beats[raw][0]
                    ctx.set(port.payload, {"data": place, "keep": (1 << left) - 1, "last": last})
                    if not raw:
                        ctx.set(dut.code, code)
            ctx.set(dut.o.ready, rng.random() < 0.7)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                out.append(ctx.get(dut.o.payload.data))
            order += ctx.get(dut.order.ready) and order < len(blocks)
            moved = [raw for raw, port in ((False, dut.coded), (True, dut.bypass))
                     if ctx.get(port.valid) and ctx.get(port.ready)]
            done += ctx.get(dut.done)
            await ctx.tick()
            for raw, port in ((False, dut.coded), (True, dut.bypass)):
                if raw in moved:
                    beats[raw].pop(0)
                    ctx.set(port.valid, 0)
            waited = 0 if moved else waited + 1
        assert ctx.get(dut.bad) or not any(beats.values())

    clocked(dut, process)
    return out, done, done < len(blocks)


@pytest.mark.parametrize("seed", range(3))
def test_blocks_come_in_order(seed: int) -> None:
    rng = random.Random(seed)
    kinds = [rng.random() < 0.5 for _ in range(12)]
    blocks = [(raw, False, (512, not raw and rng.random() < 0.3, ErrorCode.OK)) for raw in kinds]
    blocks.append((rng.random() < 0.5, True, (_SHORT, False, ErrorCode.OK)))
    out, done, bad = _play(blocks, rng)
    assert (done, bad) == (13, False)
    expected, number = [], 0
    for _, short, (_, empty, _) in blocks:
        count = 5 if short else 32
        expected += range(number, number + count)
        number += count + empty
    assert out == expected


@pytest.mark.parametrize(("short", "packet"), [
    (short, packet) for short, size in ((False, 512), (True, _SHORT)) for packet in [
        (size, False, ErrorCode.TRUNCATED_DATA), (size, False, ErrorCode.TRAILING_BYTES),
        (size - 1, False, ErrorCode.OK), (size - 16, False, ErrorCode.OK), (size - 16, True, ErrorCode.OK),
        (size + 1, False, ErrorCode.OK), (size + 16, False, ErrorCode.OK), (size + 16, True, ErrorCode.OK),
        (size + 48, False, ErrorCode.OK), (size + 48, True, ErrorCode.OK), (0, False, ErrorCode.OK),
        (size // 16 * 16, True, ErrorCode.TRUNCATED_TAG)]])
def test_a_block_that_is_not_as_long_as_it_has_to_be(short: bool, packet: _Packet) -> None:
    out, done, bad = _play([(True, False, (512, False, ErrorCode.OK)), (False, short, packet),
                            (True, False, (512, False, ErrorCode.OK))], random.Random(1))
    assert (done, bad) == (1, True)
    assert len(out) <= 32 + (5 if short else 32)
    assert out == list(range(len(out)))
