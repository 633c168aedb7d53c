"""Lint of generated Verilog, as its users run it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from hdl.generate.verilog import WAIVERS
from verif.common import tools

__all__ = ["lint"]


def lint(name: str, text: str, folder: Path) -> None:
    """Fails unless Verilator has nothing to say but what the waivers name, and these hide no lost bit."""
    source, waivers = folder / f"{name}.v", folder / f"{name}.vlt"
    source.write_text(text)
    waivers.write_text(WAIVERS.read_text())

    def say(*arguments: str) -> subprocess.CompletedProcess[str]:
        with tools.environment():
            return subprocess.run(["verilator", "--lint-only", "-Wall", *arguments, str(source)],
                                  capture_output=True, text=True, check=False)

    clean = say(str(waivers))
    assert clean.returncode == 0, clean.stderr
    assert "%Warning" not in clean.stderr
    # The one waiver that could hide a lost bit hides comparisons with zero, and words picked by a shift, alone.
    lines = re.findall(r"%Warning-WIDTHTRUNC.*\n.*\n\s*\d+ \|(.*)", say().stderr)
    assert all(re.fullmatch(r"\s*assign \S+\s+= (! .*|.* >> \S+ ?);", line) for line in lines), lines
