"""A design on an ECP5, placed and routed: its clock, its worst path in the design's own names, and its area."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low

from cdma.golden.results import HIDDEN, derived
from cdma.hdl.generate.interfaces import Port
from cdma.synth.cells.fpga import FPGA
from cdma.synth.pnr.harness import CHAINS, CLOCK, INSTANCE, Harness, harness
from cdma.synth.tools import scripts
from cdma.synth.tools.nextpnr import Nextpnr, NextpnrError, Report, find
from cdma.synth.tools.yosys import Progress, report
from cdma.synth.tools.yosys import find as find_yosys

__all__ = ["DEVICES", "SPEEDS", "NextpnrError", "PnrPath", "PnrReport", "PnrStage", "Resources", "Run",
           "place_and_route", "read_run"]

SPEEDS = (6, 7, 8)
"""The speed grades; 8 is the fastest."""

_TARGET_MHZ = 200
"""Target clock of placement and routing: above that of all designs, so that optimisation does not stop early."""

_OPTIONS = {"LFE5U-25F": "--25k", "LFE5U-45F": "--45k", "LFE5U-85F": "--85k"}

_BELS = {"luts": "TRELLIS_COMB", "flip_flops": "TRELLIS_FF", "block_ram": "DP16KD", "dsp": "MULT18X18D"}


@dataclass(frozen=True)
class Resources:
    """Resources that a design uses, or a part has.

    Parameters
    ----------
    luts : int
        Look-up tables of four inputs, those of carry chains and of small memories included.
    flip_flops : int
        Flip-flops.
    block_ram : int
        Memory blocks of 18 kbit.
    dsp : int
        Multipliers of 18 x 18 bits.
    """

    luts: int
    flip_flops: int
    block_ram: int
    dsp: int


DEVICES = {"LFE5U-25F": Resources(24288, 24288, 56, 28), "LFE5U-45F": Resources(43848, 43848, 108, 72),
           "LFE5U-85F": Resources(83640, 83640, 208, 156)}
"""The parts by name, with their resources."""


@dataclass(frozen=True)
class PnrStage:
    """A step of a path: its ``kind`` (``clk-to-q``, ``routing``, ``logic`` or ``setup``), ns, and where it leads: a
    net for ``routing``, else a cell."""

    kind: str
    ns: float
    name: str


@dataclass(frozen=True)
class PnrPath:
    """The slowest path from register to register.

    Parameters
    ----------
    ns : float
        How long it takes.
    start, end : str
        The registers or memories it starts from and ends at.
    levels : int
        Look-up tables, carries and multiplexers on the way.
    routing_ns : float
        The part of ``ns`` that is wires.
    stages : tuple of PnrStage
        Its steps.
    """

    ns: float
    start: str
    end: str
    levels: int
    routing_ns: float
    stages: tuple[PnrStage, ...]


@dataclass(frozen=True)
class Run:
    """Placed and routed once: from which ``seed``, at which clock, and the ``path`` that limits it, which JSON leaves
    out."""

    seed: int
    mhz: float
    path: PnrPath = field(metadata=HIDDEN)


@dataclass(frozen=True)
class Best:
    """The run with the highest clock: as :class:`Run`, with its path in JSON."""

    seed: int
    mhz: float
    path: PnrPath


@dataclass(frozen=True)
class PnrReport:
    """A design on a part.

    Parameters
    ----------
    name : str
        The design's top module.
    device : str
        The part.
    speed : int
        Its speed grade.
    yosys, nextpnr : str
        What mapped, and what placed and routed it.
    used, available : Resources
        What the design takes, without the harness around it, and what the part has.
    runs : tuple of Run
        One per seed; none if synthesis says that it does not fit.
    """

    name: str
    device: str
    speed: int
    yosys: str
    nextpnr: str
    used: Resources
    available: Resources
    runs: tuple[Run, ...]

    @derived
    def best(self) -> Best | None:
        """The run with the highest clock; None if there is none."""
        run = max(self.runs, key=lambda run: run.mhz, default=None)
        return run and Best(run.seed, run.mhz, run.path)

    @derived
    def median_mhz(self) -> float | None:
        """The median clock of the seeds; None if there is none."""
        return median_low(run.mhz for run in self.runs) if self.runs else None


def place_and_route(verilog: str, top: str, ports: Sequence[Port], *, device: str = "LFE5U-85F",
                    speed: int = 8, seeds: int = 1, clock: str = CLOCK, inside: Sequence[Harness] = (),
                    progress: Progress | None = None) -> PnrReport:
    """Place a design on an ECP5, between the registers of :mod:`cdma.synth.pnr.harness`.

    A design that takes more than the part has is not placed: its report says what it takes after synthesis.

    Parameters
    ----------
    verilog : str
        The design.
    top : str
        Its top module.
    ports : sequence of Port
        Its ports.
    device : str
        One of :data:`DEVICES`.
    speed : int
        One of :data:`SPEEDS`.
    seeds : int
        How often to place and route, each time from another seed: 1, 2, ...
    clock : str
        The port for the clock.
    inside : sequence of Harness
        Replacements of modules that ``verilog`` does not have, each instantiated once.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If there is no such device or speed grade, no Yosys or nextpnr, or the design cannot be placed or routed.
    """
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {device}")
    if speed not in SPEEDS:
        raise ValueError(f"speed grade must be one of {', '.join(map(str, SPEEDS))}, not {speed}")
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more, not {seeds}")
    nextpnr, yosys = find(), find_yosys(progress)
    around = harness(top, ports, clock)
    stage = f"placing and routing {top} on {device}-{speed}"
    report(progress, f"synthesis of {top} for ECP5")
    files = {"design.v": "".join([verilog, *(each.verilog for each in (*inside, around))])}
    mapped = yosys.run(scripts.fpga_script(around.name, True, "ecp5", netlist=True), files, ["net.json", "stat.json"],
                       f"synthesis of {top} (target ecp5)")
    taken, has = _mapped(mapped["stat.json"]), DEVICES[device]
    runs: list[Run] = []
    if all(getattr(taken, name) <= getattr(has, name) for name in _BELS):
        for seed in range(1, seeds + 1):
            report(progress, stage, seed - 1, seeds)
            outcome = _run(nextpnr, mapped["net.json"], device, speed, seed, f"{top} on {device}-{speed}")
            taken = Resources(**{name: outcome["utilization"].get(bel, {}).get("used", 0)
                                 for name, bel in _BELS.items()})
            runs.append(read_run(outcome, seed))
        report(progress, stage, seeds, seeds)
    used = replace(taken, luts=taken.luts - sum(each.luts for each in (*inside, around)),
                   flip_flops=taken.flip_flops - sum(each.flip_flops for each in (*inside, around)))
    return PnrReport(top, device, speed, yosys.version, nextpnr.version, used, has, tuple(runs))


def _run(nextpnr: Nextpnr, netlist: str, device: str, speed: int, seed: int, about: str) -> Report:
    return nextpnr.run(netlist, [_OPTIONS[device], "--speed", str(speed), "--seed", str(seed), "--freq",
                                 str(_TARGET_MHZ), "--timing-allow-fail", "--lpf-allow-unconstrained"],
                       f"place and route of {about}")


def _mapped(stat: str) -> Resources:
    """Resources of a design after synthesis; placement adds a few LUTs for routes."""
    counts: Counter[str] = Counter()
    for module in json.loads(stat)["modules"].values():
        counts.update(module["num_cells_by_type"])
    luts = sum(counts[cell] * number for cell, number in FPGA["ecp5"].luts.items())
    return Resources(luts, *(counts[_BELS[name]] for name in ("flip_flops", "block_ram", "dsp")))


def read_run(outcome: Report, seed: int = 1) -> Run:
    """Clock and worst path in a report of nextpnr; only paths within the clock's domain count.

    Raises
    ------
    NextpnrError
        If the report has no path from register to register.
    """
    paths = [path for path in outcome["critical_paths"] if path["from"] == path["to"] != "<async>"]
    if not paths or not outcome["fmax"]:
        raise NextpnrError("nextpnr reports no path from register to register")
    mhz = min(clock["achieved"] for clock in outcome["fmax"].values())
    steps = max((path["path"] for path in paths), key=lambda path: sum(step["delay"] for step in path))
    stages = tuple(PnrStage(step["type"], round(step["delay"], 3),
                            _plain(step["net"] if step["type"] == "routing" else step["to"]["cell"])) for step in steps)
    return Run(seed, round(mhz, 1), PnrPath(
        ns=round(sum(step["delay"] for step in steps), 3), start=_plain(steps[0]["from"]["cell"]),
        end=_plain(steps[-1]["to"]["cell"]), levels=sum(stage.kind == "logic" for stage in stages),
        routing_ns=round(sum(step["delay"] for step in steps if step["type"] == "routing"), 3), stages=stages))


_CELL = re.compile(r"(_(TRELLIS_FF|TRELLIS_DPR16X4|DP16KD|MULT18X18D|LUT4|CCU2C|PFUMX|L6MUX21)(_[A-Z][A-Z0-9]*)?(_\d+)?"
                   r"(?![A-Za-z]))+.*$")


_HARNESS = re.compile(rf"^{INSTANCE}\.|\b({'|'.join(CHAINS)})\.")


def _plain(name: str) -> str:
    """A name without the harness, and without what tools append to the design's names."""
    return _CELL.sub("", _HARNESS.sub("", name))
