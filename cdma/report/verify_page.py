"""What ``cdma verify`` shows: a text for the terminal, and one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cdma.console.output import count
from cdma.report.page import Page, Section
from cdma.report.parts import Fenced, Part, Table, Tiles
from cdma.report.table import Column

if TYPE_CHECKING:
    from cdma.measure.verified import Verification
    from cdma.verif.regression.outcomes import Outcome

_HOLES = 6
"""Bins that are named, of a feature."""

__all__ = ["verdict", "verify_page", "verify_text"]


def verdict(found: Verification) -> str:
    """Whether it passed, in a sentence."""
    from cdma.verif.regression.outcomes import State

    parts = [f"{found.count(state)} {state}" for state in State if found.count(state)]
    cycles = sum(outcome.cycles for outcome in found.outcomes)
    what = "PASSED" if found.passed else "FAILED" if found.count(State.FAILED) else "INCOMPLETE"
    ran = len({outcome.step for outcome in found.outcomes})
    steps = f"{len(found.outcomes)} steps" if ran == found.steps else f"{ran} of {found.steps} steps"
    return f"{what}: {found.name}, {steps}: {', '.join(parts) or 'none'}; {count(cycles)} simulated cycles."


def verify_text(found: Verification) -> str:
    """The results for a terminal."""
    text = Page(f"Verification of {found.name}", [_steps(found), *_measured(found), *_failures(found)]).text()
    return f"{text}\n{verdict(found)}"


def verify_page(found: Verification) -> Page:
    """The page."""
    return Page(f"Verification of {found.name}",
                [_head(found), *_failures(found), _steps(found), *_measured(found), *_proofs(found), *_coverage(found),
                 *_tests(found), _parameters(found)], passed=found.passed)


def _head(found: Verification) -> Section:
    from cdma.verif.regression.outcomes import State

    tiles = {"steps": count(len(found.outcomes)), **{str(state): count(found.count(state)) for state in State},
             "tests": count(sum(len(outcome.tests) for outcome in found.outcomes)),
             "simulated cycles": count(sum(outcome.cycles for outcome in found.outcomes)),
             "seeds": count(len({outcome.seed for outcome in found.outcomes}))}
    return Section("", [f"**{verdict(found)}**", Tiles(tiles),
                        (f"cdma-rtl {found.version}, {found.date}, {found.simulator}; configuration and RTL "
                         f"`{found.rtl}`; shards {', '.join(found.shards)}.")])


_STEPS = [Column("step", "step"), Column("result", lambda outcome: str(outcome.state)),
          Column("what is checked", "about"), Column("seed", "seed"),
          Column("tests", lambda outcome: len(outcome.tests) or None, ","),
          Column("cycles", lambda outcome: outcome.cycles or None, ","), Column("seconds", "seconds", ".1f")]
_RESULT, _SECONDS = Column("result", lambda row: str(row["test"].state)), Column("seconds", "test.seconds", ".1f")
_TESTS = [Column("test", "test.name"), _RESULT, Column("step", "step"), Column("seed", "seed"),
          Column("cycles", "test.cycles", ","), _SECONDS]
_PROOFS = [Column("proof", lambda row: f"`{row['test'].name}`"), _RESULT, Column("what is proved", "test.about"),
           _SECONDS]
_BINS = [Column("feature", "feature"), Column("what", "about"),
         Column("bins", lambda feature: f"{feature['hit']} of {feature['bins']}", left=False),
         Column("not seen", lambda feature: ", ".join(feature["holes"][:_HOLES])
                + (", ..." if len(feature["holes"]) > _HOLES else ""), left=True)]


def _steps(found: Verification) -> Section:
    return Section("Steps", [Table(_STEPS, found.outcomes)])


def _measured(found: Verification) -> list[Section]:
    rows = [[outcome.step, figure.name, figure.value] for outcome in found.outcomes for figure in outcome.figures]
    return [Section("Measured", [Table(["step", "figure", "value"], rows, left=(0, 1, 2))])] if rows else []


def _failures(found: Verification) -> list[Section]:
    from cdma.verif.regression.outcomes import State

    wrong = [outcome for outcome in found.outcomes if outcome.state is State.FAILED or outcome.said]
    late = [outcome.step for outcome in found.outcomes if outcome.state is State.NOT_RUN and not outcome.said]
    sections = []
    if wrong:
        sections.append(Section("What is wrong", [part for outcome in wrong for part in _failure(outcome)]))
    if late:
        sections.append(Section("Not run", [
            f"The budget had ended before these steps: {', '.join(late)}. Give more minutes, or more shards."]))
    return sections


def _failure(outcome: Outcome) -> Sequence[Part]:
    waves = [f"Waves, which end where the test fails: `{outcome.waves}`."] if outcome.waves else []
    return [f"**{outcome.step}**, seed {outcome.seed}: {outcome.state}", Fenced(outcome.said),
            Fenced(f"replay: {outcome.replay}"), *waves]


def _proofs(found: Verification) -> list[Section]:
    rows = [row for row in _rows(found) if row["test"].about]
    return [Section("Proofs", [Table(_PROOFS, rows)])] if rows else []


def _coverage(found: Verification) -> list[Section]:
    about = ("What the benches saw of the coverage plan. Bins of other cores, of codings that are not built and of "
             "values of parameters are left out. Some others need options, or lanes, that this configuration has not.")
    features = found.features()
    return [Section("Coverage", [about, Table(_BINS, features)])] if features else []


def _tests(found: Verification) -> list[Section]:
    rows = [row for row in _rows(found) if not row["test"].about]
    return [Section("Tests", [Table(_TESTS, rows)])] if rows else []


def _rows(found: Verification) -> list[dict[str, Any]]:
    """A row for each test of each step."""
    return [{"step": outcome.step, "seed": outcome.seed, "test": test} for outcome in found.outcomes
            for test in outcome.tests]


def _parameters(found: Verification) -> Section:
    rows = [[f"`{name}`", str(value)] for name, value in found.parameters.items()]
    return Section("Configuration", [Table(["parameter", "value"], rows, left=(0, 1))])
