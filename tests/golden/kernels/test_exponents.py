"""The inner loops of exponent coding: in steps of any size, close to the end of a buffer, and on any bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.kernels import exponents_numpy
from cdma.golden.reference.blocks import compress_blocks
from cdma.golden.reference.exponents import decompress_exponents
from tests.golden.samples import corners

BLOCK = 512


def sample(size: int) -> bytes:
    """Whole blocks of all corners."""
    return b"".join(raw + bytes(-len(raw) % BLOCK) for raw in corners(size))


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("limit", [BLOCK, 1 << 20])
def test_the_result_is_that_of_the_reference_in_steps_of_any_size(
        size: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = sample(size)
    expected = compress_blocks(raw, 0x20 + size, BLOCK, limit == BLOCK)
    for step in (1, 7, 1 << 20):
        monkeypatch.setattr("cdma.golden.kernels.exponents_numpy._STEP_BYTES", step * BLOCK)
        # No byte more than the stream has.
        out = np.zeros(len(expected), np.uint8)
        assert exponents_numpy.pack_exponents(np.frombuffer(raw, np.uint8), out, size, BLOCK, limit, 0x20 + size
                                              ) == out.size
        assert out.tobytes() == expected


@pytest.mark.parametrize("size", [2, 4])
def test_blocks_come_back_from_any_places(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = np.frombuffer(sample(size), np.uint8)
    stream = np.empty(2 * raw.size, np.uint8)
    stream = stream[:exponents_numpy.pack_exponents(raw, stream, size, BLOCK, 1 << 20, 0x20 + size)]
    first = [4]
    while first[-1] + (payload := int(stream[first[-1] - 4:first[-1] - 2].view("<u2")[0])) + 4 < stream.size:
        first.append(first[-1] + payload + -payload % 4 + 4)
    blocks = raw.reshape(-1, BLOCK)
    assert len(first) == len(blocks)
    order = np.random.default_rng(1).permutation(len(first))
    for step in (1, 7, 1 << 20):
        monkeypatch.setattr("cdma.golden.kernels.exponents_numpy._STEP_BYTES", step * BLOCK)
        out = np.empty((len(order), BLOCK), np.uint8)
        ends = exponents_numpy.expand_exponents(stream, size, np.array(first)[order], BLOCK // 128, out.reshape(-1))
        assert (ends == [first[number] + int(stream[first[number] - 4:first[number] - 2].view("<u2")[0])
                         for number in order]).all()
        assert (out == blocks[order]).all()


@pytest.mark.parametrize("size", [2, 4])
@given(stream=st.binary(min_size=16, max_size=900), first=st.lists(st.integers(0, 150), min_size=1, max_size=5))
def test_any_bytes(size: int, stream: bytes, first: list[int]) -> None:
    """What is expanded where all of it is there is what the reference reads. Nothing else in the output is written."""
    content = np.frombuffer(stream, np.uint8)
    starts = np.minimum(np.array(first), content.size)
    out = np.full((starts.size + 1, BLOCK), 0xA5, np.uint8)
    ends = exponents_numpy.expand_exponents(content, size, starts, BLOCK // 128, out[:-1].reshape(-1))
    assert (out[-1] == 0xA5).all()
    assert ((ends == -1) | (ends >= starts + BLOCK // 128)).all()
    for start, end, block in zip(starts.tolist(), ends.tolist(), out[:-1], strict=True):
        if 0 <= end <= content.size:
            assert block.tobytes() == decompress_exponents(stream[start:end], size, BLOCK, 0)


@pytest.mark.parametrize("size", [2, 4])
def test_the_bit_above_a_mantissa_counts_only_with_a_distance_or_a_sign(size: int) -> None:
    # Dense, with a base, width 2 and widths: the distances of the second and the last group have no bits.
    facts = b"\xd2\xff\xff\xff" + b"\x7f\x88\0\0"
    group = 32 // size
    rng = np.random.default_rng(1)
    rests, parts = rng.integers(0, 256, (4, group // 8), np.uint8), rng.integers(0, 256, (4, group, size - 1), np.uint8)
    found = []
    for kept in (0xFF, 0x7F):
        parts[1::2, :, -1] &= kept
        data = b"".join((b"" if number % 2 else rests[number].tobytes()) + parts[number].tobytes()
                        for number in range(4))
        payload = np.frombuffer(facts + data, np.uint8)
        out = np.empty(BLOCK, np.uint8)
        assert exponents_numpy.expand_exponents(payload, size, np.array([0]), BLOCK // 128, out) == [payload.size]
        assert out.tobytes() == decompress_exponents(payload.tobytes(), size, BLOCK, 0)
        found.append(out.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [2, 4])
def test_no_blocks_are_no_bytes(size: int) -> None:
    nothing = np.empty(0, np.uint8)
    assert exponents_numpy.pack_exponents(nothing, nothing, size, BLOCK, BLOCK, 0x20 + size) == 0
    assert exponents_numpy.expand_exponents(nothing, size, np.empty(0, np.int64), BLOCK // 128, nothing).size == 0
