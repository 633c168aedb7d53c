"""Payloads as a decompressor of blocks gets them, beat by beat, and a build of one that plays them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import LINE, Beat, Block
from tests.hdl.ports import Sink, Source, play

__all__ = ["PARTS", "Payload", "Play"]

PARTS = [
    "cdma.hdl.codec.payload.block_result.BlockResult", "cdma.hdl.codec.payload.group_decoder.GroupDecoder",
    "cdma.hdl.codec.payload.header_counter.HeaderCounter", "cdma.hdl.codec.payload.line_reader.LineReader",
    "cdma.hdl.codec.payload.line_reader.Section", "cdma.hdl.codec.payload.payload_order.PayloadOrder",
    "cdma.hdl.codec.payload.payload_ring.PayloadRing", "cdma.hdl.codec.payload.payload_store.PayloadStore",
    "cdma.hdl.codec.payload.row_ring.RowRing", "cdma.hdl.codec.payload.row_unpacker.RowUnpacker",
    "cdma.hdl.codec.payload.tag_slicer.TagSlicer", "cdma.hdl.codec.payload.tag_words.TagWords"]
"""Components whose faults show here; mutants of them were tried."""

PAIR = 32
"""With exponents and narrower beats, the core's beats have so many bytes."""


@dataclass(frozen=True)
class Payload:
    """A payload with what is said of it, and the beats that are to come."""

    payload: bytes
    coding: int
    raw_bytes: int
    beats: tuple[Beat, ...]

    @classmethod
    def of(cls, block: Block, size: int, rng: random.Random, *, pairs: bool = False) -> Payload:
        """That of a block, for beats of so many bytes; ``pairs``: the core's are twice as wide."""
        coding = (0x20 if block.exponents else 0x10) | block.element | rng.choice([0, 0x80])
        beats = block.beats(size)
        if pairs and block.refused():
            result = beats[-1].result
            assert result is not None
            beats = _refused_pairs(result, block.raw_bytes)
        return cls(block.payload, coding, block.raw_bytes, tuple(beats))

    @classmethod
    def raw(cls, payload: bytes, raw_bytes: int, size: int, rng: random.Random) -> Payload:
        """That of a raw block that is said to have so many bytes; of any length but 0."""
        count = -(-raw_bytes // size)
        code = (PayloadError.OK if len(payload) == raw_bytes else
                PayloadError.TRUNCATED_DATA if len(payload) < raw_bytes else PayloadError.TRAILING_BYTES)
        line = min(len(payload), raw_bytes - 1) // LINE
        content = [payload[k * size:(k + 1) * size] if code == PayloadError.OK else None for k in range(count)]
        return cls(payload, rng.choice([0, 0x80]), raw_bytes, tuple(
            Beat(part, k == count - 1, (code, line) if k == count - 1 else None) for k, part in enumerate(content)))

    @classmethod
    def refused(cls, rng: random.Random, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (), *,
                pairs: bool = False, for_lane: bool = False) -> Payload:
        """With a coding that is not built, or a raw length that is not possible; of any length."""
        payload = rng.randbytes(rng.choice([1, 40, 500, 3000]))
        built = [*([0] if for_lane else []), *(0x10 | size for size in sizes), *(0x20 | size for size in exponents)]
        if rng.random() < 0.5:
            bad = [coding for coding in range(128) if coding not in built]
            coding = rng.choice([each for each in (0, 1, 4, 0x21, 0x22, 0x24) if each in bad] + [rng.choice(bad)])
            return cls(payload, coding, rng.randrange(1 << 16), _refusal(PayloadError.BAD_CODING, pairs))
        coding = rng.choice(built)
        size = coding & 7 or 1
        lengths = [0, block_bytes + size, 0xFFFF, *([block_bytes - 1] if size > 1 else [])]
        length = rng.choice([each for each in lengths if each % size or not 0 < each <= block_bytes])
        return cls(payload, coding, length, _refusal(PayloadError.BAD_LENGTH, pairs))

    def rows(self, size: int, rng: random.Random) -> list[dict[str, int]]:
        """Its beats; what does not count in them is noise."""
        rows = []
        for at in range(0, len(self.payload), size):
            part = self.payload[at:at + size]
            last = at + size >= len(self.payload)
            rows.append({
                "data": int.from_bytes(part + rng.randbytes(size - len(part)), "little"), "last": last,
                "keep": (1 << len(part)) - 1 if last else rng.getrandbits(size),
                "coding": rng.getrandbits(8) if at else self.coding,
                "raw_bytes": rng.getrandbits(16) if at else self.raw_bytes})
        return rows


def _refusal(code: PayloadError, pairs: bool) -> tuple[Beat, ...]:
    """One beat with a result; or one of twice the width."""
    return (*([Beat(None, False, None)] if pairs else []), Beat(None, True, (code, 0)))


def _refused_pairs(result: tuple[PayloadError, int], raw_bytes: int) -> list[Beat]:
    """The halves of the beats up to the first one of the line at fault. The last one has a second half if the last one
    of a whole block would have one."""
    count = 2 * (result[1] * 128 // PAIR) + (1 if 0 < raw_bytes % PAIR <= PAIR // 2 else 2)
    return [Beat(None, False, None)] * (count - 1) + [Beat(None, True, result)]


class Play:
    """A build that is prepared once, and plays lists of payloads."""

    def __init__(self, size: int, sizes: tuple[int, ...], block_bytes: int, rows: int | None = None,
                 exponents: tuple[int, ...] = (), for_lane: bool = False, row_bytes: int | None = None,
                 pipeline: str = "small"):
        self.for_lane, self.row_bytes = for_lane, row_bytes or size
        self.size, self.sizes, self.block_bytes, self.exponents = size, sizes, block_bytes, exponents
        self.pairs = bool(exponents) and size < PAIR
        self.dut = BlockDecompressor(size, sizes, block_bytes, rows, exponents, for_lane, row_bytes,
                                     pipeline=pipeline)
        self.bench = Bench(self.dut)

    def payload(self, block: Block, rng: random.Random) -> Payload:
        """The payload of a block for this build."""
        return Payload.of(block, self.size, rng, pairs=self.pairs)

    def refused(self, rng: random.Random) -> Payload:
        """A payload that this build refuses at once."""
        return Payload.refused(rng, self.sizes, self.block_bytes, self.exponents, pairs=self.pairs,
                               for_lane=self.for_lane)

    def __call__(self, payloads: list[Payload], rng: random.Random, busy: float = 1.0, ready: float = 1.0,
                 cycles: int = 20_000) -> int:
        """Plays them; returns the cycles from the first beat to the last one."""
        rows = [row for payload in payloads for row in payload.rows(self.row_bytes, rng)]
        beats = [beat for payload in payloads for beat in payload.beats]
        dut, size = self.dut, self.size

        def read(ctx: Any) -> Beat:
            wanted, beat = sink.left[0], ctx.get(dut.o.payload)
            count = beat.keep.bit_count() if beat.last else size
            assert not beat.last or beat.keep == (1 << count) - 1
            error = ctx.get(dut.error)
            return Beat(None if wanted.content is None else beat.data.to_bytes(size, "little")[:count],
                        bool(beat.last), (PayloadError(error.code), error.line) if beat.last else None)

        source, sink = Source(dut.i, rows, rng, busy), Sink(dut.o, beats, read, rng, ready)
        took = 0

        async def process(ctx: Any) -> None:
            nonlocal took
            took = await play(ctx, [source], sink, quiet=10)

        self.bench.run(process, cycles=cycles)
        return took

    def cycles(self, payload: Payload, rng: random.Random, among: int) -> list[int]:
        """Those of the first ``among`` cycles in which the output is valid, if a payload goes in from cycle 0 on.

        There is no pause on either side.
        """
        rows, seen = payload.rows(self.row_bytes, rng), []
        dut: Any = self.dut

        async def process(ctx: Any) -> None:
            ctx.set(dut.o.ready, 1)
            for cycle in range(among):
                ctx.set(dut.i.valid, cycle < len(rows))
                if cycle < len(rows):
                    ctx.set(dut.i.payload, rows[cycle])
                    assert ctx.get(dut.i.ready)
                if ctx.get(dut.o.valid):
                    seen.append(cycle)
                await ctx.tick()

        self.bench.run(process)
        return seen
