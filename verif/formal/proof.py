"""What a proof is, and what comes of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cdma.golden.results import HIDDEN, derived
from cdma.verif.formal.harness import Harness

__all__ = ["MODES", "SETS", "SOLVERS", "Proof", "ProofReport", "ProofResult"]

MODES = ("bounded", "induction", "equivalence")
"""How something is proved: for runs of a bounded length, for all runs by k-induction, for all inputs of logic without
registers."""

SETS = ("shallow", "deep")
"""The sets of proofs: the first one runs in continuous integration."""

SOLVERS = ("smt", "sat")
"""What is asked: Yices, or, but for induction, a SAT solver about a network that has every cycle."""


@dataclass(frozen=True)
class Proof:
    """A proof of the table.

    Parameters
    ----------
    name : str
        Its name on the command line.
    unit : str
        The file of the component, below the root of the repository.
    claim : str
        What is proved, in a sentence.
    build : callable
        Makes the harness.
    mode : str
        One of :data:`MODES`.
    depth : int
        Cycles of bounded proofs; of induction, the cycles that are assumed.
    set : str
        One of :data:`SETS`.
    coverage : str, optional
        Of bounded proofs: what fits into the depth.
    cover_depth : int, optional
        Cycles in which covers must be reached; the depth, but at least 12, when not given.
    configured : bool, optional
        Made with the parameters of a configuration, not with those of the table.
    solver : str, optional
        One of :data:`SOLVERS`. With ``sat``, covers must be reached within the depth.
    """

    name: str
    unit: str
    claim: str
    build: Callable[[], Harness]
    mode: str
    depth: int = 1
    set: str = "shallow"
    coverage: str = ""
    cover_depth: int | None = None
    configured: bool = False
    solver: str = "smt"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode of {self.name} must be one of {', '.join(MODES)}, not {self.mode!r}")
        if self.set not in SETS:
            raise ValueError(f"set of {self.name} must be one of {', '.join(SETS)}, not {self.set!r}")
        if self.solver not in SOLVERS or (self.solver == "sat" and self.mode == "induction"):
            raise ValueError(f"solver of {self.name} must be one of {', '.join(SOLVERS)}, sat not for induction, "
                             f"not {self.solver!r}")
        if (self.mode == "bounded") != bool(self.coverage):
            raise ValueError(f"{self.name}: bounded proofs, and no others, say in `coverage` what fits into the depth")

    @property
    def how(self) -> str:
        """How it is proved, in words."""
        if self.mode == "bounded":
            return f"all runs of {self.depth} cycles: {self.coverage}"
        if self.mode == "induction":
            return f"all runs, by induction over {self.depth} {'cycle' if self.depth == 1 else 'cycles'}"
        return "all inputs"

    @property
    def steps_of_covers(self) -> int:
        """Cycles in which covers must be reached."""
        if self.cover_depth is not None:
            return self.cover_depth
        return 1 if self.mode == "equivalence" else max(self.depth, 12)


@dataclass(frozen=True)
class ProofResult:
    """What came of a proof.

    Parameters
    ----------
    name, unit, claim, how
        As those of :class:`Proof`.
    outcome : str
        ``passed``; ``failed``, there is a run that violates an assertion; ``inconclusive``, induction found no such run
        and no proof; ``vacuous``, a cover was not reached; or ``timeout``.
    seconds : float
        That the solver took, when it ran.
    covers : tuple of str
        Covers that were reached.
    missed : tuple of str
        Covers that were not.
    violated : tuple of str
        Names of violated assertions, with the line of the harness.
    step : int or None
        The cycle of the violation.
    trace : str
        The VCD file of the violation.
    configured : bool
        As that of :class:`Proof`.
    cached : bool
        An earlier run of the same netlist.
    """

    name: str
    unit: str
    claim: str
    how: str
    outcome: str
    seconds: float
    covers: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    violated: tuple[str, ...] = ()
    step: int | None = None
    trace: str = ""
    configured: bool = field(default=False, metadata=HIDDEN)
    cached: bool = field(default=False, metadata=HIDDEN)

    @property
    def passed(self) -> bool:
        """Whether it is proved."""
        return self.outcome == "passed"

    @property
    def message(self) -> str:
        """What is wrong, in a sentence; empty when nothing is."""
        if self.outcome == "vacuous":
            return f"{self.name}: the proof is vacuous, no run reaches {', '.join(self.missed)}"
        if self.outcome == "timeout":
            return f"{self.name}: the solver did not end within the time limit"
        if self.outcome == "passed":
            return ""
        words = "is violated" if self.outcome == "failed" else "is not inductive: add an invariant, or a longer depth"
        return f"{self.name}: {', '.join(self.violated)} {words}, cycle {self.step}; waves in {self.trace}"


@dataclass(frozen=True)
class ProofReport:
    """Results of proofs, in the order of the table."""

    results: tuple[ProofResult, ...]

    @derived
    def passed(self) -> bool:
        """Whether all are proved."""
        return all(result.passed for result in self.results)

    @derived
    def seconds(self) -> float:
        """That the solver took in all."""
        return round(sum(result.seconds for result in self.results), 1)
