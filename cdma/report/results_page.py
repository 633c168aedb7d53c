"""The page of results: text, tables and plots of the figures of :mod:`cdma.workload.results.figures`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cdma.console.output import count, fixed
from cdma.report import results_words as words
from cdma.report.page import Page, Section
from cdma.report.parts import Bars, Lines, Part, Table, prose
from cdma.workload.timeline.swapping import copies

__all__ = ["results_page"]

Row = Mapping[str, Any]
"""Figures by the names that JSON has for them."""

_ALGORITHMS = ("zvc", "exponents", "rle", "zlib")
_CODED = ("zvc", "exponent", "rle", "zlib")
_RECOMPUTED = 4 / 3
"""Step time with all activations computed again: forward twice, and backward, which takes two of it."""
_SCHEDULES = {"layer": "sync", "queue": "async"}


def results_page(figures: Row) -> Page:
    """The page.

    Parameters
    ----------
    figures
        What :func:`cdma.workload.results.results` returns.
    """
    return Page("What the engine gains", [
        Section("", _summary(figures)),
        Section("Networks of today", list(_today(figures))),
        Section("How to read this page", prose(words.GUIDE)),
        Section("Compared with the paper", list(_beside(figures))),
        Section("Why figures differ from the paper's", _differences(figures)),
        Section("Training steps, network by network", list(_networks(figures))),
        *_dumps(figures["dumps"]),
        Section("Densities while a network trains", list(_drift(figures))),
        Section("Other densities", list(_densities(figures))),
        Section("Memory and policies", list(_memory(figures))),
        Section("Other links", list(_links(figures))),
        Section("Other compute times", list(_efficiencies(figures))),
        Section("The tables of networks beside published sizes", list(_published(figures))),
    ])


def _summary(figures: Row) -> list[Part]:
    training = _over_training(figures)["training"]
    saved = [_saved(row) for row in figures["networks"][0]["rows"] if row["paper"]]
    wide = {(row["name"], row["gpu"]): row["average_gain"] for row in figures["links"] if row["engine"] == "wide"}
    old, new = figures["headlines"]
    return prose(words.SUMMARY, **_today_summary(figures), old=old, new=new, first=figures["dumps"][0]["in_all"],
                 begin=training[0]["in_all"], end=training[-1]["in_all"], least_saved=min(saved), most_saved=max(saved),
                 faster=wide["PCIe 5 x16", "h100"], fast=-wide["NVLink-C2C", "h100"])


def _over_training(figures: Row) -> Row:
    """The dump of a network over its training."""
    return next(dump for dump in figures["dumps"] if dump["training"])


def _beside(figures: Row) -> Iterator[Part]:
    first, vdnn, cswap = figures["headlines"][0], figures["vdnn"], figures["cswap"]
    ratios = {"average ratio, by bytes": (first["here"]["average_ratio"], first["paper"]["average_ratio"]),
              "average ratio, all tensors equal": (first["here"]["tensor_ratio"], first["paper"]["average_ratio"]),
              "highest ratio of a layer": (first["here"]["highest_ratio"], first["paper"]["highest_ratio"])}
    rows = [[name, f"{paper}", fixed(here, 2), "", "HPCA"] for name, (here, paper) in ratios.items()]
    rows += [[f"{what} speed-up over vdnn", f"{_gains(line['paper'])[what]} %", f"{gain:.0f} %", line["gpu_name"],
              line["paper"]["where"]] for line in figures["headlines"] for what, gain in _gains(line["here"]).items()]
    rows += [["performance that vdnn loses, VGG-16, batch 256", f"{vdnn['paper']['loss']:.0f} %",
              f"{vdnn['here']['loss']:.0f} %", "Titan X (Maxwell)", "vDNN, MICRO 2016"],
             ["memory of that step without swapping", f"{vdnn['paper']['memory_gb']:.0f} GB",
              f"{vdnn['here']['memory_gb']:.1f} GB", "", "vDNN, MICRO 2016"],
             ["training time that compression takes off vdnn, average", f"{cswap['paper']['step']} %",
              f"{cswap['here']['step']:.0f} %", "V100 SXM2", "CSWAP, CLUSTER 2021"],
             ["time of transfers that it takes off, highest", f"{cswap['paper']['transfers']} %",
              f"{cswap['here']['transfers']:.0f} %", "V100 SXM2", "CSWAP, CLUSTER 2021"]]
    yield Bars("Speed-up over vdnn in per cent", ["here", "Rhu et al."], {
        f"{line['gpu_name']}, {what}": [gain, _gains(line["paper"])[what]]
        for line in figures["headlines"] for what, gain in _gains(line["here"]).items()}, digits=0)
    yield Bars("Ratio of zero-value coding", ["here", "Rhu et al."], ratios)
    yield Table(["figure, zvc", "published", "here", "GPU", "published in"], rows, left=(0, 3, 4))


def _differences(figures: Row) -> list[Part]:
    paper, density = figures["headlines"][0]["paper"], figures["engines"]["density"]
    digits = _over_training(figures)
    ratios = [row["ratio"]["zvc"] or 0.0 for row in digits["arrays"]]
    gains = {row["network"]: _gain(row, "zvc") for row in figures["networks"][0]["rows"] if row["paper"]}
    most, least = max(gains, key=lambda name: gains[name]), min(gains, key=lambda name: gains[name])
    return prose(
        words.DIFFERENCES, **figures, first=figures["headlines"][0], ratio_of_average=_ratio(density),
        arrays_ratio=sum(ratios) / len(ratios), arrays_density=digits["in_all"]["density"],
        arrays_together=_ratio(digits["in_all"]["density"]), density_of_ratio=_density(paper["average_ratio"]),
        density_of_highest=_density(paper["highest_ratio"]),
        array=min((row for dump in figures["dumps"] for row in dump["arrays"]), key=lambda row: row["density"] or 0.0),
        slow=figures["efficiencies"][0], fast=figures["efficiencies"][-1], most=most, most_gain=gains[most],
        least=least, least_gain=gains[least], share=100 * figures["engines"]["rows"][0]["share"],
        reached=figures["engines"]["rows"][0])


def _networks(figures: Row) -> Iterator[Part]:
    yield from prose(words.NETWORKS)
    for part in figures["networks"]:
        yield Bars(f"Gain over vdnn in per cent, {part['gpu_name']}", _ALGORITHMS,
                   {row["network"]: [_gain(row, name) for name in _ALGORITHMS] for row in part["rows"]},
                   {row["network"]: _gain(row, "oracle") for row in part["rows"]}, "oracle, nothing swapped", 0)
    for part in figures["networks"]:
        yield Table(["network", "batch", "density", "ratio", *(f"{name} ms" for name in ("oracle", "vdnn", "zvc")),
                     *(f"{name} x" for name in ("oracle", *_ALGORITHMS))],
                    [[row["network"], str(row["batch"]), fixed(row["density"], 3), fixed(row["ratio"]["zvc"], 2),
                      *(fixed(row["step_ms"][name], 0) for name in ("oracle", "vdnn", "zvc")),
                      *(fixed(row["speedup"][name], 2) for name in ("oracle", *_ALGORITHMS))] for row in part["rows"]],
                    title=f"{part['gpu_name']}; x is the speed-up over vdnn")


def _dumps(dumps: Sequence[Row]) -> Iterator[Section]:
    """A section for each dump; one of training shows its densities over the steps first."""
    for dump in dumps:
        yield Section(f"Densities and ratios: {dump['dump']}", list(_dump(dump)))


def _dump(dump: Row) -> Iterator[Part]:
    training = dump["training"]
    yield from prose(words.DUMP)
    if training:
        yield from _steps(training)
    arrays = _of_step(dump["arrays"], training)
    yield Bars(f"Ratio of each array{_when(training)}", _CODED,
               {row["array"]: [row["ratio"][name] for name in _CODED] for row in arrays},
               {row["array"]: row["bound"] for row in arrays}, "bound")
    yield Table(["array", "raw bytes", "density", *(f"{name} ratio" for name in _CODED), "bound"],
                [*(_array(row["array"], row) for row in arrays), _array("in all", dump["in_all"])],
                title=f"Every array{_when(training)}, and the whole dump" if training else "")
    if any(row != dump["layouts"][0] for row in dump["layouts"]):
        yield from prose(words.LAYOUTS)
        yield Table(["layout", *(f"{name} ratio" for name in _CODED)],
                    [[row["layout"], *(fixed(row["ratio"][name], 2) for name in _CODED)] for row in dump["layouts"]])


def _steps(training: Sequence[Row]) -> Iterator[Part]:
    labels = [step["label"] for step in training]
    layers = list(dict.fromkeys(layer for step in training for layer in step["density"]))
    rows = {layer: [step["density"].get(layer) for step in training] for layer in layers}
    yield Lines("Density over training", labels, rows)
    yield Table(["density", *labels],
                [*([layer, *(fixed(value, 3) for value in values)] for layer, values in rows.items()),
                 ["in all", *(fixed(step["in_all"]["density"], 3) for step in training)],
                 ["zvc ratio", *(fixed(step["in_all"]["ratio"]["zvc"], 2) for step in training)]],
                title="Density of every layer over training")


def _of_step(arrays: Sequence[Row], training: Sequence[Row]) -> Sequence[Row]:
    """The arrays of the last step of training; all where there are no steps."""
    return [row for row in arrays if row["step"] == training[-1]["label"]] if training else arrays


def _when(training: Sequence[Row]) -> str:
    label = training[-1]["label"] if training else ""
    return f" at {label}{' of training' * label.endswith('%')}" if training else ""


def _array(name: str, row: Row) -> list[str]:
    return [name, count(row["raw_bytes"]), fixed(row["density"], 3),
            *(fixed(row["ratio"][coding], 2) for coding in _CODED), fixed(row["bound"], 2)]


def _densities(figures: Row) -> Iterator[Part]:
    gpus = figures["headlines"]
    yield from prose(words.DENSITIES)
    yield Bars("Average speed-up over vdnn by density, in per cent", [line["gpu_name"] for line in gpus],
               {f"density {row['density']:.1f}": [max(row["headlines"][line["gpu"]]["average_gain"], 0)
                                                  for line in gpus] for row in figures["densities"]}, digits=0)
    yield Table(["density", "ratio", *_gain_heads(figures)],
                [[fixed(row["density"], 1), fixed(row["ratio"], 2), *_gain_cells(row["headlines"], figures)]
                 for row in figures["densities"]])


def _drift(figures: Row) -> Iterator[Part]:
    yield from prose(words.DRIFT, networks=", ".join(figures["by_layer"]))
    first = figures["headlines"][0]["gpu"]
    yield Table(["training", "factor", "ratio by bytes", "ratio, tensors equal", *_gain_heads(figures)],
                [[row["step"], fixed(row["factor"], 2), fixed(row["headlines"][first]["average_ratio"], 2),
                  fixed(row["headlines"][first]["tensor_ratio"], 2), *_gain_cells(row["headlines"], figures)]
                 for row in figures["drift"]])


def _memory(figures: Row) -> Iterator[Part]:
    rows = figures["networks"][0]["rows"]
    yield from prose(words.MEMORY)
    yield Bars("Memory of a step in GB", ["nothing swapped", "all swapped"],
               {row["network"]: [row["memory_gb"]["oracle"], row["memory_gb"]["vdnn"]] for row in rows})
    yield Table(["network", "batch", "GB, nothing swapped", "GB, all swapped", "saved", "GB swapped"],
                [[row["network"], str(row["batch"]), fixed(row["memory_gb"]["oracle"], 2),
                  fixed(row["memory_gb"]["vdnn"], 2), f"{_saved(row):.0f} %", fixed(row["swapped_gb"], 2)]
                 for row in rows])
    yield from prose(words.POLICIES)
    yield Table(["network", "batch", "policy", "tensors", "GB swapped", "GB on the device", "ratio", "oracle ms",
                 "vdnn ms", "zvc ms", "zvc x"],
                [[row["network"], str(row["batch"]), row["policy"], str(row["tensors"]), fixed(row["swapped_gb"], 1),
                  f"{row['memory_gb']['vdnn']:.1f} of {row['memory_gb']['oracle']:.1f}", fixed(row["ratio"], 2),
                  *(fixed(row["step_ms"][name], 0) for name in ("oracle", "vdnn", "zvc")), fixed(row["speedup"], 2)]
                 for row in figures["policies"]], left=(0, 2))


def _links(figures: Row) -> Iterator[Part]:
    pairs = list(zip(figures["links"][::2], figures["links"][1::2], strict=True))
    paper, wide = pairs[0]
    yield from prose(words.LINKS, paper_lanes=paper["lane_gb_per_s"], paper_port=paper["link_port_gb_per_s"],
                     wide_lanes=wide["lane_gb_per_s"], wide_port=wide["link_port_gb_per_s"])
    times = {f"{one['name']}, {one['gpu_name']}": [one["slowdown"]["vdnn"], one["slowdown"]["zvc"],
                                                   two["slowdown"]["zvc"]] for one, two in pairs}
    yield Bars("Step time over the oracle's", ["vdnn", "zvc, paper", "zvc, wide"], times)
    yield Table(["link", "GB/s", "GPU", "vdnn", "zvc, paper", "zvc, wide", "gain, paper", "gain, wide", "lowest",
                 "highest"],
                [[one["name"], fixed(one["gb_per_s"], 1), one["gpu_name"], *(fixed(time, 2) for time in shown),
                  *map(_percent, (one["average_gain"], two["average_gain"], two["lowest_gain"], two["highest_gain"]))]
                 for (one, two), shown in zip(pairs, times.values(), strict=True)], left=(0, 2))
    yield from prose(words.LINKS_BELOW)
    yield from prose(words.ENGINE, density=figures["engines"]["density"])
    yield Table(["engine", "lanes", "direction", "balance", "share", "start, cycles"],
                [[row["engine"], str(row["lanes"]), row["direction"], fixed(row["balance"], 1),
                  f"{100 * row['share']:.2f} %", fixed(row["start_cycles"], 0)]
                 for row in figures["engines"]["rows"]], left=(0, 2))


def _efficiencies(figures: Row) -> Iterator[Part]:
    yield from prose(words.EFFICIENCIES)
    yield Table(["efficiency", *_gain_heads(figures)],
                [[fixed(row["efficiency"], 1), *_gain_cells(row["headlines"], figures)]
                 for row in figures["efficiencies"]])


def _published(figures: Row) -> Iterator[Part]:
    yield from prose(words.PUBLISHED)
    rows = []
    for row in figures["published"]:
        here, there = row["here"], row["published"] or dict.fromkeys(row["here"])
        rows.append([row["network"], count(int(here["params"] or 0)), _count(there["params"]),
                     fixed((here["multiply_adds"] or 0) / 1e9, 2), _in_units(there["multiply_adds"], 1e9),
                     fixed((here["activations"] or 0) / 1e6, 2), _in_units(there["activations"], 1e6),
                     there["source"] or ""])
    yield Table(["network", "parameters", "published", "10^9 multiply-adds", "published", "10^6 activations",
                 "published", "source"], rows, left=(0, 7))


def _gains(line: Row) -> dict[str, float]:
    """Speed-ups over vdnn in per cent, over several networks."""
    return {"average": line["average_gain"], "highest": line["highest_gain"]}


def _gain_heads(figures: Row) -> list[str]:
    return [f"{line['gpu_name']}, {what}" for line in figures["headlines"] for what in _gains(line["here"])]


def _gain_cells(headlines: Mapping[str, Row], figures: Row) -> list[str]:
    return [_percent(gain) for line in figures["headlines"] for gain in _gains(headlines[line["gpu"]]).values()]


def _percent(value: float) -> str:
    return f"{round(value)} %"


def _gain(row: Row, algorithm: str) -> float:
    return 100 * (row["speedup"][algorithm] - 1)


def _saved(row: Row) -> float:
    return 100 * (1 - row["memory_gb"]["vdnn"] / row["memory_gb"]["oracle"])


def _ratio(density: float) -> float:
    """Ratio of a block of 4 KiB: a header of 4 bytes, a tag bit for each element of 4 bytes, and the elements that are
    not zero."""
    return 4096 / (4 + 128 + 4096 * density)


def _density(ratio: float) -> float:
    """Density of a block that has this ratio: the reverse of :func:`_ratio`."""
    return (4096 / ratio - 132) / 4096


def _count(number: float | None) -> str:
    if number is None:
        return ""
    return count(int(number)) if number % 1e4 else f"{number / 1e6:g} M"


def _in_units(number: float | None, unit: float) -> str:
    return "" if number is None else f"{number / unit:g}"


def _today(figures: Row) -> Iterator[Part]:
    """Text, a plot and a table."""
    yield from prose(words.TODAY, shards=figures["today"][0]["shards"])
    yield Bars("Gain over plain offload in per cent, exponents", list(_SCHEDULES.values()), {
        f"{row['network']}, {row['gpu']}": [max(row["gain"][name]["exponents"], 0.0) for name in _SCHEDULES]
        for row in figures["today"]}, digits=0)
    yield Table(["network", "batch", "GPU", "GB/s", "GB, not swapped", "GB swapped", "ratio, zvc", "ratio, exponents",
                 *(f"{name}, {row}" for name in _SCHEDULES.values() for row in ("vdnn", "exponents")),
                 *(f"gain, {name}" for name in _SCHEDULES.values())],
                [_today_row(row) for row in figures["today"]], left=(0, 2))
    relu = next(row["relu_density"] for row in figures["today"] if row["relu_density"] is not None)
    yield from prose(words.TODAY_BELOW, density=relu, copies=copies(figures["today"][0]["dtype"]))
    yield from prose(words.OFFLOADS)
    yield Table(["budget, GiB", "blocks behind", "GB offloaded", "memory saved, published", "memory saved, here",
                 "loss, published", "loss, here", "loss, half the link's rate", "loss, exponents"],
                [[str(row["published"]["budget_gib"]), str(row["published"]["blocks"]), fixed(row["moved_gb"], 1),
                  f"{row['published']['saved']} %", f"{row['saved']:.1f} %", f"below {row['published']['loss']:g} %",
                  *(f"{loss:.1f} %" for loss in (row["loss"]["vdnn"], row["half_link"], row["loss"]["exponents"]))]
                 for row in figures["offloads"]])
    yield from prose(words.OFFLOADS_BELOW, **{
        f"{name}{row['published']['budget_gib']}": value for row in figures["offloads"]
        for name, value in (("here", row["loss"]["vdnn"]), ("half", row["half_link"]), ("saved", row["saved"]),
                            ("published", row["published"]["saved"]))})


def _today_row(row: Row) -> list[str]:
    return [row["network"], str(row["batch"]), row["gpu_name"], fixed(row["gb_per_s"], 1),
            fixed(row["memory_gb"]["oracle"], 0), fixed(row["swapped_gb"], 1),
            fixed(row["ratio"]["zvc"], 2), fixed(row["ratio"]["exponents"], 2),
            *(fixed(row["slowdown"][name][way], 2) for name in _SCHEDULES for way in ("vdnn", "exponents")),
            *(f"{round(row['gain'][name]['exponents'])} %" for name in _SCHEDULES)]


def _today_summary(figures: Row) -> dict[str, float]:
    """The figures of the first sentences: of dense networks, and of the one with zeros."""
    dense = [row for row in figures["today"] if row["density"] > 0.9]
    sparse = next(row for row in figures["today"] if row["density"] <= 0.9)
    ratios = [row["ratio"]["exponents"] for row in dense]
    sync, queue = ([row["gain"][name]["exponents"] for row in dense] for name in _SCHEDULES)
    plain, swap = ([row["slowdown"]["queue"][name] for row in dense] for name in ("vdnn", "exponents"))
    worth = [round(row["gain"]["queue"]["exponents"]) for row in figures["today"]
             if row["slowdown"]["queue"]["vdnn"] <= _RECOMPUTED]
    found = {"dense_zvc": dense[0]["ratio"]["zvc"], "relu_zvc": sparse["ratio"]["zvc"],
             "relu_exponents": sparse["ratio"]["exponents"]}
    for name, values in (("dense", ratios), ("sync", sync), ("async", queue), ("swap", swap), ("plain", plain),
                         ("worth", worth)):
        found |= {f"{name}_least": min(values), f"{name}_most": max(values)}
    return found
