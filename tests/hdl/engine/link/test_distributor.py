"""The distributor against the golden model: every block comes to its lane, and every fault has its name."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.distributor import Distributor
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import Bench, clocked
from tests.hdl.engine.link.streams import activations, damage, expected, packed, stream_beats
from tests.hdl.ports import Source

PARTS = ["cdma.hdl.codec.blocks.header_parser.HeaderParser", "cdma.hdl.engine.link.realigner.Realigner"]
"""Components whose faults show here; mutants of them were tried."""

_ADDRESS = 5 << 20


def _config(lanes: int, link: int, block_bytes: int, *codings: str, **options: Any) -> EngineConfig:
    """An engine with so many lanes of 16 bytes, a link of so many, and these codings, or all."""
    return EngineConfig(lanes=lanes, beat_bytes=16, link_beat_bytes=link, block_bytes=block_bytes,
                        codings=codings or tuple(CODINGS), **options)


@lru_cache(maxsize=4)
def _prepared(config: EngineConfig) -> tuple[Distributor, Bench]:
    dut = Distributor(config)
    return dut, Bench(dut)


class _Play:
    """A stream through a distributor, whose lanes take what comes: the fault, if there is one, and the cycles in which
    beats were taken. All is compared with the golden model. ``raw_bytes`` is the length in the stream, after narrowing.
    """

    def __init__(self, config: EngineConfig, stream: bytes, raw_bytes: int, coding: int, *, narrow: int = 0,
                 first_lane: int = 0, busy: float = 1.0, willing: float = 1.0, seed: int = 0):
        self._config, self._stream, self._raw_bytes, self._coding = config, stream, raw_bytes, coding
        self._narrow, self._first_lane, self._busy, self._willing = narrow, first_lane, busy, willing
        self._rng = random.Random(seed)
        self._dut, bench = _prepared(config)
        self._open = [False] * config.lanes
        self._found: list[list[tuple[Any, bytes]]] = [[] for _ in range(config.lanes)]     # blocks of each lane
        self.fault: tuple[Status, int] | None = None
        self.taken: list[int] = []
        bench.run(self._process)

    async def _process(self, ctx: Any) -> None:
        dut, rng = self._dut, self._rng
        start = {"first_lane": self._first_lane, "address": _ADDRESS, "element": self._coding & 15,
                 "raw_bytes": self._raw_bytes * (2 if self._narrow else 1), "exponents": self._coding >> 5 & 1,
                 "narrow": self._narrow}
        beats = stream_beats(self._stream, self._config.link_beat_bytes, rng)
        sources = [Source(dut.start, [start], rng, 1.0), Source(dut.i, beats, rng, self._busy)]
        quiet = cycle = 0
        while quiet < 12:
            assert cycle < 40 * (len(beats) + 20) / self._busy / self._willing, "hangs"
            for number, source in enumerate(sources):
                source.offer(ctx, may=number == 0 or not sources[0].left)
            for lane in dut.lanes:
                ctx.set(lane.ready, rng.random() < self._willing)
            before = sources[1].taken
            for source in sources:
                source.settle(ctx)
            if sources[1].taken > before:
                self.taken.append(cycle)
            for number, lane in enumerate(dut.lanes):
                if ctx.get(lane.valid) and ctx.get(lane.ready):
                    self._see(number, ctx.get(lane.payload))
            await ctx.tick()
            cycle += 1
            fault, done = ctx.get(dut.fault), ctx.get(dut.done)
            assert self.fault is None or (fault.status, fault.block) == self.fault, "the fault changed"
            if fault.valid:
                self.fault = fault.status, fault.block
            quiet = quiet + 1 if not sources[1].left and (done or fault.valid) else 0
            assert not (done and fault.valid)
        self._check(bool(done), ctx.get(dut.raw_blocks))

    def _see(self, number: int, piece: Any) -> None:
        assert piece.first == (not self._open[number])
        if piece.first:
            self._found[number].append((piece.block, b""))
        block, content = self._found[number][-1]
        self._found[number][-1] = block, content + piece.data.to_bytes(self._config.link_beat_bytes, "little")
        self._open[number] = not piece.last

    def _check(self, done: bool, raw_blocks: int) -> None:
        config, size = self._config, self._config.block_bytes // (2 if self._narrow else 1)
        hope = expected(self._stream, size, self._raw_bytes, self._coding)
        assert self.fault == hope.fault
        assert done == (hope.fault is None)
        if done:
            assert raw_blocks == sum(block.coding == 0 for block in hope.blocks)
        for block in hope.blocks:
            facts, content = self._found[(self._first_lane + block.number) % config.lanes].pop(0)
            start, length = block.payload_offset, block.payload_bytes
            if block.short:
                # The length field is left out.
                start, length = start + 4, length - 4
            assert (facts.number, facts.payload_bytes, facts.coding) == (block.number, length, block.coding)
            assert facts.narrow == Narrowing(self._narrow)
            assert facts.address == _ADDRESS + block.number * config.block_bytes
            assert facts.raw_bytes == min(size, self._raw_bytes - block.number * size)
            assert content[:length] == self._stream[start:start + length]
            assert len(content) == -(-length // config.link_beat_bytes) * config.link_beat_bytes
        rest = [facts.number for lane in self._found for facts, _ in lane]
        if hope.fault is None or hope.fault[0] in (
                Status.BAD_CODING, Status.BAD_SEQUENCE, Status.BAD_LENGTH, Status.TRAILING):
            assert rest == []
        assert all(number >= len(hope.blocks) for number in rest)


@pytest.mark.parametrize(("damaged", "seed"), [(damaged, seed) for damaged, count in ((False, 15), (True, 60))
                                               for seed in range(count)])
def test_any_stream(damaged: bool, seed: int) -> None:
    """Every block reaches its lane, and every fault is named."""
    rng = random.Random(f"{damaged} {seed}")
    built = rng.choice([["zvc8"], ["zvc32"], ["zvc8", "zvc16", "zvc32"], ["zvc16", "bfloat16"], ["zvc32", "float32"],
                        [*CODINGS], [*CODINGS]])
    narrowing = "zvc16" in built and rng.random() < 0.5
    name = rng.choice(built)
    narrow = 0
    if narrowing and name in ("zvc16", "bfloat16"):
        narrow = rng.choice([0, 1, 2] if name == "zvc16" else [0, 1])
    coding = CODINGS[name]
    element = coding & 15
    config = _config(rng.randrange(1, 7), rng.choice([16, 32, 64]),
                     rng.choice([1024, 4096] if narrowing else [512, 512, 1024, 4096]), *built, narrowing=narrowing,
                     pipeline=("small", "fast")[seed % 2])
    size = config.block_bytes // (2 if narrow else 1)
    length = element * rng.randrange(1, 5 * size // element)
    if rng.random() < 0.2:
        length = max(1, length // size) * size
    stream = packed(activations(rng, length, element), coding, size, rng.random() < 0.5)
    busy, willing = rng.choice([(1.0, 1.0), (1.0, 0.6), (0.5, 1.0), (0.7, 0.7)])
    played = _Play(config, damage(rng, stream, size) if damaged else stream, length, coding, narrow=narrow,
                   first_lane=rng.randrange(config.lanes), busy=busy, willing=willing, seed=rng.getrandbits(32))
    assert damaged or played.fault is None


def _with_field(words: int, place: int, elements: int) -> tuple[bytes, int, int]:
    """A stream of two blocks of zvc32 in blocks of 512 bytes, its raw length, and where its second header is: at that
    place of a beat. That block is short and has so many elements that are not zero, and one that is."""
    # The first block: header, four tags, and elements.
    first = [1] * ((place - 5) % words) + [0] * 128
    raw = b"".join(value.to_bytes(4, "little") for value in [*first[:128], *range(1, elements + 1), 0])
    stream = packed(raw, CODINGS["zvc32"], 512, False)
    header = [block.offset for block in blocks.headers(stream, 512)][-1]
    assert header // 4 % words == place
    return stream, len(raw), header


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_a_length_field_at_every_place_of_a_beat(link: int, lanes: int) -> None:
    words, config = link // 4, _config(lanes, link, 512)
    rng = random.Random(f"{link} {lanes}")
    for place in range(words):
        # The payload ends with the beat, in it, and in the next one.
        for elements in {1, (words - place - 4) % words or words, rng.randrange(1, 60)}:
            stream, length, _ = _with_field(words, place, elements)
            played = _Play(config, stream, length, CODINGS["zvc32"], willing=rng.choice([1.0, 0.6]), seed=place)
            assert played.fault is None


@pytest.mark.parametrize("link", [16, 32, 64])
def test_faults_around_a_length_field_come_in_their_order(link: int) -> None:
    words, config = link // 4, _config(2, link, 512)
    rng = random.Random(link)
    for place in range(words):
        stream, length, header = _with_field(words, place, rng.randrange(1, words))
        wrong = bytearray(stream)
        wrong[header + 4 + rng.randrange(4)] ^= 1 << rng.randrange(8)
        short, long, marked, none, early = (bytearray(each) for each in (wrong, wrong, wrong, stream, stream))
        short[header] -= 4
        long[header] += 4
        marked[header + 2] = 0x14
        none[header:header + 2] = rng.randrange(4).to_bytes(2, "little")
        early[2] |= 0x80
        # Two faults in a header: an unknown coding comes first, then the number, then the mark, then the length.
        unknown, late, unmarked = (bytearray(each) for each in (stream, early, marked))
        unknown[header + 2:header + 4] = 0x7F, unknown[header + 3] ^ 1
        late[3] ^= 1
        unmarked[header:header + 2] = 0xFF, 0xFF
        for content, fault in [
                (unknown, (Status.BAD_CODING, 1)), (late, (Status.BAD_SEQUENCE, 0)), (unmarked, (Status.BAD_CODING, 1)),
                (wrong, (Status.BAD_LENGTH, 1)),
                (wrong + rng.randbytes(4 * rng.randrange(1, 2 * words)), (Status.BAD_LENGTH, 1)),
                (stream + rng.randbytes(4 * rng.randrange(1, 2 * words)), (Status.TRAILING, 2)),
                (long, (Status.TRUNCATED, 1)),
                (marked, (Status.BAD_CODING, 1)),
                (none, (Status.BAD_LENGTH, 1)),
                (early, (Status.BAD_CODING, 0)),
                (wrong[:header + 4], (Status.TRUNCATED, 1)),
                (wrong[:header + 8], (Status.TRUNCATED, 1)),
                (wrong[:-4], (Status.TRUNCATED, 1))]:
            assert _Play(config, bytes(content), length, CODINGS["zvc32"], seed=place).fault == fault
        _Play(config, bytes(short), length, CODINGS["zvc32"], seed=place)


@pytest.mark.parametrize("count", [257, 1026, 4098])
def test_streams_of_many_blocks(count: int) -> None:
    """Only the last block is the last one, whatever the lower bits of its number."""
    stream = packed(bytes(512 * count), CODINGS["zvc32"], 512, True)
    assert _Play(_config(3, 64, 512), stream, 512 * count, CODINGS["zvc32"]).fault is None


def test_a_payload_of_the_greatest_length() -> None:
    """A raw block of 32 KiB: its length needs all bits of the header's field."""
    raw = random.Random(1).randbytes(32768)
    stream = packed(raw, CODINGS["zvc32"], 32768)
    assert len(stream) == 4 + 32768
    played = _Play(_config(1, 64, 32768, "zvc32", buffer_bytes=65536), stream, len(raw), CODINGS["zvc32"])
    assert played.fault is None


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_no_row_is_sent_of_headers_behind_a_bad_one_in_the_same_beat(link: int, lanes: int) -> None:
    for place in range(link // 4):
        stream, length, header = _with_field(link // 4, place, 100)
        # Each word of zeros looks like the header of an empty block.
        played = _Play(_config(lanes, link, 512), stream[:header] + bytes(2 * link), length + 9 * 512, CODINGS["zvc32"])
        assert played.fault == (Status.BAD_SEQUENCE, 1)


@pytest.mark.parametrize("link", [16, 64])
def test_bad_padding_comes_before_a_wrong_length_field(link: int) -> None:
    for size in range(1, 120, 7):
        stream = bytearray(packed(bytes(range(1, size + 1)), CODINGS["zvc8"], 512, False))
        stream[4] ^= 1
        for last in (0, 1):
            stream[-1] = last if size % 4 else stream[-1]
            played = _Play(_config(2, link, 512), bytes(stream), size, CODINGS["zvc8"])
            assert played.fault == (Status.BAD_PADDING if last and size % 4 else Status.BAD_LENGTH, 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("coding", ["zvc8", "zvc16", "bfloat16"])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_what_is_behind_a_cut_is_no_padding(link: int, coding: str, seed: int) -> None:
    raw = bytes(range(1, (CODINGS[coding] & 15) + 1))
    stream = packed(raw, CODINGS[coding], 512, False)[:-4]
    assert _Play(_config(2, link, 512), stream, len(raw), CODINGS[coding], seed=seed).fault == (Status.TRUNCATED, 0)


@pytest.mark.parametrize("byte", [2, 3])
@pytest.mark.parametrize("size", [4, 12, 28, 60])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_a_bad_header_in_the_last_beat_is_not_the_end_of_a_good_stream(link: int, size: int, byte: int) -> None:
    stream = bytearray(packed(bytes(range(1, size + 1)), CODINGS["zvc32"], 512))
    stream[byte] ^= 8
    assert _Play(_config(2, link, 512), bytes(stream), size, CODINGS["zvc32"]).fault is not None


@pytest.mark.parametrize("link", [16, 32, 64])
@pytest.mark.parametrize(("lanes", "pipeline"), [(1, "small"), (2, "small"), (3, "small"), (4, "small"), (1, "fast"),
                                                 (3, "fast")])
def test_a_beat_in_every_cycle(lanes: int, pipeline: str, link: int) -> None:
    """A single lane gets raw blocks without gaps; with several, only a beat with several headers takes longer."""
    for coding in (CODINGS["zvc32"], CODINGS["bfloat16"]):
        rng = random.Random(lanes * link)
        raw = activations(rng, 40 * 512, coding & 15) if lanes > 1 else rng.randbytes(40 * 512)
        stream = packed(raw, coding, 512)
        played = _Play(_config(lanes, link, 512, pipeline=pipeline), stream, len(raw), coding)
        beats = [block.offset // link for block in blocks.headers(stream, 512)]
        extra = len(beats) - len(set(beats)) if lanes > 1 else 0
        assert played.taken[-1] - played.taken[0] <= len(played.taken) - 1 + extra


@pytest.mark.parametrize("pipeline", ["small", "fast"])
def test_stopped_it_takes_all_and_hands_out_only_what_waits(pipeline: str) -> None:
    """Rows that wait for their lanes stay as they are until these take them; then it takes a beat in each cycle."""
    config = _config(2, 32, 512, pipeline=pipeline)
    stream = packed(random.Random(1).randbytes(3 * 512), CODINGS["zvc32"], 512)
    dut = Distributor(config)

    async def process(ctx: Any) -> None:
        ctx.set(dut.start.payload, {"raw_bytes": 3 * 512, "element": 4})
        ctx.set(dut.start.valid, 1)
        ctx.set(dut.i.valid, 1)
        sent, left, rows = 0, 0, []
        for cycle in range(100):
            ctx.set(dut.i.payload, {"data": int.from_bytes(stream[sent:sent + 32], "little"), "keep": -1, "last": 0})
            ctx.set(dut.stop, cycle > 24)
            sent += 32 * ctx.get(dut.i.ready)
            for lane in dut.lanes:
                ctx.set(lane.ready, cycle < 20 or cycle > 40)
            left += cycle > 40 and any(ctx.get(lane.valid) for lane in dut.lanes)
            await ctx.tick()
            if 24 < cycle < 40:
                rows.append((*(ctx.get(lane.valid) for lane in dut.lanes), ctx.get(dut.lanes[0].payload.data)))
            if cycle > 46:
                assert ctx.get(dut.i.ready) and not any(ctx.get(lane.valid) for lane in dut.lanes)
        assert rows == 15 * rows[:1] and rows[0][:2] == (1, 0)
        # In the pipeline fast there are two places in front of each lane.
        assert left == {"small": 1, "fast": 3}[pipeline]
        assert not ctx.get(dut.fault.valid)
        assert not ctx.get(dut.done)

    clocked(dut, process)
