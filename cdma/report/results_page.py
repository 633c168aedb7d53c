"""The page of results: text, tables and plots of the figures of :mod:`cdma.workload.results.figures`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report import results_words as words
from cdma.report.page import Page, Section
from cdma.report.parts import Bars, Part, Table, prose
from cdma.report.results_dumps import dump_sections
from cdma.report.results_today import today, today_summary
from cdma.workload.networks.published import Counts

if TYPE_CHECKING:
    from cdma.workload.results.dumps import DumpFigures
    from cdma.workload.results.paper import Headline
    from cdma.workload.results.records import NetworkRow, PaperHeadline, Results

__all__ = ["results_page"]

_ALGORITHMS = ("zvc", "exponents", "rle", "zlib")


def results_page(figures: Results) -> Page:
    """The page.

    Parameters
    ----------
    figures
        What :func:`cdma.workload.results.figures.results` returns.
    """
    return Page("What the engine gains", [
        Section("", _summary(figures)),
        Section("Networks of today", list(today(figures))),
        Section("How to read this page", prose(words.GUIDE)),
        Section("Compared with the paper", list(_beside(figures))),
        Section("Why figures differ from the paper's", _differences(figures)),
        Section("Training steps, network by network", list(_networks(figures))),
        *dump_sections(figures.dumps),
        Section("Densities while a network trains", list(_drift(figures))),
        Section("Other densities", list(_densities(figures))),
        Section("Memory and policies", list(_memory(figures))),
        Section("Other links", list(_links(figures))),
        Section("Other compute times", list(_efficiencies(figures))),
        Section("The tables of networks beside published sizes", list(_published(figures))),
    ])


def _summary(figures: Results) -> list[Part]:
    old, new = figures.headlines
    dump = figures.dumps[0].in_all
    training = _over_training(figures).training
    saved = [_saved(row) for row in figures.networks[0].rows if row.paper]
    wide = {(row.link.name, row.link.gpu): row.average_gain for row in figures.links if row.engine == "wide"}
    return prose(
        words.SUMMARY, **today_summary(figures), dump_ratio=dump.ratio["zvc"],
        begin_ratio=training[0].in_all.ratio["zvc"], end_ratio=training[-1].in_all.ratio["zvc"],
        ratio=old.here.average_ratio, tensor_ratio=old.here.tensor_ratio, paper_ratio=old.paper.average_ratio,
        least_saved=min(saved), most_saved=max(saved), faster=wide["PCIe 5 x16", "h100"],
        fast=-wide["NVLink-C2C", "h100"],
        **{f"{of}_{row}": line.slowdown[row] for of, line in (("old", old), ("new", new))
           for row in ("vdnn", "zvc")},
        **{f"{where}{of}_{what}": gain for of, line in (("old", old), ("new", new))
           for where, side in (("", line.here), ("paper_", line.paper)) for what, gain in _gains(side).items()})


def _over_training(figures: Results) -> DumpFigures:
    """The dump of a network over its training."""
    return next(dump for dump in figures.dumps if dump.training)


def _beside(figures: Results) -> Iterator[Part]:
    first, vdnn, cswap = figures.headlines[0], figures.vdnn, figures.cswap
    ratios = {"average ratio, by bytes": (first.here.average_ratio, first.paper.average_ratio),
              "average ratio, all tensors equal": (first.here.tensor_ratio, first.paper.average_ratio),
              "highest ratio of a layer": (first.here.highest_ratio, first.paper.highest_ratio)}
    rows = [[name, f"{paper}", fixed(here, 2), "", "HPCA"] for name, (here, paper) in ratios.items()]
    rows += [[f"{what} speed-up over vdnn", f"{_gains(line.paper)[what]} %", f"{gain:.0f} %", line.gpu_name,
              line.paper.where] for line in figures.headlines for what, gain in _gains(line.here).items()]
    rows += [["performance that vdnn loses, VGG-16, batch 256", f"{vdnn.paper.loss:.0f} %",
              f"{vdnn.here.loss:.0f} %", "Titan X (Maxwell)", "vDNN, MICRO 2016"],
             ["memory of that step without swapping", f"{vdnn.paper.memory_gb:.0f} GB",
              f"{vdnn.here.memory_gb:.1f} GB", "", "vDNN, MICRO 2016"],
             ["training time that compression takes off vdnn, average", f"{cswap.paper.step} %",
              f"{cswap.here.step:.0f} %", "V100 SXM2", "CSWAP, CLUSTER 2021"],
             ["time of transfers that it takes off, highest", f"{cswap.paper.transfers} %",
              f"{cswap.here.transfers:.0f} %", "V100 SXM2", "CSWAP, CLUSTER 2021"]]
    yield Bars("Speed-up over vdnn in per cent", ["here", "Rhu et al."], {
        f"{line.gpu_name}, {what}": [gain, _gains(line.paper)[what]]
        for line in figures.headlines for what, gain in _gains(line.here).items()}, digits=0)
    yield Bars("Ratio of zero-value coding", ["here", "Rhu et al."], ratios)
    yield Table(["figure, zvc", "published", "here", "GPU", "published in"], rows, left=(0, 3, 4))


def _differences(figures: Results) -> list[Part]:
    paper = figures.headlines[0].paper
    sparsest = min((row for dump in figures.dumps for row in dump.arrays),
                   key=lambda row: row.figures.density or 0.0)
    digits = _over_training(figures)
    ratios = [row.figures.ratio["zvc"] or 0.0 for row in digits.arrays]
    density = digits.in_all.density or 0.0
    slow, fast = figures.efficiencies[0], figures.efficiencies[-1]
    gains = {row.network: _gain(row, "zvc") for row in figures.networks[0].rows if row.paper}
    most, least = max(gains, key=lambda name: gains[name]), min(gains, key=lambda name: gains[name])
    reached = figures.engines.rows[0].reached
    return prose(
        words.DIFFERENCES, paper_density=figures.engines.density, paper_ratio=paper.average_ratio,
        paper_highest=paper.highest_ratio, ratio_of_average=_ratio(figures.engines.density),
        by_bytes=figures.headlines[0].here.average_ratio, by_tensors=figures.headlines[0].here.tensor_ratio,
        tensors=figures.sparsest.tensors, here_highest=figures.sparsest.ratio,
        here_network=figures.sparsest.network, here_tensor=figures.sparsest.tensor,
        here_density=figures.sparsest.density, arrays_ratio=sum(ratios) / len(ratios), arrays_density=density,
        arrays_together=_ratio(density), density_of_ratio=_density(paper.average_ratio),
        density_of_highest=_density(paper.highest_ratio), sparsest=sparsest.array,
        sparsest_density=sparsest.figures.density, slow=slow.efficiency, fast=fast.efficiency,
        slow_gain=slow.headlines["titan-xp"].average_gain,
        fast_gain=fast.headlines["titan-xp"].average_gain,
        most=most, most_gain=gains[most], least=least, least_gain=gains[least],
        vdnn_loss=figures.vdnn.here.loss, paper_loss=figures.vdnn.paper.loss,
        vdnn_memory=figures.vdnn.here.memory_gb, paper_memory=figures.vdnn.paper.memory_gb,
        share=100 * reached.share, start=reached.start_cycles)


def _networks(figures: Results) -> Iterator[Part]:
    yield from prose(words.NETWORKS)
    for part in figures.networks:
        yield Bars(f"Gain over vdnn in per cent, {part.gpu_name}", _ALGORITHMS,
                   {row.network: [_gain(row, name) for name in _ALGORITHMS] for row in part.rows},
                   {row.network: _gain(row, "oracle") for row in part.rows}, "oracle, nothing swapped", 0)
    for part in figures.networks:
        yield Table(["network", "batch", "density", "ratio", *(f"{name} ms" for name in ("oracle", "vdnn", "zvc")),
                     *(f"{name} x" for name in ("oracle", *_ALGORITHMS))],
                    [[row.network, str(row.batch), fixed(row.density, 3), fixed(row.ratio["zvc"], 2),
                      *(fixed(row.step_ms[name], 0) for name in ("oracle", "vdnn", "zvc")),
                      *(fixed(row.speedup[name], 2) for name in ("oracle", *_ALGORITHMS))] for row in part.rows],
                    title=f"{part.gpu_name}; x is the speed-up over vdnn")


def _densities(figures: Results) -> Iterator[Part]:
    gpus = figures.headlines
    yield from prose(words.DENSITIES)
    yield Bars("Average speed-up over vdnn by density, in per cent", [line.gpu_name for line in gpus],
               {f"density {row.density:.1f}": [max(row.headlines[line.gpu].average_gain, 0)
                                                  for line in gpus] for row in figures.densities}, digits=0)
    yield Table(["density", "ratio", *_gain_heads(figures)],
                [[fixed(row.density, 1), fixed(row.ratio, 2), *_gain_cells(row.headlines, figures)]
                 for row in figures.densities])


def _drift(figures: Results) -> Iterator[Part]:
    yield from prose(words.DRIFT, networks=", ".join(figures.by_layer))
    yield Table(["training", "factor", "ratio by bytes", "ratio, tensors equal", *_gain_heads(figures)],
                [[row.step, fixed(row.factor, 2), fixed(row.headlines[figures.headlines[0].gpu].average_ratio, 2),
                  fixed(row.headlines[figures.headlines[0].gpu].tensor_ratio, 2),
                  *_gain_cells(row.headlines, figures)] for row in figures.drift])


def _memory(figures: Results) -> Iterator[Part]:
    rows = figures.networks[0].rows
    yield from prose(words.MEMORY)
    yield Bars("Memory of a step in GB", ["nothing swapped", "all swapped"],
               {row.network: [row.memory_gb["oracle"], row.memory_gb["vdnn"]] for row in rows})
    yield Table(["network", "batch", "GB, nothing swapped", "GB, all swapped", "saved", "GB swapped"],
                [[row.network, str(row.batch), fixed(row.memory_gb["oracle"], 2),
                  fixed(row.memory_gb["vdnn"], 2), f"{_saved(row):.0f} %", fixed(row.swapped_gb, 2)]
                 for row in rows])
    yield from prose(words.POLICIES)
    yield Table(["network", "batch", "policy", "tensors", "GB swapped", "GB on the device", "ratio", "oracle ms",
                 "vdnn ms", "zvc ms", "zvc x"],
                [[row.network, str(row.batch), row.policy, str(row.tensors), fixed(row.swapped_gb, 1),
                  f"{row.memory_gb['vdnn']:.1f} of {row.memory_gb['oracle']:.1f}", fixed(row.ratio, 2),
                  *(fixed(row.step_ms[name], 0) for name in ("oracle", "vdnn", "zvc")), fixed(row.speedup, 2)]
                 for row in figures.policies], left=(0, 2))


def _links(figures: Results) -> Iterator[Part]:
    pairs = list(zip(figures.links[::2], figures.links[1::2], strict=True))
    paper, wide = pairs[0]
    yield from prose(words.LINKS, paper_lanes=paper.lane_gb_per_s, paper_port=paper.link_port_gb_per_s,
                     wide_lanes=wide.lane_gb_per_s, wide_port=wide.link_port_gb_per_s)
    times = {f"{one.link.name}, {one.gpu_name}": [one.slowdown["vdnn"], one.slowdown["zvc"],
                                                   two.slowdown["zvc"]] for one, two in pairs}
    yield Bars("Step time over the oracle's", ["vdnn", "zvc, paper", "zvc, wide"], times)
    yield Table(["link", "GB/s", "GPU", "vdnn", "zvc, paper", "zvc, wide", "gain, paper", "gain, wide", "lowest",
                 "highest"],
                [[one.link.name, fixed(one.link.gb_per_s, 1), one.gpu_name, *(fixed(time, 2) for time in shown),
                  *map(_percent, (one.average_gain, two.average_gain, two.lowest_gain, two.highest_gain))]
                 for (one, two), shown in zip(pairs, times.values(), strict=True)], left=(0, 2))
    yield from prose(words.LINKS_BELOW)
    yield from prose(words.ENGINE, density=figures.engines.density)
    yield Table(["engine", "lanes", "direction", "balance", "share", "start, cycles"],
                [[row.engine, str(row.lanes), row.direction, fixed(row.balance, 1),
                  f"{100 * row.reached.share:.2f} %", fixed(row.reached.start_cycles, 0)]
                 for row in figures.engines.rows], left=(0, 2))


def _efficiencies(figures: Results) -> Iterator[Part]:
    yield from prose(words.EFFICIENCIES)
    yield Table(["efficiency", *_gain_heads(figures)],
                [[fixed(row.efficiency, 1), *_gain_cells(row.headlines, figures)] for row in figures.efficiencies])


def _published(figures: Results) -> Iterator[Part]:
    yield from prose(words.PUBLISHED)
    rows = []
    for row in figures.published:
        here, there = row.here, row.published or Counts(None, None, None, "")
        rows.append([row.network, count(int(here.params or 0)), _count(there.params),
                     fixed((here.multiply_adds or 0) / 1e9, 2), _in_units(there.multiply_adds, 1e9),
                     fixed((here.activations or 0) / 1e6, 2), _in_units(there.activations, 1e6), there.source])
    yield Table(["network", "parameters", "published", "10^9 multiply-adds", "published", "10^6 activations",
                 "published", "source"], rows, left=(0, 7))


def _gains(line: Headline | PaperHeadline) -> dict[str, float]:
    """Speed-ups over vdnn in per cent, over several networks."""
    return {"average": line.average_gain, "highest": line.highest_gain}


def _gain_heads(figures: Results) -> list[str]:
    return [f"{line.gpu_name}, {what}" for line in figures.headlines for what in _gains(line.here)]


def _gain_cells(headlines: Mapping[str, Headline], figures: Results) -> list[str]:
    return [_percent(gain) for line in figures.headlines for gain in _gains(headlines[line.gpu]).values()]


def _percent(value: float) -> str:
    return f"{round(value)} %"


def _gain(row: NetworkRow, algorithm: str) -> float:
    return 100 * (row.speedup[algorithm] - 1)


def _saved(row: NetworkRow) -> float:
    return 100 * (1 - row.memory_gb["vdnn"] / row.memory_gb["oracle"])


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
