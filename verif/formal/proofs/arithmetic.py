"""Proofs of arithmetic: sums in parts, counters with short carries, masks, rounding of floats."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from cdma.hdl.codec.narrowing.rounding import place, shift, up, widen
from cdma.hdl.common.bits import length, ones, thermometer
from cdma.hdl.common.counters import (
    count_down,
    count_up,
    counter,
    decreased,
    increased,
    joined_carry,
    joined_sums,
    part_carries,
    part_sums,
)
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS"]

_COUNTER_BITS = 20
_WIDTHS = (1, 6, 7, 8, 9, 20, 40)


def _sums(h: Harness) -> None:
    """Sums and comparisons in parts equal plain ones, at {widths} widths from {least} to {most} bits."""
    for width in _WIDTHS:
        a, b, step = h.free(width, f"a_{width}"), h.free(width, f"b_{width}"), h.free(1, f"step_{width}")
        h.check(f"increased_{width}", increased(a, step) == (a + step)[:width])
        h.check(f"decreased_{width}", decreased(a) == (a - 1)[:width])
        h.check(f"joined_sums_{width}", joined_sums(part_sums(a, b), step) == a + b + step)
        h.check(f"above_{width}", joined_carry(part_carries(a, ~b)) == (a > b))
        h.check(f"not_below_{width}", joined_carry(part_carries(a, ~b), 1) == (a >= b))
    h.cover("carries_through", a.all() & step)


def _masks(h: Harness) -> None:
    """Thermometer masks, their lengths and counts of set bits equal their definitions, at 4, 16 and 64 bits."""
    for width in (4, 16, 64):
        count, bits = h.free(range(width + 1), f"count_{width}"), h.free(width, f"bits_{width}")
        mask = thermometer(count, width)
        h.check(f"thermometer_{width}", mask == ((Const(1, width + 1) << count) - 1)[:width])
        h.check(f"length_{width}", (count > width) | (length(mask) == count))
        total: Value = Const(0, 1)
        for bit in bits:
            total = (total + bit)[:width.bit_length()]
        h.check(f"ones_{width}", ones(bits) == total)
    h.cover("all", mask.all())


def _beside(h: Harness, build: Callable[[Module, Signal], None], following: Callable[[Signal], Value]) -> Signal:
    """A counter beside one that takes the following value."""
    value, plain = Signal(_COUNTER_BITS, name="value"), Signal(_COUNTER_BITS, name="plain")
    m = Module()
    build(m, value)
    h.add("dut", m)
    h.m.d.sync += plain.eq(following(plain))
    h.check("counts", value == plain)
    h.cover("other_than_zero", value.any())
    return value


def _carry_counter(h: Harness, by: int) -> None:
    """A counter with registered carries counts as one that adds, after any steps and clears."""
    step, clear, begin = h.free(1, "step"), h.free(1, "clear"), h.free(_COUNTER_BITS, "begin")
    value = _beside(h, lambda m, value: counter(m, value, step, clear, begin, by),
                    lambda plain: Mux(clear, begin, plain + Mux(step, by, 0)))
    part = 8
    parts = value[by.bit_length() if by > 1 else 0:]
    for start in range(0, len(parts), part):
        h.check(f"full_{start}", h.inner(f"dut.full_{start}") == parts[start:start + part].all())


def _halves(h: Harness, build: Callable[[Module, Signal], None], by: int) -> None:
    """A counter in two halves counts {how}."""
    _beside(h, build, lambda plain: plain + by)


def _nearest(significand: Value, places: Value, most: int) -> Value:
    """A number shifted right, rounded to nearest, ties to even; ``places`` is ``most`` at most, and 1 at least."""
    wide = Cat(Const(0, most), significand) >> places
    quotient, rest = wide[most:], wide[:most]
    half = Const(1 << (most - 1), most)
    return quotient + ((rest > half) | ((rest == half) & quotient[0]))


def _narrowed(h: Harness) -> None:
    """Rounding of every float32 to bfloat16 and float16 is to nearest, ties to even, by quotient and remainder;
    infinities stay, NaNs become quiet."""
    value, half = h.free(32, "value"), h.free(1, "half")
    fraction, exponent, sign = value[:23], value[23:31], value[31]
    rounded = up(shift(h.m, "step", place(value), half))
    infinite = exponent.all() & ~fraction.any()
    nan = exponent.all() & fraction.any()
    normal = exponent.any()
    significand = Cat(fraction, normal)

    # bfloat16 has the exponents of float32: a carry out of the fraction goes into them.
    brain = Signal(16)
    h.m.d.comb += brain.eq(Cat((Cat(Const(0, 7), exponent) + _nearest(fraction, Const(16, 5), 16))[:15], sign))
    h.check("bfloat16", half | exponent.all() | (rounded == brain))

    # float16: the unit is 2^-24 for subnormals, and 2^(exponent - 137) above; the largest finite number is 65504.
    below = Signal(range(32))
    code = Signal(20)
    tiny = exponent < 113
    h.m.d.comb += [
        below.eq(Mux(tiny, Mux(exponent < 102, 25, 126 - exponent), 13)),
        code.eq(_nearest(significand, below, 25) + Mux(tiny, 0, (exponent - 113) << 10)),
    ]
    large = exponent > 142
    h.check("float16", ~half | exponent.all() | (rounded == Cat(Mux(large | (code > 0x7C00), 0x7C00, code)[:15], sign)))
    h.check("infinity", ~infinite | (rounded == Cat(Mux(half, Const(0x7C00, 15), Const(0x7F80, 15)), sign)))
    h.check("nan", ~nan | (rounded == Cat(Mux(half, Const(0x7E00, 15), Const(0x7FC0, 15)), sign)))
    h.cover("subnormal", half & tiny & rounded[:10].any())
    h.cover("carries_to_infinity", half & (exponent == 142) & (rounded[:15] == 0x7C00))


def _widened(h: Harness) -> None:
    """Widening of every 16-bit code is exact, and rounding gives the code again."""
    code, half = h.free(16, "code"), h.free(1, "half")
    wide = Signal(32)
    h.m.d.comb += wide.eq(widen(code, half))
    fraction, exponent = code[:10], code[10:15]
    subnormal = half & ~exponent.any() & fraction.any()
    h.check("sign", wide[31] == code[15])
    h.check("bfloat16", half | (wide == Cat(Const(0, 16), code)))
    h.check("normal", ~half | ~exponent.any() | exponent.all() | (wide[:31] == Cat(
        Const(0, 13), fraction, (exponent + 112)[:8])))
    h.check("infinity_and_nan", ~half | ~exponent.all() | (wide[:31] == Cat(Const(0, 13), fraction, Const(255, 8))))
    h.check("zero", ~half | exponent.any() | fraction.any() | ~wide[:31].any())
    # A fraction of 2^-24: the significand, of 2^(exponent - 150), is it shifted.
    h.check("subnormal_exponent", ~subnormal | ((wide[23:31] >= 103) & (wide[23:31] <= 112)))
    h.check("subnormal", ~subnormal | ((fraction << (126 - wide[23:31])[:5])[:24] == Cat(wide[:23], 1)))
    again = up(shift(h.m, "step", place(wide), half))
    nan = Mux(half, exponent.all() & fraction.any(), code[7:15].all() & code[:7].any())
    h.check("round_trip", nan | (again == code))
    h.cover("subnormal_seen", subnormal)


_COUNTERS, _ROUNDING = "hdl/common/counters.py", "hdl/codec/narrowing/rounding.py"

PROOFS = (
    Proof("sums", _COUNTERS, _sums, depth=0, words={"widths": len(_WIDTHS), "least": _WIDTHS[0], "most": _WIDTHS[-1]}),
    Proof("counter", _COUNTERS, _carry_counter, {"by": 1}),
    Proof("counter_by_16", _COUNTERS, _carry_counter, {"by": 16}, said="The same in steps of 16."),
    Proof("count_up", _COUNTERS, _halves, {"build": count_up, "by": 1}, words={"how": "up as one that adds"}),
    Proof("count_down", _COUNTERS, _halves, {"build": count_down, "by": -1},
          words={"how": "down as one that subtracts"}),
    Proof("masks", "hdl/common/bits.py", _masks, depth=0),
    Proof("float_narrower", _ROUNDING, _narrowed, depth=0), Proof("float_widener", _ROUNDING, _widened, depth=0),
)
"""Proofs of arithmetic."""
