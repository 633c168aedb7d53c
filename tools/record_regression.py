"""Records runs of the regression in docs/verification.json: of the test suite from the JUnit file that pytest wrote, in
Icarus from the results of cdma verify.

    python tools/record_regression.py test build/whole.xml
    python tools/record_regression.py regression build/regression.xml 2/4
    python tools/record_regression.py icarus build/icarus/smallest_engine/results.json
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cdma.verif.evidence.store import recording, stamp_now
from cdma.verif.regression.record import read_suite, read_verification

TEST, REGRESSION = "test", "regression"
"""Targets of make that run tests: the second one in shards."""

ICARUS = "icarus"
"""The target of make that verifies presets in Icarus."""


def joined(old: dict[str, Any] | None, part: dict[str, Any]) -> dict[str, Any]:
    """Runs by their target, in Icarus by the preset, of the regression by the shard: a new one replaces the one before.
    Shards of another number of shards are dropped."""
    old = old or {}
    both = {name: {**old.get(name, {}), **part.get(name, {})} for name in (ICARUS, "stamps")}
    shards = part.get(REGRESSION, {})
    if shards:
        parts = {name.partition("/")[2] for name in shards}
        both[REGRESSION] = {name: suite for name, suite in old.get(REGRESSION, {}).items()
                            if name.partition("/")[2] in parts} | shards
    return old | part | {name: found for name, found in both.items() if found}


def _suite(run: str, file: Path, shard: str) -> tuple[dict[str, Any], int, str, str]:
    """What to record, how many failed, what was run, and more about it."""
    suite = read_suite(file)
    found = {REGRESSION: {shard: suite}} if run == REGRESSION else {run: suite}
    return found, suite.failed, f"{suite.tests} tests", f"{suite.seconds / 60:.0f} minutes"


def _icarus(files: Sequence[Path]) -> tuple[dict[str, Any], int, str, str]:
    found = [read_verification(file) for file in files]
    for each in found:
        if each.simulator != ICARUS:
            raise ValueError(f"{each.name} was verified in {each.simulator}: use cdma verify --simulator {ICARUS}")
    steps, cycles = sum(each.steps for each in found), sum(each.cycles for each in found)
    return ({ICARUS: {each.name: each for each in found}}, sum(each.unfinished for each in found),
            f"{steps} steps", f"{cycles:,} cycles in Icarus")


def main() -> int:
    """Record the files that are named, unless something failed."""
    run, *names = sys.argv[1:] or [""]
    shard = names.pop() if run == REGRESSION and len(names) == 2 else "1/1"
    files = [Path(name) for name in names]
    if (not ((run in (TEST, REGRESSION) and len(files) == 1) or (run == ICARUS and files))
            or not re.fullmatch(r"[1-9]\d*/[1-9]\d*", shard)):
        print(f"usage: python tools/record_regression.py {TEST} FILE.xml\n"
              f"       python tools/record_regression.py {REGRESSION} FILE.xml [I/N]\n"
              f"       python tools/record_regression.py {ICARUS} FILE.json...", file=sys.stderr)
        return 2
    try:
        part, failed, said, more = _icarus(files) if run == ICARUS else _suite(run, files[0], shard)
        if failed:
            print(f"{failed} of {said} failed, so nothing is recorded", file=sys.stderr)
            return 1
        command = f"make {run} RECORD=1"
        with recording() as evidence:
            evidence.merge("regression", command=command, part=part | {"stamps": {run: stamp_now(command)}},
                           join=joined)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"recorded {said}: {more}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
