"""Names for invariants are those of the sources, whatever the bytecode of a version of Python tells Amaranth."""

from __future__ import annotations

from amaranth.hdl import Signal

from cdma.verif.formal.names import names_of


def _named(*signals: Signal) -> list[str]:
    return [name for name, _ in names_of(signals)]


def test_signals_of_one_line_are_told_apart() -> None:
    one, other = Signal(), Signal()
    third, fourth = Signal.like(one), Signal(4, reset_less=True)
    found = names_of([other, fourth, one, third, other])
    assert [name for name, _ in found] == ["other", "fourth", "one", "third"]
    assert all(mine is given for (_, mine), given in zip(found, [other, fourth, one, third], strict=True))


def test_a_name_that_is_given_is_kept() -> None:
    one, other = Signal(name="left"), Signal(name="right")
    assert _named(one, other) == ["left", "right"]


def test_a_line_that_runs_twice() -> None:
    made: list[Signal] = []
    for _ in range(2):
        one, other = Signal(), Signal()
        made += [one, other]
    assert _named(*made) == ["one", "other", "one", "other"]


def test_what_has_no_name_is_numbered() -> None:
    several = [Signal() for _ in range(3)]
    assert _named(*several) == ["$0", "$1", "$2"]
    assert _named(several[2], several[0]) == ["$0", "$1"]


def test_one_of_a_line_alone_gets_no_wrong_name() -> None:
    one, other = Signal(), Signal()
    assert one is not other
    # Its own name, in versions of Python that tell it.
    assert _named(other)[0] in ("other", "$0")
    assert _named(one)[0] in ("one", "$0")
