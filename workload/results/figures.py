"""The figures of docs/results.md: the gain of the engine, modelled from measured densities and cycles.

Nothing is fitted: every figure follows from the tables of networks and GPUs, the densities, the measured cycles of the
engine, and the assumptions that docs/timeline.md lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from math import floor, isclose, log10
from pathlib import Path
from typing import Any

import numpy as np

from cdma.workload.alternatives.recomputing import cheap_layers
from cdma.workload.characterise.arrays import Array, Coded, characterise, in_all
from cdma.workload.data import DIGITS, shipped_dumps
from cdma.workload.dumps.steps import step_text
from cdma.workload.networks.catalog import NETWORKS, PAPER, TODAY, load_network
from cdma.workload.networks.published import PUBLISHED, counts
from cdma.workload.results.paper import CSWAP, HIGHEST_RATIO, RATIO, SPEEDUPS, TORCHTITAN, VDNN, headline
from cdma.workload.results.software import software
from cdma.workload.timeline.densities import ALGORITHMS, PAPER_AVERAGE, default_fillings, published_networks, uniform
from cdma.workload.timeline.efficiency import EFFICIENCY
from cdma.workload.timeline.engine_share import DIRECTIONS
from cdma.workload.timeline.gpus import gpu
from cdma.workload.timeline.queued import Ahead, queued
from cdma.workload.timeline.scenario import LINK, Scenario, build_engine
from cdma.workload.timeline.schedule import Engine, Transfer, plain_dma, run
from cdma.workload.timeline.study import SCHEDULES, Study
from cdma.workload.timeline.swapping import POLICIES, high_water, swapped

__all__ = ["CODINGS", "DECODERS", "DENSITIES", "EFFICIENCIES", "ENGINES", "LINKS", "TODAYS_GPUS", "alike",
           "dump_figures", "results"]

_DIGITS = 6  # of every figure; further digits differ between machines

GPUS = tuple(SPEEDUPS)
"""The GPUs of the paper."""
DENSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Densities that are compared."""
EFFICIENCIES = (0.3, EFFICIENCY, 0.7, 0.9)
"""Shares of the peak that are compared."""
ENGINES = ("paper", "wide")
"""Engines that are compared on other links."""
DECODERS = ("gpt2", "llama", "vit", "relu2")
"""Transformers of today that are compared."""
TODAYS_GPUS = ("a100", "h100", "h200", "b200")
"""GPUs of today that are compared."""
SHARDS = 8
"""GPUs of a node, which share the weights."""
BUDGET = 5.0
"""10^9 bytes that the policy of a budget swaps."""
CODINGS = ("zvc", "exponents")
"""The codings of the engine."""

_OF_DUMPS = {"zvc": "blocks", "exponent": "exponents", "rle": "rle", "zlib": "zlib"}
"""The engine's stream, exponent coding and the paper's baselines, by their names in characterise."""

LINKS = (("PCIe 3 x16", 12.8, "titan-xp"), ("PCIe 3 x16", 12.8, "v100"), ("PCIe 4 x16", 25.6, "a100"),
         ("PCIe 5 x16", 51.2, "h100"), ("NVLink 2 to POWER9", 75.0, "v100"), ("NVLink-C2C", 450.0, "h100"))
"""Links with 10^9 bytes a second in one direction, and a GPU that has each: PCIe at 80 % of its rate, as in the paper;
NVLink at its full rate, which favours plain swapping."""


def results(progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
    """All figures as JSON has them, each number rounded to the digits that are the same on every machine.

    Times are in milliseconds, gains in per cent; ``slowdown`` is a step's time over that without swapping, ``speedup``
    and ``gain`` are over plain swapping, and rows of the study are ``oracle``, ``vdnn`` and the algorithms.

    Parameters
    ----------
    progress
        Called with a stage, the parts done, and all parts.
    """
    parts: dict[str, Callable[[], Any]] = {
        "today": _today, "offloads": _offloads, "dumps": lambda: map(dump_figures, shipped_dumps().values()),
        "networks": _networks, "headlines": _headlines, "vdnn": _vdnn, "cswap": _cswap, "policies": _policies,
        "links": _links, "engines": _engines, "densities": _densities, "drift": _drift, "sparsest": _sparsest,
        "by_layer": published_networks, "efficiencies": _efficiencies, "published": _published,
        "software": software}
    found = {}
    for number, (name, part) in enumerate(parts.items()):
        if progress is not None:
            progress("results", number, len(parts))
        found[name] = _rounded(part())
    return found


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


def _today() -> list[dict[str, Any]]:
    """Transformers of today on GPUs with their own links, with a batch that needs swapping: plainly, or by the engine.
    Memory is that in the queue."""
    return [_today_row(network, name) for network in DECODERS for name in TODAYS_GPUS]


def _today_row(network: str, name: str) -> dict[str, Any]:
    device = gpu(name)
    # The port of the narrow engine carries 32 GB/s.
    preset = ENGINES[device.link_reached * 1e9 > _engine(ENGINES[0]).link_port_bandwidth]
    scenario = _scenario(network, name, link=device.link_reached, engine=_engine(preset), shards=SHARDS,
                         batch=load_network(network).batch)
    # A step that fits needs no swapping.
    while high_water(scenario.parts().plan, ()) <= device.memory * 1e9:
        scenario = replace(scenario, batch=2 * (scenario.batch or 1))
    by_schedule = {schedule: _study(replace(scenario, schedule=schedule)) for schedule in SCHEDULES}
    study = by_schedule["queue"]
    return {"network": network, "batch": study.plan.network.batch, "dtype": study.plan.network.dtype, "gpu": name,
            "gpu_name": device.about, "link": device.link, "gb_per_s": device.link_reached, "engine": preset,
            "shards": SHARDS, "density": study.density(), "relu_density": _behind_relu(study),
            "ratio": {coding: study.ratio(coding) for coding in CODINGS}, **_moved(study),
            "slowdown": {schedule: {row: found.slowdown(row) for row in ("vdnn", *CODINGS)}
                         for schedule, found in by_schedule.items()},
            "gain": {schedule: {row: 100 * (found.speedup(row) - 1) for row in CODINGS}
                     for schedule, found in by_schedule.items()}}


def _offloads() -> list[dict[str, Any]]:
    """The budgets of torchtitan: cheap layers are computed again, as its selective checkpointing does. Losses of
    throughput and memory that is saved are in per cent; ``half_link`` is plain offload at half of the link's rate."""
    scenario = _scenario("llama", "h100", engine=_engine("wide"), shards=SHARDS)
    parts, link = scenario.parts(), scenario.link_reached * 1e9
    made, bandwidth = cheap_layers(parts.plan, parts.compute), parts.device.bandwidth * 1e9
    kept = {name: tensor for name, tensor in made.plan.tensors.items() if name not in made.again}
    alone = run(made.plan, made.compute, (), plain_dma(link), bandwidth, made.again)
    transfers: dict[str, Transfer] = {"vdnn": plain_dma(link)} | {
        coding: scenario.engine.transfer(link, lambda name, of=coding: parts.fillings[name].ratios[of])
        for coding in CODINGS}
    half = plain_dma(parts.device.link_bandwidth * 1e9 / 2)
    found = []
    for point in TORCHTITAN:
        chosen = swapped(replace(made.plan, tensors=kept), "budget", 0, budget=point["budget_gib"] * 2 ** 30)
        lines = {row: queued(made.plan, made.compute, chosen, transfer, bandwidth, Ahead(blocks=point["blocks"]),
                             made.again) for row, transfer in (transfers | {"half": half}).items()}
        loss = {row: 100 * (1 - alone.seconds / line.seconds) for row, line in lines.items()}
        found.append({"moved_gb": lines["vdnn"].moved / 2e9,
                      "saved": 100 * (1 - lines["vdnn"].memory / alone.memory),
                      "loss": {row: loss[row] for row in transfers}, "half_link": loss["half"], "published": point})
    return found


def _behind_relu(study: Study) -> float | None:
    """The density that the table has for tensors with a ReLU's zeros, None if the network has none."""
    plan = study.plan
    found = [filling.density for name, filling in default_fillings(plan).items() if plan.tensors[name].sparse]
    return sum(found) / len(found) if found else None


def dump_figures(path: Path) -> dict[str, Any]:
    """Densities and ratios of a dump: of each array, of all, by layout, and by step of training if names have one.

    Parameters
    ----------
    path
        A dump whose arrays have four dimensions in the order NCHW, or fewer.
    """
    arrays = characterise([path], form=None, jobs=1)
    totals = in_all(arrays)
    return {"dump": path.stem,
            "arrays": [{"array": array.layer, "step": _label(array), **_figures(array.stored)} for array in arrays],
            "in_all": _figures(totals[0]),
            "layouts": [{"layout": total.layout, **_figures(total)} for total in totals],
            "training": list(_training(arrays))}


def _figures(coded: Coded) -> dict[str, Any]:
    """Of one or more arrays: density, the ratio at the bound of mask coding, and the ratio of each coding."""
    return {"raw_bytes": coded.raw_bytes, "density": coded.density.density, "bound": coded.bound("blocks"),
            "ratio": {name: coded.ratio(coding) for name, coding in _OF_DUMPS.items()}}


def _training(arrays: Sequence[Array]) -> Iterator[dict[str, Any]]:
    """Of each step of training the density by layer, and all that is stored."""
    stepped = sorted((array for array in arrays if array.step is not None), key=lambda array: array.step or 0)
    for label in dict.fromkeys(map(_label, stepped)):
        own = [array for array in stepped if _label(array) == label]
        yield {"label": label, "density": {array.layer: array.stored.density.density for array in own},
               "in_all": _figures(in_all(own)[0])}


def _label(array: Array) -> str | None:
    return None if array.step is None else step_text(array.step_unit, array.step)


def _networks() -> list[dict[str, Any]]:
    return [{"gpu": name, "gpu_name": gpu(name).about, "rows": [
        _row(_study(_scenario(network, name)), network in PAPER) for network in NETWORKS if network not in TODAY]}
        for name in GPUS]


def _row(study: Study, paper: bool) -> dict[str, Any]:
    network = study.plan.network
    return {"network": network.name, "batch": network.batch, "paper": paper, "density": study.density(),
            "ratio": {name: study.ratio(name) for name in ALGORITHMS}, "highest_ratio": study.highest_ratio("zvc"),
            "step_ms": {name: line.seconds * 1e3 for name, line in study.rows.items()},
            "speedup": {name: study.speedup(name) for name in study.rows}, **_moved(study)}


def _headlines() -> list[dict[str, Any]]:
    """The figures of the paper's abstract by GPU, ours and the paper's."""
    return [{"gpu": name, "gpu_name": gpu(name).about, "here": headline(_six(name)),
             "paper": {"average_ratio": RATIO, "highest_ratio": HIGHEST_RATIO, **published},
             "slowdown": _slowdown(_six(name))} for name, published in SPEEDUPS.items()]


def _vdnn() -> dict[str, Any]:
    """The case of the abstract of vDNN."""
    study = _study(_scenario("vgg16", "titan-x", batch=256))
    return {"network": "vgg16", "batch": 256, "gpu": "titan-x",
            "here": {"loss": 100 * (1 - 1 / study.slowdown("vdnn")), "memory_gb": study.rows["oracle"].memory / 1e9},
            "paper": VDNN}


def _cswap() -> dict[str, Any]:
    """What compression takes off vDNN on a V100: the engine in the paper's six networks, CSWAP in six of its own."""
    studies = _six("v100")
    return {"here": {"step": _mean([100 * (1 - 1 / study.speedup("zvc")) for study in studies]),
                     "transfers": max(100 * (1 - study.rows["zvc"].transfer / study.rows["vdnn"].transfer)
                                      for study in studies)}, "paper": CSWAP}


def _policies() -> list[dict[str, Any]]:
    """Batches that do not fit the device without swapping, under each policy."""
    found = []
    for network, batch in (("vgg16", 192), ("googlenet", 640), ("squeezenet", 768)):
        for policy in POLICIES:
            study = _study(_scenario(network, GPUS[0], batch=batch, policy=policy, budget=BUDGET))
            found.append({"network": network, "batch": batch, "gpu": GPUS[0], "policy": policy,
                          "tensors": len(study.chosen), **_moved(study), "device_gb": gpu(GPUS[0]).memory,
                          "ratio": study.ratio("zvc"),
                          "step_ms": {row: study.rows[row].seconds * 1e3 for row in ("oracle", "vdnn", "zvc")},
                          "speedup": study.speedup("zvc")})
    return found


def _links() -> list[dict[str, Any]]:
    found = []
    for name, gb_per_s, on in LINKS:
        for preset in ENGINES:
            engine = _engine(preset)
            studies = _six(on, link=gb_per_s, engine=engine)
            gains = [100 * (study.speedup("zvc") - 1) for study in studies]
            found.append({"name": name, "gb_per_s": gb_per_s, "gpu": on, "gpu_name": gpu(on).about, "engine": preset,
                          "lane_gb_per_s": engine.lane_bandwidth / 1e9,
                          "link_port_gb_per_s": engine.link_port_bandwidth / 1e9, "slowdown": _slowdown(studies),
                          "average_gain": _mean(gains), "highest_gain": max(gains), "lowest_gain": min(gains)})
    return found


def _engines() -> dict[str, Any]:
    """The share of its limit that each engine reaches for a tensor of the paper's average density and link."""
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
             "headlines": {name: headline(_six(name, density=density)) for name in GPUS}} for density in DENSITIES]


def _drift() -> list[dict[str, Any]]:
    """The networks with densities by layer, if all of these were multiplied by what a step of the shipped training has
    over its end."""
    densities = {step["label"]: step["in_all"]["density"] for step in dump_figures(DIGITS)["training"]}
    at = [float(label.removesuffix(" %")) for label in densities]
    # Between two steps, density changes at an even rate.
    mean = float(np.trapezoid(list(densities.values()), at)) / (at[-1] - at[0])
    end = list(densities.values())[-1]
    return [{"step": label, "factor": density / end, "headlines": {
        name: headline([_study(_scenario(network, name, drift=density / end)) for network in published_networks()])
        for name in GPUS}} for label, density in {**densities, "mean over training": mean}.items()]


def _sparsest() -> dict[str, Any]:
    """The swapped tensor with the highest ratio, and the number of swapped tensors of all networks."""
    tensors = [(study.fillings[name].ratios["zvc"], study.fillings[name].density, study.plan.network.name, name)
               for study in _six(GPUS[0]) for name in sorted(study.chosen)]
    ratio, density, network, name = max(tensors)
    return {"network": network, "tensor": name, "density": density, "ratio": ratio, "tensors": len(tensors)}


def _efficiencies() -> list[dict[str, Any]]:
    return [{"efficiency": efficiency, "headlines": {name: headline(_six(name, efficiency=efficiency))
                                                     for name in GPUS}} for efficiency in EFFICIENCIES]


def _published() -> list[dict[str, Any]]:
    """A network's table beside published sizes of the network."""
    return [{"network": name, "here": counts(load_network(name)), "published": PUBLISHED.get(name)}
            for name in NETWORKS if name not in TODAY]


def _moved(study: Study) -> dict[str, Any]:
    return {"swapped_gb": study.rows["vdnn"].moved / 2e9,
            "memory_gb": {row: study.rows[row].memory / 1e9 for row in ("oracle", "vdnn")}}


def _slowdown(studies: Sequence[Study]) -> dict[str, float]:
    return {row: _mean([study.slowdown(row) for study in studies]) for row in ("vdnn", "zvc")}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rounded(value: Any) -> Any:
    """All numbers with a point rounded, in lists and dictionaries too."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, float | int | str | None):
        return round(value, _DIGITS - 1 - floor(log10(abs(value)))) if isinstance(value, float) and value else value
    return list(map(_rounded, value))


def alike(one: Any, other: Any, codings: Sequence[str] = ("zlib",)) -> bool:
    """Whether two outcomes of :func:`results`, as JSON has them, are the same.

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
