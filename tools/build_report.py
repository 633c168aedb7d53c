"""Builds the HTML report of the shipped dumps: ``python tools/build_report.py FOLDER``.

``index.html`` links to a page for each dump, as ``cdma characterise --report`` writes it, and to the page of
``cdma results``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cdma.console.about import made_on
from cdma.console.output import count, fixed
from cdma.console.progress import Progress
from cdma.report.characterise_page import characterise_page
from cdma.report.characterise_tables import Measured
from cdma.report.page import Page, Section
from cdma.report.parts import Table, bars
from cdma.report.results_page import results_page
from cdma.workload.characterise.arrays import Coded, characterise
from cdma.workload.data import shipped_dumps
from cdma.workload.results.figures import results
from cdma.workload.timeline.scenario import CLOCK_MHZ, LINK, PRESET

_TITLE = "What compressing activations gains"
_CODINGS = {"exponents": "exponents", "blocks": "zeros", "zlib": "zlib", "rle": "RLE"}


def build(folder: Path) -> list[Path]:
    """Write all pages into a folder, which is made where there is none; the index comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    pages: dict[str, Page] = {}
    sums: dict[str, list[Coded]] = {}
    with Progress() as progress:
        for name, path in shipped_dumps().items():
            arrays = characterise([path], progress=progress)
            found = Measured([path.name], arrays, LINK, PRESET, CLOCK_MHZ, made_on())
            sums[name] = list(found.totals)
            pages[f"{name}.html"] = characterise_page(found)
        gains = results_page(results(progress))
    pages = {"index.html": _index(gains, sums), "results.html": gains, **pages}
    for name, page in pages.items():
        (folder / name).write_text(page.html(), encoding="utf-8")
    return [folder / name for name in pages]


def _index(gains: Page, sums: dict[str, list[Coded]]) -> Page:
    stored = {name: totals[0] for name, totals in sums.items()}
    rows = [[f"[{name}]({name}.html)", *(fixed(whole.ratio(coding), 2) for coding in _CODINGS),
             fixed(whole.bound("blocks"), 2), fixed(whole.density.density, 3), count(whole.raw_bytes)]
            for name, whole in stored.items()]
    ratios = [row[1] for row in rows]
    return Page(_TITLE, [
        Section("", [gains.sections[0].parts[0],
                     (f"**Coded as exponents, the dumps that ship with the project become {min(ratios)} to "
                      f"{max(ratios)} times smaller.**")]),
        Section("Time", [(f"[{gains.title}](results.html): training steps that swap their activations, without and "
                         "with the engine, network by network, beside the paper's figures.")]),
        Section("Size", [
            ("Raw bytes over packed bytes, all arrays of a dump together, as stored. The engine codes exponents or "
             "zeros; zlib and run-length coding (RLE) are the paper's baselines. No coder that keeps non-zero values "
             "as they are passes the bound, unless zeros cluster."),
            bars("ratio", list(_CODINGS.values()),
                 {name: [whole.ratio(coding) for coding in _CODINGS] for name, whole in stored.items()},
                 {name: whole.bound("blocks") for name, whole in stored.items()}, "bound of mask coding",
                 caption=False),
            ("The page of a dump has densities layer by layer and, where it has steps, over training, ratios "
            "by coding, layout and format, runs of zeros, and clustering."),
            Table(["dump", *_CODINGS.values(), "bound", "density", "raw bytes"], rows)])])


def main() -> int:
    """Build the report and say where it is."""
    if len(sys.argv) != 2:
        print("usage: python tools/build_report.py FOLDER", file=sys.stderr)
        return 2
    print(f"report: {build(Path(sys.argv[1]))[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
