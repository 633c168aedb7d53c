"""Connects write-back rings with the channels, the register bank and the interrupt."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data

from cdma.hdl.engine.control.bank import Bank
from cdma.hdl.engine.control.channel import Channel
from cdma.hdl.engine.control.table import DIRECTIONS
from cdma.hdl.engine.control.write_back_rings import WRITE_BACK_REGISTERS, WriteBackRings

__all__ = ["join_channel", "pulses", "report_records"]


def join_channel(m: Module, bank: Bank, number: int, channel: Channel, records: WriteBackRings, popped: Value,
                 refused: Value) -> Value:
    """Gives the completions of a channel to its write-back ring while that is enabled, and the ring's registers to the
    bus.

    The register window has no completion then.

    Parameters
    ----------
    m : Module
        Where the statements go, behind those that give the completions to the bus.
    bank : Bank
        The registers.
    number : int
        The direction's.
    channel : Channel
        The channel.
    records : WriteBackRings
        The rings.
    popped, refused : Value
        The bus asks for the removal of a completion; the writes that are refused without a write-back ring.

    Returns
    -------
    Value
        The writes that are refused, in the order of the fields of the register REFUSED.
    """
    name, values = DIRECTIONS[number], records.values[number]
    ring = values.ring
    enabled = ring.enable
    before = Signal(name=f"{name}_recorded")        # a word that is shown was asked for in the cycle before
    m.d.sync += before.eq(enabled)
    with m.If(enabled):
        m.d.comb += [
            channel.word.eq(records.word), channel.pop.eq(records.pop[number]), channel.step.eq(records.step[number]),
            channel.back.eq(records.back[number]),
            bank.values[f"{name}_completions"].count.eq(0),
        ]
    with m.If(enabled | before):
        m.d.comb += bank.completion[number].eq(0)

    def value(register: str) -> data.View:
        return bank.values[f"{name}_write_back_{register}"]

    low = len(value("base_lo").address)
    m.d.comb += [
        value("base_lo").address.eq(ring.base[:low]), value("base_hi").address.eq(ring.base[low:]),
        value("size").records.eq(ring.size), value("head").index.eq(ring.tail), value("tail").index.eq(ring.head),
        value("control").enable.eq(enabled), value("status").waiting.eq(channel.completions),
        value("status").phase.eq(values.phase), value("status").full.eq(values.full),
        value("coalesce").count.eq(values.count), value("time").cycles.eq(values.time),
        *(records.write[number][register].eq(bank.written[f"{name}_write_back_{register}"])
          for register in WRITE_BACK_REGISTERS),
        records.waiting[number].eq(channel.completions), records.completion[number].eq(channel.completion),
        records.interrupt[number].eq(channel.interrupt),
    ]
    return Cat(refused[0], refused[1] | (popped & enabled), refused[2], records.refuse[number])


def report_records(m: Module, happened: data.View, records: WriteBackRings) -> None:
    """Makes completions that become records events of the interrupt when the records are in memory.

    ``happened`` has the fields of IRQ_STATUS, and already the events of the channels.
    """
    for number, name in enumerate(DIRECTIONS):
        with m.If(records.values[number].ring.enable):
            m.d.comb += [happened[f"{name}_completion"].eq(0),
                         happened[f"{name}_error"].eq(records.causes.error[number])]
        with m.If(records.causes.completion[number]):
            m.d.comb += happened[f"{name}_completion"].eq(1)
        m.d.comb += happened[f"{name}_write_back_error"].eq(records.causes.failed[number])


def pulses(m: Module, happened: Value, status: Value, enable: Value, touched: Value, pulse: Value) -> Value:
    """When the interrupt has a pulse, for bridges that send a message for each: for every event that is enabled, and
    after every write of the interrupt registers that leaves such an event.

    Parameters
    ----------
    m : Module
        Where the logic goes.
    happened, status, enable : Value
        Events of this cycle, and the interrupt registers.
    touched : Value
        The bus writes an interrupt register.
    pulse : Value
        There is a pulse in this cycle. One that is due then comes a cycle later.

    Returns
    -------
    Value
        There is a pulse in the next cycle.
    """
    written, due, asks = Signal(name="interrupt_written"), Signal(name="pulse_due"), Signal(name="asks_pulse")
    m.d.sync += [written.eq(touched), due.eq(asks & pulse)]
    m.d.comb += asks.eq((happened & enable).any() | (written & (status & enable).any()) | due)
    return asks & ~pulse
