"""Lint of generated Verilog."""

from __future__ import annotations

from pathlib import Path

from cdma.verif.common.lint import findings

__all__ = ["lint"]


def lint(name: str, text: str, folder: Path) -> None:
    """Fails unless Verilator has nothing to say but what the waivers name, and these hide no lost bit."""
    assert not findings(name, text, folder)
