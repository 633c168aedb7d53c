"""The tensors of a dump grouped by layer: a layer has one tensor for each step of training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from cdma.workload.dumps.steps import titled_step
from cdma.workload.plan.options import Option, Tensor
from cdma.workload.plan.rounding import of_all
from cdma.workload.plan.treatments import Treatment

__all__ = ["Layer", "layers"]


@dataclass(frozen=True)
class Layer:
    """A layer's tensors, one for each step of training that the dump has."""

    name: str
    tensors: tuple[Tensor, ...]

    def under(self, how: Treatment) -> list[tuple[Tensor, Option]]:
        """Each tensor with its option for a treatment."""
        return [(tensor, next(option for option in tensor.options if option.how == how)) for tensor in self.tensors]

    def mean(self, how: Treatment, of: Callable[[Option], float]) -> float:
        """The mean of a figure over the steps, under a treatment."""
        return fmean(of(option) for _, option in self.under(how))

    @cached_property
    def tensor(self) -> Tensor:
        """The mean of the layer's tensors: treatments that are allowed at all steps, with the means of their figures.

        The error is the largest of all steps.

        Raises
        ------
        ValueError
            If no treatment is allowed at all steps.
        """
        if len(self.tensors) == 1:
            only = self.tensors[0]
            return Tensor(self.name, only.raw_bytes, only.density, only.options)
        every = [{option.how for option in tensor.options} for tensor in self.tensors]
        common = [option.how for option in self.tensors[0].options if all(option.how in each for each in every)]
        if not common:
            raise ValueError(f"{self.name} has no treatment that is allowed at all {len(self.tensors)} steps of the "
                             "training: plan some of them with --array")
        options = sorted(map(self._option, common), key=lambda option: option.error)
        size = sum(tensor.raw_bytes for tensor in self.tensors)
        density = sum(tensor.density * tensor.raw_bytes for tensor in self.tensors) / size
        return Tensor(self.name, round(size / len(self.tensors)), density, tuple(options))

    def _option(self, how: Treatment) -> Option:
        def mean(name: str) -> float:
            return self.mean(how, lambda option: getattr(option, name))

        own = [option for _, option in self.under(how)]
        changes = [option.rounding for option in own if option.rounding is not None]
        return Option(how, round(mean("packed_bytes")), round(mean("raw_blocks")), round(mean("nonzero")),
                      mean("offload_cycles"), mean("prefetch_cycles"), max(option.error for option in own),
                      of_all(changes) if changes else None)


def layers(tensors: Iterable[Tensor]) -> list[Layer]:
    """Tensors by layer, in the order of the first tensor; a tensor whose name has no step is a layer of its own."""
    found: dict[tuple[str, bool], list[Tensor]] = {}
    for tensor in tensors:
        layer, step, _ = titled_step(tensor.name)
        found.setdefault((layer, step is not None), []).append(tensor)
    return [Layer(name, tuple(several)) for (name, _), several in found.items()]
