"""Runs every bench on chosen designs, and counts what it sees: bins of the coverage plan, lines and toggles of the
Verilog. Counts stay in a folder and add up, unless a run in it failed or benches have changed since.

    python tools/cover.py                              the chosen designs; half an hour on two cores
    python tools/cover.py --shard 1/4 --folder shard1  a quarter of them
    python tools/cover.py --merge shard1 shard2 ...    prints what is there, and runs nothing
    python tools/cover.py --only tiny/faults --seed 7  one bench
    python tools/cover.py --plan                       every feature with its bins

What need not be hit is in verif/coverage/exclusions.toml, each pattern with its reason. --json writes a file for
tools/sign_off.py. Exit code 1 says that a run failed, or that with --merge a goal was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sign_off import digest

from cdma.golden.results import to_json
from cdma.hdl.config.block_core import load_block
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.core import load
from cdma.hdl.config.engine import SWITCHES, EngineConfig, load_engine
from cdma.verif.common.counted import RTL_VARIABLE
from cdma.verif.common.cover import VARIABLE
from cdma.verif.coverage.plan import PLAN
from cdma.verif.coverage.report import GOALS, read_report
from cdma.verif.regression.outcomes import State
from cdma.verif.regression.plan import LINT, THROUGHPUT, steps
from cdma.verif.regression.run import Task, run_step

_OPTIONS = EngineConfig(
    name="cdma_cover_options", about="Two lanes, all options but a clock of its own for the link", lanes=2,
    beat_bytes=16, link_beat_bytes=32, block_bytes=1024, buffer_bytes=2048, codings=("zvc16", "bfloat16"),
    pipeline="fast", transfers_in_flight=3, burst_beats=16, outstanding_reads=2, user_bits=3, lane_user=5, lane_prot=2,
    lane_qos=9, link_cache=0b1111, link_user=2, link_qos=1, link_read_ids=4, **SWITCHES)
_CLOCKS = EngineConfig(
    name="cdma_cover_clocks", about="A link with a clock of its own, one lane, the codings that the first has not",
    lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024,
    codings=("zvc8", "zvc32", "float32"), link_clock="separate", page_lists=True, write_back=True,
    address_windows=True, buffer_parity=True)
_WIDE = EngineConfig(
    name="cdma_cover_wide", about="Four lanes, wide beats and addresses, wrapped memories", lanes=4, beat_bytes=64,
    link_beat_bytes=64, block_bytes=512, buffer_bytes=640, address_bits=64, codings=("zvc32",), crc=False,
    memories="wrapped", transfers_in_flight=12, queue_depth=16, burst_beats=64, lane_cache=0b0111, link_prot=3)
_MIXED = EngineConfig(
    name="cdma_cover_mixed", about="Two lanes of 32 bytes, one transfer and one burst at a time", lanes=2,
    beat_bytes=32, link_beat_bytes=32, block_bytes=512, buffer_bytes=640, codings=("zvc8",), transfers_in_flight=1,
    outstanding_reads=1)

CHOSEN: dict[str, tuple[Design, bool]] = {
    "options": (_OPTIONS, True), "tiny": (load_engine("tiny"), True), "clocks": (_CLOCKS, True),
    "wide": (_WIDE, False), "mixed": (_MIXED, False),
    **{name: (load(name), True) for name in ("compressor", "decompressor")},
    **{name: (load_block(name), True) for name in ("block_compressor", "block_decompressor",
                                                   "exponent_block_compressor", "exponent_block_decompressor")},
}
"""The designs that figures are from, by name, and whether the simulator counts lines and toggles in them; of the others
only bins are counted."""
_ONLY = {"wide": ("transfers",), "mixed": ("faults",)}
"""Of these designs the only steps."""
_CORE_SEEDS = 8
"""Runs of each core, which are short."""


def runs(seed: int, shard: tuple[int, int]) -> list[tuple[str, str, int]]:
    """Design, step and seed of the runs of a shard: all of a design are in the same one, which compiles it once."""
    found = []
    for name in list(CHOSEN)[shard[0] - 1::shard[1]]:
        config = CHOSEN[name][0]
        named = _ONLY.get(name, [step.name for step in steps(config)
                                 if step.name not in (LINT, THROUGHPUT, "bus_models")])
        times = 1 if isinstance(config, EngineConfig) else _CORE_SEEDS
        found += [(name, step, seed + number) for number in range(times) for step in named]
    return found


def check_counts(folder: Path) -> None:
    """End with a sentence unless all counts in a folder are of the sources of today, and of runs that passed."""
    given, failed = folder / "digest", folder / "failed"
    if not given.exists() or given.read_text() != digest("coverage"):
        sys.exit(f"{folder} has no coverage of this RTL and these benches: delete it, or give another folder")
    if failed.exists():
        sys.exit(f"{folder} has counts of a run that failed ({failed.read_text()}): delete it, or give another folder")


def measure(chosen: Sequence[tuple[str, str, int]], folder: Path) -> None:
    """Run steps, and add what they count to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        (folder / "digest").write_text(digest("coverage"))
    check_counts(folder)
    for number, (name, step, seed) in enumerate(chosen, 1):
        config, counted = CHOSEN[name]
        os.environ |= {VARIABLE: str(folder.resolve()), RTL_VARIABLE: str(int(counted))}
        replay = f"python tools/cover.py --only {name}/{step} --seed {seed}"
        outcome = run_step(Task(config, step, seed, Path("build/sim"), replay))
        print(f"{number} of {len(chosen)}: {name}/{step}, seed {seed}: {outcome.state}", file=sys.stderr)
        if outcome.state is not State.PASSED:
            (folder / "failed").write_text(replay)
            print(f"{outcome.said}\nagain: {replay}", file=sys.stderr)


def main() -> int:
    """Measure, or merge, and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--shard", default="1/1", metavar="I/N")
    arguments.add_argument("--only", metavar="DESIGN/STEP")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--folder", type=Path, default=Path("build/coverage"))
    arguments.add_argument("--merge", type=Path, nargs="+", metavar="FOLDER")
    arguments.add_argument("--plan", action="store_true")
    arguments.add_argument("--json", type=Path, metavar="FILE")
    call = arguments.parse_args()
    if call.plan:
        for each in PLAN:
            print(f"{each.name} ({each.room}, {len(each.bins)} bins): {each.about}\n  {', '.join(each.bins)}\n")
        return 0
    folders = call.merge or [call.folder]
    if not call.merge:
        part, parts = map(int, call.shard.split("/"))
        measure([each for each in runs(call.seed, (part, parts))
                 if call.only in (None, f"{each[0]}/{each[1]}")], call.folder)
    for folder in folders:
        check_counts(folder)
    found = read_report(folders)
    for each in (*found["features"], *found["designs"]):
        name = each.get("feature") or f"{each['design']} {each['kind']}"
        for text, names in (("not hit", each["holes"]), ("excluded, but hit", each["contradicted"])):
            print("".join(f"{text}: {name}/{hole}\n" for hole in names[:20]), end="")
    for each in found["designs"]:
        print(f"{each['design']}: {each['hit'] / each['points']:.2%} of {each['kind']}s")
    for kind, share in found["shares"].items():
        print(f"{kind}: {'not measured' if share is None else f'{share:.2%}'}, goal {GOALS[kind]:.0%}")
    if call.json:
        call.json.write_text(json.dumps(to_json(found), indent=1))
    return 1 if call.merge and found["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
