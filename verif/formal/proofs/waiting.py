"""How long something waits: environments that answer in time, and the claim that a unit goes on in time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Mux, Signal, Value

from cdma.verif.formal.harness import Harness

__all__ = ["PATIENCE", "PROMPT", "choose", "ends", "moves", "prompt", "sink", "stays"]

PATIENCE = 3
"""Cycles within which the environment answers a handshake that waits."""

PROMPT = f"while the environment answers within {PATIENCE} cycles"
"""What is assumed, in words."""


def _waits(h: Harness, name: str, pending: Value, end: Value, most: int) -> Signal:
    """Cycles, up to this one, in which something was pending and did not end; they stop at ``most + 1``."""
    before = Signal(range(most + 2), name=f"{name}_before")
    now = Signal(range(most + 2), name=f"{name}_waits")
    h.m.d.comb += now.eq(Mux(pending & ~end, Mux(before > most, before, before + 1), 0))
    h.m.d.sync += before.eq(now)
    return now


def prompt(h: Harness, name: str, pending: Value, answer: Value) -> None:
    """Assume that the environment answers what is pending within :data:`PATIENCE` cycles."""
    h.assume(f"{name}_is_answered", _waits(h, name, pending, answer, PATIENCE) < PATIENCE)


def ends(h: Harness, name: str, pending: Value, event: Value, within: int, reached: int | None = None) -> None:
    """Assert that what is pending ends within so many cycles, and cover that it takes as long as is possible.

    Where the bound is not exact, ``reached`` is how long it takes in the run of the cover.
    """
    cycles = _waits(h, name, pending, event, within)
    h.check(f"{name}_in_time", cycles < within)
    h.cover(f"{name}_takes_long", cycles == (reached or within) - 1)


def stays(h: Harness, name: str, valid: Value, ready: Value) -> None:
    """Assume that a valid of the environment stays until it is taken."""
    h.assume(f"{name}_stays", ~h.past(valid & ~ready, f"{name}_waited") | valid)


def moves(stream: Any) -> Value:
    """A transfer of a stream is taken."""
    return stream.valid & stream.ready


def sink(h: Harness, stream: Any, name: str = "o") -> None:
    """A sink that is ready within the patience."""
    h.m.d.comb += stream.ready.eq(h.free(1, f"{name}_ready"))
    prompt(h, f"{name}_valid", stream.valid, stream.ready)


def choose(h: Harness, interface: Any, names: tuple[str, ...]) -> None:
    """Inputs of an interface that the solver chooses."""
    for name in names:
        target = Value.cast(getattr(interface, name))
        h.m.d.comb += target.eq(h.free(len(target), name))
