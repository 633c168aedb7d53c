"""Proofs with a SAT solver: whether assertions hold, and covers are reached, in all cycles from the reset on.

Each assertion that holds is given to the solver before the next one is asked, in the order of the harness and cycle by
cycle. So a harness helps the solver with assertions about inner signals, from which the last ones follow.

A network of gates that has every cycle knows what follows from the reset, such as the places that a packet without gaps
is written to, and is much smaller than as many copies of the circuit. The SMT solver is given copies, and is slower by
orders of magnitude where data pass through networks and memories.

It runs as a program of its own, ``python -m cdma.verif.formal.sat FOLDER CYCLES``, so that it can be stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["CIRCUIT", "Circuit", "Network", "explore", "read", "unrolled"]

CIRCUIT = "model.aag"
"""The file with the circuit: outputs ``assume_*``, ``assert_*`` and ``cover_*``, 1 where the condition holds."""

_SOLVER = "cadical195"


class Circuit(NamedTuple):
    """A circuit of AND gates and registers, which begin with 0.

    A literal is twice the number of a variable, plus 1 if it is inverted. Variables are numbered in the order false,
    inputs, registers, gates. Of a register there is the literal that it takes in the next cycle, and of a gate there
    are two, of smaller numbers.
    """

    inputs: int
    registers: list[int]
    gates: list[tuple[int, int]]
    outputs: dict[str, int]


def read(path: Path) -> Circuit:
    """The circuit in a file of AIGER's text format, as Yosys writes it: variables in order, outputs with names.

    Raises
    ------
    ValueError
        If a register does not begin with 0, or an output has no name of its own.

    Source: Biere, "AIGER 1.9 and beyond", 2011.
    """
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    inputs, registers, outputs, gates = map(int, next(lines)[2:6])

    def numbers(count: int) -> list[list[int]]:
        return [[int(number) for number in next(lines)] for _ in range(count)]

    numbers(inputs)
    following = [literal for _, literal in numbers(registers)]     # a register with an initial value has one more
    literals = [literal for literal, in numbers(outputs)]
    pairs = [(one, other) for _, one, other in numbers(gates)]
    named = {line[1]: literals[int(line[0][1:])] for line in lines if line[0][0] == "o"}
    if len(named) != outputs:
        raise ValueError(f"{path}: each of the {outputs} outputs must have a name of its own")
    return Circuit(inputs, following, pairs, named)


class Network:
    """AND gates over free variables, and a solver that knows those on which questions depend.

    No gate is made twice, and none whose value is known. Literals are those of :class:`Circuit`.

    Attributes
    ----------
    gates : list
        The two literals of each variable's gate; None for those that are free. Variable 0 is false.
    """

    def __init__(self) -> None:
        from pysat.solvers import Solver

        self.gates: list[tuple[int, int] | None] = [None]
        self._known: dict[tuple[int, int], int] = {}
        self._given = {0}
        self._solver: Any = Solver(name=_SOLVER)
        self._solver.add_clause([-1])

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

    def holds(self, literal: int) -> None:
        """Demand that the literal is true."""
        self._solver.add_clause([self._clauses(literal)])

    def possible(self, literal: int) -> bool:
        """Whether the literal can be true."""
        return bool(self._solver.solve(assumptions=[self._clauses(literal)]))

    def _clauses(self, literal: int) -> int:
        """Give the solver the gates behind a literal; returns what the solver calls it."""
        waiting = [literal >> 1]
        while waiting:
            variable = waiting.pop()
            if variable in self._given:
                continue
            self._given.add(variable)
            gate = self.gates[variable]
            if gate is not None:
                one, other, both = _signed(gate[0]), _signed(gate[1]), variable + 1
                self._solver.append_formula([[-both, one], [-both, other], [both, -one, -other]])
                waiting += [gate[0] >> 1, gate[1] >> 1]
        return _signed(literal)


def _signed(literal: int) -> int:
    variable = (literal >> 1) + 1
    return -variable if literal & 1 else variable


def unrolled(circuit: Circuit, network: Network) -> Iterator[dict[str, int]]:
    """Literals of the outputs by name, cycle by cycle without end; inputs are free variables of each cycle."""
    state = [0] * len(circuit.registers)
    while True:
        values = [0, *(network.free() for _ in range(circuit.inputs)), *state]
        for one, other in circuit.gates:
            values.append(network.both(values[one >> 1] ^ (one & 1), values[other >> 1] ^ (other & 1)))
        state = [values[literal >> 1] ^ (literal & 1) for literal in circuit.registers]
        yield {name: values[literal >> 1] ^ (literal & 1) for name, literal in circuit.outputs.items()}


def explore(folder: Path, cycles: int) -> Iterator[dict[str, Any]]:
    """What is found, cycle by cycle.

    Parameters
    ----------
    folder : Path
        Where :data:`CIRCUIT` is.
    cycles : int
        How many, the reset among them.

    Yields
    ------
    dict
        ``step``, ``violated``, names of assertions, and ``reached``, those of covers that were not reached before. The
        first cycle with a violated assertion is the last one.
    """
    network = Network()
    reached: set[str] = set()
    for step, outputs in zip(range(cycles), unrolled(read(folder / CIRCUIT), network), strict=False):
        found: dict[str, Any] = {"step": step, "violated": [], "reached": []}
        kinds: dict[str, dict[str, int]] = {"assume": {}, "assert": {}, "cover": {}}
        for name, literal in outputs.items():
            kind, _, rest = name.partition("_")
            kinds[kind][rest] = literal
        for literal in kinds["assume"].values():
            network.holds(literal)
        for name, literal in kinds["assert"].items():
            if literal != 1 and network.possible(literal ^ 1):
                found["violated"].append(name)
            else:
                network.holds(literal)
        for name, literal in kinds["cover"].items():
            if literal and name not in reached and network.possible(literal):
                reached.add(name)
                found["reached"].append(name)
        yield found
        if found["violated"]:
            return


if __name__ == "__main__":
    for found in explore(Path(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(found), flush=True)
