"""The figures of docs/results.md as records, part by part. Times are in milliseconds, gains in per cent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cdma.golden.results import INLINED
from cdma.workload.networks.published import Counts
from cdma.workload.results.dumps import DumpFigures
from cdma.workload.results.paper import Headline, Offloaded, Swapping
from cdma.workload.timeline.engine_share import Reached

__all__ = ["CountsRow", "CswapCase", "DensityRow", "DriftRow", "EfficiencyRow", "EngineShares", "GpuHeadline",
           "GpuNetworks", "Link", "LinkRow", "NetworkRow", "OffloadRow", "PaperHeadline", "PolicyRow", "Results",
           "ShareRow", "Sparsest", "TodayRow", "VdnnCase", "VdnnFigures"]


@dataclass(frozen=True)
class Link:
    """A link between GPU and host, one direction, and a GPU that has it."""

    name: str
    gb_per_s: float
    gpu: str


@dataclass(frozen=True)
class NetworkRow:
    """A network on a GPU: ratios by algorithm; step times, speed-ups over vDNN and memory by row of the study."""

    network: str
    batch: int
    paper: bool
    density: float
    ratio: Mapping[str, float]
    highest_ratio: float
    step_ms: Mapping[str, float]
    speedup: Mapping[str, float]
    swapped_gb: float
    memory_gb: Mapping[str, float]


@dataclass(frozen=True)
class GpuNetworks:
    """All networks on a GPU."""

    gpu: str
    gpu_name: str
    rows: tuple[NetworkRow, ...]


@dataclass(frozen=True)
class PaperHeadline:
    """Figures of the paper's abstract for a GPU, and the version of the paper."""

    average_ratio: float
    highest_ratio: float
    average_gain: int
    highest_gain: int
    where: str


@dataclass(frozen=True)
class GpuHeadline:
    """A GPU: our figures, the paper's, and step times over those without swapping, by row."""

    gpu: str
    gpu_name: str
    here: Headline
    paper: PaperHeadline
    slowdown: Mapping[str, float]


@dataclass(frozen=True)
class VdnnFigures:
    """Loss of performance of vDNN in per cent, and GB of memory for a step without swapping."""

    loss: float
    memory_gb: float


@dataclass(frozen=True)
class VdnnCase:
    """The case of the abstract of vDNN: VGG-16 with a batch of 256 on a Titan X."""

    network: str
    batch: int
    gpu: str
    here: VdnnFigures
    paper: VdnnFigures


@dataclass(frozen=True)
class CswapCase:
    """What compression takes off vDNN on a V100: the engine with zero-value coding in the paper's six networks, and
    CSWAP in six of its own."""

    here: Swapping
    paper: Swapping


@dataclass(frozen=True)
class PolicyRow:
    """A batch that does not fit the device without swapping, under one policy."""

    network: str
    batch: int
    gpu: str
    policy: str
    tensors: int
    swapped_gb: float
    memory_gb: Mapping[str, float]
    device_gb: float
    ratio: float
    step_ms: Mapping[str, float]
    speedup: float


@dataclass(frozen=True)
class LinkRow:
    """A link with an engine: step times over those without swapping, and what the engine gains over vDNN."""

    link: Link = field(metadata=INLINED)
    gpu_name: str
    engine: str
    lane_gb_per_s: float
    link_port_gb_per_s: float
    slowdown: Mapping[str, float]
    average_gain: float
    highest_gain: float
    lowest_gain: float


@dataclass(frozen=True)
class ShareRow:
    """The share of its limit that an engine reaches at one balance of lanes and link."""

    engine: str
    lanes: int
    direction: str
    balance: float
    reached: Reached = field(metadata=INLINED)


@dataclass(frozen=True)
class EngineShares:
    """Shares of the engines for a tensor of the paper's average density over the paper's link."""

    density: float
    rows: tuple[ShareRow, ...]


@dataclass(frozen=True)
class DensityRow:
    """The headline figures by GPU, if all tensors had this density."""

    density: float
    ratio: float
    headlines: Mapping[str, Headline]


@dataclass(frozen=True)
class DriftRow:
    """The headline figures by GPU of the networks with densities by layer, if these were those of a step of training.

    Parameters
    ----------
    step
        The step of the shipped training, or its mean over training.
    factor
        Density of that dump divided by its density at the end of training.
    headlines
        With all densities of the table multiplied by it.
    """

    step: str
    factor: float
    headlines: Mapping[str, Headline]


@dataclass(frozen=True)
class Sparsest:
    """The swapped tensor with the highest ratio, and the swapped tensors of all networks."""

    network: str
    tensor: str
    density: float
    ratio: float
    tensors: int


@dataclass(frozen=True)
class EfficiencyRow:
    """The headline figures by GPU, if convolutions reached this share of the GPU's peak."""

    efficiency: float
    headlines: Mapping[str, Headline]


@dataclass(frozen=True)
class TodayRow:
    """A transformer of today on a GPU with its own link, with a batch that needs swapping: plainly, or by the engine.

    Parameters
    ----------
    network, batch, dtype
        The network, the samples of a step, and the type of its values.
    gpu, gpu_name, link, gb_per_s
        The GPU, its link, and 10^9 bytes a second that transfers reach on it.
    engine
        Preset of the engine.
    shards
        GPUs that share the weights.
    density, relu_density, ratio
        Density of all swapped tensors together, and of those with a ReLU's zeros (None if there are none); the ratio
        of all by algorithm.
    swapped_gb, memory_gb
        10^9 bytes that are swapped, and on the device by row of the study, in the queue.
    slowdown, gain
        By schedule and row: step time over that without swapping, and what the engine gains over plain swapping in
        per cent.
    """

    network: str
    batch: int
    dtype: str
    gpu: str
    gpu_name: str
    link: str
    gb_per_s: float
    engine: str
    shards: int
    density: float
    relu_density: float | None
    ratio: Mapping[str, float]
    swapped_gb: float
    memory_gb: Mapping[str, float]
    slowdown: Mapping[str, Mapping[str, float]]
    gain: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class OffloadRow:
    """A published budget for offloaded activations.

    Parameters
    ----------
    moved_gb, saved
        10^9 bytes that are offloaded, and memory of the device that is saved, in per cent.
    loss
        Throughput that is lost, in per cent, by row of the study.
    half_link
        The same by plain offload, if the link reached half of its rate.
    published
        What is published.
    """

    moved_gb: float
    saved: float
    loss: Mapping[str, float]
    half_link: float
    published: Offloaded


@dataclass(frozen=True)
class CountsRow:
    """A network's table, and published sizes of the network."""

    network: str
    here: Counts
    published: Counts | None


@dataclass(frozen=True)
class Results:
    """All figures of docs/results.md; ``by_layer`` are the networks with densities of each layer."""

    today: tuple[TodayRow, ...]
    offloads: tuple[OffloadRow, ...]
    dumps: tuple[DumpFigures, ...]
    networks: tuple[GpuNetworks, ...]
    headlines: tuple[GpuHeadline, ...]
    vdnn: VdnnCase
    cswap: CswapCase
    policies: tuple[PolicyRow, ...]
    links: tuple[LinkRow, ...]
    engines: EngineShares
    densities: tuple[DensityRow, ...]
    drift: tuple[DriftRow, ...]
    sparsest: Sparsest
    by_layer: tuple[str, ...]
    efficiencies: tuple[EfficiencyRow, ...]
    published: tuple[CountsRow, ...]
