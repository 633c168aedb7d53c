"""A mutant: one change of one source file."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Mutant"]


@dataclass(frozen=True)
class Mutant:
    """One change of a source file of the hardware.

    Parameters
    ----------
    path
        The file, below the root of the repository.
    line, column
        Where the change begins: lines from 1, columns from 0, as Python counts them.
    change
        What is changed, in a few words.
    operator
        The kind of change, as those of :data:`cdma.verif.mutation.operators.OPERATORS`.
    start, end
        The bytes of the file that are replaced.
    new
        What takes their place.
    first, last
        Lines of the statement that the change is in: where none of them runs, the mutant does nothing.
    """

    path: str
    line: int
    column: int
    change: str
    operator: str
    start: int
    end: int
    new: str
    first: int
    last: int

    @property
    def name(self) -> str:
        """What the mutant is called on the command line; it stays the same while the file does."""
        return f"{self.path}:{self.line}:{self.column} {self.change}"

    @property
    def module(self) -> str:
        """Dotted name of the module."""
        return self.path.removesuffix(".py").replace("/", ".")

    def applied(self, text: bytes) -> bytes:
        """The text of the file with the change."""
        return text[:self.start] + self.new.encode() + text[self.end:]
