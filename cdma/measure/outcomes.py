"""What ``cdma simulate`` and ``cdma bench`` give of simulations: the outcome that is printed as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from cdma.golden.results import INLINED, derived
from cdma.verif.core.blocks.simulate import BlockArrayResult
from cdma.verif.core.simulate import ArrayResult
from cdma.verif.engine.simulate import EngineArrayResult, RowCycles
from cdma.workload.plan.file import Predicted

__all__ = ["BlocksOutcome", "CodingTotal", "CoresOutcome", "EngineOutcome", "Errors", "Moved",
           "PlannedArray", "PlannedOutcome", "SimulatedArray", "Toggles"]

_Result = TypeVar("_Result", ArrayResult, BlockArrayResult, EngineArrayResult)


class _Outcome(Generic[_Result]):
    """What all outcomes have."""

    arrays: tuple[Any, ...]

    @property
    def results(self) -> list[_Result]:
        """The results of the arrays."""
        return [array.result for array in self.arrays]

    @derived
    def passed(self) -> bool:
        """Whether every array passed."""
        return all(result.passed for result in self.results)


class _Sized(_Outcome[_Result]):
    """What outcomes of cores and engines have."""

    @derived
    def raw_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(result.raw_bytes for result in self.results)

    @derived
    def packed_bytes(self) -> int:
        """Bytes of their streams."""
        return sum(result.packed_bytes for result in self.results)


@dataclass(frozen=True)
class SimulatedArray:
    """An array through both cores, and the bits of its elements."""

    element_bits: int
    result: ArrayResult = field(metadata=INLINED)


@dataclass(frozen=True)
class CoresOutcome(_Sized[ArrayResult]):
    """Arrays through compressor and decompressor.

    Parameters
    ----------
    simulator
        What simulated.
    beat_bytes
        Of the cores.
    stalls
        Share of the cycles that each side pauses.
    seed
        Of the pauses.
    arrays
        The arrays in their order.
    """

    simulator: str
    beat_bytes: int
    stalls: float
    seed: int
    arrays: tuple[SimulatedArray, ...]

    @derived
    def ratio(self) -> float | None:
        """Raw bytes per packed byte; None without any."""
        return self.raw_bytes / self.packed_bytes if self.packed_bytes else None


@dataclass(frozen=True)
class CodingTotal:
    """All arrays of one coding.

    Parameters
    ----------
    coding
        Its name.
    arrays
        How many there are.
    raw_bytes, packed_bytes, ratio
        Their sizes, and raw bytes by packed bytes.
    compress_beats_per_cycle
        Raw beats into the compressor, by the cycles that they took.
    decompress_beats_per_cycle
        Raw beats out of the decompressor, by the cycles that they took; None if all blocks stayed raw.
    limit
        The raw beats per cycle that the packed side of the compressor lets through, 1 at most.
    """

    coding: str
    arrays: int
    raw_bytes: int
    packed_bytes: int
    ratio: float
    compress_beats_per_cycle: float
    decompress_beats_per_cycle: float | None
    limit: float

    @classmethod
    def of(cls, rows: Sequence[BlockArrayResult]) -> CodingTotal:
        """The sums over arrays that have the same coding."""
        raw, packed = sum(row.raw_bytes for row in rows), sum(row.packed_bytes for row in rows)
        beats, cycles = sum(row.raw_beats for row in rows), sum(row.decompress_cycles for row in rows)
        return cls(rows[0].coding, len(rows), raw, packed, raw / packed,
                   beats / max(1, sum(row.compress_cycles for row in rows)),
                   sum(row.expanded_beats for row in rows) / cycles if cycles else None,
                   min(1.0, beats / sum(row.payload_beats for row in rows)))


@dataclass(frozen=True)
class BlocksOutcome(_Sized[BlockArrayResult]):
    """Arrays through the block compressor and the block decompressor.

    Parameters
    ----------
    simulator
        What simulated.
    beat_bytes, block_bytes
        Of the cores.
    stalls
        Share of the cycles that each side pauses.
    seed
        Of the pauses.
    arrays
        The arrays in their order.
    """

    simulator: str
    beat_bytes: int
    block_bytes: int
    stalls: float
    seed: int
    arrays: tuple[BlockArrayResult, ...]

    @property
    def results(self) -> list[BlockArrayResult]:
        """The results of the arrays."""
        return list(self.arrays)

    @derived
    def ratio(self) -> float:
        """Raw bytes per packed byte."""
        return self.raw_bytes / self.packed_bytes

    @derived
    def codings(self) -> tuple[CodingTotal, ...]:
        """The sums over the arrays of each coding."""
        names = dict.fromkeys(row.coding for row in self.arrays)
        return tuple(CodingTotal.of([row for row in self.arrays if row.coding == name]) for name in names)


@dataclass(frozen=True)
class Moved:
    """Cycles of offloads and prefetches, from descriptor to completion."""

    offload_cycles: int
    prefetch_cycles: int

    @classmethod
    def of(cls, rows: Sequence[EngineArrayResult] | Sequence[Predicted]) -> Moved:
        """The cycles of several arrays."""
        return cls(sum(row.offload_cycles for row in rows), sum(row.prefetch_cycles for row in rows))


@dataclass(frozen=True)
class Toggles:
    """Toggles of the link's data wires by bytes, moved plainly and packed, and how many times as many packed has."""

    raw_per_raw_byte: float
    packed_per_raw_byte: float
    packed_per_packed_byte: float
    packed_by_raw: float


@dataclass(frozen=True)
class EngineOutcome(_Sized[EngineArrayResult]):
    """Arrays through an engine: all offloaded, then prefetched in reverse.

    Parameters
    ----------
    engine
        Its name.
    lanes, beat_bytes, link_beat_bytes
        Its widths.
    latency
        Cycles that memories take to answer.
    stalls
        Share of the cycles in which memories pause.
    seed
        Of places, noise and stalls.
    arrays
        The arrays in their order; their cycles are those of each alone.
    row
        Cycles of all arrays together, one directly after the other; None if that was not measured.
    """

    engine: str
    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    latency: int
    stalls: float
    seed: int
    arrays: tuple[EngineArrayResult, ...]
    row: RowCycles | None = None

    @property
    def results(self) -> list[EngineArrayResult]:
        """The results of the arrays."""
        return list(self.arrays)

    @derived
    def ratio(self) -> float:
        """Raw bytes per packed byte."""
        return self.raw_bytes / self.packed_bytes

    @derived
    def offload_bytes_per_cycle(self) -> float:
        """Raw bytes by the cycles of all offloads, one directly after the other where that was measured."""
        return self.raw_bytes / max(1, (self.row or Moved.of(self.results)).offload_cycles)

    @derived
    def prefetch_bytes_per_cycle(self) -> float:
        """Raw bytes by the cycles of all prefetches, one directly after the other where that was measured."""
        return self.raw_bytes / max(1, (self.row or Moved.of(self.results)).prefetch_cycles)

    @derived
    def gain(self) -> float:
        """How many times as fast there and back is as a plain DMA engine of the same width."""
        both = 1 / self.offload_bytes_per_cycle + 1 / self.prefetch_bytes_per_cycle
        return 2 / both / self.results[0].plain_bytes_per_cycle

    @derived
    def toggles(self) -> Toggles:
        """The link's, by byte."""
        raw = sum(result.raw_toggles for result in self.results)
        packed = sum(result.packed_toggles for result in self.results)
        return Toggles(raw / self.raw_bytes, packed / self.raw_bytes, packed / self.packed_bytes,
                       packed / raw if raw else 0.0)


@dataclass(frozen=True)
class Errors:
    """How far predicted cycles are off, by those that were measured; None where nothing was."""

    offload: float | None
    prefetch: float | None

    @classmethod
    def of(cls, predicted: Predicted | Moved, measured: EngineArrayResult | Moved) -> Errors:
        """The errors of predictions beside measurements."""
        pairs = ((predicted.offload_cycles, measured.offload_cycles),
                 (predicted.prefetch_cycles, measured.prefetch_cycles))
        return cls(*(before / after - 1 if after else None for before, after in pairs))


@dataclass(frozen=True)
class PlannedArray:
    """An array moved as a plan says: what was measured, the treatment, and what was predicted of it."""

    result: EngineArrayResult = field(metadata=INLINED)
    treatment: str
    predicted: Predicted

    @derived
    def error(self) -> Errors:
        """How far the prediction is off."""
        return Errors.of(self.predicted, self.result)


@dataclass(frozen=True)
class PlannedOutcome(_Outcome[EngineArrayResult]):
    """Arrays moved as a plan says, over the link that it was made for.

    Parameters
    ----------
    plan
        Path of the plan.
    engine, lanes, beat_bytes, link_beat_bytes, latency, stalls, seed
        As for :class:`EngineOutcome`.
    clock_mhz, link_gb_per_s
        The plan's.
    arrays
        The arrays in their order.
    """

    plan: str
    engine: str
    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    clock_mhz: float
    link_gb_per_s: float
    latency: int
    stalls: float
    seed: int
    arrays: tuple[PlannedArray, ...]

    @derived
    def offload_cycles(self) -> int:
        """Of all arrays."""
        return Moved.of(self.results).offload_cycles

    @derived
    def prefetch_cycles(self) -> int:
        """Of all arrays."""
        return Moved.of(self.results).prefetch_cycles

    @derived
    def predicted(self) -> Moved:
        """The predicted cycles of all arrays."""
        return Moved.of([array.predicted for array in self.arrays])

    @derived
    def error(self) -> Errors:
        """How far the prediction of all arrays together is off."""
        return Errors.of(self.predicted, Moved.of(self.results))
