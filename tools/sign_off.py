"""The sign-off: what each stage of verification asks for, and what tools/results has of it.

    python tools/sign_off.py    prints the checklist; exit code 1 says that results are missing or older than the RTL

tools/generate_docs.py writes it as docs/signoff.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from evidence import KINDS, load

from cdma.hdl.config.catalog import kinds
from cdma.report.table import Table
from cdma.verif.common.digest import rtl_digest
from cdma.verif.coverage.report import GOALS
from cdma.verif.formal.table import PROOFS

STAGES = {"V1": "the benches run, on every preset, against an independent model",
          "V2": "all features are tested, and what matters most is proved",
          "V3": "nothing that was planned is open, and the tests themselves are tested"}

TESTED = (
    ("V1", "Formats are written down, and their plain reference is made from the page alone", "tests/golden"),
    ("V1", "The model never imports the hardware, nor the hardware the model", "tests/test_rooms.py"),
    ("V1", "Every preset of the engine is generated and linted, each waiver with a reason", "tests/verif/engine"),
    ("V1", "Every preset of the engine is simulated against the model, byte for byte", "tests/verif/engine"),
    ("V1", "Every preset of the cores is simulated against the model, byte for byte", "tests/verif/core"),
    ("V1", "Every register has the reset value and the writable bits of the map", "tests/verif/engine"),
    ("V1", "Every component is tested, alone or in what it is part of, against a specification in Python", "tests/hdl"),
    ("V2", ("Bad descriptors, bad streams, errors of memories, aborts and resets at any time leave every other byte as "
     "it was"), "tests/verif/engine"),
    ("V2", "Each rule of AXI4, AXI4-Lite and AXI4-Stream finds a seeded violation", "tests/verif/rules"),
    ("V2", "The rules are at every port of engine and cores in every simulation", "tests/verif/engine"),
    ("V2", "The coverage plan has bins for each status, register, coding and parameter", "tests/verif/coverage"),
    ("V2", "Ports that do not answer end transfers with a status", "tests/verif/engine"),
    ("V2", "A link with a clock of its own: unrelated frequencies, jitter, resets, a clock that stands",
     "tests/verif/engine"),
    ("V2", "Registers begin with random values, in two-state and four-state simulators", "tests/verif/engine"),
    ("V2", "Memories and buses of others (cocotbext-axi) see the same bytes", "tests/verif/engine"),
    ("V2", "The driver works on the simulated registers", "tests/verif/engine"),
    ("V2", "Register map, IP-XACT, constraints, and the C library of streams agree with the hardware",
     "tests/hdl/generate/handover"),
    ("V2", "Others verify a configuration of theirs with one command, and a fault fails it", "tests/cdma"),
)
"""Stage, claim and tests: met when the whole suite passed on this RTL."""


def _suite(run: dict[str, Any] | None) -> tuple[str, bool]:
    if run is None:
        return "not recorded", False
    skipped = sum(each["tests"] for each in run["skipped"])
    return (f"{run['tests'] - skipped:,} tests passed, {run['failed']} failed, {skipped} skipped, "
            f"{run['seconds'] / 60:.0f} minutes"), run["failed"] == 0


def _shards(found: dict[str, Any]) -> tuple[str, bool]:
    runs = list(found.get("regression", {}).values())
    if not runs:
        return "not recorded", False
    total = {name: sum(run[name] for run in runs) for name in ("tests", "failed", "seconds")}
    words, met = _suite(total | {"skipped": [skip for run in runs for skip in run["skipped"]]})
    parts = int(next(iter(found["regression"])).partition("/")[2])
    return f"{words}; {len(runs)} of {parts} shards", met and len(runs) == parts


def _icarus(found: dict[str, Any]) -> tuple[str, bool]:
    runs = found.get("icarus", {}).values()
    return "; ".join(f"`{run['name']}` {run['steps']} steps, {run['cycles']:,} cycles" for run in runs), len(runs) >= 2


def _proofs(found: dict[str, Any]) -> tuple[str, bool]:
    passed = {name for name, proof in found["proofs"].items() if proof["outcome"] == "passed"}
    wanted = {proof.name for proof in PROOFS}
    bounded = sum(found["proofs"][name]["how"].startswith("all runs of ") for name in passed)
    return (f"{len(passed & wanted)} of {len(wanted)} passed: {len(passed) - bounded} unbounded, {bounded} bounded",
            wanted <= passed)


def _share(hit: int, total: int, goal: float) -> tuple[str, bool]:
    return (f"{hit / total:.2%} of {total:,}", hit >= goal * total) if total else ("not recorded", False)


def _bins(found: dict[str, Any]) -> tuple[str, bool]:
    hit, bins, excluded = (sum(each[name] for each in found["features"]) for name in ("hit", "bins", "excluded"))
    return f"{hit:,} of {bins:,}, {excluded} excluded", hit == bins


def _points(kind: str) -> Callable[[dict[str, Any]], tuple[str, bool]]:
    def figure(found: dict[str, Any]) -> tuple[str, bool]:
        parts = [each for each in found["designs"] if each["kind"] == kind]
        return _share(sum(each["hit"] for each in parts), sum(each["points"] for each in parts), GOALS[kind])

    return figure


def _lines(found: dict[str, Any]) -> tuple[str, bool]:
    parts = found.get("packages", [])
    return _share(sum(each["hit"] for each in parts), sum(each["lines"] for each in parts), GOALS["python"])


def _verdicts(found: dict[str, Any]) -> list[str]:
    verdicts = [each.partition("|")[0] for each in found["mutants"].values()]
    return [each for each in verdicts if each in ("own", "other", "survived")]


def _killed(found: dict[str, Any]) -> tuple[str, bool]:
    verdicts = _verdicts(found)
    return _share(len(verdicts) - verdicts.count("survived"), len(verdicts), 0.97)


def _own(found: dict[str, Any]) -> tuple[str, bool]:
    verdicts = _verdicts(found)
    return _share(verdicts.count("own"), len(verdicts) - verdicts.count("survived"), 0.9)


MEASURED: tuple[tuple[str, str, str, str, str, str, Callable[[dict[str, Any]], tuple[str, bool]]], ...] = (
    ("V1", "The whole test suite passes", "0 failures", "regression", "test", "make test RECORD=1",
     lambda found: _suite(found.get("test"))),
    ("V2", "Proofs pass, each with covers that were reached", "all of the table", "formal", "", "make formal RECORD=1",
     _proofs),
    ("V3", ("All stimuli on all configurations of the sweep, in which any two options of the engine are both on, both "
     "off, and each alone"), "0 failures", "regression", "regression", "make regression RECORD=1", _shards),
    ("V3", "The regression of presets in Icarus too, where registers and memories begin unknown", "2 presets",
     "regression", "icarus", "make icarus RECORD=1", _icarus),
    ("V3", "Bins of the coverage plan are hit, or excluded by name with a reason", "all", "coverage", "verilog",
     "make coverage RECORD=1", _bins),
    ("V3", "Lines of the Verilog of chosen designs are run", f"{GOALS['line']:.0%}", "coverage", "verilog",
     "make coverage RECORD=1", _points("line")),
    ("V3", "Bits of the Verilog of chosen designs rise and fall", f"{GOALS['toggle']:.0%}", "coverage", "verilog",
     "make coverage RECORD=1", _points("toggle")),
    ("V3", "Lines of Python are run by tests", f"{GOALS['python']:.0%}", "coverage", "python",
     "make coverage-python RECORD=1", _lines),
    ("V3", "Faults put into the sources of all units are tried", "300 that make hardware which differs", "mutation", "",
     "make mutation", lambda found: (f"{len(_verdicts(found))}", len(_verdicts(found)) >= 300)),
    ("V3", "Such faults are found by tests, proofs or benches", "97%", "mutation", "", "make mutation", _killed),
    ("V3", "Of those that are found, the unit's own tests find", "90%", "mutation", "", "make mutation", _own),
    ("V3", "Soak of random configurations, traffic, faults and resets without a failure", "240 minutes of a processor",
     "soak", "", "make soak MINUTES=240 RECORD=1", lambda found: (
         (f"{found['processor_minutes']:.0f} minutes of a processor, {found['configurations']} configurations, "
         f"{found['cases']:,} cases, {len(found['failures'])} failures"),
         found["processor_minutes"] >= 240 and not found["failures"])),
    ("V3", "Pairs of settings of options in random configurations", "97% of all", "soak", "",
     "make soak MINUTES=240 RECORD=1", lambda found: _share(len(found["pairs"]), found["pairs_of_all"], 0.97)),
    ("V3", "Malformed streams: the model against the plain reference, and the RTL against the model",
     "100,000 and 10,000", "soak", "", "make soak MINUTES=240 RECORD=1", lambda found: (
         f"{found['streams_golden']:,} and {found['streams_rtl']:,}",
         found["streams_golden"] >= 100_000 and found["streams_rtl"] >= 10_000 and not found["failures"])),
)
"""Stage, claim, target, kind of results, part that has a stamp of its own, command, and the figure in words with
whether the target is met."""

LIMITS = """\
- No silicon and no board: everything here is simulation, proof and synthesis. Images for boards are simulated, placed
  and routed.
- Configurations that are neither presets nor in the sweep are drawn at random by `make soak`, and there are more of
  them than can be simulated: run [`cdma verify`](ci.md) on yours.
- No simulation of a netlist after synthesis or of delays, and no scan chains: those belong to your flow. The RTL has no
  latches, no tristates, and one clock, or two with [`link_clock`](integration.md).
- Clock crossings are simulated with random sampling and unrelated clocks, and constrained; no CDC tool of a vendor was
  run.
- Proofs of codecs are bounded, each to the depth that it states, and of blocks that a parameter makes smaller. Longer
  blocks are simulated.
- Memory macros are modelled by the wrapper of the hand-over. Parity finds an odd number of flipped bits and corrects
  none."""


_HEAD = """\
For those who put the engine into their chip: what was checked, how far, with which command, on which commit. `make
signoff` prints this list, and fails when a result is older than the RTL. [Verification](verification.md) says how to
reproduce them. The stages:"""
_OLD = """\
Such results say what held of the RTL of their commit. While the hardware is being changed, what a change touches is
proved and simulated with it; all results are recorded again, at once, on the final RTL."""
_SUPPORTED = """\
Every preset is generated and simulated in every `make test`; with `make test-extended`, each is linted too and gets
more stimuli:"""
_OTHERS = """\
Other parameters within the ranges of [Configuration](configuration.md) are supported too: a sweep of engines has every
pair of options, and `make soak` draws others."""


class Item(NamedTuple):
    """A line of the checklist."""

    stage: str
    met: bool
    claim: str
    target: str
    figure: str
    command: str
    commit: str
    date: str


def checklist() -> list[Item]:
    """Every item, by stage."""
    digest, found = rtl_digest(), {kind: load(kind) for kind in KINDS}
    items = []
    for stage, claim, target, kind, part, command, figure in MEASURED:
        kept = found[kind]
        if kept is None:
            items.append(Item(stage, False, claim, target, "not recorded", command, "", ""))
            continue
        stamp = kept["results"].get("stamps", {}).get(part, kept["stamp"])
        words, met = figure(kept["results"])
        fresh = stamp["digest"] == digest
        words = words if fresh else f"{words}; older than the RTL"
        items.append(Item(stage, met and fresh, claim, target, words, command, stamp["commit"], stamp["date"]))
    suite = items[0]
    passed = "passed" if suite.met else "not recorded for this RTL"
    items += [Item(stage, suite.met, claim, "all tests pass", f"`{tests}` {passed}", f"pytest {tests}", suite.commit,
                   suite.date) for stage, claim, tests in TESTED]
    return sorted(items, key=lambda item: item.stage)


def stale() -> list[str]:
    """Kinds of results that are missing or older than the RTL."""
    digest = rtl_digest()
    return [kind for kind in KINDS if (kept := load(kind)) is None or kept["stamp"]["digest"] != digest]


def reached(items: list[Item]) -> str | None:
    """The highest stage of which all items are met, and of those before."""
    stage = None
    for name in STAGES:
        if not all(item.met for item in items if item.stage == name):
            break
        stage = name
    return stage


def page() -> str:
    """docs/signoff.md."""
    items, stage, old = checklist(), reached(checklist()), stale()
    says = f"Stage {stage} is reached" if stage else "No stage is reached"
    parts = ["# Sign-off", _HEAD, "\n".join(f"- **{name}**: {meaning}." for name, meaning in STAGES.items()),
             (f"**{says}**: {sum(item.met for item in items)} of {len(items)} items are met by results of this RTL "
             f"(digest `{rtl_digest()}`).")]
    if old:
        parts.append(f"Missing, or older than the RTL: {', '.join(old)}. {_OLD}")
    for name, meaning in STAGES.items():
        rows = [["yes" if item.met else "**no**", *item[2:5], f"`{item.command}`", item.commit, item.date]
                for item in items if item.stage == name]
        head = ["met", "what", "target", "figure", "command", "commit", "date"]
        parts += [f"## {name}: {meaning}", Table(head, rows, left=range(7)).markdown()]
    presets = [[f"`{name}`", kind.replace("_", " "), str(config.as_dict()["about"])]
               for kind, (_, found) in kinds().items() for name, config in found.items()]
    parts += ["## Supported configurations", _SUPPORTED,
              Table(["preset", "kind", "what it is for"], presets, left=range(3)).markdown(), _OTHERS,
              "## What is not covered", LIMITS]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Print the checklist, and what to run."""
    items, old = checklist(), stale()
    rows = [["yes" if item.met else "no", item.stage, item.claim, item.figure] for item in items]
    print(Table(["met", "stage", "what", "figure"], rows, left=range(4)).text())
    print(f"\nStage reached: {reached(items) or 'none'}")
    if old:
        print(f"missing, or older than the RTL: {', '.join(old)}: run " +
              ", ".join(f"make {'test' if kind == 'regression' else kind} RECORD=1" for kind in old), file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
