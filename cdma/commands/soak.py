"""``cdma soak``: random configurations, traffic, faults and malformed streams for as long as one likes."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.errors import simulation_errors
from cdma.console.numbers import one_or_more, positive
from cdma.console.options import add_command, build_option, engine, json_option, refuse, shard_option, whole_number
from cdma.console.output import count, show
from cdma.console.progress import Progress

if TYPE_CHECKING:
    from cdma.verif.soak.soak import SoakReport

_DESCRIPTION = """\
Soak the engine: draw a configuration with pairs of options that were not seen together before, generate, lint and
compile it, and run its benches with random seeds, shares of stimuli and clock ratios: transfers through windows and
rings, faults, aborts, resets in mid-transfer, malformed streams, ports that do not answer, small transfers by rings,
streams in the largest pages. Then draw the next one. Beside them, malformed streams go through the golden model and the
plain reference, which must agree.

A failing case is made smaller, one test, fewer stimuli and fewer options, and written as a file, which --replay runs
again. Seeds are in log.jsonl of the report folder. Ctrl-C ends it early: what was done until then is printed. Exit
code 0 says that nothing failed."""

_EXAMPLES = """\
  cdma soak --minutes 60                                    an hour, with new seeds
  cdma soak --minutes 60 --shard 2/8 --seed 7               the second of eight machines
  cdma soak --minutes 10 --engine tiny --report soak        one configuration
  cdma soak --minutes 10 --engine tiny --step malicious     malformed streams on the RTL
  cdma soak --streams 100000                                malformed streams on the golden model alone
  cdma soak --replay build/soak/failure-faults-7.json --waves waves
  cdma soak --minutes 5 --json | jq '.streams_rtl'"""

_OF_SOAKS = ("--minutes", "--shard", "--engine", "--step", "--report")
"""Options that say what is drawn, for how long, and where it is said."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "soak", "random configurations and traffic for as long as one likes", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("--minutes", type=positive, default=10.0, metavar="MINUTES",
                        help="how long (default: 10)")
    parser.add_argument("--seed", type=whole_number, metavar="N", help="of all choices (default: always another)")
    shard_option(parser, "which of how many machines this is: each makes choices of its own")
    parser.add_argument("--engine", metavar="PRESET|FILE.toml", help="the only configuration (default: random ones)")
    parser.add_argument("--step", action="append", default=[], metavar="NAME", help="step of cdma verify; may be "
                        "repeated (default: lint, and all benches that a configuration calls for)")
    parser.add_argument("--streams", type=one_or_more, metavar="N", help="only judge N malformed streams with the "
                        "golden model and the plain reference")
    parser.add_argument("--replay", metavar="FILE", help="run the case of a file again, and nothing else")
    parser.add_argument("--waves", metavar="DIR", help="with --replay: folder for the waves")
    parser.add_argument("--report", default="build/soak", metavar="DIR", help="folder for log.jsonl and failures "
                        "(default: build/soak)")
    build_option(parser)
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Soak, or replay a case."""
    if call.waves and not call.replay:
        raise ValueError("--waves records the waves of a case: give its file with --replay")
    if call.replay:
        refuse(call, "--replay runs the case of a file", "--streams", "--seed", *_OF_SOAKS)
    if call.streams:
        refuse(call, "--streams simulates nothing", *_OF_SOAKS)
    with simulation_errors():
        return _replay(call) if call.replay else _soak(call)


def _soak(call: argparse.Namespace) -> int:
    from cdma.verif.soak.soak import soak, streams_only

    seed = secrets.randbelow(1 << 31) if call.seed is None else call.seed
    config = engine(call.engine, []) if call.engine else None
    with Progress() as progress:
        if call.streams is not None:
            found = streams_only(call.streams, seed, progress=progress)
        else:
            found = soak(call.minutes, seed, shard=call.shard, build_dir=Path(call.build_dir),
                         report=Path(call.report), progress=progress, config=config,
                         benches=call.step)
    show(call, found, lambda found: _text(found, seed))
    return 1 if found.failures else 0


def _text(found: SoakReport, seed: int) -> str:
    benches = ", ".join(f"{name} {number}" for name, number in found.benches.items())
    lines = [(f"{found.minutes:.1f} minutes, seed {seed}: {found.configurations} configurations, {found.cases} cases, "
              f"{count(found.cycles)} cycles"), *([f"cases by bench: {benches}"] if benches else []),
             f"malformed streams: {count(found.streams_golden)} on the model, {count(found.streams_rtl)} on the RTL"]
    if found.configurations:
        lines.append(f"pairs of settings of options: {count(len(found.pairs))} of {count(found.pairs_of_all)}")
    lines.append("\n".join(found.failures) or "nothing failed")
    return "\n".join(lines)


def _replay(call: argparse.Namespace) -> int:
    from cdma.verif.soak.cases import read_case, run_case

    case = read_case(Path(call.replay))
    result = run_case(case, Path(call.build_dir), waves=Path(call.waves) if call.waves else None)
    show(call, result, lambda result: result.said or (
        f"passed: {case.bench} on {case.config.name}, seed {case.seed}, {count(result.cycles)} cycles"))
    if call.waves and not call.json:
        print(f"waves: {', '.join(str(file) for file in sorted(Path(call.waves).glob('dump.*')))}")
    return 0 if result.passed else 1
