"""Coverage points of Verilog, as Verilator writes them: lines, branches, toggles of bits, and covers by name.

Verilator writes a line for each point: a quoted list of keys and values with control characters between them, and a
count. (pyucis reads it into the objects of its database, which takes minutes for a design of 400,000 points; a regular
expression takes a second.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["KINDS", "Point", "read_points"]

KINDS = {"line": "line", "branch": "line", "toggle": "toggle", "user": "cover"}
"""What Verilator's kinds of points count as. A branch of an ``if`` or ``case`` is the lines in it."""

_POINT = re.compile(r"^C '(.*)' (\d+)$")
_KEY = re.compile("\x01([A-Za-z]+)\x02([^\x01]*)")
# Verilator writes what is no letter as two underscores, a zero and two digits.
_ESCAPED = re.compile("__0([0-9A-F]{2})", re.IGNORECASE)
_PARAMETERS = re.compile(r"__(pi\d+|[A-Za-z0-9_]*_?[A-Z]+\d+)$")


class Point(NamedTuple):
    """A point of a design, in one of its instances.

    Parameters
    ----------
    kind
        ``line``, ``toggle`` or ``cover``.
    module
        That it is in; in a generated design, the path of its first instance.
    name
        Of a toggle the bit and its edge, of a line where it is and what it is, of a cover its label.
    instance
        Path of the instance from the top.
    count
        How often it was seen.
    """

    kind: str
    module: str
    name: str
    instance: str
    count: int


def read_points(text: str) -> Iterator[Point]:
    """The points of a file that Verilator wrote.

    Raises
    ------
    ValueError
        If it is no such file.
    """
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# SystemC::Coverage"):
        raise ValueError("this is no coverage of Verilator: its first line must begin with # SystemC::Coverage; "
                         "simulate with a design that was compiled with --coverage")
    for number, line in enumerate(lines[1:], 2):
        found = _POINT.match(line)
        if found is None:
            raise ValueError(f"line {number} of the coverage is not a point and its count: {line[:80]!r}; simulate "
                             "again")
        keys = dict(_KEY.findall(found[1]))
        kind = KINDS.get(keys.get("t", ""))
        if kind is None:
            raise ValueError(f"line {number} of the coverage has the unknown kind {keys.get('t')!r}; known are "
                             f"{', '.join(KINDS)}")
        module = _PARAMETERS.sub("", keys["page"].partition("/")[2])
        # Several branches may begin in one line, and expressions of one line have columns.
        name = f"{keys['l']}.{keys['n']} {keys['o']}" if kind == "line" else _ESCAPED.sub(
            lambda found: chr(int(found[1], 16)), keys["o"])
        yield Point(kind, module, name, keys.get("h", ""), int(found[2]))
