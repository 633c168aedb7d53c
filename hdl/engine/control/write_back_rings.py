"""The write-back rings of both directions: their registers, the unit that writes records, when it is reported, and how
they are joined to channels, register bank and interrupt."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import window_layout
from cdma.hdl.engine.axi.signature import axi_write
from cdma.hdl.engine.control.bank import Bank, own
from cdma.hdl.engine.control.channel import Channel
from cdma.hdl.engine.control.coalescer import Coalescer
from cdma.hdl.engine.control.descriptor import RECORD_WORDS
from cdma.hdl.engine.control.ring import Ring, ring_layout
from cdma.hdl.engine.control.table import COALESCE_BITS, DIRECTIONS, TIME_BITS
from cdma.hdl.engine.control.write_back import WriteBack

__all__ = ["WriteBackRings", "join_channel", "pulses", "report_records", "write_back_layout"]

_REGISTERS = ("base_lo", "base_hi", "size", "head", "control", "coalesce", "time")
"""The registers of a direction that can be written, in small letters."""


def write_back_layout(config: EngineConfig) -> data.StructLayout:
    """Registers of a direction. ``ring``: of its ring, whose ``tail`` is the register HEAD, and ``head`` is TAIL."""
    return data.StructLayout({"ring": ring_layout(config), "phase": 1, "full": 1, "count": COALESCE_BITS,
                              "time": TIME_BITS})


class WriteBackRings(wiring.Component):
    """Takes the completions of directions whose ring is enabled, and writes them to the rings.

    ::

        registers --> [ring] of each direction --> [write-back] --> axi
                                                   ^     |   |
        completions of each direction -------------+     |   +--> step, pop, back
                                                         v
                               [coalescer] of each direction --> completion; error; failed

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    write : In
        One bit for each of ``_REGISTERS`` of each direction that is written in this cycle with ``data``; in
        every third cycle at most.
    data : In(32)
        The value written.
    window : In(window_layout(config.address_bits))
        The link's window, if windows are built.
    refuse : Out(2)
        In the cycle of a write: the write is not allowed, and changes nothing.
    values : Out(write_back_layout(config)).array(2)
        Values of the registers.
    waiting : In(range(queue_depth + 1)).array(2)
        Completions of each direction.
    word, completion : Out(4), In(32).array(2)
        Number of a word of the completions that are read; in the next cycle that word.
    step, back : Out(2)
        Read the next completion; read the oldest one again.
    interrupt : In(2)
        The descriptor of the oldest completion has the flag ``interrupt``.
    hold : In(1)
        Begin no more records.
    pop : Out(2)
        The oldest completion was written; remove it.
    causes : Out
        What happens in this cycle, by direction: records are to be reported; one with an error was written; one could
        not be written.
    axi : Out(axi_write(address_bits, link_beat_bytes))
        Link memory.
    silent, isolated, idle
        As in :class:`cdma.hdl.engine.control.write_back.WriteBack`.
    soft_reset : In(1)
        Put the registers back; in a cycle in which the unit is idle.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        both = len(DIRECTIONS)
        super().__init__({
            "write": In(data.ArrayLayout(data.StructLayout(dict.fromkeys(_REGISTERS, 1)), both)),
            "data": In(32), "refuse": Out(both), "values": Out(write_back_layout(config)).array(both),
            "waiting": In(range(config.queue_depth + 1)).array(both), "word": Out(exact_log2(RECORD_WORDS)),
            "completion": In(32).array(both), "step": Out(both), "back": Out(both),
            "interrupt": In(both), "hold": In(1), "pop": Out(both),
            "causes": Out(data.StructLayout(dict.fromkeys(("completion", "error", "failed"), both))),
            "axi": Out(axi_write(config.address_bits, config.link_beat_bytes)),
            "silent": In(1), "isolated": Out(1), "idle": Out(1), "soft_reset": In(1),
            **({"window": In(window_layout(config.address_bits))} if config.address_windows else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        renew = ResetInserter(self.soft_reset)
        m.submodules.writer = writer = WriteBack(self._config)
        wiring.connect(m, writer.axi, wiring.flipped(self.axi))
        m.d.comb += [
            writer.silent.eq(self.silent), self.isolated.eq(writer.isolated), self.idle.eq(writer.idle),
            self.word.eq(writer.word), self.step.eq(writer.step), self.back.eq(writer.back),
            self.pop.eq(writer.advance), self.causes.failed.eq(writer.fail),
            self.causes.error.eq(writer.advance & writer.bad.replicate(len(writer.advance))),
        ]
        for number, name in enumerate(DIRECTIONS):
            ring, coalescer = Ring(self._config, writes=True), Coalescer()
            m.submodules[f"{name}_ring"] = renew(ring)
            m.submodules[f"{name}_coalescer"] = renew(coalescer)
            write, values = self.write[number], self.values[number]
            if self._config.address_windows:
                m.d.comb += ring.window.eq(self.window)
            m.d.comb += [
                ring.write.base_lo.eq(write.base_lo), ring.write.base_hi.eq(write.base_hi),
                # The driver's index is the ring's tail.
                ring.write.size.eq(write.size), ring.write.tail.eq(write.head), ring.write.control.eq(write.control),
                ring.data.eq(self.data), self.refuse[number].eq(ring.refuse),
                values.ring.eq(ring.values), values.phase.eq(ring.phase), values.full.eq(ring.full),
                writer.rings[number].eq(ring.values), writer.next[number].eq(ring.next),
                writer.phase[number].eq(ring.next_phase),
                writer.pending[number].eq(
                    ring.pending & (self.waiting[number] != writer.count[number]) & ~self.hold),
                writer.data[number].eq(self.completion[number]),
                Cat(ring.begin, ring.advance, ring.fail, ring.open, ring.back).eq(
                    Cat(writer.begin[number], writer.advance[number], writer.fail[number], writer.open[number],
                        writer.back[number])),
                coalescer.counts.eq(writer.advance[number] & self.interrupt[number]),
                # A full ring is reported when all its records are written.
                coalescer.flush.eq(self.causes.error[number] | (ring.full & ~ring.open) | ~ring.values.enable),
                coalescer.clear.eq(write.size & ~ring.refuse),
                coalescer.count.eq(values.count), coalescer.time.eq(values.time),
                self.causes.completion[number].eq(coalescer.report),
            ]
            self._numbers(m, name, write, values)
        return m

    def _numbers(self, m: Module, name: str, write: data.View, values: data.View) -> None:
        """The registers COALESCE and TIME."""
        for register, kept, reset in (("coalesce", values.count, 1), ("time", values.time, 0)):
            held = Signal(len(Value.cast(kept)), init=reset, name=f"{name}_{register}")
            m.d.comb += kept.eq(held)
            with m.If(self.soft_reset):
                m.d.sync += held.eq(reset)
            with m.Elif(write[register]):
                m.d.sync += held.eq(self.data)


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
    name, kept = DIRECTIONS[number], records.values[number]
    values, written, write = own(bank.values, name), own(bank.written, name), records.write[number]
    ring = kept.ring
    enabled = ring.enable
    before = Signal(name=f"{name}_recorded")        # a word that is shown was asked for in the cycle before
    m.d.sync += before.eq(enabled)
    with m.If(enabled):
        m.d.comb += [
            channel.word.eq(records.word), channel.pop.eq(records.pop[number]), channel.step.eq(records.step[number]),
            channel.back.eq(records.back[number]), values.completions.count.eq(0),
        ]
    with m.If(enabled | before):
        m.d.comb += bank.completion[number].eq(0)
    low = len(values.write_back_base_lo.address)
    m.d.comb += [
        values.write_back_base_lo.address.eq(ring.base[:low]), values.write_back_base_hi.address.eq(ring.base[low:]),
        values.write_back_size.records.eq(ring.size),
        values.write_back_head.index.eq(ring.tail), values.write_back_tail.index.eq(ring.head),
        values.write_back_control.enable.eq(enabled), values.write_back_status.waiting.eq(channel.completions),
        values.write_back_status.phase.eq(kept.phase), values.write_back_status.full.eq(kept.full),
        values.write_back_coalesce.count.eq(kept.count), values.write_back_time.cycles.eq(kept.time),
        write.base_lo.eq(written.write_back_base_lo), write.base_hi.eq(written.write_back_base_hi),
        write.size.eq(written.write_back_size), write.head.eq(written.write_back_head),
        write.control.eq(written.write_back_control), write.coalesce.eq(written.write_back_coalesce),
        write.time.eq(written.write_back_time),
        records.waiting[number].eq(channel.completions), records.completion[number].eq(channel.completion),
        records.interrupt[number].eq(channel.interrupt),
    ]
    return Cat(refused[0], refused[1] | (popped & enabled), refused[2], records.refuse[number])


def report_records(m: Module, happened: data.View, records: WriteBackRings) -> None:
    """Makes completions that become records events of the interrupt when the records are in memory.

    ``happened`` has the fields of IRQ_STATUS, and already the events of the channels.
    """
    for number, name in enumerate(DIRECTIONS):
        event = own(happened, name)
        with m.If(records.values[number].ring.enable):
            m.d.comb += [event.completion.eq(0), event.error.eq(records.causes.error[number])]
        with m.If(records.causes.completion[number]):
            m.d.comb += event.completion.eq(1)
        m.d.comb += event.write_back_error.eq(records.causes.failed[number])


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
