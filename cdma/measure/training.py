"""Training through an engine beside plain training: whether both came out the same, what was moved, and how long it
took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cdma.console.errors import CheckError
from cdma.console.progress import Progress
from cdma.engines import DriverEngine, Transfer, model_engine, verilog_engine
from cdma.engines.model import MEMORY_BYTES as MODEL_MEMORY
from cdma.engines.verilog import MEMORY_BYTES as VERILOG_MEMORY
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import coding_name
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.engine.simulate import plain_bytes_per_cycle
from cdma.workload.extra import package
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.treatments import Treatment, packed
from cdma.workload.training import EngineError, offload

__all__ = ["Predicting", "trained"]


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


def trained(example: str, built: EngineConfig, *, steps: int, batch: int | None, seed: int, model: bool,
            page_bytes: int | None, least: int, latency: int, memory_bytes: int | None, clock_mhz: float,
            build_dir: Path, progress: Progress) -> dict[str, Any]:
    """Train plainly, then through the engine, and compare.

    Parameters
    ----------
    example, batch, steps, seed
        Which of :data:`cdma.workload.training.examples.EXAMPLES`, the samples of a batch (None: its own), and how long.
    built
        What keeps the saved tensors.
    model
        Whether the golden model stands in for the Verilog, which knows no time.
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

    Returns
    -------
    dict[str, Any]
        What ``cdma train --json`` prints: what became of the saved tensors, losses, how many gradients and weights were
        compared, a row for each type of values and for all, and a sentence for each difference.

    Raises
    ------
    ValueError
        If a package, the example or a program of the simulator is missing, or a choice is not allowed.
    CheckError
        If the Verilog does not compile, or the engine does not move a tensor.
    """
    package("torch", "torch")
    from cdma.workload.training.examples import EXAMPLES, begin, differences, train

    begun = begin(example, seed, batch)
    if model:
        made = model_engine(built, page_bytes=page_bytes, memory_bytes=memory_bytes or MODEL_MEMORY)
    else:
        progress("compiling the engine", 0, 0)
        made = verilog_engine(built, page_bytes=page_bytes, memory_bytes=memory_bytes or VERILOG_MEMORY,
                              latency=latency, build_dir=build_dir)
    try:
        with made as engine:
            progress("plain training", 0, 1)
            plain = train(begun, steps)
            predicting = Predicting(engine, latency)
            hooks = []
            step = [0]

            def watch(network: Any) -> Any:
                hooks.append(offload(network, predicting, least=least))
                return hooks[0]

            def moved() -> None:
                done = len(engine.transfers) + sum(each.prefetches for each in engine.transfers)
                progress(f"training through the engine, step {step[0]} of {steps}", done, 0)

            engine.moved = moved
            through = train(begin(example, seed, batch), steps, watch, lambda number: step.__setitem__(0, number + 1))
    except EngineError as error:
        raise CheckError(str(error)) from error
    groups: dict[tuple[str, str], list[tuple[Transfer, tuple[float, float]]]] = {}
    for transfer, cycles in zip(engine.transfers, predicting.predicted, strict=True):
        groups.setdefault((transfer.dtype, coding_name(transfer.coding)), []).append((transfer, cycles))
    rows = [_row(*key, group, built, model) for key, group in groups.items()]
    total = _row("all", "", [each for group in groups.values() for each in group], built, model)
    found = differences(plain, through)
    return {"example": example, "network": plain.model, "steps": steps, "batch": batch or EXAMPLES[example][1],
            "seed": seed, "engine": built.name, "by": "model" if model else "verilog", "lanes": built.lanes,
            "beat_bytes": built.beat_bytes, "link_beat_bytes": built.link_beat_bytes, "clock_mhz": clock_mhz,
            "latency": latency, "page_bytes": page_bytes, "least": least, "counts": hooks[0].counts,
            "losses": through.losses, "gradients": len(plain.gradients), "weights": len(plain.weights),
            "rows": sorted(rows, key=lambda row: -row["bytes"]), "total": total, "differences": found,
            "identical": not found}


def _row(dtype: str, coding: str, group: Sequence[tuple[Transfer, tuple[float, float]]], config: EngineConfig,
         model: bool) -> dict[str, Any]:
    """The tensors of a type of values, or all: their number, bytes, and cycles of both ways, measured (None with the
    golden model), predicted by a plan, and those of a DMA engine of the same width at its best."""
    moved = [transfer for transfer, _ in group]
    offload, prefetch = (None if model else sum(getattr(each, f"{way}_cycles") for each in moved)
                         for way in ("offload", "prefetch"))
    out = sum(out for _, (out, _) in group)
    # A plan brings each tensor back once; here some may come back more often, or never.
    back = sum(back * transfer.prefetches for transfer, (_, back) in group)
    plain = sum(each.bytes * (1 + each.prefetches) for each in moved) / plain_bytes_per_cycle(config)
    cycles = out + back if offload is None or prefetch is None else offload + prefetch
    raw, packed_bytes = sum(each.bytes for each in moved), sum(each.packed_bytes for each in moved)
    return {"dtype": dtype, "coding": coding, "tensors": len(moved), "bytes": raw, "packed_bytes": packed_bytes,
            "raw_blocks": sum(each.raw_blocks for each in moved), "offload_cycles": offload,
            "prefetch_cycles": prefetch, "predicted_offload_cycles": out, "predicted_prefetch_cycles": back,
            "plain_cycles": plain, "ratio": raw / packed_bytes if packed_bytes else 0.0, "cycles": cycles,
            "predicted_cycles": out + back, "gain": plain / cycles if cycles else 0.0,
            "deviation": (out + back) / cycles - 1 if offload is not None and cycles else None}


def _zeros_behind(data: Bytes, size: int) -> Bytes:
    import numpy as np

    return np.concatenate([data, np.zeros(size - data.size, np.uint8)])
