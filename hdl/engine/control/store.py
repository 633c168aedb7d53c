"""The registers that are kept in a memory: descriptor windows, counters and their snapshots."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import joined_sums, part_sums
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.descriptor import RECORD_WORDS
from cdma.hdl.engine.control.records import record_port
from cdma.hdl.engine.control.table import COUNTERS, DIRECTIONS
from cdma.hdl.engine.transfer.records import LENGTH_BITS, events_layout

__all__ = ["Command", "Store", "account_layout", "command_port"]

_WORD_BITS = 4
_AREA_BITS = 2
_LONGEST_ROUND = 2048
"""Greatest number of cycles between two updates of a counter in the memory: those of the 8 counters, and copies and
snapshots between them."""
_SUMS = 2
"""Number of counters, the first ones, that a transfer adds to when it ends; events increment the others."""


class _Area(enum.Enum, shape=_AREA_BITS):
    """Quarters of the memory."""

    WINDOW = 0
    RING = 1
    LIVE = 2
    SNAPSHOT = 3


class Command(enum.Enum, shape=2):
    """Commands from the bus."""

    WINDOW = 0
    """Read or write a word of a direction's window."""
    SNAPSHOT = 1
    """Read a word of a direction's snapshot."""
    PUSH = 2
    """Push a direction's window into its queue."""
    COUNT = 3
    """Take a snapshot, clear the counters, or both."""


def command_port() -> wiring.Signature:
    """The command port, as the bus side has it. A command is held until ``done``; ``read_data`` is valid with it.

    ``write`` and ``write_data`` belong to :attr:`Command.WINDOW`, ``snapshot`` and ``clear`` to :attr:`Command.COUNT`.
    """
    return wiring.Signature({
        "valid": Out(1), "kind": Out(Command), "direction": Out(1), "word": Out(_WORD_BITS), "write": Out(1),
        "write_data": Out(32), "snapshot": Out(1), "clear": Out(1), "done": In(1), "read_data": In(32),
    })


def account_layout() -> data.StructLayout:
    """What a transfer that succeeded adds to the counters; held from ``valid`` on until it has been added."""
    return data.StructLayout({"valid": 1, "raw_bytes": LENGTH_BITS, "packed_bytes": LENGTH_BITS})


class _State:
    """Registers that the states share, and the memory's ports.

    ``word`` is the current word of a record, or the current half of a counter, of ``direction``. Counters are updated
    for a command (``commanded``), for the totals of a transfer (``summed``), or otherwise for counted events.
    """

    def __init__(self, write: Any, read: Any) -> None:
        self.write, self.read = write, read
        self.direction = Signal(name="direction")
        self.word = Signal(_WORD_BITS, name="word")
        self.from_ring = Signal(name="from_ring")
        self.half, self.counter = self.word[0], self.word[1:]
        self.place = Cat(self.word, self.direction)
        self.held = Signal(32, name="held", reset_less=True)
        self.total = Signal(33, name="total", reset_less=True)
        self.taken = Signal(name="taken")
        self.commanded = Signal(name="commanded")
        self.summed = Signal(name="summed")
        self.turn = Signal(3, name="turn")
        self.total_in = Signal(32, name="total_in")
        self.parts = Signal(len(part_sums(self.held, self.total_in)), name="parts", reset_less=True)
        self.copies = Signal(name="copies")

    def at(self, area: _Area, where: Value | None = None) -> Value:
        """Address in an area of the memory, by default of the current word."""
        return Cat(self.place if where is None else where, Const(area.value, _AREA_BITS))


class Store(wiring.Component):
    """One memory of 128 words, and one state machine that does one operation on it at a time.

    ::

        fill --------------------\\
        command -- write --------+--> [memory, synchronous read] --+--> record --> (queues)
                                 |                                 +--> [register] --> read_data
        events --> [small, adds  |                                        |
        account --> up] ---------|--------------------------> [add] <-----+
                                 +-------------------------------+

    All descriptors enter the queues from here: from a window, or from the area where ring entries are collected.
    Counters are kept in the memory. Events are first counted in short registers, which are added to the memory in
    turn. After reset the memory is cleared, which takes 128 cycles.

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
        The entry has been pushed.
    record : Out(record_port())
        Writes a descriptor into the queue of ``direction``.
    direction, from_ring : Out(1)
        Direction of ``record``; whether it comes from a ring, not from a window.
    events : In(events_layout(config)).array(2)
        Events of each direction.
    busy : In(2)
        Directions that process a descriptor in this cycle.
    account : In(account_layout()).array(2)
        Bytes of a transfer that ended.
    accounted : Out(2)
        The bytes have been added.
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
        s = _State(write, read)
        small = self._events(m, s)
        m.d.comb += [
            self.command.read_data.eq(s.held),
            self.direction.eq(s.direction),
            self.from_ring.eq(s.from_ring),
            self.record.data.eq(s.read.data),
        ]
        self._addend(m, s, small)
        self._copied(m, s)
        with m.FSM(init="clear"):
            self._choose(m, s)
            self._records(m, s)
            self._counters(m, s)
        return m

    def _addend(self, m: Module, s: _State, small: Value) -> None:
        """The addend of the current counter: a transfer's totals, or the events counted for it."""
        bytes_ = Mux(s.counter[0], *(Mux(s.direction, self.account[1][name], self.account[0][name])
                                   for name in ("packed_bytes", "raw_bytes")))
        with m.If(~s.half):
            m.d.comb += s.total_in.eq(Mux(s.summed, bytes_[:32], Mux(s.counter < _SUMS, 0, small)))
        with m.Else():
            m.d.comb += s.total_in.eq(Mux(s.summed, bytes_[32:], 0))

    def _copied(self, m: Module, s: _State) -> None:
        """Writes the words that a copy reads to the queue of records, one cycle later."""
        copied = Signal(_WORD_BITS, reset_less=True)
        m.d.sync += [copied.eq(s.word), s.copies.eq(0)]
        m.d.comb += [
            self.record.write.eq(s.copies),
            self.record.word.eq(copied),
            self.record.push.eq(s.copies & (copied == RECORD_WORDS - 1)),
        ]

    def _choose(self, m: Module, s: _State) -> None:
        """States that clear the memory after reset and choose the next operation, in a fixed order of priority."""
        command = self.command
        with m.State("clear"):
            m.d.comb += [s.write.en.eq(1), s.write.addr.eq(Cat(s.place, s.turn[:_AREA_BITS]))]
            m.d.sync += Cat(s.place, s.turn).eq(Cat(s.place, s.turn) + 1)
            with m.If(Cat(s.place, s.turn[:_AREA_BITS]).all()):
                m.d.sync += s.turn.eq(0)
                m.next = "wait"
        with m.State("wait"):
            m.d.sync += [s.word.eq(0), s.from_ring.eq(0), s.commanded.eq(0), s.summed.eq(0)]
            with m.If(self.fill.valid):
                m.next = "fill"
            with m.Elif(self.push):
                m.d.sync += [s.direction.eq(self.push_direction), s.from_ring.eq(1)]
                m.next = "copy"
            with m.Elif(command.valid):
                m.d.sync += s.direction.eq(command.direction)
                with m.Switch(command.kind):
                    with m.Case(Command.PUSH):
                        m.next = "copy"
                    with m.Case(Command.COUNT):
                        m.d.sync += s.commanded.eq(1)
                        m.next = "read"
                    with m.Default():
                        m.d.sync += s.word.eq(command.word)
                        m.next = "access"
            with m.Elif(Cat(each.valid for each in self.account).any()):
                m.d.sync += [s.direction.eq(~self.account[0].valid), s.summed.eq(1)]
                m.next = "read"
            with m.Else():
                m.d.sync += [s.turn.eq(s.turn + 1), s.direction.eq(s.turn[2]), s.counter.eq(s.turn[:2] + _SUMS)]
                m.next = "read"

    def _records(self, m: Module, s: _State) -> None:
        """States that move words of records: from a ring, to a queue, and between bus and window."""
        command = self.command
        with m.State("fill"):
            m.d.comb += [
                self.fill.ready.eq(1),
                s.write.en.eq(self.fill.valid),
                s.write.addr.eq(s.at(_Area.RING, Cat(self.fill.word, Const(0, 1)))),
                s.write.data.eq(self.fill.data),
            ]
            with m.If(~self.fill.valid):
                m.next = "wait"
        with m.State("copy"):
            m.d.comb += [
                s.read.en.eq(1),
                s.read.addr.eq(Mux(s.from_ring, s.at(_Area.RING, Cat(s.word, Const(0, 1))), s.at(_Area.WINDOW))),
            ]
            m.d.sync += [s.copies.eq(1), s.word.eq(s.word + 1)]
            with m.If(s.word == RECORD_WORDS - 1):
                m.next = "done"
        with m.State("access"):
            m.d.comb += [
                s.write.en.eq(command.write),
                s.write.addr.eq(s.at(_Area.WINDOW)),
                s.write.data.eq(command.write_data),
                s.read.en.eq(1),
                s.read.addr.eq(Mux(command.kind == Command.SNAPSHOT, s.at(_Area.SNAPSHOT), s.at(_Area.WINDOW))),
            ]
            m.next = "show"
        with m.State("show"):
            m.d.sync += s.held.eq(s.read.data)
            m.next = "done"
        with m.State("done"):
            m.d.comb += [command.done.eq(~s.from_ring), self.pushed.eq(s.from_ring)]
            m.next = "wait"

    def _counters(self, m: Module, s: _State) -> None:
        """States that read a counter, add to it and write it back, one half of 32 bits after the other."""
        command = self.command
        with m.State("read"):
            m.d.comb += [s.read.en.eq(1), s.read.addr.eq(s.at(_Area.LIVE))]
            m.d.sync += s.taken.eq(~s.half & ~s.summed & (s.counter >= _SUMS))
            m.next = "hold"
        with m.State("hold"):
            m.d.sync += [s.parts.eq(part_sums(s.read.data, s.total_in)), s.taken.eq(0)]
            m.next = "add"
        with m.State("add"):
            m.d.sync += s.total.eq(joined_sums(s.parts, s.half & s.total[32]))
            m.next = "write"
        with m.State("write"):
            m.d.comb += [
                s.write.en.eq(1),
                s.write.addr.eq(s.at(_Area.LIVE)),
                s.write.data.eq(Mux(s.commanded & command.clear, 0, s.total[:32])),
            ]
            m.next = "snapshot"
        with m.State("snapshot"):
            m.d.comb += [
                s.write.en.eq(s.commanded & command.snapshot),
                s.write.addr.eq(s.at(_Area.SNAPSHOT)),
                s.write.data.eq(s.total[:32]),
            ]
            with m.If(~s.half):
                m.d.sync += s.half.eq(1)
                m.next = "read"
            with m.Else():
                m.d.sync += s.word.eq(s.word + 1)
                with m.If((s.commanded & (s.counter != len(COUNTERS) - 1)) | (s.summed & (s.counter != _SUMS - 1))):
                    m.next = "read"
                with m.Elif(s.commanded):
                    m.next = "done"
                with m.Else():
                    m.d.comb += self.accounted.eq(Cat(s.summed & ~s.direction, s.summed & s.direction))
                    m.next = "wait"

    def _events(self, m: Module, s: _State) -> Value:
        """Counts events in registers until ``taken``; returns the count of the current direction and counter."""
        counted = []
        for number, (busy, events) in enumerate(zip(self.busy, self.events)):
            for kind, event in enumerate((busy, events.link_busy, events.memory_stalls, events.buffer_stalls)):
                count = Signal(exact_log2(_LONGEST_ROUND) + len(event) - 1, name=f"count_{number}_{kind}")
                asked = Signal(name=f"asked_{number}_{kind}", reset_less=True)
                m.d.sync += [
                    asked.eq((s.direction == number) & (s.counter == kind + _SUMS)),
                    count.eq(Mux(s.taken & asked, 0, count) + event),
                ]
                counted.append(Mux(asked, count, 0))
        return Cat(*(Cat(each[bit] for each in counted if bit < len(each)).any()
                     for bit in range(max(map(len, counted)))))
