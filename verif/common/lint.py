"""Lint of generated Verilog, as its users run it: Verilator with the waivers that are handed over."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from cdma.hdl.generate.verilog import WAIVERS
from cdma.verif.common import tools

__all__ = ["findings"]

_RULE = "WIDTHTRUNC"
"""The one waived rule that could hide a lost bit."""

_HARMLESS = re.compile(r"\s*assign \S+\s+= (! .*|.* >> (\\\S+ )?\S*);")
"""What the rule names in generated Verilog: comparisons with zero, and words taken by a shift.

The distance of a shift may be an escaped name, which Amaranth gives where Python's bytecode tells it none.
"""


def findings(name: str, text: str, folder: Path) -> list[str]:
    """What Verilator says beside what the waivers name, and lines where these would hide a lost bit.

    Parameters
    ----------
    name
        Of the top module.
    text
        The Verilog.
    folder
        Where the files are written.

    Raises
    ------
    MissingToolError
        If Verilator is not installed.
    """
    tools.require("verilator")
    source, waivers = folder / f"{name}.v", folder / f"{name}.vlt"
    source.write_text(text, encoding="utf-8")
    kept = WAIVERS.read_text(encoding="utf-8").splitlines()
    # Without this waiver, every line that the rule names is seen here.
    kept.remove(f"lint_off -rule {_RULE}")
    waivers.write_text("\n".join([*kept, ""]), encoding="utf-8")
    with tools.environment():
        command = ["verilator", "--lint-only", "-Wall", "-Wno-fatal", str(waivers), str(source)]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    named = [line for line in said.stderr.splitlines() if line.startswith("%")]
    waived = f"%Warning-{_RULE}: "
    found = [line for line in named if not line.startswith(waived)]
    if said.returncode and not found:
        found = said.stderr.splitlines() or [f"Verilator ends with exit code {said.returncode}"]
    # Not taken from the messages: they leave out long lines.
    written = text.splitlines()
    for line in named:
        if place := re.match(rf"{waived}\S+?:(\d+):", line):
            lost = written[int(place[1]) - 1]
            if not _HARMLESS.fullmatch(lost):
                found.append(f"{line}: {lost.strip()}")
        elif line.startswith(waived):
            found.append(line)
    return found
