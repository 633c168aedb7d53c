"""Proofs of the fetcher: each entry of a ring is asked for in its place, and goes to its direction. And of the checker:
for every descriptor its verdict is that of the rules, which are written down here as the driver's reader knows them, in
plain arithmetic on whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.axi.pages import LARGEST_PAGE, PAGES_BITS, SMALLEST_PAGE
from cdma.hdl.engine.control.checker import Checker
from cdma.hdl.engine.control.descriptor import RECORD_BYTES, RECORD_WORDS, Operation, descriptor_layout
from cdma.hdl.engine.control.fetcher import Fetcher
from cdma.hdl.engine.control.table import MEMORIES, WINDOW_BITS
from cdma.hdl.engine.transfer.records import LENGTH_BITS, Status
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS", "of_engine"]

_LATENCY = 19
_NARROWS = ((Narrowing.BFLOAT16, (0x12, 0x22)), (Narrowing.FLOAT16, (0x12,)))
"""Each format that values are narrowed to, and the codings that it goes with."""


def _among(value: Value, numbers: tuple[int, ...]) -> Value:
    return Cat(value == number for number in numbers).any()


def _failures(config: EngineConfig, operation: Operation, descriptor: data.View, windows: data.View | None
              ) -> Iterator[tuple[Status, Value]]:
    """What may be wrong with a descriptor, in the order in which it is reported."""
    offload, flags = operation is Operation.OFFLOAD, descriptor.flags
    coding, raw, packed, pages = descriptor.coding, descriptor.raw_bytes, descriptor.packed_bytes, descriptor.pages
    listed = flags.page_list & config.page_lists
    narrows = flags.narrow != Narrowing.NONE
    narrowing = config.narrowing & Cat((flags.narrow == form) & _among(coding, codings)
                                       for form, codings in _NARROWS).any()
    element = Mux(narrows, 4, coding[:3])
    space = 1 << config.address_bits
    streams = (descriptor.pages << 3) if config.page_lists else Const(0, 1)
    yield Status.BAD_OPERATION, descriptor.operation != operation
    yield Status.CODING_NOT_BUILT, ~_among(coding, config.numbers)
    yield Status.BAD_FLAGS, (
        flags.undefined.any() | (narrows & ~narrowing) | (flags.page_list & (not config.page_lists))
        | ((flags.check_crc | (flags.leave_raw & flags.no_fallback)) if offload else
           (flags.leave_raw | flags.no_fallback | (flags.check_crc & (not config.crc)))))
    yield Status.BAD_RESERVED, descriptor.reserved.any() | (~listed & (pages.any() | descriptor.page_size.any()))
    yield Status.BAD_RAW_BYTES, ((raw == 0) | (raw >= 1 << LENGTH_BITS) | ((element == 2) & raw[0])
                                 | ((element == 4) & raw[:2].any()))
    yield Status.BAD_PACKED_BYTES, packed.any() if offload else (
        (packed == 0) | (packed >= 1 << LENGTH_BITS) | packed[:2].any())
    yield Status.BAD_PAGE_LIST, listed & ((pages == 0) | (pages >= 1 << PAGES_BITS) | (
        descriptor.page_size < SMALLEST_PAGE) | (descriptor.page_size > LARGEST_PAGE))
    # Source and destination: their units, and where they end.
    places = {
        "source": (config.block_bytes if offload else config.link_beat_bytes,
                   descriptor.source + (raw if offload else Mux(listed, streams, packed))),
        "destination": (config.link_beat_bytes if offload else config.block_bytes,
                        descriptor.destination + (Mux(listed, streams, descriptor.capacity) if offload else raw))}
    for field, (unit, end) in places.items():
        yield Status[f"BAD_{field.upper()}"], (
            descriptor[field][:exact_log2(unit)].any() | (descriptor[field] >= space) | (end > space))
    if windows is not None:
        for (field, (_, end)), memory in zip(places.items(), MEMORIES if offload else reversed(MEMORIES), strict=True):
            window = windows[memory]
            yield Status[f"{field.upper()}_OUTSIDE_WINDOW"], (
                (descriptor[field] < window.base << WINDOW_BITS)
                | (~window.unlimited & (end > window.limit << WINDOW_BITS)))
    if not offload:
        yield Status.DESTINATION_TOO_SMALL, raw > descriptor.capacity


def _checker(h: Harness, config: EngineConfig, operation: Operation) -> None:
    """Of every descriptor of {what}, the verdict is the first rule of docs/programming.md that it breaks; one that
    passes is the transfer that it says."""
    dut = h.add("dut", Checker(config, operation))
    descriptor = data.View(descriptor_layout(), h.fixed(32 * RECORD_WORDS, "descriptor"))
    h.m.d.comb += dut.data.eq(h.past(Value.cast(descriptor).word_select(dut.word, 32), "word"))
    windows = None
    if config.address_windows:
        windows = h.fixed(dut.windows.shape(), "windows")
        h.m.d.comb += dut.windows.eq(windows)
    since = Signal(range(_LATENCY + 2), name="since")
    h.m.d.sync += since.eq(Mux(since == _LATENCY + 1, since, since + 1))
    h.m.d.comb += dut.start.eq(h.begun & (since == 0))
    first: Value = Const(Status.OK.value, 8)
    found = [(status, h.named(status.name.lower(), fails))
             for status, fails in _failures(config, operation, descriptor, windows)]
    for status, fails in reversed(found):
        first = Mux(fails, status.value, first)
    first = h.named("first", first)
    verdict = Value.cast(dut.status)
    for status in (Status.OK, *(status for status, _ in found)):
        h.check(f"verdict_{status.name.lower()}", ~dut.done | ((verdict == status.value) == (first == status.value)))
        if status is not Status.BAD_PAGE_LIST or config.page_lists:
            h.cover(status.name.lower(), dut.done & (verdict == status.value))
    passes, request = h.named("passes", dut.done & (first == Status.OK.value)), dut.request
    flags = descriptor.flags
    same = {"source": request.source == descriptor.source, "destination": request.destination == descriptor.destination,
            "raw_bytes": request.raw_bytes == descriptor.raw_bytes,
            "packed_bytes": request.packed_bytes == descriptor.packed_bytes,
            "capacity": request.capacity == Mux(descriptor.capacity >= 1 << LENGTH_BITS, (1 << LENGTH_BITS) - 1,
                                                descriptor.capacity),
            "narrow": request.narrow == flags.narrow, "fallback": request.fallback != flags.no_fallback,
            "leave_raw": request.leave_raw == flags.leave_raw, "check_crc": request.check_crc == flags.check_crc}
    if config.page_lists:
        same |= {"listed": request.listed == flags.page_list,
                 "pages": ~flags.page_list | (request.pages == descriptor.pages),
                 "page_size": ~flags.page_list | (request.page_size == descriptor.page_size - SMALLEST_PAGE)}
    for name, holds in same.items():
        h.check(f"transfer_has_its_{name}", ~passes | holds)


def _fetcher(h: Harness, config: EngineConfig) -> None:
    """Each entry that is begun is asked for at its ring's base and the index behind those that are open, round the
    ring; they end in the order in which they were begun, each for its own direction, whole, as read or with the address
    that could not be; nothing fails without an error or silence, and then all that is open is forgotten.{said}"""
    m, most = h.m, config.entries_ahead
    dut = h.add("dut", Fetcher(config))
    axi, fill = dut.axi, dut.fill
    choose(h, dut, ("pending", "silent"))
    choose(h, axi, ("arready", "rdata", "rresp", "rvalid"))
    choose(h, fill, ("ready",))
    state, owners, inside, after = (h.inner("dut.fsm_state"), h.inner("dut.owners"), h.inner("dut.inside"),
                                    [h.inner(f"dut.after_{number}") for number in range(2)])
    begins, fails = h.named("begins", dut.begin.any()), h.named("fails", dut.fail.any())
    ends = h.named("ends", dut.advance.any() | fails)

    beats = RECORD_BYTES * 8 // len(axi.rdata)
    owed = Signal(range(most * beats + 1), name="beats_owed")       # by the link
    m.d.sync += owed.eq(owed + Mux(axi.arvalid & axi.arready, beats, 0) - (axi.rvalid & axi.rready))
    h.assume("beats_that_were_asked_for", ~axi.rvalid | (owed != 0))

    # Rings of 2 or 4 entries, whose heads move as those of Ring; the driver moves a tail forward.
    heads, following, open_ = [], [], []
    for number, ring in enumerate(dut.rings):
        size, base = h.fixed(1, f"size_{number}"), h.fixed(len(ring.base), f"base_{number}")
        head, mask = Signal(2, name=f"head_{number}"), Cat(1, size)
        count = Signal(range(most + 1), name=f"open_{number}")
        tail, moved = Signal(2, name=f"tail_{number}"), h.free(2, f"new_tail_{number}")
        level = h.named(f"level_{number}", (tail - head) & mask)
        h.assume(f"tail_{number}_moves_forward", ((moved & ~mask) == 0) & (((moved - head) & mask) >= level))
        h.check(f"begins_what_is_there_{number}", ~dut.begin[number] | (count < level))
        h.check(f"open_{number}_are_there", ((tail & ~mask) == 0) & (count <= level))
        m.d.comb += [ring.base.eq(base), ring.size.eq(2 << size), ring.head.eq(head), ring.tail.eq(tail)]
        m.d.sync += [tail.eq(moved), head.eq((head + dut.advance[number]) & mask),
                     count.eq(Mux(fails, 0, count + dut.begin[number] - dut.advance[number]))]
        index = h.named(f"next_{number}", (head + count) & mask)
        h.check(f"head_{number}_is_inside", (head & ~mask) == 0)
        h.check(f"count_{number}", dut.count[number] == count)
        # Two cycles after an entry was begun, or all were forgotten.
        h.check(f"next_{number}_is_known", (state == 1) | (state == 5) | (after[number] == index))
        if config.pipeline == "fast":
            further = h.inner(f"dut.further_{number}")
            h.check(f"next_{number}_was_there", (after[number] <= mask) & (((after[number] - head) & mask) <= level))
            h.check(f"none_of_{number}_is_open_at_rest", (state != 5) | (count == 0))
            h.check(f"further_{number}_is_so",
                    (state == 1) | (state == 2) | (state == 5) | ~further | (count < level))
        heads.append(base + head)
        following.append(base + index)
        open_.append(count)
    bits = len(dut.rings[0].base)
    expected = h.named("expected", Mux(dut.begin[1], following[1], following[0])[:bits])
    oldest = h.named("oldest", Mux(dut.direction, heads[1], heads[0])[:bits])
    h.check("inside", (inside == open_[0] + open_[1]) & (inside <= most))
    h.check("owners", sum((owners[place] & (inside > place) for place in range(most)), Const(0)) == open_[1])
    h.check("one_begins", ~dut.begin.all() & ((dut.begin & ~dut.pending) == 0))
    h.check("one_ends", ~ends | (inside != 0))

    # One entry, which the solver picks.
    picks = h.free(1, "picks")
    watched, unasked, side = (Signal(name=name) for name in ("watched", "not_asked_for_yet", "side_of_it"))
    place, ahead = Signal.like(expected, name="place_of_it"), Signal(range(most), name="entries_ahead")
    starts = h.named("starts_watching", begins & picks & ~watched)
    with m.If(starts):
        m.d.sync += [watched.eq(1), place.eq(expected), side.eq(dut.begin[1]), ahead.eq(inside - ends)]
    with m.Elif(watched):
        m.d.sync += [ahead.eq(ahead - (ends & (ahead != 0))), watched.eq(~fails & ~(ends & (ahead == 0)))]
    # One that begins while the unit is isolated is told, not asked for; the request that waits is an earlier one.
    m.d.sync += unasked.eq((starts & ~dut.isolated) | (unasked & ~fails & ~(axi.arvalid & axi.arready)))
    whole = Cat(Const(0, exact_log2(RECORD_BYTES)), place)
    h.check("asked_for_in_its_place", ~(unasked & axi.arvalid) | (axi.araddr == whole))
    h.check("for_its_direction", ~(watched & (ahead == 0) & fill.valid) | (dut.direction == side))
    h.check("one_burst", axi.arlen == beats - 1)

    # Whole records, and failures for a reason, with the oldest entry's address.
    reason = Signal(name="reason")
    m.d.sync += reason.eq(~fails & (reason | dut.silent | (axi.rvalid & axi.rready & axi.rresp[1])))
    source, told = descriptor_layout()["source"].offset // 32, Cat(Const(0, exact_log2(RECORD_BYTES)), oldest)
    h.check("ends_whole", ~ends | (fill.word == RECORD_WORDS - 1))
    h.check("words_in_order", ~h.past(fill.valid & fill.ready, "took") | (
        fill.word == (h.past(fill.word, "word") + 1)[:len(fill.word)]))
    h.check("fails_for_a_reason", ~fails | reason)
    for part in range(-(-len(told) // 32)):
        h.check(f"failure_has_its_address_{part}", ~fill.valid | ~dut.failed | (fill.word != source + part) | (
            fill.data == told[32 * part:32 * part + 32]))

    # What the registers hold.
    base, index, low, high, address, whole_ones, requested, faulty = (h.inner(f"dut.{name}") for name in (
        "base", "index", "low", "high", "address", "whole", "open_", "faulty"))
    asks = h.named("asks", ((state == 1) | (state == 2) | (state == 3)) & ~dut.failed)
    target = h.named("target", Mux(dut.failed, oldest, place))
    minds = h.named("minds", dut.failed | unasked)
    h.check("watched_is_inside", ~watched | ((ahead < inside) & (owners.bit_select(ahead, 1) == side)))
    h.check("unasked_is_watched", ~unasked | (watched & (asks | axi.arvalid | dut.failed)))
    h.check("newest_is_unasked", ~unasked | (ahead == inside - 1))
    h.check("nothing_waits_while_asked", ~asks | (~axi.arvalid & ~dut.isolated))
    h.check("states_of_a_failure", (state <= 5) & ((state != 4) | dut.failed) & ((state != 5) | dut.failed)
            & (~dut.failed | ((state != 0) & (state != 3))))
    h.check("one_is_told", ~dut.failed | (state == 5) | (inside != 0))
    h.check("none_is_there_in_failure", ~(dut.failed | dut.isolated) | (whole_ones == 0))
    h.check("what_is_there_is_inside", whole_ones <= inside)
    h.check("base_is_held", ~minds | (state != 1) | ((base + index)[:bits] == target))
    h.check("low_is_held", ~minds | (state != 2) | (Cat(low[:-1], (base[len(low) - 1:] + low[-1]))[:bits] == target))
    h.check("high_is_held", ~minds | ~((state == 3) | (state == 4)) | (Cat(low[:-1], high) == target))
    h.check("address_is_held", ~unasked | ~axi.arvalid | (address == place))
    h.check("all_are_accounted_for", dut.failed | faulty | dut.isolated | (
        inside == whole_ones + requested + asks))
    h.check("faulty_one_is_inside", dut.failed | dut.isolated | (
        (inside >= whole_ones + requested + asks) & (~faulty | (inside > whole_ones))))
    h.check("isolated_is_alone", ~dut.isolated | dut.failed | ((inside == 0) & ~faulty))
    h.check("nothing_is_open_at_rest", (state != 5) | ((inside == 0) & ~faulty))
    h.check("failure_is_alone", ~dut.failed | dut.isolated | (requested == 0))
    h.check("owed_is_open", owed + h.inner("dut.beat") + Mux(axi.arvalid, beats, 0) == requested * beats)
    h.check("requested_waits", ~axi.arvalid | (requested != 0))
    h.check("faulty_for_a_reason", ~(faulty | (dut.failed & (state != 5))) | reason)
    h.cover("second_ring", watched & (ahead == 0) & fill.valid & side & (place[:2] == 3) & ~dut.failed)
    h.cover("fails_behind_another", fails & watched & (ahead != 0))


def _proof(name: str, config: EngineConfig, operation: Operation, what: str = "", configured: bool = False) -> Proof:
    parameters = {"config": config, "operation": operation}
    return Proof(f"verdict_{name}", "hdl/engine/control/checker.py", _checker, parameters, _LATENCY + 2,
                 coverage="one descriptor", solver="sat", configured=configured,
                 words={"what": f"{'an' if operation is Operation.OFFLOAD else 'a'} {operation.name.lower()}{what}"})


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The checkers of both directions."""
    return tuple(_proof(operation.name.lower(), config, operation, configured=True) for operation in Operation)


_FULL = load_engine("engine").replace(address_windows=True, page_lists=True, narrowing=True)
_BUILT = ", with windows, page lists and narrowing built"

PROOFS = (*(Proof(name, "hdl/engine/control/fetcher.py", _fetcher, {"config": config}, cover_depth=40,
                  words={"said": said})
            for name, config, said in (
                ("fetcher", load_engine("tiny"), ""),
                ("fetcher_fast", load_engine("tiny").replace(pipeline="fast"),
                 " The same in the pipeline ``fast``, which compares a ring's tail a cycle earlier."))),
          *(_proof(operation.name.lower(), _FULL, operation, _BUILT) for operation in Operation),
          _proof("tiny", load_engine("tiny"), Operation.OFFLOAD, ", with none of these built"))
"""Proofs of descriptors."""
