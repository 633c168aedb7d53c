"""Records a run of the test suite in docs/verification.json: reads the JUnit file that pytest wrote.

    python tools/record_regression.py build/test.xml
"""

from __future__ import annotations

import sys
from pathlib import Path

from verif.evidence.store import recording
from verif.regression.record import read_suite

COMMAND = "make test RECORD=1"


def main() -> int:
    """Record the file that is named, unless a test failed."""
    if len(sys.argv) != 2:
        print("usage: python tools/record_regression.py FILE.xml", file=sys.stderr)
        return 2
    try:
        suite = read_suite(Path(sys.argv[1]))
        if suite.failed:
            print(f"{suite.failed} of {suite.tests} tests failed, so nothing is recorded", file=sys.stderr)
            return 1
        with recording() as evidence:
            evidence.record("regression", command=COMMAND, results=suite)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"recorded {suite.tests} tests in {suite.seconds / 60:.0f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
