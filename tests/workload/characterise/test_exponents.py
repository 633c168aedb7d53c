"""Statistics of exponents against values of known exponents, and against the metadata that the codec writes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.workload.characterise.exponents import measure_exponents

BFLOAT16 = ml_dtypes.bfloat16


def test_entropy_is_that_of_the_exponents_of_elements_that_are_not_zero() -> None:
    # A quarter has the exponent of 1, a quarter that of 2, a half that of 4: 1.5 bits.
    found = measure_exponents(np.array([1.0, -2.5, 4.0, -7.0, 0.0, 0.0], np.float32))
    assert found is not None
    assert (found.elements, found.nonzero, found.negative_zeros) == (6, 4, 0)
    assert found.by_value == {127: 1, 128: 1, 129: 2}
    assert found.entropy == pytest.approx(1.5)
    assert found.bfloat16_values == 6


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, BFLOAT16, ml_dtypes.float8_e4m3fn,
                                  ml_dtypes.float8_e5m2])
def test_every_type_has_its_own_field(kind: type) -> None:
    values = np.array([1.0, 2.0, 4.0, 4.0, 0.0, -0.0], np.float32).astype(kind)
    found = measure_exponents(values)
    assert found is not None
    one = {2: 15, 4: 127, 8: 1023}.get(values.itemsize, 0) if kind in (np.float16, np.float32, np.float64) else \
        {BFLOAT16: 127, ml_dtypes.float8_e4m3fn: 7, ml_dtypes.float8_e5m2: 15}[kind]
    assert found.by_value == {0: 1, one: 1, one + 1: 1, one + 2: 2}
    assert found.negative_zeros == 1
    assert found.element_bits == 8 * values.itemsize
    assert (found.distance_bits is None) == (kind not in (BFLOAT16, np.float32))


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int32, bool])
def test_whole_numbers_have_none(kind: type) -> None:
    assert measure_exponents(np.ones(5, kind)) is None


@pytest.mark.parametrize(("kind", "coding"), [(BFLOAT16, Coding.BFLOAT16), (np.float32, Coding.FLOAT32)])
def test_distances_are_those_in_the_metadata_of_the_stream(kind: type, coding: Coding) -> None:
    rng = np.random.default_rng(3)
    values = (rng.standard_normal(4096) * np.exp2(rng.integers(-9, 9, 4096)) * (rng.random(4096) < 0.7)).astype(kind)
    values[:64] = 0
    values[200:210] = -0.0
    found = measure_exponents(values)
    assert found is not None
    size = values.itemsize
    stream, counts, zeros, escapes = blocks.compress(values, coding, fallback=False), [0] * 9, 0, 0
    at, flat = 0, values.reshape(-1)
    for start in range(0, flat.size, 4096 // size):
        raw = flat[start:start + 4096 // size]
        length = int(stream[at:at + 2].view("<u2")[0])
        payload = stream[at + 4:at + 4 + length].tolist()
        at += 4 + length + -length % 4
        headers = payload[:raw.nbytes // 128]
        widths_at = len(headers) + sum(header >> 7 for header in headers if header != 0xFF)
        for line, header in enumerate(headers):
            if header == 0xFF:
                zeros += 1
                continue
            less = payload[widths_at] if header & 64 else 0
            widths_at += header >> 6 & 1
            own = raw[line * 128 // size:(line + 1) * 128 // size].view(f"<u{size}").reshape(4, -1)
            for number, group in enumerate(own):
                width = 8 if header & 7 == 7 else (header & 7) - (less >> 2 * number & 3)
                counts[width] += int(np.count_nonzero(group))
            escapes += header >> 5 & 1
    assert list(found.distances) == counts
    assert (found.lines, found.zero_lines, found.escape_lines) == (values.nbytes // 128, zeros, escapes)
    assert escapes and zeros
    assert found.distance_bits == sum(bits * number for bits, number in enumerate(counts)) / np.count_nonzero(
        values.view(f"<u{size}"))


def test_statistics_add_up_and_ends_of_lines_are_filled_with_zeros() -> None:
    values = np.random.default_rng(4).standard_normal(64 * 40 + 7).astype(BFLOAT16)
    one, other, whole = map(measure_exponents, (values[:64 * 13], values[64 * 13:], values))
    assert one is not None and other is not None
    assert one + other == whole
    assert measure_exponents(np.zeros(0, BFLOAT16)).entropy is None  # type: ignore[union-attr]


def test_values_that_are_bfloat16_already_are_counted() -> None:
    values = np.array([1.0, 0.1, 2.5, 1 + 2 ** -23], np.float32)
    assert measure_exponents(values).bfloat16_values == 2  # type: ignore[union-attr]
