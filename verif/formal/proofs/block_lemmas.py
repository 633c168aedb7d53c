"""What is true inside a block decompressor while it unpacks a block: each fact is proved, and helps to prove the next.

The solver finds it hard that counts, places and rows of the hardware are the sums that the format says. So this is said
here step by step, for the beat in each stage and for the element that the proof watches.
"""

from __future__ import annotations

from amaranth.hdl import Array, Const, Signal, Value

from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proofs.codecs import BEAT
from cdma.verif.formal.proofs.packed_format import Format

__all__ = ["decompressor_lemmas"]

_ROWS = 3
"""Rows that an unpacker holds."""


def _counter(h: Harness, most: int, name: str, counts: Value, first: Value | int = 0) -> Signal:
    """A number that goes up where ``counts`` is high, shown from ``first`` on."""
    counter, shown = Signal(range(most + 2), name=f"{name}_counter"), Signal(range(2 * most + 2), name=name)
    with h.m.If(counts):
        h.m.d.sync += counter.eq(counter + 1)
    h.m.d.comb += shown.eq(counter + first)
    return shown


def decompressor_lemmas(h: Harness, form: Format, watched_row: Value, value: Value) -> None:
    """Lemmas about the store and the row unpacker of a block decompressor.

    Parameters
    ----------
    h : Harness
        Where they go.
    form : Format
        The payload.
    watched_row, value : Value
        The packed row with the watched element, and the element.
    """
    per, shift, bits = form.per, form.shift, len(value)
    beats = len(form.starts)
    unpacker, rows = "decompressor.unpacker", "decompressor.unpacker.rows"
    move, lane_of_beat = h.inner(f"{unpacker}.move"), h.inner(f"{unpacker}.start")
    sliced_valid, sliced = h.inner(f"{unpacker}.sliced_valid"), Value.cast(h.inner(f"{unpacker}.sliced"))
    valid = h.inner(f"{unpacker}.valid")
    starts = Array([*form.starts, form.total])
    lane, row = form.spot[:shift], form.spot >> shift
    watched = form.mask.bit_select(form.place, 1)
    # Rows of data, as they come from the ring.
    comes, data = h.inner("decompressor.store.data__valid"), Value.cast(h.inner("decompressor.store.data__payload"))
    ready = h.inner(f"{unpacker}.data__ready")
    first = form.starts[0] >> shift
    loaded = _counter(h, form.rows, "loaded_row", comes & ready, first)
    at = Value.cast(h.inner("decompressor.store.ring.at"))[:-1]
    h.check("ring_reads_row_by_row", ~comes | (at == loaded + 1))
    h.check("row_comes", ~comes | ~watched | (row != loaded) | (data[:8 * BEAT] == watched_row))
    h.check("last_row_is_marked", ~comes | (data[8 * BEAT] == (loaded == form.last_row)))
    # Masks and places.
    sent = _counter(h, beats, "sliced_beat", sliced_valid & move)
    mask = Array([form.mask[k * per:(k + 1) * per] for k in range(beats)])
    h.check("beat_has_its_mask", ~sliced_valid | (sliced[:per] == mask[sent]))
    placed = _counter(h, beats, "placed_beat", valid & move)
    h.check("beat_has_its_place", ~valid | (lane_of_beat == h.named("start_of_placed", starts[placed])[:shift]))
    # The rows that the next beat sees.
    shown, window = h.inner(f"{rows}.shown"), h.inner(f"{rows}.window")
    spread = Signal(range(beats + 1), name="spread_beat")
    h.m.d.comb += spread.eq(placed - 1)
    start = Signal(len(form.spot), name="start_of_spread")
    h.m.d.comb += start.eq(starts[spread])
    for unit in range(per):
        number = Signal(len(form.spot), name=f"row_of_unit_{unit}")
        h.m.d.comb += number.eq((start >> shift) + (start[:shift] > unit) - first)
        source = h.inner(f"{rows}.source_{unit}")
        h.check(f"unit_{unit}_has_its_source", ~(shown & (placed != 0)) | (source == _turned(number)))
    # Registers of rows, which are loaded in turn; one whose turn it is loads in every cycle in which it may.
    turn, mine = h.inner(f"{rows}.turn"), h.named("mine", shown & watched & (form.place >> shift == spread))
    h.check("rows_take_turns", turn == _turned((loaded - first)[:len(loaded)]))
    at_place = _turned((row - first)[:len(row)])
    for k in range(_ROWS):
        number, here = Signal(range(2 * form.rows + 2), name=f"number_{k}"), Signal(name=f"here_{k}")
        with h.m.If(ready & turn[k]):
            h.m.d.sync += [number.eq(loaded), here.eq(comes)]
        h.check(f"row_{k}_is_of_the_last", ~here | ((number < loaded) & (number + _ROWS >= loaded)
                                                    & (_turned((number - first)[:len(number)]) == 1 << k)))
        h.check(f"row_{k}_has_its_row", ~here | ~watched | (row != number)
                | (h.inner(f"{rows}.row_{k}") == watched_row))
        h.check(f"row_{k}_stays", ~mine | ~at_place[k] | (here & (number == row)))
    sources = Array([h.inner(f"{rows}.source_{unit}") for unit in range(per)])
    h.check("element_has_its_source", ~mine | (sources[lane] == at_place))
    h.check("element_is_in_window", ~mine | (window.word_select(lane, bits) == value))
    h.check("element_is_spread", ~mine | (
        h.inner(f"{unpacker}.scatter.o").word_select(form.place[:shift], bits) == value))


def _turned(number: Value) -> Value:
    """The register of a row, one-hot; the first row of a block has register 1."""
    return Array([Const(1 << (k + 1) % _ROWS, _ROWS) for k in range(1 << len(number))])[number]
