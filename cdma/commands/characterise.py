"""``cdma characterise``: what dumps would gain, per array and in all, as tables, JSON or a page of plots."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.options import add_command, dtype_option, element_option, json_option
from cdma.output import count, fixed, print_json, table
from cdma.progress import Progress

if TYPE_CHECKING:
    from workload.characterise import Array, Coded

_DESCRIPTION = """\
Measure the arrays of dumps: density, lengths of the runs of zeros, clustering; and the ratio, raw bytes over packed
bytes, under zero-value coding of 8, 16 and 32-bit elements, run-length coding, zlib on 4 KiB windows, and the block
stream with its fallback, beside the bound of mask coding. Each array is measured as it is stored, in the layouts NCHW,
NHWC and CHWN where it has four dimensions, and narrowed to 16 bits where its values are longer.

Arrays named p020/conv1 are of training steps, here at 20 % of the training; step100/conv1 and epoch3/conv1 are
understood as well. Arrays are loaded one at a time, so that dumps may be larger than memory, and measured on all cores,
or, with --scheduler, by the workers of a Dask cluster that can read the dumps under the same paths.
Columns, formats and report are explained in docs/characterise.md."""

_EXAMPLES = """\
  cdma characterise                                       the dump that ships with the project
  cdma characterise dump.npz --report dump.html           tables, and a page of plots
  cdma characterise epoch*.npz --jobs 8                   one dump an epoch, eight worker processes
  cdma characterise maps.npy --layout NHWC --narrow bfloat16
  cdma characterise net.safetensors net.pt captured/      arrays of other formats, and a folder of cdma capture
  cdma characterise maps.bin --dtype bfloat16 --shape 32x64x28x28
  cdma characterise /shared/run7 --scheduler tcp://10.0.0.1:8786
  cdma characterise dump.npz --json | jq '.arrays[].variants[0].codings.blocks.ratio'"""

_HEADS = {"zvc8": "ZVC 8", "zvc16": "ZVC 16", "zvc32": "ZVC 32", "rle": "RLE", "zlib": "zlib", "blocks": "blocks"}
_CHART = ("rle", "zlib", "blocks")
_GROUPS = 8  # arrays in a plot
_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: what compression would gain</title>
<style>
body { font: 16px/1.45 system-ui, sans-serif; color: #1a1a1a; max-width: 1100px; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem } h3 { font-size: 1rem; margin-bottom: 0 }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: .5rem }
.tiles div { border: 1px solid #ccc; border-radius: 6px; padding: .5rem .7rem }
.tiles dt { font-size: .8rem; color: #555 }
.tiles dd { margin: 0; font-size: 1.2rem; font-weight: 600 }
.plots { display: flex; flex-wrap: wrap; gap: 1rem } figure { margin: 0; break-inside: avoid }
figure svg { display: block; max-width: 100% } svg { font-family: inherit } svg text { fill: #1a1a1a }
svg text.title { font-weight: 600 } svg text.value { font-size: 10px; fill: #555 }
svg line.grid { stroke: #ddd } svg line.mark { stroke: #000; stroke-width: 1.5 }
.legend { font-size: .85rem } .key { margin-right: 1rem; white-space: nowrap }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .35em }
.key i.mark { width: 2px; background: #000 }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e5e5e5 }
th:first-child, td:first-child { text-align: left }
@media print { body { max-width: none; font-size: 10pt } .wide { overflow: visible } table { font-size: 6.5pt }
  th, td { padding: .1rem .25rem } * { -webkit-print-color-adjust: exact; print-color-adjust: exact } }
</style></head><body>
{body}
</body></html>
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "characterise", "density, zero runs and ratios of dumps, with a report",
                         _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("dumps", nargs="*", metavar="DUMP", help=".npy, .npz, .safetensors, .pt, a folder that "
                        "cdma capture wrote, or raw elements (with --element or --dtype); default: the dump that ships "
                        "with the project")
    parser.add_argument("--array", action="append", metavar="NAME", help="array to measure; may be repeated (default: "
                        "all)")
    element_option(parser, "bits of a raw file's elements")
    dtype_option(parser)
    parser.add_argument("--shape", type=_shape, metavar="NxCxHxW", help="shape of a raw file's array (default: one "
                        "dimension)")
    parser.add_argument("--layout", choices=("NCHW", "NHWC", "CHWN"), default="NCHW",
                        help="layout in which arrays of four dimensions are stored, in all dumps (default: NCHW)")
    parser.add_argument("--narrow", choices=("float16", "bfloat16", "none"), default="float16",
                        help="16-bit format to narrow longer floating-point values to (default: float16)")
    parser.add_argument("--jobs", type=_jobs, metavar="N", help="worker processes (default: one for each core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="measure on the Dask cluster of this scheduler")
    parser.add_argument("--report", metavar="FILE.html", help="write a page of plots, in one self-contained file")
    json_option(parser)


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of 1 or more, not {text!r}")
    return int(text)


def _shape(text: str) -> tuple[int, ...]:
    lengths = text.split("x")
    if not all(length.isdecimal() for length in lengths):
        raise argparse.ArgumentTypeError(f"must be whole numbers with x between, as 32x64x28x28, not {text!r}")
    return tuple(map(int, lengths))


def run(call: argparse.Namespace) -> int:
    """Measure and print."""
    from workload.characterise import characterise, in_all
    from workload.data import shipped

    if call.report is not None and not Path(call.report).absolute().parent.is_dir():
        raise ValueError(f"{Path(call.report).parent} is no folder: the report goes into a folder that is there")
    if call.jobs is not None and call.scheduler is not None:
        raise ValueError("--jobs is for worker processes of this machine: leave it out with --scheduler")
    paths = [Path(path) for path in call.dumps] or [shipped()]
    if call.report is not None and any(Path(call.report).absolute() == path.absolute() for path in paths):
        raise ValueError(f"{call.report} is a dump: give the report a name of its own")
    with Progress() as progress:
        arrays = characterise(paths, call.array, layout=call.layout,
                              form=None if call.narrow == "none" else call.narrow, dtype=call.dtype,
                              element_bytes=call.element and call.element // 8, shape=call.shape, jobs=call.jobs,
                              scheduler=call.scheduler, progress=progress)
    totals = in_all(arrays)
    if call.report is not None:
        Path(call.report).write_text(report_page([path.name for path in paths], arrays, totals), encoding="utf-8")
    if call.json:
        print_json({"dumps": [str(path) for path in paths], "layout": call.layout,
                    "narrow": None if call.narrow == "none" else call.narrow,
                    "arrays": [array.as_dict() for array in arrays], "in_all": [total.as_dict() for total in totals]})
        return 0
    print(characterise_text(arrays, totals))
    if call.report is not None:
        print(f"\nreport: {call.report}")
    return 0


def characterise_text(arrays: Sequence[Array], totals: Sequence[Coded]) -> str:
    """The tables that are printed: every array as stored, all of them by layout and format, and density over steps."""
    parts = [f"As stored, ratios are raw bytes over packed bytes:\n\n{table(*_array_table(arrays, totals))}",
             f"In all, by format and layout:\n\n{table(*_total_table(totals), left=(0, 1))}"]
    labels, layers = _training(arrays)
    if labels:
        rows = [[layer, *(fixed(density, 3) for density in row)] for layer, row in layers.items()]
        parts.append(f"Density over training:\n\n{table(['layer', *labels], rows)}")
    return "\n\n".join(parts)


def report_page(dumps: Sequence[str], arrays: Sequence[Array], totals: Sequence[Coded]) -> str:
    """The page that ``--report`` writes: one HTML file that needs nothing else."""
    from workload import plots

    whole = totals[0]
    tiles = {"arrays": count(len(arrays)), "raw bytes": count(whole.raw_bytes),
             "density": fixed(whole.density.density, 3), "ratio, block stream": fixed(whole.ratio("blocks"), 2),
             "ratio, bound of mask coding": fixed(whole.bound("blocks"), 2)}
    parts = ["<h1>What compression would gain</h1>", f"<p>{escape(', '.join(dumps))}</p>", '<dl class="tiles">',
             *(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles.items()), "</dl>"]

    labels, layers = _training(arrays)
    if labels:
        parts.append("<h2>Density over training</h2><p>Share of elements that are not zero, layer by layer.</p>")
        parts.append(_plots(plots.line(layer, labels, row) for layer, row in layers.items()))
    last = list({array.layer: array for array in sorted(arrays, key=lambda array: array.step or 0)}.values())
    when = ", at the last step of training that the dumps have" if labels else ""
    if any(array.step is None for array in arrays):
        parts.append("<h2>Density of each array</h2><p>Share of elements that are not zero.</p>")
        parts.append(_plots(_in_parts("density", {array.name: [array.stored.density.density] for array in arrays
                                                  if array.step is None}, top=1.0)))

    parts.append("<h2>Ratio by coding and layout</h2><p>Raw bytes over packed bytes, all arrays together. Zero-value "
                 "coding of the values' own element size does not depend on the layout; run-length coding and zlib "
                 "do.</p>")
    for form in dict.fromkeys((total.narrowed, total.form) for total in totals):
        group = [total for total in totals if (total.narrowed, total.form) == form]
        chart = {label: [total.ratio(coding) for total in group] for coding, label in _HEADS.items()}
        marks = {label: group[0].bound(coding) for coding, label in _HEADS.items()}
        parts.append(f"<h3>{escape(form[1])}{', narrowed' if form[0] else ', as stored'}</h3>")
        parts.append(plots.legend([total.layout for total in group], "bound of mask coding"))
        parts.append(_plots([plots.bars(f"ratio, {form[1]}", chart, marks)]))

    parts.append(f"<h2>Ratio of each array</h2><p>As stored{when}.</p>")
    parts.append(plots.legend([_HEADS[coding] for coding in _CHART], "bound of mask coding"))
    parts.append(_plots(_in_parts("ratio", {array.name: [array.stored.ratio(coding) for coding in _CHART]
                                           for array in last},
                                 {array.name: array.stored.bound("blocks") for array in last})))

    parts.append("<h2>Figures</h2><p>Every array as stored. Runs are of zeros, in elements; p90 is the length that "
                 "nine runs in ten do not exceed. Clustering is the variance of the density across 4 KiB blocks, over "
                 "that of zeros strewn at random.</p>")
    parts += [_html_table(*_array_table(arrays, totals)), "<h2>In all</h2>", _html_table(*_total_table(totals))]
    return _PAGE.replace("{title}", escape(", ".join(dumps))).replace("{body}", "\n".join(parts))


def _array_table(arrays: Sequence[Array], totals: Sequence[Coded]) -> tuple[list[str], list[list[str]]]:
    head = ["array", "raw bytes", "density", "run mean", "p90", "clustering", *_HEADS.values(), "bound"]
    return head, [*(_row(array.name, array.stored) for array in arrays), _row("in all", totals[0])]


def _total_table(totals: Sequence[Coded]) -> tuple[list[str], list[list[str]]]:
    head = ["format", "layout", "raw bytes", "density", *_HEADS.values(), "bound"]
    return head, [[total.form, total.layout, count(total.raw_bytes), fixed(total.density.density, 3), *_ratios(total)]
                  for total in totals]


def _training(arrays: Sequence[Array]) -> tuple[list[str], dict[str, list[float | None]]]:
    """The steps of training as labels, and the density of every layer at each; both empty without steps."""
    stepped = [array for array in arrays if array.step is not None]
    steps = sorted({(array.step_unit or "", array.step or 0) for array in stepped})
    found = {(array.layer, array.step_unit, array.step): array.stored.density.density for array in stepped}
    labels = [f"{step} %" if unit == "% of training" else f"{unit} {step}" for unit, step in steps]
    return labels, {layer: [found.get((layer, *step)) for step in steps]
                    for layer in dict.fromkeys(array.layer for array in stepped)}


def _row(name: str, coded: Coded) -> list[str]:
    runs = coded.density.runs
    return [name, count(coded.raw_bytes), fixed(coded.density.density, 3), fixed(runs.mean, 1),
            count(runs.percentile(90)),
            fixed(coded.density.spread.clustering, 1), *_ratios(coded)]


def _ratios(coded: Coded) -> list[str]:
    return [*(fixed(coded.ratio(coding), 3) for coding in _HEADS), fixed(coded.bound("blocks"), 3)]


def _in_parts(title: str, groups: Mapping[str, Sequence[float | None]],
              marks: Mapping[str, float | None] | None = None, top: float | None = None) -> list[str]:
    """Bars in several plots of one scale, so that a wide page sets them side by side and print breaks between them."""
    from workload.plots import bars

    values = [value for row in [*groups.values(), list((marks or {}).values())] for value in row if value is not None]
    scale = top or max(values, default=1.0)
    names = list(groups)
    return [bars(title, {name: groups[name] for name in names[at:at + _GROUPS]}, marks, top=scale)
            for at in range(0, len(names), _GROUPS)]


def _plots(charts: Iterable[str]) -> str:
    return f'<div class="plots">{"".join(f"<figure>{chart}</figure>" for chart in charts)}</div>'


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (f'<div class="wide"><table><thead><tr>{"".join(f"<th>{escape(cell)}</th>" for cell in head)}</tr></thead>'
            f"<tbody>{cells}</tbody></table></div>")
