"""Proofs with a SAT solver: whether assertions hold, and covers are reached, in all cycles from the reset on.

Each assertion that holds is given to the solver before the next one is asked, in the order of the harness and cycle by
cycle. So a harness helps the solver with assertions about inner signals, from which the last ones follow.

A network of gates that has every cycle (:mod:`cdma.verif.formal.unroll`) knows what follows from the reset, such as the
places that a packet without gaps is written to, and is much smaller than as many copies of the circuit. The SMT solver
is given copies, and is slower by orders of magnitude where data pass through networks and memories.

It runs as a program of its own, ``python -m cdma.verif.formal.sat FOLDER CYCLES``, so that it can be stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cdma.verif.formal.aiger import read
from cdma.verif.formal.unroll import Network, Unrolled

__all__ = ["CIRCUIT", "explore"]

CIRCUIT = "model.aig"
"""The file with the circuit: outputs ``assume_*``, ``assert_*`` and ``cover_*``, 1 where the condition holds."""

_SOLVER = "cadical195"


class _Clauses:
    """Gates of a network in a solver, those on which questions depend."""

    def __init__(self, network: Network) -> None:
        from pysat.solvers import Solver

        self._network, self._given = network, {0}
        self._solver: Any = Solver(name=_SOLVER)
        self._solver.add_clause([-1])

    def holds(self, literal: int) -> None:
        """Demand that the literal is true."""
        self._solver.add_clause([self._of(literal)])

    def possible(self, literal: int) -> bool:
        """Whether the literal can be true."""
        return bool(self._solver.solve(assumptions=[self._of(literal)]))

    def _of(self, literal: int) -> int:
        waiting = [literal >> 1]
        while waiting:
            variable = waiting.pop()
            if variable in self._given:
                continue
            self._given.add(variable)
            gate = self._network.gates[variable]
            if gate is not None:
                one, other, both = _signed(gate[0]), _signed(gate[1]), variable + 1
                self._solver.append_formula([[-both, one], [-both, other], [both, -one, -other]])
                waiting += [gate[0] >> 1, gate[1] >> 1]
        return _signed(literal)


def _signed(literal: int) -> int:
    variable = (literal >> 1) + 1
    return -variable if literal & 1 else variable


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
    unrolled = Unrolled(read(folder / CIRCUIT))
    clauses = _Clauses(unrolled.network)
    reached: set[str] = set()
    for step in range(cycles):
        outputs = unrolled.step()
        found: dict[str, Any] = {"step": step, "violated": [], "reached": []}
        for name, literal in outputs.items():
            if name.startswith("assume_") and literal != 1:
                clauses.holds(literal)
        for name, literal in outputs.items():
            kind, _, rest = name.partition("_")
            if kind == "assert" and literal != 1:
                if clauses.possible(literal ^ 1):
                    found["violated"].append(rest)
                else:
                    clauses.holds(literal)
        for name, literal in outputs.items():
            kind, _, rest = name.partition("_")
            if kind == "cover" and literal and rest not in reached and clauses.possible(literal):
                reached.add(rest)
                found["reached"].append(rest)
        yield found
        if found["violated"]:
            return


if __name__ == "__main__":
    for found in explore(Path(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(found), flush=True)
