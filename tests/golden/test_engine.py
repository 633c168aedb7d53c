"""The engine's model: transfers, every refusal and its order, faults of memories and streams, and the records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden import blocks
from golden.crc32c import crc32c
from golden.engine import Completion, Descriptor, Engine, Fault, Memory, Operation, Parameters, Response, Status
from workload.data import shipped
from workload.load import load

_BUILT = Parameters(lanes=3, block_bytes=512, beat_bytes=16, link_beat_bytes=32, address_bits=40,
                    element_bytes=(1, 2, 4))
_DEVICE, _LINK = 0x10_0000, 0x8000
_SIZE = 1 << 16


def _engine(built: Parameters = _BUILT, seed: int = 1) -> Engine:
    rng = np.random.default_rng(seed)
    return Engine(built, Memory(_DEVICE, rng.integers(0, 256, _SIZE, dtype=np.uint8)),
                  Memory(_LINK, rng.integers(0, 256, _SIZE, dtype=np.uint8)))


def _tensor(elements: int, size: int, density: float, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(1, 255, elements * size, dtype=np.uint8) * np.repeat(rng.random(elements) < density, size)


_OFFLOAD = Descriptor(operation=1, element_bytes=4, source=_DEVICE + 512, destination=_LINK + 32, raw_bytes=4000,
                      capacity=5000, tag=7)
_PREFETCH = Descriptor(operation=2, element_bytes=4, source=_LINK + 64, destination=_DEVICE + 1024, raw_bytes=4000,
                       capacity=4000, packed_bytes=800, tag=8)


def test_status_and_operation_are_those_of_the_hardware() -> None:
    from hdl.control.descriptor import Operation as HardwareOperation
    from hdl.transfer import Status as HardwareStatus

    assert {s.name: s.value for s in Status} == {s.name: s.value for s in HardwareStatus}
    assert {o.name: o.value for o in Operation} == {o.name: o.value for o in HardwareOperation}


@pytest.mark.parametrize("fallback", [True, False])
@given(elements=st.integers(1, 3000), size=st.sampled_from([1, 2, 4]), density=st.sampled_from([0, 0.1, 0.5, 0.97, 1]),
       seed=st.integers(0, 1000))
def test_there_and_back(fallback: bool, elements: int, size: int, density: float, seed: int) -> None:
    engine = _engine(seed=seed)
    raw = _tensor(elements, size, density, seed)
    engine.device.write(_OFFLOAD.source, raw)
    stream = blocks.compress(raw, size, 512, fallback)
    before = engine.link.image.copy()
    offload = replace(_OFFLOAD, element_bytes=size, raw_bytes=raw.size, capacity=stream.size, fallback=fallback)
    done = engine.run(offload)
    assert (done.status, done.tag, done.operation) == (Status.OK, 7, 1)
    assert (done.bytes_written, done.crc) == (stream.size, crc32c(stream))
    assert done.nonzero == np.count_nonzero(raw.view(f"<u{size}"))
    assert done.raw_blocks == sum(block.coding == 0 for block in blocks.headers(stream, 512))
    before[32:32 + stream.size] = stream
    assert np.array_equal(engine.link.image, before)

    target = engine.device.image.copy()
    back = Descriptor(operation=2, element_bytes=size, source=offload.destination, destination=_DEVICE + 0x8000,
                      raw_bytes=raw.size, capacity=raw.size, packed_bytes=stream.size, check_crc=True, crc=done.crc)
    again = engine.run(back)
    assert (again.status, again.bytes_written, again.crc) == (Status.OK, raw.size, done.crc)
    target[0x8000:0x8000 + raw.size] = raw
    assert np.array_equal(engine.device.image, target)
    assert engine.run(replace(back, crc=done.crc ^ 1)).status == Status.CRC_MISMATCH
    assert engine.run(replace(offload, capacity=stream.size - 1)).status == Status.DESTINATION_TOO_SMALL


def test_the_shipped_dump() -> None:
    built = replace(_BUILT, block_bytes=4096)
    for name, array in load(shipped()).items():
        raw = array.reshape(-1).view(np.uint8)
        engine = Engine(built, Memory(0, raw.copy()), Memory(0, np.zeros(raw.size + 4096, np.uint8)))
        done = engine.run(Descriptor(operation=1, element_bytes=4, source=0, destination=0, raw_bytes=raw.size,
                                     capacity=raw.size + 4096))
        assert done.nonzero == np.count_nonzero(array), name
        engine.device.image[:] = 0
        back = engine.run(Descriptor(operation=2, element_bytes=4, source=0, destination=0, raw_bytes=raw.size,
                                     capacity=raw.size, packed_bytes=done.bytes_written))
        assert back.status == Status.OK
        assert np.array_equal(engine.device.image, raw), name


_TOP = 1 << 40


@pytest.mark.parametrize(("base", "changes", "status"), [
    (_OFFLOAD, {"operation": 0}, Status.BAD_OPERATION),
    (_OFFLOAD, {"operation": 3, "element_bytes": 3}, Status.BAD_OPERATION),
    (_OFFLOAD, {"element_bytes": 3, "other_flags": 8}, Status.BAD_ELEMENT),
    (_OFFLOAD, {"element_bytes": 0}, Status.BAD_ELEMENT),
    (_OFFLOAD, {"other_flags": 8, "reserved": (1, 0, 0)}, Status.BAD_FLAGS),
    (_OFFLOAD, {"other_flags": 0x8000}, Status.BAD_FLAGS),
    (_OFFLOAD, {"check_crc": True}, Status.BAD_FLAGS),
    (_PREFETCH, {"fallback": False}, Status.BAD_FLAGS),
    (_OFFLOAD, {"reserved": (0, 0, 1), "raw_bytes": 0}, Status.BAD_RESERVED),
    (_OFFLOAD, {"raw_bytes": 0, "packed_bytes": 4}, Status.BAD_RAW_BYTES),
    (_OFFLOAD, {"raw_bytes": 4002}, Status.BAD_RAW_BYTES),
    (_OFFLOAD, {"raw_bytes": _TOP}, Status.BAD_RAW_BYTES),
    (_OFFLOAD, {"packed_bytes": 4, "source": 1}, Status.BAD_PACKED_BYTES),
    (_PREFETCH, {"packed_bytes": 0}, Status.BAD_PACKED_BYTES),
    (_PREFETCH, {"packed_bytes": 802}, Status.BAD_PACKED_BYTES),
    (_PREFETCH, {"packed_bytes": _TOP}, Status.BAD_PACKED_BYTES),
    (_OFFLOAD, {"source": _DEVICE + 256, "destination": 1}, Status.BAD_SOURCE),
    (_OFFLOAD, {"source": _TOP - 512, "raw_bytes": 516}, Status.BAD_SOURCE),
    (_OFFLOAD, {"source": 1 << 63}, Status.BAD_SOURCE),
    (_PREFETCH, {"source": _LINK + 16}, Status.BAD_SOURCE),
    (_PREFETCH, {"source": _TOP - 32, "packed_bytes": 36}, Status.BAD_SOURCE),
    (_OFFLOAD, {"destination": _LINK + 4}, Status.BAD_DESTINATION),
    (_OFFLOAD, {"capacity": _TOP}, Status.BAD_DESTINATION),
    (_OFFLOAD, {"capacity": (1 << 64) - 1}, Status.BAD_DESTINATION),
    (_PREFETCH, {"destination": _DEVICE + 32, "capacity": 0}, Status.BAD_DESTINATION),
    (_PREFETCH, {"destination": _TOP - 512}, Status.BAD_DESTINATION),
    (_PREFETCH, {"capacity": 3999}, Status.DESTINATION_TOO_SMALL),
])
def test_refusals(base: Descriptor, changes: dict[str, Any], status: Status) -> None:
    engine = _engine()
    images = engine.device.image.copy(), engine.link.image.copy()
    descriptor = replace(base, **changes)
    assert engine.refuses(descriptor)
    assert engine.outcomes(descriptor) == [Completion(tag=base.tag, status=status, operation=descriptor.operation)]
    assert np.array_equal(engine.device.image, images[0])
    assert np.array_equal(engine.link.image, images[1])


def test_what_an_engine_without_crc_or_fallback_does() -> None:
    plain = _engine(replace(_BUILT, crc=False, raw_fallback=False, element_bytes=(4,)))
    plain.device.write(_OFFLOAD.source, _tensor(1000, 4, 1.0))
    assert plain.run(replace(_PREFETCH, check_crc=True)).status == Status.BAD_FLAGS
    assert plain.run(replace(_OFFLOAD, element_bytes=2)).status == Status.BAD_ELEMENT
    done = plain.run(_OFFLOAD)
    assert (done.status, done.crc, done.raw_blocks) == (Status.OK, 0, 0)
    assert done.bytes_written == blocks.compress(_tensor(1000, 4, 1.0), 4, 512, False).size


def test_a_channel_takes_its_own_operation_only() -> None:
    engine = _engine()
    assert engine.refusal(_PREFETCH, Operation.OFFLOAD) == Completion(tag=8, status=Status.BAD_OPERATION, operation=2)
    assert engine.refusal(_OFFLOAD, Operation.OFFLOAD) is None


def test_errors_of_memories_name_lane_and_burst() -> None:
    engine = _engine()
    engine.device.write(_OFFLOAD.source, _tensor(1000, 4, 0.5))
    # Blocks 2 and 5 of the transfer are in the same lane, block 3 in another.
    at = [_OFFLOAD.source + 512 * block for block in (2, 5, 3)]
    engine.device.faults += [Fault(at[0] + 100, at[0] + 101), Fault(at[1], at[1] + 1),
                             Fault(at[2] + 511, at[2] + 512, Response.DECERR, writes=False)]
    found = engine.outcomes(_OFFLOAD)
    assert [(c.status, c.lane, c.place, c.response) for c in found] == [
        (Status.LANE_READ_ERROR, at[0] // 512 % 3, at[0], 2), (Status.LANE_READ_ERROR, at[2] // 512 % 3, at[2], 3)]

    engine = _engine()
    raw = _tensor(4000, 4, 1.0)
    engine.device.write(_OFFLOAD.source, raw)
    big = replace(_OFFLOAD, raw_bytes=raw.size, capacity=20000)
    engine.link.faults.append(Fault(_LINK + 8192, _LINK + 8193))
    assert [(c.status, c.lane, c.place) for c in engine.outcomes(big)] == [
        (Status.LINK_WRITE_ERROR, 0, _LINK + 8192)]
    small = engine.outcomes(replace(big, capacity=8100))
    assert [(c.status, c.place) for c in small] == [(Status.DESTINATION_TOO_SMALL, 8100 // 516)]


def test_errors_of_streams() -> None:
    raw = _tensor(1000, 4, 0.4)
    stream = blocks.compress(raw, 4, 512)
    asked = replace(_PREFETCH, source=_LINK, packed_bytes=stream.size)
    found = list(blocks.headers(stream, 512))

    def outcomes(changed: np.ndarray, **changes: Any) -> list[tuple[Status, int]]:
        engine = Engine(_BUILT, Memory(asked.destination, np.full(4000, 9, np.uint8)), Memory(_LINK, changed))
        completions = engine.outcomes(replace(asked, packed_bytes=changed.size, **changes))
        assert (engine.device.image == 9).all() or completions[0].status == Status.OK
        return [(c.status, c.place) for c in completions]

    def flipped(offset: int, value: int) -> np.ndarray:
        changed = stream.copy()
        changed[offset] ^= value
        return changed

    assert outcomes(stream) == [(Status.OK, 0)]
    assert outcomes(flipped(found[3].offset + 2, 1)) == [(Status.BAD_CODING, 3)]
    assert outcomes(flipped(found[3].offset + 2, 6))[0] == (Status.BAD_CODING, 3)
    assert outcomes(flipped(found[4].offset + 3, 128)) == [(Status.BAD_SEQUENCE, 4)]
    assert outcomes(flipped(found[5].offset + 1, 128)) == [(Status.BAD_LENGTH, 5)]
    assert outcomes(flipped(found[6].payload_offset, 255))[0] == (Status.BAD_PAYLOAD, 6)
    assert outcomes(stream[:-4]) == [(Status.TRUNCATED, 7)]
    assert outcomes(stream[:found[7].offset]) == [(Status.TRUNCATED, 7)]
    assert outcomes(np.append(stream, np.zeros(4, np.uint8))) == [(Status.TRAILING, 8)]
    # Two faults in blocks of different lanes, and a third behind them in the headers.
    several = flipped(found[1].payload_offset, 255)
    several[found[2].payload_offset] ^= 255
    several[found[4].payload_offset] ^= 255
    several[found[5].offset + 3] ^= 1
    assert outcomes(several) == [(Status.BAD_PAYLOAD, 1), (Status.BAD_PAYLOAD, 2), (Status.BAD_SEQUENCE, 5)]


def test_padding() -> None:
    raw = _tensor(1, 1, 1.0)
    stream = blocks.compress(raw, 1, 512)
    assert stream.size == 8
    engine = Engine(_BUILT, Memory(0, np.zeros(512, np.uint8)), Memory(0, stream))
    asked = Descriptor(operation=2, element_bytes=1, source=0, destination=0, raw_bytes=1, capacity=1, packed_bytes=8)
    assert engine.run(asked).status == Status.OK
    stream[-1] = 1
    assert engine.run(asked) == Completion(tag=0, status=Status.BAD_PADDING, operation=2)


def test_an_error_of_the_link_may_hide_what_came_before() -> None:
    raw = _tensor(4000, 4, 1.0)
    stream = blocks.compress(raw, 4, 512)
    stream[3] ^= 1
    link = Memory(0, stream, [Fault(4096, 4097)])
    engine = Engine(_BUILT, Memory(0, np.zeros(16384, np.uint8)), link)
    asked = Descriptor(operation=2, element_bytes=4, source=0, destination=0, raw_bytes=16000, capacity=16000,
                       packed_bytes=stream.size)
    assert {(c.status, c.place) for c in engine.outcomes(asked)} == {
        (Status.LINK_READ_ERROR, 4096), (Status.BAD_SEQUENCE, 0)}


def test_records() -> None:
    descriptor = replace(_PREFETCH, interrupt=True, check_crc=True, crc=0xDEADBEEF, other_flags=0x40,
                         reserved=(1, 2, 3), capacity=1 << 50)
    assert Descriptor.unpack(descriptor.pack()) == descriptor
    words = np.frombuffer(descriptor.pack(), "<u4").tolist()
    assert words[:4] == [0x0043_0402, 8, descriptor.source, 0]
    assert words[8:] == [0, 1 << 18, 800, 0, 0xDEADBEEF, 1, 2, 3]
    completion = Completion(tag=1, status=Status.LANE_READ_ERROR, operation=2, lane=5, response=3, crc=6, raw_blocks=7,
                            bytes_written=8, nonzero=9, place=10, cycles=11)
    assert Completion.unpack(completion.pack()) == replace(completion, cycles=12)
    assert np.frombuffer(completion.pack(), "<u4").tolist() == [1, 0x0203_0520, 6, 7, 8, 0, 9, 0, 11, 0, 10, 0,
                                                                0, 0, 0, 0]
    with pytest.raises(ValueError, match="64 bytes, not 3"):
        Completion.unpack(b"abc")
    with pytest.raises(ValueError, match="must be zero"):
        Completion.unpack(completion.pack()[:-1] + b"\x01")
    with pytest.raises(ValueError, match="not within"):
        _engine().run(replace(_OFFLOAD, source=0))
