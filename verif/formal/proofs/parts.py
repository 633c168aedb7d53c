"""What harnesses have in common: environments that answer in time, and what parts of larger components contain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value

from cdma.verif.formal.harness import Harness

__all__ = ["PATIENCE", "PROMPT", "FifoInside", "choose", "ends", "moves", "place_after", "prompt", "sink",
           "splitter_is_legal", "stays"]

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


def choose(h: Harness, interface: Any, names: Iterable[str], form: str = "{}") -> list[Signal]:
    """Inputs of an interface that the solver chooses, with names of a form; returns what it chooses."""
    targets = {name: Value.cast(getattr(interface, name)) for name in names}
    chosen = [h.free(len(target), form.format(name)) for name, target in targets.items()]
    h.m.d.comb += [target.eq(each) for target, each in zip(targets.values(), chosen, strict=True)]
    return chosen


def place_after(first: Value, number: Value | int, depth: int) -> Value:
    """The row of a memory that wraps around, so many behind another one."""
    total = first + number
    return Mux(total >= depth, total - depth, total)


class FifoInside:
    """A :class:`cdma.hdl.common.fifo.StreamFifo` in a component: its invariants, and its transfers.

    Parameters
    ----------
    h : Harness
        Where the invariants go.
    path : str
        Of the FIFO, as :meth:`Harness.inner` takes it.
    depth : int
        That it was made with.
    memory : int, optional
        The number of its memory, in the order of elaboration.

    Attributes
    ----------
    level, valid : Value
        Transfers inside; one is at the output.
    """

    def __init__(self, h: Harness, path: str, depth: int, memory: int = 0) -> None:
        name = path.replace(".", "_")
        self._depth = depth
        self.valid = h.inner(f"{path}.fifo.r_rdy")
        self.output = h.inner(f"{path}.fifo.r_data")
        self.level = h.inner(f"{path}.fifo.level")
        if depth == 0:
            return
        self._rows = h.platform.memories[memory]
        inside = h.inner(f"{path}.fifo.inner_level")
        produce, self._consume = h.inner(f"{path}.fifo.produce"), h.inner(f"{path}.fifo.consume")
        h.check(f"{name}_rows_fit", inside <= depth)
        h.check(f"{name}_places_fit", (produce < depth) & (self._consume < depth))
        h.check(f"{name}_places_are_level_apart",
                produce == place_after(self._consume, Mux(inside == depth, 0, inside), depth))
        # One that came alone is at the output in the next cycle.
        h.check(f"{name}_shows_soon", self.valid | (inside <= 1))

    def transfer(self, number: int) -> Value:
        """The payload of a transfer inside, counted from the oldest one on."""
        if self._depth == 0:
            return self.output
        rows = Array(self._rows)
        hidden = rows[place_after(self._consume, number, self._depth)]
        behind = rows[place_after(self._consume, number - 1, self._depth)] if number else self.output
        return Mux(self.valid, behind, hidden)


def splitter_is_legal(h: Harness, path: str, shift: int, beat_bits: int) -> Value:
    """Invariants of a burst splitter by which its bursts end within 4 KiB; returns whether it shows a burst.

    The splitter itself is proved to give exactly the bytes of its request in :mod:`cdma.verif.formal.proofs.bursts`.
    """
    offset, segments, beats, partial, length, last = (
        h.inner(f"{path}.{name}") for name in ("offset", "segments", "beats", "partial", "length_less_one", "last"))
    counts, borrow, state = (h.inner(f"{path}.{name}") for name in ("counts", "borrow", "fsm_state"))
    shows = h.inner(f"{path}.o__valid")
    low = len(segments) // 2
    left = Signal(len(segments) + beat_bits, name="beats_left")
    h.m.d.comb += left.eq(Cat(beats, (segments - counts)[:len(segments)]))
    cut = (state != 0) & ~shows
    h.check("splitter_states", state < 3)
    h.check("something_is_left", ~cut | Cat(segments, beats, partial).any())
    h.check("more_is_left", ~shows | last | left.any())
    h.check("borrow_is_kept", ~shows | (borrow == (counts & ~segments[:low].any())))
    h.check("ends_in_its_segment", ~shows | (offset + length < (1 << beat_bits)))
    h.check("no_partial_behind_cut", ~shows | ~partial)
    address = Value.cast(h.inner(f"{path}.o__payload"))
    h.check("is_aligned", address[:shift] == Const(0, shift))
    return shows
