"""The generated part of docs/verification.md about mutants."""

from __future__ import annotations

from typing import Any

from cdma.report.parts import Part, Table
from cdma.verif.mutation.operators import OPERATORS
from cdma.verif.mutation.results import GOALS, MutationReport, Score, Verdict, recorded, scores
from cdma.verif.mutation.survivors import read_survivors

__all__ = ["mutation_figures", "mutation_parts"]


def mutation_figures(results: dict[str, Any]) -> Score:
    """The score of all mutants."""
    return MutationReport(tuple(recorded(results))).score


def mutation_parts(results: dict[str, Any]) -> list[Part]:
    """The score, by kind of change and by unit, and what survived."""
    found = tuple(recorded(results))
    total = MutationReport(found).score
    same = sum(each.verdict is Verdict.SAME for each in found)
    parts: list[Part] = [
        (f"{len(found):,} mutants were tried. {total.invalid:,} made no hardware and {total.equivalent:,} are "
         f"equivalent ({same:,} by equal netlists, {total.equivalent - same:,} by a proof); these do not count. Of the "
         f"other {total.counted:,}, {total.killed:,} were killed, {_share(total.killed, total.counted)} (goal "
         f"{GOALS['killed']:.0%}); {total.own:,} of these by the unit's own tests, {_share(total.own, total.killed)} "
         f"(goal {GOALS['own']:.0%})."),
        Table(("change", "what it does", *_HEADS), [
            (each, about, *_cells(MutationReport(tuple(one for one in found if one.operator == each)).score))
            for each, about in OPERATORS.items()], left=(0, 1)),
        Table(("unit", *_HEADS), [(f"`{each.unit}`", *_cells(each)) for each in scores(found)])]
    if survivors := MutationReport(found).survivors:
        known = read_survivors()
        parts += [("Survivors, each with the command that tries it again, and what is known of it. This is not a "
                   "proof, so they count."),
                  tuple(f"`{each.replay}`: {known.get(each.name, 'nothing is known of it.')}" for each in survivors)]
    else:
        parts.append("No mutant survived.")
    if others := [each for each in found if each.verdict is Verdict.OTHER]:
        parts.append(Table(("killed by others than the unit's own tests", "by"),
                           [(_code(each.name), _code(each.by)) for each in others], left=(0, 1)))
    if equivalents := [each for each in found if each.verdict in (Verdict.SAME, Verdict.PROVED)]:
        parts.append(Table(("equivalent", "recognised by"),
                           [(_code(each.name), each.by) for each in equivalents], left=(0, 1)))
    return parts


_HEADS = ("own tests", "others", "survived", "equivalent", "invalid")


def _cells(score: Score) -> tuple[str, ...]:
    return tuple(f"{number:,}" for number in (score.own, score.other, score.survived, score.equivalent, score.invalid))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


def _code(text: str) -> str:
    return f"`{text}`"
