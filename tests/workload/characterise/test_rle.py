"""Run-length coding against a coder that goes element by element, and streams written by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cdma.workload.characterise import rle


def reference(values: np.ndarray) -> bytes:
    """The stream of the format's description, one element at a time."""
    out = bytearray()
    place = None
    kind = None
    for value in values.tolist():
        zero = value == 0
        full = place is not None and (out[place] & 127) == 127
        if place is None or zero != kind or full:
            kind, place = zero, len(out)
            out.append(128 if zero else 0)
        else:
            out[place] += 1
        if not zero:
            out += value.to_bytes(values.itemsize, "little")
    return bytes(out)


def test_written_by_hand() -> None:
    raw = np.array([0, 0, 0x0102, 0, 0xFFFF, 1], "<u2")
    assert rle.compress(raw, 2).tobytes() == bytes([129, 0, 0x02, 0x01, 128, 1, 0xFF, 0xFF, 0x01, 0x00])


@pytest.mark.parametrize(("zeros", "stream"), [(1, [128]), (128, [255]), (129, [255, 128]), (256, [255, 255])])
def test_long_runs_of_zeros_are_cut(zeros: int, stream: list[int]) -> None:
    assert rle.compress(np.zeros(zeros, np.float32), 4).tolist() == stream


@pytest.mark.parametrize("size", [1, 2, 4])
def test_dense_data_grows_by_a_byte_in_128_elements(size: int) -> None:
    raw = np.full(1280, 7, f"<u{size}")
    assert rle.packed_bytes(raw, size) == 1280 * size + 10
    assert rle.compress(raw, size)[0] == 127


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_alternating_elements(kind: type) -> None:
    raw = np.tile(np.array([0, 9], kind), 50)
    assert rle.packed_bytes(raw, raw.itemsize) == 50 * (2 + raw.itemsize)


@pytest.mark.parametrize("kind", ["<u1", "<u2", "<u4"])
@given(data=st.data())
def test_same_stream_as_the_reference_and_back(kind: str, data: st.DataObject) -> None:
    short = data.draw(arrays(kind, st.integers(0, 60), elements=st.sampled_from([0, 1, 255])))
    repeats = data.draw(st.sampled_from([1, 2, 127, 128, 129, 300]))
    raw = np.repeat(short, repeats)
    packed = rle.compress(raw, raw.itemsize)
    assert packed.tobytes() == reference(raw)
    assert packed.size == rle.packed_bytes(raw, raw.itemsize)
    assert rle.decompress(packed, raw.itemsize).tobytes() == raw.tobytes()


def test_floats_keep_their_bits() -> None:
    raw = np.array([[0.0, -0.0], [np.nan, 1.5]], np.float32)
    assert rle.decompress(rle.compress(raw, 4), 4).tobytes() == raw.tobytes()


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="a run of 3 literals of 2 bytes must follow byte 0, not 4 bytes"):
        rle.decompress(bytes([2, 1, 1, 1, 1]), 2)
    with pytest.raises(ValueError, match="multiple"):
        rle.compress(b"123", 2)
    with pytest.raises(ValueError, match="element"):
        rle.decompress(b"", 3)
