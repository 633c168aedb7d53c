"""What a proof is, and what comes of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cdma.golden.results import HIDDEN
from cdma.verif.formal.harness import Harness

__all__ = ["SETS", "Proof", "ProofResult"]

SETS = ("shallow", "deep")
"""The sets of proofs: the first one runs in continuous integration."""


@dataclass(frozen=True)
class Proof:
    """A proof of the table.

    Parameters
    ----------
    name : str
        Its name on the command line.
    unit : str
        The file of the component, below the root of the repository.
    harness : callable
        Puts the component, assumptions and assertions into a :class:`~cdma.verif.formal.harness.Harness`. Its docstring
        is what is proved, in a sentence, with parameters and ``words`` in braces.
    parameters : mapping, optional
        What the harness is called with.
    depth : int, optional
        Cycles of bounded proofs; of induction, the cycles that are assumed; 0 for all inputs of logic without
        registers.
    set : str, optional
        One of :data:`SETS`.
    coverage : str, optional
        What fits into the depth, which makes the proof a bounded one: for all runs of that length from the reset on.
    cover_depth : int, optional
        Cycles in which covers must be reached; the depth, but at least 12, when not given.
    configured : bool, optional
        Made with the parameters of a configuration, not with those of the table.
    solver : str, optional
        ``smt``, Yices, or, but for induction, ``sat``, a SAT solver about a network that has every cycle, in which
        covers must be reached within the depth.
    words : mapping, optional
        What the claim says beside the parameters.
    said : str, optional
        The claim, where it is not that of the harness.
    """

    name: str
    unit: str
    harness: Callable[..., object]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 1
    set: str = "shallow"
    coverage: str = ""
    cover_depth: int | None = None
    configured: bool = False
    solver: str = "smt"
    words: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""

    def __post_init__(self) -> None:
        if self.solver == "sat" and self.mode == "induction":
            raise ValueError(f"solver of {self.name} must be smt: sat is not for induction")

    def build(self) -> Harness:
        """The harness around the component."""
        h = Harness()
        self.harness(h, **self.parameters)
        return h

    @property
    def claim(self) -> str:
        """What is proved, in a sentence."""
        return self.said or " ".join((self.harness.__doc__ or "").format(**{**self.parameters, **self.words}).split())

    @property
    def mode(self) -> str:
        """How it is proved: ``bounded``, by ``induction``, or by ``equivalence`` of logic without registers."""
        return "bounded" if self.coverage else "induction" if self.depth else "equivalence"

    @property
    def how(self) -> str:
        """How it is proved, in words."""
        return {"bounded": f"all runs of {self.depth} cycles: {self.coverage}", "equivalence": "all inputs",
                "induction": f"all runs, by induction over {self.depth} {'cycle' if self.depth == 1 else 'cycles'}",
                }[self.mode]

    @property
    def cycles(self) -> int:
        """Cycles that are looked at, the reset among them."""
        return 1 + max(self.depth, 1)

    @property
    def steps_of_covers(self) -> int:
        """Cycles in which covers must be reached."""
        return self.cover_depth or (max(self.depth, 12) if self.depth else 1)


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
