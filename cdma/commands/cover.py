"""``cdma cover``: what the benches have seen, and what they have not."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.errors import simulation_errors
from cdma.console.numbers import one_or_more
from cdma.console.options import add_command, json_option, refuse, shard_option, whole_number
from cdma.console.output import print_json
from cdma.console.progress import Progress

if TYPE_CHECKING:
    from cdma.verif.coverage.runs import Run

_DESCRIPTION = """\
Run every bench on a chosen set of designs, count what it sees, and print what of the coverage plan was hit, and each
bin that was not, by name; with lines and toggles of the designs' Verilog. The plan, made from the status codes, the
register table, the formats and the options, is on the page of verification; --plan prints it.

Counts stay in a folder and add up: --shard runs a part, --every adds all shipped designs, --tests measures which lines
of Python tests run. --merge prints what there is in folders, of several machines too, and runs nothing. What need not
be hit is in verif/coverage/exclusions.toml, each pattern with its reason.
Where a run fails, nothing is recorded.
Exit code 0 says that all runs passed; with --merge, that every goal was reached."""

_EXAMPLES = """\
  cdma cover                                     the chosen designs; half an hour on two cores
  cdma cover --shard 1/4 --folder shard1         a quarter of them
  cdma cover --merge shard1 shard2 shard3 shard4
  cdma cover --only tiny/faults --seed 7         one bench
  cdma cover --tests tests/golden tests/hdl      lines of Python
  cdma cover --plan
  cdma cover --merge build/coverage --holes 50   more of the lines and toggles that are missing
  cdma cover --merge build/coverage --json | jq '.shares'"""

_OF_RUNS = ("--tests", "--only", "--every", "--seed", "--seeds", "--shard", "--folder")
"""Options that say what is run and where its counts go."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "cover", "measure functional, line and toggle coverage", _DESCRIPTION, _EXAMPLES,
                         run)
    shard_option(parser, "run part I of N: of the designs, or with --tests of the files")
    parser.add_argument("--every", action="store_true", help="all shipped designs as well (hours)")
    parser.add_argument("--only", action="append", metavar="DESIGN/STEP", help="only this bench of a design; may be "
                        "repeated")
    parser.add_argument("--seed", type=whole_number, default=1, metavar="N", help="of the first runs (default: 1)")
    parser.add_argument("--seeds", type=one_or_more, default=1, metavar="N", help="runs of each bench (default: 1)")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="run these tests instead, and measure lines of "
                        "Python")
    parser.add_argument("--folder", default="build/coverage", metavar="DIR", help="folder for counts (default: "
                        "build/coverage)")
    parser.add_argument("--merge", nargs="+", metavar="DIR", help="print what is in these folders, and run nothing")
    parser.add_argument("--plan", action="store_true", help="print the plan, and run nothing")
    parser.add_argument("--holes", type=whole_number, default=10, metavar="N", help="lines and toggles of each design "
                        "that are named at most (default: 10)")
    parser.add_argument("--record", action="store_true", help="record the figures in docs/verification.json")
    parser.add_argument("--build-dir", default="build/sim", metavar="DIR", help="folder for compiled designs (default: "
                        "build/sim)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Measure, or merge, and print."""
    from cdma.report.coverage_text import plan_text
    from cdma.verif.coverage.plan import PLAN
    from cdma.verif.evidence.store import check_store

    if call.plan:
        refuse(call, "--plan runs nothing", "--merge", "--record", *_OF_RUNS)
        print_json(PLAN) if call.json else print(plan_text(PLAN))
        return 0
    if call.record:
        check_store()
    if call.merge:
        refuse(call, "--merge prints what is there", *_OF_RUNS)
        return 1 if _report(call, [Path(each) for each in call.merge], "make coverage RECORD=1") else 0
    if call.tests:
        refuse(call, "--tests measures lines of Python", "--only", "--every", "--seed", "--seeds")
    folder = Path(call.folder)
    with simulation_errors():
        failed = _tested(call, folder) if call.tests else _measured(call, folder)
    if failed and call.record:
        print("a run failed, so nothing is recorded", file=sys.stderr)
        call.record = False
    try:
        _report(call, [folder], "make coverage-python RECORD=1" if call.tests else "make coverage RECORD=1")
    except ValueError:
        # What failed has been said, and perhaps nothing else ran that there were counts of.
        if not failed:
            raise
    return 1 if failed else 0


def _measured(call: argparse.Namespace, folder: Path) -> bool:
    from cdma.verif.coverage.runs import chosen_runs, every_run, measure, shard

    runs = shard((every_run if call.every else chosen_runs)(call.seed, call.seeds), *call.shard)
    if call.only:
        known = {f"{each.name}/{each.step}" for each in runs}
        if unknown := set(call.only) - known:
            raise ValueError(f"--only must be of {', '.join(sorted(known))}, not {', '.join(sorted(unknown))}")
        runs = [each for each in runs if f"{each.name}/{each.step}" in call.only]
    with Progress() as progress:
        def said(each: Run, done: int, total: int) -> None:
            progress(f"coverage, now {each}", done, total)

        failed = measure(runs, folder, Path(call.build_dir), said)
    for outcome in failed:
        print(f"{outcome.step} failed: {outcome.said}\nagain: {outcome.replay}\n", file=sys.stderr)
    return bool(failed)


def _tested(call: argparse.Namespace, folder: Path) -> bool:
    from cdma.verif.coverage.python_lines import run_tests

    return run_tests([Path(each) for each in call.tests], folder, call.shard) != 0


def _report(call: argparse.Namespace, folders: list[Path], command: str) -> list[str]:
    from cdma.report.coverage_text import coverage_text
    from cdma.verif.coverage.recorded import record
    from cdma.verif.coverage.report import read_report

    found = read_report(folders)
    if call.record:
        record(found, command)
    print_json(found) if call.json else print(coverage_text(found, call.holes))
    return found.missed
