"""``cdma rules``: the rules of AXI4, AXI4-Lite and AXI4-Stream as Verilog modules for other projects."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cdma.console.options import add_command, json_option
from cdma.console.output import show

_DESCRIPTION = """\
List the rules of AXI4, AXI4-Lite and AXI4-Stream that this project has as Verilog modules, or write the modules into a
folder. They are plain Verilog with immediate assertions: Verilator and Icarus report a broken rule with its name, its
port and the time, Yosys proves it or assumes it. Each file has one module and needs no other. How to bind them is on
docs/rules.md."""

_EXAMPLES = """\
  cdma rules                              all rules: name, who keeps it, what it demands
  cdma rules --module axi4_stream_rules   those of one module
  cdma rules -o rules                     write the modules
  cdma rules --json | jq '.[].name'"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "rules", "rules of AXI4, AXI4-Lite and AXI4-Stream, as Verilog", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("--module", metavar="NAME", help="only the rules of this module (default: all)")
    parser.add_argument("-o", "--output", metavar="DIR", help="write the modules into this folder instead")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """List rules, or write their modules."""
    from cdma.console.files import write_files, written_text
    from cdma.report.table import Column, Table
    from cdma.verif.rules.catalogue import FILES, rules, source

    modules = {rule.module: f"{rule.module.removesuffix('_rules')}.v" for rule in rules()}
    if call.module is not None and call.module not in modules:
        raise ValueError(f"there is no module {call.module!r}: choose from {', '.join(modules)}")
    if call.output is not None:
        folder = Path(call.output)
        folder.mkdir(parents=True, exist_ok=True)
        chosen = FILES if call.module is None else (modules[call.module],)
        show(call, write_files(folder, {file: source(file) for file in chosen}),
             lambda written: "\n".join(map(written_text, written)))
        return 0
    columns = [Column("rule", "name"), Column("module", "module"), Column("kept by", "side"),
               Column("what it demands", "text")]
    show(call, [rule for rule in rules() if call.module in (None, rule.module)],
         lambda found: Table(columns, found).text())
    return 0
