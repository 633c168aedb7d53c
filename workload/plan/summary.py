"""Summary of a plan for output: times in microseconds, and the other rules beside the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cdma.golden.results import INLINED
from cdma.workload.plan.choice import Choice, Plan, Totals
from cdma.workload.plan.options import Option
from cdma.workload.plan.rounding import Rounding
from cdma.workload.plan.treatments import Treatment

__all__ = ["OptionSummary", "PlanSummary", "TensorSummary", "TotalSummary", "summary"]


@dataclass(frozen=True)
class OptionSummary:
    """The predicted result of a treatment; see :class:`cdma.workload.plan.options.Option`."""

    treatment: str
    lossy: bool
    fields: Treatment = field(metadata=INLINED)
    packed_bytes: int
    ratio: float
    raw_blocks: int
    nonzero: int
    offload_us: float
    prefetch_us: float
    error: float
    rounding: Rounding | None


@dataclass(frozen=True)
class TensorSummary:
    """A tensor, or a layer's tensors of all steps: the treatment, its time that computing does not hide, and all
    options."""

    name: str
    arrays: tuple[str, ...]
    raw_bytes: int
    density: float
    chosen: OptionSummary = field(metadata=INLINED)
    exposed_us: float
    options: tuple[OptionSummary, ...]


@dataclass(frozen=True)
class TotalSummary:
    """All tensors under one rule."""

    packed_bytes: int
    ratio: float
    transfer_us: float
    exposed_us: float


@dataclass(frozen=True)
class PlanSummary:
    """All tensors, and the totals by rule: ``plan``, ``always`` and ``never``."""

    tensors: tuple[TensorSummary, ...]
    raw_bytes: int
    totals: Mapping[str, TotalSummary]


def summary(plan: Plan, clock_mhz: float) -> PlanSummary:
    """Summarise a plan.

    Parameters
    ----------
    plan
        The choices.
    clock_mhz
        Clock of the engine.
    """
    raw = sum(choice.tensor.raw_bytes for choice in plan.choices)
    totals = {"plan": plan.planned, "always": plan.always, "never": plan.never}
    return PlanSummary(tuple(_tensor(choice, clock_mhz) for choice in plan.choices), raw,
                       {rule: _total(each, raw) for rule, each in totals.items()})


def _tensor(choice: Choice, clock_mhz: float) -> TensorSummary:
    tensor = choice.tensor
    arrays = tuple(each.tensor.name for each in choice.alone)
    return TensorSummary(tensor.name, arrays, tensor.raw_bytes, tensor.density,
                         _option(choice.chosen, tensor.raw_bytes, clock_mhz), choice.exposed * 1e6,
                         tuple(_option(option, tensor.raw_bytes, clock_mhz) for option in tensor.options))


def _option(option: Option, raw_bytes: int, clock_mhz: float) -> OptionSummary:
    return OptionSummary(option.how.name, option.how.lossy, option.how, option.packed_bytes,
                         raw_bytes / option.packed_bytes, option.raw_blocks, option.nonzero,
                         option.offload_cycles / clock_mhz, option.prefetch_cycles / clock_mhz, option.error,
                         option.rounding)


def _total(total: Totals, raw_bytes: int) -> TotalSummary:
    return TotalSummary(total.packed_bytes, raw_bytes / total.packed_bytes, total.transfer * 1e6, total.exposed * 1e6)
