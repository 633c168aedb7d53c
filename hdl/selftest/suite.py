"""What the self-test needs of the tests that it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amaranth.hdl import Module, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.selftest.text import Part

__all__ = ["Suite", "Texts"]


@dataclass(frozen=True)
class Texts:
    """The texts of a suite.

    Parameters
    ----------
    heading : str
        What a run begins with.
    groups : tuple of str
        Names of the groups of tests; the line of a test begins with that of its group.
    lines : tuple of sequences of str and Number
        What follows in the line, chosen by ``line``.
    failure : sequence of str and Number
        What follows the word FAIL.
    """

    heading: str
    groups: tuple[str, ...]
    lines: tuple[Sequence[Part], ...]
    failure: Sequence[Part] = ()


class Suite(wiring.Component):
    """The base of suites: groups of tests, which have the same items.

    Parameters
    ----------
    texts : Texts
        What is printed.
    items : int
        Tests of a group.
    numbers : int
        Numbers in the texts.
    width : int
        Bits of the numbers.

    Members
    -------
    start : In(1)
        Begin a test. ``group``, ``item`` and ``fault`` must hold until it is done.
    group, item : In
        Which test.
    fault : In(1)
        Disturb it, to show that a test can fail.
    done : Out(1)
        One cycle, at the end of a test; what follows holds until the next start.
    passed : Out(1)
        The test has passed.
    line : Out(range(len(texts.lines)))
        Which line is printed.
    dividends, divisors : Out(ArrayLayout(width, numbers))
        The numbers in the texts are their quotients.
    """

    def __init__(self, texts: Texts, items: int, numbers: int, width: int):
        self.texts, self.items, self.width = texts, items, width
        many = data.ArrayLayout(width, numbers)
        super().__init__({
            "start": In(1), "group": In(range(max(2, len(texts.groups)))), "item": In(range(items)), "fault": In(1),
            "done": Out(1), "passed": Out(1), "line": Out(range(max(2, len(texts.lines)))),
            "dividends": Out(many), "divisors": Out(many),
        })

    def elaborate(self, platform: object) -> Module:
        """The hardware, which each suite has of its own."""
        raise NotImplementedError

    def _quotients(self, quotients: Mapping[int, tuple[ValueLike, ValueLike]]) -> list[object]:
        """Assignments to dividends and divisors by the index of the number."""
        return [assignment for index, (dividend, divisor) in quotients.items()
                for assignment in (self.dividends[index].eq(dividend), self.divisors[index].eq(divisor))]
