"""The memory of the registers: descriptor windows, and counters with their snapshots."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.config.engine import EngineConfig
from hdl.engine.control.descriptor import RECORD_WORDS
from hdl.engine.control.records import record_port
from hdl.engine.control.table import COUNTERS, DIRECTIONS
from hdl.engine.transfer.events import events_layout
from hdl.engine.transfer.records import LENGTH_BITS

__all__ = ["Command", "Store", "account_layout", "command_port"]

_WORD_BITS = 4
_AREA_BITS = 2
_LONGEST_ROUND = 2048
"""Cycles between two visits of a counter: 8 visits, and in between records that are moved and snapshots."""
_SUMS = 2
"""Counters, the first ones, that transfers add to when they end; events count up the others."""


class _Area(enum.Enum, shape=_AREA_BITS):
    """Quarters of the memory."""

    WINDOW = 0
    RING = 1
    LIVE = 2
    SNAPSHOT = 3


class Command(enum.Enum, shape=2):
    """What the bus may ask for."""

    WINDOW = 0
    """Read or write a word of a direction's window."""
    SNAPSHOT = 1
    """Read a word of a direction's snapshot."""
    PUSH = 2
    """Push a direction's window into its queue."""
    COUNT = 3
    """Take a snapshot, clear the counters, or both."""


def command_port() -> wiring.Signature:
    """Commands as the bus side has them: held until ``done``; ``read_data`` is right beside that.

    ``write`` and ``write_data`` are for windows, ``snapshot`` and ``clear`` for :attr:`Command.COUNT`.
    """
    return wiring.Signature({
        "valid": Out(1), "kind": Out(Command), "direction": Out(1), "word": Out(_WORD_BITS), "write": Out(1),
        "write_data": Out(32), "snapshot": Out(1), "clear": Out(1), "done": In(1), "read_data": In(32),
    })


def account_layout() -> data.StructLayout:
    """What a transfer that succeeded adds to the counters; held from ``valid`` on until it was added."""
    return data.StructLayout({"valid": 1, "raw_bytes": LENGTH_BITS, "packed_bytes": LENGTH_BITS})


class Store(wiring.Component):
    """One memory of 128 words, and one small machine that does everything with it, one thing at a time.

    ::

        fill --------------------\\
        command -- write --------+--> [memory, synchronous read] --+--> record --> (queues)
                                 |                                 +--> [register] --> read_data
        events --> [small, adds  |                                        |
        account --> up] ---------|--------------------------> [add] <-----+
                                 +-------------------------------+

    Descriptors go into the queues from here only, from a window or from the place where ring entries are gathered.
    Counters live in the memory; beside it events are counted in a few bits, which a walk adds to the memory in turn.
    After reset the memory is cleared, which takes 128 cycles.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    command : In(command_port())
        From the bus.
    fill : In
        Words of a ring's entry: ``valid``, ``word``, ``data``; taken with ``ready``.
    push, push_direction : In
        Push the entry into a direction's queue; held until ``pushed``.
    pushed : Out(1)
        That was done.
    record : Out(record_port())
        Into the queue of ``direction``; ``from_ring`` tells which of both it is.
    events : In(events_layout(config)).array(2)
        Events of each direction, and ``busy``, cycles with a descriptor at work.
    account : In(account_layout()).array(2)
        Bytes of a transfer that ended.
    accounted : Out(2)
        They were added.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "command": In(command_port()),
            "fill": In(wiring.Signature({"valid": Out(1), "word": Out(_WORD_BITS), "data": Out(32), "ready": In(1)})),
            "push": In(1), "push_direction": In(1), "pushed": Out(1),
            "record": Out(record_port()), "direction": Out(1), "from_ring": Out(1),
            "events": In(events_layout(config)).array(len(DIRECTIONS)), "busy": In(len(DIRECTIONS)),
            "account": In(account_layout()).array(len(DIRECTIONS)), "accounted": Out(len(DIRECTIONS)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=32, depth=RECORD_WORDS * 2 << _AREA_BITS, init=[])
        write, read = memory.write_port(), memory.read_port()
        command = self.command

        direction = Signal()
        word = Signal(_WORD_BITS)
        from_ring = Signal()
        half, counter = word[0], word[1:]
        place = Cat(word, direction)
        held = Signal(32, reset_less=True)
        total = Signal(33, reset_less=True)
        taken = Signal()
        small = self._events(m, direction, counter, taken)
        m.d.comb += [
            command.read_data.eq(held),
            self.direction.eq(direction),
            self.from_ring.eq(from_ring),
            self.record.data.eq(read.data),
        ]

        # What is done with a counter: all of a direction on a command, those of a transfer, or one of the walk.
        commanded = Signal()
        summed = Signal()
        turn = Signal(3)
        total_in = Signal(32)
        addend = Signal(32, reset_less=True)
        bytes_ = Mux(counter[0], *(Mux(direction, self.account[1][name], self.account[0][name])
                                   for name in ("packed_bytes", "raw_bytes")))
        with m.If(~half):
            m.d.comb += total_in.eq(Mux(summed, bytes_[:32], Mux(counter < _SUMS, 0, small)))
        with m.Else():
            m.d.comb += total_in.eq(Mux(summed, bytes_[32:], 0))
        copied = Signal(_WORD_BITS, reset_less=True)
        copies = Signal()
        m.d.sync += [copied.eq(word), copies.eq(0)]
        m.d.comb += [
            self.record.write.eq(copies),
            self.record.word.eq(copied),
            self.record.push.eq(copies & (copied == RECORD_WORDS - 1)),
        ]

        def at(area: _Area, where: Value = place) -> Value:
            return Cat(where, Const(area.value, _AREA_BITS))

        with m.FSM(init="clear"):
            with m.State("clear"):
                m.d.comb += [write.en.eq(1), write.addr.eq(Cat(place, turn[:_AREA_BITS]))]
                m.d.sync += Cat(place, turn).eq(Cat(place, turn) + 1)
                with m.If(Cat(place, turn[:_AREA_BITS]).all()):
                    m.d.sync += turn.eq(0)
                    m.next = "wait"
            with m.State("wait"):
                m.d.sync += [word.eq(0), from_ring.eq(0), commanded.eq(0), summed.eq(0)]
                with m.If(self.fill.valid):
                    m.next = "fill"
                with m.Elif(self.push):
                    m.d.sync += [direction.eq(self.push_direction), from_ring.eq(1)]
                    m.next = "copy"
                with m.Elif(command.valid):
                    m.d.sync += direction.eq(command.direction)
                    with m.Switch(command.kind):
                        with m.Case(Command.PUSH):
                            m.next = "copy"
                        with m.Case(Command.COUNT):
                            m.d.sync += commanded.eq(1)
                            m.next = "read"
                        with m.Default():
                            m.d.sync += word.eq(command.word)
                            m.next = "access"
                with m.Elif(Cat(each.valid for each in self.account).any()):
                    m.d.sync += [direction.eq(~self.account[0].valid), summed.eq(1)]
                    m.next = "read"
                with m.Else():
                    m.d.sync += [turn.eq(turn + 1), direction.eq(turn[2]), counter.eq(turn[:2] + _SUMS)]
                    m.next = "read"
            with m.State("fill"):
                m.d.comb += [
                    self.fill.ready.eq(1),
                    write.en.eq(self.fill.valid),
                    write.addr.eq(at(_Area.RING, Cat(self.fill.word, Const(0, 1)))),
                    write.data.eq(self.fill.data),
                ]
                with m.If(~self.fill.valid):
                    m.next = "wait"
            with m.State("copy"):
                m.d.comb += [
                    read.en.eq(1),
                    read.addr.eq(Mux(from_ring, at(_Area.RING, Cat(word, Const(0, 1))), at(_Area.WINDOW))),
                ]
                m.d.sync += [copies.eq(1), word.eq(word + 1)]
                with m.If(word == RECORD_WORDS - 1):
                    m.next = "done"
            with m.State("access"):
                m.d.comb += [
                    write.en.eq(command.write),
                    write.addr.eq(at(_Area.WINDOW)),
                    write.data.eq(command.write_data),
                    read.en.eq(1),
                    read.addr.eq(Mux(command.kind == Command.SNAPSHOT, at(_Area.SNAPSHOT), at(_Area.WINDOW))),
                ]
                m.next = "show"
            with m.State("show"):
                m.d.sync += held.eq(read.data)
                m.next = "done"
            with m.State("done"):
                m.d.comb += [command.done.eq(~from_ring), self.pushed.eq(from_ring)]
                m.next = "wait"

            with m.State("read"):
                m.d.comb += [read.en.eq(1), read.addr.eq(at(_Area.LIVE))]
                m.next = "hold"
            with m.State("hold"):
                m.d.comb += taken.eq(~half & ~summed & (counter >= _SUMS))
                m.d.sync += [held.eq(read.data), addend.eq(total_in)]
                m.next = "add"
            with m.State("add"):
                m.d.sync += total.eq(held + addend + (half & total[32]))
                m.next = "write"
            with m.State("write"):
                m.d.comb += [
                    write.en.eq(1),
                    write.addr.eq(at(_Area.LIVE)),
                    write.data.eq(Mux(commanded & command.clear, 0, total[:32])),
                ]
                m.next = "snapshot"
            with m.State("snapshot"):
                m.d.comb += [
                    write.en.eq(commanded & command.snapshot),
                    write.addr.eq(at(_Area.SNAPSHOT)),
                    write.data.eq(total[:32]),
                ]
                with m.If(~half):
                    m.d.sync += half.eq(1)
                    m.next = "read"
                with m.Else():
                    m.d.sync += word.eq(word + 1)
                    with m.If((commanded & (counter != len(COUNTERS) - 1)) | (summed & (counter != _SUMS - 1))):
                        m.next = "read"
                    with m.Elif(commanded):
                        m.next = "done"
                    with m.Else():
                        m.d.comb += self.accounted.eq(Cat(summed & ~direction, summed & direction))
                        m.next = "wait"
        return m

    def _events(self, m: Module, direction: Value, counter: Value, taken: Value) -> Value:
        """Counts events until they are taken; what was counted of the one that is asked for."""
        counted = []
        for number, (busy, events) in enumerate(zip(self.busy, self.events)):
            for kind, event in enumerate((busy, events.link_busy, events.memory_stalls, events.buffer_stalls)):
                count = Signal(exact_log2(_LONGEST_ROUND) + len(event) - 1, name=f"count_{number}_{kind}")
                asked = (direction == number) & (counter == kind + _SUMS)
                m.d.sync += count.eq(Mux(taken & asked, 0, count) + event)
                counted.append(Mux(asked, count, 0))
        return Cat(*(Cat(each[bit] for each in counted if bit < len(each)).any()
                     for bit in range(max(map(len, counted)))))
