"""``cdma results``: what the engine gains, beside the paper's figures."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from cdma.console.files import check_folder_of
from cdma.console.options import add_command, json_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.hdl.config.files import write_file
from cdma.report.plots.drawing import require_extra
from cdma.report.results_page import results_page

_DESCRIPTION = """\
Print the gain of the engine beside the figures of Rhu et al.: densities and ratios of the shipped dumps; training
steps of the paper's six networks, of ResNet-50 and of a block of a transformer on the paper's GPUs, without
swapping, swapped without coding, and swapped through the engine with zero-value coding, run-length coding and zlib;
memory and policies; other densities, links and compute times; and the tables of networks beside published sizes.

Prints the page docs/results.md as text. This takes a few seconds. No figure is fitted to the paper's. For a network,
link or GPU of yours see 'cdma timeline', for a dump of yours 'cdma characterise'."""

_EXAMPLES = """\
  cdma results
  cdma results --report results.html                      a page with plots, in one file
  cdma results --output results.md                        the page as Markdown
  cdma results --json | jq '.headlines[].here'"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "results", "what the engine gains, beside the paper's figures", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("-o", "--output", metavar="FILE.md", help="write the page as Markdown")
    parser.add_argument("--report", metavar="FILE.html", help="write the page with plots, as one file of HTML")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Compute the figures and print or write the page."""
    from cdma.workload.results.figures import results

    paths = [Path(path) for path in (call.output, call.report) if path is not None]
    for path in paths:
        check_folder_of(path)
    if len(set(map(os.path.realpath, paths))) < len(paths):
        raise ValueError(f"{call.report} is the file of --output, too: give the report a name of its own")
    if call.report is not None:
        require_extra()
    with Progress() as progress:
        figures = results(progress)
    page = results_page(figures)
    if call.output is not None:
        write_file(call.output, page.markdown())
    if call.report is not None:
        write_file(call.report, page.html())
    show(call, figures, lambda _: "\n".join(f"wrote {path}" for path in paths) or page.text().rstrip("\n"))
    return 0
