"""``cdma generate``: Verilog of cores, JSON about it, and the lint rules that it waives."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from cdma.options import add_command, configurations, core_options, json_option
from cdma.output import count, print_json, table
from cdma.progress import Progress

_DESCRIPTION = """\
Write NAME.v, NAME.json and NAME.vlt of each configuration: its Verilog; the resolved configuration, the ports and the
versions of the tools; and the lint rules that generated Verilog cannot keep, waived one by one with reasons, for
'verilator --lint-only -Wall NAME.vlt NAME.v'. The same configuration gives the same bytes on every machine."""

_EXAMPLES = """\
  cdma generate --list                                    what there is
  cdma generate -o rtl                                    compressor and decompressor
  cdma generate wide_compressor -o rtl                    a preset
  cdma generate compressor --set beat_bytes=16 --set name=small -o rtl
  cdma generate my_core.toml -o rtl                       a configuration of your own"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "generate", "write the Verilog of cores", _DESCRIPTION, _EXAMPLES, run)
    core_options(parser)
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="folder to write into (default: this one)")
    parser.add_argument("--list", action="store_true", help="list presets and parameters, write nothing")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """List, or generate and say what was written."""
    if call.list:
        return _list(call.json)
    from hdl.verilog import emit

    configs = configurations(call)
    folder = Path(call.output)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[dict[str, Any]] = []
    with Progress() as progress:
        for number, config in enumerate(configs):
            progress("generating Verilog", number, len(configs))
            verilog = emit(config)
            files = {folder / f"{verilog.name}.v": verilog.text,
                     folder / f"{verilog.name}.json": json.dumps(verilog.about(), indent=2) + "\n",
                     folder / f"{verilog.name}.vlt": verilog.waivers}
            for path, text in files.items():
                path.write_text(text, encoding="utf-8")
                written.append({"file": str(path), "bytes": len(text.encode()), "top": verilog.name})
    if call.json:
        print_json(written)
    else:
        for entry in written:
            print(f"wrote {entry['file']} ({count(entry['bytes'])} bytes)")
    return 0


def _list(as_json: bool) -> int:
    from hdl.config import CoreConfig, load, preset_names

    presets = {name: load(name) for name in preset_names()}
    parameters = {name: {"about": field.metadata["help"], "allowed": field.metadata["allowed"]}
                  for name, field in CoreConfig.fields().items()}
    if as_json:
        print_json({"presets": {name: config.as_dict() for name, config in presets.items()}, "parameters": parameters})
        return 0
    print(table(["preset", "what it is for"], [[name, config.about] for name, config in presets.items()], left=(0, 1)))
    print()
    print(table(["parameter", "allowed", "what it sets (--set NAME=VALUE, or a line of a TOML file)"],
                [[name, about["allowed"], about["about"]] for name, about in parameters.items()], left=(0, 1, 2)))
    return 0
