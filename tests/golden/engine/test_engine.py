"""Transfers of the engine's model: there and back, what completions count, and nothing written beside a destination."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Completion, Descriptor, Engine, Memory, Operation, Status
from cdma.golden.reference import blocks as reference
from cdma.golden.reference.lines import elements_of
from cdma.golden.reference.narrowing import narrowed, widened
from cdma.workload.data import shipped
from cdma.workload.dumps import load
from tests.golden.engines import BUILT, CODINGS, DEVICE, LINK, NARROWING, OFFLOAD, PREFETCH, engine, tensor


def moved(model: Engine, raw: np.ndarray, coded: bytes, restored: np.ndarray, coding: int, **asked: Any) -> None:
    """The stream is the format's of these coded bytes, and not a byte beside either destination changes."""
    offload = replace(OFFLOAD, coding=coding, raw_bytes=raw.size, **asked)
    model.device.write(offload.source, raw)
    stream = np.frombuffer(reference.compress_blocks(coded, coding, 512, offload.fallback, offload.leave_raw), np.uint8)
    link, device = model.link.image.copy(), model.device.image.copy()
    done = model.run(replace(offload, capacity=stream.size))
    assert done == Completion(
        tag=7, status=Status.OK, operation=1, crc=reference.crc(stream.tobytes()), bytes_written=stream.size,
        nonzero=sum(any(each) for each in elements_of(coded, coding & 15)),
        raw_blocks=sum(block.coding == 0 for block in blocks.headers(stream, 512)))
    link[32:32 + stream.size] = stream
    assert np.array_equal(model.link.image, link)
    assert np.array_equal(model.device.image, device)
    back = Descriptor(operation=2, coding=coding, narrow=offload.narrow, source=offload.destination,
                      destination=DEVICE + 0x8000, raw_bytes=raw.size, capacity=raw.size, packed_bytes=stream.size,
                      check_crc=True, crc=done.crc)
    for wrong in (1, 1 << 31):
        assert model.outcomes(replace(back, crc=done.crc ^ wrong)) == [
            Completion(tag=0, status=Status.CRC_MISMATCH, operation=2, crc=done.crc)]
    assert np.array_equal(model.device.image, device)
    assert model.run(back) == Completion(tag=0, status=Status.OK, operation=2, bytes_written=raw.size, crc=done.crc,
                                         raw_blocks=done.raw_blocks)
    device[0x8000:0x8000 + raw.size] = restored
    assert np.array_equal(model.device.image, device)
    assert np.array_equal(model.link.image, link)


DENSITIES = st.sampled_from([0, 0.1, 0.5, 0.97, 1])


@pytest.mark.parametrize("fallback", [True, False])
@given(elements=st.integers(1, 1500), coding=st.sampled_from(CODINGS), density=DENSITIES, seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_there_and_back(fallback: bool, elements: int, coding: int, density: float, seed: int) -> None:
    raw = tensor(elements, coding & 15, density, seed)
    moved(engine(seed=seed), raw, raw.tobytes(), raw, coding, fallback=fallback)


@pytest.mark.parametrize(("form", "coding"), [(1, 0x12), (2, 0x12), (1, 0x22)])
@given(elements=st.integers(1, 700), density=DENSITIES, leave_raw=st.booleans(), seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_narrowed_there_and_back(form: int, coding: int, elements: int, density: float, leave_raw: bool,
                                 seed: int) -> None:
    """The stream is that of the rounded values in blocks of half the length; what comes back is rounded, no more."""
    raw = tensor(elements, 4, density, seed)
    codes = [narrowed(int(bits), form) for bits in raw.view("<u4")]
    wide = np.array([widened(code, form) for code in codes], "<u4")
    moved(engine(NARROWING, seed=seed), raw, np.array(codes, "<u2").tobytes(), wide.view(np.uint8), coding,
          source=OFFLOAD.source + 512, narrow=form, leave_raw=leave_raw)


@pytest.mark.parametrize("coding", CODINGS)
def test_the_shipped_dump_there_and_back(coding: int) -> None:
    built = replace(BUILT, block_bytes=4096)
    for name, array in load(shipped()).items():
        raw = array.reshape(-1).view(np.uint8)
        room = raw.size + 4 * (raw.size // 4096 + 1)
        model = Engine(built, Memory(0, raw.copy()), Memory(0, np.zeros(room, np.uint8)))
        done = model.run(Descriptor(operation=1, coding=coding, source=0, destination=0, raw_bytes=raw.size,
                                    capacity=room))
        assert done.nonzero == np.count_nonzero(raw.view(f"<u{coding & 15}")), name
        assert done.bytes_written == blocks.compress(array, coding).size, name
        model.device.image[:] = 0
        back = model.run(Descriptor(operation=2, coding=coding, source=0, destination=0, raw_bytes=raw.size,
                                    capacity=raw.size, packed_bytes=done.bytes_written, check_crc=True, crc=done.crc))
        assert back == Completion(tag=0, status=Status.OK, operation=2, crc=done.crc, bytes_written=raw.size,
                                  raw_blocks=done.raw_blocks), name
        assert np.array_equal(model.device.image, raw), name


def test_layers_offloaded_in_order_come_back_in_reverse() -> None:
    """As a training step moves them: each to where the one before it ended, at the next beat."""
    model = engine()
    places = [DEVICE + 4096 * number for number in range(6)]
    layers = [tensor(1000 - 30 * number, 4, number / 6, number) for number in range(6)]
    done: list[tuple[int, Completion]] = []
    at = LINK
    for place, layer in zip(places, layers, strict=True):
        model.device.write(place, layer)
        done.append((at, model.run(replace(OFFLOAD, source=place, destination=at, raw_bytes=layer.size))))
        at += -(-done[-1][1].bytes_written // 32) * 32
    model.device.image[:] = 0
    for place, layer, (source, completion) in reversed(list(zip(places, layers, done, strict=True))):
        assert model.run(replace(PREFETCH, source=source, destination=place, raw_bytes=layer.size,
                                 packed_bytes=completion.bytes_written)).status == Status.OK
        assert np.array_equal(model.device.read(place, layer.size), layer)


def test_an_engine_without_crc() -> None:
    plain = engine(replace(BUILT, crc=False, codings=(Coding.ZVC32,)))
    raw = tensor(1000, 4, 1.0)
    plain.device.write(OFFLOAD.source, raw)
    for fallback in (True, False):
        stream = blocks.compress(raw, Coding.ZVC32, 512, fallback)
        done = plain.run(replace(OFFLOAD, fallback=fallback))
        assert done == Completion(tag=7, status=Status.OK, operation=1, bytes_written=stream.size, nonzero=1000,
                                  raw_blocks=8 * fallback)
    other = blocks.compress(raw, Coding.ZVC32, 512)
    plain.link.write(PREFETCH.source, other)
    back = plain.run(replace(PREFETCH, packed_bytes=other.size))
    assert back == Completion(tag=8, status=Status.OK, operation=2, bytes_written=4000, raw_blocks=8)
    assert np.array_equal(plain.device.read(PREFETCH.destination, 4000), raw)


def test_tensors_of_many_blocks() -> None:
    """More blocks than the model looks at in one go, and sequence numbers that come round."""
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, 5 << 20, dtype=np.uint8) * (rng.random(5 << 20) < 0.5)
    model = Engine(BUILT, Memory(0, raw.copy()), Memory(0, np.zeros(8 << 20, np.uint8)))
    done = model.run(replace(OFFLOAD, coding=0x11, source=0, destination=0, raw_bytes=raw.size, capacity=8 << 20))
    assert (done.status, done.nonzero) == (Status.OK, np.count_nonzero(raw))
    model.device.image[:] = 0
    back = model.run(replace(PREFETCH, coding=0x11, source=0, destination=0, raw_bytes=raw.size, capacity=8 << 20,
                             packed_bytes=done.bytes_written))
    assert back.status == Status.OK
    assert np.array_equal(model.device.image, raw)


def test_a_channel_takes_its_own_operation_only() -> None:
    model = engine()
    wrong = Completion(tag=8, status=Status.BAD_OPERATION, operation=2)
    assert model.refusal(PREFETCH, Operation.OFFLOAD) == model.run(PREFETCH, Operation.OFFLOAD) == wrong
    assert model.refusal(OFFLOAD, Operation.OFFLOAD) is None
    assert model.run(OFFLOAD, Operation.OFFLOAD).status == Status.OK


def test_where_there_is_no_memory() -> None:
    with pytest.raises(ValueError, match=r"4000 bytes at 0x0 are not within a region: there are 65536 at 0x100000"):
        engine().run(replace(OFFLOAD, source=0))
    with pytest.raises(ValueError, match="not within a region"):
        engine().run(replace(OFFLOAD, destination=LINK - 32))
