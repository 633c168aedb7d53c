"""Keeps what verification found: a file a kind in tools/results, with the commit and the RTL that it was found on.

    python tools/evidence.py test build/whole.xml                        JUnit of pytest
    python tools/evidence.py regression build/regression.xml 2/4         a shard of it
    python tools/evidence.py icarus build/icarus/tiny/results.json ...   reports of cdma verify --simulator icarus
    python tools/evidence.py formal build/formal.json                    what cdma prove --json printed
    python tools/evidence.py soak build/soak.json                        what cdma soak --json printed
    python tools/evidence.py coverage build/coverage.json                what tools/cover.py wrote
    python tools/evidence.py python build/python.json                    what coverage json wrote

Results of other RTL are dropped, those of the same RTL are joined. What failed is not kept, but for mutants and soaks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cdma.hdl.config.files import write_file
from cdma.verif.common.digest import ROOT, rtl_digest

RESULTS = ROOT / "tools/results"
KINDS = ("test", "regression", "icarus", "formal", "coverage", "python", "mutation", "soak")
Found = dict[str, Any]


def load(kind: str) -> Found | None:
    """What is kept of a kind, ``stamp`` and ``results``; None where nothing is."""
    file = RESULTS / f"{kind}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def stamp(command: str) -> Found:
    """Where results of today come from; ``+`` behind the commit says that the tree had changes."""
    commit, changed = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for words in (("rev-parse", "--short=10", "HEAD"),
                      ("status", "--porcelain", "-uno", "--", ".", ":!docs", ":!tools/results")))
    return {"command": command, "commit": f"{commit}{'+' if changed else ''}",
            "date": datetime.now(UTC).date().isoformat(), "digest": rtl_digest()}


def store(kind: str, command: str, part: Found) -> None:
    """Join a part to what is kept of a kind, unless that is of other RTL: dictionaries get new entries, the numbers of
    soaks are added."""
    old, now = load(kind), stamp(command)
    if old is not None and old["stamp"]["digest"] == now["digest"]:
        kept = old["results"]
        part = _soaks(kept, part) if kind == "soak" else part | {
            name: kept[name] | value for name, value in part.items() if isinstance(value, dict)}
    write_file(RESULTS / f"{kind}.json", json.dumps({"stamp": now, "results": part}, indent=1) + "\n")


def _suite(file: Path) -> Found:
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
    return {"name": found["name"], "simulator": found["simulator"], "steps": len(found["outcomes"]),
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


def main(kind: str, *names: str) -> int:
    """Keep the results in files."""
    if kind in ("test", "regression", "icarus"):
        runs = [_verified(Path(name)) for name in names] if kind == "icarus" else [_suite(Path(names[0]))]
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
    store(kind, f"make {'coverage-python' if kind == 'python' else kind} RECORD=1", found)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
