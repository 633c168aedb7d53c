"""Proofs that units do not lock up: while each handshake is answered in time, what waits goes on in time.

The environment answers within so many cycles, which are assumed; the unit within its own number, which is asserted. A
proof by induction is over more cycles than that number: from any state that the invariants allow, whatever the past.
Proofs of what is larger, cores and the parts of control that move descriptors, are bounded, from the reset on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value

from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.row_fifo import RowFifo
from cdma.hdl.common.skid import Skid, Spare
from cdma.hdl.config.engine import EngineConfig, load_engine
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
from cdma.verif.formal.proofs.masters import reader, writer
from cdma.verif.formal.proofs.parts import (
    PATIENCE,
    PROMPT,
    FifoInside,
    choose,
    ends,
    moves,
    prompt,
    sink,
    stays,
)
from cdma.verif.formal.proofs.resets import one_packet

__all__ = ["PROOFS"]

_SMALLEST = load_engine("smallest")
_TINY = load_engine("tiny")


def _buffer(h: Harness, make: Callable[[], Any], capacity: int, taken: int, left: int) -> None:
    """{what} takes what is offered within {taken} cycles, and gives {some}what is inside within {left}, {prompt}."""
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


def _row_fifo(h: Harness, within: int) -> None:
    """Of committed rows one leaves within {within} cycles, {prompt}."""
    dut = h.add("dut", RowFifo(8, 2, 4))
    choose(h, dut, ("enable", "data", "commit"))
    sink(h, dut.o)
    h.assume("room", ~dut.commit | (dut.level - moves(dut.o) + 1 <= 4))
    ends(h, "inside", dut.level != 0, moves(dut.o), within)


def _splitter(h: Harness, within: int) -> None:
    """A request is taken at once or the next burst of the one before is given within {within} cycles, {prompt}."""
    dut = h.add("dut", BurstSplitter(24, 16, 16, 16))
    h.drive(dut.i, "i")
    choose(h, dut, ("begin", "drop"))
    state = h.inner("dut.fsm_state")
    sink(h, dut.o)
    prompt(h, "begin", (state == 1) & ~dut.drop, dut.begin)
    h.check("states", state < 3)
    # Each burst has one beat at least, so a request has an end.
    ends(h, "request", dut.i.valid | ~dut.i.ready, moves(dut.i) | moves(dut.o) | (dut.drop & ~dut.o.valid), within)


_SIZES = 16, 4, 12
_BURSTS = 2, 16     # outstanding, beats


def _reader(h: Harness, within: int) -> None:
    """While the reader is not idle, stopped or faulty, one of its ports moves within {within} cycles, {prompt}; a
    request has a limited number of moves."""
    dut, rules = reader(h, _SIZES, *_BURSTS)
    axi = dut.axi
    prompt(h, "o_valid", dut.o.valid, dut.o.ready | dut.stop)
    prompt(h, "request", axi.arvalid, axi.arready)
    prompt(h, "data", rules.reads != 0, axi.rvalid)
    busy = ~dut.idle | ~dut.i.ready | dut.o.valid
    dropped = h.past(dut.stop | dut.fault.valid, "halted")
    moved = (axi.arvalid & axi.arready) | (axi.rvalid & axi.rready) | moves(dut.i) | moves(dut.o) | dropped
    ends(h, "something", busy, moved, within)


def _writer(h: Harness, within: int) -> None:
    """While the writer is not idle, one of its ports moves within {within} cycles, {prompt}; a request has a limited
    number of moves."""
    dut, rules = writer(h, _SIZES, *_BURSTS)
    axi = dut.axi
    prompt(h, "request", axi.awvalid, axi.awready)
    prompt(h, "beat", axi.wvalid, axi.wready)
    prompt(h, "response", (rules.bursts != 0) & (rules.addresses != 0), axi.bvalid)
    prompt(h, "source", ~dut.data.valid, dut.data.valid)
    busy = ~dut.idle | ~dut.i.ready
    moved = ((axi.awvalid & axi.awready) | (axi.wvalid & axi.wready) | (axi.bvalid & axi.bready) | moves(dut.i)
             | moves(dut.data))
    ends(h, "something", busy, moved, within)


def _lite(h: Harness, within: int) -> None:
    """A read, and a write with address and data, is answered within {within} cycles, {prompt}."""
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
    ends(h, "read", full["ar"] | bus.rvalid, bus.rvalid & bus.rready, within)
    ends(h, "write", (full["aw"] & full["w"]) | bus.bvalid, bus.bvalid & bus.bready, within - 1)


def _arbiter(h: Harness, write: bool, inputs: int, within: int) -> None:
    """While one of {inputs} masters asks or a burst is open, something moves at the port within {within} cycles,
    {prompt}."""
    outstanding = 2
    dut = h.add("dut", (AxiWriteArbiter if write else AxiReadArbiter)(16, 4, inputs, outstanding))
    channel, port = "aw" if write else "ar", dut.o
    for number, master in enumerate(dut.i):
        others = ("wvalid", "wlast", "wdata", "bready") if write else ("rready",)
        choose(h, master, (f"{channel}valid", f"{channel}len", *others), f"{{}}_{number}")
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
    ends(h, "something", some | (level != 0), moved, within)


def _framer(h: Harness, within: int) -> None:
    """A beat that is offered is taken within {within} cycles, {prompt}."""
    dut = h.add("dut", Framer(_TINY))
    h.drive(dut.i, "i")
    choose(h, dut, ("block",))
    sink(h, dut.o)
    ends(h, "offered", dut.i.valid, dut.i.ready, within)


def _checker(h: Harness, operation: Operation, latency: int) -> None:
    """A descriptor is checked {latency} cycles after its start, and at no other time."""
    dut = h.add("dut", Checker(_TINY, operation))
    choose(h, dut, ("start", "data"))
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


def _fetcher(h: Harness, config: EngineConfig, within: int, silent: bool = False) -> None:
    """While a ring has an entry or one is read, something moves at one of the fetcher's ports within {within} cycles,
    {prompt}{link}."""
    dut = h.add("dut", Fetcher(config))
    axi, fill = dut.axi, dut.fill
    choose(h, dut, ("pending", "pushed"))
    choose(h, axi, ("rid", "rdata", "rresp", "rlast"))
    choose(h, fill, ("ready",))
    for number, ring in enumerate(dut.rings):
        h.m.d.comb += Value.cast(ring).eq(h.free(len(Value.cast(ring)), f"ring_{number}"))
    # A link that falls silent answers nothing any more; its time limit may end in any cycle after that.
    fell, ended = Signal(name="link_fell_silent"), Signal(name="time_limit_ended")
    if silent:
        h.m.d.sync += [fell.eq(fell | h.free(1, "falls")), ended.eq(ended | (fell & h.free(1, "limit_ends")))]
        h.m.d.comb += dut.silent.eq(ended)
        prompt(h, "time_limit", fell, ended)
    h.m.d.comb += [axi.arready.eq(h.free(1, "axi_arready") & ~fell), axi.rvalid.eq(h.free(1, "axi_rvalid") & ~fell)]
    left = Signal(9, name="beats_left")     # that the link has to give
    asked, given = axi.arvalid & axi.arready, axi.rvalid & axi.rready
    h.m.d.sync += left.eq(left + Mux(asked, axi.arlen + 1, 0) - given)
    h.assume("beats_that_were_asked_for", ~axi.rvalid | (left != 0))
    prompt(h, "request", axi.arvalid & ~fell, axi.arready)
    prompt(h, "data", (left != 0) & ~fell, axi.rvalid)
    prompt(h, "fill", fill.valid, fill.ready)
    prompt(h, "push", dut.push, dut.pushed)
    moved = dut.begin.any() | asked | given | moves(fill) | (dut.push & dut.pushed)
    ends(h, "something", ~dut.idle | h.inner("dut.wanted").any(), moved, within)
    failed = Signal(name="one_has_failed")
    h.m.d.sync += failed.eq(failed | dut.fail.any())
    h.cover("entry_is_pushed", failed & dut.begin.any() if silent else dut.advance.any())


def _channel(h: Harness, operation: Operation, within: int) -> None:
    """A descriptor in the queue is run, completed or refused within {within} cycles, {prompt}."""
    dut = h.add("dut", Channel(_SMALLEST, operation))
    choose(h, dut, ("unread", "word", "pop", "abort", "accounted"))
    choose(h, dut.record, ("write", "word", "data", "push"))
    choose(h, dut.result, ("valid", "payload"))
    choose(h, dut.request, ("ready",), "request_{}")
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


def _distributor(h: Harness, within: int) -> None:
    """A beat that is offered is taken, or a row leaves, within {within} cycles, {prompt}."""
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


def _core(h: Harness, make: Callable[[], Any], within: int, reached: int | None = None) -> None:
    """While a beat is offered or the end of a packet is inside, a beat moves at one of the {core}'s ports within
    {within} cycles, {prompt}."""
    dut = h.add("dut", make())
    h.drive(dut.i, "i")
    sink(h, dut.o)
    level = Signal(6, name="packets")
    h.m.d.sync += level.eq(level + (moves(dut.i) & dut.i.payload.last) - (moves(dut.o) & dut.o.payload.last))
    ends(h, "something", dut.i.valid | (level != 0), moves(dut.i) | moves(dut.o), within, reached)
    h.cover("second_packet_ends", h.past(moves(dut.o) & dut.o.payload.last, "ended") & moves(dut.o)
            & dut.o.payload.last)


def _proof(name: str, file: str, harness: Callable[..., object], parameters: Mapping[str, Any], depth: int,
           cover_depth: int = 24, **others: Any) -> Proof:
    words = {"prompt": PROMPT} | others.pop("words", {})
    return Proof(f"progress_{name}", f"hdl/{file}.py", harness, parameters, depth, cover_depth=cover_depth, words=words,
                 **others)


def _buffer_proof(name: str, file: str, what: str, make: Callable[[], Any], capacity: int, left: int, depth: int,
                  some: str = "something of ") -> Proof:
    return _proof(name, f"common/{file}", _buffer,
                  {"make": make, "capacity": capacity, "taken": PATIENCE, "left": left}, depth,
                  words={"what": what, "some": some})


_OPERATIONS = {operation.name.lower(): operation for operation in (Operation.OFFLOAD, Operation.PREFETCH)}
_SAT = {"set": "deep", "solver": "sat"}
_PACKETS = "packets, any stalls and gaps; beats of 16 bytes, elements of 32 bits"

PROOFS = (
    _buffer_proof("skid", "skid", "The skid buffer", lambda: Skid(8), 2, PATIENCE, 5),
    _buffer_proof("spare", "skid", "The spare place", lambda: Spare(8), 1, PATIENCE - 1, 5, some=""),
    *(_buffer_proof(f"fifo_{depth}", "fifo", f"A FIFO of {depth} rows", lambda depth=depth: StreamFifo(8, depth),
                    depth + 1, PATIENCE + 1, 6) for depth in (4, 1)),
    _proof("row_fifo", "common/row_fifo", _row_fifo, {"within": PATIENCE + 1}, 6),
    _proof("splitter", "engine/axi/bursts", _splitter, {"within": 2 * PATIENCE}, 8),
    _proof("reader", "engine/axi/reader", _reader, {"within": PATIENCE + 1}, 8, 34),
    _proof("writer", "engine/axi/writer", _writer, {"within": 2 * PATIENCE - 1}, 9, 34),
    # An access takes two cycles and what the registers take; one of the other kind may come first.
    _proof("axi_lite", "engine/axi/lite", _lite, {"within": 2 * (2 + PATIENCE) + PATIENCE}, 15),
    *(_proof(f"{kind}_arbiter", "engine/axi/arbiter", _arbiter,
             {"write": kind == "write", "inputs": 3, "within": 2 * PATIENCE - 1}, 8) for kind in ("read", "write")),
    _proof("framer", "engine/lanes/framer", _framer, {"within": 2 * PATIENCE}, 8),
    *(_proof(f"checker_{name}", "engine/control/checker", _checker, {"operation": operation, "latency": 19}, 1, 22)
      for name, operation in _OPERATIONS.items()),
    *(_proof(core, f"codec/lines/{core}", _core, {"make": make, "within": within}, cycles, cycles,
             coverage=f"two {_PACKETS}", words={"core": core})
      for core, make, within, cycles in (("compressor", lambda: Compressor(16, (4,)), 11, 20),
                                         ("decompressor", lambda: Decompressor(16, (4,)), 5, 12))),
    *(_proof(f"fetcher{name}", "engine/control/fetcher", _fetcher,
             {"config": config, "within": within, "silent": silent}, depth, 60, coverage="two entries",
             words={"link": "; the link falls silent" if silent else ""}, **_SAT)
      for name, config, within, silent, depth in (("", _SMALLEST, 6, False, 60), ("_ahead", _TINY, 6, False, 30),
                                                  ("_of_a_silent_link", _SMALLEST, 13, True, 60),
                                                  ("_ahead_of_a_silent_link", _TINY, 13, True, 46))),
    *(_proof(f"channel_{name}", "engine/control/channel", _channel, {"operation": operation, "within": 38}, 60, 60,
             coverage="a descriptor and its completion", **_SAT) for name, operation in _OPERATIONS.items()),
    _proof("distributor", "engine/link/distributor", _distributor, {"within": 5}, 40, 40,
           coverage="one packet of any words", **_SAT),
    # Fewer cycles than a whole block and its payload take.
    *(_proof(f"block_{core}", f"codec/payload/block_{core}", _core,
             {"make": make, "within": within, "reached": reached}, 30, 30, coverage=f"two short {_PACKETS}, blocks of "
             "512 bytes", words={"core": f"block {core}"}, **_SAT)
      for core, make, within, reached in (("compressor", lambda: BlockCompressor(16, (4,), 512), 30, 20),
                                          ("decompressor", lambda: BlockDecompressor(16, (4,), 512), 24, 14))),
)
"""Proofs of progress."""
