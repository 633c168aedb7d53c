"""Which treatment each tensor gets: the one with which its transfers stand in the way of computing least.

Of those that are equal, the one that changes the tensor least: raw, then zero-value coding in elements of its own size,
then in other elements, then rounded, the smaller error first, and of equal errors raw first. What is lossy needs leave,
and what makes infinity of a finite value is out of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from golden.codec.narrowing import WIDE_BYTES, Narrowing
from workload.dumps import own_element_bytes
from workload.plan.cycles import Blocks, Timing
from workload.plan.rounding import BOUNDS, Rounding, rounding
from workload.plan.treatments import Treatment, expected, packed, treatments

__all__ = ["EQUAL", "Choice", "Hidden", "Option", "Plan", "Tensor", "Totals", "always", "dump_tensor", "least",
           "network_tensor", "never", "never_of", "plan_dump"]

Hidden = Callable[[str], float]
"""Seconds that computing hides of a tensor's transfer, each way."""

EQUAL = 1e-9
"""Times that differ by less of themselves are equal."""

# Of blocks that are all alike, so many are worked out one by one, and the steady state behind them is extended.
_ALIKE = 512


@dataclass(frozen=True)
class Option:
    """What a treatment would make of a tensor.

    Parameters
    ----------
    how
        The treatment.
    packed_bytes, raw_blocks, nonzero
        Of the block stream: its bytes, blocks that are left raw, elements that are not zero.
    offload_cycles, prefetch_cycles
        From taking a descriptor to its completion.
    error
        Largest error by the largest magnitude; of a tensor that is not at hand, the format's bound for normal values.
    rounding
        All that rounding changes; None where nothing is rounded, or the tensor is not at hand.
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
        """There and back."""
        return self.offload_cycles + self.prefetch_cycles

    def as_dict(self, raw_bytes: int, clock_mhz: float) -> dict[str, Any]:
        """Plain values, times in microseconds."""
        return {"treatment": self.how.name, "lossy": self.how.lossy, **self.how.fields(),
                "packed_bytes": self.packed_bytes, "ratio": raw_bytes / self.packed_bytes,
                "raw_blocks": self.raw_blocks, "nonzero": self.nonzero,
                "offload_us": self.offload_cycles / clock_mhz, "prefetch_us": self.prefetch_cycles / clock_mhz,
                "error": self.error, "rounding": self.rounding.as_dict() if self.rounding else None}

    def exposed(self, hidden_cycles: float) -> float:
        """Cycles, there and back, beyond those that computing hides of each."""
        return max(0.0, self.offload_cycles - hidden_cycles) + max(0.0, self.prefetch_cycles - hidden_cycles)


@dataclass(frozen=True)
class Tensor:
    """A tensor, and all that could be done with it.

    Parameters
    ----------
    name, raw_bytes
        Of the tensor.
    density
        Share of its values that are not zero.
    options
        All treatments, what changes least first.
    """

    name: str
    raw_bytes: int
    density: float
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Choice:
    """A tensor, what is done with it, and the seconds, there and back, that computing does not hide then."""

    tensor: Tensor
    chosen: Option
    exposed: float

    def as_dict(self, clock_mhz: float) -> dict[str, Any]:
        """Plain values, times in microseconds."""
        size = self.tensor.raw_bytes
        return {"name": self.tensor.name, "raw_bytes": size, "density": self.tensor.density,
                **self.chosen.as_dict(size, clock_mhz), "exposed_us": self.exposed * 1e6,
                "options": [option.as_dict(size, clock_mhz) for option in self.tensor.options]}


@dataclass(frozen=True)
class Totals:
    """All tensors under one rule: bytes on the link, seconds of transfers, seconds that computing does not hide."""

    packed_bytes: int
    transfer: float
    exposed: float


@dataclass(frozen=True)
class Plan:
    """The choices, and what they come to beside compressing always and never.

    ``always`` is zero-value coding in elements of each tensor's own size; ``never`` is raw, None where the engine
    leaves nothing raw.
    """

    choices: tuple[Choice, ...]
    planned: Totals
    always: Totals
    never: Totals | None

    def as_dict(self, clock_mhz: float) -> dict[str, Any]:
        """Plain values, times in microseconds."""
        raw = sum(choice.tensor.raw_bytes for choice in self.choices)
        totals = {"plan": self.planned, "always": self.always} | ({"never": self.never} if self.never else {})
        return {"tensors": [choice.as_dict(clock_mhz) for choice in self.choices], "raw_bytes": raw, "totals": {
            rule: {"packed_bytes": each.packed_bytes, "ratio": raw / each.packed_bytes,
                   "transfer_us": each.transfer * 1e6, "exposed_us": each.exposed * 1e6}
            for rule, each in totals.items()}}


def always(options: Sequence[Option]) -> Option:
    """Zero-value coding in elements of the tensor's own size, or the next best."""
    return next(option for option in options if not option.how.leave_raw)


def never(options: Sequence[Option]) -> Option | None:
    """Raw, where the engine leaves blocks raw."""
    return next((option for option in options if option.how.leave_raw and not option.how.lossy), None)


def dump_tensor(name: str, array: np.ndarray, timing: Timing, lossy: Sequence[str] = (),
                max_error: float | None = None) -> Tensor:
    """All that could be done with an array.

    Parameters
    ----------
    name, array
        Its name, for messages, and its values.
    timing
        The engine.
    lossy
        Formats that float32 may be rounded to.
    max_error
        Largest error by the largest magnitude that is allowed; any but infinity when None.

    Raises
    ------
    ValueError
        If the array is empty, or the engine cannot move it or round.
    """
    if not array.size:
        raise ValueError(f"{name} is empty: there is nothing to plan")
    own = own_element_bytes(array)
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    found = []
    for how in treatments(timing.config, name, raw.size, own, float32=array.dtype == np.float32, lossy=lossy):
        change = rounding(array, how.narrow) if how.lossy else None
        error = change.max_relative if change else 0.0
        if error == inf or (max_error is not None and error > max_error):
            continue
        blocks = packed(raw, how, timing.config.block_bytes)
        found.append(Option(how, blocks.packed_bytes, blocks.raw_blocks, blocks.nonzero, timing.offload(blocks),
                            timing.prefetch(blocks), error, change))
    found.sort(key=lambda option: option.error)
    nonzero = int(np.count_nonzero(raw.view(f"<u{own}")))
    return Tensor(name, raw.size, nonzero * own / raw.size, tuple(found))


def network_tensor(name: str, raw_bytes: int, own_bytes: int, density: float, timing: Timing,
                   lossy: Sequence[str] = (), max_error: float | None = None) -> Tensor:
    """The same of a tensor of which only size and density are known; see :func:`dump_tensor`.

    Its blocks are all alike; values of 4 bytes are float32.
    """
    found = []
    for how in treatments(timing.config, name, raw_bytes, own_bytes, float32=own_bytes == WIDE_BYTES, lossy=lossy):
        error = BOUNDS[Narrowing(how.narrow)] if how.lossy else 0.0
        if max_error is not None and error > max_error:
            continue
        blocks = expected(raw_bytes, density, how, timing.config.block_bytes)
        found.append(Option(how, blocks.packed_bytes, blocks.raw_blocks, blocks.nonzero,
                            _alike(timing.offload, blocks, timing), _alike(timing.prefetch, blocks, timing), error))
    found.sort(key=lambda option: option.error)
    return Tensor(name, raw_bytes, density, tuple(found))


def plan_dump(tensors: Sequence[Tensor], hidden: Hidden, clock_mhz: float) -> Plan:
    """Choose for tensors whose transfers are each on their own.

    Parameters
    ----------
    tensors
        Each with all that could be done with it.
    hidden
        What computing hides of each.
    clock_mhz
        Of the engine.
    """
    second = clock_mhz * 1e6

    def cost(tensor: Tensor) -> Callable[[Option], float]:
        cycles = hidden(tensor.name) * second
        return lambda option: option.exposed(cycles)

    def totals(picked: Sequence[Option]) -> Totals:
        exposed = sum(cost(tensor)(option) for tensor, option in zip(tensors, picked, strict=True))
        return Totals(sum(option.packed_bytes for option in picked), sum(option.cycles for option in picked) / second,
                      exposed / second)

    chosen = [least(tensor.options, cost(tensor)) for tensor in tensors]
    choices = tuple(Choice(tensor, option, cost(tensor)(option) / second)
                    for tensor, option in zip(tensors, chosen, strict=True))
    return Plan(choices, totals(chosen), totals([always(tensor.options) for tensor in tensors]),
                totals(raw) if (raw := never_of(tensors)) else None)


def never_of(tensors: Sequence[Tensor]) -> list[Option] | None:
    """Raw for every tensor; None where the engine leaves nothing raw."""
    found = [never(tensor.options) for tensor in tensors]
    return None if None in found else [option for option in found if option is not None]


def least(options: Iterable[Option], cost: Callable[[Option], float]) -> Option:
    """The first whose cost is the lowest, or equal to it."""
    costs = [(cost(option), option) for option in options]
    lowest = min(each for each, _ in costs)
    return next(option for each, option in costs if each <= lowest * (1 + EQUAL))


def _alike(cycles: Callable[[Blocks], float], blocks: Blocks, timing: Timing) -> float:
    """Cycles of a tensor whose blocks are all alike."""
    count = blocks.link_bytes.size
    if count <= 2 * _ALIKE:
        return cycles(blocks)
    # The last blocks are kept, as they may differ.
    some, more = (cycles(_shorter(blocks, kept, timing.config.block_bytes)) for kept in (_ALIKE, 2 * _ALIKE))
    return more + (count - 2 * _ALIKE) * (more - some) / _ALIKE


def _shorter(blocks: Blocks, kept: int, block_bytes: int) -> Blocks:
    left_out = blocks.link_bytes.size - kept
    return Blocks(blocks.raw_bytes - left_out * block_bytes, blocks.link_bytes[left_out:], blocks.raw[left_out:],
                  blocks.nonzero, blocks.part)
