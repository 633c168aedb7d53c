"""Records a run of the test suite in docs/verification.json: reads the JUnit file that pytest wrote.

    python tools/record_regression.py test build/test.xml
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from verif.evidence.store import recording
from verif.regression.record import read_suite

RUNS = ("test", "regression")
"""Targets of make that run tests."""


def joined(old: dict[str, Any] | None, part: dict[str, Any]) -> dict[str, Any]:
    """Runs by their target: a new one replaces the one before."""
    return (old or {}) | part


def main() -> int:
    """Record the file that is named, unless a test failed."""
    if len(sys.argv) != 3 or sys.argv[1] not in RUNS:
        print(f"usage: python tools/record_regression.py {'|'.join(RUNS)} FILE.xml", file=sys.stderr)
        return 2
    run = sys.argv[1]
    try:
        suite = read_suite(Path(sys.argv[2]))
        if suite.failed:
            print(f"{suite.failed} of {suite.tests} tests failed, so nothing is recorded", file=sys.stderr)
            return 1
        with recording() as evidence:
            evidence.merge("regression", command=f"make {run} RECORD=1", part={run: suite}, join=joined)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"recorded {suite.tests} tests in {suite.seconds / 60:.0f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
