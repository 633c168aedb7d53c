"""The figures of docs/results.md: what the engine gains, modelled from measured densities and cycles, by one call.

Nothing is fitted: every figure follows from the tables of networks and GPUs, the densities, the measured cycles of the
engine, and the assumptions that docs/timeline.md lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import floor, isclose, log10
from typing import Any

from workload.networks.catalog import NETWORKS, PAPER, load_network
from workload.networks.published import PUBLISHED, counts
from workload.results.dumps import dumps
from workload.results.paper import HIGHEST_RATIO, RATIO, SPEEDUPS, VDNN_LOSS, VDNN_MEMORY, headline
from workload.timeline.densities import ALGORITHMS, PAPER_AVERAGE, uniform
from workload.timeline.engine_share import DIRECTIONS
from workload.timeline.gpus import EFFICIENCY, gpu
from workload.timeline.scenario import LINK, Scenario, build_engine
from workload.timeline.schedule import Engine
from workload.timeline.study import Study
from workload.timeline.swapping import POLICIES

__all__ = ["DENSITIES", "EFFICIENCIES", "ENGINES", "LINKS", "Link", "alike", "results"]

_DIGITS = 6  # of every figure: more would differ from one machine to the next

GPUS = tuple(SPEEDUPS)
"""The GPUs of the paper."""
DENSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Densities that are asked about."""
EFFICIENCIES = (0.3, EFFICIENCY, 0.7, 0.9)
"""Shares of the peak that are asked about."""
ENGINES = ("paper", "wide")
"""Engines that are asked about on other links."""


@dataclass(frozen=True)
class Link:
    """A link between GPU and host, one direction, and a GPU that has it."""

    name: str
    gb_per_s: float
    gpu: str


LINKS = (Link("PCIe 3 x16", 12.8, "titan-xp"), Link("PCIe 3 x16", 12.8, "v100"), Link("PCIe 4 x16", 25.6, "a100"),
         Link("PCIe 5 x16", 51.2, "h100"), Link("NVLink 2 to POWER9", 75.0, "v100"),
         Link("NVLink-C2C", 450.0, "h100"))
"""PCIe at the 80 % of its rate that the paper gets; NVLink at its rate, which is kind to plain swapping."""

Progress = Callable[[str, int, int], None]


def results(progress: Progress | None = None) -> dict[str, Any]:
    """All figures as plain values, times in milliseconds.

    Parameters
    ----------
    progress
        Called with a stage, the parts done, and all parts.
    """
    parts: dict[str, Callable[[], Any]] = {
        "dumps": dumps, "networks": _networks, "headlines": _headlines, "vdnn": _vdnn, "policies": _policies,
        "links": _links, "engines": _engines, "densities": _densities, "efficiencies": _efficiencies,
        "published": _published}
    found = {}
    for number, (name, part) in enumerate(parts.items()):
        if progress is not None:
            progress("results", number, len(parts))
        found[name] = part()
    return _rounded(found)


@cache
def _study(scenario: Scenario) -> Study:
    return scenario.study()


@cache
def _engine(preset: str) -> Engine:
    return build_engine(preset)


def _scenario(network: str, on: str, **changes: Any) -> Scenario:
    return replace(Scenario(network, on, engine=_engine(ENGINES[0])), **changes)


def _six(on: str, **changes: Any) -> list[Study]:
    """The paper's networks."""
    return [_study(_scenario(name, on, **changes)) for name in PAPER]


def _networks() -> list[dict[str, Any]]:
    return [{"gpu": name, "gpu_name": gpu(name).about,
             "rows": [_row(_study(_scenario(network, name)), network in PAPER) for network in NETWORKS]}
            for name in GPUS]


def _row(study: Study, paper: bool) -> dict[str, Any]:
    network = study.plan.network
    return {"network": network.name, "batch": network.batch, "paper": paper, "density": study.density(),
            "ratio": {name: study.ratio(name) for name in ALGORITHMS},
            "highest_ratio": study.highest_ratio("zvc"),
            "step_ms": {name: line.seconds * 1e3 for name, line in study.rows.items()},
            "speedup": {name: study.speedup(name) for name in study.rows},
            "swapped_gb": study.rows["vdnn"].moved / 2e9,
            "memory_gb": {name: study.rows[name].memory / 1e9 for name in ("oracle", "vdnn")}}


def _headlines() -> list[dict[str, Any]]:
    """By GPU: ours, the paper's, and how much longer a step is than without swapping."""
    found = []
    for name, published in SPEEDUPS.items():
        studies = _six(name)
        found.append({
            "gpu": name, "gpu_name": gpu(name).about, "here": asdict(headline(studies)),
            "paper": {"average_ratio": RATIO, "highest_ratio": HIGHEST_RATIO, "average_gain": published.average,
                      "highest_gain": published.highest, "where": published.where},
            "slowdown": {row: _mean([study.slowdown(row) for study in studies]) for row in ("vdnn", "zvc")}})
    return found


def _vdnn() -> dict[str, Any]:
    """The case of the abstract of vDNN: VGG-16 with a batch of 256 on a Titan X."""
    study = _study(_scenario("vgg16", "titan-x", batch=256))
    return {"network": "vgg16", "batch": 256, "gpu": "titan-x",
            "here": {"loss": 100 * (1 - 1 / study.slowdown("vdnn")), "memory_gb": study.rows["oracle"].memory / 1e9},
            "paper": {"loss": VDNN_LOSS, "memory_gb": VDNN_MEMORY}}


def _policies() -> list[dict[str, Any]]:
    """Batches that the device does not hold without swapping."""
    found = []
    for network, batch in (("vgg16", 192), ("googlenet", 640), ("squeezenet", 768)):
        for policy in POLICIES:
            study = _study(_scenario(network, GPUS[0], batch=batch, policy=policy))
            found.append({"network": network, "batch": batch, "gpu": GPUS[0], "policy": policy,
                          "tensors": len(study.chosen), "swapped_gb": study.rows["vdnn"].moved / 2e9,
                          "memory_gb": {row: study.rows[row].memory / 1e9 for row in ("oracle", "vdnn")},
                          "device_gb": gpu(GPUS[0]).memory, "ratio": study.ratio("zvc"),
                          "step_ms": {row: study.rows[row].seconds * 1e3 for row in ("oracle", "vdnn", "zvc")},
                          "speedup": study.speedup("zvc")})
    return found


def _links() -> list[dict[str, Any]]:
    found = []
    for link in LINKS:
        for preset in ENGINES:
            engine = _engine(preset)
            studies = _six(link.gpu, link=link.gb_per_s, engine=engine)
            gains = [100 * (study.speedup("zvc") - 1) for study in studies]
            found.append({**asdict(link), "gpu_name": gpu(link.gpu).about, "engine": preset,
                          "lane_gb_per_s": engine.lane_bandwidth / 1e9,
                          "link_port_gb_per_s": engine.link_port_bandwidth / 1e9,
                          "slowdown": {row: _mean([study.slowdown(row) for study in studies])
                                       for row in ("vdnn", "zvc")},
                          "average_gain": _mean(gains), "highest_gain": max(gains), "lowest_gain": min(gains)})
    return found


def _engines() -> dict[str, Any]:
    """What the engines reach with a tensor of the paper's average density over the paper's link."""
    ratio = uniform(PAPER_AVERAGE).ratios["zvc"]
    rows = []
    for preset in ENGINES:
        engine = _engine(preset)
        balance = engine.lane_bandwidth / (ratio * LINK * 1e9)
        rows += [{"engine": preset, "lanes": engine.lanes, "direction": direction, "balance": balance,
                  **asdict(engine.reach(direction, balance))} for direction in DIRECTIONS]
    return {"density": PAPER_AVERAGE, "rows": rows}


def _densities() -> list[dict[str, Any]]:
    return [{"density": density, "ratio": uniform(density).ratios["zvc"],
             "headlines": {name: asdict(headline(_six(name, density=density))) for name in GPUS}}
            for density in DENSITIES]


def _efficiencies() -> list[dict[str, Any]]:
    return [{"efficiency": efficiency,
             "headlines": {name: asdict(headline(_six(name, efficiency=efficiency))) for name in GPUS}}
            for efficiency in EFFICIENCIES]


def _published() -> list[dict[str, Any]]:
    return [{"network": name, "here": asdict(counts(load_network(name))),
             "published": asdict(PUBLISHED[name]) if name in PUBLISHED else None} for name in NETWORKS]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rounded(value: Any) -> Any:
    """All numbers with a point rounded, in lists and dictionaries too."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    if isinstance(value, float) and value:
        return round(value, _DIGITS - 1 - floor(log10(abs(value))))
    return value


def alike(one: Any, other: Any, codings: Sequence[str] = ("zlib",)) -> bool:
    """Whether two outcomes of :func:`results` are the same.

    Parameters
    ----------
    one, other
        Outcomes, or parts of them.
    codings
        Those whose figures may differ by a twentieth, because they depend on the version of a library.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(
            _close(one[key], other[key], 0.05) if key in codings else alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return _close(one, other, 1e-5)


def _close(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=tolerance, abs_tol=1e-9)
    return one == other
