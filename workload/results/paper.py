"""What others published, to stand beside our figures: Rhu et al., CSWAP, torchtitan. Nothing here changes ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.workload.timeline.study import Study

__all__ = ["CSWAP", "HIGHEST_RATIO", "RATIO", "SPEEDUPS", "TORCHTITAN", "VDNN_LOSS", "VDNN_MEMORY", "Beside",
           "Headline", "Offloaded", "Published", "Swapping", "beside", "headline"]

RATIO = 2.6
"""Raw bytes over coded bytes with zero-value coding, on average over six networks and the whole of training. The paper
does not say how it weighs layers and networks."""
HIGHEST_RATIO = 13.8
"""The same, the highest of a layer."""
VDNN_LOSS = 18.0
"""Loss of performance of vDNN in per cent, for VGG-16, batch 256, on a Titan X (Rhu et al., MICRO 2016)."""
VDNN_MEMORY = 28.0
"""GB of memory for the same step without swapping, from the same paper."""


@dataclass(frozen=True)
class Published:
    """Speed-ups over vDNN in per cent on a GPU, and where they are published."""

    average: int
    highest: int
    where: str


SPEEDUPS = {"titan-x": Published(32, 61, "arXiv version"), "titan-xp": Published(53, 79, "HPCA")}
"""By the GPU that the paper used."""


@dataclass(frozen=True)
class Swapping:
    """What compression takes off plain swapping, in per cent: of the training time on average, and of the time of
    transfers at most."""

    step: float
    transfers: float


CSWAP = Swapping(20.7, 50.9)
"""Chen et al., CSWAP, CLUSTER 2021, abstract: compression by the cores of V100s against vDNN, in six networks of its
choice."""


@dataclass(frozen=True)
class Offloaded:
    """A budget of bytes for offloaded activations, and what it costs.

    Parameters
    ----------
    budget_gib, blocks
        2^30 bytes on the host, and how many blocks the end of an offload may be behind.
    loss
        Throughput that is lost, in per cent; it is published as less than this.
    saved
        Memory of the device that is saved, in per cent of the most that is allocated.
    """

    budget_gib: int
    blocks: int
    loss: float
    saved: float


TORCHTITAN = (Offloaded(5, 8, 1, 9.9), Offloaded(8, 8, 5, 16.6), Offloaded(10, 8, 7, 20.4),
              Offloaded(100, 1, 23, 33.4))
"""pytorch/torchtitan, pull requests 3521 and 3522 (2026): Llama 8B on 8 H100, the largest tensors first of those that
selective checkpointing keeps."""


@dataclass(frozen=True)
class Headline:
    """The figures of the paper's abstract: ratios, and speed-ups over vDNN in per cent.

    Parameters
    ----------
    average_ratio
        Each network's is weighted by bytes, all networks are equal.
    tensor_ratio
        All swapped tensors of all networks are equal.
    highest_ratio
        That of a tensor.
    average_gain, highest_gain
        Over the networks.
    """

    average_ratio: float
    tensor_ratio: float
    highest_ratio: float
    average_gain: float
    highest_gain: float


def headline(studies: Sequence[Study]) -> Headline:
    """Our figures over several networks with equal weight, with zero-value coding."""
    ratios = [study.ratio("zvc") for study in studies]
    gains = [100 * (study.speedup("zvc") - 1) for study in studies]
    tensors = [study.fillings[name].ratios["zvc"] for study in studies for name in sorted(study.chosen)]
    return Headline(sum(ratios) / len(ratios), sum(tensors) / len(tensors),
                    max(study.highest_ratio("zvc") for study in studies), sum(gains) / len(gains), max(gains))


@dataclass(frozen=True)
class Beside:
    """A figure of the paper's abstract in words: ours, and the paper's."""

    figure: str
    here: str
    paper: str


def beside(ours: Headline, gpu: str) -> tuple[Beside, ...]:
    """Our figures and the paper's in words; the paper has speed-ups on two GPUs."""
    published = SPEEDUPS.get(gpu)
    average, highest = ("none published", "none published") if published is None else (
        f"{published.average} % ({published.where})", f"{published.highest} % ({published.where})")
    return (Beside("average ratio, by bytes", f"{ours.average_ratio:.2f}", f"{RATIO}"),
            Beside("average ratio, all tensors equal", f"{ours.tensor_ratio:.2f}", f"{RATIO}"),
            Beside("highest ratio of a layer", f"{ours.highest_ratio:.2f}", f"{HIGHEST_RATIO}"),
            Beside("average speed-up over vDNN", f"{round(ours.average_gain)} %", average),
            Beside("highest speed-up over vDNN", f"{round(ours.highest_gain)} %", highest))
