# amaranth: UnusedElaboratable=no
"""The block compressor against the golden model: the same blocks, coded or raw, byte for byte."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from amaranth.hdl import Signal

from cdma.golden.codec.blocks import compress, headers
from cdma.golden.codec.coding import Coding
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import random_floats
from tests.hdl.memories import WrongCollisions
from tests.hdl.ports import Sink, Source, play

PARTS = [
    "cdma.hdl.codec.payload.block_lengths.BlockLengths", "cdma.hdl.codec.payload.block_reader.BlockReader",
    "cdma.hdl.codec.payload.exponent_range.ExponentRange", "cdma.hdl.codec.payload.metadata_writer.MetadataWriter",
    "cdma.hdl.codec.payload.group_coder.GroupCoder", "cdma.hdl.codec.payload.group_mask.GroupMask",
    "cdma.hdl.codec.payload.line_metadata.LineMetadata", "cdma.hdl.codec.payload.merger.Merger",
    "cdma.hdl.codec.payload.metadata_packer.MetadataPacker", "cdma.hdl.codec.payload.row_packer.RowPacker",
    "cdma.hdl.codec.payload.tag_writer.TagWriter"]
"""Components whose faults show here; mutants of them were tried."""

_CODINGS = {(1, False): Coding.ZVC8, (2, False): Coding.ZVC16, (4, False): Coding.ZVC32,
            (2, True): Coding.BFLOAT16, (4, True): Coding.FLOAT32}
_BLOCK = 512
_LANE_BLOCK = 1024


@dataclass(frozen=True)
class _Build:
    """Parameters of a core."""

    beat_bytes: int
    sizes: tuple[int, ...]
    exponents: tuple[int, ...] = ()
    pipeline: str = "small"
    for_lane: bool = False
    store_beats: int | None = None

    def __str__(self) -> str:
        sizes, exponents = ("".join(map(str, each)) for each in (self.sizes, self.exponents))
        return f"{self.beat_bytes}-{sizes}" + (f"-exponents{exponents}" if exponents else "") + (
            "-fast" if self.pipeline == "fast" else "") + ("-lane" if self.for_lane else "")


@dataclass(frozen=True)
class _Packet:
    """Raw bytes, and what is read on the first beat."""

    raw: bytes
    size: int
    fallback: bool
    exponents: bool = False
    leave_raw: bool = False
    halved: bool = False

    def coding(self, build: _Build) -> Coding:
        """The coding that a build gives it: exponents only if they are built."""
        return _CODINGS[self.size, self.exponents and self.size in build.exponents]


_BUILDS = [_Build(16, (1, 2, 4)), _Build(16, (4,)), _Build(32, (1, 2, 4)), _Build(32, (4,)), _Build(64, (1, 2, 4)),
           _Build(64, (2, 4))]
_EXPONENTS = [_Build(16, (1, 2, 4), (2, 4)), _Build(32, (1, 2, 4), (2, 4)), _Build(32, (2, 4), (4,)),
              _Build(64, (1, 2, 4), (2, 4)), _Build(32, (1, 2, 4), (2, 4), "fast")]
_FAST = [_Build(32, (4,), pipeline="fast"), _EXPONENTS[4], _Build(16, (2, 4), (2,), "fast"),
         _Build(64, (2, 4), (2, 4), "fast")]


@cache
def _bench(build: _Build, block_bytes: int) -> tuple[BlockCompressor, Bench]:
    dut = BlockCompressor(build.beat_bytes, build.sizes, block_bytes, build.pipeline, build.exponents, build.for_lane,
                          build.store_beats)
    return dut, Bench(dut)


def _values(rng: random.Random, length: int, size: int, density: float) -> bytes:
    """Raw bytes, perhaps with a part of an element at the end; an element that is not zero may have zeros in it."""
    out = bytearray()
    while len(out) < length:
        value = bytearray(rng.choice([bytes(size), rng.randbytes(size)]))
        value[rng.randrange(size)] = rng.randrange(1, 256)
        out += value if rng.random() < density else bytes(size)
    return bytes(out[:length])


def _elements(raw: bytes, size: int) -> int:
    """Elements of so many bytes that are not zero."""
    return sum(any(raw[at:at + size]) for at in range(0, len(raw), size))


def _counted(build: _Build, packet: _Packet, raw: bytes) -> dict[str, int]:
    """What is counted of a block, for a lane."""
    return {"elements": _elements(raw, packet.size)} if build.for_lane else {}


def _expected(packet: _Packet, build: _Build, block_bytes: int) -> list[tuple[bytes, dict[str, int]]]:
    """The payloads of a packet's blocks, without the word of a short one, with their facts."""
    whole = packet.raw[:len(packet.raw) // packet.size * packet.size]
    cut = len(packet.raw) > len(whole)
    coding = packet.coding(build)
    if packet.halved:
        block_bytes //= 2
    if packet.leave_raw and whole:
        # A lane's packet is one block.
        return [(whole, {"coding": Coding.RAW, "raw_bytes": len(whole), "payload_bytes": len(whole), "cut": cut,
                         "elements": _elements(whole, packet.size)})]
    stream = bytes(compress(whole, coding, block_bytes, packet.fallback))
    found = []
    for block in headers(stream, block_bytes):
        payload = stream[block.payload_offset:block.payload_offset + block.payload_bytes]
        payload = payload[4 * block.short:]
        raw_bytes = min(block_bytes, len(whole) - block.number * block_bytes)
        raw = whole[block.number * block_bytes:][:raw_bytes]
        found.append((payload, {"coding": block.field, "raw_bytes": raw_bytes, "payload_bytes": len(payload),
                                "cut": False, **_counted(build, packet, raw)}))
    if not whole or (cut and len(whole) % block_bytes == 0):
        # A block begins, and has no whole element.
        found.append((b"", {"coding": coding | 0x80, "raw_bytes": 0, "payload_bytes": 0, "cut": cut,
                            **_counted(build, packet, b"")}))
    found[-1][1]["cut"] = cut
    return found


def _run(build: _Build, packets: list[_Packet], busy: float, ready: float, block_bytes: int = _BLOCK) -> int:
    """Compresses packets and compares all rows; the cycles it took from the first row on."""
    rng = random.Random(f"{build} {busy} {ready}")
    dut, bench = _bench(build, block_bytes)
    n = build.beat_bytes
    offers, expected = [], []
    for packet in packets:
        raw = packet.raw
        for k in range(0, max(1, len(raw)), n):
            part = raw[k:k + n]
            last = k + n >= len(raw)
            # What lies behind the last byte, and what is read on the first beat only, may be anything.
            offers.append({"data": int.from_bytes(part + rng.randbytes(n - len(part)), "little"),
                           "keep": (1 << len(part)) - 1 if last else rng.getrandbits(n), "last": last,
                           "element": rng.randrange(8) if k else packet.size,
                           "exponents": rng.random() < 0.5 if k else packet.exponents,
                           "fallback": rng.random() < 0.5 if k else packet.fallback,
                           **({"leave_raw": rng.random() < 0.5 if k else packet.leave_raw,
                               "halved": rng.random() < 0.5 if k else packet.halved} if build.for_lane else {})})
        for payload, facts in _expected(packet, build, block_bytes):
            rows = [payload[k:k + n] for k in range(0, max(1, len(payload)), n)]
            expected += [(row, k == len(rows) - 1, facts) for k, row in enumerate(rows)]

    source = Source(dut.i, offers, rng, busy)

    def read(ctx: Any) -> tuple[bytes, bool, dict[str, int]]:
        row, block = ctx.get(dut.o.payload), ctx.get(dut.block)
        count = row.keep.bit_count()
        assert row.keep == (1 << count) - 1 and (row.last or count == n)
        return (row.data.to_bytes(n, "little")[:count], bool(row.last),
                {name: getattr(block, name) for name in sink.left[0][2]})

    sink = Sink(dut.o, expected, read, rng, ready)
    cycles = 0

    async def process(ctx: Any) -> None:
        nonlocal cycles
        cycles = await play(ctx, [source], sink, quiet=20)

    bench.run(process, cycles=100_000)
    return cycles


@pytest.mark.parametrize("build", [*_BUILDS, _FAST[0]], ids=str)
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 0.4), (0.6, 0.95)])
def test_packets(build: _Build, busy: float, ready: float) -> None:
    rng = random.Random(f"{build} {ready}")
    packets = []
    for _ in range(20):
        size = rng.choice(build.sizes)
        length = rng.choice([0, 1, 3, size, 4 * size, 60, 127, 128, 129, 511, 512, 513, 1024, 1500,
                             rng.randrange(2000)])
        packets.append(_Packet(_values(rng, length, size, rng.choice([0.0, 0.05, 0.5, 0.9, 1.0])), size,
                               rng.random() < 0.7, rng.random() < 0.3))
    _run(build, packets, busy, ready)


@pytest.mark.parametrize(("build", "busy", "ready"), [
    (_EXPONENTS[0], 1.0, 0.6), (_EXPONENTS[1], 1.0, 0.4), (_EXPONENTS[4], 0.7, 0.95), (_EXPONENTS[2], 0.8, 0.8),
    (_EXPONENTS[3], 1.0, 0.5), (_FAST[2], 0.8, 0.7), (_FAST[3], 1.0, 0.6)], ids=str)
def test_packets_with_exponents(build: _Build, busy: float, ready: float) -> None:
    """All codings in turn, blocks of lines of every kind, packets of any length."""
    rng = random.Random(f"{build} {ready}")
    packets = []
    for _ in range(12):
        size, exponents = rng.choice(build.sizes), rng.random() < 0.8
        length = rng.choice([0, 1, 3, size, 60, 128, 129, 511, 512, 513, 1024, 1500, rng.randrange(2000)])
        raw = random_floats(rng, length, size) if size > 1 and rng.random() < 0.9 else _values(rng, length, size, 0.5)
        packets.append(_Packet(raw, size, rng.random() < 0.5, exponents))
    _run(build, packets, busy, ready)


def _lane_packets(rng: random.Random, build: _Build, count: int) -> list[_Packet]:
    """Packets as a lane has them: one block each, half of them halved, a quarter left raw, half whole."""
    packets = []
    for number in range(count):
        size, halved, leave_raw = rng.choice(build.sizes), bool(number & 1), number & 6 == 0
        most = _LANE_BLOCK // 2 if halved else _LANE_BLOCK
        length = most if number & 8 else rng.randrange(size, most + 1) // size * size
        exponents = size in build.exponents and rng.random() < 0.7
        raw = random_floats(rng, length, size) if exponents else _values(rng, length, size, rng.choice([0.0, 0.4, 1.0]))
        packets.append(_Packet(raw, size, rng.random() < 0.5, exponents, leave_raw, halved))
    return packets


@pytest.mark.parametrize(("build", "busy", "ready"), [
    (_Build(16, (1, 2, 4), for_lane=True), 1.0, 0.6), (_Build(32, (1, 2, 4), for_lane=True), 0.7, 1.0),
    (_Build(64, (2, 4), for_lane=True), 1.0, 0.8), (_Build(32, (4,), for_lane=True), 1.0, 1.0),
    (_Build(32, (1, 2, 4), (2, 4), for_lane=True), 1.0, 0.8), (_Build(16, (2, 4), (2, 4), for_lane=True), 0.8, 1.0),
    (_Build(64, (2, 4), (2,), for_lane=True), 1.0, 1.0),
    (_Build(32, (2, 4), (2, 4), "fast", for_lane=True), 0.8, 0.8)], ids=str)
def test_packets_of_a_lane(build: _Build, busy: float, ready: float) -> None:
    """Blocks of all kinds in turn: left raw, halved, short ones of both; and their elements are counted."""
    rng = random.Random(f"lane {build}")
    _run(build, _lane_packets(rng, build, 32 if build.beat_bytes == 32 else 16), busy, ready, _LANE_BLOCK)


@pytest.mark.parametrize("build", [_Build(32, (1, 2, 4), for_lane=True, store_beats=_LANE_BLOCK // 32),
                                   _Build(32, (2, 4), (2, 4), for_lane=True, store_beats=_LANE_BLOCK // 32)], ids=str)
def test_the_smallest_store(build: _Build) -> None:
    """Of one block: slower, but nothing is lost."""
    rng = random.Random(f"store {build}")
    _run(build, _lane_packets(rng, build, 16), 1.0, 1.0, _LANE_BLOCK)


def test_a_store_that_is_too_small() -> None:
    with pytest.raises(ValueError, match="store_beats must be at least 16 for blocks of 512 bytes, not 15"):
        BlockCompressor(32, (4,), 512, store_beats=15)


def _line(rng: random.Random, size: int, base: int, spreads: list[int], density: float, signs: bool,
          tiny: float) -> bytes:
    """A line with this largest exponent; in each group, exponents as far below it as said; a share without any."""
    shift = {2: 7, 4: 23}[size]
    out, count = bytearray(), LINE_BYTES // size
    for k in range(count):
        distance = spreads[k * len(spreads) // count]
        exponent = base - min(base, 0 if k == 0 else distance if rng.random() < 0.3 else rng.randint(0, distance))
        if k and rng.random() < tiny:
            exponent = 0
        value = exponent << shift | rng.getrandbits(shift) | (signs and rng.getrandbits(1)) << 8 * size - 1
        out += (value or 1 if rng.random() < density else 0).to_bytes(size, "little")
    return bytes(out)


@pytest.mark.parametrize("size", [2, 4])
def test_every_kind_of_line(size: int) -> None:
    """All widths with all flags, groups that are empty or full, and values at the ends of the format."""
    rng = random.Random(size)
    flags = list(itertools.product((0.6, 1.0), (False, True), (0.0, 0.2)))
    lines = [_line(rng, size, rng.choice([spread, 255, 254, max(spread, 128)]), [spread] * 4, *each)
             for spread in (0, 1, 3, 7, 15, 31, 63, 255) for each in flags]
    # The longest distance of a width with an escape, and the first one that is too long.
    lines += [_line(rng, size, rng.choice([spread, 255]), [spread] * 4, *rng.choice(flags))
              for spread in (2, 6, 14, 30, 62, 64, 254)]
    lines += [_line(rng, size, rng.choice([63, 64, 254]), rng.sample([0, 1, 3, 15, 63], 4), *rng.choice(flags))
              for _ in range(10)]
    shift = {2: 7, 4: 23}[size]
    ends = [1 << 8 * size - 1, 255 << shift, 511 << shift, (255 << shift) + 1, 1, (1 << shift) - 1, 1 << shift]
    # One value alone, all values alike, and these values anywhere.
    lines += [bytes(LINE_BYTES)] + [end.to_bytes(size, "little") + bytes(LINE_BYTES - size) for end in ends]
    lines += [end.to_bytes(size, "little") * (LINE_BYTES // size) for end in ends]
    lines += [b"".join(rng.choice([0, 0, *ends]).to_bytes(size, "little") for _ in range(LINE_BYTES // size))
              for _ in range(4)]
    # A group alone, at each place.
    lines += [bytes(32 * k) + lines[-1][:32] + bytes(96 - 32 * k) for k in range(4)]
    rng.shuffle(lines)
    # Whole exponents with signs, no element zero: a block with the most bytes of rests.
    rests = b"".join(_line(rng, size, 255, [255] * 4, 1.0, True, 0.0) for _ in range(4))
    _run(_EXPONENTS[1], [_Packet(b"".join(lines), size, False, True), _Packet(rests, size, False, True)], 1.0, 1.0)


@pytest.mark.parametrize(("beat_bytes", "memory"), [(32, 0), (64, 0), (64, 1)])
def test_a_bit_that_changes_in_any_byte_of_line_metadata_is_found(beat_bytes: int, memory: int) -> None:
    """In a block that fills a quarter of a row in each section; beats of 64 bytes have two memories for it."""
    quarter, rng = beat_bytes // 4, random.Random(memory)
    dut = BlockCompressor(beat_bytes, (4,), 128 * quarter, exponents=(4,), protected=True)
    flips = [Signal(9 * quarter, name=f"flips_{number}") for number in range(beat_bytes // 32)]
    bench = Bench(dut, WrongCollisions({9 * quarter: iter(flips)}))
    raw = b"".join(_line(rng, 4, 120 + 7 * line, [1, 3, 7, 2], 0.8, True, 0.0) for line in range(quarter))
    beats = [{"data": int.from_bytes(raw[at:at + beat_bytes], "little"), "keep": (1 << beat_bytes) - 1, "element": 4,
              "exponents": 1, "last": at + beat_bytes == len(raw)} for at in range(0, len(raw), beat_bytes)]

    for byte in (None, *range(quarter)):
        found: list[bool] = []

        async def process(ctx: Any, byte: int | None = byte, found: list[bool] = found) -> None:
            ctx.set(flips[memory], 0 if byte is None else 8 << 9 * byte)
            source = Source(dut.i, beats, rng, 1.0)
            ctx.set(dut.o.ready, 1)
            ends = False
            while not ends:
                source.offer(ctx)
                source.settle(ctx)
                found.append(bool(ctx.get(dut.bad)))
                ends = ctx.get(dut.o.valid & dut.o.payload.last)
                await ctx.tick()

        bench.run(process, cycles=2000)
        assert any(found) == (byte is not None), f"byte {byte}"


@pytest.mark.parametrize("size", [2, 4])
def test_the_largest_block_with_exponents(size: int) -> None:
    """32 KiB: all 256 lines have metadata before the first row of it goes."""
    raw = random_floats(random.Random(size), 32768, size)
    _run(_Build(32, (size,), (size,)), [_Packet(raw, size, False, True)], 1.0, 1.0, 32768)


@pytest.mark.parametrize("size", [2, 4])
def test_every_length_of_a_short_block_with_exponents(size: int) -> None:
    """Lines that end after every number of elements, in the first and in the last line of a block."""
    rng = random.Random(size)
    packets = []
    for count in range(1, LINE_BYTES // size + 1):
        behind = rng.choice([0, 128, 384])
        raw = random_floats(rng, behind, size) + random_floats(rng, count * size, size)
        packets.append(_Packet(raw + bytes(rng.random() < 0.2), size, rng.random() < 0.2, True))
    _run(_EXPONENTS[1], packets, 1.0, 0.9)


def test_a_row_of_tags_that_only_dropped_bytes_have_begun() -> None:
    """The last beat has a part of an element only, and begins a row of tags that the payload does not need."""
    packets = [_Packet(bytes(256) + b"x", 2, False), _Packet(bytes(512 - 16) + b"x", 4, True),
               _Packet(b"ab" * 128 + b"x", 2, True)]
    _run(_BUILDS[0], packets, 1.0, 1.0)


@pytest.mark.parametrize(("build", "block_bytes", "cycles"), [
    (_BUILDS[3], 512, 20), (_BUILDS[3], 1024, 12), (_EXPONENTS[1], 512, 29), (_FAST[0], 512, 24),
    (_FAST[0], 1024, 14), (_FAST[1], 512, 36)], ids=str)
def test_latency_is_as_stated(build: _Build, block_bytes: int, cycles: int) -> None:
    """From the last beat of a block to the first row of its payload: tags and data, or tags alone; with facts."""
    dut, bench = _bench(build, block_bytes)
    beats, seen = block_bytes // 32, []

    async def process(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        # Out of reset, `ready` is registered.
        await ctx.tick()
        for cycle in range(beats + 40):
            ctx.set(dut.i.valid, cycle < beats)
            ctx.set(dut.i.payload, {"data": cycle + 1, "element": 4, "exponents": 1, "last": cycle == beats - 1,
                                    "keep": (1 << 32) - 1})
            assert cycle >= beats or ctx.get(dut.i.ready)
            if ctx.get(dut.o.valid):
                seen.append(cycle)
            await ctx.tick()

    bench.run(process)
    assert seen[0] - (beats - 1) == cycles


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_length_of_a_short_block(size: int) -> None:
    """Every number of elements of 4 bytes; of smaller ones some, with and without a part of an element behind them."""
    rng = random.Random(size)
    packets = [_Packet(_values(rng, length, size, rng.choice([0.2, 0.8])), size, rng.random() < 0.5)
               for length in range(0, 513, {1: 13, 2: 11, 4: 4}[size])]
    _run(_BUILDS[2], packets, 1.0, 0.9)


def _throughput(build: _Build, packets: list[_Packet]) -> None:
    """At least 99 % of a beat, or a row, per cycle over blocks of 4 KiB."""
    n = build.beat_bytes
    rows = sum(-(-len(payload) // n) for packet in packets for payload, _ in _expected(packet, build, 4096))
    beats = sum(len(packet.raw) for packet in packets) // n
    cycles = _run(build, packets, 1.0, 1.0, 4096)
    # The first block is in the store when the first row leaves.
    assert cycles <= max(beats - 4096 // n, rows) / 0.99 + 4096 // n


@pytest.mark.parametrize("build", [_BUILDS[2], _BUILDS[5]], ids=str)
@pytest.mark.parametrize(("density", "fallback"), [(0.0, True), (0.1, False), (0.5, True), (0.9, False), (1.0, True)])
def test_throughput(build: _Build, density: float, fallback: bool) -> None:
    """Tensors of 64 KiB in all."""
    rng = random.Random(f"{density}")
    _throughput(build, [_Packet(_values(rng, 1 << 15, size, density), size, fallback) for size in build.sizes[-2:]])


@pytest.mark.parametrize("build", [_EXPONENTS[1], _EXPONENTS[4]], ids=str)
def test_throughput_with_exponents(build: _Build) -> None:
    """Tensors of 64 KiB in all: lines of every kind, bfloat16 that are alike, float32 that are not."""
    rng = random.Random(5)
    alike = b"".join(_line(rng, 2, 127, [7], 1.0, True, 0.0) for _ in range(128))
    apart = b"".join(_line(rng, 4, 255, [255], 1.0, True, 0.0) for _ in range(128))
    _throughput(build, [_Packet(random_floats(rng, 1 << 14, 2), 2, False, True), _Packet(alike, 2, True, True),
                        _Packet(apart, 4, False, True), _Packet(random_floats(rng, 1 << 14, 4), 4, True, True)])
