"""Tries mutants: the quickest tests first, up to the first that fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from cdma.golden.results import to_json
from cdma.verif.coverage.runs import CHOSEN
from cdma.verif.evidence.digest import ROOT
from cdma.verif.formal.table import PROOFS
from cdma.verif.mutation.children import Children
from cdma.verif.mutation.mutant import Mutant
from cdma.verif.mutation.reach import BASE_LIMIT, WHOLE, Baselines, distances, own_tests, reaches
from cdma.verif.mutation.results import MutantResult, Verdict
from cdma.verif.regression.plan import LINT, THROUGHPUT, steps

__all__ = ["BUDGET", "BUILD", "Trial", "try_mutants"]

BUILD = Path("build/mutation")
"""Where baselines are kept, when no folder is given."""

BUDGET = 240.0
"""Seconds of a processor that tests of other units take for one mutant without it, when nothing else is asked for."""

_TIMES, _MORE = 3.0, 15.0
"""A mutant may take so many times the seconds that tests take without it, and so many more."""

_NO_BENCH = ("wide", "mixed")

_COMPILER = 400.0
"""Seconds of a processor for the compiler, in the first bench of a mutant, where its baseline may have had none."""

_EQUIVALENCE = 300.0
"""Seconds of a processor for the proof that two netlists do the same."""


def try_mutants(mutants: Sequence[Mutant], *, folder: Path = BUILD, budget: float = BUDGET, benches: bool = True,
                own_only: bool = False, times: Path | None = None, before: Mapping[str, MutantResult] | None = None,
                progress: Callable[[str, int, int], None] | None = None) -> Iterator[MutantResult]:
    """Try mutants one after the other, and give the result of each as it comes.

    Parameters
    ----------
    folder
        Where baselines are kept, and ``log.jsonl``, with a line for each mutant.
    budget
        Seconds of a processor that tests of other units may take for each.
    benches
        Whether to simulate Verilog of what all tests pass; that of whole designs is simulated in any case.
    own_only
        Whether to try the units' own tests and proofs alone: what these do not find survives.
    times
        A JUnit file of pytest with the seconds that tests take; what is not in it is run once.
    before
        Results of earlier RTL by the mutants' names. The test that found a mutant then comes first; of one that no test
        found, netlists and the proof about them come before tests of other units. No verdict is taken over.
    progress
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If this is no clone of the repository, if a package is missing, or if a test fails without a mutant.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Children() as children:
        trial = Trial(children, Baselines(folder, children, times), budget, benches, own_only, before or {})
        for number, mutant in enumerate(mutants):
            if progress is not None:
                progress(f"mutants, now {mutant.path}", number, len(mutants))
            result = trial.judge(mutant)
            with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
                log.write(json.dumps(to_json(result)) + "\n")
            yield result


class Trial:
    """Tries mutants in children that are there; parameters as of :func:`try_mutants`."""

    def __init__(self, children: Children, baselines: Baselines, budget: float, benches: bool,
                 own_only: bool = False, before: Mapping[str, MutantResult] = MappingProxyType({})) -> None:
        self._children = children
        self._baselines = baselines
        self._budget = budget
        self._benches = benches
        self._own_only = own_only
        self._before = before

    def judge(self, mutant: Mutant) -> MutantResult:
        """Try own tests and proofs, tests of other units, netlists and benches, in this order."""
        used = 0.0
        verdict, by, said = Verdict.SURVIVED, "", ""
        for verdict_if, found in self._stages(mutant):
            used += found["processor_s"]
            outcome = found["outcome"]
            if outcome != "passed":
                verdict = Verdict.INVALID if outcome == "invalid" else verdict_if
                by, said = found["by"], outcome if outcome in ("timeout", "died") else found["said"]
                break
        return MutantResult(mutant.name, mutant.operator, verdict, by, said, round(used, 1))

    def _stages(self, mutant: Mutant) -> Iterator[tuple[Verdict, dict[str, Any]]]:
        """Each thing that is tried, with the verdict if it fails."""
        own = own_tests(mutant.path)
        before = self._before.get(mutant.name)
        if before is not None and before.verdict in (Verdict.OWN, Verdict.OTHER):
            yield from self._as_before(mutant, before.by, own)
        named = [name for name in own if f"/test_{Path(mutant.path).stem}" in name]
        for files in (named, [name for name in own if name not in named]):
            yield from ((Verdict.OWN, each) for each in self._tests(mutant, files, inf))
        yield from ((Verdict.OWN, each) for each in self._proofs(mutant))
        if whole := WHOLE.get(mutant.path):
            yield from ((Verdict.OWN, each) for each in self._simulations(mutant, [whole]))
        if self._own_only:
            return
        netlists_first = before is not None and before.verdict in (Verdict.SAME, Verdict.PROVED, Verdict.SURVIVED)
        if not netlists_first:
            yield from self._others(mutant, own)
        designs = [name for name in CHOSEN if reaches(self._baselines.netlist(name), mutant)]
        differ = []
        with TemporaryDirectory(prefix="cdma-netlists-") as place:
            for name in designs:
                plain = self._baselines.netlist(name)
                made = self._children.do("netlist", self._limit(plain["processor_s"]), mutant, design=name,
                                         kept=f"{place}/{name}.il")
                yield Verdict.OTHER, made
                if made["digest"] != plain["digest"]:
                    differ.append(name)
            if designs and not differ:
                yield Verdict.SAME, _alike("same", f"netlists of {', '.join(designs)}", 0.0)
                return
            proved, used = self._proved(differ, Path(place))
        if differ and proved:
            yield Verdict.PROVED, _alike("proved", f"proof about the netlists of {', '.join(differ)}", used)
            return
        if netlists_first:
            yield from self._others(mutant, own)
        if self._benches and whole not in differ:     # otherwise the benches of the unit's own design have run
            yield from ((Verdict.OTHER, each) for each in self._simulations(mutant, differ))

    def _as_before(self, mutant: Mutant, test: str, own: Sequence[str]) -> Iterator[tuple[Verdict, dict[str, Any]]]:
        """The test that found a mutant with earlier RTL, if it is still there and still finds it."""
        file, _, name = test.partition("::")
        if name and (ROOT / file).is_file():
            found = self._children.do("tests", self._limit(self._baselines.tests(file)), mutant, files=[test])
            if found["by"] == test and found.get("ran"):
                yield Verdict.OWN if file in own else Verdict.OTHER, found

    def _others(self, mutant: Mutant, own: Sequence[str]) -> Iterator[tuple[Verdict, dict[str, Any]]]:
        """Tests of other units, the nearest first, while the budget lasts."""
        budget = self._budget
        for distance in sorted(set((near := distances(mutant.path)).values())):
            others = [name for name, number in near.items() if number == distance and name not in own]
            yield from ((Verdict.OTHER, each) for each in self._tests(mutant, others, budget))
            budget -= sum(map(self._baselines.tests, others))
            if budget < 0:
                break

    def _proved(self, designs: Sequence[str], place: Path) -> tuple[bool, float]:
        """Whether a proof says that all of some designs do the same with a mutant, whose netlists are in a folder, and
        the seconds of a processor that it took."""
        used = 0.0
        for name in designs:
            plain = place / f"plain-{name}.il"
            made = self._children.do("netlist", BASE_LIMIT, design=name, kept=str(plain))
            found = self._children.do("equivalence", _EQUIVALENCE, design=name, plain=str(plain),
                                      other=f"{place}/{name}.il")
            used += made["processor_s"] + found["processor_s"]
            if found["outcome"] != "proved":
                return False, used
        return True, used

    def _tests(self, mutant: Mutant, files: Sequence[str], budget: float) -> Iterator[dict[str, Any]]:
        """Run files of tests, the quickest first, while the budget lasts."""
        seconds = {file: self._baselines.tests(file) for file in files}
        for file in sorted(files, key=seconds.__getitem__):
            budget -= seconds[file]
            if budget < 0:
                return
            found = self._children.do("tests", self._limit(seconds[file]), mutant, files=[file])
            yield {**found, "by": found["by"] or file}

    def _proofs(self, mutant: Mutant) -> Iterator[dict[str, Any]]:
        for proof in PROOFS:
            if mutant.path in (proof.unit, f"{proof.unit}/{Path(mutant.path).name}") and proof.set == "shallow":
                limit = self._limit(self._baselines.proof(proof.name))
                yield self._children.do("proof", limit, mutant, proof=proof.name, limit=limit)

    def _simulations(self, mutant: Mutant, designs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Benches of the smallest of some designs."""
        usable = [name for name in designs if name not in _NO_BENCH]
        if not usable:
            return
        design = min(usable, key=lambda name: self._baselines.netlist(name)["processor_s"])
        with TemporaryDirectory(prefix="cdma-builds-") as builds:
            for step in steps(CHOSEN[design][0]):
                if step.name not in (LINT, THROUGHPUT, "bus_models"):
                    limit = _COMPILER + self._limit(self._baselines.bench(design, step.name))
                    yield self._children.do("bench", limit, mutant, design=design, step=step.name, builds=builds)

    @staticmethod
    def _limit(seconds: float) -> float:
        return _TIMES * seconds + _MORE


def _alike(outcome: str, by: str, processor_s: float) -> dict[str, Any]:
    """What says that a mutant does the same."""
    return {"outcome": outcome, "by": by, "said": "", "processor_s": processor_s}
