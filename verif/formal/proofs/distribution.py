"""Proofs of the distributor: the blocks of a stream go to the lanes in turn, each whole, to its place in memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.distributor import Distributor
from cdma.hdl.engine.transfer.records import BLOCK_BITS
from cdma.hdl.engine.transfer.streams import block_layout
from cdma.verif.formal.harness import Harness, assigned
from cdma.verif.formal.names import names_of
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose
from cdma.verif.formal.proofs.resets import one_packet

__all__ = ["PROOFS"]

_FEW = 3    # bits of a count, by which few blocks are told apart
_LANES = (1, 3, 5, 6, 7, 12, 16)


def _config(lanes: int) -> EngineConfig:
    return EngineConfig(lanes=lanes, beat_bytes=16, link_beat_bytes=16, block_bytes=1024, buffer_bytes=1280,
                        address_bits=32, narrowing=True)


def _order(h: Harness, lanes: int, places: bool = False) -> None:
    """Whatever the stream, its blocks go to {lanes} lanes in turn, from the first one on: no row of a block in front of
    the last row of the one before, but beside it; first and last rows are marked, and rows wait until they are
    taken, even when the distributor is stopped{places}."""
    m, config = h.m, _config(lanes)
    dut = h.add("dut", Distributor(config))
    h.drive(dut.start, "start")
    h.drive(dut.i, "i")
    over = one_packet(h, dut)
    stop, = choose(h, dut, ("stop",))
    h.assume("stop_stays", ~h.past(stop, "stop") | stop)
    for number, lane in enumerate(dut.lanes):
        m.d.comb += lane.ready.eq(h.free(1, f"lane_{number}_ready"))
        waited = h.past(lane.valid & ~lane.ready, f"lane_{number}_waited")
        ends = Cat(lane.payload.first, lane.payload.last)
        h.check(f"lane_{number}_stays", ~waited | (lane.valid & (ends == h.past(ends, f"lane_{number}_ends"))))
    start = dut.start.payload
    begins = h.named("start_is_taken", dut.start.valid & dut.start.ready)
    h.assume("a_lane_that_is_there", start.first_lane < lanes)
    h.assume("some_bytes", ~dut.start.valid | start.raw_bytes.any())
    given = Signal(start.shape(), name="transfer")
    with m.If(begins):
        m.d.sync += given.eq(start)
    last_byte = h.named("last_byte_of_it", (given.raw_bytes - 1)[:len(given.raw_bytes)])

    # The lane of the oldest block whose rows are not all taken, and its number. Of the block behind it a row may be
    # taken while the last row of the older one waits, even its only one.
    turn, done = Signal(lanes, name="turn_of_lanes"), Signal(BLOCK_BITS if places else _FEW, name="blocks_that_ended")
    some, ahead, whole = (Signal(name=f"{name}_taken") for name in ("some", "ahead", "ahead_whole"))
    following = h.named("following", turn.rotate_left(1) if lanes > 1 else 0)
    valid = h.named("valids", Cat(lane.valid for lane in dut.lanes))
    firsts, lasts = (h.named(f"{name}s", Cat(lane.payload[name] for lane in dut.lanes)) for name in ("first", "last"))
    takes = h.named("takes", valid & Cat(lane.ready for lane in dut.lanes))
    older, younger = h.named("older_row", (valid & turn).any()), h.named("younger_row", (valid & following).any())
    older_last, younger_last = (h.named(f"{name}_last", (lasts & which).any())
                                for name, which in (("older", turn), ("younger", following)))
    of_older, of_younger = (h.named(f"takes_{name}", (takes & which).any())
                            for name, which in (("older", turn), ("younger", following)))
    next_ended = h.named("next_ended", (ahead & whole) | (of_younger & younger_last))
    with m.If(begins):
        m.d.sync += [turn.eq(1 << start.first_lane), done.eq(0)]
    with m.Elif(of_older & older_last):
        m.d.sync += [turn.eq(Mux(next_ended, turn.rotate_left(2 % lanes), turn.rotate_left(1 % lanes))),
                     done.eq(done + 1 + next_ended), some.eq((ahead | of_younger) & ~next_ended), ahead.eq(0),
                     whole.eq(0)]
    with m.Else():
        m.d.sync += [some.eq(some | of_older), ahead.eq(ahead | of_younger), whole.eq(next_ended)]
    h.check("rows_are_of_their_lanes", ~(valid & ~(turn | following)).any())
    h.check("none_in_front_of_a_last_row", ~younger | (older & older_last & ~ahead))
    h.check("first_rows_are_marked", ~older | ((firsts & turn).any() == ~some))
    h.check("a_younger_row_is_a_first_one", ~younger | (firsts & following).any())

    unless = h.named("stopped", stop)
    seen = _begun(h, over, len(done))
    if places:
        _places(h, config, dut, valid & firsts, done + younger, given, last_byte)
        _transfer(h, config, given, last_byte, seen)
    _rows(h, lanes, unless, over, seen, (turn, done, some, ahead, whole))
    h.cover("beside_a_last_row" if lanes > 1 else "second_block",
            (older & younger & ~of_older & of_younger) if lanes > 1 else (older & done[0]))


def _places(h: Harness, config: EngineConfig, dut: Distributor, shown: Value, number: Value, given: Any,
            last_byte: Value) -> None:
    """Where the block is whose first row is shown."""
    block_bits, shown = exact_log2(config.block_bytes), h.named("shows_a_first_row", shown.any())
    block = dut.lanes[0].payload.block      # the same at all lanes
    h.check("same_block_for_all", Cat(Value.cast(lane.payload.block) != Value.cast(block) for lane in dut.lanes) == 0)
    pages = len(block.address) - block_bits
    halved = h.named("halved_blocks", Value.cast(given.narrow) != Narrowing.NONE.value)
    of_last = h.named("number_of_the_last", last_byte[block_bits:])
    is_last = h.named("is_the_last", block.number == of_last)
    bytes_ = h.named("bytes_of_it", Mux(is_last, last_byte[:block_bits] + 1, config.block_bytes))
    place = (given.address[block_bits:] + block.number)[:pages]
    h.check("number_of_the_block", ~shown | (block.number == number[:BLOCK_BITS]))
    h.check("none_behind_the_last_block", ~shown | (block.number <= of_last))
    h.check("address_of_the_block", ~shown | (block.address == Cat(given.address[:block_bits], place)))
    h.check("raw_bytes_of_the_block", ~shown | (block.raw_bytes == Mux(halved, bytes_ >> 1, bytes_)))
    h.check("format_of_the_block", ~shown | (Value.cast(block.narrow) == Value.cast(given.narrow)))
    h.cover("the_last_block", shown & is_last & (block.number == 1) & (block.raw_bytes == 34) & halved)


def _transfer(h: Harness, config: EngineConfig, given: Any, last_byte: Value,
              seen: Signal) -> None:
    """What the registers hold of the transfer and of its headers."""
    block_bits, of_last = exact_log2(config.block_bytes), last_byte[exact_log2(config.block_bytes):]
    steps = h.inner("dut.steps")
    narrow = Value.cast(given.narrow) != Narrowing.NONE.value
    block = data.View(block_layout(config), h.inner("dut.block"))
    unread, number = h.inner("dut.unread"), h.inner("dut.number_1")
    begun, tail, full = h.inner("dut.begun"), last_byte[:block_bits] + 1, config.block_bytes
    h.check("transfer_is_held", ~steps[0] | ((h.inner("dut.last_byte") == last_byte) & (
        Value.cast(block.narrow) == Value.cast(given.narrow)) & (
            Value.cast(block.address)[:block_bits] == given.address[:block_bits])))
    h.check("length_of_the_last_is_held", ~steps[1] | (h.inner("dut.tail_bytes") == Mux(narrow, tail >> 1, tail)))
    h.check("final_is_held", (h.inner("dut.parser.over") == (seen & (number == of_last))) & (
        ~seen | (h.inner("dut.final_1") == (number == of_last))))
    h.check("headers_are_of_the_transfer", ~seen | (number <= of_last))
    h.check("block_is_of_the_transfer", ~begun | (block.number <= of_last))
    whole = Mux(block.number == of_last, tail, full)
    h.check("raw_bytes_are_held", ~begun | (block.raw_bytes == Mux(narrow, whole >> 1, whole)))
    page = Value.cast(block.address)[block_bits:]
    place = given.address[block_bits:] + Mux(begun, block.number, 0)
    h.check("address_is_held", ~steps[0] | (page == place[:len(page)]))
    carries = iter([each for name, each in names_of(assigned(h.part("dut"))) if name.startswith("full_")])
    for name, each in (("unread", unread), ("page", page)):
        for start in range(0, len(each), 8):
            flag = next(carries)
            h.check(f"carry_of_{name}_{start}", (~steps[0] if name == "page" else Const(0)) | (
                flag == each[start:start + 8].all()))


def _begun(h: Harness, over: Signal, bits: int) -> Signal:
    """What the registers hold before the first header, and of the newest one; returns whether there was one."""
    seen = Signal(name="header_seen")
    h.m.d.sync += seen.eq(seen | (h.inner("dut.go") & h.inner("dut.parser.head")))
    steps, unread = h.inner("dut.steps"), h.inner("dut.unread")
    valid, begun = h.inner("dut.parser.valid"), h.inner("dut.begun") | h.inner("dut.head_1") | seen
    h.check("steps_are_in_order", (steps[0] | ~steps[1]) & (steps[1] | ~steps[2]))
    h.check("nothing_before_a_start", steps[2] | ~(begun | valid))
    h.check("last_beat_ends_the_packet", ~(valid & h.inner("dut.parser.last")) | over)
    h.check("header_is_held", Mux(seen, h.inner("dut.number_1")[:bits] == (unread - 1)[:bits], ~unread[:bits].any()))
    looks = Cat(h.inner(f"dut.parser.{name}") for name in ("looks", "reads", "shows"))
    h.check("no_header_behind_the_last", Mux(h.inner("dut.parser.over"), looks == 0, sum(looks) == 1))
    return seen


def _rows(h: Harness, lanes: int, stop: Value, over: Signal, seen: Signal, taken: tuple[Signal, ...]) -> None:
    """What the registers hold of rows: those of the newest block behind its header, and of the block before."""
    m = h.m
    turn, done, some, ahead, whole = taken
    bits = len(done)
    go, head_1, begun, bad = (h.inner(f"dut.{name}") for name in ("go", "head_1", "begun", "bad"))
    side, opens, spills, live, first, last = (h.inner(f"dut.{name}") for name in (
        "turn", "opens", "spills", "live", "first", "last"))
    lane, unread, turn_2, started = (h.inner(f"dut.{name}") for name in ("lane", "unread", "turn_2", "steps"))
    targets = [h.inner(f"dut.target_{number}") for number in range(2)]
    parsed = {name: h.inner(f"dut.parser.{name}") for name in (
        "live", "head", "head_ends", "tail_ends", "torn", "open_", "valid")}
    number = data.View(block_layout(_config(lanes)), h.inner("dut.block")).number

    def turned(value: Value, count: int) -> Value:
        return value.rotate_left(count % lanes)

    def of(side: Value, pair: Any) -> Value:
        return Mux(side, pair[1], pair[0])

    # The block of the newest header has rows to come, behind those that are shown; a torn one has them for good.
    open_, torn = Signal(name="block_is_open"), Signal(name="block_is_torn")
    with m.If(go & parsed["live"]):
        m.d.sync += torn.eq(torn | parsed["torn"])
        with m.If(parsed["head"]):
            m.d.sync += open_.eq(~parsed["head_ends"] | parsed["torn"])
        with m.Elif(parsed["tail_ends"] & ~parsed["torn"]):
            m.d.sync += open_.eq(0)
    fine = h.named("fine", ~stop & ~bad)
    h.check("open_is_held", (torn & over & ~parsed["valid"]) | (~torn & (open_ == parsed["open_"])))
    h.check("nothing_without_a_header", seen | ~(open_ | spills.any() | opens.any() | head_1 | begun | live.any()))
    h.check("a_side_has_lanes_in_turn", ~seen | ((h.inner("dut.turn_1") == ~side) & (
        turned(h.inner("dut.lane_1"), 1) == lane)))
    spill, older_spill = of(~side, spills), of(side, spills)
    fresh, older_fresh = of(~side, opens), of(side, opens)
    h.check("last_rows_to_make", (~open_ | ~spill) & (~older_spill | (head_1 & ~older_fresh)))
    h.check("a_header_has_no_row_yet", ~fine | ~head_1 | (fresh & (open_ | spill)))

    # Of block `number`, the newest one that was checked, and of the one before.
    new, old = h.named("new_row", of(turn_2, live)), h.named("old_row", of(~turn_2, live))
    pending = h.named("pending", Mux(head_1, older_spill, open_ | spill))
    unshown = h.named("no_row_yet", Mux(head_1, older_fresh, fresh))
    target, older = of(turn_2, targets), of(~turn_2, targets)
    left = h.named("blocks_left", (unread - done)[:3])
    checked = h.named("checked", fine & begun)
    h.check("one_turn", ~started[0] | ((turn != 0) & ((turn & (turn - 1)[:lanes]) == 0)))
    h.check("whole_is_ahead", (ahead | ~whole) & (stop | ~ahead | old))
    h.check("lane_is_held", ~fine | ~started[0] | ((left < 4) & (
        lane == Mux(left[1], Mux(left[0], turned(turn, 3), turned(turn, 2)), Mux(left[0], turned(turn, 1), turn)))))
    h.check("blocks_are_accounted_for", ~fine | (
        (done + (ahead & whole) + sum(live & last) + sum(spills) + open_)[:bits] == unread[:bits]))
    h.check("none_checked", begun | (~(some | ahead | done.any() | live.any()) & (bad | (unread[:bits] == head_1))))
    h.check("block_is_checked", bad | ~begun | ((turn_2 == (side == head_1)) & (
        number[:bits] == (unread - 1 - head_1)[:bits]) & (
            turned(target, 1) == Mux(head_1, turned(lane, lanes - 1), lane))))
    h.check("old_row_is_last", ~old | (of(~turn_2, last) & ~of(~turn_2, first) & some & (
        done == (number - 1)[:bits]) & (turn == older)))
    h.check("new_row_is_in_turn", ~new | ((done == (number - old)[:bits]) & ~ahead & Mux(
        old, of(turn_2, first), of(turn_2, first) == ~some) & (target == Mux(old, turned(turn, 1), turn))))
    ended = done == (number + 1)[:bits]
    h.check("without_a_row", ~checked | live.any() | Mux(
        ended, ~pending & ~some, (done == number[:bits]) & pending & (some == ~unshown)))
    h.check("with_a_new_row", ~checked | ~new | Mux(of(turn_2, last), ~pending, pending & ~unshown))
    h.check("with_an_old_row", ~checked | ~old | new | Mux(
        ahead, Mux(whole, ~pending, pending & ~unshown), pending & unshown))
    if lanes % 2 == 0:
        even = Cat(lane[::2]).any()
        h.check("sides_of_lanes", ~started[0] | (even != side))
        for which, pair in enumerate(targets):
            h.check(f"side_of_target_{which}", ~live[which] | ~pair[1 - which::2].any())


def _proof(name: str, parameters: Any, said: str = "") -> Proof:
    return Proof(f"distributor_{name}", "hdl/engine/link/distributor.py", _order, parameters, cover_depth=16,
                 words={"places": said})


PROOFS = (
    *(_proof(f"order_{lanes}", {"lanes": lanes}) for lanes in _LANES),
    _proof("places", {"lanes": 1, "places": True}, "; each block has its number, the address that follows from it, and "
           "its raw bytes, and none is sent behind the last one of the transfer"),
)
"""Proofs of the distributor."""
