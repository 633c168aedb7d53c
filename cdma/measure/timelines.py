"""What ``cdma timeline`` gives: the step of a network, the paper's networks, and what can be named."""

from __future__ import annotations

from dataclasses import dataclass, field

from cdma.golden.results import INLINED
from cdma.workload.networks.catalog import NETWORKS, load_network
from cdma.workload.networks.tensors import tensors
from cdma.workload.results.paper import Beside
from cdma.workload.timeline.gpus import GPUS, Gpu
from cdma.workload.timeline.study import RowSummary, Summary

__all__ = ["EngineInputs", "NetworkEntry", "PaperOutcome", "TimelineLists", "TimelineOutcome", "lists"]


@dataclass(frozen=True)
class EngineInputs:
    """The engine of a timeline: preset, dimensions, clock, bandwidths, and the source of its share in words."""

    preset: str
    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    clock_mhz: float
    lane_gb_per_s: float
    link_port_gb_per_s: float
    share: str


@dataclass(frozen=True)
class TimelineOutcome:
    """A training step of a network on a GPU.

    Parameters
    ----------
    network, about, batch
        The network, what it is, and the samples of a step.
    dtype, compute
        Type of its values, and the type that matrix products use.
    gpu, gpu_name, memory_gb
        The GPU, its full name, and 10^9 bytes of its memory.
    policy
        What is swapped.
    link_gb_per_s
        10^9 bytes a second of the link.
    times, densities
        Where the times of layers and the densities come from, in words.
    engine
        The engine.
    summary
        Rows and layers.
    schedule
        When computing waits for transfers, in words.
    shards
        GPUs that share the weights.
    """

    network: str
    about: str
    batch: int
    dtype: str
    compute: str
    gpu: str
    gpu_name: str
    memory_gb: float
    policy: str
    link_gb_per_s: float
    times: str
    densities: str
    engine: EngineInputs
    summary: Summary = field(metadata=INLINED)
    schedule: str
    shards: int

    def row(self, name: str) -> RowSummary:
        """The row of a name: ``oracle``, ``vdnn`` or an algorithm."""
        return next(row for row in self.summary.rows if row.row == name)


@dataclass(frozen=True)
class PaperOutcome:
    """Training steps of the paper's networks, and its headline figures beside ours."""

    gpu: str
    gpu_name: str
    policy: str
    link_gb_per_s: float
    networks: tuple[TimelineOutcome, ...]
    beside: tuple[Beside, ...]


@dataclass(frozen=True)
class NetworkEntry:
    """A network: samples of a step and their shape, type of values, parameters, 10^9 operations of a sample, 10^6 bytes
    of saved activations of the batch, and its source."""

    name: str
    batch: int
    input: tuple[int, ...]
    dtype: str
    params: int
    gflops: float
    activation_mb: float
    about: str


@dataclass(frozen=True)
class TimelineLists:
    """The networks and GPUs that can be named."""

    networks: tuple[NetworkEntry, ...]
    gpus: tuple[Gpu, ...]


def lists() -> TimelineLists:
    """All networks and GPUs."""
    return TimelineLists(tuple(map(_entry, NETWORKS)), tuple(GPUS.values()))


def _entry(name: str) -> NetworkEntry:
    network = load_network(name)
    saved = sum(tensor.size for tensor in tensors(network).tensors.values() if tensor.saved)
    return NetworkEntry(name, network.batch, network.input_shape, network.dtype, network.params, network.flops / 1e9,
                        saved / 1e6, network.about)
