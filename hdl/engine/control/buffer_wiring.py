"""Connects the parity of the lanes' buffers with the register bank."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.bank import Bank, fields_layout
from cdma.hdl.engine.control.buffer_registers import ERROR_BITS, buffer_registers
from cdma.hdl.engine.control.table import DIRECTIONS

__all__ = ["join_buffers"]


def join_buffers(m: Module, config: EngineConfig, bank: Bank, clear: Value, found: Sequence[Value],
                 inject: Sequence[data.View]) -> None:
    """Counts the errors of each direction, and injects what the bus asks for.

    Parameters
    ----------
    m : Module
        Where the statements go.
    config : EngineConfig
        What is built.
    bank : Bank
        The registers.
    clear : Value
        Clears the counts.
    found : sequence of Value
        Of each direction: errors that were found in this cycle.
    inject : sequence of data.View
        Of each direction: :func:`cdma.hdl.engine.transfer.buffers.inject_layout`.
    """
    for name, errors in zip(DIRECTIONS, found, strict=True):
        count = Signal(ERROR_BITS, name=f"{name}_buffer_errors")
        total = Signal(ERROR_BITS + 1, name=f"{name}_buffer_total")
        m.d.comb += [total.eq(count + errors), bank.values.buffer_errors[name].eq(count)]
        m.d.sync += count.eq(Mux(clear, 0, total[:ERROR_BITS] | total[-1].replicate(ERROR_BITS)))
    *_, register = buffer_registers(config)
    asked = data.View(fields_layout(register), bank.data)
    for number, memories in enumerate(inject):
        with m.If(bank.written.buffer_inject & asked.inject & (asked.memory[-1] == number)):
            m.d.comb += [memories.lane.eq(asked.lane),
                         memories.memories.eq((asked.lane < config.lanes) << asked.memory[:-1])]
