"""The supervisor of a data path: keeps transfers in order, watches for faults, stops, drains, clears and repeats."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.counters import decreased
from hdl.config.engine import EngineConfig
from hdl.engine.transfer.interleave import LaneFinder, lane_bits
from hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS, Status, request_layout, result_layout

__all__ = ["Supervisor", "launch_layout", "path_fault_layout", "totals_layout"]

_TIMEOUTS = (Status.LANE_READ_TIMEOUT, Status.LANE_WRITE_TIMEOUT, Status.LINK_READ_TIMEOUT, Status.LINK_WRITE_TIMEOUT)


def launch_layout(config: EngineConfig) -> data.StructLayout:
    """A transfer for the units of a path: the request, the lane of its first block, the number of its last block, and
    the raw bytes of the last block."""
    return data.StructLayout({"transfer": request_layout(config), "first_lane": lane_bits(config),
                              "last_block": BLOCK_BITS, "tail_bytes": range(config.block_bytes + 1)})


def path_fault_layout(config: EngineConfig) -> data.StructLayout:
    """Why a transfer failed; fields as in :func:`hdl.engine.transfer.records.result_layout`."""
    return data.StructLayout({"valid": 1, "status": Status, "lane": 4, "resp": 2,
                              "place": max(config.address_bits, BLOCK_BITS)})


def totals_layout() -> data.StructLayout:
    """Totals of a transfer that is complete; fields as in :func:`hdl.engine.transfer.records.result_layout`.
    ``mismatch``: its CRC is not the expected one."""
    return data.StructLayout({"bytes": LENGTH_BITS, "nonzero": LENGTH_BITS, "raw_blocks": BLOCK_BITS, "crc": 32,
                              "mismatch": 1})


class Supervisor(wiring.Component):
    """Runs up to ``transfers_in_flight`` transfers through a data path at the same time, and ends each with a result.

    ::

                   +------+   launch (front of the path)        totals    +--------+
        request -->| find |--------+------------------------------------->| result |--> result
                   +------+        |                                      +--------+
                       |  ^        +--> follow (units further along)          ^
                       v  | again                                             |
                     [ring of requests] <---- stop, drain, clear <------------+-- fault, abort

    The units see transfers one after the other. A transfer is launched as soon as the front of the path can take it,
    while those before it drain; ``follow`` gives the same transfers to the units behind the front, when they ask for
    the next one. ``totals`` come in the same order. As long as nothing fails, no unit is stopped or reset:

    =====  ==================================  ==================  =======================
    cycle  launch                              follow              result
    =====  ==================================  ==================  =======================
    0      transfer A was taken (``request``)
    1      (lane is sought)
    2      A valid, and taken by the front                         ``totals`` of an earlier
    3      transfer B may be taken             A valid             transfer are taken
    4                                                              its result is valid
    =====  ==================================  ==================  =======================

    **Faults.** A fault does not say whose it is: the front may read for a later transfer while an earlier one drains.
    If several transfers are in the path, the supervisor stops and clears the path and launches all of them again from
    the ring, in order and *one at a time*, until one has failed or all have been completed. None has had a result, and
    what they wrote is written again with the same bytes. A transfer that is alone in the path when the fault comes is
    the one that failed: it gets the status, and those after it are launched again. An error response that does not come
    again is therefore not reported. Two causes need no second run, because they belong to the oldest transfer: an
    abort, and the timeout of a silent port, which all transfers behind it would meet as well.

    **Stopping.** In ``stop`` the units of the path begin nothing new and finish their open AXI transactions. In
    ``clear`` they are reset, so that nothing of the transfers is left.

    A unit whose port is silent (:mod:`hdl.engine.axi.watch`) is not reset in ``clear`` but isolated: it stays stopped
    until its port has completed all open transactions. As long, the units without a port stay in reset, and the next
    transfer waits in ``place``. In this table unit 0 has an idle port, and unit 1 a silent one that has completed its
    transactions in cycle c:

    =====  =======  ===========  ==========  ==========  =========  =============================
    cycle  state    unit_idle    unit_stop   unit_clear  clear      isolated
    =====  =======  ===========  ==========  ==========  =========  =============================
    t      stop     0: 1, 1: 0   0: 1, 1: 1  0: 0, 1: 0  0          0: 0, 1: 0
    t + 2  clear    0: 1, 1: 0   0: 1, 1: 1  0: 1, 1: 0  1          0: 0, 1: 1
    t + 3  run      0: 1, 1: 0   0: 0, 1: 1  0: 0, 1: 0  1          0: 0, 1: 1
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
        Their results, in order.
    abort : In(1)
        Ends the oldest transfer with ``ABORTED``, unless it has ended already. No effect while a result waits; must be
        low in the cycle after the result was taken unless the next transfer is to be aborted as well.
    launch : Out(stream.Signature(launch_layout(config)))
        Transfers for the front of the path.
    follow : Out(stream.Signature(launch_layout(config)))
        The same, for the units behind it.
    totals : In(stream.Signature(totals_layout()))
        The oldest transfer in the path is complete, without a fault: all its effects are done.
    fault : In(path_fault_layout(config))
        A fault of one of the transfers in the path; a level until the path is cleared, except for silent ports, which
        must come before all others.
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
    launch: stream.Interface
    follow: stream.Interface
    totals: stream.Interface

    def __init__(self, config: EngineConfig, device: str, units: int):
        self._config = config
        self._device = device
        self._units = units
        self._most = config.transfers_in_flight
        super().__init__({
            "request": In(stream.Signature(request_layout(config))),
            "result": Out(stream.Signature(result_layout(config))),
            "abort": In(1), "launch": Out(stream.Signature(launch_layout(config))),
            "follow": Out(stream.Signature(launch_layout(config))), "totals": In(stream.Signature(totals_layout())),
            "fault": In(path_fault_layout(config)),
            "unit_idle": In(units), "silent": In(units), "unit_stop": Out(units), "unit_clear": Out(units),
            "isolated": Out(units), "stop": Out(1), "clear": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = self._most
        # These go to all units, so they are registered.
        stop = Signal()
        clear = Signal()
        unit_stop = Signal(self._units)
        unit_clear = Signal(self._units)
        idle = Signal(self._units)
        settled = Signal()      # every unit is idle, or has a silent port
        blocked = Signal()      # a unit is isolated
        gone = Signal()         # a unit is isolated and its port is still silent
        halted = Signal(self._units)
        m.d.comb += [
            self.stop.eq(stop), self.clear.eq(clear), self.unit_stop.eq(unit_stop), self.unit_clear.eq(unit_clear),
            halted.eq(unit_stop & ~unit_clear),
            self.isolated.eq(halted & clear.replicate(self._units)),
        ]
        m.d.sync += [
            idle.eq(unit_stop & self.unit_idle),
            settled.eq((unit_stop & (self.unit_idle | self.silent)).all()),
            blocked.eq(unit_stop.any()),
            gone.eq((unit_stop & self.silent).any()),
            unit_stop.eq(halted),
            unit_clear.eq(halted & idle),
            clear.eq(halted.any()),
        ]

        # The ring: transfers in the path, behind them those that are to be launched.
        inside = Signal(range(most + 1))
        waiting = Signal(range(most + 1))
        alone = Signal(range(most + 1))         # transfers that are to be run one at a time
        oldest, next_ = (Signal(range(max(most, 2)), name=name) for name in ("oldest", "next"))     # places
        running, problem, reports, cleared, begins, ends, refuses = (Signal(name=name) for name in (
            "running", "problem", "reports", "cleared", "begins", "ends", "refuses"))
        first = Signal.like(oldest)             # place of the one to launch after `cleared`
        told = Signal()                         # a result waits
        result = Signal(result_layout(self._config), reset_less=True)
        m.d.comb += [
            self.result.valid.eq(told), self.result.payload.eq(result),
            self.totals.ready.eq(running & ~told & ~self.fault.valid),
            ends.eq(self.totals.valid & self.totals.ready),
            problem.eq(running & ~told & (inside != 0) & (self.fault.valid | (self.abort & ~self.totals.valid))),
        ]
        m.d.comb += first.eq(Mux(reports, self._after(oldest), oldest))
        self._launch(m, blocked, gone, running, told, alone, inside, waiting, next_, cleared, begins, refuses)
        with m.If(cleared):
            m.d.sync += [
                inside.eq(0),
                waiting.eq(waiting + inside - reports),
                oldest.eq(first), next_.eq(first),
                alone.eq(Mux(reports, 0, waiting + inside)),
            ]
        with m.Else():
            taken = self.request.valid & self.request.ready
            m.d.sync += [inside.eq(inside + begins - ends), waiting.eq(waiting + taken - begins - refuses)]
            with m.If(begins | refuses):
                m.d.sync += next_.eq(self._after(next_))
            with m.If(ends | refuses):
                m.d.sync += oldest.eq(self._after(oldest))
                with m.If(alone != 0):
                    m.d.sync += alone.eq(alone - 1)

        # Ends of transfers.
        totals = self.totals.payload
        fault = self.fault
        counts = ("bytes", "nonzero", "raw_blocks")
        failed = [*(result[name].eq(fault[name]) for name in ("status", "lane", "resp", "place")),
                  *(result[name].eq(0) for name in (*counts, "crc"))]
        blank = [result.eq(0), result.status.eq(Status.ABORTED)]
        timed_out = Cat(fault.status == status for status in _TIMEOUTS).any()
        with m.If(ends):
            m.d.sync += [
                told.eq(1), result.eq(0), result.crc.eq(totals.crc),
                result.status.eq(Mux(totals.mismatch, Status.CRC_MISMATCH, Status.OK)),
                *(result[name].eq(Mux(totals.mismatch, 0, totals[name])) for name in counts),
            ]
        with m.Elif(problem | refuses):
            with m.If(Mux(problem, fault.valid, ~self.abort)):
                m.d.sync += failed
            with m.Else():
                m.d.sync += blank
        with m.If(refuses):
            m.d.sync += told.eq(1)
        with m.If(told & self.result.ready):
            m.d.sync += told.eq(0)
        with m.FSM():
            with m.State("run"):
                m.d.comb += running.eq(1)
                with m.If(problem):
                    m.d.sync += [stop.eq(1), unit_stop.eq(~0),
                                 reports.eq(~fault.valid | timed_out | (inside == 1))]
                    m.next = "stop"
            with m.State("stop"):
                m.d.sync += [unit_stop.eq(unit_stop), unit_clear.eq(0), clear.eq(0)]
                with m.If(settled):
                    m.d.sync += [clear.eq(1), unit_clear.eq(idle)]
                    m.next = "clear"
            with m.State("clear"):
                m.d.comb += cleared.eq(1)
                m.d.sync += stop.eq(0)
                with m.If(reports):
                    m.d.sync += told.eq(1)
                m.next = "run"
        return m

    def _launch(self, m: Module, blocked: Value, gone: Value, running: Value, told: Value, alone: Value, inside: Value,
                waiting: Value, next_: Value, cleared: Value, begins: Signal, refuses: Signal) -> None:
        """Takes requests, or those in the ring again, finds their first lane, and gives them to the path."""
        config, most = self._config, self._most
        transfer = Signal(request_layout(config), reset_less=True)
        last_byte = Signal(LENGTH_BITS, reset_less=True)
        m.submodules.finder = finder = LaneFinder(config)
        again, read = Signal(), Signal(Value.cast(transfer).shape())
        m.d.comb += finder.address.eq(transfer[self._device])
        self._show(m, self.launch.payload, transfer, finder.lane, last_byte)
        if most > 1:
            self._follow(m, transfer, last_byte, finder.lane, again, next_, begins, cleared, read)
        else:
            # Nothing else is launched before the transfer has ended.
            m.d.comb += self.follow.payload.eq(self.launch.payload)
            m.d.sync += self.follow.valid.eq((begins | (self.follow.valid & ~self.follow.ready)) & ~cleared)
        m.d.comb += begins.eq(self.launch.valid & self.launch.ready)
        with m.FSM():
            with m.State("wait"):
                with m.If(waiting != 0):
                    m.d.comb += again.eq(running)
                    with m.If(running):
                        m.next = "load"
                with m.Else():
                    m.d.comb += self.request.ready.eq(running & (inside != most))
                    with m.If(self.request.valid & self.request.ready):
                        m.d.sync += transfer.eq(self.request.payload)
                        m.next = "find"
            with m.State("load"):
                m.d.sync += transfer.eq(read)
                m.next = "find"
                with m.If(cleared):
                    m.next = "wait"
            with m.State("find"):
                m.d.comb += finder.start.eq(1)
                m.d.sync += last_byte.eq(decreased(transfer.raw_bytes))
                m.next = "place"
                with m.If(cleared):
                    m.next = "wait"
            with m.State("place"):
                empty = inside == 0
                m.d.comb += self.launch.valid.eq(
                    finder.done & ~blocked & running & Mux(empty, 1, ~alone.any() & ~self.fault.valid & ~self.abort))
                m.d.comb += refuses.eq(blocked & running & ~told & (self.abort | gone))
                with m.If(begins | refuses | cleared):
                    m.next = "wait"

    def _follow(self, m: Module, transfer: data.View, last_byte: Value, lane: Value, again: Value, next_: Value,
                begins: Value, cleared: Value, read: Signal) -> None:
        """The memory of the ring, and the register that shows the next transfer to the units behind the front.

        One read port serves both: a transfer that is launched ``again`` comes first.
        """
        most = self._most
        m.submodules.ring = ring = Memory(shape=len(Value.cast(transfer)), depth=most, init=[])
        write, port = ring.write_port(), ring.read_port()
        shown = Signal(transfer.shape(), name="follow", reset_less=True)
        shown_lane = Signal.like(lane, reset_less=True)
        shown_last = Signal(LENGTH_BITS, name="follow_last", reset_less=True)
        lanes = Array(Signal.like(lane, name=f"lane_{k}", reset_less=True) for k in range(most))
        place = Signal(range(most))             # of the transfer to show next
        behind = Signal(range(most + 1))        # launched, and not shown yet
        asks, comes, free, moves = (Signal(name=name) for name in ("asks", "comes", "free", "moves"))
        m.d.comb += [
            write.en.eq(self.request.valid & self.request.ready), write.addr.eq(next_),
            write.data.eq(self.request.payload),
            read.eq(port.data),
            port.addr.eq(Mux(again, next_, place)), port.en.eq(again | asks),
            free.eq(~self.follow.valid | self.follow.ready),
            asks.eq((behind != 0) & ~again & ~comes & free),
            moves.eq(comes | (begins & (behind == 0) & free)),
        ]
        self._show(m, self.follow.payload, shown, shown_lane, shown_last)
        m.d.sync += [comes.eq(asks & ~cleared), behind.eq(behind + begins - moves)]
        with m.If(begins):
            m.d.sync += lanes[next_].eq(lane)
        with m.If(moves):
            m.d.sync += [
                self.follow.valid.eq(1), place.eq(self._after(place)),
                shown.eq(Mux(comes, port.data, Value.cast(transfer))),
                shown_lane.eq(Mux(comes, lanes[place], lane)),
                shown_last.eq(Mux(comes, decreased(data.View(transfer.shape(), port.data).raw_bytes), last_byte)),
            ]
        with m.Elif(self.follow.ready):
            m.d.sync += self.follow.valid.eq(0)
        with m.If(begins & (behind == 0)):
            m.d.sync += place.eq(Mux(free, self._after(next_), next_))
        with m.If(cleared):
            m.d.sync += [self.follow.valid.eq(0), behind.eq(0)]

    def _show(self, m: Module, payload: data.View, transfer: ValueLike, lane: Value, last_byte: Value) -> None:
        block_bits = exact_log2(self._config.block_bytes)
        m.d.comb += [
            payload.transfer.eq(transfer), payload.first_lane.eq(lane),
            payload.last_block.eq(last_byte[block_bits:]), payload.tail_bytes.eq(last_byte[:block_bits] + 1),
        ]

    def _after(self, place: Value) -> ValueLike:
        """The next place of the ring."""
        return Mux(place == self._most - 1, 0, place + 1)
