"""Which treatment each tensor gets: the one whose transfers leave the least time that computing does not hide.

A dump of a training run has a layer's tensor at several steps. They get one treatment, the one with the least mean
time, because the steps that are not in the dump get the same.

Among equal treatments the one that changes the tensor least is chosen: raw, then zero-value coding in elements of its
own size, then in other elements, then exponents, then rounded, with the smaller error first, and for equal errors raw
first. Lossy treatments must be allowed, and one that turns a finite value into infinity is never chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from statistics import fmean
from typing import Any

import numpy as np

from cdma.golden.codec.narrowing import WIDE_BYTES, Narrowing
from cdma.workload.dumps import own_element_bytes
from cdma.workload.plan.cycles import Blocks, Timing
from cdma.workload.plan.options import Option, Tensor, by_layer, mean_of
from cdma.workload.plan.rounding import BOUNDS, Rounding, rounding
from cdma.workload.plan.treatments import Treatment, expected, packed, treatments

__all__ = ["EQUAL", "Choice", "Hidden", "Plan", "Totals", "always", "dump_tensor", "least", "network_tensor",
           "never", "plan_dump"]

Hidden = Callable[[str], float]
"""Seconds of a tensor's transfer that computing hides, in each direction."""

EQUAL = 1e-9
"""Times whose relative difference is below this count as equal."""

# Where all blocks are equal, so many are calculated one by one; the steady state after them is extrapolated.
_ALIKE = 512


@dataclass(frozen=True)
class Choice:
    """A tensor, its treatment, and the seconds of offload and prefetch that computing does not hide.

    Parameters
    ----------
    tensor, chosen, exposed
        Of a tensor, or of a layer, with means over the steps of the training run.
    arrays
        The tensors of the steps, each with the same treatment; empty for a single tensor.
    """

    tensor: Tensor
    chosen: Option
    exposed: float
    arrays: tuple[Choice, ...] = ()

    @property
    def alone(self) -> tuple[Choice, ...]:
        """The choices for single tensors: those of the steps, or only this one."""
        return self.arrays or (self,)


@dataclass(frozen=True)
class Totals:
    """All tensors under one rule: bytes on the link, seconds of transfers, seconds that computing does not hide."""

    packed_bytes: int
    transfer: float
    exposed: float


@dataclass(frozen=True)
class Plan:
    """The choices and their totals, beside those of compressing always and never; for a training run, totals per step.

    ``always`` is zero-value coding in elements of each tensor's own size; ``never`` is raw.
    """

    choices: tuple[Choice, ...]
    planned: Totals
    always: Totals
    never: Totals

    def summary(self, clock_mhz: float) -> dict[str, Any]:
        """Tensors and totals as JSON has them, with times in microseconds at a clock of the engine: of each tensor the
        treatment, its time that computing does not hide, and all options; totals by rule."""
        raw = sum(choice.tensor.raw_bytes for choice in self.choices)
        rules = {"plan": self.planned, "always": self.always, "never": self.never}
        return {"tensors": [_row(choice, clock_mhz) for choice in self.choices], "raw_bytes": raw, "totals": {
            rule: {"packed_bytes": total.packed_bytes, "ratio": raw / total.packed_bytes,
                   "transfer_us": total.transfer * 1e6, "exposed_us": total.exposed * 1e6}
            for rule, total in rules.items()}}


def _row(choice: Choice, clock_mhz: float) -> dict[str, Any]:
    tensor = choice.tensor

    def option(one: Option) -> dict[str, Any]:
        return {"treatment": one.how.name, "lossy": one.how.lossy, **asdict(one.how), "packed_bytes": one.packed_bytes,
                "ratio": tensor.raw_bytes / one.packed_bytes, "raw_blocks": one.raw_blocks, "nonzero": one.nonzero,
                "offload_us": one.offload_cycles / clock_mhz, "prefetch_us": one.prefetch_cycles / clock_mhz,
                "error": one.error, "rounding": one.rounding}

    return {"name": tensor.name, "arrays": [each.tensor.name for each in choice.alone], "raw_bytes": tensor.raw_bytes,
            "density": tensor.density, **option(choice.chosen), "exposed_us": choice.exposed * 1e6,
            "options": list(map(option, tensor.options))}


def always(options: Sequence[Option]) -> Option:
    """Zero-value coding in elements of the tensor's own size, or the option nearest to it."""
    return next(option for option in options if not option.how.leave_raw)


def never(options: Sequence[Option]) -> Option:
    """Raw."""
    return next(option for option in options if option.how.leave_raw and not option.how.lossy)


def dump_tensor(name: str, array: np.ndarray, timing: Timing, lossy: Sequence[str] = (),
                max_error: float | None = None, codings: Sequence[str] | None = None) -> Tensor:
    """All treatments of an array, with what is predicted for each.

    Parameters
    ----------
    name, array
        Its name, for messages, and its values.
    timing
        The engine.
    lossy
        Formats that float32 may be rounded to.
    max_error
        Largest allowed error, as a share of the largest magnitude; None allows every finite error.
    codings
        Families of codings that may be chosen, of :data:`cdma.workload.plan.codings.CODINGS`; all that the engine
        builds when not given.

    Raises
    ------
    ValueError
        If the array is empty, or the engine can neither move nor round it.
    """
    if not array.size:
        raise ValueError(f"{name} is empty: there is nothing to plan")
    own = own_element_bytes(array)
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    found = []
    for how in treatments(timing.config, name, raw.size, own, float32=array.dtype == np.float32, lossy=lossy,
                          codings=codings):
        change = rounding(array, how.narrow) if how.lossy else None
        error = change.max_relative if change else 0.0
        if error < inf and (max_error is None or error <= max_error):
            found.append(_option(how, packed(raw, how, timing.config.block_bytes), timing, error, change))
    nonzero = int(np.count_nonzero(raw.view(f"<u{own}")))
    return Tensor(name, raw.size, nonzero * own / raw.size, tuple(sorted(found, key=lambda option: option.error)))


def network_tensor(name: str, raw_bytes: int, own_bytes: int, density: float, timing: Timing,
                   lossy: Sequence[str] = (), max_error: float | None = None, codings: Sequence[str] = ("zvc",)
                   ) -> Tensor:
    """All treatments of a tensor of which only size and density are known; see :func:`dump_tensor`.

    All its blocks are taken as equal, and values of 4 bytes as float32.
    """
    found = []
    for how in treatments(timing.config, name, raw_bytes, own_bytes, float32=own_bytes == WIDE_BYTES, lossy=lossy,
                          codings=codings):
        error = BOUNDS[Narrowing(how.narrow)] if how.lossy else 0.0
        if max_error is None or error <= max_error:
            found.append(_option(how, expected(raw_bytes, density, how, timing.config.block_bytes), timing, error,
                                 alike=True))
    return Tensor(name, raw_bytes, density, tuple(sorted(found, key=lambda option: option.error)))


def _option(how: Treatment, blocks: Blocks, timing: Timing, error: float, change: Rounding | None = None,
            alike: bool = False) -> Option:
    """What is predicted for a tensor's blocks, which may all be equal."""
    offload, prefetch = (_alike(way, blocks, timing) if alike else way(blocks)
                         for way in (timing.offload, timing.prefetch))
    return Option(how, blocks.packed_bytes, blocks.raw_blocks, blocks.nonzero, offload, prefetch, error, change)


def plan_dump(tensors: Iterable[Tensor], hidden: Hidden, clock_mhz: float) -> Plan:
    """Choose treatments for tensors whose transfers do not overlap.

    Parameters
    ----------
    tensors
        Each with all its treatments.
    hidden
        Seconds of each layer's transfers that computing hides.
    clock_mhz
        Of the engine.

    Raises
    ------
    ValueError
        If a layer has no treatment that is allowed at all steps.
    """
    second = clock_mhz * 1e6
    layers = [(mean_of(name, several), several, hidden(name) * second) for name, several in by_layer(tensors)]

    def totals(picked: Sequence[Option]) -> Totals:
        exposed = sum(_exposed(several, option, cycles)
                      for (_, several, cycles), option in zip(layers, picked, strict=True))
        return Totals(sum(option.packed_bytes for option in picked), sum(option.cycles for option in picked) / second,
                      exposed / second)

    chosen = [least(mean.options, lambda option, of=several, cycles=cycles: _exposed(of, option, cycles))
              for mean, several, cycles in layers]
    choices = [Choice(mean, option, _exposed(several, option, cycles) / second, tuple(
        Choice(tensor, own, own.exposed(cycles) / second)
        for tensor, own in ((tensor, tensor.under(option.how)) for tensor in several)))
        for (mean, several, cycles), option in zip(layers, chosen, strict=True)]
    return Plan(tuple(choices), totals(chosen), totals([always(mean.options) for mean, _, _ in layers]),
                totals([never(mean.options) for mean, _, _ in layers]))


def _exposed(several: Sequence[Tensor], option: Option, hidden_cycles: float) -> float:
    """Mean of the cycles that are not hidden, over a layer's tensors under a treatment."""
    return fmean(tensor.under(option.how).exposed(hidden_cycles) for tensor in several)


def least(options: Iterable[Option], cost: Callable[[Option], float]) -> Option:
    """The first option whose cost equals the lowest."""
    costs = [(cost(option), option) for option in options]
    lowest = min(each for each, _ in costs)
    return next(option for each, option in costs if each <= lowest * (1 + EQUAL))


def _alike(cycles: Callable[[Blocks], float], blocks: Blocks, timing: Timing) -> float:
    """Cycles of a tensor whose blocks are all equal."""
    count = blocks.link_bytes.size
    if count <= 2 * _ALIKE:
        return cycles(blocks)
    # The last blocks stay, as they may differ.
    some, more = (cycles(replace(blocks, raw_bytes=blocks.raw_bytes - (count - last) * timing.config.block_bytes,
                                 link_bytes=blocks.link_bytes[-last:], raw=blocks.raw[-last:]))
                  for last in (_ALIKE, 2 * _ALIKE))
    return more + (count - 2 * _ALIKE) * (more - some) / _ALIKE
