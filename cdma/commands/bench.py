"""``cdma bench``: every figure of the project, measured in one run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cdma.console.errors import CheckError, simulation_errors
from cdma.console.numbers import amount
from cdma.console.options import add_command, json_option
from cdma.console.output import print_json
from cdma.console.progress import Progress
from cdma.measure.compare import Comparison, compare, comparison_text, read_figures
from cdma.report.performance import performance_page

_DESCRIPTION = """\
Measure what the project claims: the shipped dump through the simulated engines and cores, effective bandwidth of the
engines at densities 0 to 1 and with 1 to 16 lanes, beats per cycle and latency of the cores at every density and
element size, area of the presets, their clock on an ECP5 after place and route, and the golden model's speed beside
zlib, lz4 and zstd on the same data; with a cell library also clocks in its cells, unit by unit, and area and throughput
over beats, lanes and pipelines. Prints the page that docs/performance.md holds. Takes hours, most of them for the
engines and for place and route; --only measures a part.

With --compare, print what changed since an older file of figures instead, the largest change first: with one file what
is measured now stands beside it, section by section, with two nothing is measured."""

_EXAMPLES = """\
  cdma bench
  cdma bench --only golden                                seconds
  cdma bench --only area --liberty cells.lib              with um2 of your cell library
  cdma bench --only timing_units --only sweep --liberty cells.lib
  cdma bench --only pnr --output figures.json             place and route: some minutes for each preset
  cdma bench --compare old.json new.json                  what changed between two runs
  cdma bench --only shipped --compare figures.json --fail-over 1"""

_TARGETS = ("generic", "ecp5", "xilinx7")
_Section = Callable[[argparse.Namespace, Progress], dict[str, Any]]


def _throughput(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from hdl.config.core import load, preset_names
    from verif.core.throughput import latency, measure

    rows: dict[str, list[dict[str, Any]]] = {"throughput": [], "latency": []}
    names = preset_names()
    with simulation_errors():
        for number, name in enumerate(names):
            progress(f"simulating {name}", number, len(names))
            config, build_dir = load(name), Path(call.build_dir)
            rows["throughput"] += map(asdict, measure(config, build_dir=build_dir))
            rows["latency"] += map(asdict, latency(config, build_dir=build_dir))
    return rows


def _engine(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from hdl.config.engine import engine_preset_names, load_engine
    from verif.engine.throughput import QUICK, SLOW, measure, scaling

    rows: dict[str, list[dict[str, Any]]] = {"engine": [], "engine_scaling": []}
    build_dir = Path(call.build_dir)
    names = engine_preset_names()
    with simulation_errors():
        for number, name in enumerate(names):
            progress(f"measuring engine {name}", number, len(names) + 1)
            for how in (QUICK, SLOW):
                rows["engine"] += map(asdict, measure(load_engine(name), how=how, build_dir=build_dir))
        progress("measuring engines of 1 to 16 lanes", len(names), len(names) + 1)
        for how in (QUICK, SLOW):
            rows["engine_scaling"] += map(asdict, scaling(load_engine("default"), how=how, build_dir=build_dir))
    return rows


def _engine_area(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.commands.area import measured_engine
    from hdl.config.engine import engine_preset_names, load_engine
    from synth.tools.scripts import DEFAULT_RECIPE

    return {"engine_area": [measured_engine(load_engine(name), call.liberty, DEFAULT_RECIPE, progress)
                            for name in engine_preset_names()]}


def _engine_shipped(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.commands.simulate import arrays_by_element, simulated_engine
    from hdl.config.engine import engine_preset_names, load_engine

    arrays = arrays_by_element([], None, None, None)
    return {"engine_shipped": [simulated_engine(load_engine(name), arrays, build_dir=Path(call.build_dir),
                                                progress=progress) for name in engine_preset_names()]}


def _area(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from hdl.config.core import load, preset_names
    from synth.area.cores import area

    jobs = [(name, target) for name in preset_names() for target in _TARGETS + ("liberty",) * bool(call.liberty)]
    reports = []
    for number, (name, target) in enumerate(jobs):
        progress(f"synthesising {name} for {target}", number, len(jobs))
        liberty = call.liberty if target == "liberty" else None
        # By submodule where README shows it; elsewhere the total says it, in half the time.
        reports.append({"preset": name} | area(load(name), target=target, liberty=liberty,
                                               modules=target == "generic").as_dict())
    return {"area": reports}


def _timing(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from hdl.config.core import load, preset_names
    from synth.timing.cores import timing

    if not _has_library(call):
        return {}
    reports = []
    names = preset_names()
    for number, name in enumerate(names):
        progress(f"timing {name}", number, len(names))
        reports.append({"preset": name} | timing(load(name), liberty=call.liberty).as_dict())
    return {"timing": reports}


def _has_library(call: argparse.Namespace) -> bool:
    if call.liberty is None and call.only:
        raise ValueError("timing needs a cell library: give --liberty FILE")
    return call.liberty is not None


def _timing_units(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.measure.clocks import timing_units

    return timing_units(call.liberty, progress) if _has_library(call) else {}


def _pnr(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.measure.clocks import pnr

    return pnr(progress)


def _pnr_units(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.measure.clocks import pnr_units

    return pnr_units(progress)


def _sweep(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.measure.clocks import sweep

    return sweep(call.liberty, progress) if _has_library(call) else {}


def _golden(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from golden import bench

    rows = bench.measure(progress=progress)
    return {"golden": {"machine": bench.machine(), "crc32c": bench.crc_speed(),
                       "rows": [bench.as_dict(row) for row in rows]}}


def _shipped(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.commands.simulate import arrays_by_element, simulated

    arrays = arrays_by_element([], None, None, None)
    return {"shipped": simulated(arrays, build_dir=Path(call.build_dir), progress=progress)}


def _toggles(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.commands.simulate import arrays_by_element, simulated_engine
    from hdl.codec.coding import ELEMENT_BITS
    from hdl.config.engine import load_engine
    from workload.data import shipped_dumps

    config = load_engine("default")
    rows = []
    for dump, path in shipped_dumps().items():
        for bits in ELEMENT_BITS:
            outcome = simulated_engine(config, arrays_by_element([path], None, bits, None),
                                       build_dir=Path(call.build_dir), progress=progress)
            if not outcome["passed"]:
                raise CheckError(next(row["difference"] for row in outcome["arrays"] if row["difference"]))
            rows.append({"dump": dump, "element_bits": bits, "link_beat_bytes": config.link_beat_bytes,
                         "ratio": outcome["ratio"], **outcome["toggles"]})
    return {"toggles": rows}


_SECTIONS: dict[str, _Section] = {"engine_shipped": _engine_shipped, "toggles": _toggles, "engine": _engine,
                                 "engine_area": _engine_area, "shipped": _shipped, "throughput": _throughput,
                                 "area": _area, "timing": _timing, "timing_units": _timing_units, "pnr": _pnr,
                                 "pnr_units": _pnr_units, "sweep": _sweep, "golden": _golden}


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "bench", "measure cycles, area and the golden model's speed", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("--only", action="append", choices=tuple(_SECTIONS), help="measure this alone; may be repeated")
    parser.add_argument("--liberty", metavar="FILE", help="cell library for area in um2, and for timing")
    parser.add_argument("--output", metavar="FILE", help="write the figures as JSON too, section by section; "
                        "with --only, others that are in the file stay")
    parser.add_argument("--compare", nargs="+", metavar="FILE", help="print the change of every figure from an older "
                        "file to a newer one, or to what is measured when one is given")
    parser.add_argument("--fail-over", type=amount, metavar="PERCENT", help="with --compare: exit code 1 when a figure "
                        "in cycles is worse by more, with a line for each")
    parser.add_argument("--build-dir", default="build/sim", metavar="DIR",
                        help="folder for simulator builds (default: build/sim)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Measure, write and print; or compare."""
    _check(call)
    old = [read_figures(path) for path in call.compare or ()]
    if len(old) == 2:
        return _compared(call, compare(*old))
    figures = _measured(call)
    if old:
        return _compared(call, compare(old[0], figures, figures))
    if call.json:
        print_json(figures)
    else:
        print(performance_page(figures), end="")
    return 0


def _check(call: argparse.Namespace) -> None:
    if call.liberty is not None and not Path(call.liberty).is_file():
        raise ValueError(f"there is no cell library {call.liberty}")
    if call.output and not Path(call.output).parent.is_dir():
        raise ValueError(f"there is no folder {Path(call.output).parent} for --output {call.output}")
    if call.fail_over is not None and not call.compare:
        raise ValueError("--fail-over says when a comparison fails: give --compare too")
    if call.compare and len(call.compare) > 2:
        raise ValueError(f"--compare takes an older file and a newer one, not {len(call.compare)}")
    if call.compare and len(call.compare) == 2 and (call.only or call.output or call.liberty):
        raise ValueError("--compare with two files measures nothing: leave out --only, --output and --liberty")


def _measured(call: argparse.Namespace) -> dict[str, Any]:
    """The figures of the sections that are asked for, written to a file where one is named."""
    path = Path(call.output) if call.output else None
    kept = read_figures(path) if path and path.exists() and path.stat().st_size else {}
    figures: dict[str, Any] = {}
    with Progress() as progress:
        for name in call.only or _SECTIONS:
            figures |= _SECTIONS[name](call, progress)
            if path:
                # All of them take hours: what has been measured stays, whatever comes after.
                _write(path, kept | figures)
    if path and not call.only:
        _write(path, figures)
    return figures


def _write(path: Path, figures: dict[str, Any]) -> None:
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _compared(call: argparse.Namespace, comparison: Comparison) -> int:
    """Print a comparison; the exit code says whether a figure in cycles is worse than allowed."""
    worse = [change for change in comparison.changes if call.fail_over is not None
             and change.worse_than(call.fail_over)]
    if call.json:
        print_json(comparison.as_dict() | {"worse": [change.as_dict() for change in worse]})
    else:
        print(comparison_text(comparison))
    for change in worse:
        print(f"cdma: {change} is worse by more than {call.fail_over:g} %", file=sys.stderr)
    return 1 if worse else 0
