"""The distributor against the golden model: every block comes to its lane, and every fault has its name."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.distributor import Distributor
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import clocked
from tests.hdl.engine.link.distributor_bench import DistributorBench, distributor_config
from tests.hdl.engine.link.streams import activations, damage, packed


def _random(rng: random.Random) -> tuple[EngineConfig, int, bytes, bytes, dict[str, Any]]:
    """A configuration, a coding, raw bytes, their stream, and how it is to be played."""
    built = rng.choice([["zvc8"], ["zvc32"], ["zvc8", "zvc16", "zvc32"], ["zvc16", "bfloat16"], ["zvc32", "float32"],
                        [*CODINGS], [*CODINGS]])
    narrowing = "zvc16" in built and rng.random() < 0.5
    name = rng.choice(built)
    narrow = 0
    if narrowing and name in ("zvc16", "bfloat16"):
        narrow = rng.choice([0, 1, 2] if name == "zvc16" else [0, 1])
    coding = CODINGS[name]
    element = coding & 15
    config = distributor_config(
        rng.randrange(1, 7), rng.choice([16, 32, 64]),
        rng.choice([1024, 4096] if narrowing else [512, 512, 1024, 4096]), *built, narrowing=narrowing)
    size = config.block_bytes // (2 if narrow else 1)
    length = element * rng.randrange(1, 5 * size // element)
    if rng.random() < 0.2:
        length = max(1, length // size) * size
    raw = activations(rng, length, element)
    speed = rng.choice([(1.0, 1.0), (1.0, 0.6), (0.5, 1.0), (0.7, 0.7)])
    options = {"narrow": narrow, "first_lane": rng.randrange(config.lanes), "busy": speed[0], "willing": speed[1],
               "seed": rng.getrandbits(32)}
    return config, coding, raw, packed(raw, coding, size, rng.random() < 0.5), options


@pytest.mark.parametrize("seed", range(15))
def test_every_block_reaches_its_lane(seed: int) -> None:
    config, coding, raw, stream, options = _random(random.Random(f"whole {seed}"))
    played = DistributorBench(config, stream, len(raw), coding, **options).run()
    assert played.fault is None
    played.check()


@pytest.mark.parametrize("seed", range(60))
def test_every_fault_is_named(seed: int) -> None:
    rng = random.Random(f"damaged {seed}")
    config, coding, raw, stream, options = _random(rng)
    size = config.block_bytes // (2 if options["narrow"] else 1)
    DistributorBench(config, damage(rng, stream, size), len(raw), coding, **options).run().check()


def _with_field(words: int, place: int, elements: int) -> tuple[bytes, int]:
    """A stream of two blocks of zvc32 in blocks of 512 bytes, and its raw length: the header of the second block is at
    that place of a beat; the block is short and has so many elements that are not zero, and one that is."""
    # The first block: header, four tags, and elements.
    first = [1] * ((place - 5) % words) + [0] * 128
    raw = b"".join(value.to_bytes(4, "little") for value in [*first[:128], *range(1, elements + 1), 0])
    stream = packed(raw, CODINGS["zvc32"], 512, False)
    assert [block.offset // 4 % words for block in blocks.headers(stream, 512)] == [0, place]
    return stream, len(raw)


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_a_length_field_at_every_place_of_a_beat(link: int, lanes: int) -> None:
    words, config = link // 4, distributor_config(lanes, link, 512)
    rng = random.Random(f"{link} {lanes}")
    for place in range(words):
        # The payload ends with the beat, in it, and in the next one.
        for elements in {1, (words - place - 4) % words or words, rng.randrange(1, 60)}:
            stream, length = _with_field(words, place, elements)
            played = DistributorBench(config, stream, length, CODINGS["zvc32"], willing=rng.choice([1.0, 0.6]),
                                      seed=place).run()
            assert played.fault is None
            played.check()


@pytest.mark.parametrize("link", [16, 32, 64])
def test_faults_around_a_length_field_come_in_their_order(link: int) -> None:
    words, config = link // 4, distributor_config(2, link, 512)
    rng = random.Random(link)
    for place in range(words):
        stream, length = _with_field(words, place, rng.randrange(1, words))
        header = [block.offset for block in blocks.headers(stream, 512)][-1]
        wrong = bytearray(stream)
        wrong[header + 4 + rng.randrange(4)] ^= 1 << rng.randrange(8)
        short, long = bytearray(wrong), bytearray(wrong)
        short[header] -= 4
        long[header] += 4
        marked, none, early = bytearray(wrong), bytearray(stream), bytearray(stream)
        marked[header + 2] = 0x14
        none[header:header + 2] = rng.randrange(4).to_bytes(2, "little")
        early[2] |= 0x80
        cases = [
            (wrong, Status.BAD_LENGTH, 1),
            (wrong + rng.randbytes(4 * rng.randrange(1, 2 * words)), Status.BAD_LENGTH, 1),
            (stream + rng.randbytes(4 * rng.randrange(1, 2 * words)), Status.TRAILING, 2),
            (long, Status.TRUNCATED, 1),
            (marked, Status.BAD_CODING, 1),
            (none, Status.BAD_LENGTH, 1),
            (early, Status.BAD_CODING, 0),
            (wrong[:header + 4], Status.TRUNCATED, 1),
            (wrong[:header + 8], Status.TRUNCATED, 1),
            (wrong[:-4], Status.TRUNCATED, 1),
        ]
        for content, status, block in cases:
            played = DistributorBench(config, bytes(content), length, CODINGS["zvc32"], seed=place).run()
            assert played.fault == (status, block)
            played.check()
        DistributorBench(config, bytes(short), length, CODINGS["zvc32"], seed=place).run().check()


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_no_row_is_sent_of_headers_behind_a_bad_one_in_the_same_beat(link: int, lanes: int) -> None:
    for place in range(link // 4):
        stream, length = _with_field(link // 4, place, 100)
        header = [block.offset for block in blocks.headers(stream, 512)][-1]
        # Each word of zeros looks like the header of an empty block.
        played = DistributorBench(distributor_config(lanes, link, 512), stream[:header] + bytes(2 * link),
                                  length + 9 * 512, CODINGS["zvc32"]).run()
        assert played.fault == (Status.BAD_SEQUENCE, 1)
        played.check()


@pytest.mark.parametrize("link", [16, 64])
def test_bad_padding_comes_before_a_wrong_length_field(link: int) -> None:
    config = distributor_config(2, link, 512)
    for size in range(1, 120, 7):
        raw = bytes(range(1, size + 1))
        stream = bytearray(packed(raw, CODINGS["zvc8"], 512, False))
        stream[4] ^= 1
        for last in (0, 1):
            stream[-1] = last if size % 4 else stream[-1]
            played = DistributorBench(config, bytes(stream), size, CODINGS["zvc8"]).run()
            assert played.fault == (Status.BAD_PADDING if last and size % 4 else Status.BAD_LENGTH, 0)
            played.check()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("coding", ["zvc8", "zvc16", "bfloat16"])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_what_is_behind_a_cut_is_no_padding(link: int, coding: str, seed: int) -> None:
    config = distributor_config(2, link, 512)
    raw = bytes(range(1, (CODINGS[coding] & 15) + 1))
    stream = packed(raw, CODINGS[coding], 512, False)
    played = DistributorBench(config, stream[:-4], len(raw), CODINGS[coding], seed=seed).run()
    played.check()
    assert played.fault == (Status.TRUNCATED, 0)


@pytest.mark.parametrize("byte", [2, 3])
@pytest.mark.parametrize("size", [4, 12, 28, 60])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_a_bad_header_in_the_last_beat_is_not_the_end_of_a_good_stream(link: int, size: int, byte: int) -> None:
    config = distributor_config(2, link, 512)
    raw = bytes(range(1, size + 1))
    stream = bytearray(packed(raw, CODINGS["zvc32"], 512))
    stream[byte] ^= 8
    played = DistributorBench(config, bytes(stream), len(raw), CODINGS["zvc32"]).run()
    played.check()
    assert played.fault is not None


@pytest.mark.parametrize("link", [16, 32, 64])
@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_a_beat_in_every_cycle(lanes: int, link: int) -> None:
    config = distributor_config(lanes, link, 512)
    for coding in (CODINGS["zvc32"], CODINGS["bfloat16"]):
        raw = activations(random.Random(lanes * link), 40 * 512, coding & 15)
        played = DistributorBench(config, packed(raw, coding, 512), len(raw), coding).run()
        played.check()
        beats = [block.offset // link for block in blocks.headers(played.stream, 512)]
        # Only a beat with several headers takes longer.
        assert played.taken[-1] - played.taken[0] <= len(played.taken) - 1 + len(beats) - len(set(beats))


@pytest.mark.parametrize("link", [16, 64])
def test_a_single_lane_gets_raw_blocks_without_gaps(link: int) -> None:
    config = distributor_config(1, link, 512)
    raw = random.Random(link).randbytes(40 * 512)
    played = DistributorBench(config, packed(raw, CODINGS["zvc32"], 512), len(raw), CODINGS["zvc32"]).run()
    played.check()
    assert played.taken[-1] - played.taken[0] == len(played.taken) - 1


def test_stopped_it_takes_all_and_hands_out_nothing() -> None:
    config = distributor_config(2, 32, 512)
    raw = random.Random(1).randbytes(3 * 512)
    stream = packed(raw, CODINGS["zvc32"], 512)
    dut = Distributor(config)

    async def process(ctx: Any) -> None:
        ctx.set(dut.start.payload, {"raw_bytes": len(raw), "element": 4})
        ctx.set(dut.start.valid, 1)
        ctx.set(dut.i.valid, 1)
        sent = 0
        for cycle in range(100):
            ctx.set(dut.i.payload, {"data": int.from_bytes(stream[sent:sent + 32], "little"), "keep": -1, "last": 0})
            ctx.set(dut.stop, cycle > 20)
            sent += 32 * ctx.get(dut.i.ready)
            for lane in dut.lanes:
                ctx.set(lane.ready, cycle < 20)
            await ctx.tick()
            if cycle > 20:
                assert ctx.get(dut.i.ready)
                assert not any(ctx.get(lane.valid) for lane in dut.lanes)
        assert not ctx.get(dut.fault.valid)
        assert not ctx.get(dut.done)

    clocked(dut, process)
