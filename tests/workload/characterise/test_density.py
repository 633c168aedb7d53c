"""Density, zero runs and clustering against counting in plain Python, and cases worked out by hand."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cdma.workload.characterise.density import Density, elements, measure, strewn


def listed_runs(values: list[int]) -> list[int]:
    """Lengths of the zero runs, by walking along the values."""
    return sorted(len(list(group)) for zero, group in itertools.groupby(values, lambda value: value == 0) if zero)


def test_counted_by_hand() -> None:
    assert measure(np.array([0, 0, 3, 0, 5, 7, 0, 0, 0], np.float32)) == Density(9, 3, Counter([1, 2, 3]))
    assert measure(np.array([0, 0, 0, 1, 0], np.uint8)).as_json() == {
        "elements": 5, "nonzero": 1, "density": 0.2, "zero_runs": 2, "zero_run_mean": 2.0, "zero_run_p50": 1,
        "zero_run_p90": 3, "zero_run_p99": 3, "zero_run_longest": 3, "zero_runs_by_length": [
            {"from": 1, "to": 1, "runs": 1, "zeros": 1}, {"from": 2, "to": 3, "runs": 1, "zeros": 3}],
        "block_density_variance": None, "clustering": None}
    assert measure(np.zeros(0, np.float32)) == Density() and Density().density is None


def test_zero_means_all_bits_zero() -> None:
    assert measure(np.array([0.0, -0.0, np.nan, np.inf], np.float16)).nonzero == 3


def test_bytes_of_a_value_are_elements_when_asked() -> None:
    # 1.0 is 0x3f800000: two of its bytes are zero, and so is one of its halves.
    ones = np.ones(6, np.float32)
    assert [measure(ones, size).density for size in (1, 2, 4)] == [0.5, 0.5, 1.0]
    assert measure(np.ones(6, np.float64)).elements == 12
    assert elements(b"\1\0\2\0", 2).tolist() == [1, 2]


@given(arrays(np.uint8, st.integers(0, 300), elements=st.integers(0, 2)))
def test_runs_are_those_of_a_walk(values: np.ndarray) -> None:
    found = measure(values)
    expected = listed_runs(values.tolist())
    assert sorted(found.runs.elements()) == expected
    assert found.nonzero + sum(expected) == found.elements == values.size
    for percent in (0, 50, 90, 99, 100):
        wanted = int(np.percentile(expected, percent, method="inverted_cdf")) if expected else None
        assert found.zero_run_percentile(percent) == wanted


@given(st.lists(arrays(np.uint16, st.integers(0, 90), elements=st.integers(0, 1)), min_size=1, max_size=4))
def test_sums_over_arrays(parts: list[np.ndarray]) -> None:
    total = sum((measure(part, block_bytes=16) for part in parts), Density())
    assert sorted(total.runs.elements()) == sorted(run for part in parts for run in listed_runs(part.tolist()))
    assert total.elements == sum(part.size for part in parts)
    assert total.nonzero == sum(int(part.sum()) for part in parts)
    # Variances within the arrays, weighted by their blocks less one.
    densities = [part[:part.size // 8 * 8].reshape(-1, 8).mean(axis=1) for part in parts if part.size >= 16]
    if densities:
        weights = [len(row) - 1 for row in densities]
        expected = sum(float(row.var(ddof=1)) * weight for row, weight in zip(densities, weights, strict=True))
        assert total.deviations / total.comparisons == pytest.approx(expected / sum(weights))
    else:
        assert total.comparisons == 0


def test_clustering_tells_strewn_from_heaped() -> None:
    rng = np.random.default_rng(1)
    independent = (rng.random(1 << 20) < 0.25).astype(np.float32)
    heaped = np.sort(independent)
    assert measure(independent).clustering == pytest.approx(1, abs=0.25)
    # All blocks but one are full or empty: nearly d (1 - d) of variance, where d (1 - d) / 1024 is that of chance.
    assert measure(heaped).clustering == pytest.approx(1024, rel=0.02)


@pytest.mark.parametrize("value", [0, 1])
def test_no_clustering_without_both(value: int) -> None:
    found = measure(np.full(4096, value, np.float32))
    assert (found.comparisons, found.deviations) == (3, 0)
    assert found.clustering is None


def test_runs_by_powers_of_two() -> None:
    def classes(*lengths: int) -> list[dict[str, int]]:
        return Density(runs=Counter(lengths)).zero_runs_by_length()

    assert classes(1, 1, 1, 1, 1, 2, 3, 3, 4, 8, 9, 15) == [
        {"from": 1, "to": 1, "runs": 5, "zeros": 5}, {"from": 2, "to": 3, "runs": 3, "zeros": 8},
        {"from": 4, "to": 7, "runs": 1, "zeros": 4}, {"from": 8, "to": 15, "runs": 3, "zeros": 32}]
    # A class without runs between others is there, and nothing beyond the longest.
    assert [entry["runs"] for entry in classes(1, 1, 4, 4)] == [2, 0, 2]
    assert classes() == []


@pytest.mark.parametrize("density", [0.05, 0.3, 0.9])
def test_runs_of_zeros_drawn_on_their_own(density: float) -> None:
    expected = {length: length * density ** 2 * (1 - density) ** (length - 1) for length in range(1, 2000)}
    for shortest in (1, 2, 5, 40):
        assert strewn(density, shortest) == pytest.approx(
            sum(share for length, share in expected.items() if length >= shortest))
    found = measure((np.random.default_rng(3).random(1 << 20) < density).astype(np.uint8)).zero_runs_by_length()
    zeros = sum(entry["zeros"] for entry in found)
    assert sum(entry["zeros"] for entry in found if entry["from"] >= 4) / zeros == pytest.approx(
        strewn(density, 4), abs=0.01)


def test_without_zeros_or_with_zeros_alone_runs_are_none_or_endless() -> None:
    assert [strewn(1.0, 1), strewn(1.0, 2), strewn(0.0, 1), strewn(0.0, 1 << 20)] == [1, 0, 1, 1]


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="element"):
        measure(np.ones(4, np.uint8), 3)
    with pytest.raises(ValueError, match="multiple"):
        measure(np.ones(5, np.uint8), 2)
