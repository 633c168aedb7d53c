"""The sign-off: what each stage of verification asks for, and what tools/results has of it.

    python tools/sign_off.py    prints the checklist; exit code 1 says that results are missing or older than the RTL

tools/generate_docs.py writes it into docs/signoff.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from evidence import KINDS, load

from cdma.report.table import Column, Table
from cdma.verif.common.digest import rtl_digest
from cdma.verif.coverage.report import GOALS
from cdma.verif.formal.table import PROOFS


def _suite(run: dict[str, Any]) -> tuple[str, bool]:
    skipped = sum(each["tests"] for each in run["skipped"])
    return (f"{run['tests'] - skipped:,} tests passed, {run['failed']} failed, {skipped} skipped, "
            f"{run['seconds'] / 60:.0f} minutes"), run["failed"] == 0


def _shards(found: dict[str, Any]) -> tuple[str, bool]:
    parts = max(int(shard.partition("/")[2]) for shard in found["shards"])
    runs = [run for shard, run in found["shards"].items() if shard.endswith(f"/{parts}")]
    total = {name: sum(run[name] for run in runs) for name in ("tests", "failed", "seconds")}
    words, met = _suite(total | {"skipped": [skip for run in runs for skip in run["skipped"]]})
    return f"{words}; {len(runs)} of {parts} shards", met and len(runs) == parts


def _icarus(found: dict[str, Any]) -> tuple[str, bool]:
    runs = found["runs"].values()
    return "; ".join(f"`{run['name']}` {run['steps']} steps, {run['cycles']:,} cycles" for run in runs), len(runs) >= 2


def _proofs(found: dict[str, Any]) -> tuple[str, bool]:
    passed = {name for name, proof in found["proofs"].items() if proof["outcome"] == "passed"}
    wanted = {proof.name for proof in PROOFS}
    bounded = sum(found["proofs"][name]["how"].startswith("all runs of ") for name in passed)
    return (f"{len(passed & wanted)} of {len(wanted)} passed: {len(passed) - bounded} unbounded, {bounded} bounded",
            wanted <= passed)


def _share(hit: int, total: int, goal: float) -> tuple[str, bool]:
    return f"{hit / max(total, 1):.2%} of {total:,}", hit >= goal * total > 0


def _bins(found: dict[str, Any]) -> tuple[str, bool]:
    hit, bins, excluded = (sum(each[name] for each in found["features"]) for name in ("hit", "bins", "excluded"))
    return f"{hit:,} of {bins:,}, {excluded} excluded", hit == bins


def _points(kind: str) -> Callable[[dict[str, Any]], tuple[str, bool]]:
    def figure(found: dict[str, Any]) -> tuple[str, bool]:
        parts = [each for each in found["designs"] if each["kind"] == kind]
        return _share(sum(each["hit"] for each in parts), sum(each["points"] for each in parts), GOALS[kind])

    return figure


def _lines(found: dict[str, Any]) -> tuple[str, bool]:
    parts = found["packages"]
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


MEASURED: tuple[tuple[str, str, str, str, str, Callable[[dict[str, Any]], tuple[str, bool]]], ...] = (
    ("V1", "The whole test suite passes", "0 failures", "test", "make test RECORD=1", _suite),
    ("V2", "Proofs pass, each with covers that were reached", "all of the table", "formal", "make formal RECORD=1",
     _proofs),
    ("V3", ("All stimuli on all configurations of the sweep, in which any two options of the engine are both on, both "
     "off, and each alone"), "0 failures", "regression", "make regression RECORD=1", _shards),
    ("V3", "The regression of presets in Icarus too, where registers and memories begin unknown", "2 presets",
     "icarus", "make icarus RECORD=1", _icarus),
    ("V3", "Bins of the coverage plan are hit, or excluded by name with a reason", "all", "coverage",
     "make coverage RECORD=1", _bins),
    ("V3", "Lines of the Verilog of chosen designs are run", f"{GOALS['line']:.0%}", "coverage",
     "make coverage RECORD=1", _points("line")),
    ("V3", "Bits of the Verilog of chosen designs rise and fall", f"{GOALS['toggle']:.0%}", "coverage",
     "make coverage RECORD=1", _points("toggle")),
    ("V3", "Lines of Python are run by tests", f"{GOALS['python']:.0%}", "python",
     "make coverage-python RECORD=1", _lines),
    ("V3", "Faults put into the sources of all units are tried", "300 that make hardware which differs", "mutation",
     "make mutation", lambda found: (f"{len(_verdicts(found))}", len(_verdicts(found)) >= 300)),
    ("V3", "Such faults are found by tests, proofs or benches", "97%", "mutation", "make mutation", _killed),
    ("V3", "Of those that are found, the unit's own tests find", "90%", "mutation", "make mutation", _own),
    ("V3", "Soak of random configurations, traffic, faults and resets without a failure", "240 minutes of a processor",
     "soak", "make soak MINUTES=240 RECORD=1", lambda found: (
         (f"{found['processor_minutes']:.0f} minutes of a processor, {found['configurations']} configurations, "
         f"{found['cases']:,} cases, {len(found['failures'])} failures"),
         found["processor_minutes"] >= 240 and not found["failures"])),
    ("V3", "Pairs of settings of options in random configurations", "97% of all", "soak",
     "make soak MINUTES=240 RECORD=1", lambda found: _share(len(found["pairs"]), found["pairs_of_all"], 0.97)),
    ("V3", "Malformed streams: the model against the plain reference, and the RTL against the model",
     "100,000 and 10,000", "soak", "make soak MINUTES=240 RECORD=1", lambda found: (
         f"{found['streams_golden']:,} and {found['streams_rtl']:,}",
         found["streams_golden"] >= 100_000 and found["streams_rtl"] >= 10_000 and not found["failures"])),
)
"""Stage, claim, target, kind of results, command, and the figure in words with whether the target is met."""

def checklist() -> list[dict[str, Any]]:
    """Every item, by stage."""
    digest, found = rtl_digest(), {kind: load(kind) for kind in KINDS}
    items = []
    for stage, claim, target, kind, command, figure in MEASURED:
        item = {"stage": stage, "met": False, "claim": claim, "target": target, "figure": "not recorded",
                "command": f"`{command}`", "commit": "", "date": ""}
        if (kept := found[kind]) is not None:
            stamp = kept["stamp"]
            words, met = figure(kept["results"])
            fresh = stamp["digest"] == digest
            item |= {"met": met and fresh, "figure": words if fresh else f"{words}; older than the RTL",
                     "commit": stamp["commit"], "date": stamp["date"]}
        items.append(item)
    return items


def stale() -> list[str]:
    """Kinds of results that are missing or older than the RTL."""
    digest = rtl_digest()
    return [kind for kind in KINDS if (kept := load(kind)) is None or kept["stamp"]["digest"] != digest]


def summary(items: list[dict[str, Any]]) -> str:
    """The highest stage of which all items are met, and of those before; and what is missing."""
    stages = sorted({item["stage"] for item in items})
    reached = list(takewhile(lambda stage: all(item["met"] for item in items if item["stage"] == stage), stages))
    says = (f"{f'Stage {reached[-1]}' if reached else 'No stage'} is reached: {sum(item['met'] for item in items)} of "
            f"{len(items)} items are met by results of this RTL (digest {rtl_digest()}).")
    return f"{says} Missing, or older than the RTL: {', '.join(old)}." if (old := stale()) else says


def page() -> str:
    """What docs/signoff.md has of it."""
    items = checklist()
    columns = [Column({"claim": "what"}.get(name, name), name)
               for name in ("stage", "claim", "target", "figure", "command", "commit", "date")]
    met = Column("met", lambda item: "yes" if item["met"] else "**no**")
    return f"{summary(items)}\n\n{Table([met, *columns], items).markdown()}"


def main() -> int:
    """Print the checklist, and what to run."""
    items = checklist()
    print("\n".join(f"{item['stage']} {'yes' if item['met'] else 'no ':3} {item['claim']}: {item['figure']} "
                    f"({item['command']})" for item in items))
    print(f"\n{summary(items)}")
    return 1 if stale() else 0


if __name__ == "__main__":
    sys.exit(main())
