"""What ``cdma plan`` gives: a plan, or a replayed training run, with what it was made for."""

from __future__ import annotations

from dataclasses import dataclass, field

from cdma.golden.results import INLINED
from cdma.hdl.config.engine import EngineConfig
from cdma.workload.plan.summary import PlanSummary
from cdma.workload.plan.tuning_replay import ReplaySummary

__all__ = ["PlanInputs", "PlanOutcome", "TuningOutcome"]


@dataclass(frozen=True)
class PlanInputs:
    """What a plan is made for.

    Parameters
    ----------
    source
        Names of the dumps, or of the network.
    engine, clock_mhz
        The engine and its clock.
    link_gb_per_s
        10^9 bytes a second of the link.
    latency
        Cycles that memories take to answer.
    lossy
        Formats that values may be rounded to.
    max_error
        Largest allowed error of a rounded value, as a share of the tensor's largest magnitude; None allows any.
    codings
        Families of codings that may be chosen.
    """

    source: str
    engine: EngineConfig
    clock_mhz: float
    link_gb_per_s: float
    latency: int
    lossy: tuple[str, ...]
    max_error: float | None
    codings: tuple[str, ...]


@dataclass(frozen=True)
class PlanOutcome:
    """A plan and its inputs."""

    inputs: PlanInputs = field(metadata=INLINED)
    summary: PlanSummary = field(metadata=INLINED)


@dataclass(frozen=True)
class TuningOutcome:
    """A replayed training run and its inputs."""

    inputs: PlanInputs = field(metadata=INLINED)
    summary: ReplaySummary = field(metadata=INLINED)
