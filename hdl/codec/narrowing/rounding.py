"""Rounds a float32 value to 16 bits in three steps, and widens it again. The field ``narrow`` of a descriptor chooses
the format."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, enum

__all__ = ["NARROWED_BYTES", "Narrowing", "place", "placed_layout", "shift", "shifted_layout", "up", "widen"]

NARROWED_BYTES = 2
"""Bytes of a narrowed value, and so the element size of its stream."""

_FIRST = 113        # exponent field of float32 of the smallest normal float16
_LAST = 142         # of the largest finite one
_FAR = 12           # a shift by so many places rounds any fraction to zero


class Narrowing(enum.Enum, shape=2):
    """What float32 values are rounded to."""

    NONE = 0
    """Values are not rounded."""
    BFLOAT16 = 1
    """The upper half of a float32."""
    FLOAT16 = 2
    """IEEE 754 half precision."""


def placed_layout() -> data.StructLayout:
    """A float32 with its float16 exponent, the ``shift`` of its fraction if it is a subnormal float16, and ``over``:
    it is larger than every finite float16."""
    return data.StructLayout({"value": 32, "exponent": 5, "shift": 4, "over": 1})


def place(value: Value) -> data.View:
    """First step of rounding: the float16 exponent of a float32, and the shift of a subnormal."""
    exponent = value[23:31]
    below = Const(_FIRST) - exponent
    subnormal = exponent < _FIRST
    return data.View(placed_layout(), Cat(
        value, Mux(subnormal, 0, exponent - (_FIRST - 1))[:5],
        Mux(subnormal, Mux(exponent <= _FIRST - _FAR, _FAR, below), 0)[:4], exponent > _LAST))


def shifted_layout() -> data.StructLayout:
    """A value before its last rounding step: truncated ``code`` without sign, ``sign``, and ``up``: add one."""
    return data.StructLayout({"code": 15, "sign": 1, "up": 1})


def shift(m: Module, name: str, placed: data.View, half: ValueLike) -> data.View:
    """Second step: truncates the fraction and decides whether to round up, to nearest and ties to even.

    Parameters
    ----------
    half
        The target is float16, else bfloat16.
    """
    value = placed.value
    fraction = value[:23]
    code = Signal(15, name=f"{name}_code")
    nearer = Signal(name=f"{name}_up")
    # The last bit that is kept is bit 13; the bits below it that a shift drops stay visible in bit 0 (sticky bit).
    moved = Signal(26, name=f"{name}_moved")
    m.d.comb += moved.eq(_sticky_shift(Cat(fraction, value[23:31].any(), Const(0, 2)), placed.shift))
    with m.If(half):
        m.d.comb += [code.eq(Cat(moved[13:23], placed.exponent)),
                     nearer.eq(moved[12] & (moved[:12].any() | moved[13]))]
        with m.If(placed.over):
            m.d.comb += [code.eq(0x7C00), nearer.eq(0)]
    with m.Else():
        m.d.comb += [code.eq(value[16:31]), nearer.eq(value[15] & (value[:15].any() | value[16]))]
    with m.If(value[23:31].all()):
        nan = fraction.any()
        m.d.comb += [code.eq(Mux(half, Cat(Const(0, 9), nan, Const(31, 5)), Cat(Const(0, 6), nan, Const(255, 8)))),
                     nearer.eq(0)]
    return data.View(shifted_layout(), Cat(code, value[31], nearer))


def up(shifted: data.View) -> Value:
    """Third step: the 16-bit value. A carry out of the fraction increments the exponent, up to that of infinity."""
    return Cat((shifted.code + shifted.up)[:15], shifted.sign)


def _sticky_shift(value: Value, places: Value) -> Value:
    """``value >> places``; the lowest bit is also set if any bit that was dropped was set (sticky bit)."""
    for bit in range(len(places)):
        step = 1 << bit
        lost = value[:step + 1].any()
        value = Mux(places[bit], Cat(lost, value[step + 1:], Const(0, step)), value)
    return value


def widen(code: Value, half: ValueLike) -> Value:
    """The float32 with the value of a 16-bit code: exact; NaNs keep their fraction."""
    fraction, exponent = code[:10], code[10:15]
    lead = _leading_zeros(fraction)
    subnormal = Cat(Const(0, 13), (fraction << (lead + 1))[:10], (Const(_FIRST - 1, 8) - lead)[:8])
    normal = Cat(Const(0, 13), fraction, Mux(exponent.all(), Const(255, 8), (exponent + (_FIRST - 1))[:8]))
    value = Mux(exponent.any(), normal, Mux(fraction.any(), subnormal, 0))
    return Mux(half, Cat(value, code[15]), Cat(Const(0, 16), code))


def _leading_zeros(value: Value) -> Value:
    """Zeros above the highest set bit; undefined for zero."""
    count: Value = Const(0, 4)
    for bit in range(len(value)):
        count = Mux(value[bit], Const(len(value) - 1 - bit, 4), count)
    return count
