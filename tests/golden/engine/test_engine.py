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
from cdma.golden.engine import Completion, Descriptor, Engine, Operation, Status
from cdma.golden.reference import blocks as reference
from cdma.golden.reference.lines import elements_of
from cdma.golden.reference.narrowing import narrowed, widened
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
