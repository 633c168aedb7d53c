"""Verdicts on dumps of each kind, constructed and shipped, against ratios that are counted here."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.workload.characterise.arrays import characterise, characterise_array
from cdma.workload.characterise.groups import groups
from cdma.workload.data import DIGITS, shipped
from cdma.workload.timeline.scenario import build_engine
from cdma.workload.verdict.offloads import Path
from cdma.workload.verdict.verdict import Verdict, verdict

BFLOAT16 = ml_dtypes.bfloat16
PATH = Path(25.0, build_engine())
SIZE = 20000


def of(link: Path = PATH, **arrays: np.ndarray) -> Verdict:
    """The verdict on a dump of these arrays; two underscores in a name are a dot."""
    measured = [characterise_array(values, name.replace("__", ".")) for name, values in arrays.items()]
    return verdict(measured, groups(measured), link)


def dense(kind: type = np.float32) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(SIZE).astype(kind)


def relu(kind: type = np.float32) -> np.ndarray:
    return np.maximum(dense(), 0).astype(kind)


def ratio(values: np.ndarray, coding: Coding) -> float:
    """Raw bytes over those of a block stream."""
    return values.nbytes / blocks.compress(values, coding).size


def test_dense_bfloat16_gains_by_exponents_only() -> None:
    found = of(a=dense(BFLOAT16))
    times = ratio(dense(BFLOAT16), Coding.BFLOAT16)
    assert (found.kind, found.exponents) == ("exponents", times)
    assert found.sentence == (f"Gains nothing as zeros, {times:.2f} times by exponents: use bfloat16 exponent coding; "
                              f"at 25 GB/s that is {found.gain:.2f} times on the link.")
    assert found.items == []


def test_after_a_relu_zero_value_coding_is_enough() -> None:
    found = of(a=relu())
    zeros, exponents = ratio(relu(), Coding.ZVC32), ratio(relu(), Coding.FLOAT32)
    assert found.kind == "zeros"
    assert found.sentence.startswith(f"Gains {zeros:.2f} times as zeros, for which zero-value coding is enough; "
                                     f"float32 exponent coding has more, {exponents:.2f} times; at 25 GB/s they are ")
    assert found.ratio == exponents


def test_few_zeros_and_exponents_go_together() -> None:
    values = np.where(np.random.default_rng(3).random(SIZE) < 0.8, dense(), 0).astype(BFLOAT16)
    found = of(a=values)
    assert found.kind == "both"
    assert found.sentence.startswith(f"Gains {ratio(values, Coding.ZVC16):.2f} times as zeros, "
                                     f"{ratio(values, Coding.BFLOAT16):.2f} times with exponents as well: use bfloat16 "
                                     "exponent coding; at 25 GB/s")


@pytest.mark.parametrize(("kind", "coding"), [(np.uint8, "zvc8"), (ml_dtypes.float8_e5m2, "zvc8")])
def test_values_that_gain_by_zeros_only(kind: type, coding: str) -> None:
    rng = np.random.default_rng(4)
    values = np.where(rng.random(SIZE) < 0.3, rng.integers(1, 100, SIZE), 0).astype(kind)
    found = of(a=values)
    assert found.exponents is None
    assert found.sentence.startswith(f"Gains {ratio(values, Coding[coding.upper()]):.2f} times as zeros: use "
                                     f"zero-value coding ({coding}); at 25 GB/s")


@pytest.mark.parametrize(("kind", "coding"), [(np.int16, "zvc8"), (np.int32, "zvc8"), (np.float16, "zvc16")])
def test_types_of_which_bfloat16_exponents_code_the_bits(kind: type, coding: str) -> None:
    rng = np.random.default_rng(4)
    values = np.where(rng.random(SIZE) < 0.3, rng.integers(1, 100, SIZE), 0).astype(kind)
    found = of(a=values)
    assert found.ratio == found.exponents == ratio(values, Coding.BFLOAT16)
    assert found.zeros == ratio(values, Coding[coding.upper()])
    assert found.parts[0].coding == "bfloat16"


def test_float32_that_holds_bfloat16_values_is_a_part_of_its_own() -> None:
    short = dense(BFLOAT16).astype(np.float32)
    found = of(norm=short, mlp=dense())
    assert found.kind == "mixed"
    assert [(part.coding, part.groups, part.exponents) for part in found.parts] == [
        ("bfloat16", ("norm",), ratio(short, Coding.BFLOAT16)), ("float32", ("mlp",), ratio(dense(), Coding.FLOAT32))]


@pytest.mark.parametrize(("kind", "end"), [
    (ml_dtypes.float8_e4m3fn, "; there is no coding of exponents for float8_e4m3."), (np.int16, ".")])
def test_dense_values_of_these_types_are_not_worth_it(kind: type, end: str) -> None:
    found = of(a=(dense() * 1000).astype(kind) if kind is np.int16 else dense(kind))
    assert found.kind == "nothing"
    assert found.sentence == f"Gains nothing (1.00 times as zeros): move it uncompressed{end}"
    assert [part.coding for part in found.parts] == ["raw"]


def test_noise_in_a_type_with_exponents_gains_nothing() -> None:
    noise = np.random.default_rng(5).integers(0, 1 << 16, SIZE).astype(np.uint16).view(BFLOAT16)
    assert of(a=noise).sentence == "Gains nothing (1.00 times as zeros, 1.00 by exponents): move it uncompressed."


def test_negative_zeros_are_named_and_what_they_cost() -> None:
    kept = np.random.default_rng(6).random(SIZE) < 0.5
    values = (dense() * kept).astype(BFLOAT16)
    (note,) = of(a=values).notes
    negative = np.count_nonzero((values == 0) & np.signbit(values.astype(np.float32))) / SIZE
    assert note.startswith(f"{100 * negative:.0f} % of the elements of a are -0.0, as dropout leaves them")
    # If they were 0.0, and here they are.
    cleared = (values.astype(np.float32) + 0.0).astype(BFLOAT16)
    assert f"it would have {ratio(cleared, Coding.ZVC16):.2f} times there instead of " in note
    assert f"instead of {ratio(values, Coding.ZVC8):.2f}, more than any coding has now" in note
    assert of(a=cleared).notes == ()


def test_dense_float32_would_be_better_rounded() -> None:
    found = of(a=dense())
    (note,) = found.notes
    rounded = dense().nbytes / blocks.compress(dense(BFLOAT16), Coding.BFLOAT16).size
    assert note == ("The float32 values would be better rounded where training allows it: as bfloat16 and coded they "
                    f"take {rounded:.2f} times fewer bytes than as stored, not {found.ratio:.2f}.")
    (note,) = of(a=dense(BFLOAT16).astype(np.float32)).notes
    assert note.startswith("All float32 values are bfloat16 values already: stored as these, which loses nothing")
    (note,) = of(a=relu()).notes
    assert note.startswith("Rounded to bfloat16, which changes values, the float32 arrays take ")


def test_a_mixed_dump_names_the_groups_that_gain_and_those_that_do_not() -> None:
    noise = np.random.default_rng(7).integers(0, 1 << 16, SIZE).astype(np.uint16)
    mask = (np.random.default_rng(8).random(SIZE) < 0.1).astype(np.uint8)
    found = of(blocks__0__qkv=dense(BFLOAT16), blocks__1__qkv=dense(BFLOAT16)[::-1].copy(), ids=noise, mask=mask)
    assert found.kind == "mixed"
    packed = sum(blocks.compress(values, coding).size for values, coding in (
        (dense(BFLOAT16), Coding.BFLOAT16), (dense(BFLOAT16)[::-1].copy(), Coding.BFLOAT16), (mask, Coding.BFLOAT16)))
    total = 7 * SIZE / (packed + noise.nbytes)
    assert found.sentence.startswith(f"Mixed: gains {total:.2f} times in all, each tensor with the coding that suits ")
    assert [(part.kind, part.coding, part.groups, part.arrays) for part in found.parts] == [
        ("exponents", "bfloat16", ("blocks.*.qkv",), 2), ("nothing", "raw", ("ids",), 1),
        ("zeros", "bfloat16", ("mask",), 1)]
    first, second, third = found.items
    assert first.startswith("57 % of the bytes, bfloat16 exponent coding, ") and first.endswith(": blocks.*.qkv")
    assert second == "29 % of the bytes, uncompressed, because nothing is gained (1.00 times as zeros): ids"
    assert third == (f"14 % of the bytes, bfloat16 exponent coding, {ratio(mask, Coding.BFLOAT16):.2f} times; "
                     f"zero-value coding alone has {ratio(mask, Coding.ZVC8):.2f}: mask")


def test_layers_of_one_type_are_no_mixed_dump() -> None:
    found = of(qkv=dense(BFLOAT16), relu=relu(BFLOAT16))
    assert found.kind == "both"
    assert [part.kind for part in found.parts] == ["exponents", "both"] and len(found.items) == 2


def test_an_empty_dump() -> None:
    found = of(a=np.zeros(0, np.float32))
    assert found.sentence == "There is nothing to compress: the dump has no elements."
    assert (found.kind, found.ratio, found.items) == ("empty", None, [])


def test_a_fast_link_leaves_less_to_gain() -> None:
    times = ratio(relu(), Coding.FLOAT32)
    slow, fast = (of(Path(link, build_engine("tiny")), a=relu()).gain for link in (1.0, 30.0))
    assert slow is not None and fast is not None
    assert 0.95 * times < slow <= times
    # Two lanes of 16 bytes carry no more than the link does uncompressed.
    assert fast < 1.1


def test_offloads_take_the_measured_share_and_no_start() -> None:
    offload = PATH.offload(1 << 20, 1 << 19)
    reached = PATH.engine.reach("offload", PATH.engine.lane_bandwidth / 50e9)
    assert offload.raw_us == pytest.approx((1 << 20) / 25e3)
    assert offload.engine_us == pytest.approx((1 << 20) / (reached.share * 50e3))
    both = offload + PATH.offload(0, 0)
    assert both == offload and both.gain == pytest.approx(2 * reached.share)
    assert PATH.offload(0, 0).gain is None


@pytest.mark.parametrize(("path", "kind", "words"), [
    (shipped(), "zeros", ["Gains 2.22 times as zeros, for which zero-value coding is enough", "2.60 times"]),
    (DIGITS, "zeros", ["Gains 2.34 times as zeros", "2.77 times"])])
def test_the_shipped_dumps(path, kind: str, words: list[str]) -> None:
    arrays = characterise([path], jobs=1)
    found = verdict(arrays, groups(arrays), PATH)
    assert found.kind == kind
    assert all(said in found.sentence for said in words)
    if path == DIGITS:
        assert any(note.startswith("Over training the ratio goes from 2.27 at 0 % to 3.10 at 100 %")
                   for note in found.notes)


def test_values_that_are_not_measured_as_numbers_are_named() -> None:
    said = "Not measured as numbers, but as elements of 32 bits, without statistics of exponents and without rounding: "
    parts = relu(np.float64) * (1 + 1j)
    assert of(a=parts.astype(np.complex64)).items == [f"{said}a (complex64)."]
    assert f"{said}a, b (complex64, complex128)." in of(a=parts.astype(np.complex64), b=parts, c=relu()).notes
    assert of(a=relu().astype(np.int64), b=relu(BFLOAT16)).notes == ()
