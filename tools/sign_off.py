"""Prints the checklist of docs/signoff.md; exit code 1 says that results are missing or older than the RTL, 2 that
docs/verification.json cannot be read.

    make signoff
"""

from __future__ import annotations

import sys

from cdma.report.evidence.checklist import checklist, reached, stale_sections
from cdma.report.table import Table
from cdma.verif.evidence.store import Evidence


def main() -> int:
    """Print, and check the age of the results."""
    try:
        evidence = Evidence.load()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    items = checklist(evidence)
    print(Table(["stage", "met", "what", "figure"],
                [[item.stage, "yes" if item.met else "no", item.claim, item.figure] for item in items],
                left=(0, 1, 2, 3)).text())
    print(f"\nStage reached: {reached(items) or 'none'}")
    stale = stale_sections(evidence)
    if stale:
        print(f"missing, or older than the RTL: {', '.join(stale)}: run " +
              ", ".join(f"make {'test' if name == 'regression' else name} RECORD=1" for name in stale), file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
