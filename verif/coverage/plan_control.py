"""Bins of registers, queues, rings, interrupts, time limits and address windows."""

from __future__ import annotations

from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.register import Access, Register
from cdma.hdl.engine.control.table import DIRECTIONS, MEMORIES, PORTS, registers, with_options
from cdma.verif.coverage.feature import Feature, crossed

__all__ = ["CONTROL", "REGISTERS"]

REGISTERS: tuple[Register, ...] = tuple(registers(with_options(load_engine("engine"))))
"""Every register that an engine can have."""

_LEVELS = ("empty", "one", "some", "full")
_WRITABLE = (Access.RW, Access.WO, Access.W1C, Access.W1S)


def _written(kind: Access) -> tuple[str, ...]:
    return tuple(each.name for each in REGISTERS if any(field.access is kind for field in each.fields))


def _bits(name: str) -> tuple[str, ...]:
    register = next(each for each in REGISTERS if each.name == name)
    return tuple(field.name for field in register.fields)


CONTROL = (
    Feature("register_read", "registers", "Every register is read.", tuple(each.name for each in REGISTERS)),
    *(Feature(f"register_{kind.name.lower()}", "registers", f"Every register with a field of this kind is written "
              f"({kind.value}).", _written(kind)) for kind in _WRITABLE),
    Feature("register_refused", "registers", "The bus answers SLVERR to an offset without a register, to a write of a "
            "part of a register, and to a write that a register refuses.",
            ("read of a hole", "write of a hole", "part", "value")),
    Feature("refused_bit", "registers", "Each bit of REFUSED is seen, and cleared.",
            tuple(f"{name}:{bit}" for name in ("REFUSED", *(f"{each.upper()}_REFUSED" for each in DIRECTIONS))
                  for bit in _bits(name))),
    Feature("interrupt", "registers", "Each event of IRQ_STATUS is seen, and enabled, and cleared.",
            crossed(_bits("IRQ_STATUS"), ("seen", "enabled", "cleared"))),
    Feature("engine_status", "registers", "Each bit of STATUS is seen set.", _bits("STATUS")),
    Feature("busy", "registers", "No direction is busy, each alone, and both together.",
            ("none", *DIRECTIONS, "both")),
    Feature("counters", "registers", "Counters are read with and without being cleared.",
            crossed(DIRECTIONS, ("snapshot", "snapshot and clear"))),
    Feature("queue", "queues and rings", "The queue of descriptors is empty, has one, has some, and is full.",
            crossed(DIRECTIONS, _LEVELS)),
    Feature("completion_queue", "queues and rings", "The queue of completions is empty, has one, has some, and is "
            "full.", crossed(DIRECTIONS, _LEVELS)),
    Feature("ring", "queues and rings", "The ring of descriptors is empty, has one, has some, is full, and wraps; it "
            "has its smallest size and others; it stops by an error and goes on.",
            crossed(DIRECTIONS, (*_LEVELS, "wrapped", "smallest", "larger", "stopped", "enabled again"))),
    Feature("write_back", "queues and rings", "The ring of completions is empty, has one, has some, is full, and "
            "wraps, with its smallest size and others; it is disabled and enabled again.",
            crossed(DIRECTIONS, (*_LEVELS, "wrapped", "smallest", "larger", "disabled", "enabled again"))),
    Feature("coalescing", "queues and rings", "Interrupts of records come one by one, by count, and by count "
            "or time.", crossed(DIRECTIONS, ("each", "count", "count or time"))),
    Feature("time_limit", "time limits", "Limits of both kinds of ports are off, as after reset, short and others.",
            crossed(("link", "lanes"), ("off", "reset value", "short", "other"))),
    Feature("silence", "time limits", "Each channel of each kind of port stops alone, and all of a port together.",
            crossed(MEMORIES, ("ar", "r", "aw", "w", "b", "all"))),
    Feature("isolated", "time limits", "Each kind of port is isolated, and comes back.",
            crossed(PORTS, ("isolated", "back"))),
    Feature("window", "address windows", "Transfers that are inside a window begin at its first byte, end at its last "
            "one, or do neither; others are refused below it and above it; and there is no window.",
            crossed(MEMORIES, ("none", "at the first byte", "at the last byte", "inside", "below", "above"))),
)
"""Features of control."""
