"""Counters that are wide, and count every cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Value, ValueLike

__all__ = ["increased", "stepped"]

_CHUNK = 6


def increased(value: Value, step: ValueLike = 1) -> Value:
    """``value`` + ``step``, which is 0 or 1, as wide as ``value``; the carry skips from chunk to chunk."""
    chunks = []
    for start in range(0, len(value), _CHUNK):
        chunk = value[start:start + _CHUNK]
        carry = Value.cast(step)[0]
        chunks.append((chunk + (carry & value[:start].all() if start else carry))[:len(chunk)])
    return Cat(*chunks)


def stepped(value: Value, step: int) -> Value:
    """``value`` + a constant of at least 1 and few bits, as wide as ``value``."""
    bits = min(step.bit_length(), len(value))
    low = value[:bits] + step
    return Cat(low[:bits], increased(value[bits:], low[bits]))
