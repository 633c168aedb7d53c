"""``cdma mutate``: faults put into the hardware's sources, and whether the tests find them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.numbers import positive
from cdma.console.options import add_command, json_option, refuse, shard_option, whole_number
from cdma.console.output import print_json
from cdma.console.progress import Progress

if TYPE_CHECKING:
    from cdma.verif.mutation.mutant import Mutant
    from cdma.verif.mutation.results import MutantResult

_DESCRIPTION = """\
Put one fault at a time into the sources of the hardware, and run tests until one fails: comparisons and operators are
swapped, numbers are off by one, assignments and resets are lost, conditions are inverted. The unit's own tests and
proofs come first, the quickest before the others, then tests of other units that run the changed line, then benches of
its Verilog. No file is changed: each mutant is put over its module in a process of its own.

A mutant that nothing finds survives, and is printed with the command that tries it again. One whose netlists are those
of the unchanged sources, or are proved to do the same, is equivalent; one that makes no hardware is invalid. Neither
counts.
Exit code 0 says that no mutant survived."""

_EXAMPLES = """\
  cdma mutate --count 40                            40 mutants, at least one of each of as many units
  cdma mutate --shard 2/8 --record                  an eighth of the sample, into docs/verification.json
  cdma mutate --own --record                        with the units' own tests alone, and then
  cdma mutate --again survived --record             those that survived with all others
  cdma mutate --changed --since HEAD~3              40 mutants of lines that three commits changed
  cdma mutate --only hdl/common/skid.py             all mutants of a unit
  cdma mutate --only 'hdl/common/skid.py:56:46 | -> &'
  cdma mutate --list --count 0                      the names of all mutants
  cdma mutate --count 40 --json | jq '.score'"""

_KEEP = 10
"""Mutants after which results are recorded, so that little is lost when the command is stopped."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "mutate", "put faults into the hardware, see whether tests find them", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("--count", type=whole_number, metavar="N", help="mutants of the sample; 0 for all (default: "
                        "370; 40 with --changed)")
    parser.add_argument("--seed", type=whole_number, default=1, metavar="N", help="of the sample (default: 1)")
    shard_option(parser, "every N-th mutant of the sample from the I-th on")
    parser.add_argument("--changed", action="store_true", help="only mutants of lines that changed")
    parser.add_argument("--since", metavar="COMMIT", help="with --changed: since when (default: HEAD~1)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a mutant, or all of a file; may "
                        "be repeated")
    parser.add_argument("--again", metavar="VERDICT", help="only mutants that docs/verification.json has with this "
                        "verdict, for instance survived")
    parser.add_argument("--list", action="store_true", help="print the names, and try nothing")
    parser.add_argument("--budget", type=positive, default=240.0, metavar="SECONDS", help="of a processor that tests "
                        "of other units may take for a mutant (default: 240)")
    parser.add_argument("--times", type=Path, metavar="FILE", help="JUnit file of pytest that says how long tests "
                        "take; others are run once without a mutant")
    parser.add_argument("--before", type=Path, metavar="FILE", help="an earlier docs/verification.json, to be quicker "
                        "after a change of the hardware: the test that found a mutant comes first, and netlists of one "
                        "that no test found come before tests of other units; every mutant is judged anew")
    parser.add_argument("--own", action="store_true", help="try the units' own tests and proofs alone; what these do "
                        "not find survives, until --again survived tries the rest")
    parser.add_argument("--no-benches", action="store_true", help="simulate no Verilog of what all tests pass")
    parser.add_argument("--record", action="store_true", help="add the results to docs/verification.json, and leave "
                        "out mutants that are there")
    parser.add_argument("--folder", type=Path, default=Path("build/mutation"), metavar="DIR", help="where it is kept "
                        "what the tests do without mutants (default: build/mutation)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Choose mutants, try them and print what came of them."""
    if call.list:
        refuse(call, "--list tries nothing", "--record", "--own", "--no-benches", "--before")
    mutants = _chosen(call)
    if call.list:
        print_json([{"name": each.name, "operator": each.operator} for each in mutants]) if call.json else print(
            "\n".join(each.name for each in mutants))
        return 0
    from cdma.verif.common.tools import MissingToolError
    from cdma.verif.mutation.results import MutationReport

    try:
        report = MutationReport(tuple(_tried(call, mutants)))
    except MissingToolError as error:
        raise ValueError(str(error)) from error
    print_json(report) if call.json else print(_text(report.results))
    return 1 if report.survivors else 0


def _chosen(call: argparse.Namespace) -> list[Mutant]:
    from cdma.verif.mutation.sample import changed_lines, named, of_changes, sample, units

    if sum(map(bool, (call.changed, call.only, call.again))) > 1:
        raise ValueError("--changed, --only and --again each choose the mutants: give one of them")
    if call.only or call.again:
        refuse(call, f"{'--only' if call.only else '--again'} takes no sample", "--count", "--seed")
    if call.since and not call.changed:
        raise ValueError("--since says since when lines have changed: give --changed as well")
    all_units = units()
    every = sum(map(len, all_units.values()))
    if call.only:
        chosen = named(all_units, call.only)
    elif call.again:
        chosen = named(all_units, _with_verdict(call.again))
    elif call.changed:
        count = 40 if call.count is None else call.count or every
        chosen = of_changes(all_units, changed_lines(call.since or "HEAD~1"), count, call.seed)
    else:
        chosen = sample(all_units, 370 if call.count is None else call.count or every, call.seed)
    part, parts = call.shard
    return chosen[part - 1::parts]


def _with_verdict(verdict: str) -> list[str]:
    from cdma.verif.evidence.store import Evidence
    from cdma.verif.mutation.results import Verdict, recorded

    if verdict not in list(Verdict):
        raise ValueError(f"--again must be one of {', '.join(Verdict)}, not {verdict!r}")
    results = Evidence.load().results("mutation")
    if results is None:
        raise ValueError("docs/verification.json has no mutants yet: run cdma mutate --record first")
    return [each.name for each in recorded(results) if each.verdict == verdict]


def _tried(call: argparse.Namespace, mutants: list[Mutant]) -> list[MutantResult]:
    from cdma.verif.evidence.store import check_store
    from cdma.verif.mutation.results import record
    from cdma.verif.mutation.run import try_mutants

    before = _before(call.before) if call.before else {}
    if call.record:
        check_store()
    if call.record and not (call.only or call.again):
        known = _recorded_names()
        mutants = [each for each in mutants if each.name not in known]
    found: list[MutantResult] = []
    kept = 0

    def keep() -> None:
        nonlocal kept
        if call.record and kept < len(found):
            record(found[kept:], call.seed, "make mutation RECORD=1")
            kept = len(found)

    with Progress() as progress:
        try:
            for result in try_mutants(mutants, folder=call.folder, budget=call.budget, benches=not call.no_benches,
                                      own_only=call.own, times=call.times, before=before, progress=progress):
                found.append(result)
                if len(found) - kept >= _KEEP:
                    keep()
        finally:
            keep()
    return found


def _before(path: Path) -> dict[str, MutantResult]:
    """The results of an earlier store, by the mutants' names."""
    from cdma.verif.evidence.store import Evidence
    from cdma.verif.mutation.results import recorded

    advice = "git show COMMIT:docs/verification.json writes one that can be used"
    if not path.is_file():
        raise ValueError(f"--before: there is no file {path}; {advice}")
    try:
        results = Evidence.load(path).results("mutation")
    except ValueError as error:
        raise ValueError(f"--before: {path} is no store of results; {advice}") from error
    if results is None:
        raise ValueError(f"--before: {path} has no mutants; {advice}")
    return {each.name: each for each in recorded(results)}


def _recorded_names() -> set[str]:
    from cdma.verif.evidence.store import Evidence

    evidence = Evidence.load()
    return set() if evidence.stale("mutation") else set((evidence.results("mutation") or {})["mutants"])


def _text(results: tuple[MutantResult, ...]) -> str:
    from cdma.verif.mutation.results import MutationReport, scores

    lines = [f"{'unit':44} {'own':>5} {'other':>5} {'survived':>8} {'equivalent':>10} {'invalid':>7}"]
    total = MutationReport(results).score
    lines += [f"{each.unit:44} {each.own:5} {each.other:5} {each.survived:8} {each.equivalent:10} {each.invalid:7}"
              for each in (*scores(results), total)]
    lines += [f"survived: {each.name}\n  again: {each.replay}" for each in MutationReport(results).survivors]
    if total.counted:
        lines.append(f"{total.killed} of {total.counted} killed ({total.killed / total.counted:.1%}), {total.own} of "
                     f"them by the unit's own tests")
    return "\n".join(lines)
