"""The Liberty format: reads a file, compressed or not, into a tree of groups."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cdma.hdl.config.files import refuse_pipe

__all__ = ["Group", "LibertyError", "parse", "read"]

_TEXT = r'"(?:[^"\\]|\\.)*"'
_WORD = r'(?:[^\s{}();:,"\\/]|/(?!\*))+'
_GAP = r"(?:\s|\\|/\*(?:[^*]|\*(?!/))*\*/)*"
_ARGUMENT = re.compile(f"{_TEXT}|{_WORD}", re.DOTALL)
_STATEMENT = re.compile(rf"""
    (?P<kind>{_WORD}){_GAP}\((?P<arguments>(?:{_TEXT}|[^"(){{}};])*)\){_GAP}(?P<opens>\{{)?
  | (?P<name>{_WORD}){_GAP}:{_GAP}(?P<value>{_TEXT}|(?:[^;{{}}"\n/]|/(?!\*))*)
  | (?P<closes>\}})
  | {_WORD}                                          # on its own: it says nothing
""", re.VERBOSE | re.DOTALL)
_BETWEEN = re.compile(_GAP.replace(r"\s", r"[\s;]"))


class LibertyError(ValueError):
    """A file is not a Liberty file, or lacks a required attribute; the message names the file."""


@dataclass
class Group:
    """``kind (arguments) { ... }``.

    Parameters
    ----------
    kind : str
        The word in front, such as ``cell``.
    arguments : tuple of str
        Its arguments; the first is its name, if it has one.
    values : dict of str to str
        Simple attributes (``name : value``), and complex ones (``name (value, ...)``) with values joined by commas,
        those of repeated attributes as well.
    groups : list of Group
        The groups in it.
    """

    kind: str
    arguments: tuple[str, ...]
    values: dict[str, str] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The first argument; empty if there is none."""
        return self.arguments[0] if self.arguments else ""

    def all(self, kind: str) -> Iterator[Group]:
        """The groups of a kind in it."""
        return (group for group in self.groups if group.kind == kind)


def read(path: str | Path) -> str:
    """The text of a Liberty file, unpacked if it is gzip's.

    Raises
    ------
    LibertyError
        If the file cannot be read or unpacked.
    ValueError
        If it is a named pipe.
    """
    try:
        data = refuse_pipe(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise LibertyError(f"cell library {path} is damaged: gzip cannot unpack it") from error
    except OSError as error:
        raise LibertyError(f"cannot read cell library {path}: {error.strerror}") from error
    return data.decode("utf-8", errors="replace")


def _skipped(text: str, place: int) -> int:
    """The next place behind spaces, comments and semicolons."""
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def parse(text: str, path: str | Path) -> Group:
    """The ``library`` group of a Liberty text.

    Parameters
    ----------
    text : str
        The whole file.
    path : str or Path
        Where it came from, for the message of an error.

    Raises
    ------
    LibertyError
        If it is no Liberty text; the message has the line.
    """
    root = Group("", ())
    stack = [root]

    def fail(position: int, what: str) -> LibertyError:
        line = text.count("\n", 0, position) + 1
        return LibertyError(f"{path} is not a Liberty file: line {line}: {what}")

    place = _skipped(text, 0)
    while place < len(text):
        found = _STATEMENT.match(text, place)
        if found is None:
            raise fail(place, {"{": "'name (...)' is expected before '{'", "(": "a name is expected before '('"}.get(
                text[place], f"{text[place]!r} is not expected here"))
        values = stack[-1].values
        if found["closes"]:
            if len(stack) == 1:
                raise fail(place, "'}' without '{'")
            stack.pop()
        elif found["name"]:
            values[found["name"]] = found["value"].strip().strip('"')
        elif found["kind"]:
            arguments = tuple(each.strip('"') for each in _ARGUMENT.findall(found["arguments"]))
            if found["opens"]:
                stack[-1].groups.append(Group(found["kind"], arguments))
                stack.append(stack[-1].groups[-1])
            else:
                # Wire loads have the same attribute several times.
                before = [values[found["kind"]]] if found["kind"] in values else []
                values[found["kind"]] = ",".join([*before, *arguments])
        place = _skipped(text, found.end())
    if len(stack) > 1:
        raise fail(len(text), f"the file ends inside of {stack[-1].kind} ({stack[-1].name})")
    library = next(root.all("library"), None)
    if library is None:
        raise LibertyError(f"{path} is not a Liberty file: it has no library (...) {{ }}")
    return library
