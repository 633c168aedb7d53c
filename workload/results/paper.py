"""What others published, to stand beside our figures: Rhu et al., CSWAP, torchtitan. Nothing here changes ours."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.workload.timeline.study import Study

__all__ = ["CSWAP", "HIGHEST_RATIO", "RATIO", "SPEEDUPS", "TORCHTITAN", "VDNN", "beside", "headline"]

RATIO = 2.6
"""Raw bytes over coded bytes with zero-value coding, on average over six networks and the whole of training. The paper
does not say how it weighs layers and networks."""
HIGHEST_RATIO = 13.8
"""The same, the highest of a layer."""
VDNN = {"loss": 18.0, "memory_gb": 28.0}
"""Loss of performance of vDNN in per cent, and GB of memory of a step without swapping, for VGG-16, batch 256, on a
Titan X (Rhu et al., MICRO 2016)."""
SPEEDUPS = {"titan-x": {"average_gain": 32, "highest_gain": 61, "where": "arXiv version"},
            "titan-xp": {"average_gain": 53, "highest_gain": 79, "where": "HPCA"}}
"""Speed-ups over vDNN in per cent by the GPU that the paper used, and where they are published."""
CSWAP = {"step": 20.7, "transfers": 50.9}
"""Chen et al., CSWAP, CLUSTER 2021, abstract: what compression by the cores of V100s takes off vDNN in per cent, in six
networks of its choice: of the training time on average, and of the time of transfers at most."""
TORCHTITAN = [{"budget_gib": budget, "blocks": blocks, "loss": loss, "saved": saved}
              for budget, blocks, loss, saved in
              ((5, 8, 1, 9.9), (8, 8, 5, 16.6), (10, 8, 7, 20.4), (100, 1, 23, 33.4))]
"""pytorch/torchtitan, pull requests 3521 and 3522 (2026): Llama 8B on 8 H100, the largest tensors first of those that
selective checkpointing keeps. 2^30 bytes on the host, how many blocks the end of an offload may be behind, throughput
that is lost in per cent (published as less than this), and memory of the device that is saved in per cent."""


def headline(studies: Sequence[Study]) -> dict[str, float]:
    """Our figures beside the paper's abstract, over several networks with equal weight, with zero-value coding.

    Returns
    -------
    dict[str, float]
        ``average_ratio``: each network's is weighted by bytes; ``tensor_ratio``: all swapped tensors are equal;
        ``highest_ratio``: that of a tensor; ``average_gain`` and ``highest_gain``: over vDNN in per cent.
    """
    ratios = [study.ratio("zvc") for study in studies]
    gains = [100 * (study.speedup("zvc") - 1) for study in studies]
    tensors = [study.fillings[name].ratios["zvc"] for study in studies for name in sorted(study.chosen)]
    return {"average_ratio": sum(ratios) / len(ratios), "tensor_ratio": sum(tensors) / len(tensors),
            "highest_ratio": max(study.highest_ratio("zvc") for study in studies),
            "average_gain": sum(gains) / len(gains), "highest_gain": max(gains)}


def beside(ours: dict[str, float], gpu: str) -> list[dict[str, str]]:
    """Our figures and the paper's in words; the paper has speed-ups on two GPUs."""
    published = SPEEDUPS.get(gpu)
    rows = [("average ratio, by bytes", f"{ours['average_ratio']:.2f}", f"{RATIO}"),
            ("average ratio, all tensors equal", f"{ours['tensor_ratio']:.2f}", f"{RATIO}"),
            ("highest ratio of a layer", f"{ours['highest_ratio']:.2f}", f"{HIGHEST_RATIO}")]
    for what in ("average", "highest"):
        paper = f"{published[f'{what}_gain']} % ({published['where']})" if published else "none published"
        rows.append((f"{what} speed-up over vDNN", f"{round(ours[f'{what}_gain'])} %", paper))
    return [{"figure": figure, "here": here, "paper": paper} for figure, here, paper in rows]
