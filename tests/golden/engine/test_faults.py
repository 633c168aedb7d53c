"""Transfers of the engine's model that fail: of memories, streams and capacities, and which of several faults count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden.codec import blocks
from cdma.golden.engine import (
    Completion,
    Descriptor,
    Engine,
    Fault,
    Memory,
    Operation,
    Parameters,
    Response,
    Silence,
    Status,
)
from tests.golden.engines import (
    BUILT,
    CODINGS,
    DEVICE,
    LINK,
    OFFLOAD,
    PREFETCH,
    Slow,
    engine,
    first_error,
    summary,
    tensor,
)
from tests.golden.samples import damaged

_DENSE = blocks.compress(tensor(1000, 4, 1.0), 0x14, 512)
_STREAM = blocks.compress(tensor(1000, 4, 0.4), 0x14, 512)
_BLOCKS = list(blocks.headers(_STREAM, 512))


def _prefetch(stream: np.ndarray, *faults: Fault, link: Fault | None = None) -> list[tuple[Status, int, int, int]]:
    """Right outcomes of a prefetch of 4000 bytes; the destination stays as it is unless it succeeds."""
    model = Engine(BUILT, Memory(DEVICE, np.full(4096, 9, np.uint8), faults),
                   Memory(LINK, stream.copy(), [link] if link else []))
    found = model.outcomes(replace(PREFETCH, source=LINK, destination=DEVICE, packed_bytes=stream.size))
    assert (model.device.image == 9).all() or found[0].status == Status.OK
    assert all(each.tag == 8 and each.operation == 2 for each in found)
    assert all(each.crc == each.raw_blocks == each.bytes_written == 0 for each in found if each.status != Status.OK)
    return summary(found)


def _flipped(*places: tuple[int, int]) -> np.ndarray:
    changed = _STREAM.copy()
    for offset, value in places:
        changed[offset] ^= value
    return changed


@pytest.mark.parametrize(("stream", "status", "place"), [
    (_STREAM, Status.OK, 0),
    (_flipped((_BLOCKS[3].offset + 2, 1)), Status.BAD_CODING, 3),
    (_flipped((_BLOCKS[3].offset + 2, 6)), Status.BAD_CODING, 3),
    (_flipped((_BLOCKS[0].offset + 2, 255)), Status.BAD_CODING, 0),
    (_flipped((_BLOCKS[4].offset + 3, 128)), Status.BAD_SEQUENCE, 4),
    (_flipped((_BLOCKS[5].offset + 1, 128)), Status.BAD_LENGTH, 5),
    (_flipped((_BLOCKS[2].offset + 2, 0x14)), Status.BAD_LENGTH, 2),
    (_flipped((_BLOCKS[6].payload_offset, 255)), Status.BAD_PAYLOAD, 6),
    # The last block is short: bit 7 of its coding is set, and its payload begins with its raw length.
    (_flipped((_BLOCKS[6].offset + 2, 0x80)), Status.BAD_CODING, 6),
    (_flipped((_BLOCKS[7].offset + 2, 0x80)), Status.BAD_CODING, 7),
    *((_flipped((_BLOCKS[7].payload_offset + byte, 1)), Status.BAD_LENGTH, 7) for byte in range(4)),
    (_flipped((_BLOCKS[7].payload_offset, 4)), Status.BAD_LENGTH, 7),
    (_flipped((_BLOCKS[7].payload_offset + 4, 255)), Status.BAD_PAYLOAD, 7),
    (_STREAM[:-4], Status.TRUNCATED, 7),
    (_STREAM[:_BLOCKS[7].payload_offset], Status.TRUNCATED, 7),
    (_STREAM[:_BLOCKS[7].offset], Status.TRUNCATED, 7),
    (_STREAM[:4], Status.TRUNCATED, 0),
    (np.append(_STREAM, np.zeros(4, np.uint8)), Status.TRAILING, 8),
    (np.append(_STREAM, _STREAM), Status.TRAILING, 8),
    # Of one block the header comes first, then its end; of several blocks, the first.
    (_flipped((_BLOCKS[3].offset + 2, 1), (_BLOCKS[3].offset + 3, 1)), Status.BAD_CODING, 3),
    (_flipped((_BLOCKS[3].offset + 1, 128), (_BLOCKS[3].offset + 3, 1)), Status.BAD_SEQUENCE, 3),
    (_flipped((_BLOCKS[7].offset + 2, 0x80), (_BLOCKS[7].offset + 3, 1)), Status.BAD_SEQUENCE, 7),
    (_flipped((_BLOCKS[7].offset + 2, 0x80), (_BLOCKS[7].offset + 1, 128)), Status.BAD_CODING, 7),
    (_flipped((_BLOCKS[7].payload_offset, 255))[:-4], Status.TRUNCATED, 7),
    (_flipped((_BLOCKS[7].payload_offset + 4, 255))[:-4], Status.TRUNCATED, 7),
    (_flipped((_BLOCKS[7].payload_offset, 255), (_BLOCKS[7].payload_offset + 4, 255)), Status.BAD_LENGTH, 7),
    (np.append(_flipped((_BLOCKS[7].payload_offset, 255)), np.zeros(4, np.uint8)), Status.BAD_LENGTH, 7),
    (_flipped((_BLOCKS[1].payload_offset, 255), (_BLOCKS[2].payload_offset, 255), (_BLOCKS[5].offset + 3, 1)),
     Status.BAD_PAYLOAD, 1),
    (np.append(_flipped((_BLOCKS[7].payload_offset + 4, 255)), np.zeros(4, np.uint8)), Status.BAD_PAYLOAD, 7),
])
def test_malformed_streams(stream: np.ndarray, status: Status, place: int) -> None:
    assert _prefetch(stream) == [(status, 0, 0, place)]


def test_padding() -> None:
    stream = blocks.compress(np.full(1, 5, np.uint8), 0x11, 512)
    model = Engine(BUILT, Memory(0, np.zeros(512, np.uint8)), Memory(0, stream))
    asked = Descriptor(operation=2, coding=0x11, source=0, destination=0, raw_bytes=1, capacity=1, packed_bytes=8)
    assert model.run(asked).status == Status.OK
    stream[-1] = 1
    assert model.run(asked) == Completion(tag=0, status=Status.BAD_PADDING, operation=2)


def test_a_badly_padded_block_may_have_gone_to_its_lane() -> None:
    raw = tensor(4000, 1, 0.5)
    stream = blocks.compress(raw, 0x11, 512)
    number, block = next((number, each) for number, each in enumerate(blocks.headers(stream, 512))
                         if number > 0 and each.payload_bytes % 4)
    stream[block.end - 1] = 1
    at = DEVICE + 512 * number
    model = Engine(BUILT, Memory(DEVICE, np.zeros(4096, np.uint8), [Fault(at, DEVICE + 4096)]), Memory(LINK, stream))
    asked = replace(PREFETCH, coding=0x11, source=LINK, destination=DEVICE, packed_bytes=stream.size)
    assert set(summary(model.outcomes(asked))) == {(Status.BAD_PADDING, 0, 0, number),
                                                   (Status.LANE_WRITE_ERROR, at // 512 % 3, 2, at)}


def test_a_block_with_a_wrong_length_field_may_have_gone_to_its_lane() -> None:
    wrong = _flipped((_BLOCKS[7].payload_offset, 4))
    at = DEVICE + 512 * 7
    assert set(_prefetch(wrong, Fault(at, DEVICE + 4096))) == {(Status.BAD_LENGTH, 0, 0, 7),
                                                               (Status.LANE_WRITE_ERROR, at // 512 % 3, 2, at)}


@pytest.mark.parametrize("coding", [0x22, 0x24])
@pytest.mark.parametrize("header", [0x80, 0x40, 0x07, 0xEF, 0x10])
def test_faults_of_exponents_that_are_in_no_line(coding: int, header: int) -> None:
    """A block of zeros is line headers alone: a header that claims facts, a tag or data makes it too short."""
    stream = blocks.compress(np.zeros(1024, np.uint8), coding, 512)
    stream[12] = header
    model = Engine(BUILT, Memory(0, np.zeros(1024, np.uint8)), Memory(0, stream))
    asked = Descriptor(operation=2, coding=coding, source=0, destination=0, raw_bytes=1024, capacity=1024,
                       packed_bytes=16)
    assert summary(model.outcomes(asked)) == [(Status.BAD_PAYLOAD, 0, 0, 1)]


def test_every_other_fault_comes_before_the_crc() -> None:
    stream = _flipped((_BLOCKS[6].payload_offset, 255))
    model = Engine(BUILT, Memory(DEVICE, np.zeros(4096, np.uint8)), Memory(LINK, stream))
    asked = replace(PREFETCH, source=LINK, destination=DEVICE, packed_bytes=stream.size, check_crc=True)
    assert summary(model.outcomes(asked)) == [(Status.BAD_PAYLOAD, 0, 0, 6)]
    model.link.image[:] = _STREAM
    model.device.faults.append(Fault(DEVICE, DEVICE + 1))
    assert summary(model.outcomes(asked)) == [(Status.LANE_WRITE_ERROR, DEVICE // 512 % 3, 2, DEVICE)]


def test_lengths_that_a_short_stream_does_not_have() -> None:
    """Work and memory follow from what is there, not from what a descriptor claims."""
    model = Engine(BUILT, Memory(0, np.zeros(512, np.uint8), [Fault(0, 1 << 40)]), Memory(0, _STREAM.copy()))
    asked = Descriptor(operation=2, coding=0x14, source=0, destination=0, raw_bytes=(1 << 40) - 4,
                       capacity=1 << 40, packed_bytes=512)
    cut = sum(block.end <= 512 for block in _BLOCKS)
    assert set(summary(model.outcomes(asked))) == {
        *((Status.LANE_WRITE_ERROR, block, 2, 512 * block) for block in range(cut + 1)), (Status.TRUNCATED, 0, 0, cut)}


@pytest.mark.parametrize("block", range(8))
@pytest.mark.parametrize("short", [1, 4, 515])
def test_a_capacity_that_ends_in_any_block(block: int, short: int) -> None:
    model = engine()
    model.device.write(OFFLOAD.source, tensor(1000, 4, 1.0))
    ends = [each.end for each in blocks.headers(_DENSE, 512)]
    before = model.link.image.copy()
    capacity = ends[block] - short
    assert model.outcomes(replace(OFFLOAD, capacity=capacity)) == [
        Completion(tag=7, status=Status.DESTINATION_TOO_SMALL, operation=1,
                   place=next(number for number, end in enumerate(ends) if end > capacity))]
    assert np.array_equal(model.link.image, before)
    assert model.run(replace(OFFLOAD, capacity=0)).place == 0


def test_errors_name_lane_and_burst() -> None:
    model = engine()
    model.device.write(OFFLOAD.source, tensor(1000, 4, 0.5))
    # Blocks 2 and 5 of the transfer are in the same lane, block 3 in another.
    at = [OFFLOAD.source + 512 * block for block in (2, 5, 3)]
    model.device.faults += [Fault(at[0] + 100, at[0] + 101), Fault(at[1], at[1] + 1),
                            Fault(at[2] + 511, at[2] + 512, Response.DECERR, writes=False)]
    assert summary(model.outcomes(OFFLOAD)) == [
        (Status.LANE_READ_ERROR, at[0] // 512 % 3, 2, at[0]), (Status.LANE_READ_ERROR, at[2] // 512 % 3, 3, at[2])]
    # What is before the first of them may not fit, nor be taken by the link.
    assert summary(model.outcomes(replace(OFFLOAD, capacity=4)))[0] == (Status.DESTINATION_TOO_SMALL, 0, 0, 0)
    model.link.faults.append(Fault(LINK + 64, LINK + 65))
    assert summary(model.outcomes(OFFLOAD))[0] == (Status.LINK_WRITE_ERROR, 0, 2, LINK + 32)
    assert [each[0] for each in summary(model.outcomes(replace(OFFLOAD, capacity=400)))] == [
        Status.LINK_WRITE_ERROR, Status.DESTINATION_TOO_SMALL, Status.LANE_READ_ERROR, Status.LANE_READ_ERROR]


def test_errors_of_the_link_while_writing() -> None:
    model = engine()
    model.device.write(OFFLOAD.source, tensor(4000, 4, 1.0))
    big = replace(OFFLOAD, raw_bytes=16000, capacity=20000)
    model.link.faults.append(Fault(LINK + 8200, LINK + 8201))
    assert summary(model.outcomes(big)) == [(Status.LINK_WRITE_ERROR, 0, 2, LINK + 8192)]
    # What does not fit is not written, so it cannot fail.
    small = replace(big, capacity=8100)
    assert summary(model.outcomes(small)) == [(Status.DESTINATION_TOO_SMALL, 0, 0, 8100 // 516)]
    model.link.faults.append(Fault(LINK + 4095, LINK + 4096, Response.DECERR))
    assert summary(model.outcomes(small)) == [
        (Status.LINK_WRITE_ERROR, 0, 3, LINK + 32), (Status.DESTINATION_TOO_SMALL, 0, 0, 8100 // 516)]


def test_errors_of_the_link_while_reading() -> None:
    end = _BLOCKS[4].end
    beat = LINK + end // 32 * 32
    fault = Fault(beat + 31, beat + 32, Response.DECERR)
    error = (Status.LINK_READ_ERROR, 0, 3, LINK)
    assert _prefetch(_STREAM, link=fault) == [error]
    assert _prefetch(_flipped((2, 7)), link=fault) == [(Status.BAD_CODING, 0, 0, 0), error]
    assert _prefetch(_flipped((_BLOCKS[3].payload_offset, 255)), link=fault) == [(Status.BAD_PAYLOAD, 0, 0, 3), error]
    # What is behind it cannot be known.
    assert _prefetch(_flipped((_BLOCKS[5].offset + 3, 1)), link=fault) == [error]
    # A lane may fail with what came before.
    lane = Fault(DEVICE + 1024, DEVICE + 1025)
    assert _prefetch(_STREAM, lane, Fault(DEVICE + 3500, DEVICE + 3600), link=fault) == [
        (Status.LANE_WRITE_ERROR, lane.start // 512 % 3, 2, lane.start), error]
    # Behind the end there may be more, and then an error.
    more = np.append(_STREAM, np.zeros(4096, np.uint8))
    assert _prefetch(more, link=Fault(LINK + more.size - 4, LINK + more.size)) == [
        (Status.TRAILING, 0, 0, 8), (Status.LINK_READ_ERROR, 0, 2, LINK + 4096)]


def test_errors_of_lanes_behind_a_fault_of_the_stream() -> None:
    every = Fault(DEVICE, DEVICE + 4096)
    lanes = [(Status.LANE_WRITE_ERROR, (DEVICE // 512 + block) % 3, 2, DEVICE + 512 * block) for block in range(3)]
    # A bad header goes to no lane, a block that is cut off may.
    assert _prefetch(_flipped((_BLOCKS[2].offset + 3, 1)), every) == [*lanes[:2], (Status.BAD_SEQUENCE, 0, 0, 2)]
    assert set(_prefetch(_STREAM[:_BLOCKS[2].end - 4], every)) == {*lanes, (Status.TRUNCATED, 0, 0, 2)}
    # The lane with bad lines stops there, others go on.
    behind = Fault(DEVICE + 1024, DEVICE + 4096)
    bad = (Status.BAD_PAYLOAD, 0, 0, 1)
    assert set(_prefetch(_flipped((_BLOCKS[1].payload_offset, 255)), behind)) == {
        bad, lanes[2], (Status.LANE_WRITE_ERROR, (DEVICE // 512 + 3) % 3, 2, DEVICE + 1536)}


@st.composite
def _faults(draw: st.DrawFn, base: int, size: int) -> list[Fault]:
    found = []
    for _ in range(draw(st.integers(0, 3))):
        start = base + draw(st.integers(-100, size + 100))
        found.append(Fault(start, start + draw(st.sampled_from([0, 1, 15, 16, 600, 5000])),
                           draw(st.sampled_from(list(Response))), draw(st.booleans()), draw(st.booleans())))
    return found


@given(faults=_faults(0x3000, 9000), beats=st.integers(0, 300), beat=st.sampled_from([16, 32, 64]),
       less=st.integers(0, 15), page=st.integers(0, 260), write=st.booleans(),
       most=st.sampled_from([16, 64, 256]))
def test_bursts_as_the_slow_model_has_them(faults: list[Fault], beats: int, beat: int, less: int, page: int,
                                           write: bool, most: int) -> None:
    address, size = 0x3000 + page * beat, max(beats * beat - less, 0)
    error = Memory(0, np.zeros(1, np.uint8), faults).error(address, size, beat, write=write, most_beats=most)
    slow = first_error(faults, address, size, beat, write, most)
    assert (error and (error.address, error.beat, error.response)) == slow


_SHAPES = st.builds(
    Parameters, lanes=st.integers(1, 5), block_bytes=st.sampled_from([512, 1024]),
    beat_bytes=st.sampled_from([16, 32, 64]), link_beat_bytes=st.sampled_from([16, 32, 64]), address_bits=st.just(32),
    codings=st.just(BUILT.codings), burst_beats=st.sampled_from([16, 32, 256]))


_CODES = st.sampled_from([*((coding, 0) for coding in CODINGS), (0x12, 1), (0x22, 1), (0x12, 2)])
"""Coding and narrowing."""


def _shape(data: st.DataObject, form: int) -> Parameters:
    """An engine that can do it."""
    built = data.draw(_SHAPES)
    return replace(built, block_bytes=2 * built.block_bytes, narrowing=True) if form else built


def _compared(model: Engine, asked: Descriptor) -> None:
    assert model.refusal(asked) is None
    images = model.device.image.copy(), model.link.image.copy()
    slow = Slow(model.parameters, Memory(DEVICE, images[0], model.device.faults),
                Memory(LINK, images[1], model.link.faults))
    found = model.outcomes(asked)
    assert len(set(summary(found))) == len(found)
    assert (set(summary(found)) if found[0].status != Status.OK else set()) == slow.outcomes(asked)
    if found[0].status != Status.OK:
        assert np.array_equal(model.device.image, images[0])
        assert np.array_equal(model.link.image, images[1])


@given(data=st.data(), code=_CODES, seed=st.integers(0, 1000), density=st.sampled_from([0, 0.3, 0.6, 1]),
       raw_blocks=st.sampled_from(["fallback", "none", "all"]))
@settings(max_examples=150)
def test_offloads_as_the_slow_model_has_them(data: st.DataObject, code: tuple[int, int], seed: int, density: float,
                                             raw_blocks: str) -> None:
    coding, form = code
    size = coding & 15
    built = _shape(data, form)
    model = engine(built)
    raw = tensor(data.draw(st.integers(1, 8000 // size)), 4 if form else size, density, seed)
    source = DEVICE + built.block_bytes * data.draw(st.integers(0, 5))
    destination = LINK + built.link_beat_bytes * data.draw(st.integers(0, 130))
    model.device.write(source, raw)
    model.device.faults = data.draw(_faults(source, raw.size))
    model.link.faults = data.draw(_faults(destination, 9000))
    _compared(model, Descriptor(operation=1, coding=coding, source=source, destination=destination,
                                raw_bytes=raw.size, fallback=raw_blocks != "none", narrow=form,
                                leave_raw=raw_blocks == "all",
                                capacity=data.draw(st.sampled_from([20000]) | st.integers(0, 9000))))


@given(data=st.data(), code=_CODES, seed=st.integers(0, 1000), density=st.sampled_from([0, 0.3, 0.6, 1]),
       broken=st.booleans(), fallback=st.booleans())
@settings(max_examples=250)
def test_prefetches_as_the_slow_model_has_them(data: st.DataObject, code: tuple[int, int], seed: int, density: float,
                                               broken: bool, fallback: bool) -> None:
    coding, form = code
    size = coding & 15
    built = _shape(data, form)
    model = engine(built)
    coded = tensor(data.draw(st.integers(1, 8000 // size)), size, density, seed)
    raw_bytes = coded.size * (2 if form else 1)
    stream = blocks.compress(coded, coding, built.block_bytes // (2 if form else 1), fallback).tobytes()
    if broken:
        stream = data.draw(damaged(stream))
        stream = stream[:len(stream) // 4 * 4] or bytes(4)
    source = LINK + built.link_beat_bytes * data.draw(st.integers(0, 130))
    destination = DEVICE + built.block_bytes * data.draw(st.integers(0, 5))
    model.link.write(source, np.frombuffer(stream, np.uint8))
    model.link.faults = data.draw(_faults(source, len(stream)))
    model.device.faults = data.draw(_faults(destination, raw_bytes))
    _compared(model, Descriptor(operation=2, coding=coding, source=source, destination=destination, narrow=form,
                                raw_bytes=raw_bytes, capacity=raw_bytes, packed_bytes=len(stream)))


_PORTS = [Silence(Status.LANE_READ_TIMEOUT, 2), Silence(Status.LANE_WRITE_TIMEOUT, 1),
          Silence(Status.LINK_READ_TIMEOUT), Silence(Status.LINK_WRITE_TIMEOUT)]


@pytest.mark.parametrize(("asked", "wanted"), [
    (OFFLOAD, [(Status.LANE_READ_TIMEOUT, 2, 0, 0), (Status.LINK_WRITE_TIMEOUT, 0, 0, 0)]),
    (PREFETCH, [(Status.LANE_WRITE_TIMEOUT, 1, 0, 0), (Status.LINK_READ_TIMEOUT, 0, 0, 0)])])
def test_silent_ports_may_end_a_transfer_of_their_direction(
        asked: Descriptor, wanted: list[tuple[Status, int, int, int]]) -> None:
    """Beside what is right without them: a port may fall silent when the transfer is done already."""
    right = summary(engine().outcomes(asked))
    assert summary(replace(engine(), silent=frozenset(_PORTS)).outcomes(asked)) == right + wanted


def test_entries_of_rings_on_a_silent_link() -> None:
    for port in _PORTS:
        model = replace(engine(), silent=frozenset([port]))
        found = model.fetch(LINK + 64)
        assert (found == Completion(tag=0, status=Status.DESCRIPTOR_READ_TIMEOUT, operation=0, place=LINK + 64)) == (
            port.status is Status.LINK_READ_TIMEOUT)


def test_a_silent_port_has_the_status_of_a_port() -> None:
    with pytest.raises(ValueError, match=r"one of LANE_READ_TIMEOUT, .*LINK_READ_TIMEOUT, not <Status.ABORTED"):
        Silence(Status.ABORTED)


def test_errors_of_buffers() -> None:
    """A transfer may meet an error in a lane of its direction; the memories are then not those of the model."""
    model = replace(engine(), spoiled=frozenset({
        (Operation.OFFLOAD, 2), (Operation.OFFLOAD, 0), (Operation.PREFETCH, 1)}))
    good, *others = model.outcomes(OFFLOAD)
    assert good.status is Status.OK
    assert others == [Completion(tag=OFFLOAD.tag, status=Status.BUFFER_PARITY, operation=1, lane=lane)
                      for lane in (0, 2)]
    # A descriptor that is refused touches no buffer.
    assert [each.status for each in model.outcomes(replace(OFFLOAD, raw_bytes=0))] == [Status.BAD_RAW_BYTES]
