"""Wide counters with short carry paths."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueLike

__all__ = ["count_down", "count_up", "counter", "decreased", "increased", "joined_carry", "joined_sums", "part_carries",
           "part_sums"]

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


def decreased(value: Value, pipeline: str = "small") -> Value:
    """``value`` - 1, as wide as ``value``, in the way of :func:`increased`; in ``fast`` as one carry chain, since FPGAs
    have these, and what stands between two of them takes longer."""
    return (value - 1)[:len(value)] if pipeline == "fast" else ~increased(~value)


def part_sums(a: Value, b: Value) -> Value:
    """The sums of each 8 bits of ``a`` and ``b``, which are equally wide, side by side: for a register that
    :func:`joined_sums` reads. A wide sum takes two cycles in this way, and tools that optimise for area cannot turn
    it into one long chain."""
    return Cat(a[start:start + _PART] + b[start:start + _PART] for start in range(0, len(a), _PART))


def joined_sums(parts: Value, carry: ValueLike = 0) -> Value:
    """``a`` + ``b`` + ``carry``, which is 0 or 1, one bit wider than these, from their :func:`part_sums`."""
    carry, total = Value.cast(carry)[0], []
    for part, over in _split(parts):
        total.append((part + carry)[:len(part)])
        carry = over | (carry & part.all())
    return Cat(*total, carry)


def part_carries(a: Value, b: Value) -> Value:
    """For each 8 bits of ``a`` and ``b``, which are equally wide: whether their sum has a carry, and whether it is all
    ones; for a register that :func:`joined_carry` reads. A comparison of wide numbers takes two cycles in this way:
    ``a`` + ~``b`` has a carry if ``a`` > ``b``, and with a carry coming in if ``a`` >= ``b``."""
    sums = part_sums(a, b)
    return Cat(Cat(over, part.all()) for part, over in _split(sums))


def joined_carry(parts: Value, carry: ValueLike = 0) -> Value:
    """The carry of ``a`` + ``b`` + ``carry``, which is 0 or 1, from their :func:`part_carries`."""
    carry = Value.cast(carry)[0]
    for start in range(0, len(parts), 2):
        carry = parts[start] | (carry & parts[start + 1])
    return carry


def _split(sums: Value) -> list[tuple[Value, Value]]:
    """The sum and the carry of each part of :func:`part_sums`."""
    parts = [sums[start:start + _PART + 1] for start in range(0, len(sums), _PART + 1)]
    return [(part[:-1], part[-1]) for part in parts]


def counter(m: Module, value: Value, step: ValueLike, clear: ValueLike = 0, begin: Value | None = None,
            by: int = 1) -> None:
    """Makes ``value``, which starts at 0, a counter: ``begin``, or 0, after ``clear``, else ``by`` more with ``step``.

    Above the few bits that ``by`` takes, whether a part of 8 bits is all ones is registered, so the carry path stays
    short at any width.
    """
    step, clear = Value.cast(step), Value.cast(clear)
    begin = Const(0, len(value)) if begin is None else begin
    if by > 1:
        bits = min(by.bit_length(), len(value))
        low, value = value[:bits], value[bits:]
        total = Signal(bits + 1, name="total")
        m.d.comb += total.eq(low + by)
        with m.If(clear):
            m.d.sync += low.eq(begin[:bits])
        with m.Elif(step):
            m.d.sync += low.eq(total)
        begin, step = begin[bits:], step & total[bits]
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
