"""Byte routing for zero-value coding: gather scattered bytes into consecutive lanes, and scatter them back.

A beat has ``lanes`` byte lanes. *Gather* moves the bytes whose mask bit is set, in order, to consecutive lanes that
begin at ``start`` and wrap around; *scatter* is the inverse. Both are one pass through a butterfly network of
``log2(lanes)`` ranks of 2x2 switches: compaction and rotation together cost no more multiplexers than a rotation::

            distance 1    distance 2          distance lanes/2
    i.data --[switches]----[switches]-- ... ----[switches]-- o.data        gather (scatter: ranks in reverse order)
                 ^             ^                    ^
    mask --> Ranks --> Steer: one swap bit per switch
                         ^
    start ---------------+

No two bytes ever need the same wire: reverse banyan networks have this property for compact, cyclic, order-preserving
destinations. Swap bits are computed without sorting. A rank of distance ``d`` joins the two halves of each block of
``2d`` lanes. The bytes of the right half go to the lanes from ``m = start + (mask bits before the middle of the
block)`` on; switch ``j`` of the block swaps unless ``m mod d > j`` differs from ``m div d mod 2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.bits import thermometer

__all__ = [
    "Gather", "Ranks", "Scatter", "Steer", "block_counts", "joined_ranks", "merged_counts", "ranks_layout",
    "swap_layout", "unary_count"]


def _total(terms: Iterable[Value]) -> Value:
    """Sum of the terms as a balanced tree of adders."""
    terms = list(terms)
    while len(terms) > 1:
        terms = [terms[k] + terms[k + 1] if k + 1 < len(terms) else terms[k] for k in range(0, len(terms), 2)]
    return terms[0]


def swap_layout(lanes: int, grain: int) -> data.StructLayout:
    """Swap bits of a network: one field per rank, named by its distance in lanes, one bit per switch."""
    ranks = range(exact_log2(grain), exact_log2(lanes))
    return data.StructLayout({f"d{1 << rank}": lanes // grain // 2 for rank in ranks})


def ranks_layout(lanes: int, grain: int) -> data.StructLayout:
    """Set mask bits before the middle of every block of a network, modulo the block size; input of :class:`Steer`."""
    units = lanes // grain
    return data.StructLayout({
        f"d{(grain << rank)}": data.ArrayLayout(rank + 1, units >> rank + 1) for rank in range(exact_log2(units))})


def block_counts(m: Module, mask: Value) -> dict[tuple[int, int], Value]:
    """Set bits of every aligned block of the mask whose size is a power of two, by first bit and size.

    Groups of four bits are sorted and groups of eight merged from two sorted fours, which is less deep than adding;
    larger groups are added.
    """
    width = len(mask)
    # A name, because the expression would else be repeated for every bit.
    bits = Signal(width, name="bits")
    m.d.comb += bits.eq(mask)
    mask = bits
    counts: dict[tuple[int, int], Value] = {(k, 1): mask[k] for k in range(width)}
    ranked: dict[int, list[Value]] = {}
    size = 2
    while size <= width:
        for first in range(0, width, size):
            count = Signal(exact_log2(size) + 1, name=f"count_{first}_{size}")
            if size == 4:
                one, two, three, four = ranked[first] = unary_count(m, mask[first:first + 4], f"ranked_{first}")
                m.d.comb += count.eq(Cat((one & ~two) | (three & ~four), two & ~four, four))
            elif size == 8:
                at_least = [Const(1), *merged_counts(m, ranked[first], ranked[first + 4], f"ranked_{first}_8")]
                m.d.comb += count.eq(Cat(
                    Cat(at_least[k] & ~at_least[k + 1] for k in (1, 3, 5, 7)).any(),
                    (at_least[2] & ~at_least[4]) | (at_least[6] & ~at_least[8]),
                    at_least[4] & ~at_least[8],
                    at_least[8]))
            else:
                m.d.comb += count.eq(counts[first, size // 2] + counts[first + size // 2, size // 2])
            counts[first, size] = count
        size *= 2
    return counts


def unary_count(m: Module, mask: Value, name: str) -> list[Value]:
    """Set bits of 4, 8 or 16 mask bits, in unary: bit k, if more than k are set. The bits in order, so to say."""
    if len(mask) > 4:
        half = len(mask) // 2
        return merged_counts(m, unary_count(m, mask[:half], f"{name}_low"), unary_count(m, mask[half:], f"{name}_high"),
                             name)
    a, b, c, d = mask
    return _named(m, name, [
        a | b | c | d, (a & b) | (c & d) | ((a | b) & (c | d)), (a & b & (c | d)) | (c & d & (a | b)), a & b & c & d])


def merged_counts(m: Module, low: Sequence[Value], high: Sequence[Value], name: str) -> list[Value]:
    """The sum of two numbers of as many bits, all in unary."""
    size = len(low)
    low, high = [Const(1), *low], [Const(1), *high]
    return _named(m, name, [Cat(low[k - j] & high[j] for j in range(size + 1) if 0 <= k - j <= size).any()
                            for k in range(1, 2 * size + 1)])


def _named(m: Module, name: str, values: list[Value]) -> list[Value]:
    """The values as bits of one named signal, so that logic that uses them is not duplicated."""
    signal = Signal(len(values), name=name)
    m.d.comb += signal.eq(Cat(values))
    return list(signal)


class Ranks(wiring.Component):
    """Counts mask bits: all of them, and those before the middle of every block of the network. Combinational.

    Parameters
    ----------
    lanes : int
        Byte lanes of the network, a power of two.
    grain : int
        Bytes that always travel together, a unit; the mask has one bit per unit.

    Members
    -------
    mask : In(lanes // grain)
        Units whose bytes are gathered; for a scatter, units that receive bytes.
    before : Out(ranks_layout(lanes, grain))
        For :class:`Steer`.
    halves : Out(ArrayLayout(range(lanes // grain // 2 + 1), 2))
        Set bits of each half of the mask.
    count : Out(range(lanes // grain + 1))
        Set bits of the mask.
    """

    def __init__(self, lanes: int, grain: int):
        self._units = lanes // grain
        self._grain = grain
        super().__init__({
            "mask": In(self._units),
            "before": Out(ranks_layout(lanes, grain)),
            "halves": Out(data.ArrayLayout(exact_log2(self._units), 2)),
            "count": Out(exact_log2(self._units) + 1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        steps = exact_log2(self._units)
        counts = block_counts(m, self.mask)
        half = self._units // 2
        m.d.comb += [
            self.count.eq(counts[0, self._units]),
            *(self.halves[k].eq(counts[k * half, half]) for k in range(2)),
        ]

        for rank in range(steps):
            distance = 1 << rank
            for block in range(self._units // (2 * distance)):
                # The bits before the middle are the sum of aligned blocks, one per set bit of the middle's position.
                position, terms = (2 * block + 1) * distance, []
                while position:
                    size = position & -position
                    position -= size
                    terms.append(counts[position, size][:rank + 1])
                m.d.comb += self.before[f"d{distance * self._grain}"][block].eq(_total(terms))
        return m


def joined_ranks(m: Module, before: data.View, low: data.View, high: data.View, count: Value) -> None:
    """Sets ``before`` of :class:`Ranks` from those of both halves of the mask and the ``count`` of the lower one."""
    for name, fields in low.shape().members.items():
        blocks = fields.length
        m.d.comb += [*(before[name][block].eq(low[name][block]) for block in range(blocks)),
                     *(before[name][blocks + block].eq(high[name][block] + count) for block in range(blocks))]
    # The last field has one block more than these have fields: the whole mask.
    m.d.comb += before[list(before.shape().members)[-1]][0].eq(count)


class Steer(wiring.Component):
    """Computes the swap bit of every switch of a network. Combinational.

    Parameters
    ----------
    lanes : int
        Byte lanes of the network, a power of two.
    grain : int
        Bytes that always travel together, a unit.

    Members
    -------
    before : In(ranks_layout(lanes, grain))
        From :class:`Ranks`.
    start : In(range(lanes // grain))
        First unit of the gathered side.
    swap : Out(swap_layout(lanes, grain))
        For :class:`Gather` and :class:`Scatter`.
    """

    def __init__(self, lanes: int, grain: int):
        self._units = lanes // grain
        self._grain = grain
        super().__init__({
            "before": In(ranks_layout(lanes, grain)),
            "start": In(exact_log2(self._units)),
            "swap": Out(swap_layout(lanes, grain)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for rank in range(exact_log2(self._units)):
            distance = 1 << rank
            field = f"d{distance * self._grain}"
            for block in range(self._units // (2 * distance)):
                middle = Signal(rank + 1, name=f"middle_{distance * self._grain}_{block}")
                m.d.comb += middle.eq(self.before[field][block] + self.start[:rank + 1])
                wrapped = Signal(distance, name=f"wrapped_{distance * self._grain}_{block}")
                m.d.comb += wrapped.eq(thermometer(middle[:rank], distance) if rank else 0)
                m.d.comb += self.swap[field][block * distance:(block + 1) * distance].eq(
                    ~(wrapped ^ middle[rank].replicate(distance)))
        return m


class _Network(wiring.Component):
    """A butterfly network of 2x2 byte switches. Combinational."""

    def __init__(self, lanes: int, grain: int, *, reverse: bool):
        self._lanes = lanes
        self._grain = grain
        self._reverse = reverse
        super().__init__({
            "i": In(8 * lanes),
            "swap": In(swap_layout(lanes, grain)),
            "o": Out(8 * lanes),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units = self._lanes // self._grain
        width = 8 * self._grain
        current = [self.i.word_select(unit, width) for unit in range(units)]
        ranks = range(exact_log2(units))
        for rank in reversed(ranks) if self._reverse else ranks:
            distance = 1 << rank
            swaps = self.swap[f"d{distance * self._grain}"]
            following = [Signal(width, name=f"d{distance * self._grain}_{unit}") for unit in range(units)]
            for switch in range(units // 2):
                low = switch // distance * 2 * distance + switch % distance
                high = low + distance
                m.d.comb += [
                    following[low].eq(Mux(swaps[switch], current[high], current[low])),
                    following[high].eq(Mux(swaps[switch], current[low], current[high])),
                ]
            current = following
        m.d.comb += self.o.eq(Cat(current))
        return m


class Gather(_Network):
    """Moves masked bytes to consecutive lanes: compaction and rotation in one pass. Combinational.

    Parameters
    ----------
    lanes : int
        Byte lanes, a power of two.
    grain : int
        Bytes that always travel together.

    Members
    -------
    i : In(8 * lanes)
        Bytes before gathering.
    swap : In(swap_layout(lanes, grain))
        From :class:`Steer`.
    o : Out(8 * lanes)
        Masked bytes on consecutive lanes, cyclic; the other lanes are undefined.
    """

    def __init__(self, lanes: int, grain: int):
        super().__init__(lanes, grain, reverse=False)


class Scatter(_Network):
    """Moves bytes from consecutive lanes to the places of the mask: the inverse of :class:`Gather`. Combinational.

    Parameters and members are those of :class:`Gather`, with the roles of ``i`` and ``o`` exchanged.
    """

    def __init__(self, lanes: int, grain: int):
        super().__init__(lanes, grain, reverse=True)
