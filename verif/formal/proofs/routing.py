"""Proofs of what moves bytes: gather and scatter networks for every mask and start, the realigner."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Signal, Value

from hdl.codec.coding import WORD_BYTES
from hdl.codec.routing import Gather, Ranks, Scatter, Steer
from hdl.engine.link.realigner import Realigner
from verif.formal.harness import Harness
from verif.formal.proof import Proof

__all__ = ["PROOFS"]


def _network(lanes: int, grain: int, scatter: bool) -> Harness:
    """A network with its steering, and one unit of it: where it goes is the number of mask bits before it."""
    h = Harness()
    m = h.m
    units, bits = lanes // grain, 8 * grain
    ranks, steer = h.add("ranks", Ranks(lanes, grain)), h.add("steer", Steer(lanes, grain))
    network = h.add("network", (Scatter if scatter else Gather)(lanes, grain))
    mask, start, data = h.free(units, "mask"), h.free(range(units), "start"), h.free(8 * lanes, "data")
    m.d.comb += [
        ranks.mask.eq(mask), steer.before.eq(ranks.before), steer.start.eq(start), network.swap.eq(steer.swap),
        network.i.eq(data),
    ]
    rank: Value = Const(0, 1)
    for unit in range(units):
        place = Signal(range(units), name=f"place_{unit}")
        m.d.comb += place.eq(start + rank)
        scattered, gathered = Const(unit, place.shape()), place
        source, target = (gathered, scattered) if scatter else (scattered, gathered)
        h.check(f"unit_{unit}", ~mask[unit] | (
            network.o.word_select(target, bits) == data.word_select(source, bits)))
        rank = (rank + mask[unit])[:units.bit_length()]
    h.check("count", ranks.count == rank)
    h.cover("wraps", (start + ranks.count > units) & ~mask.all())
    return h


def _networks(lanes: int, grain: int, which: str) -> tuple[Proof, ...]:
    return tuple(Proof(
        f"{name}_{lanes}_{grain}", "hdl/codec/routing.py",
        f"The {name} network of {lanes} bytes in units of {grain} moves every unit where the specification says, for "
        "every mask, start and data.", lambda scatter=scatter: _network(lanes, grain, scatter), "equivalence",
        set=which)
        for name, scatter in (("gather", False), ("scatter", True)))


def _realigner(words: int) -> Harness:
    """Rows against the words of two beats side by side."""
    h = Harness()
    m = h.m
    dut = h.add("dut", Realigner(words))
    width = 8 * WORD_BYTES
    beat, place = h.free(width * words, "beat"), h.fixed(range(words), "place")
    keep, make, flush = (h.free(1, name) for name in ("keep", "make", "flush"))
    m.d.comb += [dut.beat.eq(beat), dut.place.eq(place), dut.keep.eq(keep), dut.make.eq(make), dut.flush.eq(flush)]
    before, old, new, flushed = (Signal(size, name=name, reset_less=True) for name, size in (
        ("before", width * words), ("old", width * words), ("new", width * words), ("flushed", 1)))
    made, kept, whole = Signal(name="made"), Signal(name="kept"), Signal(name="whole")
    with m.If(keep):
        m.d.sync += [before.eq(beat), kept.eq(1)]
    with m.If(make):
        m.d.sync += [old.eq(before), new.eq(beat), flushed.eq(flush), made.eq(1), whole.eq(kept)]
    both = Cat(old, new)
    for number in range(words):
        there = place == number
        for word in range(words):
            index = number + 1 + word
            same = dut.row.word_select(word, width) == both.word_select(index, width)
            h.check(f"word_{word}_of_{number}", ~there | ~made | ~whole | (flushed if index >= words else 0) | same)
            h.check(f"carried_{word}_of_{number}", ~there | (dut.carried[word] == (index < words)))
        # What the register of the beat before holds, for the induction.
        h.check(f"rotated_by_{number}", ~there | ~kept | (
            h.inner("dut.before") == before.rotate_right(width * (number + 1))))
    h.cover("row", made & whole & ~flushed)
    h.cover("flushed_row", made & whole & flushed)
    return h


PROOFS = (
    *_networks(16, 1, "shallow"), *_networks(16, 2, "shallow"), *_networks(16, 4, "shallow"),
    *_networks(32, 1, "deep"), *_networks(32, 2, "deep"), *_networks(32, 4, "shallow"),
    *_networks(64, 1, "deep"), *_networks(64, 2, "deep"), *_networks(64, 4, "deep"),
    *(Proof(f"realigner_{words}", "hdl/engine/link/realigner.py", f"Rows of {words} words are those that follow a "
            "header, whatever its place in its beat.", lambda words=words: _realigner(words), "induction", 1,
            set="shallow" if words == 4 else "deep")
      for words in (4, 8, 16)),
)
"""Proofs of what moves bytes."""
