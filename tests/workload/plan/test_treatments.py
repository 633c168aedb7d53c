"""Treatments of tensors: their packed bytes against the golden model, and the errors of rounding by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden.codec import blocks
from cdma.golden.codec.narrowing import Narrowing, narrow
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.workload.plan.codings import coding_of
from cdma.workload.plan.rounding import rounding
from cdma.workload.plan.treatments import Treatment, expected, packed, treatments
from tests.workload.plan.samples import NARROWING, values

ALL = [Treatment(name, fallback, raw) for name in ("zvc8", "zvc16", "zvc32", "bfloat16", "float32")
       for fallback, raw in ((True, False), (True, True), (False, False))]
ALL += [Treatment("zvc16", leave_raw=raw, narrow=form) for raw in (True, False) for form in (1, 2)]
ALL += [Treatment("bfloat16", leave_raw=raw, narrow=1) for raw in (True, False)]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2 ** 32), st.integers(1, 5000), st.floats(0, 1), st.sampled_from(ALL),
       st.sampled_from([1024, 4096]))
def test_packed_bytes_are_those_of_the_stream(seed: int, count: int, density: float, how: Treatment,
                                              block_bytes: int) -> None:
    array = values(seed, count, density)
    coded = narrow(array, how.narrow) if how.narrow else array
    block = block_bytes // 2 if how.narrow else block_bytes
    stream = blocks.compress(coded, coding_of(how.coding), block, how.fallback, how.leave_raw)
    found = packed(array.view(np.uint8), how, block_bytes)
    there = list(blocks.headers(stream, block))
    assert found.packed_bytes == stream.size
    assert found.link_bytes.tolist() == [each.end - each.offset for each in there]
    assert found.raw_blocks == sum(each.coding == 0 for each in there)
    assert found.nonzero == np.count_nonzero(coded.view(f"<u{how.element_bytes}"))


@pytest.mark.parametrize("how", [Treatment("zvc32"), Treatment("zvc32", leave_raw=True), Treatment("zvc16", narrow=1),
                                 Treatment("zvc16")])
@pytest.mark.parametrize("density", [0.0, 0.3, 0.97, 1.0])
def test_a_density_gives_what_random_places_give(how: Treatment, density: float) -> None:
    exact = packed(values(3, 50_000, density).view(np.uint8), how, 4096)
    assert expected(200_000, density, how, 4096).packed_bytes == pytest.approx(exact.packed_bytes, rel=0.01)


def test_order_of_treatments() -> None:
    names = [how.name for how in treatments(NARROWING, "t", 4096, 4, float32=True, lossy=["bfloat16"])]
    assert names == ["raw", "zvc32", "zvc16", "zvc8", "exp32", "exp16", "bfloat16", "bfloat16+zvc16", "bfloat16+exp16"]
    assert [how.name for how in treatments(NARROWING, "t", 4098, 2)] == ["raw", "zvc16", "zvc8", "exp16"]
    assert all(how.fallback for how in treatments(NARROWING, "t", 4096, 4))


def test_a_short_block_with_the_tags_first_has_its_length() -> None:
    exact = packed(np.zeros(5000, np.uint8), Treatment("zvc32"), 4096)
    found = expected(5000, 0.0, Treatment("zvc32"), 4096)
    assert found.link_bytes.tolist() == exact.link_bytes.tolist() == [132, 40]


def test_codings_that_are_allowed() -> None:
    def names(*codings: str, lossy: Sequence[str] = (), size: int = 4096) -> list[str]:
        return [how.name for how in treatments(NARROWING, "t", size, 4, float32=True, lossy=lossy, codings=codings)]

    assert names("zvc") == ["raw", "zvc32", "zvc16", "zvc8"]
    assert names("zvc", "exponents") == ["raw", "zvc32", "zvc16", "zvc8", "exp32", "exp16"]
    assert names("exponents") == ["raw", "exp32", "exp16"]
    # float16 has no coding of exponents.
    assert names("zvc", "exponents", lossy=["bfloat16", "float16"])[6:] == [
        "bfloat16", "float16", "bfloat16+zvc16", "bfloat16+exp16", "float16+zvc16"]
    with pytest.raises(ValueError, match=r"t has 4097 bytes, no whole .* add zvc to --codings"):
        names("exponents", size=4097)
    codings = {how.name: how.coding for how in treatments(NARROWING, "t", 4096, 4)}
    assert codings == {"raw": "zvc32", "zvc32": "zvc32", "zvc16": "zvc16", "zvc8": "zvc8", "exp32": "float32",
                       "exp16": "bfloat16"}


def test_densities_say_nothing_of_exponents() -> None:
    with pytest.raises(ValueError, match="exp32 needs values, not a density"):
        expected(4096, 0.5, Treatment("float32"), 4096)


def test_treatments_refuse() -> None:
    with pytest.raises(ValueError, match="t has 6 bytes, no whole number of the 32-bit elements"):
        treatments(load_engine("paper"), "t", 6, 2)
    with pytest.raises(ValueError, match="has no stage that rounds"):
        treatments(EngineConfig(), "t", 4096, 4, float32=True, lossy=["float16"])


def test_rounding_by_hand() -> None:
    # 1 + 2^-9 is rounded to 1, half way down, and 1 + 3 x 2^-8 up to 1 + 2^-6, half way as well.
    found = rounding(np.array([0, 1, 1 + 2 ** -9, -(1 + 3 * 2 ** -8), np.nan, np.inf, -np.inf], np.float32),
                     Narrowing.BFLOAT16)
    assert (found.max_abs, found.nans, found.infinities) == (2 ** -8, 1, 2)
    assert found.max_relative == 2 ** -8 / (1 + 3 * 2 ** -8)
    assert found.mean_relative == pytest.approx((2 ** -9 / (1 + 2 ** -9) + 2 ** -8 / (1 + 3 * 2 ** -8)) / 3)
    assert (found.overflows, found.underflows) == (0, 0)
    half = rounding(np.array([70_000, 1e-9, 2], np.float32), Narrowing.FLOAT16)
    assert (half.overflows, half.underflows, half.max_relative) == (1, 1, np.inf)
    assert rounding(np.zeros(3, np.float32), Narrowing.FLOAT16).max_relative == 0
    with pytest.raises(TypeError, match="only float32"):
        rounding(np.zeros(3), Narrowing.FLOAT16)
