"""The supervisor of a data path: keeps transfers in order, watches for faults, stops, drains, clears and repeats."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.launcher import Launcher, follow_layout, launch_layout
from cdma.hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS, Status, request_layout, result_layout

__all__ = ["Supervisor", "path_fault_layout", "totals_layout"]

_TIMEOUTS = (Status.LANE_READ_TIMEOUT, Status.LANE_WRITE_TIMEOUT, Status.LINK_READ_TIMEOUT, Status.LINK_WRITE_TIMEOUT)


def path_fault_layout(config: EngineConfig) -> data.StructLayout:
    """Why a transfer failed; fields as in :func:`cdma.hdl.engine.transfer.records.result_layout`."""
    return data.StructLayout({"valid": 1, "status": Status, "lane": 4, "resp": 2,
                              "place": max(config.address_bits, BLOCK_BITS)})


def totals_layout() -> data.StructLayout:
    """Totals of a transfer that is complete; fields as in :func:`cdma.hdl.engine.transfer.records.result_layout`.
    ``mismatch``: its CRC is not the expected one."""
    return data.StructLayout({"bytes": LENGTH_BITS, "nonzero": LENGTH_BITS, "raw_blocks": BLOCK_BITS, "crc": 32,
                              "mismatch": 1})


class Supervisor(wiring.Component):
    """Runs up to ``transfers_in_flight`` transfers through a data path at the same time, and ends each with a result.

    ::

                   +----------+   launch (front of the path)    totals    +--------+
        request -->| launcher |--------+--------------------------------->| result |--> result
                   +----------+        |                                  +--------+
                     ^                 +--> follow (units further along)      ^
                     | again                                                  |
                     +--------------- stop, drain, clear <--------------------+-- fault, abort

    The units see transfers one after the other. A transfer is launched as soon as the front of the path can take it,
    while those before it drain; ``follow`` gives the same transfers to the units behind the front, when they ask for
    the next one: see :class:`cdma.hdl.engine.paths.launcher.Launcher`. ``totals`` come in the same order. A result is
    valid in the cycle after ``totals`` were taken, unless the launcher is writing a request. As long as nothing fails,
    no unit is stopped or reset.

    **Faults.** A fault does not say whose it is: the front may read for a later transfer while an earlier one drains.
    If several transfers are in the path, the supervisor stops and clears the path and launches all of them again from
    the ring, in order and *one at a time*, until one has failed or all have been completed. None has had a result, and
    what they wrote is written again with the same bytes. A transfer that is alone in the path when the fault comes is
    the one that failed: it gets the status, and those after it are launched again. With ``ahead`` the list of the next
    transfer is read already, and the fault may be its own: then none counts as alone. An error response that does not
    come again is therefore not reported. Two causes need no second run, because they belong to the oldest transfer: an
    abort, and the timeout of a silent port, which all transfers behind it would meet as well.

    **Stopping.** In ``stop`` the units of the path begin nothing new and finish their open AXI transactions. In
    ``clear`` they are reset, so that nothing of the transfers is left.

    A unit whose port is silent (:mod:`cdma.hdl.engine.axi.watch`) is not reset in ``clear`` but isolated: it stays
    stopped until its port has completed all open transactions. As long, the units without a port stay in reset, and the
    next transfer waits in ``place``. In this table unit 0 has an idle port, and unit 1 a silent one that has completed
    its transactions in cycle c:

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
    launch : Out(stream.Signature(launch_layout(config, device)))
        Transfers for the front of the path.
    follow : Out(stream.Signature(follow_layout(config, device)))
        The same, for the units behind it.
    keeps : Out(1)
        The payload of ``totals`` must not change: a result shows the totals that were taken.
    totals : In(stream.Signature(totals_layout()))
        The oldest transfer in the path is complete, without a fault: all its effects are done.
    fault : In(path_fault_layout(config))
        A fault of one of the transfers in the path; a level until the path is cleared, except for silent ports, which
        must come before all others.
    ahead : In(1)
        The page list of the transfer to be launched next is being read already; only with ``page_lists``.
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
            "abort": In(1), "launch": Out(stream.Signature(launch_layout(config, device))),
            "follow": Out(stream.Signature(follow_layout(config, device))),
            "keeps": Out(1), "totals": In(stream.Signature(totals_layout())), "fault": In(path_fault_layout(config)),
            "unit_idle": In(units), "silent": In(units), "unit_stop": Out(units), "unit_clear": Out(units),
            "isolated": Out(units), "stop": Out(1), "clear": Out(1),
            **({"ahead": In(1)} if config.page_lists else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = self._most
        m.submodules.launcher = launcher = Launcher(self._config, self._device)
        wiring.connect(m, wiring.flipped(self.request), launcher.request)
        wiring.connect(m, launcher.launch, wiring.flipped(self.launch))
        wiring.connect(m, launcher.follow, wiring.flipped(self.follow))
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
        offered = Signal()                      # and was valid already
        cause = Signal(path_fault_layout(self._config), reset_less=True)     # of the result
        totalled, good = Signal(reset_less=True), Signal(reset_less=True)   # it has a CRC; it has counts
        m.d.comb += [
            # No result may come before its request was taken.
            self.result.valid.eq(told & (offered | ~launcher.writes)), self.keeps.eq(told),
            self.totals.ready.eq(running & ~told & ~self.fault.valid),
            ends.eq(self.totals.valid & self.totals.ready),
            problem.eq(running & ~told & (inside != 0) & (self.fault.valid | (self.abort & ~self.totals.valid))),
        ]
        m.d.comb += first.eq(Mux(reports, self._after(oldest), oldest))
        empty = inside == 0
        m.d.comb += [
            launcher.may_take.eq(running & (waiting == 0) & (inside != most)),
            launcher.repeats.eq(running & (waiting != 0)),
            launcher.may_launch.eq(~blocked & running & Mux(empty, 1, ~alone.any() & ~self.fault.valid & ~self.abort)),
            launcher.refuses.eq(blocked & running & ~told & (self.abort | gone)),
            launcher.next.eq(next_), launcher.clear.eq(cleared), launcher.first.eq(first),
            begins.eq(launcher.begins), refuses.eq(launcher.refused),
        ]
        with m.If(cleared):
            m.d.sync += [
                inside.eq(0),
                waiting.eq(waiting + inside - reports),
                oldest.eq(first), next_.eq(first),
                alone.eq(Mux(reports, 0, waiting + inside)),
            ]
        with m.Else():
            m.d.sync += [inside.eq(inside + begins - ends), waiting.eq(waiting + launcher.took - begins - refuses)]
            with m.If(begins | refuses):
                m.d.sync += next_.eq(self._after(next_))
            with m.If(ends | refuses):
                m.d.sync += oldest.eq(self._after(oldest))
                with m.If(alone != 0):
                    m.d.sync += alone.eq(alone - 1)

        # Ends of transfers.
        totals = self.totals.payload
        fault = self.fault
        result = self.result.payload
        m.d.comb += [
            *(result[name].eq(cause[name]) for name in ("status", "lane", "resp", "place")),
            *(result[name].eq(Mux(good, totals[name], 0)) for name in ("bytes", "nonzero", "raw_blocks")),
            result.crc.eq(Mux(totalled, totals.crc, 0)),
        ]
        single = (inside == 1) & ~self.ahead if self._config.page_lists else inside == 1
        timeouts = (*_TIMEOUTS, Status.PAGE_LIST_READ_TIMEOUT) if self._config.page_lists else _TIMEOUTS
        timed_out = Cat(fault.status == status for status in timeouts).any()
        with m.If(ends):
            m.d.sync += [
                told.eq(1), totalled.eq(1), good.eq(~totals.mismatch), cause.eq(0),
                cause.status.eq(Mux(totals.mismatch, Status.CRC_MISMATCH, Status.OK)),
            ]
        with m.Elif(problem | refuses):
            m.d.sync += [totalled.eq(0), good.eq(0)]
            with m.If(Mux(problem, fault.valid, ~self.abort)):
                m.d.sync += cause.eq(fault)
            with m.Else():
                m.d.sync += [cause.eq(0), cause.status.eq(Status.ABORTED)]
        with m.If(refuses):
            m.d.sync += told.eq(1)
        m.d.sync += offered.eq(self.result.valid & ~self.result.ready)
        with m.If(self.result.valid & self.result.ready):
            m.d.sync += told.eq(0)
        with m.FSM():
            with m.State("run"):
                m.d.comb += running.eq(1)
                with m.If(problem):
                    m.d.sync += [stop.eq(1), unit_stop.eq(~0), reports.eq(~fault.valid | timed_out | single)]
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

    def _after(self, place: Value) -> ValueLike:
        """The next place of the ring."""
        return Mux(place == self._most - 1, 0, place + 1)
