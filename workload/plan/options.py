"""Tensors, and the predicted result of each treatment; a layer's tensors at several steps of training as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from cdma.workload.dumps.steps import titled_step
from cdma.workload.plan.rounding import Rounding, of_all
from cdma.workload.plan.treatments import Treatment

__all__ = ["Option", "Tensor", "allowed_in_all", "by_layer", "mean_of"]


@dataclass(frozen=True)
class Option:
    """The predicted result of a treatment for a tensor.

    Parameters
    ----------
    how
        The treatment.
    packed_bytes, raw_blocks, nonzero
        Of the block stream: its bytes, blocks that are left raw, elements that are not zero.
    offload_cycles, prefetch_cycles
        From the start of a descriptor to its completion.
    error
        Largest error, as a share of the largest magnitude; if the values are not known, the format's bound for normal
        values.
    rounding
        Errors of rounding in detail; None if nothing is rounded, or the values are not known.
    """

    how: Treatment
    packed_bytes: int
    raw_blocks: int
    nonzero: int
    offload_cycles: float
    prefetch_cycles: float
    error: float = 0.0
    rounding: Rounding | None = None

    @property
    def cycles(self) -> float:
        """Cycles of offload and prefetch together."""
        return self.offload_cycles + self.prefetch_cycles

    def exposed(self, hidden_cycles: float) -> float:
        """Cycles of offload and prefetch that computing does not hide."""
        return max(0.0, self.offload_cycles - hidden_cycles) + max(0.0, self.prefetch_cycles - hidden_cycles)


@dataclass(frozen=True)
class Tensor:
    """A tensor, and all its treatments.

    Parameters
    ----------
    name, raw_bytes
        Of the tensor.
    density
        Share of its values that are not zero.
    options
        All treatments; those that change the tensor least come first.
    """

    name: str
    raw_bytes: int
    density: float
    options: tuple[Option, ...]

    def under(self, how: Treatment) -> Option:
        """The option of a treatment."""
        return next(option for option in self.options if option.how == how)


def by_layer(tensors: Iterable[Tensor]) -> list[tuple[str, list[Tensor]]]:
    """Tensors by layer, which has one for each step of training, in the order of the first tensor; a tensor whose name
    has no step is a layer of its own."""
    found: dict[tuple[str, bool], list[Tensor]] = {}
    for tensor in tensors:
        layer, step, _ = titled_step(tensor.name)
        found.setdefault((layer, step is not None), []).append(tensor)
    return [(name, several) for (name, _), several in found.items()]


def allowed_in_all(tensors: Sequence[Tensor]) -> list[Treatment]:
    """The treatments that every tensor has."""
    every = [{option.how for option in tensor.options} for tensor in tensors]
    return [option.how for option in tensors[0].options if all(option.how in each for each in every)]


def mean_of(layer: str, tensors: Sequence[Tensor]) -> Tensor:
    """The mean of a layer's tensors: treatments that are allowed at all steps, with the means of their figures, and the
    largest error of all steps.

    Raises
    ------
    ValueError
        If no treatment is allowed at all steps.
    """
    if len(tensors) == 1:
        return replace(tensors[0], name=layer)
    options = [_mean([tensor.under(how) for tensor in tensors]) for how in allowed_in_all(tensors)]
    if not options:
        raise ValueError(f"{layer} has no treatment that is allowed at all {len(tensors)} steps of the training: plan "
                         "some of them with --array")
    size = sum(tensor.raw_bytes for tensor in tensors)
    density = sum(tensor.density * tensor.raw_bytes for tensor in tensors) / size
    return Tensor(layer, round(size / len(tensors)), density, tuple(sorted(options, key=lambda option: option.error)))


def _mean(several: Sequence[Option]) -> Option:
    """Options of one treatment as one."""
    packed, raw, nonzero, offload, prefetch = (fmean(getattr(option, name) for option in several) for name in (
        "packed_bytes", "raw_blocks", "nonzero", "offload_cycles", "prefetch_cycles"))
    changes = [option.rounding for option in several if option.rounding is not None]
    return Option(several[0].how, round(packed), round(raw), round(nonzero), offload, prefetch,
                  max(option.error for option in several), of_all(changes) if changes else None)
