"""``cdma alternatives``: recompute, quantise, compress, or buy memory?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cdma.console.files import check_no_input, picture_file
from cdma.console.networks import (
    ahead_option,
    densities_text,
    device_options,
    efficiency_of,
    look_ahead,
    network_options,
    profile_for,
    times_text,
)
from cdma.console.numbers import positive
from cdma.console.options import add_command, json_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.hdl.config.files import write_file
from cdma.report.plots.alternatives import alternatives_plot
from cdma.report.plots.drawing import require_extra
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.workload.alternatives.study import Alternative

_DESCRIPTION = """\
A training step needs more memory than the device has. What costs least? Rows: all of it on a larger device; swapping
its activations over the link with a copy engine and with this engine, with a wait at each layer (sync) and with a queue
of transfers (async); computing cheap layers or whole segments again; rounding before swapping; 2-bit activations; and a
software codec on the GPU. Computing again, rounding and coding on the GPU add to its computing.

Rows that another one beats in time and memory without more loss or hardware are left out, unless --all is given.
docs/alternatives.md has the model, its sources, and what is assumed."""

_EXAMPLES = """\
  cdma alternatives resnet50 --gpu v100 --batch 256       on its 16 GB, over its PCIe
  cdma alternatives vgg16 --gpu titan-x --memory 9 --all
  cdma alternatives resnet50 --gpu a100 --batch 512 --plot resnet50.svg
  cdma alternatives mine.json --densities dump.npz --link 51.2 --json | jq .fastest.name
  cdma alternatives googlenet --gpu titan-xp --sensitivity"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "alternatives", "recompute, quantise, compress, or buy memory?", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("network", metavar="NETWORK|FILE.json", help="network (cdma timeline --list has them) or a "
                        "file with one of yours")
    device_options(parser, "h100")
    network_options(parser)
    parser.add_argument("--dtype", metavar="TYPE", help="type of the network's values (default: the network's own)")
    parser.add_argument("--codec", type=positive, default=100.0, metavar="GB/s", help="raw bytes a second that a "
                        "software codec on the GPU takes in and gives back, an assumption (default: 100)")
    ahead_option(parser, "async rows: ")
    parser.add_argument("--everything", action="store_true", help="swap all tensors (default: as many as it needs to "
                        "fit the device)")
    parser.add_argument("--all", action="store_true", help="show rows that others beat, too")
    parser.add_argument("--sensitivity", action="store_true", help="compare other waits, shares of the link and "
                        "efficiencies, too")
    parser.add_argument("--plot", type=picture_file, metavar="FILE.svg", help="write the rows as a picture")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Model the step by each alternative and print them."""
    if call.plot:
        check_no_input(call.plot, call.network, call.densities, call.profile)
        require_extra()
    with Progress() as progress:
        outcome = _outcome(call, progress)
    if call.plot:
        write_file(call.plot, picture_of(outcome))
    show(call, outcome, alternatives_text)
    if call.plot and not call.json:
        print(f"\nplot: {call.plot}")
    return 0


def _outcome(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """The alternatives as JSON has them: the rows that are shown, the one with memory enough, the fastest that fit, and
    the swapped rows under changes."""
    from cdma.workload.alternatives.study import Inputs, alternatives, best, sensitivity, worth_a_look
    from cdma.workload.timeline.compute import roofline
    from cdma.workload.timeline.scenario import Scenario, build_engine, suiting_preset

    reached = efficiency_of(call)
    scenario = Scenario(call.network, call.gpu, call.batch, memory=call.memory, link=call.link, density=call.density,
                        densities=call.densities, efficiency=reached, profile=profile_for(call.profile, call.gpu),
                        ahead=look_ahead(call), dtype=call.dtype, compute=call.compute,
                        positions=call.positions)
    parts = scenario.parts()
    engine = build_engine(call.engine or suiting_preset(scenario.link_reached), call.clock)
    inputs = Inputs(parts.plan, parts.compute, parts.fillings, engine, scenario.link_reached * 1e9,
                    parts.device.bandwidth * 1e9, scenario.device_memory * 1e9, scenario.ahead, call.codec * 1e9,
                    everything=call.everything)
    rows = alternatives(inputs, progress)
    others = {} if scenario.times else {
        f"products and convolutions at {value:g}": replace(inputs, compute=roofline(
            parts.plan, parts.device, replace(reached, convolution=value, product=value, attention=value)))
        for value in (0.3, 0.7)}
    network = parts.plan.network
    return {"network": network.name, "about": network.about, "batch": network.batch, "dtype": network.dtype,
            "gpu": call.gpu, "gpu_name": parts.device.about, "memory_gb": scenario.device_memory,
            "link_gb_per_s": scenario.link_reached, "times": times_text(scenario, call.profile, reached),
            "densities": densities_text(scenario, parts.plan, parts.fillings),
            "ahead": str(scenario.ahead or "as far as memory is free"), "codec_gb_per_s": call.codec,
            "everything": call.everything, "rows": rows if call.all else worth_a_look(rows), "enough": rows[0],
            "fastest_lossless": best(rows), "fastest": best(rows, lossless=False),
            "sensitivity": sensitivity(inputs, others) if call.sensitivity else []}


def verdict(outcome: Mapping[str, Any]) -> str:
    """The answer in a sentence or two: the fastest row that fits without loss, and one with loss if that is faster."""
    lossless, any_row, memory = outcome["fastest_lossless"], outcome["fastest"], f"{outcome['memory_gb']:g} GB"
    if any_row is None:
        return f"Nothing fits {memory}: a smaller batch is needed, or several devices."
    if lossless is None:
        first = f"Without loss nothing fits {memory}."
    elif lossless == outcome["enough"]:
        return f"All of it fits {memory}: nothing has to be done."
    else:
        first = (f"Fastest without loss within {memory}: {label(lossless)}, {lossless.slowdown:.3f} times the step "
                 f"with memory enough ({outcome['enough'].memory_gb:.1f} GB).")
    if any_row == lossless:
        return first
    return f"{first}\nFaster with loss: {label(any_row)}, {any_row.slowdown:.3f} times."


def label(row: Alternative) -> str:
    """The name of a row, with its schedule where both are there."""
    return f"{row.name} ({'sync' if row.schedule == 'layer' else 'async'})" if row.schedule else row.name


def alternatives_text(outcome: Mapping[str, Any]) -> str:
    """The answer, then all rows."""
    rows = Table([Column("way", label), Column("step ms", "step_ms", ".1f"), Column("x", "slowdown", ".3f"),
                  Column("device GB", "memory_gb", ".2f"), Column("fits", lambda row: "yes" if row.fits else "no"),
                  Column("link GB", lambda row: row.link_gb if row.schedule else None, ".2f"),
                  Column("added ms", "extra_ms", ".1f"), Column("accuracy lost", "accuracy"),
                  Column("hardware", "hardware")], outcome["rows"])
    return ("{network} ({about}), batch {batch}, {dtype}, on {gpu_name} with {memory_gb:g} GB;\n{times};\ndensities: "
            "{densities};\nlink {link_gb_per_s:g} GB/s; look-ahead {ahead}; software codec {codec_gb_per_s:g} GB/s;\n"
            "{swapped}:\n\n{verdict}\n\n{table}\n\nx: times the step with memory enough. Added: computing again, "
            "rounding and coding by the GPU. sync: a wait at each layer; async: a queue of transfers.{changed}".format(
                swapped="all tensors are swapped" if outcome["everything"] else
                "as many tensors are swapped as it needs to fit", verdict=verdict(outcome), table=rows.text(),
                changed=_sensitivity(outcome["sensitivity"]), **outcome))


def _sensitivity(changes: Sequence[Mapping[str, Any]]) -> str:
    """The gain of the engine over plain swapping with other inputs; empty if it was not asked for."""
    if not changes:
        return ""
    names = list(changes[0]["engine_x"])
    return "\n\n" + Table([
        Column("change", "change"), Column("schedule", "schedule"), Column("offload x", "offload_x", ".3f"),
        *(Column(f"{name} x", f"engine_x.{name}", ".3f") for name in names),
        *(Column(f"{name} gains", f"gain_percent.{name}", ".0f", " %") for name in names)], changes).text()


def picture_of(outcome: Mapping[str, Any]) -> str:
    """The rows as an SVG file: the step's time, and the memory on the device."""
    rows = [{"name": label(row), "values": (row.slowdown, row.memory_gb), "group": _group(row), "fits": row.fits,
             "tip": f"{label(row)}: {row.about}; {row.step_ms:.1f} ms; accuracy lost: {row.accuracy}; "
             f"hardware: {row.hardware}"} for row in outcome["rows"]]
    return alternatives_plot(rows, outcome["memory_gb"],
                             "{network}, batch {batch}, {gpu_name}, link {link_gb_per_s:g} GB/s".format(**outcome))


def _group(row: Alternative) -> str:
    if not row.lossless:
        return "with loss"
    if row.name == "buy memory":
        return "memory enough"
    return "with the engine" if row.hardware == "the engine" else "without the engine"
