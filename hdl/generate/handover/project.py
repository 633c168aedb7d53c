"""Files for tools: a FuseSoC core, and a file list."""

from __future__ import annotations

import json
from importlib.metadata import version

from cdma.hdl.generate.handover.constraints import crossings
from cdma.hdl.generate.handover.ipxact import LIBRARY, VENDOR
from cdma.hdl.generate.verilog import Verilog

__all__ = ["core_file", "file_list"]


def core_file(design: Verilog) -> str:
    """A FuseSoC core (CAPI 2, ``flow:`` form) with a lint target; named ``cdma-rtl:ip:NAME``."""
    name = design.name
    return f"""\
CAPI=2:
name: {VENDOR}:{LIBRARY}:{name}:{version("cdma-rtl")}
description: {json.dumps(design.config.about or name)}

filesets:
  rtl:
    files:{_rtl(design)}
    file_type: verilogSource
  constraints:
    files:
      - {name}.sdc
    file_type: SDC
  constraints_of_vivado:
    files:
      - {name}.xdc{"".join(f"{chr(10)}      - {each}" for each in crossings(design))}
    file_type: xdc
  waivers:
    files:
      - {name}.vlt
    file_type: vlt

targets:
  default: &default
    filesets: [rtl, "tool_vivado? (constraints_of_vivado)", "!tool_vivado? (constraints)"]
    toplevel: "{name}"
  lint:
    <<: *default
    description: Verilator's lint rules, with the waivers that are explained in {name}.vlt
    filesets: [waivers, rtl]
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
"""


def _rtl(design: Verilog) -> str:
    """The sources as YAML: a line for each if the design is split."""
    if design.modules:
        return "".join(f"\n      - {name}" for name in design.sources)
    return f" [{', '.join(design.sources)}]"


def file_list(design: Verilog) -> str:
    """A command file for simulators and synthesisers (``-f``): the sources, relative to the folder they are in."""
    return "".join(f"{name}\n" for name in design.sources)
