"""Proofs of the framer: rows of the block stream against the format of a block, byte by byte."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.lanes.framer import Framer, framed_block_layout
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.waiting import moves

__all__ = ["PROOFS"]

_HEADER, _FIELD = 4, 4      # bytes of a header, and of the length field of a short block
_SHORT = 7                  # the bit of a coding that marks a short block
_BEATS = 8                  # bits of the number of a payload's beats


def _front(h: Harness, block: Any) -> tuple[Value, Value]:
    """What stands in front of a payload, by the format: its bytes, and how many there are."""
    short = block.coding[_SHORT]
    payload_bytes, raw_bytes = Signal(16, name="payload_bytes"), Signal(8 * _FIELD, name="raw_bytes")
    h.m.d.comb += [payload_bytes.eq(block.payload_bytes + Mux(short, _FIELD, 0)), raw_bytes.eq(block.raw_bytes)]
    return Cat(payload_bytes, block.coding, block.sequence, raw_bytes), Mux(short, _HEADER + _FIELD, _HEADER)


def _block(h: Harness, dut: Framer, fresh: Value) -> Any:
    """The block beside the beats, which is the same for all beats of a payload, and while one waits."""
    layout = framed_block_layout(dut._config)
    given, held, block = h.free(layout.size, "block"), Signal(layout.size, name="held"), Signal(layout, name="here")
    h.m.d.comb += [Value.cast(dut.block).eq(given), Value.cast(block).eq(Mux(fresh, given, held))]
    h.m.d.sync += held.eq(block)
    waited = h.past(dut.i.valid & ~dut.i.ready, "waited")
    h.assume("block_stays", ~dut.i.valid | (fresh & ~waited) | (given == held))
    return block


def _framer(config: EngineConfig) -> Harness:
    """One byte of every block, which the solver chooses: of header, length field or payload, or behind its end."""
    h = Harness()
    m = h.m
    n, parts = config.beat_bytes, config.link_beat_bytes // config.beat_bytes
    shift, wide = exact_log2(n), exact_log2(config.link_beat_bytes)
    bits = _BEATS + shift
    dut = h.add("dut", Framer(config))
    h.drive(dut.i, "i")
    h.keeps(dut.o, "o")
    beat = dut.i.payload
    h.assume("kept_come_first", Cat(before | ~after for before, after in pairwise(beat.keep)).all())

    # Beats of the block that were taken, and whether its last one is among them: the end of the block is in the carry.
    beats, ended = Signal(_BEATS, name="beats"), Signal(name="ended")
    fresh = (beats == 0) & ~ended
    front, size = _front(h, _block(h, dut, fresh))
    h.assume("payload_fits", ~dut.i.valid | beat.last | (beats < (1 << _BEATS) - 2))
    total, end = Signal(bits + 1, name="total"), Signal(bits + 1, name="end")
    kept = sum((bit for bit in beat.keep), start=Value.cast(0))
    m.d.comb += end.eq(Mux(ended, total, size + (beats << shift) + kept))

    # The byte, once it is known; 0 before.
    at = h.fixed(bits, "at")
    behind = Signal(bits, name="behind")
    m.d.comb += behind.eq(at - size)
    value, shown, comes = Signal(8, name="value"), Signal(8, name="shown"), Signal(name="comes")
    there = beat.keep | (~beat.last).replicate(n)
    m.d.comb += comes.eq(dut.i.valid & ~ended & (at >= size) & (behind[shift:] == beats))
    byte = beat.data.word_select(behind[:shift], 8) & there.bit_select(behind[:shift], 1).replicate(8)
    m.d.comb += shown.eq(Mux(comes, byte, Mux(fresh, Mux(at < size, front.word_select(at[:3], 8), 0), value)))
    gives, closes = moves(dut.o), moves(dut.o) & dut.o.payload.last
    with m.If(moves(dut.i)):
        m.d.sync += [beats.eq(beats + 1), ended.eq(beat.last), total.eq(end), value.eq(shown)]
    with m.If(closes):
        m.d.sync += [beats.eq(0), ended.eq(0)]

    row, part = beats >> (wide - shift), beats[:wide - shift]
    out = dut.o.payload
    h.check("byte", ~dut.o.valid | (at[wide:] != row) | (out.data.word_select(at[:wide], 8) == shown))
    h.check("last_row", ~dut.o.valid | (out.last == ((ended | beat.last) & (end <= (row + 1) << wide))))
    h.check("rows_have_bytes", ~dut.o.valid | ~ended | (end > (row << wide)))
    h.check("rows_are_full", ~dut.o.valid | out.last | part.all())
    h.check("end_waits_for_no_beat", ~ended | dut.o.valid)

    # What the registers mean, for the induction.
    carry = h.inner("dut.carry")
    h.check("first_is_fresh", h.inner("dut.first") == (beats == 0))
    h.check("ended_is_spill", h.inner("dut.spill") == ended)
    h.check("length_is_kept", (beats == 0) | (h.inner("dut.held_long") == (size != _HEADER)))
    h.check("beats_fit", ended | (beats < (1 << _BEATS) - 1))
    h.check("ended_has_beats", ~ended | (beats != 0))
    h.check("end_is_in_carry", ~ended | ((total > (beats << shift)) & (total <= (beats << shift) + size)))
    h.check("nothing_is_known_early", (beats == 0) | (at < size) | (behind[shift:] < beats) | (value == 0))
    first = Signal(bits + 1, name="first_of_carry")
    place = Signal(bits + 1, name="place_in_carry")
    m.d.comb += [first.eq((beats << shift) + size - len(carry) // 8), place.eq(at - first)]
    inside = (beats != 0) & (at >= size) & (at + size < (beats << shift) + 2 * size) & (at >= first)
    h.check("carry", ~inside | (carry.word_select(place[:3], 8) == value))
    if parts > 1:
        held = h.inner("dut.row")
        h.check("parts", h.inner("dut.part") == part)
        h.check("row", (at[wide:] != row) | (at[shift:wide] >= part) | (held.word_select(at[:wide], 8) == value))
    h.cover("short_block_ends", closes & (size != _HEADER) & ended)
    h.cover("byte_of_carry", gives & (at[wide:] == row) & (beats > 1) & ~comes & (shown != 0))
    h.cover("length_field", gives & (at[wide:] == row) & (at >= _HEADER) & (at < size) & (shown != 0))
    return h


def _wide(config: EngineConfig, parts: int) -> EngineConfig:
    return replace(config, link_beat_bytes=parts * config.beat_bytes)


def _framer_proof(config: EngineConfig, which: str = "shallow", configured: bool = False) -> Proof:
    n, row = config.beat_bytes, config.link_beat_bytes
    return Proof(f"framer_{n}_{row}", "hdl/engine/lanes/framer.py", "Every byte of a block's rows is what the format "
                 f"says, header, length field, payload and zeros, and its last row is the one with its end; payloads "
                 f"of up to {(1 << _BEATS) - 1} beats (beats of {n} bytes, rows of {row}).", lambda: _framer(config),
                 "induction", 1, which, configured=configured)


_TINY = load_engine("tiny")

PROOFS = (_framer_proof(_TINY), _framer_proof(_wide(_TINY, 2), "deep"))
"""Proofs of the framer."""
