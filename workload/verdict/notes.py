"""Notes beside a verdict: values that are not measured as numbers, -0.0 that could be zeros, values that would be
better rounded, what changes over training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add

from cdma.workload.characterise.arrays import Array, Coded
from cdma.workload.dumps.steps import step_text
from cdma.workload.dumps.types import element_type, is_floating

__all__ = ["MANY", "notes"]

MANY = 0.01
"""The share of an array's elements above which -0.0 is named."""

_WEAK = 1.5     # a ratio below which float32 is said to be better rounded
_ROUNDED = 1.5  # how many times as much rounding must give for that
_SMALL = 0.01   # the share of the bytes below which rounding is not worth a note
_DRIFT = 1.1    # how far ratios of steps of training lie apart before that is named


def notes(arrays: Sequence[Array], ratio: float) -> Iterator[str]:
    """The notes on arrays, as sentences.

    Parameters
    ----------
    arrays
        Measured arrays.
    ratio
        Raw bytes over those of the best coding.
    """
    yield from _bits(arrays)
    yield from _negative_zeros(arrays)
    yield from _rounding(arrays)
    yield from _drift(arrays, ratio)


def _bits(arrays: Sequence[Array]) -> Iterator[str]:
    """Which arrays are measured as plain elements, because no coding treats their values as numbers."""
    plain = [array for array in arrays if (dtype := element_type(array.dtype)).kind == "c"
             or (dtype.kind == "f" and not is_floating(dtype))]
    if plain:
        types = ", ".join(dict.fromkeys(array.dtype for array in plain))
        yield (f"Not measured as numbers, but as elements of 32 bits, without statistics of exponents and without "
               f"rounding: {_named([array.name for array in plain])} ({types}).")


def _negative_zeros(arrays: Sequence[Array]) -> Iterator[str]:
    found = [(array.name, array.stored, about) for array in arrays
             if (about := array.stored.exponent_statistics) and about.negative_zeros > MANY * about.elements]
    if not found:
        return
    many_names, many = [name for name, _, _ in found], [(coded, about) for _, coded, about in found]
    negative = sum(about.negative_zeros for _, about in many)
    raw = sum(coded.raw_bytes for coded, _ in many)
    # As zero-value coding packs them: one bit of tag for each element, and the elements that are left.
    left = sum(about.elements / 8 + (about.nonzero - about.negative_zeros) * about.element_bits / 8
               for _, about in many)
    now, best = (raw / sum(sizes) for sizes in ([coded.packed["tags_first"] for coded, _ in many],
                                                [coded.best_bytes for coded, _ in many]))
    more = "more than any coding has now" if raw / left > best else f"still less than the {best:.2f} of today's best"
    yield (f"{100 * negative / sum(about.elements for _, about in many):.0f} % of the elements of {_named(many_names)} "
           f"are -0.0, as dropout leaves them, which is no zero to zero-value coding. Were they 0.0 (adding 0.0 after "
           f"dropout makes them so), it would have {raw / left:.2f} times there instead of {now:.2f}, {more}.")


def _rounding(arrays: Sequence[Array]) -> Iterator[str]:
    """What the narrowed values of float32 take, beside the stored ones."""
    pairs = [(array.stored, narrowed) for array in arrays if array.dtype == "float32" and array.stored.raw_bytes
             and (narrowed := _narrowed(array))]
    raw = sum(stored.raw_bytes for stored, _ in pairs)
    if not any(stored.density.nonzero for stored, _ in pairs) or raw < _SMALL * sum(
            array.stored.raw_bytes for array in arrays):
        return
    form = pairs[0][1].format
    rounded = raw / sum(narrowed.best_bytes for _, narrowed in pairs)
    now = raw / sum(stored.best_bytes for stored, _ in pairs)
    whole = reduce(add, (stored for stored, _ in pairs)).exponent_statistics
    if form == "bfloat16" and whole and whole.bfloat16_values == whole.elements:
        yield (f"All float32 values are bfloat16 values already: stored as these, which loses nothing, they take "
               f"{rounded:.2f} times fewer bytes, not {now:.2f}.")
    elif now < _WEAK and rounded >= _ROUNDED * now:
        yield (f"The float32 values would be better rounded where training allows it: as {form} and coded they take "
               f"{rounded:.2f} times fewer bytes than as stored, not {now:.2f}.")
    else:
        yield (f"Rounded to {form}, which changes values, the float32 arrays take {rounded:.2f} times fewer bytes than "
               f"as stored, not {now:.2f}.")


def _narrowed(array: Array) -> Coded | None:
    """The narrowed array, in the layout in which it is stored."""
    return next((coded for coded in array.variants if coded.narrowed and coded.layout == array.stored.layout), None)


def _drift(arrays: Sequence[Array], ratio: float) -> Iterator[str]:
    """How the ratio changes over training, where it does."""
    steps: dict[tuple[str, int], Coded] = {}
    for array in arrays:
        if array.step is not None and array.stored.raw_bytes:
            key = array.step_unit or "", array.step
            steps[key] = steps[key] + array.stored if key in steps else array.stored
    ratios = {step: coded.best_ratio or 1.0 for step, coded in sorted(steps.items())}
    if len(ratios) < 2 or max(ratios.values()) < _DRIFT * min(ratios.values()):
        return
    (first, start), *_, (last, end) = ratios.items()
    yield (f"Over training the ratio goes from {start:.2f} at {step_text(*first)} to {end:.2f} at {step_text(*last)}, "
           f"and is {ratio:.2f} over all.")


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{', '.join(names[:2])} and {len(names) - 2} other arrays"
