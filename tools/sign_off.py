"""The sign-off: what verification found, and what each of its stages asks for.

    python tools/sign_off.py                                             prints the checklist
    python tools/sign_off.py test build/whole.xml                        keeps JUnit of pytest
    python tools/sign_off.py regression build/regression.xml 2/4         a shard of it
    python tools/sign_off.py icarus build/icarus/tiny/results.json ...   reports of cdma verify --simulator icarus
    python tools/sign_off.py formal build/formal.json                    what cdma prove --json printed
    python tools/sign_off.py soak build/soak.json                        what cdma soak --json printed
    python tools/sign_off.py coverage build/coverage.json                what tools/cover.py wrote
    python tools/sign_off.py python build/python.json                    what coverage json wrote
    python tools/sign_off.py figures build/compare.json                  what cdma bench --compare --json printed

Results are a file a kind in tools/results, with the commit and the digest of the sources that they depend on: the RTL
and its generator, and the model, benches, proofs or tests. The digest is taken when a result is kept, so do not change
sources during a run; versions of simulators and solvers are not in it. Results of other sources are dropped, those of
the same are joined. What failed is not kept, but for mutants and soaks. Exit code 1 of the checklist says that an item
is not met by results of these sources; tools/generate_docs.py writes it into docs/signoff.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cdma.hdl.config.files import write_file
from cdma.report.table import Column, Table
from cdma.verif.common.digest import ROOT, rtl_digest, source_digest
from cdma.verif.coverage.plan import ACCESS, PLAN
from cdma.verif.coverage.report import GOALS
from cdma.verif.formal.table import PROOFS

RESULTS = ROOT / "tools/results"
FROZEN = ROOT / "tools/mutants.json"
FIGURES = ROOT / "bench/performance.json"
_BENCHES = ("golden", "verif/common", "verif/core", "verif/engine", "verif/regression", "verif/rules")
_ALL = ("cdma", "golden", "hdl", "synth", "tests", "tools", "verif", "workload")
KINDS = {"test": _ALL, "icarus": (*_BENCHES, "cdma/measure"),
         "regression": ("cdma/driver", "cdma/measure", "golden", "hdl", "synth", "tests/conftest.py",
                        "tests/extended.py", "tests/hdl/selftest", "tests/lint.py", "tests/verif", "verif", "workload"),
         "formal": ("verif/formal", "verif/rules"), "coverage": (*_BENCHES, "verif/coverage", "tools/cover.py"),
         "python": _ALL, "soak": (*_BENCHES, "verif/soak"),
         "figures": (*_BENCHES, "cdma/measure", "synth", "workload"),
         "mutation": ("cdma/driver", "golden", "hdl/generate/handover", "synth", "tests/conftest.py",
                      "tests/extended.py", "tests/golden", "tests/hdl", "tests/lint.py", "tests/verif",
                      "tools/cover.py", "tools/mutate.py", "verif")}
"""Kinds of results, and where the sources are that they depend on beside those of the RTL."""
_TARGETS = {"python": "test", "figures": "compare"}
_NO_SIMULATION = ("lint", "throughput", "proofs", "area")
"""Steps of cdma verify that do not use the simulator that is chosen."""
_MEASURED_AGAIN = ("engine_shipped", "engine_dense", "engine_area", "engine_estimates", "shipped", "block_shipped")
"""Sections of bench/performance.json that the page of the sign-off shows, and those of the cores."""
Found = dict[str, Any]


def load(kind: str) -> Found | None:
    """What is kept of a kind, ``stamp`` and ``results``; None where nothing is."""
    file = RESULTS / f"{kind}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def digest(kind: str) -> str:
    """The digest of the sources that results of a kind depend on."""
    return source_digest(*KINDS[kind])


def stamp(kind: str, command: str) -> Found:
    """Where results of today come from; ``+`` behind the commit says that the tree had changes."""
    commit, changed = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for words in (("rev-parse", "--short=10", "HEAD"),
                      ("status", "--porcelain", "-uno", "--", ".", ":!docs", ":!tools/results")))
    return {"command": command, "commit": f"{commit}{'+' if changed else ''}",
            "date": datetime.now(UTC).date().isoformat(), "digest": digest(kind)}


def store(kind: str, command: str, part: Found) -> None:
    """Join a part to what is kept of a kind, unless that is of other sources: dictionaries get new entries, the numbers
    of soaks are added."""
    old, now = load(kind), stamp(kind, command)
    if old is not None and old["stamp"]["digest"] == now["digest"]:
        kept = old["results"]
        part = _soaks(kept, part) if kind == "soak" else part | {
            name: kept[name] | value for name, value in part.items() if isinstance(value, dict)}
    write_file(RESULTS / f"{kind}.json", json.dumps({"stamp": now, "results": part}, indent=1) + "\n")


def _tested(file: Path) -> Found:
    """A run of pytest: how many tests, failures and skips."""
    suite = ElementTree.parse(file).getroot()[0]
    cases = list(suite.iter("testcase"))
    skips = Counter(skip.get("message", "") for case in cases for skip in case.iter("skipped"))
    failed = sum(case.find(each) is not None for case in cases for each in ("failure", "error"))
    return {"tests": len(cases), "failed": failed,
            "skipped": [{"reason": reason, "tests": count} for reason, count in sorted(skips.items())],
            "seconds": float(suite.get("time", 0))}


def _verified(file: Path) -> Found:
    """A report of cdma verify."""
    found = json.loads(file.read_text(encoding="utf-8"))
    tests = [test for outcome in found["outcomes"] for test in outcome["tests"]]
    steps = sum(outcome["step"] not in _NO_SIMULATION for outcome in found["outcomes"])
    return {"name": found["name"], "simulator": found["simulator"], "steps": steps,
            "failed": sum(outcome["state"] != "passed" for outcome in found["outcomes"]), "tests": len(tests),
            "cycles": sum(test["cycles"] for test in tests)}


def _soaks(old: Found, new: Found) -> Found:
    """Numbers are added, pairs, seeds and failures collected."""
    added = ("minutes", "processor_minutes", "configurations", "cases", "cycles", "streams_golden", "streams_rtl")
    return new | {name: round(old[name] + new[name], 2) for name in added} | {
        "benches": dict(Counter(old["benches"]) + Counter(new["benches"])),
        "pairs": sorted({*old["pairs"], *new["pairs"]}),
        "seeds": old["seeds"] + new["seeds"], "failures": old["failures"] + new["failures"]}


def _packages(files: Found) -> list[Found]:
    """Lines that tests ran, by folder."""
    lines: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    for name, file in files.items():
        lines[name.partition("/")[0]] += file["summary"]["num_statements"]
        hit[name.partition("/")[0]] += file["summary"]["covered_lines"]
    return [{"package": name, "lines": lines[name], "hit": hit[name]} for name in sorted(lines)]


def _hash(section: str) -> str:
    """Of the committed figures of a section."""
    return sha256(json.dumps(json.loads(FIGURES.read_text(encoding="utf-8"))[section]).encode()).hexdigest()[:16]


def keep(kind: str, *names: str) -> int:
    """Keep the results in files."""
    if kind in ("test", "regression", "icarus"):
        runs = [_verified(Path(name)) for name in names] if kind == "icarus" else [_tested(Path(names[0]))]
        if failed := sum(run["failed"] for run in runs):
            print(f"{failed} failed, so nothing is kept", file=sys.stderr)
            return 1
        shard = (*names, "1/1")[1]
        found = {"test": runs[0], "regression": {"shards": {shard: runs[0]}},
                 "icarus": {"runs": {run.get("name"): run for run in runs}}}[kind]
    else:
        found = json.loads(Path(names[0]).read_text(encoding="utf-8"))
        if kind == "formal":
            found = {"proofs": {proof["name"]: proof for proof in found["results"]}}
        elif kind == "python":
            found = {"packages": _packages(found["files"])}
        elif kind == "figures":
            figures = Counter(each["section"] for each in found["figures"])
            changed = Counter(each["section"] for each in found["figures"] if each["percent"] != 0)
            changed.update(each.partition(" / ")[0] for end in ("appeared", "vanished") for each in found[end])
            found = {"sections": {name: {"figures": figures[name], "changed": changed[name], "of": _hash(name)}
                                  for name in figures}}
    store(kind, f"make {_TARGETS.get(kind, kind)} RECORD=1", found)
    return 0


def _suite(run: dict[str, Any]) -> tuple[str, bool]:
    skipped = sum(each["tests"] for each in run["skipped"])
    return (f"{run['tests'] - skipped:,} tests passed, {run['failed']} failed, {skipped} skipped, "
            f"{run['seconds'] / 60:.0f} minutes"), run["failed"] == skipped == 0


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


def _bins(*, access: bool) -> Callable[[dict[str, Any]], tuple[str, bool]]:
    """Of registers and options, or all others. Features that the results lack are not hit."""
    def figure(found: dict[str, Any]) -> tuple[str, bool]:
        parts = {each["feature"]: each for each in found["features"]}
        own = [parts.get(feature.name, {"hit": 0, "bins": len(feature.bins), "excluded": 0}) for feature in PLAN
               if (feature.room in ACCESS) is access]
        hit, bins, excluded = (sum(each[name] for each in own) for name in ("hit", "bins", "excluded"))
        return f"{hit:,} of {bins:,}, {excluded} excluded", hit == bins

    return figure


def _points(kind: str) -> Callable[[dict[str, Any]], tuple[str, bool]]:
    """Of the design that has least."""
    def figure(found: dict[str, Any]) -> tuple[str, bool]:
        parts = [each for each in found["designs"] if each["kind"] == kind]
        least = min(parts, key=lambda each: each["hit"] / each["points"])
        words, met = _share(least["hit"], least["points"], GOALS[kind])
        return f"{words} in `{least['design']}`, the least of {len(parts)} designs", met

    return figure


def _lines(found: dict[str, Any]) -> tuple[str, bool]:
    parts = found["packages"]
    return _share(sum(each["hit"] for each in parts), sum(each["lines"] for each in parts), GOALS["python"])


def text_of(mutant: dict[str, str]) -> str:
    """Six digits of what a mutant changes: its verdict holds for that text."""
    return sha256(f"{mutant['file']}{mutant['find']}{mutant['put']}".encode()).hexdigest()[:6]


def _frozen() -> list[dict[str, str]]:
    return json.loads(FROZEN.read_text(encoding="utf-8"))


def _verdicts(found: dict[str, Any], *which: str) -> list[str]:
    """Those of ``which``, of the frozen mutants as they are today."""
    tried = {(name, *each.split("|")[:2]) for name, each in found["mutants"].items()}
    return [verdict for each in _frozen() for verdict in which if (each["name"], verdict, text_of(each)) in tried]


def _again(found: dict[str, Any]) -> tuple[str, bool]:
    parts = [found["sections"][name] for name in _MEASURED_AGAIN
             if name in found["sections"] and found["sections"][name]["of"] == _hash(name)]
    figures, changed = (sum(each[name] for each in parts) for name in ("figures", "changed"))
    return (f"{figures:,} figures, {changed} changed; {len(parts)} of {len(_MEASURED_AGAIN)} sections",
            not changed and len(parts) == len(_MEASURED_AGAIN))


_DIFFER = ("own", "other", "survived")
"""Verdicts of mutants that make hardware which differs."""


def _tried(found: dict[str, Any]) -> tuple[str, bool]:
    frozen, differ = len(_frozen()), len(_verdicts(found, *_DIFFER))
    tried = differ + len(_verdicts(found, "same", "invalid"))
    return f"{tried} of {frozen}, of which {differ} make hardware which differs", tried == frozen and differ >= 200


def _killed(found: dict[str, Any]) -> tuple[str, bool]:
    return _share(len(_verdicts(found, "own", "other")), len(_verdicts(found, *_DIFFER)), 0.97)


def _own(found: dict[str, Any]) -> tuple[str, bool]:
    return _share(len(_verdicts(found, "own")), len(_verdicts(found, "own", "other")), 0.9)


MEASURED: tuple[tuple[str, str, str, str, str, str, Callable[[dict[str, Any]], tuple[str, bool]]], ...] = (
    ("V1", "The whole test suite passes", (
     "Each run sends the same stimuli, at most half of those of the regression: a fault that only others show "
     "is not found. What needs PyTorch or a SoC (`tests/torch`, `tests/soc`) is run by commands of its own"),
     "0 failures, 0 skipped", "test", "make test RECORD=1", _suite),
    ("V2", "Proofs pass, each with covers that were reached", (
     "Each is of one unit, and some of its assumptions are proved of its neighbours. Others keep a proof small: "
     "they limit numbers, widths or waits, and that nothing locks up is proved for neighbours that answer within "
     "three cycles. Bounded ones end after some cycles. None is of a whole engine, with parameters of yours, or of"
     " the Verilog that is made of what was proved"), "all of the table", "formal", "make formal RECORD=1", _proofs),
    ("V3", ("Transfers and faults on every engine of the sweep, in which any two of ten options are both on, both "
     "off, and each alone; windows, page lists, write-back and parity on those that have them"), ("Most of the tests "
     "that count are others of `tests/verif`. Three options that only fail together may never have met; `narrowing` "
     "and wrapped memories are not among the ten. A link with its own clock, and reads answered in any order, are "
     "tried on three other engines, ports that do not answer on one of the sweep, malformed streams on none. An "
     "engine of n lanes gets 0.4/n of the stimuli"),
     "0 failures, 0 skipped", "regression", "make regression RECORD=1", _shards),
    ("V3", "The regression of presets in Icarus too, where registers and memories begin unknown",
     (
     "The two smallest presets: without page lists, windows, write-back, parity, or a clock of the link; transfers"
     " and faults have a fiftieth of the stimuli of `make regression`. An `if` in Verilog takes what is unknown as"
     " false, which can hide it"), "2 presets", "icarus", "make icarus RECORD=1", _icarus),
    ("V3", "Bins of the coverage plan that say how the hardware behaves are hit, or excluded by name with a reason",
     ("Something happened once, in some design; that it went right is for the benches to say, and what nobody planned "
     "has no bin"), "all", "coverage", "make coverage RECORD=1", _bins(access=False)),
    ("V3", "Its other bins, too: every register read and written, every option built",
     "Once is enough, whatever state the engine was in", "all", "coverage", "make coverage RECORD=1",
     _bins(access=True)),
    ("V3", "Lines of the Verilog of each chosen design are run", ("A line that is run may do the wrong thing, and "
     "have run in one of several instances alone. Excluded lines do not count: up to 4 in 100"),
     f"{GOALS['line']:.0%} in each", "coverage", "make coverage RECORD=1", _points("line")),
    ("V3", "Bits of the Verilog of each chosen design rise and fall", (
     "Nobody may have looked at a bit that changed. Instances of a module count together, and values at "
     "power-up as changes. Signals of more than 256 bits do not count, nor do excluded bits: up to 4 in 100, such "
     "as those of lengths from 2 MiB on. Of presets, only `tiny`, the line cores and the block cores for 32 "
     "bytes are among the designs"),
     f"{GOALS['toggle']:.0%} in each", "coverage", "make coverage RECORD=1", _points("toggle")),
    ("V3", "Lines of Python are run by tests", ("A line that is run may do the wrong thing; what needs PyTorch is not "
     "counted"), f"{GOALS['python']:.0%}", "python",
     "make test RECORD=1", _lines),
    ("V3", "Cycles, areas and estimated clocks on this page, and those of the cores, are measured again on this RTL",
     ("Clocks in cells of 45 nm and after place and route take hours, and are of the commit that changed them last; so "
     "are the other tables of [performance](performance.md), such as those of densities, small tensors and pages"),
     "none changed", "figures",
     f"make compare RECORD=1 SECTIONS=\"{' '.join(_MEASURED_AGAIN)}\" LIBERTY=cells.lib", _again),
    ("V3", "Frozen faults in the sources of all units are tried", ("Each changes one expression; a wrong idea of the "
     "format or of the bus is none of them"), "all, and 200 of them make hardware which differs", "mutation",
     "make mutation", _tried),
    ("V3", "Such faults are found by what `make test` runs", ("Most were chosen by hand, and tests were written "
     "against those that survived: the share says little of faults that nobody tried. Those that change none of the "
     "designs of the coverage do not count, though they may change others. A test that fails for another reason "
     "would count as one that found the fault"), "97%", "mutation", "make mutation",
     _killed),
    ("V3", "Of those that are found, the unit's own tests find", "The same", "90%", "mutation", "make mutation", _own),
    ("V3", "Soak of random configurations, traffic, faults and resets without a failure", ("A sample, of which "
     "compiling takes a part: rare faults were likely not met"), "240 minutes of a processor", "soak",
     "make soak MINUTES=240 RECORD=1",
     lambda found: (
         (f"{found['processor_minutes']:.0f} minutes of a processor, {found['configurations']} configurations, "
         f"{found['cases']:,} cases, {len(found['failures'])} failures"),
         found["processor_minutes"] >= 240 and not found["failures"])),
    ("V3", "Pairs of settings of options in random configurations", (
     "Both were in one engine, of which perhaps only one bench ran. Lanes, widths, block sizes and codings are "
     "drawn too, but are in none of these pairs"), "97% of all", "soak", "make soak MINUTES=240 RECORD=1",
     lambda found: _share(len(found["pairs"]), found["pairs_of_all"], 0.97)),
    ("V3", "Damaged streams: the model against the plain reference, and the RTL against the model",
     ("Damage of kinds that we thought of, after which some are still right, in streams of four blocks at most, of two "
     "in the RTL; any bytes at all are proved of short blocks only"), "100,000 and 10,000",
     "soak", "make soak MINUTES=240 RECORD=1", lambda found: (
         f"{found['streams_golden']:,} and {found['streams_rtl']:,}",
         found["streams_golden"] >= 100_000 and found["streams_rtl"] >= 10_000 and not found["failures"])),
)
"""Stage, claim, what it does not show, target, kind of results, command, and the figure in words with whether the
target is met."""


def checklist() -> list[dict[str, Any]]:
    """Every item, by stage."""
    found, old = {kind: load(kind) for kind in KINDS}, stale()
    items = []
    for stage, claim, limits, target, kind, command, figure in MEASURED:
        item = {"stage": stage, "met": False, "claim": claim, "limits": limits, "target": target,
                "figure": "not recorded", "command": f"`{command}`", "commit": "", "date": ""}
        if (kept := found[kind]) is not None:
            stamp = kept["stamp"]
            words, met = figure(kept["results"])
            fresh = kind not in old
            item |= {"met": met and fresh, "figure": words if fresh else f"{words}; older than its sources",
                     "commit": stamp["commit"], "date": stamp["date"]}
        items.append(item)
    return items


def stale() -> list[str]:
    """Kinds of results that are missing or older than the sources that they depend on."""
    return [kind for kind in KINDS if (kept := load(kind)) is None or kept["stamp"]["digest"] != digest(kind)]


def summary(items: list[dict[str, Any]]) -> str:
    """The highest stage of which all items are met, and of those before; and what is missing."""
    stages = sorted({item["stage"] for item in items})
    reached = list(takewhile(lambda stage: all(item["met"] for item in items if item["stage"] == stage), stages))
    says = (f"{f'Stage {reached[-1]}' if reached else 'No stage'} is reached: {sum(item['met'] for item in items)} of "
            f"{len(items)} items are met by results of these sources (digest of the RTL {rtl_digest()}).")
    commands = {kind: command for *_, kind, command, _ in MEASURED}
    old = [f"{kind} (`{commands[kind]}`)" for kind in stale()]
    return f"{says} Missing, or older than its sources: {', '.join(old)}." if old else says


def page() -> str:
    """What docs/signoff.md has of it."""
    items = checklist()
    columns = [Column({"claim": "what", "limits": "what it does not show"}.get(name, name), name)
               for name in ("stage", "claim", "target", "figure", "limits", "command", "commit", "date")]
    met = Column("met", lambda item: "yes" if item["met"] else "**no**")
    return f"{summary(items)}\n\n{Table([met, *columns], items).markdown()}"


def figures_page() -> str:
    """What docs/signoff.md has of cycles, areas and clocks of the engines."""
    found = json.loads(FIGURES.read_text(encoding="utf-8"))
    rows = {row["engine"]: {"moved": row} for row in found["engine_shipped"]}
    for section, key in (("engine_area", "area"), ("engine_estimates", "estimate"), ("timing_units", "cells")):
        for row in found[section]:
            if row["name"] in rows:
                rows[row["name"]][key] = row
    for row in found["pnr"]:
        if row["name"] in rows and row["best"]:
            rows[row["name"]]["placed"] = row

    def of(*path: str) -> Callable[[Any], object]:
        """A figure, or nothing where it was not measured."""
        def value(row: Any) -> object:
            for name in path:
                row = row.get(name) if row else None
            return row

        return value

    return Table([Column("engine", lambda row: f"`{row['moved']['engine']}`"),
                  Column("raw bytes a cycle: offload", "moved.offload_bytes_per_cycle", ".1f"),
                  Column("prefetch", "moved.prefetch_bytes_per_cycle", ".1f"), Column("gain", "moved.gain", ".2f"),
                  Column("kGE", of("area", "total", "kge"), ".1f"),
                  Column("mm2 at 28 nm", of("area", "mm2_28", "engine"), ".3f"),
                  Column("MHz in cells of 45 nm", of("cells", "mhz"), ".0f"),
                  Column("UltraScale+, estimate", of("estimate", "mhz"), ".0f"),
                  Column("ECP5, placed", of("placed", "median_mhz"), ".0f")], list(rows.values())).markdown()


def main(*arguments: str) -> int:
    """Keep results, or print the checklist and what to run."""
    if arguments:
        return keep(*arguments)
    items = checklist()
    print("\n".join(f"{item['stage']} {'yes' if item['met'] else 'no ':3} {item['claim']}: {item['figure']} "
                    f"({item['command']})" for item in items))
    print(f"\n{summary(items)}")
    return 0 if all(item["met"] for item in items) else 1


if __name__ == "__main__":
    if len(sys.argv) == 2 or (sys.argv[1:2] and sys.argv[1] not in KINDS):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
