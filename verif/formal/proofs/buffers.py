"""Proofs of buffers between streams: no transfer is lost, doubled, changed or overtaken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Array, Mux, Signal, Value

from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.row_fifo import RowFifo
from cdma.hdl.common.skid import Skid, Spare
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose, moves, place_after

__all__ = ["PROOFS", "Watch", "of_engine"]


class Watch:
    """Follows one transfer of a stream, which the solver chooses, through a buffer.

    Transfers are told apart by their order alone: the watched one is any one that goes in. While it is inside,
    ``ahead`` of those that went in before it are still inside. When none is, the next one out has its payload.

    Parameters
    ----------
    h : Harness
        Where assertions go.
    enters, payload
        A transfer goes in, and what it carries.
    leaves, shown
        A transfer comes out, and what it carries.
    level
        Transfers inside.
    """

    def __init__(self, h: Harness, enters: Value, payload: Value, leaves: Value, shown: Value, level: Signal):
        m = h.m
        self.held = Signal(name="watch_held")
        self.done = Signal(name="watch_done")
        self.ahead = Signal(len(level), name="watch_ahead")
        self.payload = Signal(len(payload), name="watch_payload", reset_less=True)
        starts = Signal(name="watch_starts")
        m.d.comb += starts.eq(h.free(1, "watch_this") & enters & ~self.held & ~self.done)
        with m.If(starts):
            m.d.sync += [self.held.eq(1), self.payload.eq(payload), self.ahead.eq(level - leaves)]
        with m.Elif(self.held & leaves):
            m.d.sync += self.ahead.eq(self.ahead - 1)
            with m.If(self.ahead == 0):
                m.d.sync += [self.held.eq(0), self.done.eq(1)]
        h.check("watched_payload", ~(self.held & leaves & (self.ahead == 0)) | (shown == self.payload))
        h.check("watched_is_inside", ~self.held | (self.ahead < level))
        h.cover("watched_leaves", self.done)


def _buffer(h: Harness, buffer: Any, capacity: int) -> tuple[Any, Signal]:
    """A buffer, and the transfers in it, counted at its ports."""
    dut = h.add("dut", buffer)
    h.drive(dut.i, "i")
    h.keeps(dut.o, "o")
    level = Signal(range(capacity + 2), name="level")
    h.m.d.sync += level.eq(level + moves(dut.i) - moves(dut.o))
    h.check("none_from_nothing", ~moves(dut.o) | (level + moves(dut.i) != 0))
    h.check("level_fits", level <= capacity)
    h.cover("full", level == capacity)
    return dut, level


def _watch(h: Harness, dut: Any, level: Signal) -> Watch:
    return Watch(h, moves(dut.i), dut.i.payload, moves(dut.o), dut.o.payload, level)


def _skid(h: Harness) -> None:
    """The skid buffer gives every transfer once, in order and unchanged, and keeps valid and payload until they are
    taken."""
    dut, level = _buffer(h, Skid(8), 2)
    held, full = h.inner("dut.held"), h.inner("dut.full")
    h.check("level_is_flags", level == held + full)
    h.check("spare_only_behind_output", held | ~full)
    watch = _watch(h, dut, level)
    inside = Array([h.inner("dut.output"), h.inner("dut.spare")])
    h.check("watched_is_stored", ~watch.held | (inside[watch.ahead[0]] == watch.payload))
    h.check("one_cycle_of_latency", ~h.past(moves(dut.i), "enters") | dut.o.valid)


def _spare(h: Harness) -> None:
    """The spare place gives every transfer once, in order and unchanged, and keeps valid and payload until they are
    taken."""
    dut, level = _buffer(h, Spare(8), 1)
    h.check("level_is_flag", level == h.inner("dut.full"))
    held, kept = Signal(), Signal(8, reset_less=True)
    h.m.d.sync += held.eq(moves(dut.i) & ~moves(dut.o) | held & ~moves(dut.o))
    with h.m.If(moves(dut.i)):
        h.m.d.sync += kept.eq(dut.i.payload)
    h.check("held_is_full", held == h.inner("dut.full"))
    h.check("kept_is_held", ~held | (h.inner("dut.kept") == kept))
    h.check("shown_is_next", ~dut.o.valid | (dut.o.payload == Mux(held, kept, dut.i.payload)))


def _fifo(h: Harness, depth: int) -> None:
    """A FIFO of {rows} gives every transfer once, in order and unchanged; its level is the number of transfers inside;
    no read depends on a row that is written in the same cycle."""
    dut, level = _buffer(h, StreamFifo(8, depth), depth + 1)
    h.check("level_is_told", level == dut.level)
    inside, shown = h.inner("dut.fifo.inner_level"), h.inner("dut.fifo.r_rdy")
    produce, consume = h.inner("dut.fifo.produce"), h.inner("dut.fifo.consume")
    h.check("rows_fit", inside <= depth)
    h.check("places_fit", (produce < depth) & (consume < depth))
    h.check("places_are_level_apart", produce == place_after(consume, Mux(inside == depth, 0, inside), depth)
            if depth > 1 else 1)
    h.check("level_is_rows_and_output", level == inside + shown)
    watch = _watch(h, dut, level)
    at_output = shown & (watch.ahead == 0)
    for number, row in enumerate(h.platform.memories[0]):
        here = Value.cast(number) == place_after(consume, watch.ahead - shown, depth)
        h.check(f"watched_in_row_{number}", ~watch.held | at_output | ~here | (row == watch.payload))
    h.check("watched_at_output", ~watch.held | ~at_output | (dut.o.payload == watch.payload))
    h.check("full_takes_none", (inside != depth) | ~dut.i.ready)
    h.cover("wraps", (produce == 0) & watch.held)


def _row_fifo(h: Harness, depth: int = 4, parts: int = 2, width: int = 8) -> None:
    """Rows that are written in parts come out whole, once, in order, with what each part was written with last, while
    no more rows are committed than fit."""
    m = h.m
    dut = h.add("dut", RowFifo(width, parts, depth))
    enable, data, commit = choose(h, dut, ("enable", "data", "commit"))
    h.keeps(dut.o, "o")
    leaves = moves(dut.o)
    # Who writes looks at the level. One of the committed rows may be in the output register, and one row is open.
    h.assume("room", ~commit | (dut.level - leaves + 1 <= depth))
    level = Signal(range(depth + 2), name="level")
    m.d.sync += level.eq(level + commit - leaves)
    inside, shown = h.inner("dut.inside"), dut.o.valid
    opened, oldest = h.inner("dut.opened"), h.inner("dut.oldest")
    h.check("level_is_told", level == dut.level)
    h.check("level_is_rows_and_output", level == inside + shown)
    h.check("places_fit", (opened < depth) & (oldest < depth))
    h.check("places_are_level_apart", opened == place_after(oldest, inside, depth))
    h.check("rows_fit", level <= depth)
    h.check("output_is_filled", shown | (inside <= 1))
    # The watched row: what its parts were written with last, and which parts were.
    held, done, opens = Signal(name="watch_held"), Signal(name="watch_done"), Signal(name="watch_opens")
    ahead = Signal(range(depth + 1), name="watch_ahead")
    content, written = Signal(width, name="watch_content", reset_less=True), Signal(parts, name="watch_written")
    is_open = Signal(name="open_begins", init=1)
    m.d.sync += is_open.eq(commit)
    m.d.comb += opens.eq(h.free(1, "watch_this") & is_open & ~held & ~done)
    closed = Signal(name="watch_closed")
    writing = (held & ~closed) | opens
    mask = enable & writing.replicate(parts)
    with m.If(opens):
        m.d.sync += [held.eq(1), ahead.eq(level - leaves)]
    with m.Elif(held & leaves):
        m.d.sync += ahead.eq(ahead - 1)
        with m.If(closed & (ahead == 0)):
            m.d.sync += [held.eq(0), done.eq(1)]
    m.d.sync += written.eq(Mux(opens, 0, written) | mask)
    for part in range(parts):
        with m.If(mask[part]):
            m.d.sync += content.word_select(part, width // parts).eq(data.word_select(part, width // parts))
    with m.If(writing & commit):
        m.d.sync += closed.eq(1)

    def same(row: Value) -> Value:
        bits = [~written[part] | (row.word_select(part, width // parts) == content.word_select(part, width // parts))
                for part in range(parts)]
        total = bits[0]
        for bit in bits[1:]:
            total = total & bit
        return total

    at_output = shown & (ahead == 0) & closed
    h.check("watched_payload", ~(held & closed & leaves & (ahead == 0)) | same(dut.o.payload))
    h.check("watched_at_output", ~held | ~at_output | same(dut.o.payload))
    h.check("closed_was_opened", ~closed | held | done)
    h.check("open_is_last", ~held | closed | (ahead == level))
    h.check("closed_is_inside", ~held | ~closed | (ahead < level))
    for number, row in enumerate(h.platform.memories[0]):
        here = Value.cast(number) == place_after(oldest, ahead - shown, depth)
        h.check(f"watched_in_row_{number}", ~held | at_output | ~here | same(row))
    h.cover("watched_leaves", done & written.all())
    h.cover("full", level == depth)


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The buffers of an engine: the FIFO of its lanes' bursts, and those that have no parameters."""
    depth = max(1, config.outstanding_reads - 1)
    rows = "1 row" if depth == 1 else f"{depth} rows"
    return (*_FIXED, Proof("burst_fifo", _FIFO, _fifo, {"depth": depth}, words={"rows": rows}, cover_depth=depth + 10,
                           configured=True))


_FIFO = "hdl/common/fifo.py"
_SKID, _SPARE = (Proof(name, "hdl/common/skid.py", build) for name, build in (("skid", _skid), ("spare", _spare)))
_ROW_FIFO = Proof("row_fifo", "hdl/common/row_fifo.py", _row_fifo)
_FIXED = _SKID, _SPARE, _ROW_FIFO

PROOFS = (
    _SKID, _SPARE, Proof("fifo_4", _FIFO, _fifo, {"depth": 4}, words={"rows": "4 rows"}),
    Proof("fifo_5", _FIFO, _fifo, {"depth": 5}, cover_depth=14,
          said="The same of 5 rows, whose places do not wrap around by themselves."),
    Proof("fifo_1", _FIFO, _fifo, {"depth": 1}, said="The same of one row."), _ROW_FIFO,
    replace(_ROW_FIFO, name="row_fifo_5", parameters={"depth": 5}, said="The same of 5 rows."),
)
"""Proofs of buffers."""
