"""Which simulations coverage is measured on, and runs of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cdma.hdl.config.block_core import load_block
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.core import load, preset_names
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.verif.common.counted import RTL_VARIABLE
from cdma.verif.common.cover import VARIABLE
from cdma.verif.evidence.digest import rtl_digest
from cdma.verif.regression.outcomes import Outcome, State
from cdma.verif.regression.plan import LINT, THROUGHPUT, steps
from cdma.verif.regression.run import Task, run_step

__all__ = ["CHOSEN", "Run", "chosen_runs", "every_run", "measure", "shard"]

_OPTIONS = EngineConfig(
    name="cdma_cover_options", about="Two lanes, all options but a clock of its own for the link", lanes=2,
    beat_bytes=16, link_beat_bytes=32, block_bytes=1024, buffer_bytes=2048, codings=("zvc16", "bfloat16"),
    narrowing=True, pipeline="fast", transfers_in_flight=3, burst_beats=16, outstanding_reads=2, safe_writes=True,
    attribute_registers=True, user_bits=3, lane_user=5, lane_prot=2, lane_qos=9, link_cache=0b1111, link_user=2,
    link_qos=1, page_lists=True, address_windows=True, write_back=True, buffer_parity=True, link_read_ids=4)
_CLOCKS = EngineConfig(
    name="cdma_cover_clocks", about="A link with a clock of its own, one lane, one coding", lanes=1, beat_bytes=16,
    link_beat_bytes=16, block_bytes=512, buffer_bytes=1024, codings=("zvc32",), crc=False, link_clock="separate",
    page_lists=True, write_back=True, address_windows=True, buffer_parity=True)
_WIDE = EngineConfig(
    name="cdma_cover_wide", about="Four lanes, wide beats and addresses, wrapped memories", lanes=4, beat_bytes=64,
    link_beat_bytes=64, block_bytes=512, buffer_bytes=640, address_bits=64, codings=("zvc32",), memories="wrapped",
    queue_depth=16, burst_beats=64, lane_cache=0b0111, link_prot=3)
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
"""The designs that the recorded figures are from, by name, and whether the simulator counts lines and toggles in them;
of the others only bins are counted."""

_CORE_SEEDS = 3
"""Runs of each core, which are short."""

_NOT_CHOSEN = {"wide": ("transfers",), "mixed": ("faults",)}
"""Of these designs the only steps."""


@dataclass(frozen=True)
class Run:
    """A step of the regression of a design.

    Parameters
    ----------
    name
        Of the design.
    config
        Its configuration.
    step
        Name of the step.
    counted
        Whether lines and toggles are counted.
    seed
        Of its random choices.
    """

    name: str
    config: Design
    step: str
    counted: bool
    seed: int

    def __str__(self) -> str:
        return f"{self.name}/{self.step} seed {self.seed}"


def _steps(config: Design, models: bool) -> list[str]:
    skipped = {LINT, THROUGHPUT, *(() if models else ("bus_models",))}
    return [step.name for step in steps(config) if step.name not in skipped]


def chosen_runs(seed: int = 1, seeds: int = 1) -> list[Run]:
    """The runs of the recorded figures: every bench on each of the chosen designs."""
    return [Run(name, config, step, counted, seed + number)
            for name, (config, counted) in CHOSEN.items()
            for number in range(seeds * (1 if isinstance(config, EngineConfig) else _CORE_SEEDS))
            for step in _NOT_CHOSEN.get(name, _steps(config, models=False))]


def every_run(seed: int = 1, seeds: int = 1) -> list[Run]:
    """Every bench on each chosen design and on each shipped one; hours."""
    shipped: dict[str, Design] = {**{name: load_engine(name) for name in engine_preset_names()},
                                  **{name: load(name) for name in preset_names()}}
    more = [Run(name, config, step, True, seed + number) for number in range(seeds)
            for name, config in shipped.items() if name not in CHOSEN for step in _steps(config, models=True)]
    return [*chosen_runs(seed, seeds), *more]


def shard(runs: Sequence[Run], part: int, parts: int) -> list[Run]:
    """Part ``part`` of ``parts`` of the runs: all of a design are in the same part, so that it is compiled once."""
    names = list(dict.fromkeys(run.name for run in runs))
    return [run for run in runs if names.index(run.name) % parts == part - 1]


def measure(runs: Sequence[Run], folder: Path, build_dir: Path,
            progress: Callable[[Run, int, int], None] | None = None) -> list[Outcome]:
    """Run steps and add what they count to a folder.

    Results of other RTL that are in the folder are refused.

    Returns
    -------
    list
        The outcomes of runs that did not pass.

    Raises
    ------
    ValueError
        If the folder has coverage of other RTL.
    """
    _claim(folder)
    failed = []
    for number, run in enumerate(runs):
        if progress is not None:
            progress(run, number, len(runs))
        with _counting(folder, run.counted):
            outcome = run_step(Task(run.config, run.step, run.seed, build_dir,
                                    f"cdma cover --only {run.name}/{run.step} --seed {run.seed}"))
        if outcome.state is not State.PASSED:
            failed.append(outcome)
    return failed


def _claim(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stamp, digest = folder / "digest", rtl_digest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") != digest:
        raise ValueError(f"{folder} has coverage of other RTL: delete it, or give another folder")
    stamp.write_text(digest, encoding="utf-8")


@contextmanager
def _counting(folder: Path, counted: bool) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (VARIABLE, RTL_VARIABLE)}
    os.environ[VARIABLE] = str(folder.resolve())
    os.environ[RTL_VARIABLE] = "1" if counted else "0"
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
