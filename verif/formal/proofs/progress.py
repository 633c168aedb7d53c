"""Proofs that units do not lock up: while each handshake is answered in time, what waits goes on in time.

The environment answers within so many cycles, which are assumed; the unit within its own number, which is asserted. A
proof by induction is over more cycles than that number: from any state that the invariants allow, whatever the past.
Proofs of what is larger, cores and the parts of control that move descriptors, are bounded, from the reset on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value

from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.row_fifo import RowFifo
from cdma.hdl.common.skid import Skid, Spare
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.axi.arbiter import AxiReadArbiter, AxiWriteArbiter
from cdma.hdl.engine.axi.bursts import BurstSplitter
from cdma.hdl.engine.axi.lite import AxiLite
from cdma.hdl.engine.control.channel import Channel
from cdma.hdl.engine.control.checker import Checker
from cdma.hdl.engine.control.descriptor import Operation
from cdma.hdl.engine.control.fetcher import Fetcher
from cdma.hdl.engine.lanes.framer import Framer
from cdma.hdl.engine.link.distributor import Distributor
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.inside import FifoInside
from cdma.verif.formal.proofs.masters import reader, writer
from cdma.verif.formal.proofs.resets import one_packet
from cdma.verif.formal.proofs.waiting import PATIENCE, PROMPT, choose, ends, moves, prompt, sink, stays

__all__ = ["PROOFS"]

_SMALLEST = load_engine("smallest")
_TINY = load_engine("tiny")


def _buffer(make: Callable[[], Any], capacity: int, taken: int, left: int) -> Harness:
    """A buffer: what is offered is taken, and something of what is inside leaves."""
    h = Harness()
    dut = h.add("dut", make())
    h.drive(dut.i, "i")
    sink(h, dut.o)
    level = Signal(range(capacity + 2), name="level")
    h.m.d.sync += level.eq(level + moves(dut.i) - moves(dut.o))
    ends(h, "offered", dut.i.valid, dut.i.ready, taken)
    ends(h, "inside", level != 0, moves(dut.o), left)
    h.check("level_fits", level <= capacity)
    if isinstance(dut, StreamFifo):
        inside, shown = h.inner("dut.fifo.inner_level"), h.inner("dut.fifo.r_rdy")
        h.check("level_is_told", level == inside + shown)
    elif isinstance(dut, Skid):
        held, full = h.inner("dut.held"), h.inner("dut.full")
        h.check("level_is_flags", (level == held + full) & (held | ~full))
    else:
        h.check("level_is_flag", level == h.inner("dut.full"))
    return h


def _row_fifo() -> Harness:
    h = Harness()
    dut = h.add("dut", RowFifo(8, 2, 4))
    choose(h, dut, ("enable", "data", "commit"))
    sink(h, dut.o)
    h.assume("room", ~dut.commit | (dut.level - moves(dut.o) + 1 <= 4))
    ends(h, "inside", dut.level != 0, moves(dut.o), PATIENCE + 1)
    return h


def _splitter() -> Harness:
    h = Harness()
    dut = h.add("dut", BurstSplitter(24, 16, 16, 16))
    h.drive(dut.i, "i")
    choose(h, dut, ("begin", "drop"))
    state = h.inner("dut.fsm_state")
    sink(h, dut.o)
    prompt(h, "begin", (state == 1) & ~dut.drop, dut.begin)
    h.check("states", state < 3)
    # Each burst has one beat at least, so a request has an end.
    ends(h, "request", dut.i.valid | ~dut.i.ready, moves(dut.i) | moves(dut.o) | (dut.drop & ~dut.o.valid),
          2 * PATIENCE)
    return h


_SIZES = 16, 4, 12
_BURSTS = 2, 16     # outstanding, beats


def _reader() -> Harness:
    """Some handshake goes on while the reader is not idle."""
    h = Harness()
    dut, rules = reader(h, _SIZES, *_BURSTS)
    axi = dut.axi
    prompt(h, "o_valid", dut.o.valid, dut.o.ready | dut.stop)
    prompt(h, "request", axi.arvalid, axi.arready)
    prompt(h, "data", rules.reads != 0, axi.rvalid)
    busy = ~dut.idle | ~dut.i.ready | dut.o.valid
    dropped = h.past(dut.stop | dut.fault.valid, "halted")
    moved = (axi.arvalid & axi.arready) | (axi.rvalid & axi.rready) | moves(dut.i) | moves(dut.o) | dropped
    ends(h, "something", busy, moved, PATIENCE + 1)
    return h


def _writer() -> Harness:
    """Some handshake goes on while the writer is not idle."""
    h = Harness()
    dut, rules = writer(h, _SIZES, *_BURSTS)
    axi = dut.axi
    prompt(h, "request", axi.awvalid, axi.awready)
    prompt(h, "beat", axi.wvalid, axi.wready)
    prompt(h, "response", (rules.bursts != 0) & (rules.addresses != 0), axi.bvalid)
    prompt(h, "source", ~dut.data.valid, dut.data.valid)
    busy = ~dut.idle | ~dut.i.ready
    moved = ((axi.awvalid & axi.awready) | (axi.wvalid & axi.wready) | (axi.bvalid & axi.bready) | moves(dut.i)
             | moves(dut.data))
    ends(h, "something", busy, moved, 2 * PATIENCE - 1)
    return h


def _lite() -> Harness:
    """A read, and a write whose address and data are there, are answered, whatever the other channels do."""
    h = Harness()
    dut = h.add("dut", AxiLite(12))
    bus, port = dut.bus, dut.port
    choose(h, bus, ("awvalid", "awaddr", "wvalid", "wdata", "wstrb", "arvalid", "araddr", "bready", "rready"))
    choose(h, port, ("ack", "error", "read_data"))
    open_ = Signal(name="access_open")
    h.m.d.sync += open_.eq(port.write | port.read | (open_ & ~port.ack))
    h.assume("answers_accesses_only", ~port.ack | open_)
    prompt(h, "access", open_, port.ack)
    prompt(h, "write_response", bus.bvalid, bus.bready)
    prompt(h, "read_data", bus.rvalid, bus.rready)
    state, writes = h.inner("dut.fsm_state"), h.inner("dut.writes")
    full = {channel: h.inner(f"dut.{channel}_full") for channel in ("aw", "w", "ar")}
    h.check("states", (state < 3) & ((state == 2) == open_))
    h.check("access_has_request", (state == 0) | Mux(
        writes, full["aw"] & full["w"] & ~bus.bvalid, full["ar"] & ~bus.rvalid))
    # An access takes two cycles and what the registers take; one of the other kind may come first.
    access = 2 + PATIENCE
    ends(h, "read", full["ar"] | bus.rvalid, bus.rvalid & bus.rready, 2 * access + PATIENCE)
    ends(h, "write", (full["aw"] & full["w"]) | bus.bvalid, bus.bvalid & bus.bready, 2 * access + PATIENCE - 1)
    return h


def _arbiter(write: bool, inputs: int) -> Harness:
    """Some handshake goes on at the port while a master asks or a burst is open."""
    h = Harness()
    outstanding = 2
    dut = h.add("dut", (AxiWriteArbiter if write else AxiReadArbiter)(16, 4, inputs, outstanding))
    channel, port = "aw" if write else "ar", dut.o
    for number, master in enumerate(dut.i):
        for name in (f"{channel}valid", f"{channel}len",
                     *(("wvalid", "wlast", "wdata", "bready") if write else ("rready",))):
            target = Value.cast(getattr(master, name))
            h.m.d.comb += target.eq(h.free(len(target), f"{name}_{number}"))
        if write:
            prompt(h, f"response_of_{number}", master.bvalid, master.bready)
        else:
            prompt(h, f"data_of_{number}", master.rvalid, master.rready)
    choose(h, port, ("awready", "wready", "bvalid", "bresp") if write else ("arready", "rvalid", "rdata", "rresp"))
    asks = getattr(port, f"{channel}valid")
    open_ = FifoInside(h, "dut.open", outstanding - 1)
    level = open_.level
    prompt(h, "request", asks, getattr(port, f"{channel}ready"))
    moved = asks & getattr(port, f"{channel}ready")
    h.check("one_that_asks_is_open", ~asks | (level != 0))
    h.check("latest_is_there", h.inner("dut.latest") < inputs)
    for number in range(outstanding):
        owner = open_.transfer(number)[:(inputs - 1).bit_length()]
        h.check(f"owner_of_{number}_is_there", (number >= level) | (owner < inputs))
    if write:
        sending = h.inner("dut.sending")
        answerable = (level != sending) & (level != asks)
        h.check("bursts_that_send_are_open", sending <= level)
        h.check("owners_are_there", (h.inner("dut.owner") < inputs) & (h.inner("dut.after") < inputs))
        h.assume("answers_what_was_sent", ~port.bvalid | answerable)
        prompt(h, "beat", sending != 0, port.wvalid)
        stays(h, "beat", port.wvalid, port.wready)
        stays(h, "response", port.bvalid, port.bready)
        prompt(h, "beat_at_the_port", port.wvalid, port.wready)
        prompt(h, "response", answerable, port.bvalid)
        moved = moved | (port.wvalid & port.wready) | (port.bvalid & port.bready)
    else:
        h.assume("answers_what_was_asked", ~port.rvalid | (level != asks))
        prompt(h, "data", level != asks, port.rvalid)
        stays(h, "data", port.rvalid, port.rready)
        moved = moved | (port.rvalid & port.rready)
    some = Cat(getattr(master, f"{channel}valid") for master in dut.i).any()
    ends(h, "something", some | (level != 0), moved, 2 * PATIENCE - 1)
    return h


def _framer() -> Harness:
    h = Harness()
    dut = h.add("dut", Framer(_TINY))
    h.drive(dut.i, "i")
    h.m.d.comb += Value.cast(dut.block).eq(h.free(len(Value.cast(dut.block)), "block"))
    sink(h, dut.o)
    ends(h, "offered", dut.i.valid, dut.i.ready, 2 * PATIENCE)
    return h


def _checker(operation: Operation) -> Harness:
    """It is done 19 cycles after each start, and at no other time."""
    h = Harness()
    dut = h.add("dut", Checker(_TINY, operation))
    choose(h, dut, ("start", "data"))
    latency = 19
    since = Signal(range(latency + 1), name="since")
    h.m.d.sync += since.eq(Mux(dut.start, 1, Mux((since == 0) | (since == latency), 0, since + 1)))
    h.assume("one_at_a_time", ~dut.start | (since == 0))
    h.check("done_in_time", dut.done == (since == latency))
    asks, step = h.inner("dut.asks"), h.inner("dut.step")
    words = latency - 3
    h.check("asks_word_by_word", (asks == ((since >= 1) & (since <= words))) & (step == Mux(asks, since - 1, 0)))
    h.check("comes", h.inner("dut.comes") == ((since >= 2) & (since <= words + 1)))
    h.check("there", h.inner("dut.there") == ((since >= 3) & (since <= words + 2)))
    h.cover("done", dut.done)
    h.cover("refused", dut.done & (Value.cast(dut.status) != 0))
    return h


def _fetcher(within: int) -> Harness:
    """Something moves at a port while a ring has an entry, or one is being read. The link is not silent."""
    h = Harness()
    dut = h.add("dut", Fetcher(_SMALLEST))
    axi, fill = dut.axi, dut.fill
    choose(h, dut, ("pending", "pushed"))
    choose(h, axi, ("arready", "rid", "rdata", "rresp", "rlast", "rvalid"))
    choose(h, fill, ("ready",))
    for number, ring in enumerate(dut.rings):
        h.m.d.comb += Value.cast(ring).eq(h.free(len(Value.cast(ring)), f"ring_{number}"))
    left = Signal(9, name="beats_left")     # that the link has to give
    asked, given = axi.arvalid & axi.arready, axi.rvalid & axi.rready
    h.m.d.sync += left.eq(left + Mux(asked, axi.arlen + 1, 0) - given)
    h.assume("beats_that_were_asked_for", ~axi.rvalid | (left != 0))
    prompt(h, "request", axi.arvalid, axi.arready)
    prompt(h, "data", left != 0, axi.rvalid)
    prompt(h, "fill", fill.valid, fill.ready)
    prompt(h, "push", dut.push, dut.pushed)
    moved = dut.begin.any() | asked | given | moves(fill) | (dut.push & dut.pushed)
    ends(h, "something", ~dut.idle | dut.pending.any(), moved, within)
    h.cover("entry_is_pushed", dut.advance.any())
    return h


def _channel(operation: Operation, within: int) -> Harness:
    """A descriptor that was pushed is run, completed or refused."""
    h = Harness()
    dut = h.add("dut", Channel(_SMALLEST, operation))
    choose(h, dut, ("unread", "word", "pop", "abort", "accounted"))
    choose(h, dut.record, ("write", "word", "data", "push"))
    choose(h, dut.result, ("valid", "payload"))
    h.m.d.comb += dut.request.ready.eq(h.free(1, "request_ready"))
    h.assume("queue_has_a_place", ~dut.record.push | (dut.level != _SMALLEST.queue_depth))
    h.assume("completion_is_there", ~dut.pop | (dut.completions != 0))
    # The data path: one result for each request.
    runs = Signal(name="transfer_runs")
    h.m.d.sync += runs.eq((runs | moves(dut.request)) & ~moves(dut.result))
    waits = h.past(dut.result.valid & ~dut.result.ready, "result_waits")
    payload = Value.cast(dut.result.payload)
    h.assume("result_of_a_request", ~dut.result.valid | runs)
    h.assume("result_stays", ~waits | (dut.result.valid & (payload == h.past(payload, "result"))))
    prompt(h, "request", dut.request.valid, dut.request.ready)
    prompt(h, "result", runs, dut.result.valid)
    prompt(h, "account", dut.account.valid, dut.accounted)
    moved = moves(dut.request) | moves(dut.result) | dut.causes.error
    ends(h, "descriptor", (dut.level != 0) | dut.busy, moved, within)
    h.cover("transfer_ends", moves(dut.result))
    return h


def _distributor(within: int) -> Harness:
    """A beat that is offered is taken, or a row leaves."""
    h = Harness()
    dut = h.add("dut", Distributor(_TINY))
    h.drive(dut.start, "start")
    h.drive(dut.i, "i")
    one_packet(h, dut)
    for number, lane in enumerate(dut.lanes):
        sink(h, lane, f"lane_{number}")
    started = Signal(name="has_started")
    h.m.d.sync += started.eq(started | moves(dut.start))
    moved = moves(dut.i) | Cat(moves(lane) for lane in dut.lanes).any()
    ends(h, "something", started & dut.i.valid, moved, within)
    h.cover("block_ends", Cat(moves(lane) & lane.payload.last for lane in dut.lanes).any())
    return h


def _core(make: Callable[[], Any], within: int, reached: int | None) -> Harness:
    """A core moves at one of its ports while a beat is offered or the end of a packet is inside."""
    h = Harness()
    dut = h.add("dut", make())
    h.drive(dut.i, "i")
    sink(h, dut.o)
    level = Signal(6, name="packets")
    h.m.d.sync += level.eq(level + (moves(dut.i) & dut.i.payload.last) - (moves(dut.o) & dut.o.payload.last))
    ends(h, "something", dut.i.valid | (level != 0), moves(dut.i) | moves(dut.o), within, reached)
    h.cover("second_packet_ends", h.past(moves(dut.o) & dut.o.payload.last, "ended") & moves(dut.o)
            & dut.o.payload.last)
    return h


def _all_runs(name: str, unit: str, claim: str, build: Callable[[], Harness], depth: int,
              cover_depth: int = 24) -> Proof:
    return Proof(f"progress_{name}", unit, claim, build, "induction", depth, cover_depth=cover_depth)


def _bounded(name: str, unit: str, claim: str, build: Callable[[], Harness], cycles: int, coverage: str,
             which: str = "deep", solver: str = "sat") -> Proof:
    return Proof(f"progress_{name}", unit, claim, build, "bounded", cycles, which, coverage=coverage, solver=solver,
                 cover_depth=cycles)


def _core_proof(folder: str, core: str, make: Callable[[], Any], within: int, cycles: int, coverage: str,
                reached: int | None = None, **how: str) -> Proof:
    return _bounded(
        core, f"hdl/codec/{folder}/{core}.py", "While a beat is offered or the end of a packet is inside, a beat moves "
        f"at one of the {core.replace('_', ' ')}'s ports within {within} cycles, {PROMPT}.",
        lambda: _core(make, within, reached), cycles, coverage, **how)


_FETCHER, _CHANNEL, _DISTRIBUTOR = 7, 38, 5
_LINES = "two packets, any stalls and gaps; beats of 16 bytes, elements of 32 bits"
_BLOCKS = "two short packets, any stalls and gaps; beats of 16 bytes, elements of 32 bits, blocks of 512 bytes"
_BLOCK_CYCLES = 30      # less than a whole block and its payload take

PROOFS = (
    _all_runs("skid", "hdl/common/skid.py", f"The skid buffer takes what is offered within {PATIENCE} cycles, and "
              f"gives something of what is inside within {PATIENCE}, {PROMPT}.",
              lambda: _buffer(lambda: Skid(8), 2, PATIENCE, PATIENCE), 5),
    _all_runs("spare", "hdl/common/skid.py", f"The spare place takes what is offered within {PATIENCE} cycles, "
              f"and gives what is inside within {PATIENCE - 1}, {PROMPT}.",
              lambda: _buffer(lambda: Spare(8), 1, PATIENCE, PATIENCE - 1), 5),
    *(_all_runs(f"fifo_{depth}", "hdl/common/fifo.py", f"A FIFO of {depth} rows takes what is offered within "
                f"{PATIENCE} cycles, and gives something of what is inside within {PATIENCE + 1}, {PROMPT}.",
                lambda depth=depth: _buffer(lambda: StreamFifo(8, depth), depth + 1, PATIENCE, PATIENCE + 1), 6)
      for depth in (4, 1)),
    _all_runs("row_fifo", "hdl/common/row_fifo.py", f"Of committed rows one leaves within {PATIENCE + 1} cycles, "
              f"{PROMPT}.", _row_fifo, 6),
    _all_runs("splitter", "hdl/engine/axi/bursts.py", "A request is taken at once or the next burst of the one before "
              f"is given within {2 * PATIENCE} cycles, {PROMPT}.", _splitter, 8),
    _all_runs("reader", "hdl/engine/axi/reader.py", f"While the reader is not idle, stopped or faulty, one of its "
              f"ports moves within {PATIENCE + 1} cycles, {PROMPT}; a request has a limited number of moves.",
              _reader, 8, cover_depth=34),
    _all_runs("writer", "hdl/engine/axi/writer.py", f"While the writer is not idle, one of its ports moves within "
              f"{2 * PATIENCE - 1} cycles, {PROMPT}; a request has a limited number of moves.",
              _writer, 9, cover_depth=34),
    _all_runs("axi_lite", "hdl/engine/axi/lite.py", "A read, and a write with address and data, is answered within "
              f"{2 * (2 + PATIENCE) + PATIENCE} cycles, {PROMPT}.", _lite, 15),
    *(_all_runs(f"{kind}_arbiter", "hdl/engine/axi/arbiter.py", f"While one of 3 masters asks or a burst is open, "
                f"something moves at the port within {2 * PATIENCE - 1} cycles, {PROMPT}.",
                lambda kind=kind: _arbiter(kind == "write", 3), 8) for kind in ("read", "write")),
    _all_runs("framer", "hdl/engine/lanes/framer.py", f"A beat that is offered is taken within {2 * PATIENCE} "
              f"cycles, {PROMPT}.", _framer, 8),
    *(_all_runs(f"checker_{operation.name.lower()}", "hdl/engine/control/checker.py", "A descriptor is checked 19 "
                "cycles after its start, and at no other time.", lambda operation=operation: _checker(operation), 1,
                cover_depth=22) for operation in (Operation.OFFLOAD, Operation.PREFETCH)),
    _core_proof("lines", "compressor", lambda: Compressor(16, (4,)), 11, 20, _LINES, which="shallow", solver="smt"),
    _core_proof("lines", "decompressor", lambda: Decompressor(16, (4,)), 5, 12, _LINES, which="shallow", solver="smt"),
    _bounded("fetcher", "hdl/engine/control/fetcher.py", "While a ring has an entry or one is read, something moves at "
             f"one of the fetcher's ports within {_FETCHER} cycles, {PROMPT}.", lambda: _fetcher(_FETCHER), 60,
             "two entries are read and pushed"),
    *(_bounded(f"channel_{operation.name.lower()}", "hdl/engine/control/channel.py", "A descriptor in the queue is "
               f"run, completed or refused within {_CHANNEL} cycles, {PROMPT}.",
               lambda operation=operation: _channel(operation, _CHANNEL), 60, "a descriptor and its completion")
      for operation in (Operation.OFFLOAD, Operation.PREFETCH)),
    _bounded("distributor", "hdl/engine/link/distributor.py", "A beat that is offered is taken, or a row leaves, "
             f"within {_DISTRIBUTOR} cycles, {PROMPT}.", lambda: _distributor(_DISTRIBUTOR), 40,
             "one packet of any words"),
    _core_proof("payload", "block_compressor", lambda: BlockCompressor(16, (4,), 512), 30, _BLOCK_CYCLES, _BLOCKS, 20),
    _core_proof("payload", "block_decompressor", lambda: BlockDecompressor(16, (4,), 512), 24, _BLOCK_CYCLES, _BLOCKS,
                14),
)
"""Proofs of progress."""
