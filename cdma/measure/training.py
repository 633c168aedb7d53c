"""Training through an engine beside plain training: whether both came out the same, what was moved, and how long it
took."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.errors import CheckError
from cdma.console.progress import Progress
from cdma.engines import DriverEngine, Transfer, model_engine, verilog_engine
from cdma.engines.model import MEMORY_BYTES as MODEL_MEMORY
from cdma.engines.verilog import MEMORY_BYTES as VERILOG_MEMORY
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import coding_name
from cdma.golden.results import derived
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.engine.simulate import plain_bytes_per_cycle
from cdma.workload.extra import package
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.treatments import Treatment, packed
from cdma.workload.training import EngineError, offload

if TYPE_CHECKING:
    from cdma.workload.training.hooks import Counts

__all__ = ["Asked", "Predicting", "TrainingOutcome", "TypeRow", "trained"]


@dataclass(frozen=True)
class Asked:
    """A training through an engine.

    Parameters
    ----------
    example, batch, steps, seed
        Which of :data:`cdma.workload.training.examples.EXAMPLES`, the samples of a batch (None: its own), and how long.
    engine
        What keeps the saved tensors.
    model
        Whether the golden model stands in for the Verilog.
    page_bytes
        Of the pages that streams are in; None: each is in one piece.
    least
        Tensors of fewer bytes stay on the device.
    latency
        Cycles until memories answer.
    memory_bytes
        Of each memory; None: as many as the engine has by itself.
    clock_mhz
        Clock of the engine.
    """

    example: str
    engine: EngineConfig
    steps: int = 1
    batch: int | None = None
    seed: int = 0
    model: bool = False
    page_bytes: int | None = None
    least: int = 4096
    latency: int = 0
    memory_bytes: int | None = None
    clock_mhz: float = 1000.0


@dataclass(frozen=True)
class TypeRow:
    """The tensors of a type of values, or all: their number, bytes, and cycles measured and predicted; measured ones
    are None with the golden model, which knows no time.

    Parameters
    ----------
    plain_cycles
        Of a DMA engine of the same width, both ways, at its best.
    """

    dtype: str
    coding: str
    tensors: int
    bytes: int
    packed_bytes: int
    raw_blocks: int
    offload_cycles: int | None
    prefetch_cycles: int | None
    predicted_offload_cycles: float
    predicted_prefetch_cycles: float
    plain_cycles: float

    @derived
    def ratio(self) -> float:
        """Bytes of the tensors by those of their streams."""
        return self.bytes / self.packed_bytes if self.packed_bytes else 0.0

    @derived
    def cycles(self) -> float:
        """Both ways: measured, or else predicted."""
        if self.offload_cycles is None or self.prefetch_cycles is None:
            return self.predicted_cycles
        return self.offload_cycles + self.prefetch_cycles

    @derived
    def predicted_cycles(self) -> float:
        """Both ways, as a plan predicts them."""
        return self.predicted_offload_cycles + self.predicted_prefetch_cycles

    @derived
    def gain(self) -> float:
        """How many times as fast as the plain engine."""
        return self.plain_cycles / self.cycles if self.cycles else 0.0

    @derived
    def deviation(self) -> float | None:
        """Predicted cycles by measured ones, less 1."""
        measured = self.offload_cycles is not None and self.cycles
        return self.predicted_cycles / self.cycles - 1 if measured else None


@dataclass(frozen=True)
class TrainingOutcome:
    """What came of both trainings.

    Parameters
    ----------
    example, network, steps, batch, seed
        What was trained, and how long.
    engine, lanes, beat_bytes, link_beat_bytes, clock_mhz, latency, page_bytes
        The engine.
    by
        ``verilog`` or ``model``.
    counts
        What became of the tensors that autograd saved.
    losses
        Of each step, through the engine.
    gradients, weights
        How many tensors of them were compared.
    rows, total
        By types of values, and all.
    differences
        A sentence for each loss, gradient and weight that is not the same in both, bit for bit.
    """

    example: str
    network: str
    steps: int
    batch: int
    seed: int
    engine: str
    by: str
    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    clock_mhz: float
    latency: int
    page_bytes: int | None
    least: int
    counts: Counts
    losses: tuple[float, ...]
    gradients: int
    weights: int
    rows: tuple[TypeRow, ...]
    total: TypeRow
    differences: tuple[str, ...]

    @derived
    def identical(self) -> bool:
        """Whether losses, gradients and weights are the same, bit for bit."""
        return not self.differences


class Predicting:
    """An engine that keeps tensors, and beside it what a plan predicts for each, in the order of its transfers."""

    def __init__(self, engine: DriverEngine, latency: int = 0) -> None:
        self._engine = engine
        self._timing = Timing(engine.config, latency=latency)
        self.predicted: list[tuple[float, float]] = []

    def offload(self, data: Bytes, dtype: str) -> Any:
        """Take a tensor, and predict its cycles."""
        handle = self._engine.offload(data, dtype)
        transfer = self._engine.transfers[-1]
        raw = data if data.size == transfer.raw_bytes else _zeros_behind(data, transfer.raw_bytes)
        blocks = packed(raw, Treatment(coding_name(transfer.coding)), self._engine.config.block_bytes)
        if blocks.packed_bytes != transfer.packed_bytes:
            raise EngineError(f"{self._engine.config.name} made {transfer.packed_bytes} bytes of a tensor of "
                              f"{data.size} bytes of {dtype}, and the golden model {blocks.packed_bytes}")
        self.predicted.append((self._timing.offload(blocks), self._timing.prefetch(blocks)))
        return handle

    def prefetch(self, handle: Any) -> Bytes:
        """Bring a tensor back."""
        return self._engine.prefetch(handle)

    def free(self, handle: Any) -> None:
        """Forget a tensor."""
        self._engine.free(handle)


def trained(asked: Asked, *, build_dir: Path, progress: Progress) -> TrainingOutcome:
    """Train plainly, then through the engine, and compare.

    Raises
    ------
    ValueError
        If a package, the example or a program of the simulator is missing, or a choice is not allowed.
    CheckError
        If the Verilog does not compile, or the engine does not move a tensor.
    """
    package("torch", "torch")
    from cdma.workload.training.examples import EXAMPLES, begin, differences, train

    begun = begin(asked.example, asked.seed, asked.batch)
    try:
        with _engine(asked, build_dir, progress) as engine:
            progress("plain training", 0, 1)
            plain = train(begun, asked.steps)
            predicting = Predicting(engine, asked.latency)
            hooks = []
            step = [0]

            def watch(model: Any) -> Any:
                hooks.append(offload(model, predicting, least=asked.least))
                return hooks[0]

            def moved() -> None:
                done = len(engine.transfers) + sum(each.prefetches for each in engine.transfers)
                progress(f"training through the engine, step {step[0]} of {asked.steps}", done, 0)

            engine.moved = moved
            through = train(begin(asked.example, asked.seed, asked.batch), asked.steps, watch,
                            lambda number: step.__setitem__(0, number + 1))
    except EngineError as error:
        raise CheckError(str(error)) from error
    built = asked.engine
    rows, total = _rows(built, engine.transfers, predicting.predicted, asked.model)
    return TrainingOutcome(
        asked.example, plain.model, asked.steps, asked.batch or EXAMPLES[asked.example][1], asked.seed, built.name,
        "model" if asked.model else "verilog", built.lanes, built.beat_bytes, built.link_beat_bytes, asked.clock_mhz,
        asked.latency, asked.page_bytes, asked.least, hooks[0].counts, through.losses, len(plain.gradients),
        len(plain.weights), rows, total, tuple(differences(plain, through)))


def _engine(asked: Asked, build_dir: Path, progress: Progress) -> AbstractContextManager[DriverEngine]:
    if asked.model:
        return model_engine(asked.engine, page_bytes=asked.page_bytes, memory_bytes=asked.memory_bytes or MODEL_MEMORY)
    progress("compiling the engine", 0, 0)
    return verilog_engine(asked.engine, page_bytes=asked.page_bytes, memory_bytes=asked.memory_bytes or VERILOG_MEMORY,
                          latency=asked.latency, build_dir=build_dir)


def _rows(config: EngineConfig, transfers: Sequence[Transfer], predicted: Sequence[tuple[float, float]],
          model: bool) -> tuple[tuple[TypeRow, ...], TypeRow]:
    """A row for each type of values, those with most bytes first, and one for all."""
    groups: dict[tuple[str, str], list[tuple[Transfer, tuple[float, float]]]] = {}
    for transfer, cycles in zip(transfers, predicted, strict=True):
        groups.setdefault((transfer.dtype, coding_name(transfer.coding)), []).append((transfer, cycles))
    rows = [_row(*key, group, config, model) for key, group in groups.items()]
    every = [each for group in groups.values() for each in group]
    return tuple(sorted(rows, key=lambda row: -row.bytes)), _row("all", "", every, config, model)


def _row(dtype: str, coding: str, group: Sequence[tuple[Transfer, tuple[float, float]]], config: EngineConfig,
         model: bool) -> TypeRow:
    moved = [transfer for transfer, _ in group]
    plain = plain_bytes_per_cycle(config)
    return TypeRow(
        dtype, coding, len(moved), sum(each.bytes for each in moved), sum(each.packed_bytes for each in moved),
        sum(each.raw_blocks for each in moved), None if model else sum(each.offload_cycles for each in moved),
        None if model else sum(each.prefetch_cycles for each in moved), sum(out for _, (out, _) in group),
        # A plan brings each tensor back once; here some may come back more often, or never.
        sum(back * transfer.prefetches for transfer, (_, back) in group),
        sum(each.bytes * (1 + each.prefetches) for each in moved) / plain)


def _zeros_behind(data: Bytes, size: int) -> Bytes:
    import numpy as np

    return np.concatenate([data, np.zeros(size - data.size, np.uint8)])
