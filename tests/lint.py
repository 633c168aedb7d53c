"""Lint of generated Verilog, as its users run it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from hdl.generate.verilog import WAIVERS
from verif.common import tools

__all__ = ["lint"]

_RULE = "WIDTHTRUNC"
"""The one waived rule that could hide a lost bit."""

_HARMLESS = re.compile(r"\s*assign \S+\s+= (! .*|.* >> \S+ ?);")
"""What the rule names in generated Verilog: comparisons with zero, and words taken by a shift."""


def lint(name: str, text: str, folder: Path) -> None:
    """Fails unless Verilator has nothing to say but what the waivers name, and these hide no lost bit."""
    source, waivers = folder / f"{name}.v", folder / f"{name}.vlt"
    source.write_text(text)
    kept = WAIVERS.read_text().splitlines()
    # Without this waiver, every line that the rule names is seen here.
    kept.remove(f"lint_off -rule {_RULE}")
    waivers.write_text("\n".join([*kept, ""]))
    with tools.environment():
        command = ["verilator", "--lint-only", "-Wall", "-Wno-fatal", str(waivers), str(source)]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    found = re.findall(r"^%(\S+?):", said.stderr, re.MULTILINE)
    assert set(found) <= {f"Warning-{_RULE}"}, said.stderr
    # Not taken from the messages: they leave out long lines.
    written = text.splitlines()
    lines = [written[int(number) - 1] for number in re.findall(rf"%Warning-{_RULE}: \S+?:(\d+):", said.stderr)]
    assert len(lines) == len(found)
    assert all(_HARMLESS.fullmatch(line) for line in lines), lines
