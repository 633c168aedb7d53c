"""``cdma bench``: every figure of the project, measured in one run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdma.console.files import check_folder_of
from cdma.console.numbers import amount
from cdma.console.options import add_command, build_option, json_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.hdl.config.files import write_file
from cdma.measure.compare import change_text, compare, number_text, read_figures, worse
from cdma.report.table import Column, Table

_DESCRIPTION = """\
Measure all published figures: the shipped dump through the simulated engines and cores, dense values of bfloat16
through the engines that build their exponents, effective bandwidth of the engines at densities 0 to 1, with 1 to 16
lanes, for small tensors, for streams in pages, with write-back rings, and for fragments of 256 bytes to 64 KiB by
rings, beats per cycle and latency of the cores at every density and element size, area of the presets, their clock on
an ECP5 after place and route, and the speed of the golden model and of the C library with every coding beside zlib, lz4
and zstd on the same data (without a C compiler, the rows of the library say so); with a cell library also clocks in its
cells, unit by unit, what each option of the engine costs, and area and throughput over beats, lanes and pipelines.
Prints the page docs/performance.md. This takes hours, mostly for the engines and for place and route; --only measures
one section.

With --compare, print the changes since an older file of figures instead, the largest change first: with one file,
figures measured now are compared with it, section by section; with two files nothing is measured."""

_EXAMPLES = """\
  cdma bench
  cdma bench --only golden                                minutes
  cdma bench --only area --liberty cells.lib              with um2 of your cell library
  cdma bench --only block_shipped                         the shipped dump through the block cores
  cdma bench --only timing_units --only sweep --liberty cells.lib
  cdma bench --only pnr --output figures.json             place and route: some minutes for each preset
  cdma bench --compare old.json new.json                  what changed between two runs
  cdma bench --only shipped --compare figures.json --fail-over 1"""

SECTION_NAMES = ("engine_shipped", "engine_dense", "toggles", "engine", "engine_scaling", "engine_small",
                 "engine_pages", "engine_write_back", "engine_fragments", "engine_area", "engine_estimates", "shipped",
                 "throughput", "area", "timing", "timing_plain", "block_shipped", "block_throughput", "block_area",
                 "block_timing", "block_pnr", "timing_units", "engine_options", "pnr", "sweep", "golden")
"""The sections of :data:`cdma.measure.bench.SECTIONS`, which the parser names without importing what measures them."""

_IN_CELLS = ("timing", "timing_plain", "block_timing", "timing_units", "engine_options", "sweep")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "bench", "measure cycles, area and the golden model's speed", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("--only", action="append", choices=SECTION_NAMES,
                        help="measure only this section; may be repeated")
    parser.add_argument("--liberty", metavar="FILE", help="cell library for area in um2, and for timing")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the figures as JSON too, section by section; "
                        "with --only, other sections in the file are kept")
    parser.add_argument("--compare", nargs="+", metavar="FILE", help="print the change of every figure from an older "
                        "file to a newer one, or to figures measured now if only one is given")
    parser.add_argument("--fail-over", type=amount, metavar="PERCENT", help="with --compare: exit code 1 if a figure "
                        "in cycles is worse by more than this, with a line for each")
    build_option(parser)
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Measure, write and print; or compare."""
    from cdma.report.performance import performance_page

    _check(call)
    old = [read_figures(path) for path in call.compare or ()]
    if len(old) == 2:
        return _compared(call, compare(*old))
    figures = _measured(call)
    if old:
        return _compared(call, compare(old[0], figures, figures))
    show(call, figures, lambda figures: performance_page(figures).markdown().rstrip("\n"))
    return 0


def _check(call: argparse.Namespace) -> None:
    if call.liberty is not None:
        # Hours may pass before a section needs it.
        from cdma.synth.cells.liberty import parse, read

        parse(read(call.liberty), call.liberty)
    if call.liberty is None and set(call.only or ()) & set(_IN_CELLS):
        raise ValueError("timing needs a cell library: give --liberty FILE")
    if call.output:
        check_folder_of(call.output)
    if call.fail_over is not None and not call.compare:
        raise ValueError("--fail-over is for comparisons: give --compare too")
    if call.compare and len(call.compare) > 2:
        raise ValueError(f"--compare takes an older file and a newer one, not {len(call.compare)}")
    if call.compare and len(call.compare) == 2 and (call.only or call.output or call.liberty):
        raise ValueError("--compare with two files measures nothing: leave out --only, --output and --liberty")


def _measured(call: argparse.Namespace) -> dict[str, object]:
    """The figures of the sections that are asked for, written to a file where one is named."""
    from cdma.measure.bench import SECTIONS, Setup, measured

    setup = Setup(Path(call.build_dir), call.liberty)
    path = Path(call.output) if call.output else None
    kept = read_figures(path) if path and path.exists() and path.stat().st_size else {}
    figures: dict[str, object] = {}
    with Progress() as progress:
        for name in call.only or [name for name in SECTIONS if call.liberty or name not in _IN_CELLS]:
            figures |= measured(name, setup, progress)
            if path:
                # All sections take hours: measured ones are kept if a later one fails.
                write_file(path, json.dumps(kept | figures, indent=1) + "\n")
    if path and not call.only:
        write_file(path, json.dumps(figures, indent=1) + "\n")
    return figures


def _compared(call: argparse.Namespace, comparison: dict[str, Any]) -> int:
    """Print a comparison; the exit code says whether a figure in cycles is worse than allowed."""
    figures = comparison["figures"]
    if not figures:
        raise ValueError("no figure is in both files: give two that cdma bench --output wrote")
    failed = [change for change in figures if call.fail_over is not None and worse(change, call.fail_over)]
    show(call, comparison | {"worse": failed}, comparison_text)
    for change in failed:
        print(f"cdma: {change_text(change)} is worse by more than {call.fail_over:g} %", file=sys.stderr)
    return 1 if failed else 0


_CHANGES = [Column("figure", lambda change: f"{change['section']} / {change['figure']}"),
            Column("old", lambda change: number_text(change["old"]), left=False),
            Column("new", lambda change: number_text(change["new"]), left=False),
            Column("change", "percent", "+.2f", " %")]


def comparison_text(comparison: Mapping[str, Any]) -> str:
    """What is printed: figures that changed, and those that only one file has."""
    figures = comparison["figures"]
    changed = [change for change in figures if change["percent"] != 0]
    parts = [f"{len(figures)} figures in both: {len(changed)} changed, {len(figures) - len(changed)} are the same."]
    if changed:
        parts.append(Table(_CHANGES, changed).text())
    for title, names in (("Only in the new", comparison["appeared"]), ("Only in the old", comparison["vanished"])):
        if names:
            parts.append("\n".join([f"{title}:", *(f"  {name}" for name in names)]))
    return "\n\n".join(parts)
