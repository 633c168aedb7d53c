"""``cdma characterise``: what dumps gain, in words and figures, as tables, JSON or a page of plots."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cdma.console.about import date_option, made_on, project_version
from cdma.console.files import check_folder_of, check_no_input
from cdma.console.numbers import one_or_more, positive
from cdma.console.options import add_command, check_raw_options, dtype_option, element_option, json_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.hdl.config.files import write_file
from cdma.report.characterise_tables import Measured, characterise_text

_DESCRIPTION = """\
Say what dumps gain, and what it depends on. A verdict in words comes first: which coding gains how much, and what that
is over a link. Then come sums over all arrays, and groups of alike ones: the same layer of every block of a network.
--arrays prints every array too.

Measured of each array: density, lengths of the runs of zeros, clustering; of floating-point values the entropy of their
exponents, and the distances that exponent coding stores; and the ratio, raw bytes over packed bytes, under zero-value
coding of 8, 16 and 32-bit elements, run-length coding, zlib on 4 KiB windows, and the block streams of lines, with the
tags first, and with exponents, beside the bound of mask coding. The best coding of blocks is named, and the time of an
offload with it is predicted, by the share of its limit that an engine was measured to reach. Each array is measured as
it is stored, in the layouts NCHW, NHWC and CHWN where it has four dimensions, and narrowed to 16 bits where its values
are longer.

Arrays named p020/conv1 are of training steps, here at 20 % of the training; step100/conv1 and epoch3/conv1 work too.
Arrays are loaded one at a time, so that dumps may be larger than memory, and measured on all cores, or, with
--scheduler, by the workers of a Dask cluster that can read the dumps under the same paths. Columns, formats and
report are explained in docs/characterise.md."""

_EXAMPLES = """\
  cdma characterise                                       the dump that ships with the project
  cdma characterise dump.npz --report dump.html           tables, and a page of plots
  cdma characterise dump.npz --link 25                    verdict and times for a link of 25 GB/s
  cdma characterise dump.npz --arrays                     every array, not only groups
  cdma characterise epoch*.npz --jobs 8                   one dump an epoch, eight worker processes
  cdma characterise maps.npy --layout NHWC --narrow float16
  cdma characterise net.safetensors net.pt captured/      arrays of other formats, and a folder of cdma capture
  cdma characterise maps.bin --dtype bfloat16 --shape 32,64,28,28
  cdma characterise /shared/run7 --scheduler tcp://10.0.0.1:8786
  cdma characterise dump.npz --json | jq '.arrays[].variants[0] | [.best, .codings.exponents.ratio]'"""


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
    parser.add_argument("--shape", type=_shape, metavar="N,C,H,W", help="shape of a raw file's array (default: one "
                        "dimension)")
    parser.add_argument("--layout", choices=("NCHW", "NHWC", "CHWN"), default="NCHW",
                        help="layout in which arrays of four dimensions are stored, in all dumps (default: NCHW)")
    parser.add_argument("--narrow", choices=("float16", "bfloat16", "none"), default="bfloat16",
                        help="16-bit format to narrow longer floating-point values to (default: bfloat16)")
    parser.add_argument("--link", type=positive, default=12.8, metavar="GB/s", help="bandwidth of the link of verdict "
                        "and times (default: 12.8)")
    parser.add_argument("--engine", default="paper", metavar="PRESET", help="engine of verdict and times: engine, "
                        "lean, paper, smallest, tiny or wide (default: paper)")
    parser.add_argument("--clock", type=positive, default=1000.0, metavar="MHZ", help="its clock (default: 1000)")
    parser.add_argument("--arrays", action="store_true", help="print every array too, after the groups")
    parser.add_argument("--jobs", type=one_or_more, metavar="N", help="worker processes (default: one for each core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="measure on the Dask cluster of this scheduler")
    parser.add_argument("--report", metavar="FILE.html", help="write a page of plots, in one self-contained file")
    date_option(parser)
    json_option(parser)


def _shape(text: str) -> tuple[int, ...]:
    lengths = text.split(",")
    if not all(length.isdecimal() for length in lengths):
        raise argparse.ArgumentTypeError(f"must be whole numbers with commas between, as 32,64,28,28, not {text!r}")
    return tuple(map(int, lengths))


def run(call: argparse.Namespace) -> int:
    """Measure and print."""
    from cdma.golden.results import to_json
    from cdma.report.characterise_page import characterise_page
    from cdma.report.plots.drawing import require_extra
    from cdma.workload.characterise.arrays import characterise
    from cdma.workload.data import shipped
    from cdma.workload.timeline.engine_share import measured

    if call.report is not None:
        check_folder_of(call.report)
    if call.jobs is not None and call.scheduler is not None:
        raise ValueError("--jobs is for worker processes of this machine: leave it out with --scheduler")
    paths = [Path(path) for path in call.dumps] or [shipped()]
    if call.report is not None:
        check_no_input(call.report, *paths)
    check_raw_options([Path(path) for path in call.dumps], call.dtype, call.shape, call.element)
    if call.report is not None:
        require_extra()
    measured(call.engine)  # refuses what was not measured before the dumps are read
    made = made_on(call.date)
    with Progress() as progress:
        arrays = characterise(paths, call.array, layout=call.layout,
                              form=None if call.narrow == "none" else call.narrow, dtype=call.dtype,
                              element_bytes=call.element and call.element // 8, shape=call.shape, jobs=call.jobs,
                              scheduler=call.scheduler, progress=progress)
    found = Measured([dump.name for dump in paths], arrays, call.link, call.engine, call.clock, made)
    if call.report is not None:
        write_file(call.report, characterise_page(found, call.arrays).html())
    show(call, {
        "version": project_version(), "date": made, "dumps": [str(dump) for dump in paths], "layout": call.layout,
        "narrow": None if call.narrow == "none" else call.narrow, "link_gb_per_s": call.link, "engine": call.engine,
        "clock_mhz": call.clock, "verdict": found.verdict, "offload": found.offload(arrays),
        "groups": [to_json(group) | {"offload": found.offload(group.arrays)} for group in found.groups],
        "arrays": [to_json(array) | {"offload": found.offload([array])} for array in arrays],
        "in_all": found.totals}, lambda _: characterise_text(found, call.arrays))
    if call.report is not None and not call.json:
        print(f"\nreport: {call.report}")
    return 0
