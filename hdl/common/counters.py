"""Wide counters with short carry paths."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike

__all__ = ["count_down", "count_up", "counter", "decreased", "increased", "stepped", "wide_sum"]

_CHUNK = 6
_PART = 8


def increased(value: Value, step: ValueLike = 1) -> Value:
    """``value`` + ``step``, which is 0 or 1, as wide as ``value``; the carry skips from chunk to chunk."""
    chunks = []
    for start in range(0, len(value), _CHUNK):
        chunk = value[start:start + _CHUNK]
        carry = Value.cast(step)[0]
        chunks.append((chunk + (carry & value[:start].all() if start else carry))[:len(chunk)])
    return Cat(*chunks)


def decreased(value: Value) -> Value:
    """``value`` - 1, as wide as ``value``, in the way of :func:`increased`."""
    return ~increased(~value)


def wide_sum(a: Value, b: Value, carry: ValueLike = 0) -> Value:
    """``a`` + ``b`` + ``carry``, which is 0 or 1, one bit wider than ``a`` and ``b``, which are equally wide.

    Each part of 8 bits is computed for both values of its carry, which then selects (carry-select adder): tools that
    optimise for area would turn one wide adder into a long chain.
    """
    carry, parts = Value.cast(carry)[0], []
    for start in range(0, len(a), _PART):
        part = a[start:start + _PART], b[start:start + _PART]
        width = len(part[0]) + 1
        total = (part[0] + part[1] + (0 if start else carry))[:width]
        if start:
            total = Mux(carry, (part[0] + part[1] + 1)[:width], total)
        parts.append(total[:-1])
        carry = total[-1]
    return Cat(*parts, carry)


def stepped(value: Value, step: int) -> Value:
    """``value`` + a small constant of at least 1, as wide as ``value``."""
    bits = min(step.bit_length(), len(value))
    low = value[:bits] + step
    return Cat(low[:bits], increased(value[bits:], low[bits]))


def counter(m: Module, value: Value, step: ValueLike, clear: ValueLike = 0, begin: Value | None = None) -> None:
    """Makes ``value``, which starts at 0, a counter: ``begin`` after ``clear``, else incremented by ``step``, which is
    0 or 1. Without ``begin`` it is 0 after ``clear``.

    For each part of 8 bits, whether it is all ones is registered, so the carry path stays short at any width.
    """
    step, clear = Value.cast(step), Value.cast(clear)
    begin = Const(0, len(value)) if begin is None else begin
    for start in range(0, len(value), _PART):
        part, loaded = value[start:start + _PART], begin[start:start + _PART]
        full = Signal(name=f"full_{start}")
        with m.If(clear):
            m.d.sync += [part.eq(loaded), full.eq(loaded.all())]
        with m.Elif(step):
            m.d.sync += [part.eq(part + 1), full.eq(part == (1 << len(part)) - 2)]
        step = step & full


def count_up(m: Module, counter: Value) -> None:
    """Adds one to a wide counter. Its upper half is incremented when the lower half is all ones: the carry is a
    register enable, which stays short. Tools that optimise for area would turn an added carry into a long chain."""
    low, high = counter[:len(counter) // 2], counter[len(counter) // 2:]
    m.d.sync += low.eq(low + 1)
    with m.If(low.all()):
        m.d.sync += high.eq(high + 1)


def count_down(m: Module, counter: Value) -> None:
    """Subtracts one from a wide counter, in the way of :func:`count_up`."""
    low, high = counter[:len(counter) // 2], counter[len(counter) // 2:]
    m.d.sync += low.eq(low - 1)
    with m.If(~low.any()):
        m.d.sync += high.eq(high - 1)
