"""The time limit of the AXI masters: how long a port may leave a master without an answer.

A port that answers nothing for the time limit is *silent*. The states of its master, in order:

=========  ======================================================  =================================================
state      what goes on                                            left when
=========  ======================================================  =================================================
answering  the port's channels move, or the master waits for       the master waits, and nothing moves for the limit:
           nothing                                                 the transfer ends with a ``..._TIMEOUT`` status
silent     the master is stopped: it begins nothing, keeps its     all other ports of the data path are idle: the
           valid outputs (AXI forbids to withdraw them), and       result is reported, and the rest of the path is reset
           discards what arrives
isolated   as before, but the transfer has ended: no transfer of   the port has completed all open transactions: the
           this direction begins while a port is isolated; late    master is reset, and the next transfer begins
           beats and responses are taken and discarded
=========  ======================================================  =================================================

A transfer that is requested while a port is isolated waits for the port, and ends with the same status if the port is
still silent. :class:`cdma.hdl.engine.paths.supervisor.Supervisor` keeps these states for the data paths,
:class:`cdma.hdl.engine.control.fetcher.Fetcher` for the descriptor rings. No extra storage is needed: each master has a
FIFO of its open bursts, and its output registers hold the request that is valid at the port.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LIMIT_BITS", "Metronome", "PortWatch", "read_answers", "write_answers"]

LIMIT_BITS = 5
"""Bits of a time limit, which is given as the logarithm of a number of cycles."""

_PART_BITS = 8


class Metronome(wiring.Component):
    """Makes periodic ticks, one every 2^n cycles, for several n.

    ::

                    bit n - 1
        counter ---------------> [register] --> falls? --> tick

    The counter is in parts of eight bits with a register in each carry, so that no carry limits the clock: the upper
    bits change a few cycles late, each by the same number of cycles in every period.

    Parameters
    ----------
    limits : int
        Number of limits.

    Members
    -------
    limit : In(LIMIT_BITS).array(limits)
        The n of each limit; 0: no ticks.
    changed : In(1)
        A limit has changed since the previous cycle: no tick is made of the change.
    tick : Out(limits)
        One bit for each limit, high for one cycle per period.
    restart : Out(1)
        High in the cycle in which ``tick`` would show the change: later ticks are those of the new limits.
    """

    def __init__(self, limits: int):
        super().__init__({"limit": In(LIMIT_BITS).array(limits), "changed": In(1), "tick": Out(limits),
                          "restart": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = (1 << LIMIT_BITS) - 1
        parts = [Signal(min(_PART_BITS, bits - low), name=f"counter_{low}") for low in range(0, bits, _PART_BITS)]
        carry: Value = Const(1)
        for part in parts:
            wraps = Signal(name=f"{part.name}_wraps")
            m.d.sync += [part.eq(part + carry), wraps.eq(carry & part.all())]
            carry = wraps
        counter = Cat(parts)
        chosen = Signal(len(self.tick))
        before = Signal.like(chosen)
        changed = Signal()
        m.d.sync += [
            chosen.eq(Cat(Cat(Const(0, 1), counter).bit_select(limit, 1) for limit in self.limit)),
            before.eq(chosen),
            changed.eq(self.changed),
            self.tick.eq(before & ~chosen & (~changed).replicate(len(chosen))),
            self.restart.eq(changed),
        ]
        return m


class PortWatch(wiring.Component):
    """Detects that a port is silent.

    ======  =======  =====  =========================================================
    cycle   answers  tick   then
    ======  =======  =====  =========================================================
    any     1        any    neither ``asked`` nor ``silent``
    t       0        1      ``asked``: the port has until the next tick
    t + p   0        1      ``silent``
    ======  =======  =====  =========================================================

    A port becomes silent after at least one and at most two periods of the tick without an answer. Where the period
    changes, ``asked`` begins anew: what was asked in a short period is not held against the port in a long one.

    Members
    -------
    answers : In(1)
        In this cycle the port answers, or no answer is due: :func:`read_answers`, :func:`write_answers`.
    tick : In(1)
        High for one cycle per period.
    restart : In(1)
        The period has changed: ticks before this cycle were those of another one.
    silent : Out(1)
        The port is silent; high until it answers.
    """

    def __init__(self) -> None:
        super().__init__({"answers": In(1), "tick": In(1), "restart": In(1), "silent": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        answers = Signal(init=1)    # registered, because the port's signals settle late in a cycle
        asked = Signal()
        m.d.sync += answers.eq(self.answers)
        with m.If(answers):
            m.d.sync += [asked.eq(0), self.silent.eq(0)]
        with m.Elif(self.restart):
            m.d.sync += asked.eq(0)
        with m.Elif(self.tick):
            m.d.sync += [asked.eq(1), self.silent.eq(asked | self.silent)]
        return m


def read_answers(port: wiring.PureInterface) -> Value:
    """Whether the read channels of a port answer in this cycle, or no answer is due.

    The port must accept a request, and must send a beat while the master is ready for one. While a beat is valid that
    the master does not take, the master is the slow side, and the port need not accept a request.
    """
    return port.rvalid | (port.arvalid & port.arready) | ~(port.arvalid | port.rready)


def write_answers(port: wiring.PureInterface) -> Value:
    """Whether the write channels of a port answer in this cycle, or no answer is due.

    The port must accept a beat, and must respond while the master is ready for a response, which
    :class:`cdma.hdl.engine.axi.writer.AxiWriter` is from the last beat of a burst on. It need not accept an address
    alone: it may wait for the first beat of its burst.
    """
    return ((port.awvalid & port.awready) | (port.wvalid & port.wready) | (port.bvalid & port.bready)
            | ~(port.wvalid | port.bready))
