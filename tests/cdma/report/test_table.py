"""Tables: what columns make of rows, as text and as Markdown."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from cdma.report.table import Column, Table, fit


class _Unit(NamedTuple):
    unit: str
    area: dict[str, float | None]
    note: str = ""


COLUMNS = [Column("unit", "unit"), Column("cells", "area.cells", ","), Column("um2", "area.um2", ".1f", optional=True),
           Column("share", lambda row: row.area["cells"] / 2000, ".1f", " %"), Column("note", "note", left=True)]


def test_columns_take_format_and_align_values() -> None:
    rows = [_Unit("core", {"cells": 12345, "um2": None}, "1 | 2"), _Unit("x", {"cells": 7, "um2": 2.25})]
    assert Table(COLUMNS, rows).text() == """\
unit   cells  um2  share  note
----  ------  ---  -----  -----
core  12,345       6.2 %  1 | 2
x          7  2.2  0.0 %"""
    assert Table(COLUMNS, rows[:1]).markdown() == r"""
| unit | cells | share | note |
| --- | ---: | ---: | --- |
| core | 12,345 | 6.2 % | 1 \| 2 |""".lstrip()


def test_text_is_cut_to_a_terminal_and_says_so() -> None:
    wide = Table(["name", "MHz", "path"], [["compressor", "512", "from the first register to the last one"]])
    whole = wide.text()
    try:
        fit(30)
        cut = wide.text()
        fit(80)
        assert wide.text() == whole
    finally:
        fit(None)
    assert cut.splitlines() == ["name        MHz  path", "----------  ---  -------------",
                                "compressor  512  from the fir…", "(wider than 30 columns: --wide prints all)"]


def test_headings_alone_take_cells_that_are_printed_as_they_are() -> None:
    assert Table(["core", "MHz"], [["a", "512"], ["b", "-"], ["c", ""]]).text() == """\
core  MHz
----  ---
a     512
b       -
c"""
    assert Table(["n", "which"], [["7", "1 of 2"]], left=(1,)).text() == "n  which\n-  ------\n7  1 of 2"
    with pytest.raises(ValueError, match="more or fewer cells than the head: core, MHz"):
        Table(["core", "MHz"], [["a"]])
