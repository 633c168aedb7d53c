"""Proofs of the engine's AXI masters: they keep the rules of AXI4 while the memory does."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from cdma.hdl.engine.transfer.records import LENGTH_BITS
from cdma.verif.formal.bus_rules import Rules, read_rules, write_rules
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.inside import FifoInside, splitter_is_legal

__all__ = ["PROOFS", "of_engine", "reader", "writer"]

Sizes = tuple[int, int, int]
"""Bits of an address, bytes of a beat, bits of a length."""


def _request(h: Harness, dut: Any, shift: int) -> None:
    """Free requests of at least one byte to an aligned address, and a free ``stop``."""
    h.drive(dut.i, "i")
    h.m.d.comb += dut.stop.eq(h.free(1, "stop"))
    h.assume("some_bytes", ~dut.i.valid | (dut.i.payload.bytes != 0))
    h.assume("aligned", ~dut.i.valid | ~dut.i.payload.address[:shift].any())


def _free(h: Harness, axi: Any, names: tuple[str, ...]) -> None:
    """Inputs of a port that the solver chooses."""
    for name in names:
        target = Value.cast(getattr(axi, name))
        h.m.d.comb += target.eq(h.free(len(target), name))


def reader(h: Harness, sizes: Sizes, outstanding: int, most_beats: int,
           passes_errors: bool = False) -> tuple[AxiReader, Rules]:
    """Puts a reader into a harness: its memory keeps the rules, and it has to; with what its registers mean."""
    address_bits, beat_bytes, length_bits = sizes
    shift, beat_bits = exact_log2(beat_bytes), exact_log2(burst_beats(beat_bytes, most_beats))
    dut = h.add("dut", AxiReader(address_bits, beat_bytes, length_bits, outstanding, most_beats,
                                 passes_errors=passes_errors))
    axi = dut.axi
    _request(h, dut, shift)
    h.keeps(dut.o, "o", unless=dut.stop)
    _free(h, axi, ("arready", "rid", "rdata", "rresp", "rlast", "rvalid"))
    rules = read_rules(h, axi, outstanding)
    shows = splitter_is_legal(h, "dut.splitter", shift, beat_bits)
    open_ = FifoInside(h, "dut.open", outstanding - 1)
    shown, count = h.inner("dut.shown"), h.inner("dut.count")

    h.check("silent_after_reset", ~rules.was_reset | ~shows)
    h.check("waits_as_it_was", ~rules.ar_waited | (shows & (rules.ar_was == _requested(axi, "ar"))))
    h.check("burst_that_waits_is_shown", ~shown | shows)
    h.check("first_shown_has_room", ~shows | shown | h.inner("dut.open.i__ready"))
    h.check("open_are_those_taken_and_the_one_shown", open_.level == rules.reads + shown)
    for number in range(outstanding):
        entry = rules.open[number * 10:(number + 1) * 10]
        length = open_.transfer(number)[address_bits:address_bits + 8]
        h.check(f"length_of_{number}", (number >= rules.reads) | (
            entry == Cat((length - (count if number == 0 else 0))[:8], Const(0, 2))))
        newest = shown & (open_.level == number + 1)
        h.check(f"shown_is_{number}", ~newest | (length == axi.arlen))
    h.check("count_of_the_oldest", (rules.reads != 0) | (count == 0))
    h.check("count_is_within", (rules.reads == 0) | (count <= open_.transfer(0)[address_bits:address_bits + 8]))
    h.check("nothing_is_taken_unasked", ~axi.rready | open_.valid)
    h.cover("as_many_as_allowed", rules.reads == outstanding)
    h.cover("second_burst_is_read", (count == 1) & (open_.transfer(0)[:12] == 0) & dut.o.valid)
    return dut, rules


def writer(h: Harness, sizes: Sizes, outstanding: int, most_beats: int, whole: int = 0) -> tuple[AxiWriter, Rules]:
    """Puts a writer into a harness, like :func:`reader`."""
    address_bits, beat_bytes, length_bits = sizes
    shift, most = exact_log2(beat_bytes), burst_beats(beat_bytes, most_beats)
    dut = h.add("dut", AxiWriter(address_bits, beat_bytes, length_bits, outstanding, most_beats, whole))
    axi = dut.axi
    _request(h, dut, shift)
    h.drive(dut.data, "data")
    _free(h, axi, ("awready", "wready", "bid", "bresp", "bvalid"))
    rules = write_rules(h, axi, outstanding)
    shows = splitter_is_legal(h, "dut.splitter", shift, exact_log2(most))
    open_ = FifoInside(h, "dut.open", outstanding - 1)
    asks, more, left, held, final = (h.inner(f"dut.{name}") for name in ("asks", "more", "left", "held", "final"))

    h.check("silent_after_reset", ~rules.was_reset | ~(asks | held))
    h.check("address_waits_as_it_was", ~rules.aw_waited | (asks & (rules.aw_was == _requested(axi, "aw"))))
    data = Cat(Const(0, 1), axi.wlast, axi.wstrb, axi.wdata)
    h.check("beat_waits_as_it_was", ~rules.w_waited | (held & (rules.w_was == data)))
    h.check("address_is_of_a_burst", ~asks | shows)

    # Bursts that have begun: those whose address was taken and the one that asks; or those whose beats were all taken,
    # the one whose last beat waits at the port, and the one of which more beats are to come.
    sends = Signal(range(3), name="sends")
    h.m.d.comb += sends.eq((held & axi.wlast) + more)
    h.check("begun_by_address", open_.level == rules.addresses + asks)
    h.check("begun_by_data", open_.level == rules.bursts + sends)
    h.check("beats_have_a_burst", ~held | axi.wlast | more)
    lengths = [Signal(8, name=f"length_{number}") for number in range(outstanding)]
    for number, length in enumerate(lengths):
        entry = rules.open[number * 22:(number + 1) * 22]
        asked = number == rules.addresses
        h.m.d.comb += length.eq(Mux(asked, axi.awlen, entry[:8]))
        h.check(f"entry_{number}", (number >= rules.addresses) | (
            (entry[8:] == Cat(Const(shift, 3), Const(1, 2), entry[13:20], Const(0, 2))) & ~entry[13:13 + shift].any()))
        h.check(f"data_ahead_of_{number}", ~(asked & (rules.bursts > number)) | (entry[:8] == axi.awlen))
        oldest, newest = sends.any() & (rules.bursts == number), more & (open_.level == number + 1)
        h.check(f"beats_of_{number}", ~oldest | ~more | (held & axi.wlast) | (rules.beat + held + left == length))
        h.check(f"last_of_{number}", ~oldest | ~(held & axi.wlast) | (rules.beat == length))
        h.check(f"left_of_{number}", ~newest | ~(held & axi.wlast) | (left == length))
        h.check(f"length_of_{number}", ~(newest | oldest) | (length < most))
    h.check("no_beat_between_bursts", sends.any() | (rules.beat == 0))
    h.check("beats_are_few", rules.beat < most)
    h.check("answers_have_a_burst", ~axi.bready | open_.valid)
    h.cover("as_many_as_allowed", rules.bursts == outstanding)
    h.cover("data_before_address", rules.bursts > rules.addresses)
    h.cover("tail", axi.wvalid & axi.wlast & final & ~axi.wstrb.all() & axi.wstrb.any())
    return dut, rules


def _requested(axi: Any, channel: str) -> Value:
    """A request as the rules have it."""
    field = {name: Value.cast(getattr(axi, f"{channel}{name}")) for name in ("id", "addr", "len", "size", "burst")}
    return Cat(Const(0, 17), field["burst"], field["size"], field["len"], field["addr"], field["id"])


def _proof(name: str, sizes: Sizes, outstanding: int, most_beats: int, whole: int = 0,
           configured: bool = False, passes_errors: bool = False) -> Proof:
    kind = name.rpartition("_")[2]
    bursts = f"{burst_beats(sizes[1], most_beats)} of them in a burst, {outstanding} bursts outstanding"

    def build() -> Harness:
        h = Harness()
        if kind == "reader":
            reader(h, sizes, outstanding, most_beats, passes_errors)
        else:
            writer(h, sizes, outstanding, most_beats, whole)
        return h

    return Proof(
        name, f"hdl/engine/axi/{kind}.py", f"The {kind} keeps every rule of AXI4 for managers, while the memory keeps "
        f"those for subordinates ({sizes[0]}-bit addresses, beats of {sizes[1]} bytes, {bursts}"
        f"{'; whole bursts' if whole else ''}{'; it goes on behind errors' if passes_errors else ''}).",
        build, "induction", 1, cover_depth=22 + 6 * outstanding, configured=configured)


_MOST_OPEN = 8
"""Bursts outstanding, at most, in proofs of configurations: more are a longer FIFO, and take minutes."""


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The masters of an engine's lanes and of its link; those of the link without page lists."""
    opened, link_reads = min(config.outstanding_reads, _MOST_OPEN), min(config.link_reads, _MOST_OPEN)
    lane = config.address_bits, config.beat_bytes, exact_log2(config.block_bytes) + 1
    link = config.address_bits, config.link_beat_bytes
    segment = exact_log2(config.link_beat_bytes * burst_beats(config.link_beat_bytes, config.burst_beats))
    longest = min(burst_beats(config.beat_bytes, config.burst_beats), config.block_bytes // config.beat_bytes)
    most = config.burst_beats
    return (
        _proof("lane_reader", lane, opened, most, configured=True),
        _proof("lane_writer", lane, opened, most, longest if config.safe_writes else 0, True),
        _proof("link_reader", (*link, LENGTH_BITS), link_reads, most, configured=True),
        _proof("link_writer", (*link, segment + 1), opened, most, configured=True),
    )


PROOFS = (
    _proof("reader", (24, 16, 16), 4, 16), _proof("writer", (24, 16, 16), 4, 16),
    _proof("whole_writer", (24, 16, 16), 4, 16, 16), _proof("list_reader", (24, 16, 8), 4, 16, passes_errors=True),
)
"""Proofs of the masters."""
