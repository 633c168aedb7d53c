"""The time limit of the AXI masters: how long a port may leave a master without an answer.

A port that answers nothing for the limit is *silent*. What follows, in the order in which it happens:

=========  ======================================================  =================================================
state      what goes on                                            left when
=========  ======================================================  =================================================
answering  the port's channels move, or the master waits for       the master waits, and nothing moves for the limit:
           nothing                                                 the transfer ends with a ``..._TIMEOUT`` status
silent     the master is stopped: it begins nothing, keeps what    all other ports of the data path are idle: the
           it shows (AXI forbids to take it back), and would       result is reported, and the rest of the path is reset
           drop what comes
isolated   as before, without a transfer: no transfer of this      the port has taken and answered all that was open:
           direction begins while a port is isolated; late         the master is reset, and the next transfer begins
           beats and responses are taken and dropped
=========  ======================================================  =================================================

A transfer that comes while a port is isolated waits for it, and ends with the same status when the port is silent.
:class:`hdl.engine.paths.supervisor.Supervisor` keeps these states for the data paths,
:class:`hdl.engine.control.fetcher.Fetcher` for the descriptor rings. The FIFO of open bursts that each master has
anyway knows what is still to come, and its output registers hold what is shown, so nothing is stored twice.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LIMIT_BITS", "Metronome", "PortWatch", "read_answers", "write_answers"]

LIMIT_BITS = 5
"""Bits of a time limit, which is the logarithm of a number of cycles."""


class Metronome(wiring.Component):
    """Ticks in equal periods of 2 to the power of n cycles, for several n at once.

    ::

                    bit n - 1
        counter ---------------> [register] --> falls? --> tick

    Parameters
    ----------
    limits : int
        Periods.

    Members
    -------
    limit : In(LIMIT_BITS).array(limits)
        The n of each; with 0 it does not tick.
    changed : In(1)
        A limit is another one than in the cycle before: this cycle is no tick.
    tick : Out(limits)
        A bit for each, high for one cycle in its period.
    """

    def __init__(self, limits: int):
        super().__init__({"limit": In(LIMIT_BITS).array(limits), "changed": In(1), "tick": Out(limits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        counter = Signal((1 << LIMIT_BITS) - 1)
        chosen = Signal(len(self.tick))
        before = Signal.like(chosen)
        changed = Signal()
        m.d.sync += [
            counter.eq(counter + 1),
            chosen.eq(Cat(Cat(Const(0, 1), counter).bit_select(limit, 1) for limit in self.limit)),
            before.eq(chosen),
            changed.eq(self.changed),
            self.tick.eq(before & ~chosen & (~changed).replicate(len(chosen))),
        ]
        return m


class PortWatch(wiring.Component):
    """Finds out that a port is silent.

    ======  =======  =====  =========================================================
    cycle   answers  tick   then
    ======  =======  =====  =========================================================
    any     1        any    neither ``asked`` nor ``silent``
    t       0        1      ``asked``: the port has until the next tick
    t + p   0        1      ``silent``
    ======  =======  =====  =========================================================

    A port is silent when it answered nothing for at least one period of the tick, and at most two.

    Members
    -------
    answers : In(1)
        In this cycle the port answers, or owes nothing: :func:`read_answers`, :func:`write_answers`.
    tick : In(1)
        Once in each period.
    silent : Out(1)
        Until the port answers.
    """

    def __init__(self) -> None:
        super().__init__({"answers": In(1), "tick": In(1), "silent": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        answers = Signal(init=1)    # the port's own signals come late in a cycle
        asked = Signal()
        m.d.sync += answers.eq(self.answers)
        with m.If(answers):
            m.d.sync += [asked.eq(0), self.silent.eq(0)]
        with m.Elif(self.tick):
            m.d.sync += [asked.eq(1), self.silent.eq(asked)]
        return m


def read_answers(port: wiring.PureInterface) -> Value:
    """Whether the read channels of a port answer, or owe nothing.

    A port owes that it takes a request, and that it shows a beat while the master is ready for one. Where a beat is
    shown that the master does not take, the master is what is slow: the port may well take no request then.
    """
    return port.rvalid | (port.arvalid & port.arready) | ~(port.arvalid | port.rready)


def write_answers(port: wiring.PureInterface) -> Value:
    """Whether the write channels of a port answer, or owe nothing.

    A port owes that it takes a beat, and that it responds while the master is ready for that:
    :class:`hdl.engine.axi.writer.AxiWriter` is from the last beat of a burst on. It does not owe that it takes an
    address by itself: it may wait for the beat behind it.
    """
    return ((port.awvalid & port.awready) | (port.wvalid & port.wready) | (port.bvalid & port.bready)
            | ~(port.wvalid | port.bready))
