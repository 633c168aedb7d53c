"""The checklist of the sign-off: what each stage asks for, and what the store of results has of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cdma.report.evidence.formal import unrecorded
from cdma.report.evidence.mutation import mutation_figures
from cdma.verif.coverage.report import GOALS
from cdma.verif.evidence.digest import rtl_digest
from cdma.verif.evidence.store import SECTIONS, Evidence
from cdma.verif.mutation.results import GOALS as _MUTANTS

__all__ = ["STAGES", "Item", "checklist", "reached", "stale_sections"]

STAGES = {"V1": "the benches run, on every preset, against an independent model",
          "V2": "all features are tested, and what matters most is proved",
          "V3": "nothing that was planned is open, and the tests themselves are tested"}
"""Stages of verification, and what each means."""

Figure = Callable[[dict[str, Any]], tuple[str, bool]]
"""From the results of a section: the figure in words, and whether the target is met."""


@dataclass(frozen=True)
class Item:
    """A line of the checklist.

    Parameters
    ----------
    stage
        One of :data:`STAGES`.
    claim
        What is asked for.
    target
        The least figure, in words.
    figure
        What was found, in words.
    met
        Whether the target is met, by results of the present RTL.
    command
        What makes the figure again.
    commit, date
        Of the results; empty where there are none.
    """

    stage: str
    claim: str
    target: str
    figure: str
    met: bool
    command: str
    commit: str = ""
    date: str = ""


@dataclass(frozen=True)
class _Tested:
    """Something that tests check: it is met when all tests passed."""

    stage: str
    claim: str
    tests: str


@dataclass(frozen=True)
class _Measured:
    """Something that a section of the store has a figure of."""

    stage: str
    claim: str
    target: str
    section: str
    command: str
    figure: Figure
    part: str = ""


_TESTED = (
    _Tested("V1", "Formats are written down, and their plain reference is made from the page alone",
            "tests/golden/reference"),
    _Tested("V1", "The model never imports the hardware, nor the hardware the model", "tests/test_rooms.py"),
    _Tested("V1", "Every preset of the engine is generated and linted, each waiver with a reason",
            "tests/verif/engine/test_engines.py"),
    _Tested("V1", "Every preset of the engine is simulated against the model, byte for byte",
            "tests/verif/engine/test_engines.py"),
    _Tested("V1", "Every preset of the cores is simulated against the model, byte for byte",
            "tests/verif/core/test_cores.py"),
    _Tested("V1", "Every preset of the block cores is simulated against the model, byte for byte",
            "tests/verif/core/test_block_cores.py"),
    _Tested("V1", "Every register has the reset value and the writable bits of the map",
            "tests/verif/engine/test_handover.py"),
    _Tested("V1", "Every component has a test of its own against a specification in Python", "tests/hdl"),
    _Tested("V2", "Bad descriptors, bad streams, errors of memories, aborts and resets at any time leave every other "
            "byte as it was", "tests/verif/engine/test_engines.py"),
    _Tested("V2", "Each rule of AXI4, AXI4-Lite and AXI4-Stream finds a seeded violation", "tests/verif/rules"),
    _Tested("V2", "The rules are at every port of engine and cores in every simulation",
            "tests/verif/engine/test_bound_rules.py"),
    _Tested("V2", "The coverage plan has bins for each status, register, coding and parameter",
            "tests/verif/coverage/test_plan.py"),
    _Tested("V2", "Ports that do not answer end transfers with a status", "tests/verif/engine/test_timeouts.py"),
    _Tested("V2", "A link with a clock of its own: unrelated frequencies, jitter, resets, a clock that stands",
            "tests/verif/engine/test_link_clock.py"),
    _Tested("V2", "Registers begin with random values, in two-state and four-state simulators",
            "tests/verif/engine/test_power_up.py"),
    _Tested("V2", "Memories and buses of others (cocotbext-axi) see the same bytes",
            "tests/verif/engine/test_engines.py"),
    _Tested("V2", "The drivers in C and in Python work on the simulated registers",
            "tests/verif/engine/test_handover.py"),
    _Tested("V2", "Register map, IP-XACT, constraints, and the C library of streams agree with the hardware",
            "tests/hdl/generate/handover"),
    _Tested("V2", "Others verify a configuration of theirs with one command, and a fault fails it",
            "tests/cdma/commands/test_verify.py"),
)


_NONE = "not recorded"


def _test(results: dict[str, Any]) -> tuple[str, bool]:
    return _suite(results["test"]) if "test" in results else (_NONE, False)


def _regression(results: dict[str, Any]) -> tuple[str, bool]:
    shards = results.get("regression", {})
    if not shards:
        return _NONE, False
    parts = int(next(iter(shards)).partition("/")[2])
    suites = list(shards.values())
    total = {name: sum(each[name] for each in suites) for name in ("tests", "failed", "seconds")}
    reasons: Counter[str] = Counter()
    for skip in (skip for each in suites for skip in each["skipped"]):
        reasons[skip["reason"]] += skip["tests"]
    skipped = [{"reason": reason, "tests": tests} for reason, tests in sorted(reasons.items())]
    words, met = _suite({**total, "skipped": skipped})
    return (words, met) if len(suites) == parts else (f"{words}; {len(suites)} of {parts} shards", False)


_ICARUS_PRESETS = 2


def _icarus(results: dict[str, Any]) -> tuple[str, bool]:
    runs = results.get("icarus", {}).values()
    words = "; ".join(f"`{each['name']}` {each['steps']} steps, {each['cycles']:,} cycles" for each in runs)
    return words or _NONE, sum(not each["unfinished"] for each in runs) >= _ICARUS_PRESETS


def _suite(results: dict[str, Any]) -> tuple[str, bool]:
    skipped = sum(each["tests"] for each in results["skipped"])
    reasons = "; ".join(each["reason"] for each in results["skipped"])
    because = f" ({reasons})" if reasons else ""
    words = (f"{results['tests'] - skipped:,} tests passed, {results['failed']} failed, {skipped} skipped{because}, "
             f"{results['seconds'] / 60:.0f} minutes")
    return words, results["failed"] == 0


def _proofs(results: dict[str, Any]) -> tuple[str, bool]:
    proofs = list(results["proofs"].values())
    passed = [proof for proof in proofs if proof["outcome"] == "passed"]
    bounded = sum(proof["how"].startswith("all runs of ") for proof in passed)
    missing = unrecorded(results)
    there = len(proofs) + len(missing)
    words = f"{len(passed)} of {there} passed: {len(passed) - bounded} unbounded, {bounded} bounded"
    return f"{words}; {len(missing)} not recorded" if missing else words, not missing and len(passed) == len(proofs)


_SOAK_MINUTES, _STREAMS_MODEL, _STREAMS_RTL = 240, 100_000, 10_000
_PAIRS = 0.97


def _soak(results: dict[str, Any]) -> tuple[str, bool]:
    words = (f"{results['processor_minutes']:.0f} minutes of a processor, {results['configurations']} configurations, "
             f"{results['cases']:,} cases, {len(results['failures'])} failures")
    return words, results["processor_minutes"] >= _SOAK_MINUTES and not results["failures"]


def _pairs(results: dict[str, Any]) -> tuple[str, bool]:
    seen, there = len(results["pairs"]), results["pairs_of_all"]
    return f"{seen:,} of {there:,}", seen >= _PAIRS * there


def _streams(results: dict[str, Any]) -> tuple[str, bool]:
    model, rtl = results["streams_golden"], results["streams_rtl"]
    met = model >= _STREAMS_MODEL and rtl >= _STREAMS_RTL and not results["failures"]
    return f"{model:,} and {rtl:,}", met


def _mutants(results: dict[str, Any]) -> tuple[str, bool]:
    score = mutation_figures(results)
    return f"{score.counted:,}", score.counted >= _MUTANTS["mutants"]


def _killed(results: dict[str, Any]) -> tuple[str, bool]:
    score = mutation_figures(results)
    return _share(score.killed, score.counted, _MUTANTS["killed"])


def _own(results: dict[str, Any]) -> tuple[str, bool]:
    score = mutation_figures(results)
    return _share(score.own, score.killed, _MUTANTS["own"])


def _bins(results: dict[str, Any]) -> tuple[str, bool]:
    features = results.get("features", [])
    hit, bins, excluded = (sum(each[name] for each in features) for name in ("hit", "bins", "excluded"))
    return f"{hit:,} of {bins:,}, {excluded} excluded", bool(bins) and hit == bins


def _verilog(kind: str) -> Figure:
    def figure(results: dict[str, Any]) -> tuple[str, bool]:
        parts = [each for each in results.get("designs", []) if each["kind"] == kind]
        return _share(sum(each["hit"] for each in parts), sum(each["points"] for each in parts), GOALS[kind])

    return figure


def _python(results: dict[str, Any]) -> tuple[str, bool]:
    parts = results.get("packages", [])
    return _share(sum(each["hit"] for each in parts), sum(each["lines"] for each in parts), GOALS["python"])


def _share(hit: int, total: int, goal: float) -> tuple[str, bool]:
    return (f"{hit / total:.2%} of {total:,}", hit >= goal * total) if total else (_NONE, False)


_MEASURED: tuple[_Measured, ...] = (
    _Measured("V1", "The whole test suite passes", "0 failures", "regression", "make test RECORD=1", _test,
              "test"),
    _Measured("V2", "Proofs pass, each with covers that were reached", "all of the table", "formal",
              "make formal RECORD=1", _proofs),
    _Measured("V3", "All stimuli on all configurations of the sweep, in which any two options of the engine are both "
              "on, both off, and each alone", "0 failures", "regression", "make regression RECORD=1",
              _regression, "regression"),
    _Measured("V3", "The regression of presets in Icarus too, where registers and memories begin unknown",
              f"{_ICARUS_PRESETS} presets", "regression", "make icarus RECORD=1", _icarus, "icarus"),
    _Measured("V3", "Bins of the coverage plan are hit, or excluded by name with a reason", "all", "coverage",
              "make coverage RECORD=1", _bins, "verilog"),
    _Measured("V3", "Lines of the Verilog of chosen designs are run", f"{GOALS['line']:.0%}", "coverage",
              "make coverage RECORD=1", _verilog("line"), "verilog"),
    _Measured("V3", "Bits of the Verilog of chosen designs rise and fall", f"{GOALS['toggle']:.0%}", "coverage",
              "make coverage RECORD=1", _verilog("toggle"), "verilog"),
    _Measured("V3", "Lines of Python are run by tests", f"{GOALS['python']:.0%}", "coverage",
              "make coverage-python RECORD=1", _python, "python"),
    _Measured("V3", "Faults put into the sources of all units are tried", f"{_MUTANTS['mutants']} that make hardware "
              "which differs", "mutation", "make mutation RECORD=1", _mutants),
    _Measured("V3", "Such faults are found by tests, proofs or benches", f"{_MUTANTS['killed']:.0%}", "mutation",
              "make mutation RECORD=1", _killed),
    _Measured("V3", "Of those that are found, the unit's own tests find", f"{_MUTANTS['own']:.0%}", "mutation",
              "make mutation RECORD=1", _own),
    _Measured("V3", "Soak of random configurations, traffic, faults and resets without a failure",
              f"{_SOAK_MINUTES} minutes of a processor", "soak", "make soak MINUTES=240 RECORD=1", _soak),
    _Measured("V3", "Pairs of settings of options in random configurations", f"{_PAIRS:.0%} of all", "soak",
              "make soak MINUTES=240 RECORD=1", _pairs),
    _Measured("V3", "Malformed streams: the model against the plain reference, and the RTL against the model",
              f"{_STREAMS_MODEL:,} and {_STREAMS_RTL:,}", "soak", "make soak MINUTES=240 RECORD=1", _streams),
)


def checklist(evidence: Evidence, digest: str | None = None) -> list[Item]:
    """The checklist, by stage.

    Parameters
    ----------
    evidence
        The store of results.
    digest
        Of the RTL; that of this tree when not given.
    """
    digest = digest or rtl_digest()
    found = [*_of_tests(evidence, digest), *_of_sections(evidence, digest)]
    return sorted(found, key=lambda item: item.stage)


def _of_tests(evidence: Evidence, digest: str) -> Iterator[Item]:
    suite = (evidence.results("regression") or {}).get("test")
    stamp = evidence.stamp("regression", "test") if suite else None
    good = suite is not None and suite["failed"] == 0 and not evidence.stale("regression", digest)
    for each in _TESTED:
        figure = f"`{each.tests}`" + (" passed" if good else " not recorded for this RTL")
        yield Item(each.stage, each.claim, "all tests pass", figure, good, f"pytest {each.tests}",
                   stamp.commit if stamp else "", stamp.date if stamp else "")


def _of_sections(evidence: Evidence, digest: str) -> Iterator[Item]:
    for each in _MEASURED:
        stamp, results = evidence.stamp(each.section, each.part), evidence.results(each.section)
        figure, met = (_NONE, False) if results is None else each.figure(results)
        if stamp is None or figure == _NONE:
            yield Item(each.stage, each.claim, each.target, figure, False, each.command)
            continue
        if stale := evidence.stale(each.section, digest):
            figure = f"{figure}; older than the RTL"
        yield Item(each.stage, each.claim, each.target, figure, met and not stale, each.command, stamp.commit,
                   stamp.date)


def reached(items: list[Item]) -> str | None:
    """The highest stage that is reached: all items of it, and of those before, are met. None if V1 is not."""
    stage = None
    for name in STAGES:
        if not all(item.met for item in items if item.stage == name):
            break
        stage = name
    return stage


def stale_sections(evidence: Evidence, digest: str | None = None) -> list[str]:
    """Sections that are missing or older than the RTL."""
    digest = digest or rtl_digest()
    return [name for name in SECTIONS if evidence.stale(name, digest)]
