"""zlib on windows: each one a zlib stream that any zlib reads."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.workload.characterise import deflate


@given(st.binary(max_size=300), st.sampled_from([1, 13, 14, 50]))
def test_there_and_back(piece: bytes, repeats: int) -> None:
    raw = piece * repeats
    packed = deflate.compress(raw)
    assert deflate.decompress(packed) == raw
    assert deflate.packed_bytes(raw) == len(packed)


def test_windows_stand_alone() -> None:
    # The second window repeats the first, which it must not see.
    window = np.random.default_rng(0).integers(0, 256, 4096).astype(np.uint8).tobytes()
    first = zlib.compress(window, 6)
    packed = deflate.compress(window * 2 + b"end")
    assert packed == first + first + zlib.compress(b"end", 6)
    reader = zlib.decompressobj()
    assert reader.decompress(packed) == window
    assert reader.unused_data == packed[len(first):]


def test_growth_is_bounded() -> None:
    noise = np.random.default_rng(0).integers(0, 256, 3 * 4096).astype(np.uint8)
    assert deflate.packed_bytes(noise) <= noise.size + 3 * 11


def test_arrays_are_their_bytes() -> None:
    array = np.arange(6000, dtype=np.float32).reshape(2, 3000)
    assert deflate.decompress(deflate.compress(array)) == array.tobytes()
    assert deflate.decompress(deflate.compress(array.T)) == array.T.tobytes()


def test_mistakes_are_named() -> None:
    packed = deflate.compress(bytes(5000))
    with pytest.raises(ValueError, match="window 1 is cut"):
        deflate.decompress(packed[:-1])
    with pytest.raises(ValueError, match="window 0 is not a zlib stream"):
        deflate.decompress(b"\xff" + packed[1:])
    with pytest.raises(TypeError, match="buffer"):
        deflate.compress(17)
