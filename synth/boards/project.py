"""The files of a board: Verilog, constraints, scripts for the tools, and a page with the next steps."""

from __future__ import annotations

import os
from typing import Any, cast

from amaranth.back import verilog

from cdma.hdl.generate.backend import mark_memories
from cdma.hdl.selftest.config import SelftestConfig
from cdma.synth.boards.catalog import Board, platform
from cdma.synth.boards.image import Image
from cdma.synth.boards.readme import readme
from cdma.synth.tools import scripts

__all__ = ["nextpnr_options", "project", "synthesis_script"]


def project(board: Board, config: SelftestConfig, lines: bytes) -> dict[str, str]:
    """The files of a board's image.

    Parameters
    ----------
    board : Board
        Which board.
    config : SelftestConfig
        What the image is built with.
    lines : bytes
        The lines of the dump.

    Returns
    -------
    dict of str to str
        Texts by file name.

    Raises
    ------
    ValueError
        If amaranth-boards is not installed, or the lines cannot be tested with.
    """
    config.check_lines(lines)
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    of = platform(board)
    name = config.name
    plan = of.prepare(Image(board, config, lines), name, emit_src=False, debug_verilog=False)
    made = cast(dict[str, str], plan.files)      # all files of these platforms are texts
    files = {"README.md": readme(board, config, len(lines))}
    if board.family == "ecp5":
        files[f"{name}.v"] = cast(Any, verilog)._convert_rtlil_text(
            mark_memories(made[f"{name}.il"]), strip_internal_attrs=True)
        files[f"{name}.lpf"] = made[f"{name}.lpf"]
        files[f"{name}.ys"] = synthesis_script(board, name)
        files["build.sh"] = _BUILD.format(name=name, options=" ".join(nextpnr_options(of)))
        files |= {key: text for key, text in made.items() if key.endswith("openocd.cfg")}
    else:
        files |= {f"{name}.{kind}": made[f"{name}.{kind}"] for kind in ("v", "xdc", "tcl")}
        files[f"{name}.ys"] = synthesis_script(board, name)
    return {key: text if text.endswith("\n") else f"{text}\n" for key, text in sorted(files.items())}


_BUILD = """\
#!/bin/sh
# Makes {name}.bit. Other names of the tools, for instance those of the YoWASP packages, go into the variables.
set -e
: "${{YOSYS:=yosys}}" "${{NEXTPNR_ECP5:=nextpnr-ecp5}}" "${{ECPPACK:=ecppack}}"
"$YOSYS" -q -l {name}.log {name}.ys
"$NEXTPNR_ECP5" {options} --json {name}.json --lpf {name}.lpf --textcfg {name}.config --report {name}.report.json
"$ECPPACK" --compress --input {name}.config --bit {name}.bit --svf {name}.svf
"""


def synthesis_script(board: Board, name: str) -> str:
    """The Yosys script: from ``NAME.v`` to ``NAME.json``, with the counts of cells in ``stat.json``."""
    return f"{scripts.fpga_script(name, True, board.family).replace('design.v', f'{name}.v')}write_json {name}.json\n"


def nextpnr_options(of: Any) -> list[str]:
    """nextpnr's options for the part of a platform of an ECP5."""
    package = of._nextpnr_package_options[of.package].upper()
    return [of._nextpnr_device_options[of.device], "--package", package, "--speed", of.speed]
