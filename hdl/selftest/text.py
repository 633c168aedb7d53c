"""Encodes the self-test's messages for a memory: characters, and places for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["END", "NUMBER", "THOUSANDTHS", "Number", "Part", "encode"]

END = 0x00
"""Code that ends a message."""

NUMBER = 0x80
"""Bit of a code that stands for a number; the low bits say which."""

THOUSANDTHS = 0x40
"""Bit beside :data:`NUMBER`: the number counts thousandths."""


@dataclass(frozen=True)
class Number:
    """A place for a number in a message.

    Parameters
    ----------
    index : int
        Which number, 0 to 63.
    thousandths : bool
        Whether it counts thousandths; it is then printed with three digits after the decimal point.
    """

    index: int
    thousandths: bool = False


Part = str | Number
"""A part of a message."""


def encode(messages: Sequence[Sequence[Part]]) -> tuple[list[int], list[int]]:
    """The codes of all messages, one after the other, and the place where each begins."""
    codes: list[int] = []
    starts: list[int] = []
    for message in messages:
        starts.append(len(codes))
        for part in message:
            if isinstance(part, Number):
                codes.append(NUMBER | THOUSANDTHS * part.thousandths | part.index)
            else:
                codes += part.encode("ascii")
        codes.append(END)
    return codes, starts
