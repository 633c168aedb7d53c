"""One question for one network, GPU and link: recompute, quantise, compress, or buy memory?

All rows are timelines of the same training step with the same times of its layers. What runs on the GPU's own
processors (computing again, rounding, coding in software) is added to the computing of the step beside it; what an
engine or a copy engine does runs beside it. Rows that swap take as many tensors as it needs to fit the device, the
first of the network first: backward needs them last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from cdma.workload.alternatives.recomputing import Recomputed, best_checkpoints, cheap_layers
from cdma.workload.dumps.types import element_type
from cdma.workload.networks.tensors import Tensor, Tensors
from cdma.workload.timeline.compute import Compute
from cdma.workload.timeline.densities import ALGORITHMS, Filling
from cdma.workload.timeline.queued import Ahead, queued
from cdma.workload.timeline.schedule import Engine, Timeline, Transfer, plain_dma, run
from cdma.workload.timeline.swapping import swapped

__all__ = ["CODEC_RATE", "CODINGS", "Alternative", "Inputs", "alternatives", "best", "sensitivity", "worth_a_look"]

CODEC_RATE = 100.0
"""10^9 raw bytes a second of a software codec on the GPU, in each direction: an assumption, because published rates
differ between data, algorithms and GPUs by more than ten times. It is an option of the command."""
_ACTNN_BITS, _ACTNN_LOSS = 32 / 12, "negligible on vision tasks (published)"
"""2-bit activations: Chen et al., ActNN: Reducing Training Memory Footprint via 2-Bit Activation Compressed Training,
ICML 2021, abstract: activations take 12 times less memory than in float32, with what is stored beside the 2 bits."""
_SOFTWARE = "zlib"  # the measured ratio that stands for codecs in software
CODINGS = tuple(name for name in ("zvc", "exponents") if name in ALGORITHMS)
"""The codings of the engine that have rows."""

_WAITS_US = (10.0, 50.0)
"""Microseconds to start a transfer and wait for it that are compared; a launch and a synchronisation of a GPU's stream
take a few to some tens."""

_NO_LOSS, _NOTHING = "none", "nothing"
_WAYS: list[tuple[str, str, str | None, str]] = [("offload", "by the copy engine", None, _NOTHING), *(
    (f"engine, {coding}", f"through the engine, coding {coding}", coding, "the engine") for coding in CODINGS)]
"""How tensors are swapped: name, words, coding, and what it costs in hardware."""


@dataclass(frozen=True)
class Inputs:
    """What all rows share.

    Parameters
    ----------
    plan, compute
        The network, and the times of its steps.
    fillings
        Density and ratios of every tensor.
    engine
        The engine.
    link, bandwidth, memory
        Bytes a second of the link and of the device's memory, and bytes of the latter.
    ahead
        Look-ahead of asynchronous rows; None is as far as the device's memory allows, and so it is for a row that does
        not fit with the one given.
    codec_rate
        Raw bytes a second of a software codec.
    wait
        Seconds that each transfer takes beyond its bytes: to start it, and to wait for it.
    everything
        Swap all tensors, also where fewer would do.
    """

    plan: Tensors
    compute: Sequence[Compute]
    fillings: Mapping[str, Filling]
    engine: Engine
    link: float
    bandwidth: float
    memory: float
    ahead: Ahead | None = None
    codec_rate: float = CODEC_RATE * 1e9
    wait: float = 0.0
    everything: bool = False


@dataclass(frozen=True)
class Alternative:
    """A way of needing less memory, and what it costs.

    Parameters
    ----------
    name, about
        Its name, and what it does.
    schedule
        ``layer`` or ``queue`` where tensors are swapped, else empty.
    step_ms, slowdown
        The training step, and its time divided by that with all the memory it wants.
    memory_gb, fits
        10^9 bytes on the device, and whether it has them.
    link_gb
        10^9 bytes on the link, in both directions.
    extra_ms
        Computing that is added on the GPU's own processors.
    accuracy, hardware
        What it costs in accuracy, and in hardware.
    """

    name: str
    about: str
    schedule: str
    step_ms: float
    slowdown: float
    memory_gb: float
    fits: bool
    link_gb: float
    extra_ms: float
    accuracy: str
    hardware: str

    @property
    def lossless(self) -> bool:
        """It changes no value."""
        return self.accuracy == _NO_LOSS

    def beaten_by(self, other: Alternative) -> bool:
        """Another one is better in time or memory, and worse in nothing; a thousandth is no difference."""
        if (other.accuracy not in (_NO_LOSS, self.accuracy)) or other.hardware not in (_NOTHING, self.hardware):
            return False
        times, sizes = (self.step_ms, other.step_ms), (self.memory_gb, other.memory_gb)
        worse = any(theirs > own * 1.001 for own, theirs in (times, sizes))
        return not worse and any(theirs < own / 1.001 for own, theirs in (times, sizes))


def alternatives(inputs: Inputs, progress: Callable[[str, int, int], None] | None = None) -> tuple[Alternative, ...]:
    """All rows, the one that needs most memory first; rounding only to types shorter than the network's own."""
    steps = _Rows(inputs)
    makers = list(steps.makers())
    found: list[Alternative] = []
    for done, maker in enumerate(makers):
        if progress is not None:
            progress("alternatives", done, len(makers))
        found += maker()
    return tuple(found)


def best(rows: Sequence[Alternative], lossless: bool = True) -> Alternative | None:
    """The fastest row that fits the device; None if none fits. Of rows whose times are the same to a thousandth, which
    no model resolves, the first that needs no hardware, else the first."""
    fitting = [row for row in rows if row.fits and (row.lossless or not lossless)]
    least = min((row.step_ms for row in fitting), default=0.0)
    alike = [row for row in fitting if row.step_ms <= 1.001 * least]
    return min(alike, key=lambda row: row.hardware != "nothing", default=None)


def worth_a_look(rows: Sequence[Alternative]) -> tuple[Alternative, ...]:
    """The rows that no other row beats: with less time and memory, no more loss and no more hardware. The first row
    stays."""
    return tuple(row for row in rows if row == rows[0] or not any(map(row.beaten_by, rows)))


def sensitivity(inputs: Inputs, others: Mapping[str, Inputs]) -> list[dict[str, Any]]:
    """How far the engine's gain over plain swapping depends on the time of a wait, on the share of the link, and on
    other inputs, by name.

    Returns
    -------
    list[dict[str, Any]]
        Of each ``change`` and ``schedule`` the step times over that with memory enough, plain (``offload_x``) and with
        the engine by coding (``engine_x``), and ``gain_percent`` of the engine by coding.
    """
    changes = {"as given": inputs} | {
        f"{us:g} us more for each transfer": replace(inputs, wait=us / 1e6) for us in _WAITS_US} | {
        f"{share:.0%} of the link": replace(inputs, link=inputs.link * share) for share in (0.75, 0.5, 0.25)}
    found = []
    for change, one in (changes | dict(others)).items():
        rows = {(row.schedule, row.name): row for row in _Rows(one).swaps()}
        for schedule in ("layer", "queue"):
            plain = rows[schedule, "offload"]
            engine = {coding: rows[schedule, f"engine, {coding}"] for coding in CODINGS}
            found.append({"change": change, "schedule": schedule, "offload_x": plain.slowdown,
                          "engine_x": {coding: row.slowdown for coding, row in engine.items()},
                          "gain_percent": {coding: 100 * (plain.step_ms / row.step_ms - 1)
                                           for coding, row in engine.items()}})
    return found


class _Rows:
    def __init__(self, inputs: Inputs) -> None:
        self._in = inputs
        self._whole = Recomputed(inputs.plan, tuple(inputs.compute), {}, 0.0)
        self._oracle = run(inputs.plan, inputs.compute, (), plain_dma(inputs.link), inputs.bandwidth)

    def makers(self) -> Iterator[Callable[[], list[Alternative]]]:
        yield lambda: [self._row("buy memory", "everything stays on the device", "", self._oracle, 0.0, 0.0,
                                 hardware=self._missing())]
        yield lambda: list(self.swaps())
        yield self._recomputing
        yield lambda: list(self._rounding())
        yield self._two_bits
        yield self._software

    def swaps(self) -> Iterator[Alternative]:
        """Plain swapping and the engine, with a wait at each layer and with a queue."""
        for schedule in ("layer", "queue"):
            for way, how, coding, hardware in _WAYS:
                yield self._swap(way, f"swapped {how}", schedule, self._whole, coding, hardware=hardware)

    def _recomputing(self) -> list[Alternative]:
        cheap = cheap_layers(self._in.plan, self._in.compute)
        found = self._remade("recompute", "recompute cheap layers", "outputs of all but convolutions and products are "
                             "computed again", cheap)
        try:
            kept, again = best_checkpoints(self._in.plan, self._in.compute, self._in.memory)
        except ValueError:
            return found  # a network that can be cut nowhere has no such rows
        several = "the first segment" if again == 1 else f"the first {again} segments"
        about = f"{several} computed again, each from its input"
        return found + self._remade("checkpoints", "checkpoints", about, kept)

    def _rounding(self) -> Iterator[Alternative]:
        for name, size in (("bfloat16", 2), ("float8", 1)):
            own = element_type(self._in.plan.network.dtype).itemsize
            if own <= size:
                continue
            yield self._swap(f"round to {name}", f"rounded to {name} by the GPU, then swapped", "queue", self._whole,
                             None, dict.fromkeys(self._in.plan.tensors, own / size),
                             accuracy=f"rounded to {name}; not measured here",
                             kernel=lambda raw, of=size / own: raw * (1 + of) / self._in.bandwidth)

    def _two_bits(self) -> list[Alternative]:
        plan, last = self._in.plan, len(self._in.plan.steps) - 1
        stored = {name: tensor for name, tensor in plan.tensors.items() if tensor.saved and tensor.last_use < last}
        share = _ACTNN_BITS / 8 / element_type(plan.network.dtype).itemsize
        changed, extra = _beside(self._whole, stored, lambda raw: raw * (1 + share) / self._in.bandwidth)
        again = {name: max(tensor.kept) for name, tensor in stored.items()}
        line = run(plan, changed, (), plain_dma(self._in.link), self._in.bandwidth, again)
        line = replace(line, memory=line.memory + round(share * sum(tensor.size for tensor in stored.values())))
        return [self._row("2-bit activations", "kept on the device, quantised to 2 bits by the GPU", "", line, 0.0,
                          extra, accuracy=_ACTNN_LOSS)]

    def _software(self) -> list[Alternative]:
        return [self._swap("codec on the GPU", f"coded by the GPU at {self._in.codec_rate / 1e9:g} GB/s, then swapped",
                           "queue", self._whole, None, {name: max(1.0, filling.ratios[_SOFTWARE])
                                                        for name, filling in self._in.fillings.items()},
                           kernel=lambda raw: raw / self._in.codec_rate)]

    def _remade(self, short: str, name: str, about: str, made: Recomputed) -> list[Alternative]:
        """A row without swapping; if that does not fit, rows that swap beside it."""
        line = run(made.plan, made.compute, (), plain_dma(self._in.link), self._in.bandwidth, made.again)
        alone = self._row(name, about, "", line, 0.0, made.seconds)
        if alone.fits and not self._in.everything:
            return [alone]
        return [alone, *(self._swap(f"{short} + {way}", f"{about}; the rest swapped {how}", "queue", made, coding,
                                    hardware=hardware) for way, how, coding, hardware in _WAYS)]

    def _swap(self, name: str, about: str, schedule: str, made: Recomputed, coding: str | None,
              ratios: Mapping[str, float] | None = None, accuracy: str = _NO_LOSS, hardware: str = _NOTHING,
              kernel: Callable[[int], float] | None = None) -> Alternative:
        """A row that swaps what has to go of the tensors that the step keeps.

        ``ratios`` are those of a plain copy engine's tensors; ``kernel`` gives the GPU's seconds for a tensor of a
        size, before it leaves and when it is back.
        """
        inputs, fillings = self._in, self._in.fillings
        by_name = {tensor: fillings[tensor].ratios[coding] for tensor in fillings} if coding else ratios or {}
        moved = inputs.engine.transfer(inputs.link, by_name.__getitem__) if coding else \
            _packed_dma(inputs.link, by_name)
        every = sorted(swapped(made.plan, "all", inputs.memory) - made.again.keys(),
                       key=lambda tensor: made.plan.tensors[tensor].last_use)

        def transfer(tensor: str, direction: str, size: int) -> float:
            return inputs.wait + moved(tensor, direction, size)

        @cache
        def line(count: int, ahead: Ahead) -> tuple[Timeline, float]:
            chosen = {tensor: made.plan.tensors[tensor] for tensor in every[:count]}
            compute, extra = _beside(made, chosen, kernel) if kernel else (made.compute, 0.0)
            if schedule == "layer":
                return run(made.plan, compute, chosen, transfer, inputs.bandwidth, made.again), extra
            return queued(made.plan, compute, chosen, transfer, inputs.bandwidth, ahead, made.again), extra

        def fits(count: int, ahead: Ahead) -> bool:
            return line(count, ahead)[0].memory <= inputs.memory

        # Tensors that wait, or came back early, take memory as well.
        every_count, free = len(every), Ahead(memory=inputs.memory)
        looks = [free] if inputs.ahead is None else [inputs.ahead, free]
        ahead = next((look for look in looks if fits(every_count, look)), looks[0])
        count = every_count if inputs.everything else \
            bisect_left(range(every_count), True, key=lambda count: fits(count, ahead))
        done, extra = line(count, ahead)
        sent = sum(made.plan.tensors[tensor].size / by_name.get(tensor, 1.0)
                   for move in done.moves for tensor in move.tensors)
        return self._row(name, about, schedule, done, sent, made.seconds + extra, accuracy, hardware)

    def _row(self, name: str, about: str, schedule: str, line: Timeline, sent: float, extra: float,
             accuracy: str = _NO_LOSS, hardware: str = _NOTHING) -> Alternative:
        return Alternative(name, about, schedule, line.seconds * 1e3, line.seconds / self._oracle.seconds,
                           line.memory / 1e9, line.memory <= self._in.memory, sent / 1e9, extra * 1e3, accuracy,
                           hardware)

    def _missing(self) -> str:
        missing = self._oracle.memory - self._in.memory
        return _NOTHING if missing <= 0 else f"{missing / 1e9:.1f} GB of memory"


def _packed_dma(link: float, ratios: Mapping[str, float]) -> Transfer:
    return lambda name, direction, size: size / ratios.get(name, 1.0) / link


def _beside(made: Recomputed, tensors: Mapping[str, Tensor], kernel: Callable[[int], float]
            ) -> tuple[list[Compute], float]:
    """The times of the steps with a kernel for each tensor, at its last use and when backward needs it; and theirs."""
    changed, added = list(made.compute), 0.0
    for tensor in tensors.values():
        more = kernel(tensor.size)
        last, first = tensor.last_use, max(tensor.kept)
        changed[last] = replace(changed[last], forward=changed[last].forward + more)
        changed[first] = replace(changed[first], backward=changed[first].backward + more)
        added += 2 * more
    return changed, added
