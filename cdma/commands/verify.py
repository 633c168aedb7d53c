"""``cdma verify``: the regression of one configuration, with results for CI systems and people."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.about import date_option, made_on
from cdma.console.errors import simulation_errors
from cdma.console.numbers import one_or_more, positive
from cdma.console.options import (
    add_command,
    build_option,
    json_option,
    refuse,
    settings_option,
    shard_option,
    whole_number,
)
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.verif.common.tools import SIMULATORS

if TYPE_CHECKING:
    from cdma.hdl.config.catalog import Design
    from cdma.measure.verified import Verification

_DESCRIPTION = """\
Verify a configuration of yours: generate it, lint it, run every bench that its options call for against the golden
model, and measure throughput and area. --list prints the steps. Each runs once, or, with --minutes, again with the next
seeds until they are over; a step for which they are too few counts as not passed.

--report writes a folder: junit.xml for CI systems, index.html for people, results.json, and waves of the first tests
that failed. A failure names the transfer, block, line and byte, the signals to look at, and the command that replays
it. Several machines share the work with --shard, whose folders --merge joins, or as workers of a Dask cluster
(--scheduler).
Exit code 0 says that all chosen steps passed, 1 that one failed or was not run."""

_EXAMPLES = """\
  cdma verify tiny                                   everything once
  cdma verify my_engine.toml --minutes 60 --report report   an hour of seeds, with junit.xml and index.html
  cdma verify engine --set lanes=8 --step lint --step transfers
  cdma verify my_engine.toml --shard 1/4 --report shard1    a quarter of the steps, for one of four machines
  cdma verify --merge shard1 shard2 shard3 shard4 --report all
  cdma verify my_engine.toml --scheduler tcp://10.0.0.1:8786 --minutes 30
  cdma verify tiny --simulator icarus --step transfers --step faults
  cdma verify tiny --step faults --seed 7 --test damaged_streams --report why
  cdma verify tiny --json | jq '.passed'"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "verify", "run the regression of a configuration, for CI and for people",
                         _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("configuration", nargs="?", metavar="PRESET|FILE.toml", help="preset (see 'cdma generate "
                        "--list') or TOML file; default: engine")
    settings_option(parser)
    parser.add_argument("--list", action="store_true", help="list the steps of the configuration, and run none")
    parser.add_argument("--step", action="append", metavar="NAME", help="step to run; may be repeated (default: all)")
    parser.add_argument("--test", type=_pattern, metavar="REGEX", help="with --step: tests of its bench to run, by "
                        "name (default: all)")
    parser.add_argument("--seed", type=whole_number, default=1, metavar="N", help="seed of the first runs (default: 1)")
    parser.add_argument("--minutes", type=positive, metavar="MINUTES", help="begin steps for so long, with new seeds "
                        "when all have run (default: each once)")
    shard_option(parser, "run part I of N of the steps")
    parser.add_argument("--jobs", type=one_or_more, metavar="N", help="processes (default: one for each core)")
    parser.add_argument("--simulator", choices=SIMULATORS, default="verilator", help="what benches run on; icarus "
                        "knows X, is slower and gets a tenth of the stimuli (default: verilator)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster of this scheduler")
    parser.add_argument("--report", metavar="DIR", help="write junit.xml, index.html, results.json and waves there")
    parser.add_argument("--no-waves", action="store_true", help="record no waves of tests that failed")
    parser.add_argument("--merge", nargs="+", metavar="DIR", help="join the reports of shards instead of running")
    build_option(parser)
    date_option(parser)
    json_option(parser)


_OF_RUNS = ("--set", "--step", "--test", "--seed", "--minutes", "--shard", "--jobs", "--simulator", "--scheduler",
            "--no-waves", "--list")
"""Options that say what is run and how."""


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"must be a regular expression, not {text!r}: {error}") from error
    return text


def run(call: argparse.Namespace) -> int:
    """Verify, or list steps, or join reports; then print."""
    from cdma.measure.verification import chosen_steps
    from cdma.report.plots.drawing import require_extra
    from cdma.report.table import Column, Table

    if call.merge:
        if call.configuration:
            raise ValueError(f"--merge joins reports that are there: leave the configuration {call.configuration} out")
        refuse(call, "--merge joins reports that are there", *_OF_RUNS)
    if call.list:
        refuse(call, "--list runs nothing", "--report")
    if call.test and not call.step:
        raise ValueError(f"--test {call.test} picks tests of a step's bench: name the step with --step")
    if call.jobs is not None and call.scheduler is not None:
        raise ValueError("--jobs is for processes of this machine: leave it out with --scheduler")
    if call.report:
        require_extra()
        Path(call.report).mkdir(parents=True, exist_ok=True)
    if call.merge:
        return _merged(call)
    config = _configured(call)
    chosen = chosen_steps(config, call.step)
    if call.list:
        part, parts = call.shard
        chosen = chosen[part - 1::parts]
        show(call, [{"step": step.name, "about": step.about, "repeats": step.repeats} for step in chosen],
             lambda rows: Table([Column("step", "step"), Column("what is checked", "about")], rows).text())
        return 0
    return _done(_verified(config, call), call)


def _merged(call: argparse.Namespace) -> int:
    from cdma.measure.verified import copy_waves, merged, read_verification

    folders = [Path(folder) for folder in call.merge]
    whole = merged([read_verification(folder) for folder in folders])
    if call.report:
        copy_waves(folders, Path(call.report))
    return _done(whole, call)


def _configured(call: argparse.Namespace) -> Design:
    from cdma.hdl.config.catalog import load_design

    return load_design(call.configuration or "engine").with_settings(call.settings)


def _verified(config: Design, call: argparse.Namespace) -> Verification:
    from cdma.measure.verification import verify
    from cdma.measure.verified import WAVES

    words = ["cdma", "verify", call.configuration or "engine",
             *(word for setting in call.settings for word in ("--set", setting)),
             *(["--simulator", call.simulator] if call.simulator != "verilator" else [])]
    waves = Path(call.report) / WAVES if call.report and not call.no_waves else None
    with simulation_errors(), Progress() as progress:
        return verify(config, names=call.step, simulator=call.simulator, seed=call.seed,
                      budget_s=call.minutes and 60 * call.minutes, shard=call.shard,
                      jobs=call.jobs or os.cpu_count() or 1, scheduler=call.scheduler, tests=call.test,
                      build_dir=Path(call.build_dir), waves=waves, date=made_on(call.date),
                      replay=lambda step, seed: shlex.join([*words, "--step", step, "--seed", str(seed)]),
                      progress=progress)


def _done(found: Verification, call: argparse.Namespace) -> int:
    from cdma.console.files import write_files, written_text
    from cdma.golden.results import to_json
    from cdma.report.junit import junit
    from cdma.report.verify_page import verify_page, verify_text

    written = []
    if call.report:
        import json

        written = write_files(Path(call.report), {
            "results.json": json.dumps(to_json(found), indent=1) + "\n", "junit.xml": junit(found),
            "index.html": verify_page(found).html()})
    show(call, found, lambda found: "\n".join([verify_text(found), *([""] if written else []),
                                               *map(written_text, written)]))
    return 0 if found.passed else 1
