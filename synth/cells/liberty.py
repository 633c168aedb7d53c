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

_TOKEN = re.compile(r"""
    /\*.*?\*/                                    # comments
  | "((?:[^"\\]|\\.)*)"                          # 1: a quoted text
  | ([^\s{}();:,"\\/]+(?:/(?!\*)[^\s{}();:,"\\/]*)*)     # 2: a word
  | ([{}();:,])                                  # 3: a mark
  | (/(?!\*)|["])                                # 4: not allowed here
""", re.VERBOSE | re.DOTALL)


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
    tokens = _TOKEN.finditer(text)

    def fail(position: int, what: str) -> LibertyError:
        line = text.count("\n", 0, position) + 1
        return LibertyError(f"{path} is not a Liberty file: line {line}: {what}")

    words: list[str] = []           # of the statement under way
    arguments: list[str] | None = None
    in_brackets = in_value = False

    def finish() -> None:
        if words and in_value:
            stack[-1].values[words[0]] = " ".join(words[1:])
        elif words and arguments is not None:
            # Wire loads have the same attribute several times.
            before = stack[-1].values.get(words[0])
            stack[-1].values[words[0]] = ",".join(arguments if before is None else [before, *arguments])

    for token in tokens:
        quoted, word, mark, wrong = token.groups()
        if wrong is not None:
            raise fail(token.start(), f"{wrong!r} is not expected here")
        if quoted is not None or word is not None:
            content = quoted if quoted is not None else word
            if in_brackets and arguments is not None:
                arguments.append(content)
            elif arguments is not None:
                # A complex attribute may end without a semicolon.
                finish()
                words, arguments = [content], None
            else:
                words.append(content)
        elif mark == "(":
            if in_value or in_brackets or arguments is not None:
                words.append(mark)
            elif len(words) != 1:
                raise fail(token.start(), "a name is expected before '('")
            else:
                arguments, in_brackets = [], True
        elif mark == ")":
            in_brackets = False
        elif mark == ":":
            if in_value and len(words) > 2:
                # A simple attribute may do so too: its last word is then the name of the next attribute.
                following = words.pop()
                finish()
                words = [following]
            in_value = len(words) == 1 and not in_brackets
        elif mark == "{":
            if arguments is None or in_brackets or len(words) != 1:
                raise fail(token.start(), "'name (...)' is expected before '{'")
            group = Group(words[0], tuple(arguments))
            stack[-1].groups.append(group)
            stack.append(group)
            words, arguments, in_value = [], None, False
        elif mark in (";", "}"):
            finish()
            words, arguments, in_value, in_brackets = [], None, False, False
            if mark == "}":
                if len(stack) == 1:
                    raise fail(token.start(), "'}' without '{'")
                stack.pop()
    if len(stack) > 1:
        raise fail(len(text), f"the file ends inside of {stack[-1].kind} ({stack[-1].name})")
    library = next(root.all("library"), None)
    if library is None:
        raise LibertyError(f"{path} is not a Liberty file: it has no library (...) {{ }}")
    return library
