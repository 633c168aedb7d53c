"""``cdma prove``: proofs of the hardware with a model checker."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.numbers import one_or_more
from cdma.console.options import add_command, json_option, refuse, shard_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.verif.formal.proof import Proof, ProofResult

_DESCRIPTION = """\
Prove properties of the hardware with Yosys, an SMT solver and a SAT solver, which look at all inputs and at all states
that the hardware may power up in. Some proofs are about all runs, by induction; some about all inputs of logic without
registers; some are bounded: about all runs of a number of cycles from the reset on, and say what fits into it. Each
proof has covers, runs that must be there, so none is vacuous. A result is kept and taken again while the netlist does
not change. Where an assertion is violated, the command prints its name, its line and the file with the waves, and
exits with 1."""

_EXAMPLES = """\
  cdma prove                                  all proofs (hours)
  cdma prove --depth shallow                  those of continuous integration (minutes)
  cdma prove skid fifo                        proofs whose names begin so
  cdma prove --list                           names, and what is proved
  cdma prove --engine my_engine.toml          the parts of an engine of yours (minutes)
  cdma prove --depth deep --shard 1/4 --json  a quarter of the long ones"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "prove", "prove properties of the hardware", _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("names", nargs="*", metavar="NAME", help="proofs, or how their names begin (default: all)")
    parser.add_argument("--depth", choices=("shallow", "deep", "all"), default="all",
                        help="shallow: minutes in all; deep: the others (default: all)")
    parser.add_argument("--engine", metavar="PRESET|FILE.toml", help="shallow proofs with the parameters of a "
                        "configuration, where they depend on any (default: the table)")
    shard_option(parser, "every N-th proof from the I-th on")
    parser.add_argument("--jobs", type=one_or_more, default=1, metavar="N", help="solvers at a time (default: 1)")
    parser.add_argument("--limit", type=one_or_more, default=1800, metavar="SECONDS",
                        help="longest time of a proof (default: 1800)")
    parser.add_argument("--again", action="store_true", help="take no results of earlier runs")
    parser.add_argument("--list", action="store_true", help="list the proofs, run none")
    parser.add_argument("--build-dir", type=Path, default=Path("build/formal"), metavar="DIR",
                        help="folder for netlists, waves and earlier results (default: build/formal)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Run the proofs and print a table."""
    from cdma.hdl.config.catalog import load_design
    from cdma.verif.common.tools import MissingToolError
    from cdma.verif.formal.run import choose, prove
    from cdma.verif.formal.table import PROOFS, proofs_of

    proofs = PROOFS if call.engine is None else proofs_of(load_design(call.engine))
    if not proofs:
        raise ValueError(f"there are no proofs of {call.engine}: give an engine, or a compressor or decompressor of "
                         "lines")
    if call.list:
        refuse(call, "--list proves nothing", "--again")
        show(call, [_row(proof) for proof in choose(call.names, call.depth, call.shard, proofs)],
             lambda rows: "\n".join("{name}  ({set}; {unit}; {how})\n    {claim}".format(**row) for row in rows))
        return 0
    try:
        with Progress() as progress:
            results = prove(call.names, call.depth, call.shard, proofs=proofs, jobs=call.jobs, folder=call.build_dir,
                            limit=call.limit, again=call.again, progress=progress)
    except MissingToolError as error:
        raise ValueError(str(error)) from error
    passed = all(result.passed for result in results)
    show(call, {"results": results, "passed": passed, "seconds": round(sum(each.seconds for each in results), 1)},
         _text)
    return 0 if passed else 1


def _row(proof: Proof) -> dict[str, str | bool]:
    return {"name": proof.name, "unit": proof.unit, "claim": proof.claim, "how": proof.how, "set": proof.set,
            "configured": proof.configured}


_RESULTS = [Column("proof", "name"), Column("outcome", lambda result: str(result.outcome)),
            Column("seconds", "seconds", ".1f"), Column("proved for", "how")]


def _text(found: Mapping[str, Any]) -> str:
    results: list[ProofResult] = found["results"]
    lines = [Table(_RESULTS, results).text(), *(result.message for result in results if not result.passed)]
    if made := [result.name for result in results if result.configured]:
        lines.append(f"{len(made)} with parameters of the configuration: {', '.join(made)}")
    proved = sum(result.passed for result in results)
    return "\n".join([*lines, f"{proved} of {len(results)} proved, {found['seconds']} s"])
