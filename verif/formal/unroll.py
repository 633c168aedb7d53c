"""Circuits cycle by cycle from the reset on, as one network of AND gates without registers."""

from __future__ import annotations

from cdma.verif.formal.aiger import Circuit

__all__ = ["Network", "Unrolled"]


class Network:
    """AND gates over free variables. No gate is made twice, and none whose value is known.

    Literals are those of :class:`cdma.verif.formal.aiger.Circuit`.

    Attributes
    ----------
    gates : list
        The two literals of each variable's gate; None for those that are free. Variable 0 is false.
    """

    def __init__(self) -> None:
        self.gates: list[tuple[int, int] | None] = [None]
        self._known: dict[tuple[int, int], int] = {}

    def free(self) -> int:
        """A new variable."""
        self.gates.append(None)
        return 2 * (len(self.gates) - 1)

    def both(self, one: int, other: int) -> int:
        """The literal that is true when both are."""
        if one > other:
            one, other = other, one
        if one == 0 or one == other ^ 1:
            return 0
        if one in (1, other):
            return other
        known = self._known.get((one, other))
        if known is not None:
            return known
        simple = self._absorbed(one, other)
        if simple is None:
            simple = self._absorbed(other, one)
        if simple is not None:
            return simple
        made = self.free()
        self.gates[made >> 1] = (one, other)
        self._known[one, other] = made
        return made

    def _absorbed(self, one: int, other: int) -> int | None:
        """Both, if the gate behind the second literal makes that simple; None otherwise."""
        gate = self.gates[other >> 1]
        if gate is None:
            return None
        if other & 1:
            if one ^ 1 in gate:
                return one
            if one in gate:
                return self.both(one, gate[gate[0] == one] ^ 1)
        elif one in gate:
            return other
        elif one ^ 1 in gate:
            return 0
        return None


class Unrolled:
    """A circuit whose registers begin with 0, one cycle more with each call of :meth:`step`.

    Parameters
    ----------
    circuit : Circuit
        The circuit.

    Attributes
    ----------
    network : Network
        All cycles so far; inputs are free variables of each.
    """

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._state = [0] * len(circuit.registers)
        self.network = Network()

    def step(self) -> dict[str, int]:
        """Literals of the outputs in the next cycle, by name."""
        circuit, both = self._circuit, self.network.both
        values = [0, *(self.network.free() for _ in range(circuit.inputs)), *self._state]
        for one, other in circuit.gates:
            values.append(both(values[one >> 1] ^ (one & 1), values[other >> 1] ^ (other & 1)))
        self._state = [values[literal >> 1] ^ (literal & 1) for literal in circuit.registers]
        return {name: values[literal >> 1] ^ (literal & 1) for name, literal in circuit.outputs.items()}
