"""The supervisor of a data path: finds the first lane, watches for faults, stops, drains, clears and reports."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.config.engine import EngineConfig
from hdl.engine.transfer.interleave import LaneFinder, lane_bits
from hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS, Status, request_layout, result_layout

__all__ = ["Supervisor", "path_fault_layout", "totals_layout"]


def path_fault_layout(config: EngineConfig) -> data.StructLayout:
    """Why a transfer failed; fields as in :func:`hdl.engine.transfer.records.result_layout`."""
    return data.StructLayout({"valid": 1, "status": Status, "lane": 4, "resp": 2,
                              "place": max(config.address_bits, BLOCK_BITS)})


def totals_layout() -> data.StructLayout:
    """Totals of a transfer that succeeded; fields as in :func:`hdl.engine.transfer.records.result_layout`."""
    return data.StructLayout({"bytes": LENGTH_BITS, "nonzero": LENGTH_BITS, "raw_blocks": BLOCK_BITS, "crc": 32})


class Supervisor(wiring.Component):
    """Runs one transfer at a time through a data path, and always ends it with a result and a cleared path.

    ::

                  +-------+   +------+  finished, fault  +------+  idle or  +-------+   +--------+
        request ->| place |-->| run  |------------------>| stop |---------->| clear |-->| report |--> result
                  +-------+   +------+     or abort      +------+   silent  +-------+   +--------+
                      |                                                                     ^
                      +---------------------------------------------------------------------+
                             a port is isolated, and silent or the transfer is aborted

    In ``stop`` the units of the path begin nothing new and finish their open AXI transactions. In ``clear`` they are
    reset, so that nothing of the transfer is left for the next one.

    A unit whose port is silent (:mod:`hdl.engine.axi.watch`) is not reset in ``clear`` but isolated: it stays stopped
    until its port has completed all open transactions. As long, the units without a port stay in reset, and the next
    transfer waits in ``place``. In this table unit 0 has an idle port, and unit 1 a silent one that has completed its
    transactions in cycle c:

    =====  =======  ===========  ==========  ==========  =========  =============================
    cycle  state    unit_idle    unit_stop   unit_clear  clear      isolated
    =====  =======  ===========  ==========  ==========  =========  =============================
    t      stop     0: 1, 1: 0   0: 1, 1: 1  0: 0, 1: 0  0          0: 0, 1: 0
    t + 2  clear    0: 1, 1: 0   0: 1, 1: 1  0: 1, 1: 0  1          0: 0, 1: 1
    t + 3  report   0: 1, 1: 0   0: 0, 1: 1  0: 0, 1: 0  1          0: 0, 1: 1
    c      any      0: 1, 1: 1   0: 0, 1: 1  0: 0, 1: 0  1          0: 0, 1: 1
    c + 2  any      0: 1, 1: 1   0: 0, 1: 1  0: 0, 1: 1  1          0: 0, 1: 0
    c + 3  any      0: 1, 1: 1   0: 0, 1: 0  0: 0, 1: 0  0          0: 0, 1: 0
    =====  =======  ===========  ==========  ==========  =========  =============================

    Parameters
    ----------
    config : EngineConfig
        What to build.
    device : str
        Which address of a transfer is in device memory: ``source`` or ``destination``.
    units : int
        Units of the path that have an AXI port.

    Members
    -------
    request : In(stream.Signature(request_layout(config)))
        Transfers to run.
    result : Out(stream.Signature(result_layout(config)))
        Their results.
    abort : In(1)
        Ends the transfer with ``ABORTED``, unless it has ended already.
    transfer : Out(request_layout(config))
        The transfer, from ``begin`` on.
    first_lane, last_block, tail_bytes : Out
        Lane of the transfer's first block, number of its last block, and raw bytes of the last block.
    begin : Out(1)
        High for one cycle: the units start.
    finished : In(1)
        The transfer has ended without a fault.
    fault : In(path_fault_layout(config))
        A fault of the transfer; read while the transfer runs. Faults of silent ports must come before all others.
    totals : In(totals_layout())
        Read with ``finished``; its ``crc`` also with a fault ``CRC_MISMATCH``.
    unit_idle, silent : In(units)
        The unit has no AXI transaction open; its port has not answered for the time limit.
    unit_stop, unit_clear : Out(units)
        Stops a unit; resets it.
    isolated : Out(units)
        The unit still has AXI transactions open of a transfer that was reported.
    stop, clear : Out(1)
        Stop and reset of the units without a port.
    """

    request: stream.Interface
    result: stream.Interface

    def __init__(self, config: EngineConfig, device: str, units: int):
        self._config = config
        self._device = device
        self._units = units
        super().__init__({
            "request": In(stream.Signature(request_layout(config))),
            "result": Out(stream.Signature(result_layout(config))),
            "abort": In(1), "transfer": Out(request_layout(config)), "first_lane": Out(lane_bits(config)),
            "last_block": Out(BLOCK_BITS), "tail_bytes": Out(range(config.block_bytes + 1)), "begin": Out(1),
            "finished": In(1), "fault": In(path_fault_layout(config)), "totals": In(totals_layout()),
            "unit_idle": In(units), "silent": In(units), "unit_stop": Out(units), "unit_clear": Out(units),
            "isolated": Out(units), "stop": Out(1), "clear": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        block_bits = exact_log2(self._config.block_bytes)
        transfer = Signal(request_layout(self._config), reset_less=True)
        result = Signal(result_layout(self._config), reset_less=True)
        last_byte = Signal(LENGTH_BITS, reset_less=True)
        m.submodules.finder = finder = LaneFinder(self._config)
        m.d.comb += [
            self.transfer.eq(transfer),
            finder.address.eq(transfer[self._device]),
            self.first_lane.eq(finder.lane),
            self.last_block.eq(last_byte[block_bits:]),
            self.tail_bytes.eq(last_byte[:block_bits] + 1),
            self.result.payload.eq(result),
        ]
        # These go to all units, so they are registered.
        stop = Signal()
        clear = Signal()
        unit_stop = Signal(self._units)
        unit_clear = Signal(self._units)
        idle = Signal(self._units)
        settled = Signal()      # every unit is idle, or has a silent port
        blocked = Signal()      # a unit is isolated
        gone = Signal()         # a unit is isolated and its port is still silent
        open_ = Signal(self._units)
        m.d.comb += [
            self.stop.eq(stop), self.clear.eq(clear), self.unit_stop.eq(unit_stop), self.unit_clear.eq(unit_clear),
            open_.eq(unit_stop & ~unit_clear),
            self.isolated.eq(open_ & clear.replicate(self._units)),
        ]
        m.d.sync += [
            idle.eq(unit_stop & self.unit_idle),
            settled.eq((unit_stop & (self.unit_idle | self.silent)).all()),
            blocked.eq(unit_stop.any()),
            gone.eq((unit_stop & self.silent).any()),
            unit_stop.eq(open_),
            unit_clear.eq(open_ & idle),
            clear.eq(open_.any()),
        ]
        failed = [
            result.status.eq(self.fault.status),
            result.lane.eq(self.fault.lane),
            result.resp.eq(self.fault.resp),
            result.place.eq(self.fault.place),
        ]
        with m.FSM():
            with m.State("wait"):
                m.d.comb += self.request.ready.eq(1)
                with m.If(self.request.valid):
                    m.d.sync += transfer.eq(self.request.payload)
                    m.next = "find"
            with m.State("find"):
                m.d.comb += finder.start.eq(1)
                m.d.sync += last_byte.eq(transfer.raw_bytes - 1)
                m.next = "place"
            with m.State("place"):
                m.d.sync += result.eq(0)
                with m.If(finder.done & ~blocked):
                    m.d.comb += self.begin.eq(1)
                    m.next = "run"
                with m.Elif(blocked & self.abort):
                    m.d.sync += result.status.eq(Status.ABORTED)
                    m.next = "report"
                with m.Elif(blocked & gone):
                    m.d.sync += failed
                    m.next = "report"
            with m.State("run"):
                with m.If(self.finished | self.fault.valid | self.abort):
                    m.d.sync += [stop.eq(1), unit_stop.eq(~0)]
                    m.next = "stop"
                m.d.sync += result.eq(0)
                with m.If(self.fault.valid):
                    m.d.sync += [
                        *failed,
                        result.crc.eq(Mux(self.fault.status == Status.CRC_MISMATCH, self.totals.crc, 0)),
                    ]
                with m.Elif(self.finished):
                    m.d.sync += [
                        result.bytes.eq(self.totals.bytes),
                        result.nonzero.eq(self.totals.nonzero),
                        result.raw_blocks.eq(self.totals.raw_blocks),
                        result.crc.eq(self.totals.crc),
                    ]
                with m.Else():
                    m.d.sync += result.status.eq(Status.ABORTED)
            with m.State("stop"):
                m.d.sync += [unit_stop.eq(unit_stop), unit_clear.eq(0), clear.eq(0)]
                with m.If(settled):
                    m.d.sync += [clear.eq(1), unit_clear.eq(idle)]
                    m.next = "clear"
            with m.State("clear"):
                m.d.sync += stop.eq(0)
                m.next = "report"
            with m.State("report"):
                m.d.comb += self.result.valid.eq(1)
                with m.If(self.result.ready):
                    m.next = "wait"
        return m
