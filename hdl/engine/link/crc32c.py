"""CRC-32C of a stream of words, one beat per cycle."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.engine.link.linear_map import LinearMap

__all__ = ["Crc32c"]

_POLYNOMIAL = 0x82F6_3B78   # reflected: bit 31 of a remainder is its constant term
_ALL_ONES = 0xFFFF_FFFF
_WORD_BITS = 8 * WORD_BYTES


def _times(remainder: int, power: int) -> int:
    """A remainder times a power of x, which may be negative."""
    for _ in range(abs(power)):
        if power > 0:
            remainder = remainder >> 1 ^ (_POLYNOMIAL if remainder & 1 else 0)
        else:
            remainder = (remainder ^ _POLYNOMIAL) << 1 | 1 if remainder >> 31 else remainder << 1
    return remainder


def _columns(function: Callable[[int], int]) -> tuple[int, ...]:
    """Matrix of a linear function of remainders."""
    return tuple(function(1 << bit) for bit in range(_WORD_BITS))


class Crc32c(wiring.Component):
    """Computes the CRC-32C (Castagnoli) of a stream of words.

    ::

                        +------+            +-------+       +---------+
        i ------------->| data |--> sum --->| state |------>| closing |--+--> value
                        +------+            +-------+       +---------+  |
                                              ^   |            ^         |
                                 x^(32 words) +---+            +---------+ x^32, once per word of the last beat

    After a beat of ``W`` words the remainder of a CRC is ``(r + w0) x^(32 W) + w1 x^(32 (W - 1)) + ... ``. Here the
    state ``v`` leaves out the factor ``x^(32 W)`` of the last beat: ``v' = v x^(32 W) + w0 + w1 x^-32 + ...``. At the
    end, ``v`` is multiplied by ``x^32`` once for each word of the last beat. Words after the end are zero, so the last
    beat may have any number of words and needs neither a shifter nor more matrices.

    Only the 32 bits of the state are a feedback loop. The end of a message is computed in registers of its own, so the
    next message may begin in the next cycle. ``done`` comes ``words + 2`` cycles after the last beat, for a last beat
    of ``words`` words.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat: 16, 32 or 64.

    Members
    -------
    i : In(valid, payload of a words stream)
        Beats, one in each cycle with ``valid``: ``data``, ``words`` and ``last``. All but the last beat are full; in
        that one, data behind ``words`` words is zero. No last beat may come while ``busy``.
    value : Out(32)
        The CRC of a message, valid with ``done``.
    done : Out(1)
        High for one cycle.
    busy : Out(1)
        High from the cycle after a last beat until ``done``.

    Source: the block stream of docs/formats.md; RFC 3720, 12.1 (polynomial, initial value, final exclusive-or).
    """

    def __init__(self, beat_bytes: int):
        self._words = words = beat_bytes // WORD_BYTES
        payload = data.StructLayout({"data": 8 * beat_bytes, "words": range(words + 1), "last": 1})
        super().__init__({
            "i": In(wiring.Signature({"valid": Out(1), "payload": Out(payload)})),
            "value": Out(32), "done": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = self._words
        beat = self.i.payload
        m.submodules.sum = total = LinearMap(
            sum((_columns(lambda word, k=k: _times(word, -_WORD_BITS * k)) for k in range(words)), ()), 32)
        m.submodules.step = step = LinearMap(_columns(lambda state: _times(state, _WORD_BITS * words)), 32)
        m.submodules.finish = finish = LinearMap(_columns(lambda state: _times(state, _WORD_BITS)), 32)

        m.d.comb += total.i.eq(beat.data)
        arrived = Signal()
        addend = Signal(32, reset_less=True)
        ends = Signal(reset_less=True)
        count = Signal.like(beat.words, reset_less=True)
        m.d.sync += arrived.eq(self.i.valid)
        with m.If(self.i.valid):
            m.d.sync += [addend.eq(total.o), ends.eq(beat.last), count.eq(beat.words)]

        state = Signal(32, reset_less=True)
        closing = Signal(32, reset_less=True)
        following = Signal(32)
        fresh = Signal(init=1)
        finishing = Signal()
        left = Signal.like(beat.words, reset_less=True)
        m.d.comb += [
            step.i.eq(state), finish.i.eq(closing), self.value.eq(~closing),
            following.eq(Mux(fresh, Const(_ALL_ONES, 32), step.o) ^ addend),
        ]
        m.d.sync += self.done.eq(finishing & (left == 1))
        with m.If(arrived):
            m.d.sync += [state.eq(following), fresh.eq(ends)]
        with m.If(arrived & ends):
            m.d.sync += [closing.eq(following), finishing.eq(1), left.eq(count)]
        with m.Elif(finishing):
            m.d.sync += [closing.eq(finish.o), left.eq(left - 1), finishing.eq(left != 1)]
        with m.If(self.i.valid & beat.last):
            m.d.sync += self.busy.eq(1)
        with m.Elif(finishing & (left == 1)):
            m.d.sync += self.busy.eq(0)
        return m
