"""Proofs that what is larger does not lock up: the block cores, and the parts of control that move descriptors.

They are bounded, from the reset on. As in :mod:`cdma.verif.formal.proofs.progress`, the environment answers in time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value

from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.channel import Channel
from cdma.hdl.engine.control.descriptor import Operation
from cdma.hdl.engine.control.fetcher import Fetcher
from cdma.hdl.engine.link.distributor import Distributor
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.progress import moving_core
from cdma.verif.formal.proofs.resets import one_packet
from cdma.verif.formal.proofs.waiting import PROMPT, choose, ends, moves, prompt, sink

__all__ = ["PROOFS"]

_SMALLEST = load_engine("smallest")
_TINY = load_engine("tiny")


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


_CORES = 30     # cycles of runs of the cores: less than a whole block and its payload take


def _core_proof(core: str, make: Callable[[], Any], within: int, reached: int) -> Proof:
    return _proof(core, f"hdl/codec/payload/{core}.py", "While a beat is offered or the end of a packet is inside, a "
                  f"beat moves at one of the {core.replace('_', ' ')}'s ports within {within} cycles, {PROMPT}.",
                  lambda: moving_core(make, within, reached), _CORES,
                  "two short packets, any stalls and gaps; beats of 16 bytes, elements of 32 bits, blocks of 512 bytes")


def _proof(name: str, unit: str, claim: str, build: Callable[[], Harness], cycles: int, coverage: str) -> Proof:
    return Proof(f"progress_{name}", unit, claim, build, "bounded", cycles, "deep", coverage=coverage, solver="sat",
                 cover_depth=cycles)


_FETCHER, _CHANNEL, _DISTRIBUTOR = 7, 38, 5

PROOFS = (
    _proof("fetcher", "hdl/engine/control/fetcher.py", "While a ring has an entry or one is read, something moves at "
           f"one of the fetcher's ports within {_FETCHER} cycles, {PROMPT}.", lambda: _fetcher(_FETCHER), 60,
           "two entries are read and pushed"),
    *(_proof(f"channel_{operation.name.lower()}", "hdl/engine/control/channel.py", "A descriptor in the queue is run, "
             f"completed or refused within {_CHANNEL} cycles, {PROMPT}.",
             lambda operation=operation: _channel(operation, _CHANNEL), 60, "a descriptor and its completion")
      for operation in (Operation.OFFLOAD, Operation.PREFETCH)),
    _proof("distributor", "hdl/engine/link/distributor.py", "A beat that is offered is taken, or a row leaves, within "
           f"{_DISTRIBUTOR} cycles, {PROMPT}.", lambda: _distributor(_DISTRIBUTOR), 40, "one packet of any words"),
    _core_proof("block_compressor", lambda: BlockCompressor(16, (4,), 512), 30, 20),
    _core_proof("block_decompressor", lambda: BlockDecompressor(16, (4,), 512), 24, 14),
)
"""Proofs of progress."""
