"""The verdict on a dump in words, from its measured figures and a link.

Limits turn figures into words; they are choices of this module: a gain below :data:`WORTH` is none, zero-value coding
is enough where it saves :data:`ENOUGH` of the bytes that exponent coding saves, and a dump is mixed if 1 % of its bytes
or more gain nothing. The figures stand beside the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from cdma.golden.codec.coding import coding_name
from cdma.golden.results import derived
from cdma.workload.characterise.arrays import Array, Coded
from cdma.workload.characterise.exponents import CODED
from cdma.workload.characterise.groups import Group
from cdma.workload.dumps.types import element_type, is_floating
from cdma.workload.verdict.notes import notes
from cdma.workload.verdict.offloads import Path

__all__ = ["ENOUGH", "WORTH", "Part", "Verdict", "verdict"]

WORTH = 1.05
"""The least ratio that counts as a gain."""

ENOUGH = 0.75
"""The share of the bytes saved by exponent coding that zero-value coding must save to be enough."""

_SMALL = 0.01  # share of the bytes that is too small to call a dump mixed
_NAMES = 4     # names of groups that are listed


@dataclass(frozen=True)
class Part:
    """The arrays of a dump with the same advice.

    Parameters
    ----------
    kind
        What gains: ``exponents``, ``zeros``, ``both`` (zeros, but exponents so much more that they are not enough), or
        ``nothing``.
    coding
        The coding to use, by its name in docs/formats.md; ``raw`` for none.
    groups
        Names of the groups.
    arrays
        How many arrays they have.
    raw_bytes, share
        Their bytes, and the share of the dump's.
    zeros, exponents
        The ratio of zero-value coding, and that of exponent coding; None where the type has none and it gains nothing.
    """

    kind: str
    coding: str
    groups: tuple[str, ...]
    arrays: int
    raw_bytes: int
    share: float
    zeros: float
    exponents: float | None

    @property
    def text(self) -> str:
        """The part as an item of a list."""
        if self.kind == "nothing":
            head = f"uncompressed, because nothing is gained ({_ratios(self)})"
        elif self.kind == "zeros" and self.exponents is not None and self.exponents > self.zeros:
            head = (f"{self.coding} exponent coding, {self.exponents:.2f} times; zero-value coding alone has "
                    f"{self.zeros:.2f}")
        elif self.kind == "zeros":
            head = f"zero-value coding ({self.coding}), {self.zeros:.2f} times"
        else:
            head = f"{self.coding} exponent coding, {self.exponents:.2f} times ({self.zeros:.2f} as zeros)"
        shown = ", ".join(self.groups[:_NAMES])
        more = f" and {len(self.groups) - _NAMES} more" if len(self.groups) > _NAMES else ""
        share = f"{100 * self.share:.0f} %" if self.share >= _SMALL else "less than 1 %"
        return f"{share} of the bytes, {head}: {shown}{more}"


@dataclass(frozen=True)
class Verdict:
    """What a dump gains.

    Parameters
    ----------
    kind
        ``exponents``, ``zeros``, ``both``, ``nothing``, ``mixed``, or ``empty``.
    sentence
        The verdict.
    ratio
        Raw bytes over those that the advice gives: every array with its best coding, or raw.
    zeros, exponents
        The ratio of zero-value coding alone, and of exponent coding where a type has one.
    gain
        How many times as fast an offload is over the link, predicted.
    parts
        The arrays by advice, the largest part first.
    notes
        What else is worth knowing, in sentences.
    """

    kind: str
    sentence: str
    ratio: float | None
    zeros: float | None
    exponents: float | None
    gain: float | None
    parts: tuple[Part, ...]
    notes: tuple[str, ...]

    @derived
    def items(self) -> list[str]:
        """The parts of a dump that has several, in words, then the notes."""
        return [*([part.text for part in self.parts] if len(self.parts) > 1 else []), *self.notes]


def verdict(arrays: Sequence[Array], grouped: Sequence[Group], path: Path) -> Verdict:
    """The verdict on arrays.

    Parameters
    ----------
    arrays
        Measured arrays.
    grouped
        Their groups, see :func:`cdma.workload.characterise.groups.groups`.
    path
        The link, and the engine in front of it.
    """
    stored = [array.stored for array in arrays if array.stored.raw_bytes]
    if not stored:
        return Verdict("empty", "There is nothing to compress: the dump has no elements.", None, None, None, None, (),
                       ())
    total = reduce(add, stored)
    parts = _parts(grouped, total.raw_bytes)
    coded = [part for part in parts if part.kind != "nothing"]
    kind = coded[0].kind if coded else "nothing"
    if len({_type(part) for part in coded}) > 1 or (coded and 1 - sum(part.share for part in coded) >= _SMALL):
        kind = "mixed"
    whole = _part([(group.name, group.stored) for group in grouped if group.stored.raw_bytes], total.raw_bytes)
    if kind != "mixed":
        kind = whole.kind
    ratio, gain = total.raw_bytes / total.best_bytes, path.of_all(stored).gain or 1.0
    zeros_gain = path.of_all(stored, "tags_first").gain or 1.0
    sentence = _sentence(kind, whole, ratio, f"at {path.link:g} GB/s", gain, zeros_gain, {one.format for one in stored})
    return Verdict(kind, sentence, ratio, whole.zeros, whole.exponents, gain, tuple(parts), tuple(notes(arrays, ratio)))


def _sentence(kind: str, whole: Part, ratio: float, link: str, gain: float, zeros_gain: float, types: set[str]) -> str:
    then = f"; {link} that is {gain:.2f} times on the link."
    if kind == "mixed":
        return f"Mixed: gains {ratio:.2f} times in all, each tensor with the coding that suits it{then}"
    if kind == "nothing":
        without = sorted(form for form in types - set(CODED) if is_floating(element_type(form)))
        none = f"; there is no coding of exponents for {' and '.join(without)}" if without else ""
        return f"Gains nothing ({_ratios(whole)}): move it uncompressed{none}."
    if kind == "exponents":
        return (f"Gains nothing as zeros, {whole.exponents:.2f} times by exponents: use {whole.coding} exponent "
                f"coding{then}")
    if kind == "both":
        return (f"Gains {whole.zeros:.2f} times as zeros, {whole.exponents:.2f} times with exponents as well: use "
                f"{whole.coding} exponent coding{then}")
    if whole.exponents is not None and whole.exponents > whole.zeros:
        return (f"Gains {whole.zeros:.2f} times as zeros, for which zero-value coding is enough; {whole.coding} "
                f"exponent coding has more, {whole.exponents:.2f} times; {link} they are {zeros_gain:.2f} and "
                f"{gain:.2f} times on the link.")
    return f"Gains {whole.zeros:.2f} times as zeros: use zero-value coding ({whole.coding}){then}"


def _ratios(part: Part) -> str:
    exponents = "" if part.exponents is None else f", {part.exponents:.2f} by exponents"
    return f"{part.zeros:.2f} times as zeros{exponents}"


def _parts(grouped: Sequence[Group], raw_bytes: int) -> list[Part]:
    """The groups by type and by what gains, the largest part first."""
    found: dict[tuple[str, str, str], list[tuple[str, Coded]]] = {}
    for group in grouped:
        if group.stored.raw_bytes:
            part = _part([(group.name, group.stored)], raw_bytes)
            # What gains nothing gets the same advice, whatever its type.
            dtype, coding = ("", "") if part.kind == "nothing" else (group.first.dtype, _type(part))
            found.setdefault((part.kind, dtype, coding), []).append((group.name, group.stored))
    arrays = {group.name: len(group.arrays) for group in grouped}
    parts = [_part(own, raw_bytes, sum(arrays[name] for name, _ in own)) for own in found.values()]
    return sorted(parts, key=lambda part: -part.raw_bytes)


def _part(own: Sequence[tuple[str, Coded]], raw_bytes: int, arrays: int = 0) -> Part:
    """Groups together, whose kind follows from their sums."""
    whole = reduce(add, (coded for _, coded in own))
    zeros, fewest = (whole.raw_bytes / min(whole.raw_bytes, whole.packed[name])
                     for name in ("tags_first", "exponents"))
    exponents = fewest if fewest > zeros or any(coded.format in CODED for _, coded in own) else None
    best = max(zeros, exponents or 1.0)
    if best < WORTH:
        kind = "nothing"
    elif zeros < WORTH:
        kind = "exponents"
    else:
        kind = "zeros" if 1 - 1 / zeros >= ENOUGH * (1 - 1 / best) else "both"
    coding = "raw" if kind == "nothing" else _coding(whole, exponents is not None and exponents > zeros)
    return Part(kind, coding, tuple(name for name, _ in own), arrays or len(own), whole.raw_bytes,
                whole.raw_bytes / raw_bytes, zeros, exponents)


def _coding(coded: Coded, exponents: bool) -> str:
    """The name of the coding with the fewest bytes, of those with exponents or those without."""
    return coding_name(min((coding for coding in coded.streams if coding.exponents == exponents),
                           key=coded.streams.__getitem__))


def _type(part: Part) -> str:
    """What tells codings of different types apart; zero-value coding and exponents of one type go together."""
    return {"bfloat16": "16", "zvc16": "16", "float32": "32", "zvc32": "32"}.get(part.coding, part.coding)
