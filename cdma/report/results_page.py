"""The page of results: text, tables and plots of the figures of :mod:`cdma.workload.results.figures`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cdma.console.output import count, fixed
from cdma.report import results_words as words
from cdma.report.page import Page, Section
from cdma.report.parts import Part, Table, bars, lines, prose
from cdma.report.software import beside_table, where
from cdma.report.table import Column, inside
from cdma.workload.timeline.swapping import copies

__all__ = ["results_page"]

Row = Mapping[str, Any]
"""Figures by the names that JSON has for them."""

_ALGORITHMS = ("zvc", "exponents", "rle", "zlib")
_CODED = ("zvc", "exponent", "rle", "zlib")
_RECOMPUTED = 4 / 3
"""Step time with all activations computed again: forward twice, and backward, which takes two of it."""
_SCHEDULES = {"layer": "sync", "queue": "async"}
_NETWORK = [Column("network", "network"), Column("batch", "batch")]


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
        Section("In software on the GPU", list(_software(figures["software"]))),
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
    yield bars("Speed-up over vdnn in per cent", ["here", "Rhu et al."], {
        f"{line['gpu_name']}, {what}": [gain, _gains(line["paper"])[what]]
        for line in figures["headlines"] for what, gain in _gains(line["here"]).items()}, digits=0)
    yield bars("Ratio of zero-value coding", ["here", "Rhu et al."], ratios)
    yield Table(["figure, zvc", "published", "here", "GPU", "published in"], rows, left=(0, 3, 4))


def _differences(figures: Row) -> list[Part]:
    paper = figures["headlines"][0]["paper"]
    return prose(
        words.DIFFERENCES, **figures, first=figures["headlines"][0],
        ratio_of_average=_ratio(figures["engines"]["density"]), density_of_ratio=_density(paper["average_ratio"]),
        density_of_highest=_density(paper["highest_ratio"]), slow=figures["efficiencies"][0],
        fast=figures["efficiencies"][-1])


def _networks(figures: Row) -> Iterator[Part]:
    yield from prose(words.NETWORKS)
    for part in figures["networks"]:
        yield bars(f"Gain over vdnn in per cent, {part['gpu_name']}", _ALGORITHMS,
                   {row["network"]: [_gain(row, name) for name in _ALGORITHMS] for row in part["rows"]},
                   {row["network"]: _gain(row, "oracle") for row in part["rows"]}, "oracle, nothing swapped", 0)
    for part in figures["networks"]:
        yield Table([*_NETWORK, Column("density", "density", ".3f"), Column("ratio", "ratio.zvc", ".2f"),
                     *(Column(f"{name} ms", f"step_ms.{name}", ".0f") for name in ("oracle", "vdnn", "zvc")),
                     *(Column(f"{name} x", f"speedup.{name}", ".2f") for name in ("oracle", *_ALGORITHMS))],
                    part["rows"], f"{part['gpu_name']}; x is the speed-up over vdnn")


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
    yield bars(f"Ratio of each array{_when(training)}", _CODED,
               {row["array"]: [row["ratio"][name] for name in _CODED] for row in arrays},
               {row["array"]: row["bound"] for row in arrays}, "bound")
    ratios = [Column(f"{name} ratio", f"ratio.{name}", ".2f") for name in _CODED]
    yield Table([Column("array", "array"), Column("raw bytes", "raw_bytes", ","), Column("density", "density", ".3f"),
                 *ratios, Column("bound", "bound", ".2f")], [*arrays, {**dump["in_all"], "array": "in all"}],
                f"Every array{_when(training)}, and the whole dump" if training else "")
    if any(row != dump["layouts"][0] for row in dump["layouts"]):
        yield from prose(words.LAYOUTS)
        yield Table([Column("layout", "layout"), *ratios], dump["layouts"])


def _steps(training: Sequence[Row]) -> Iterator[Part]:
    labels = [step["label"] for step in training]
    layers = list(dict.fromkeys(layer for step in training for layer in step["density"]))
    rows = {layer: [step["density"].get(layer) for step in training] for layer in layers}
    yield lines("Density over training", labels, rows)
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


def _densities(figures: Row) -> Iterator[Part]:
    gpus = figures["headlines"]
    yield from prose(words.DENSITIES)
    yield bars("Average speed-up over vdnn by density, in per cent", [line["gpu_name"] for line in gpus],
               {f"density {row['density']:.1f}": [max(row["headlines"][line["gpu"]]["average_gain"], 0)
                                                  for line in gpus] for row in figures["densities"]}, digits=0)
    yield Table([Column("density", "density", ".1f"), Column("ratio", "ratio", ".2f"), *_gain_columns(figures)],
                figures["densities"])


def _drift(figures: Row) -> Iterator[Part]:
    yield from prose(words.DRIFT, networks=", ".join(figures["by_layer"]))
    first = figures["headlines"][0]["gpu"]
    yield Table([Column("training", "step"), Column("factor", "factor", ".2f"),
                 Column("ratio by bytes", f"headlines.{first}.average_ratio", ".2f"),
                 Column("ratio, tensors equal", f"headlines.{first}.tensor_ratio", ".2f"), *_gain_columns(figures)],
                figures["drift"])


def _memory(figures: Row) -> Iterator[Part]:
    rows = figures["networks"][0]["rows"]
    yield from prose(words.MEMORY)
    yield bars("Memory of a step in GB", ["nothing swapped", "all swapped"],
               {row["network"]: [row["memory_gb"]["oracle"], row["memory_gb"]["vdnn"]] for row in rows})
    yield Table([*_NETWORK, Column("GB, nothing swapped", "memory_gb.oracle", ".2f"),
                 Column("GB, all swapped", "memory_gb.vdnn", ".2f"), Column("saved", _saved, ".0f", " %"),
                 Column("GB swapped", "swapped_gb", ".2f")], rows)
    yield from prose(words.POLICIES)
    yield Table([*_NETWORK, Column("policy", "policy"), Column("tensors", "tensors"),
                 Column("GB swapped", "swapped_gb", ".1f"),
                 Column("GB on the device", lambda row: "{vdnn:.1f} of {oracle:.1f}".format(**row["memory_gb"])),
                 Column("ratio", "ratio", ".2f"),
                 *(Column(f"{name} ms", f"step_ms.{name}", ".0f") for name in ("oracle", "vdnn", "zvc")),
                 Column("zvc x", "speedup", ".2f")], figures["policies"], left=(0, 2))


def _links(figures: Row) -> Iterator[Part]:
    pairs = list(zip(figures["links"][::2], figures["links"][1::2], strict=True))
    paper, wide = pairs[0]
    yield from prose(words.LINKS, paper_lanes=paper["lane_gb_per_s"], paper_port=paper["link_port_gb_per_s"],
                     wide_lanes=wide["lane_gb_per_s"], wide_port=wide["link_port_gb_per_s"])
    times = {f"{one['name']}, {one['gpu_name']}": [one["slowdown"]["vdnn"], one["slowdown"]["zvc"],
                                                   two["slowdown"]["zvc"]] for one, two in pairs}
    yield bars("Step time over the oracle's", ["vdnn", "zvc, paper", "zvc, wide"], times)
    yield Table([Column("link", "name"), Column("GB/s", "gb_per_s", ".1f"), Column("GPU", "gpu_name"),
                 Column("vdnn", "slowdown.vdnn", ".2f"), Column("zvc, paper", "slowdown.zvc", ".2f"),
                 Column("zvc, wide", "wide.slowdown.zvc", ".2f"), *(_gain_column(heading, path) for heading, path in (
                     ("gain, paper", "average_gain"), ("gain, wide", "wide.average_gain"),
                     ("lowest", "wide.lowest_gain"), ("highest", "wide.highest_gain")))],
                [{**one, "wide": two} for one, two in pairs], left=(0, 2))
    yield from prose(words.LINKS_BELOW)
    yield from prose(words.ENGINE, density=figures["engines"]["density"])
    yield Table([Column("engine", "engine"), Column("lanes", "lanes"), Column("direction", "direction"),
                 Column("balance", "balance", ".1f"), Column("share", lambda row: 100 * row["share"], ".2f", " %"),
                 Column("start, cycles", "start_cycles", ".0f")], figures["engines"]["rows"], left=(0, 2))


def _efficiencies(figures: Row) -> Iterator[Part]:
    yield from prose(words.EFFICIENCIES)
    yield Table([Column("efficiency", "efficiency", ".1f"), *_gain_columns(figures)], figures["efficiencies"])


def _published(figures: Row) -> Iterator[Part]:
    yield from prose(words.PUBLISHED)
    yield Table([
        Column("network", "network"), Column("parameters", lambda row: int(row["here"]["params"] or 0), ","),
        Column("published", lambda row: _count(_there(row, "params"))),
        Column("10^9 multiply-adds", lambda row: (row["here"]["multiply_adds"] or 0) / 1e9, ".2f"),
        Column("published", lambda row: _in_units(_there(row, "multiply_adds"), 1e9)),
        Column("10^6 activations", lambda row: (row["here"]["activations"] or 0) / 1e6, ".2f"),
        Column("published", lambda row: _in_units(_there(row, "activations"), 1e6)),
        Column("source", lambda row: _there(row, "source"))], figures["published"], left=(0, 7))


def _there(row: Row, key: str) -> Any:
    """A published figure of a network; None where nothing is."""
    return row["published"] and row["published"][key]


def _gains(line: Row) -> dict[str, float]:
    """Speed-ups over vdnn in per cent, over several networks."""
    return {"average": line["average_gain"], "highest": line["highest_gain"]}


def _gain_column(heading: str, path: str) -> Column:
    return Column(heading, lambda row: round(inside(row, path)), "", " %")


def _gain_columns(figures: Row) -> list[Column]:
    return [_gain_column(f"{line['gpu_name']}, {what}", f"headlines.{line['gpu']}.{what}_gain")
            for line in figures["headlines"] for what in _gains(line["here"])]


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
    yield bars("Gain over plain offload in per cent, exponents", list(_SCHEDULES.values()), {
        f"{row['network']}, {row['gpu']}": [max(row["gain"][name]["exponents"], 0.0) for name in _SCHEDULES]
        for row in figures["today"]}, digits=0)
    yield Table([*_NETWORK, Column("GPU", "gpu_name"), Column("GB/s", "gb_per_s", ".1f"),
                 Column("GB, not swapped", "memory_gb.oracle", ".0f"), Column("GB swapped", "swapped_gb", ".1f"),
                 Column("ratio, zvc", "ratio.zvc", ".2f"), Column("ratio, exponents", "ratio.exponents", ".2f"),
                 *(Column(f"{name}, {way}", f"slowdown.{schedule}.{way}", ".2f")
                   for schedule, name in _SCHEDULES.items() for way in ("vdnn", "exponents")),
                 *(_gain_column(f"gain, {name}", f"gain.{schedule}.exponents")
                   for schedule, name in _SCHEDULES.items())], figures["today"], left=(0, 2))
    relu = next(row["relu_density"] for row in figures["today"] if row["relu_density"] is not None)
    yield from prose(words.TODAY_BELOW, density=relu, copies=copies(figures["today"][0]["dtype"]))
    yield from prose(words.OFFLOADS)
    yield Table([
        Column("budget, GiB", "published.budget_gib"), Column("blocks behind", "published.blocks"),
        Column("GB offloaded", "moved_gb", ".1f"), Column("memory saved, published", "published.saved", "", " %"),
        Column("memory saved, here", "saved", ".1f", " %"),
        Column("loss, published", lambda row: f"below {row['published']['loss']:g} %"),
        Column("loss, here", "loss.vdnn", ".1f", " %"), Column("loss, half the link's rate", "half_link", ".1f", " %"),
        Column("loss, exponents", "loss.exponents", ".1f", " %")], figures["offloads"])
    yield from prose(words.OFFLOADS_BELOW, **{
        f"{name}{row['published']['budget_gib']}": value for row in figures["offloads"]
        for name, value in (("here", row["loss"]["vdnn"]), ("half", row["half_link"]), ("saved", row["saved"]),
                            ("published", row["published"]["saved"]))})


def _software(figures: Row) -> Iterator[Part]:
    step = figures["steps"][0]
    yield from prose(words.SOFTWARE, where=where(figures["measured"]), gpu=step["gpu_name"], link=step["gb_per_s"])
    yield beside_table(figures)
    yield from prose(words.SOFTWARE_BELOW)


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
