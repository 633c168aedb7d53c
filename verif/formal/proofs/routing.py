"""Proofs of what moves bytes: gather and scatter networks for every mask and start, the realigner, rows of data."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.codec.payload.row_ring import RowRing
from cdma.hdl.codec.routing import Gather, Ranks, Scatter, Steer
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.realigner import Realigner
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS", "of_engine"]


def _rows(h: Harness) -> None:
    """In the pipeline fast, rows of data are taken, shown and found too short or too long as in small."""
    small, fast = (h.add(name, RowRing(16, (4,), pipeline=name)) for name in ("small", "fast"))
    for name in ("valid", "place", "leave"):
        given = h.free(len(Value.cast(getattr(small, name))), name)
        h.m.d.comb += [Value.cast(getattr(dut, name)).eq(given) for dut in (small, fast)]
    row = Cat(small.i.valid, small.i.payload)
    given = h.free(len(row), "row")
    h.m.d.comb += [Cat(dut.i.valid, dut.i.payload).eq(given) for dut in (small, fast)]
    ended = Signal(init=1, name="ended")
    with h.m.If(small.valid & small.move):
        h.m.d.sync += ended.eq(small.place.last)
    h.assume("opens_a_block", ~(small.valid & small.place.opens) | ended)
    for name in ("move", "shown"):
        h.check(f"same_{name}", getattr(small, name) == getattr(fast, name))
    h.check("same_ready", small.i.ready == fast.i.ready)
    for name in ("truncated", "surplus"):
        h.check(f"same_{name}", ~small.shown | (getattr(small, name) == getattr(fast, name)))
    # What the registers hold: those of data have no reset. The window is the rows of the sources.
    full, held = h.inner("small.full"), h.inner("small.held")
    when = {**{f"{name}_{k}": full[k] for name in ("row", "facts") for k in range(3)},
            **dict.fromkeys(("bare", "after", *(f"source_{k}" for k in range(4))), held),
            **dict.fromkeys(("held", "has", "crosses", "last", "current", "turn", "overran", "passed"), Const(1))}
    for name, there in when.items():
        h.check(f"same_{name}_is_held", ~there | (h.inner(f"small.{name}") == h.inner(f"fast.{name}")))
    current, turn = h.inner("small.current"), h.inner("small.turn")
    last = Cat(full[k] & h.inner(f"small.facts_{k}")[0] for k in range(3))
    for name, value in (("near", full), ("near_last", last), ("near_turn", turn)):
        h.check(f"{name}_is_held", sum((current == 1 << k) & (h.inner(f"fast.{name}") == value.rotate_right(k))
                                       for k in range(3)) == 1)
    has, last_beat = h.inner("small.has"), h.inner("small.last")
    near = Cat(h.inner("fast.near"), h.inner("fast.near_turn"))
    # Rows are loaded in order: from the current one on, or from the next one on if the block has none.
    h.check("rows_are_in_order", sum(near == Mux(has, *each) for each in (
        (0b001_000, 0b010_000), (0b010_001, 0b100_010), (0b100_011, 0b001_110), (0b001_111, 0b010_111))) == 1)
    h.check("nothing_is_held", held | ~(h.inner("small.crosses") | last_beat))
    h.check("last_is_the_newest", ~held | (ended == last_beat))
    h.check("no_row_between_blocks", ~ended | (held & last_beat) | ~has)
    h.cover("three_rows", full.all() & small.shown & small.leave)
    h.cover("left_over", small.shown & h.inner("small.passed"))


def _network(h: Harness, lanes: int, grain: int, scatter: bool) -> None:
    """The {name} network of {lanes} bytes in units of {grain} moves every unit where the specification says, for every
    mask, start and data."""
    # Where a unit goes is the number of mask bits before it. Checks come in the order in which each follows from those
    # before: numbers of mask bits in blocks, places of units behind each rank of switches, then the outputs.
    m = h.m
    units, bits = lanes // grain, 8 * grain
    steps = exact_log2(units)
    ranks, steer = h.add("ranks", Ranks(lanes, grain)), h.add("steer", Steer(lanes, grain))
    network = h.add("network", (Scatter if scatter else Gather)(lanes, grain))
    mask, start, data = h.free(units, "mask"), h.free(range(units), "start"), h.free(8 * lanes, "data")
    m.d.comb += [
        ranks.mask.eq(mask), steer.before.eq(ranks.before), steer.start.eq(start), network.swap.eq(steer.swap),
        network.i.eq(data),
    ]
    before: list[Value] = [Const(0, units.bit_length())]
    for unit in range(units):
        total = Signal(units.bit_length(), name=f"before_{unit + 1}")
        m.d.comb += total.eq(before[-1] + mask[unit])
        before.append(total)
    _counts(h, before)
    for step in range(steps):
        for block, middle in enumerate(range(1 << step, units, 2 << step)):
            h.check(f"before_{middle}", ranks.before[f"d{grain << step}"][block] == before[middle][:step + 1])
    places = [Signal(steps, name=f"place_{unit}") for unit in range(units)]
    m.d.comb += [place.eq(start + before[unit]) for unit, place in enumerate(places)]
    for step in reversed(range(steps)) if scatter else range(steps):
        # The blocks that units have not left yet, or have come into.
        size = 1 << step if scatter else 2 << step
        rank = [h.inner(f"network.d{grain << step}_{unit}") for unit in range(units)]
        for unit, place in enumerate(places):
            first = unit - unit % size
            there = Cat(rank[first:first + size]).word_select(place[:exact_log2(size)], bits)
            source = data.word_select(place if scatter else unit, bits)
            h.check(f"unit_{unit}_behind_{1 << step}", ~mask[unit] | (there == source))
    for unit, place in enumerate(places):
        source, target = (place, unit) if scatter else (unit, place)
        h.check(f"unit_{unit}", ~mask[unit] | (
            network.o.word_select(target, bits) == data.word_select(source, bits)))
    h.check("count", ranks.count == before[-1])
    h.cover("wraps", (start + ranks.count > units) & ~mask.all())


def _counts(h: Harness, before: list[Value]) -> None:
    """Numbers of mask bits in aligned blocks are those that the specification counts, and from any bit to an end of the
    block there are not more than bits."""
    units, size, width = len(before) - 1, 2, len(before[0])
    while size <= units:
        for first in range(0, units, size):
            end = first + size
            h.check(f"count_{first}_{size}", h.inner(f"ranks.count_{first}_{size}") == before[end] - before[first])
            for bit in range(first, end):
                h.check(f"bits_{first}_to_{bit}_of_{size}", (before[bit] - before[first])[:width] <= bit - first)
                h.check(f"bits_{bit}_to_{end}_of_{size}", (before[end] - before[bit])[:width] <= end - bit)
        size *= 2


def _networks(lanes: int, grain: int, which: str) -> tuple[Proof, ...]:
    return tuple(Proof(f"{name}_{lanes}_{grain}", "hdl/codec/routing.py", _network,
                       {"lanes": lanes, "grain": grain, "scatter": name == "scatter"}, 0, which, solver="sat",
                       words={"name": name}) for name in ("gather", "scatter"))


def _realigner(h: Harness, words: int, places: range) -> None:
    """Rows of {words} words are those that follow a header, {where} its beat."""
    # Rows against the words of two beats side by side; a realigner for each place, which is constant in a block.
    m = h.m
    width = 8 * WORD_BYTES
    beat = h.free(width * words, "beat")
    keep, make, flush = (h.free(1, name) for name in ("keep", "make", "flush"))
    before, old, new, flushed = (Signal(size, name=name, reset_less=True) for name, size in (
        ("before", width * words), ("old", width * words), ("new", width * words), ("flushed", 1)))
    made, kept, whole = Signal(name="made"), Signal(name="kept"), Signal(name="whole")
    with m.If(keep):
        m.d.sync += [before.eq(beat), kept.eq(1)]
    with m.If(make):
        m.d.sync += [old.eq(before), new.eq(beat), flushed.eq(flush), made.eq(1), whole.eq(kept)]
    both = Cat(old, new)
    for place in places:
        dut = h.add(f"dut_{place}", Realigner(words))
        m.d.comb += [dut.beat.eq(beat), dut.place.eq(place), dut.keep.eq(keep), dut.make.eq(make), dut.flush.eq(flush)]
        for word in range(words):
            index = place + 1 + word
            same = dut.row.word_select(word, width) == both.word_select(index, width)
            h.check(f"word_{word}_of_{place}", ~made | ~whole | (flushed if index >= words else 0) | same)
            h.check(f"carried_{word}_of_{place}", dut.carried[word] == (index < words))
        # What the register of the beat before holds, for the induction.
        h.check(f"rotated_by_{place}", ~kept | (
            h.inner(f"dut_{place}.before") == before.rotate_right(width * (place + 1))))
    h.cover("row", made & whole & ~flushed)
    h.cover("flushed_row", made & whole & flushed)


_WORDS = (4, 8)
"""Words of the realigners that are proved at once."""


def _realigner_proof(words: int, configured: bool = False) -> Proof:
    return Proof(f"realigner_{words}", "hdl/engine/link/realigner.py", _realigner,
                 {"words": words, "places": range(words)}, configured=configured,
                 words={"where": "whatever its place in"})


def _quarter_proof(quarter: int, words: int = 16) -> Proof:
    """A quarter of the places of a wide realigner: the solver's time grows faster than their number."""
    places = range(quarter * words // 4, (quarter + 1) * words // 4)
    return Proof(f"realigner_{words}_{places[0]}_{places[-1]}", "hdl/engine/link/realigner.py", _realigner,
                 {"words": words, "places": places}, set="deep",
                 words={"where": f"which is at a place from {places[0]} to {places[-1]} of"})


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The networks of an engine's lanes and the realigner of its link, or those of the table that are most alike."""
    grain = min(config.element_bytes)
    networks = tuple(proof for proof in PROOFS if proof.name.startswith(("gather", "scatter")))
    same = [replace(proof, configured=True) for proof in networks
            if proof.set == "shallow" and proof.name.endswith(f"_{config.beat_bytes}_{grain}")]
    realigners = [_realigner_proof(words, configured=words == config.link_words) for words in _WORDS
                  if words == config.link_words or config.link_words not in _WORDS]
    return (*(same or [proof for proof in networks if proof.set == "shallow"]), *realigners)


PROOFS = (
    *_networks(16, 1, "shallow"), *_networks(16, 2, "shallow"), *_networks(16, 4, "shallow"),
    *_networks(32, 1, "deep"), *_networks(32, 2, "shallow"), *_networks(32, 4, "shallow"),
    *_networks(64, 1, "deep"), *_networks(64, 2, "deep"), *_networks(64, 4, "deep"),
    *(_realigner_proof(words) for words in _WORDS), *(_quarter_proof(quarter) for quarter in range(4)),
    Proof("row_ring_fast", "hdl/codec/payload/row_ring.py", _rows, cover_depth=12),
)
"""Proofs of what moves bytes."""
