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
_LONGEST_ROUND = 1024
"""Greatest number of cycles between two updates of a counter in the memory. After half of them it goes before all else:
it waits for one operation, of 40 cycles at most, and for up to 8 counters."""
_SUMS = 2
"""Number of counters, the first ones, that a transfer adds to when it ends; events increment the others."""


class _Area(enum.Enum, shape=_AREA_BITS):
    """Quarters of the memory."""

    WINDOW = 0
    RING = 1
    LIVE = 2
    SNAPSHOT = 3


class _Choice(enum.Enum, shape=2):
    """Kinds of operations."""

    ENDED = 0
    ENTRY = 1
    COMMAND = 2
    EVENTS = 3


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

    ``word`` is the current word of a record, or the half of a counter that is read, of ``direction``. Counters are
    updated for a command (``commanded``), for the totals of a transfer (``summed``), or otherwise for counted events.
    ``words`` and ``valid`` are of the halves that are added to, one to three cycles after they were read.
    """

    def __init__(self, write: Any, read: Any) -> None:
        self.write, self.read = write, read
        self.direction = Signal(name="direction")
        self.word = Signal(_WORD_BITS, name="word")
        self.from_ring = Signal(name="from_ring")
        self.place = Cat(self.word, self.direction)
        self.words = [Signal(_WORD_BITS, name=f"word_{number}", reset_less=True) for number in range(1, 4)]
        self.valid = Signal(4, name="valid")
        self.second = Signal(name="second")
        self.latest = Signal(name="latest")
        self.chosen, self.last = Signal(_Choice, name="chosen"), Signal(_Choice, name="last")
        self.held = Signal(32, name="held", reset_less=True)
        self.total = Signal(33, name="total", reset_less=True)
        self.commanded = Signal(name="commanded")
        self.summed = Signal(name="summed")
        self.turn = Signal(3, name="turn")
        self.total_in = Signal(32, name="total_in")
        self.parts = Signal(len(part_sums(self.held, self.total_in)), name="parts", reset_less=True)
        self.copies, self.fills = Signal(name="copies"), Signal(name="fills")

    def at(self, area: _Area, where: Value | None = None) -> Value:
        """Address in an area of the memory, by default of the current word."""
        return Cat(self.place if where is None else where, Const(area.value, _AREA_BITS))

    def is_last(self) -> Value:
        """Whether ``word`` is the last half of what is updated."""
        return self.word[0] & Mux(self.commanded, self.word[1:] == len(COUNTERS) - 1,
                                  ~self.summed | (self.word[1:] == _SUMS - 1))


class Store(wiring.Component):
    """One memory of 128 words, and one state machine that does one operation on it at a time.

    ::

        fill --------------------\\              fill (several ahead) --\\
        command -- write --------+--> [memory, synchronous read] --+--> record --> (queues)
                                 |                                 +--> [register] --> read_data
        events --> [small, adds  |                                        |
        account --> up] ---------|--------------------------> [add] <-----+
                                 +-------------------------------+

    All descriptors enter the queues from here: from a window, or from a ring. If the engine reads several entries of
    rings ahead, all words of an entry are there when it is offered, and go to the queue one after the other; else they
    are collected in the memory first.
    Counters are kept in the memory, in halves of 32 bits; one is read in each cycle, and written three cycles later.
    Events are first counted in short registers, which are added to the memory in turn. After reset the memory is
    cleared, which takes 128 cycles.

    Cycles: an entry of a ring 17 (36 if it is collected), the bytes of a transfer 8, a window's push 18, a word 4,
    counters 29. What asks waits for one operation of each other kind at most, and for events that are overdue.

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
        Direction of the entry. Push it into the queue of that; held until ``pushed``. With several entries ahead it is
        pushed with its last word, and ``push`` is not used.
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
        small, overdue = self._events(m, s)
        m.d.comb += [
            self.command.read_data.eq(s.held),
            self.direction.eq(s.direction),
            self.from_ring.eq(s.from_ring),
        ]
        self._addend(m, s, small)
        self._copied(m, s)
        self._add(m, s)
        self._arbitrate(m, s, overdue)
        with m.FSM(init="clear"):
            self._choose(m, s)
            self._records(m, s)
            self._counters(m, s)
        return m

    def _addend(self, m: Module, s: _State, small: Value) -> None:
        """The addend of the current counter: a transfer's totals, or the events counted for it."""
        half, counter = s.words[0][0], s.words[0][1:]
        bytes_ = Mux(counter[0], *(Mux(s.direction, self.account[1][name], self.account[0][name])
                                   for name in ("packed_bytes", "raw_bytes")))
        with m.If(~half):
            m.d.comb += s.total_in.eq(Mux(s.summed, bytes_[:32], Mux(counter < _SUMS, 0, small)))
        with m.Else():
            m.d.comb += s.total_in.eq(Mux(s.summed, bytes_[32:], 0))

    def _add(self, m: Module, s: _State) -> None:
        """Adds to the halves of counters that were read, and writes them back; a snapshot one cycle later."""
        read, added, written, _ = s.valid
        m.d.sync += [s.valid[1:].eq(s.valid[:-1]), s.valid[0].eq(0), Cat(s.words).eq(Cat(s.word, *s.words[:-1]))]
        with m.If(read):
            m.d.sync += s.parts.eq(part_sums(s.read.data, s.total_in))
        with m.If(added):
            m.d.sync += s.total.eq(joined_sums(s.parts, s.words[1][0] & s.total[32]))
        with m.If(written):
            m.d.comb += [
                s.write.en.eq(1),
                s.write.addr.eq(s.at(_Area.LIVE, Cat(s.words[2], s.direction))),
                s.write.data.eq(Mux(s.commanded & self.command.clear, 0, s.total[:32])),
            ]
        with m.Elif(s.valid[3] & s.commanded & self.command.snapshot):
            m.d.comb += [
                s.write.en.eq(1),
                s.write.addr.eq(s.at(_Area.SNAPSHOT, Cat(s.words[2], s.direction))),
                s.write.data.eq(s.total[:32]),
            ]

    def _copied(self, m: Module, s: _State) -> None:
        """Writes the words that a copy reads to the queue of records, one cycle later."""
        copied = Signal(_WORD_BITS, reset_less=True)
        m.d.sync += [copied.eq(s.word), s.copies.eq(0)]
        m.d.comb += [
            self.record.write.eq(s.copies | s.fills),
            self.record.word.eq(Mux(s.fills, self.fill.word, copied)),
            self.record.data.eq(Mux(s.fills, self.fill.data, s.read.data)),
            self.record.push.eq(self.record.write & (self.record.word == RECORD_WORDS - 1)),
        ]

    def _arbitrate(self, m: Module, s: _State, overdue: list[Value]) -> None:
        """Chooses the kind of the next operation: each in turn of those that ask, events if they are overdue or nothing
        asks."""
        asks = {_Choice.ENDED: Cat(each.valid for each in self.account).any(),
                _Choice.ENTRY: self.fill.valid | self.push, _Choice.COMMAND: self.command.valid}
        m.d.comb += s.chosen.eq(_Choice.EVENTS)
        with m.If(~Cat(overdue).any()), m.Switch(s.last):
            for last in asks:
                with m.Case(last):
                    # The later assignment wins: that of the kind after the last one.
                    for chosen in sorted(asks, key=lambda kind: (last.value - kind.value) % len(asks)):
                        with m.If(asks[chosen]):
                            m.d.comb += s.chosen.eq(chosen)

    def _choose(self, m: Module, s: _State) -> None:
        """States that clear the memory after reset, and begin the chosen operation."""
        with m.State("clear"):
            m.d.comb += [s.write.en.eq(1), s.write.addr.eq(Cat(s.place, s.turn[:_AREA_BITS]))]
            m.d.sync += Cat(s.place, s.turn).eq(Cat(s.place, s.turn) + 1)
            with m.If(Cat(s.place, s.turn[:_AREA_BITS]).all()):
                m.d.sync += s.turn.eq(0)
                m.next = "wait"
        with m.State("wait"):
            m.d.sync += [s.word.eq(0), s.from_ring.eq(0), s.commanded.eq(0), s.summed.eq(0)]
            self._begin(m, s)

    def _begin(self, m: Module, s: _State) -> None:
        """Begins the chosen operation."""
        command = self.command
        ended = Cat(each.valid for each in self.account)
        with m.Switch(s.chosen):
            with m.Case(_Choice.ENDED):
                direction = Mux(ended.all(), ~s.latest, ended[1])
                m.d.sync += [s.last.eq(s.chosen), s.direction.eq(direction), s.latest.eq(direction), s.summed.eq(1)]
                m.next = "count"
            with m.Case(_Choice.ENTRY):
                m.d.sync += [s.last.eq(s.chosen), s.direction.eq(self.push_direction), s.from_ring.eq(1)]
                m.next = "fill"
                with m.If(~self.fill.valid):
                    m.next = "copy"
            with m.Case(_Choice.COMMAND):
                m.d.sync += [s.last.eq(s.chosen), s.direction.eq(command.direction)]
                with m.Switch(command.kind):
                    with m.Case(Command.PUSH):
                        m.next = "copy"
                    with m.Case(Command.COUNT):
                        m.d.sync += s.commanded.eq(1)
                        m.next = "count"
                    with m.Default():
                        m.d.sync += s.word.eq(command.word)
                        m.next = "access"
            with m.Default():
                m.d.sync += [s.turn.eq(s.turn + 1), s.direction.eq(s.turn[2]), s.word[1:].eq(s.turn[:2] + _SUMS)]
                m.next = "count"

    def _records(self, m: Module, s: _State) -> None:
        """States that move words of records: from a ring, to a queue, and between bus and window."""
        command = self.command
        with m.State("fill"):
            m.d.comb += self.fill.ready.eq(1)
            if self._config.entries_ahead > 1:
                m.d.comb += s.fills.eq(self.fill.valid)
                with m.If(self.record.push):
                    m.next = "wait"
            else:
                m.d.comb += [
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
        """States that read the halves of counters, in every second cycle if both they and a snapshot are written."""
        with m.State("count"):
            m.d.comb += [s.read.en.eq(~s.second), s.read.addr.eq(s.at(_Area.LIVE))]
            m.d.sync += s.second.eq(s.commanded & ~s.second)
            with m.If(~s.second):
                m.d.sync += s.valid[0].eq(1)
            with m.If(~s.commanded | s.second):
                m.d.sync += s.word.eq(s.word + 1)
                with m.If(s.is_last()):
                    m.next = "end"
        with m.State("end"), m.If(~s.valid[:2].any() & ~(s.commanded & s.valid[2])):
            m.d.comb += self.accounted.eq(Cat(s.summed & ~s.direction, s.summed & s.direction))
            m.next = "wait"
            with m.If(s.commanded):
                m.next = "done"

    def _events(self, m: Module, s: _State) -> tuple[Value, list[Value]]:
        """Counts events in registers until they are added; returns the count of the current direction and counter, and
        which are half full."""
        counted, overdue = [], []
        taken = s.valid[0] & ~s.words[0][0] & ~s.summed
        for number, (busy, events) in enumerate(zip(self.busy, self.events)):
            for kind, event in enumerate((busy, events.link_busy, events.memory_stalls, events.buffer_stalls)):
                count = Signal(exact_log2(_LONGEST_ROUND) + len(event) - 1, name=f"count_{number}_{kind}")
                asked = Signal(name=f"asked_{number}_{kind}", reset_less=True)
                m.d.sync += [
                    asked.eq((s.direction == number) & (s.word[1:] == kind + _SUMS)),
                    count.eq(Mux(taken & asked, 0, count) + event),
                ]
                counted.append(Mux(asked, count, 0))
                overdue.append(count[-1])
        return Cat(*(Cat(each[bit] for each in counted if bit < len(each)).any()
                     for bit in range(max(map(len, counted))))), overdue
