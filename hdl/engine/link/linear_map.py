"""Linear maps over GF(2) as networks of exclusive-ors that share what they can."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import cache

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LinearMap"]


class _Network:
    """Exclusive-ors of two nodes each; the first nodes are the inputs.

    The column of a node is the set of outputs that it still has to be added to. A greedy search repeatedly takes the
    pair of nodes that the most outputs have in common and makes its sum a new node, until no two outputs share a pair
    (Paar, *Optimized arithmetic for Reed-Solomon encoders*, ISIT 1997). Among equal pairs, the least deep one is taken.
    The remaining nodes are added output by output.
    """

    def __init__(self, columns: tuple[int, ...], outputs: int):
        self.pairs: list[tuple[int, int]] = []
        self.depths = [0] * len(columns)
        left = list(columns)
        heap = [entry for later in range(len(left)) for entry in self._common(left, later)]
        heapq.heapify(heap)
        while heap:
            entry = heapq.heappop(heap)
            _, _, a, b = entry
            shared = left[a] & left[b]
            current = (-shared.bit_count(), max(self.depths[a], self.depths[b]), a, b)
            if current == entry:
                left[a] ^= shared
                left[b] ^= shared
                left.append(shared)
                for entry in self._common(left, self._add(a, b)):
                    heapq.heappush(heap, entry)
            elif shared.bit_count() > 1:
                heapq.heappush(heap, current)
        self.outputs = [self._sum([node for node, column in enumerate(left) if column >> output & 1])
                        for output in range(outputs)]

    def _common(self, left: list[int], later: int) -> Iterator[tuple[int, int, int, int]]:
        """Pairs of a node and an earlier one that share at least two outputs, as entries of the heap."""
        for earlier in range(later):
            count = (left[earlier] & left[later]).bit_count()
            if count > 1:
                yield -count, max(self.depths[earlier], self.depths[later]), earlier, later

    def _add(self, a: int, b: int) -> int:
        self.pairs.append((a, b))
        self.depths.append(max(self.depths[a], self.depths[b]) + 1)
        return len(self.depths) - 1

    def _sum(self, nodes: list[int]) -> int | None:
        """The node that is the sum of ``nodes``, least deep first; None if there are none."""
        terms = [(self.depths[node], node) for node in nodes]
        heapq.heapify(terms)
        while len(terms) > 1:
            node = self._add(heapq.heappop(terms)[1], heapq.heappop(terms)[1])
            heapq.heappush(terms, (self.depths[node], node))
        return terms[0][1] if terms else None


_network = cache(_Network)


class LinearMap(wiring.Component):
    """Multiplies a matrix over GF(2) by the input: the sum of the columns whose input bit is set. Combinational.

    Synthesis tools find few common subexpressions in such sums, so they are found here. For the matrices of CRCs this
    removes more than half of the exclusive-or gates.

    Parameters
    ----------
    columns : tuple of int
        Columns of the matrix: what each input bit adds to the output.
    outputs : int
        Bits of the output.

    Members
    -------
    i : In(len(columns)), o : Out(outputs)
        Input and output.
    """

    def __init__(self, columns: tuple[int, ...], outputs: int):
        self._columns = columns
        super().__init__({"i": In(len(columns)), "o": Out(outputs)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        network = _network(self._columns, len(self.o))
        inputs = len(self._columns)
        nodes: list[Value] = list(self.i)
        levels: dict[int, list[int]] = {}
        for node in range(inputs, len(network.depths)):
            levels.setdefault(network.depths[node], []).append(node)
            nodes.append(Const(0))
        for depth, members in sorted(levels.items()):
            level = Signal(len(members), name=f"level_{depth}")
            m.d.comb += level.eq(Cat(nodes[a] ^ nodes[b] for a, b in (network.pairs[n - inputs] for n in members)))
            for bit, node in zip(level, members, strict=True):
                nodes[node] = bit
        m.d.comb += self.o.eq(Cat(Const(0, 1) if node is None else nodes[node] for node in network.outputs))
        return m
