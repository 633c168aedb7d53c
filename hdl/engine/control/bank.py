"""The register bank: decodes bus accesses, checks them and answers them."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.lite import register_port
from cdma.hdl.engine.control.register import Access, Home, Register
from cdma.hdl.engine.control.store import Command, command_port
from cdma.hdl.engine.control.table import ADDRESS_BITS, DIRECTIONS, PAGE_BITS, registers, reserved

__all__ = ["Bank", "fields_layout", "own"]

_KEPT = {Home.WINDOW: Command.WINDOW, Home.SNAPSHOT: Command.SNAPSHOT}


def fields_layout(register: Register) -> data.FlexibleLayout:
    """The 32 bits of a register as a record of its fields."""
    return data.FlexibleLayout(32, {field.name.lower(): data.Field(field.width, field.lsb)
                                    for field in register.fields})


def own(record: data.View, name: str) -> data.View:
    """What belongs to one direction, by its own name: ``own(bank.values, "offload").queue`` is ``offload_queue``.

    The record is one of registers, or of the bits of a register that both directions share.
    """
    layout = {field: record.shape()[field] for field, _ in record.shape()}
    return data.View(data.FlexibleLayout(record.shape().size, {
        field.removeprefix(f"{name}_"): place for field, place in layout.items() if field.startswith(f"{name}_")}),
        Value.cast(record))


class Bank(wiring.Component):
    """Decodes accesses from the register table.

    ::

        port --> [decode] --+--> written (a bit for each register that logic keeps)
                            +--> command --> (store)
                            +--> [choose] --> [register] --> port

    In the pipeline ``fast`` there is a register behind what is decoded, too: an access takes a cycle more.

    An access is answered with an error and changes nothing if there is no such register, if it writes a read-only
    register, if it writes some of the four bytes only, or if the register's owner refuses it.

    A bus of 64 bits behind a converter makes two accesses of each, of which one may be meant for nothing. So a write
    of no byte does nothing anywhere, and beside a register that is alone in its 8 bytes a place reads 0 and ignores
    writes: neither is an error.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    port : In(register_port(12))
        The bus.
    values : In
        Fields of each readable register that is kept in logic, by its name in small letters.
    written : Out
        A bit for each writable register that is kept in logic, high for the one cycle of the write.
    data : Out(32)
        The value written, in that cycle.
    refuse : In(1)
        In that cycle: the write is refused.
    push, count : In(1)
        In that cycle: the write makes the store push a window, or take a snapshot or clear counters.
    completion : In(data.ArrayLayout(32, 2))
        Word of the oldest completion of each direction, one cycle after its number was in the lowest bits of
        ``port.address``.
    command : Out(command_port())
        To the store.
    idle : Out(1)
        No access is in progress.
    """

    def __init__(self, config: EngineConfig):
        self._fast = config.pipeline == "fast"
        self._table = registers(config)
        logic = [register for register in self._table if register.home is Home.LOGIC]
        super().__init__({
            "port": In(register_port(ADDRESS_BITS)),
            "values": In(data.StructLayout({
                register.name.lower(): fields_layout(register) for register in logic
                if register.access is not Access.WO})),
            "written": Out(data.StructLayout({
                register.name.lower(): 1 for register in logic if register.access is not Access.RO})),
            "data": Out(32), "refuse": In(1), "push": In(1), "count": In(1),
            "completion": In(data.ArrayLayout(32, len(DIRECTIONS))),
            "command": Out(command_port()), "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, command = self.port, self.command
        writes = Signal()
        known = Signal()
        void = Signal()
        allowed = Signal()
        shown = Signal(32)
        kept = Signal()
        kind = Signal(Command)
        asked = Signal(Command)
        direction = port.address[exact_log2(2 << PAGE_BITS) - 2]
        now = Signal()
        decoded, hit = m.d.comb, self.written
        if self._fast:
            decoded, hit = m.d.sync, Signal.like(self.written, name="hit")
            decoded += [known.eq(0), shown.eq(0), kept.eq(0), asked.eq(0), Value.cast(hit).eq(0)]
            m.d.comb += Value.cast(self.written).eq(Mux(now, hit, 0))
        m.d.comb += self.data.eq(port.write_data)
        decoded += void.eq(writes & ~port.write_strobe.any())
        m.d.comb += [
            allowed.eq(void | (known & (~writes | port.write_strobe.all()) & ~self.refuse)),
            command.kind.eq(kind),
            command.direction.eq(direction),
            command.word.eq(port.address),
            command.write.eq(writes),
            command.write_data.eq(port.write_data),
            Cat(command.snapshot, command.clear).eq(port.write_data),
        ]
        with m.Switch(port.address):
            for register in self._table:
                name = register.name.lower()
                with m.Case(register.offset // 4):
                    decoded += known.eq(~writes if register.access is Access.RO else 1)
                    if register.home is Home.CONSTANT:
                        decoded += shown.eq(register.reset)
                    elif register.home is Home.COMPLETION:
                        decoded += shown.eq(self.completion[direction])
                    elif register.home in _KEPT:
                        decoded += [kept.eq(1), asked.eq(_KEPT[register.home])]
                    else:
                        if register.access is not Access.WO:
                            decoded += shown.eq(Value.cast(self.values[name]))
                        if register.access is not Access.RO:
                            decoded += hit[name].eq((writes if self._fast else now & writes) & port.write_strobe.all())
            with m.Case(*(offset // 4 for offset in reserved(self._table))):
                decoded += void.eq(1)
        with m.FSM() as fsm:
            m.d.comb += self.idle.eq(fsm.ongoing("wait") & ~port.write & ~port.read)
            with m.State("wait"):
                m.d.sync += writes.eq(port.write)
                with m.If(port.write | port.read):
                    m.next = "look up" if self._fast else "decode"
            if self._fast:
                with m.State("look up"):
                    m.next = "decode"
            with m.State("decode"):
                m.d.comb += now.eq(1)
                m.d.sync += [
                    port.read_data.eq(shown),
                    port.error.eq(~allowed),
                    kind.eq(Mux(self.push, Command.PUSH, Mux(self.count, Command.COUNT, asked))),
                ]
                m.next = "answer"
                with m.If(allowed & ~void & (kept | self.push | self.count)):
                    m.next = "ask"
            with m.State("ask"):
                m.d.comb += command.valid.eq(1)
                with m.If(command.done):
                    m.d.sync += port.read_data.eq(command.read_data)
                    m.next = "answer"
            with m.State("answer"):
                m.d.comb += port.ack.eq(1)
                m.next = "wait"
        return m
