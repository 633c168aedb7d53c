"""A register that is a stage of a pipeline."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value

__all__ = ["behind"]


def behind(m: Module, move: Value, value: Any, name: str, *, init: int | None = None) -> Any:
    """The value a stage later: that of the last cycle in which ``move`` was high.

    It has the value's shape, and is called ``name``. With ``init`` it is reset, as flags are that say whether
    something is there; without, it is not.
    """
    reset: dict[str, Any] = {"reset_less": True} if init is None else {"init": init}
    register = Signal.like(value, name=name, **reset)
    with m.If(move):
        m.d.sync += Value.cast(register).eq(Value.cast(value))
    return register
