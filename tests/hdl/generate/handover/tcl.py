"""Reads Tcl: divides scripts into commands and words as Tcl does, so that mistakes are found without a Tcl.

Source: Tcl(n), the rules of the language.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TclError", "Word", "commands", "elements"]

_CLOSING = {"{": "}", '"': '"'}


class TclError(ValueError):
    """A script that Tcl would refuse."""


@dataclass(frozen=True)
class Word:
    """A word: its text, without what encloses it; whether braces do; and the commands in brackets that are in it."""

    text: str
    braced: bool = False
    inside: tuple[list[Word], ...] = ()


def commands(script: str) -> list[list[Word]]:
    """The commands of a script, each as its words.

    Raises
    ------
    TclError
        If a brace, quote or bracket is not closed, or something follows directly behind one that is.
    """
    reader = _Reader(script)
    found = reader.script(end="")
    if reader.at < len(script):
        raise TclError(f"a bracket closes that was not opened: {script[reader.at:][:40]!r}")
    return found


def elements(text: str) -> list[str]:
    """The elements of a list, which is divided as the words of a command are; lines do not matter."""
    reader = _Reader(text.replace("\n", " "))
    (words,) = reader.script(end="") or [[]]
    return [word.text if word.braced else _unescaped(word.text) for word in words]


def _unescaped(text: str) -> str:
    out, at = [], 0
    while at < len(text):
        at += text[at] == "\\"
        out.append(text[at])
        at += 1
    return "".join(out)


class _Reader:
    """A place in a script."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def script(self, end: str) -> list[list[Word]]:
        """Commands up to a closing bracket, or to the end of the text."""
        found: list[list[Word]] = []
        words: list[Word] = []
        while self.at < len(self.text) and self.text[self.at] != (end or None):
            char = self.text[self.at]
            if char in "\n;":
                found, words, self.at = found + [words] * bool(words), [], self.at + 1
            elif char in " \t" or self.text.startswith("\\\n", self.at):
                self.at += 1 + (char == "\\")
            elif char == "#" and not words:
                self.comment()
            else:
                words.append(self.word(end))
        return found + [words] * bool(words)

    def comment(self) -> None:
        while self.at < len(self.text) and self.text[self.at] != "\n":
            self.at += 1 + (self.text[self.at] == "\\")

    def word(self, end: str) -> Word:
        begin = self.at
        if self.text.startswith("{*}", self.at) and not self.text[self.at + 3:self.at + 4].isspace():
            self.at += 3
        enclosing = self.text[self.at]
        if enclosing == "{":
            text = self.braces()
            word = Word(text, braced=True)
        elif enclosing == '"':
            self.at += 1
            word = self.plain('"')
            self.at += 1
        else:
            return self.plain(f" \t\n;{end}")
        follows = self.text[self.at:self.at + 1]
        if follows and follows not in f" \t\n;{end}" and not self.text.startswith("\\\n", self.at):
            raise TclError(f"something follows directly behind {_CLOSING[enclosing]}: {self.text[begin:][:40]!r}")
        return word

    def braces(self) -> str:
        begin, depth = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            depth += {"{": 1, "}": -1}.get(char, 0)
            self.at += 1 + (char == "\\")
            if not depth:
                return self.text[begin + 1:self.at - 1]
        raise TclError(f"a brace is not closed: {self.text[begin:][:40]!r}")

    def plain(self, ends: str) -> Word:
        """Up to one of these characters, which a quote has to find."""
        begin, inside = self.at, []
        while self.at < len(self.text) and self.text[self.at] not in ends:
            char = self.text[self.at]
            self.at += 1 + (char == "\\")
            if char == "[":
                inside += self.script(end="]")
                if self.at >= len(self.text):
                    raise TclError(f"a bracket is not closed: {self.text[begin:][:40]!r}")
                self.at += 1
        if ends == '"' and self.at >= len(self.text):
            raise TclError(f"a quote is not closed: {self.text[begin - 1:][:40]!r}")
        return Word(self.text[begin:self.at], inside=tuple(inside))
