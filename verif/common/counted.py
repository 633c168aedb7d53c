"""Coverage that Verilator counts: the options for it, and the counts of all runs of a design added up.

Each run writes a file with a line for each of some hundred thousand points, the same points for each run of a design.
They are kept once, and the counts of runs are added as numbers.
"""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cdma.verif.common.cover import VARIABLE

__all__ = ["RTL_VARIABLE", "collect", "options", "restored_points"]

RTL_VARIABLE = "CDMA_COVERAGE_RTL"
"""Set to 1 beside :data:`cdma.verif.common.cover.VARIABLE`, designs are compiled so that Verilator counts, too."""

_OPTIONS = ("--coverage-line", "--coverage-toggle", "--coverage-user", "-DCDMA_COVER")
_COUNT = re.compile(rb"' (\d+)$", re.MULTILINE)
_FILE = "coverage.dat"
_FUNCTION = re.compile(r"\s*function .*?(\w+);")
_WITHOUT_VALUE = re.compile(r"= (select_\d+_)\(\d+'[hb]x+,")
_CASE = re.compile(rb"(\x01l\x02(\d+)\x01n\x02\d+\x01t\x02line\x01page\x02[^\x01]*\x01o\x02)(case)")
_UNREACHED = b"default without a value"


def options(simulator: str) -> tuple[str, ...]:
    """What to compile a design with."""
    asked = os.environ.get(VARIABLE) and os.environ.get(RTL_VARIABLE) == "1"
    return _OPTIONS if asked and simulator == "verilator" else ()


def collect(built: Path, run: Path) -> None:
    """Add the counts of a run of a compiled design to those in the folder for coverage, and delete the run's file."""
    found, place = run / _FILE, os.environ.get(VARIABLE)
    if not place or not found.exists():
        return
    text = found.read_bytes()
    found.unlink()
    counts = np.array(_COUNT.findall(text), np.uint64)
    folder = Path(place) / "rtl"
    folder.mkdir(parents=True, exist_ok=True)
    points, total = folder / f"{built.name}.points.gz", folder / f"{built.name}.npy"
    with (folder / f"{built.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if total.exists():
            counts += np.load(total)
        else:
            sources = "\n".join(path.read_text(encoding="utf-8") for path in built.glob("*.v"))
            _replace(points, gzip.compress(_named(_COUNT.sub(b"'", text), sources), compresslevel=1))
        buffer = io.BytesIO()
        np.save(buffer, counts)
        _replace(total, buffer.getvalue())


def _named(points: bytes, source: str) -> bytes:
    """Points, with a name of their own for cases that cannot be reached.

    Where an index selects among entries, the back end writes a function with a case for each entry, and a default that
    is called with an unknown value because no index is left for it.
    """
    without = set(_WITHOUT_VALUE.findall(source))
    lines = set[bytes]()
    function = ""
    for number, line in enumerate(source.splitlines(), 1):
        if found := _FUNCTION.match(line):
            function = found[1]
        elif line.strip() == "default:" and function in without:
            lines.add(str(number).encode())
    return _CASE.sub(lambda found: found[1] + (_UNREACHED if found[2] in lines else found[3]), points)


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that who reads it meanwhile sees the old one or the new one."""
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(content)
    new.replace(path)


def restored_points(folder: Path) -> Iterator[tuple[str, str]]:
    """Of each design in a folder for coverage, its name and the text that Verilator would have written for all runs."""
    for points in sorted((folder / "rtl").glob("*.points.gz")):
        name = points.name.removesuffix(".points.gz")
        counts = iter(np.load(points.with_name(f"{name}.npy")).tolist())
        with gzip.open(points, "rt", encoding="utf-8") as file:
            yield name, "".join(f"{line[:-1]} {next(counts)}\n" if line.startswith("C '") else line for line in file)
