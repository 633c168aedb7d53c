"""``cdma timeline``: the cost of swapping in a training step, and the gain of compression."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
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
    schedule_text,
    times_text,
)
from cdma.console.numbers import byte_size, number, one_or_more, positive, share
from cdma.console.options import add_command, json_option
from cdma.console.output import lanes_text, show
from cdma.console.progress import Progress
from cdma.hdl.config.files import write_file
from cdma.report.plots.drawing import require_extra
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.workload.timeline.study import Study

_DESCRIPTION = """\
Model one training step of a network that swaps its activations to host memory, as vDNN and Rhu et al. do: a layer's
input is offloaded while the layer computes, and prefetched in backward while the layer after it computes. Transfers
that take longer than the computing cause stalls; with --schedule queue they are asynchronous. Rows: oracle (no
swapping), vdnn (swapping without coding), and the engine with zero-value coding (zvc), with the coding that makes the
values smallest (exponents), with run-length coding (rle) and zlib.

Times come from a roofline of the GPU or from your profile; densities and ratios from your dump or file, or from a
table: published by layer for four networks, else an average. docs/timeline.md has the model and its assumptions."""

_EXAMPLES = """\
  cdma timeline --list                                    networks and GPUs
  cdma timeline alexnet                                   on a Titan X, densities of the table
  cdma timeline vgg16 --gpu v100 --policy conv --density 0.5 --plot vgg16.svg
  cdma timeline squeezenet --densities dump.npz --json | jq '.rows[].step_ms'
  cdma timeline mine.json --profile mine_times.json       a network and times of yours
  cdma timeline captured --gpu h100                       a network as cdma capture saw it train
  cdma timeline vgg16 --policy lms --least 1M --use 0.3
  cdma timeline googlenet --gpu a100 --compute tf32 --engine wide --clock 800
  cdma timeline llama --gpu h100 --positions 4096         a decoder of today, in bfloat16
  cdma timeline gpt2 --gpu a100 --batch 16 --dtype float16 --efficiency attention=0.6
  cdma timeline vgg16 --schedule queue                    asynchronous swapping, as frameworks do today
  cdma timeline llama --gpu h100 --shards 8 --policy budget --budget 10 --schedule queue --ahead 8blocks
  cdma timeline --paper                                   the paper's six networks beside its figures"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "timeline", "model a training step that swaps its activations", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("network", nargs="?", metavar="NETWORK|FILE.json|FOLDER", help="network (see "
                        "--list), a file with one of yours, or a folder of cdma capture")
    parser.add_argument("--list", action="store_true", help="list networks and GPUs")
    parser.add_argument("--paper", action="store_true", help="the six networks of the paper beside its figures")
    device_options(parser, "titan-x")
    network_options(parser)
    parser.add_argument("--dtype", metavar="TYPE", help="type of the network's values: float32, bfloat16, float16, "
                        "float8_e4m3 or float8_e5m2 (default: the network's own)")
    parser.add_argument("--policy", choices=("all", "conv", "dynamic", "lms", "budget"), default="all",
                        help="what is swapped; all: tensors that backward needs; conv: tensors that convolutions read; "
                        "dynamic: none, conv or all, the first that fits the device; lms: by size; budget: the "
                        "largest, up to --budget (default: all)")
    parser.add_argument("--least", type=byte_size, default=1 << 20, metavar="SIZE", help="lms: smallest tensor "
                        "that is swapped (default: 1M)")
    parser.add_argument("--use", type=share, default=0.5, metavar="SHARE", help="lms: share of the device's memory in "
                        "use from which tensors are swapped (default: 0.5)")
    parser.add_argument("--budget", type=positive, metavar="GB", help="budget: most that is swapped, as torchtitan's "
                        "cpu_offload_budget_gb")
    parser.add_argument("--shards", type=one_or_more, default=1, metavar="N", help="GPUs that share the weights, their "
                        "gradients and the optimizer's state, as with FSDP (default: 1)")
    parser.add_argument("--lanes", type=one_or_more, metavar="N", help="lanes of the engine (default: the preset's)")
    parser.add_argument("--beat-bytes", type=int, choices=(16, 32, 64), help="bytes of a lane's beat (default: the "
                        "preset's)")
    parser.add_argument("--share", type=_share_or_file, metavar="X|FILE.json", help="share of its limit that the "
                        "engine reaches: a number above 0 and at most 1, or figures of cdma bench (default: the "
                        "measured cycles of the preset)")
    parser.add_argument("--schedule", choices=("layer", "queue"), default="layer", help="layer: each layer waits for "
                        "the transfers beside it, as vDNN does; queue: asynchronous transfers, as frameworks do today "
                        "(default: layer)")
    ahead_option(parser, "queue: ")
    parser.add_argument("--plot", type=picture_file, metavar="FILE.svg", help="write the timelines as a picture")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Model the step and print rows and layers."""
    if (call.network is not None) + call.list + call.paper != 1:
        raise ValueError("give one of a network, --paper and --list (cdma timeline --list names the networks)")
    if call.list:
        show(call, _lists(), lists_text)
        return 0
    if call.plot:
        check_no_input(call.plot, call.network, call.densities, call.profile,
                       call.share if isinstance(call.share, str) else None)
        require_extra()
    with Progress() as progress:
        if call.paper:
            outcome, text = _paper(call, progress), paper_text
        else:
            (outcome, done), text = _outcome(call, call.network, progress), timeline_text
            if call.plot:
                from cdma.report.plots.gantt import gantt

                title = f"{outcome['network']}, batch {outcome['batch']}, {outcome['gpu_name']}, policy {call.policy}"
                write_file(call.plot, gantt(done.rows, title))
    show(call, outcome, text)
    if call.plot and not call.json:
        print(f"\nplot: {call.plot}")
    return 0


def _lists() -> dict[str, Any]:
    """The networks and GPUs that can be named, as JSON has them."""
    from cdma.workload.networks.catalog import NETWORKS, load_network
    from cdma.workload.networks.tensors import tensors
    from cdma.workload.timeline.gpus import GPUS

    found = []
    for name in NETWORKS:
        network = load_network(name)
        saved = sum(tensor.size for tensor in tensors(network).tensors.values() if tensor.saved)
        found.append({"name": name, "batch": network.batch, "input": network.input_shape, "dtype": network.dtype,
                      "params": network.params, "gflops": network.flops / 1e9, "activation_mb": saved / 1e6,
                      "about": network.about})
    return {"networks": found, "gpus": list(GPUS.values())}


def _outcome(call: argparse.Namespace, name: str, progress: Progress) -> tuple[dict[str, Any], Study]:
    """The step of a network as JSON has it, and its timelines."""
    from cdma.workload.timeline.gpus import gpu
    from cdma.workload.timeline.scenario import Scenario, build_engine, suiting_preset

    if (call.policy == "budget") != (call.budget is not None):
        raise ValueError("--policy budget and --budget GB belong together: give both, or neither")
    reached = efficiency_of(call)
    profile = profile_for(call.profile, call.gpu)
    link = call.link or gpu(call.gpu).link_reached
    preset = call.engine or suiting_preset(link)
    engine = build_engine(preset, call.clock, call.lanes, call.beat_bytes, call.share)
    scenario = Scenario(
        name, call.gpu, call.batch, call.policy, call.least, call.use, call.memory, link, engine,
        call.density, call.densities, reached, profile, call.schedule, look_ahead(call), call.dtype, call.compute,
        call.positions, budget=call.budget, shards=call.shards)
    done = scenario.study(progress)
    network, device = done.plan.network, gpu(call.gpu)
    return {
        "network": network.name, "about": network.about, "batch": network.batch, "dtype": network.dtype,
        "compute": network.compute, "gpu": device.name, "gpu_name": device.about, "memory_gb": scenario.device_memory,
        "policy": call.policy, "link_gb_per_s": scenario.link_reached,
        "times": times_text(scenario, call.profile, reached),
        "densities": densities_text(scenario, done.plan, done.fillings),
        "engine": {"preset": preset, "lanes": engine.lanes, "beat_bytes": engine.beat_bytes,
                   "link_beat_bytes": engine.link_beat_bytes, "clock_mhz": call.clock,
                   "lane_gb_per_s": engine.lane_bandwidth / 1e9,
                   "link_port_gb_per_s": engine.link_port_bandwidth / 1e9, "share": _share_text(call.share)},
        **done.summary(), "schedule": schedule_text(call.schedule, done), "shards": call.shards}, done


def _share_text(share: float | str | None) -> str:
    """The source of the engine's share of its limit, in words."""
    if share is None:
        return "measured cycles"
    return f"measured cycles of {Path(share).name}" if isinstance(share, str) else f"{share:g} of its limit"


def _paper(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """Steps of the paper's networks, and its figures beside ours."""
    from cdma.workload.networks.catalog import PAPER
    from cdma.workload.results.paper import beside, headline
    from cdma.workload.timeline.gpus import gpu

    for option in ("densities", "profile", "plot", "batch", "positions"):
        if getattr(call, option) is not None:
            raise ValueError(f"--{option} is for one network: name it instead of --paper")
    networks, studies = [], []
    for done, name in enumerate(PAPER):
        progress("networks", done, len(PAPER))
        outcome, study = _outcome(call, name, progress)
        networks.append(outcome)
        studies.append(study)
    return {"gpu": call.gpu, "gpu_name": gpu(call.gpu).about, "policy": call.policy,
            "link_gb_per_s": networks[0]["link_gb_per_s"], "networks": networks,
            "beside": beside(headline(studies), call.gpu)}


def _share_or_file(text: str) -> float | str:
    if text.endswith(".json"):
        return text
    return number(text, "a number above 0 and at most 1, or a .json file", lambda value: 0 < value <= 1)


_NUMBERED = re.compile(r"(.*?)(\d+)(/.*)")
_NAMES = 3  # offloaded tensors that a row names
_COMPUTE = ("float32", "tf32", "bfloat16", "float16", "float8")


def timeline_text(outcome: Mapping[str, Any]) -> str:
    """The answer in words, the rows of a network, then its layers."""
    rows = Table([Column("row", "row"), Column("forward ms", "forward_ms", ".2f"),
                  Column("backward ms", "backward_ms", ".2f"), Column("stall ms", "stall_ms", ".2f"),
                  Column("step ms", "step_ms", ".2f"), Column("speed-up", "speedup", ".3f"),
                  Column("ratio", "ratio", ".2f"), Column("swapped MB", lambda row: row["moved_bytes"] / 1e6, ".1f"),
                  Column("device GB", lambda row: row["memory_bytes"] / 1e9, ".2f")], outcome["rows"])
    layers = alike_blocks(outcome["layers"])
    stalls = Table([Column("layer", "layer"), Column("forward ms", "forward_ms", ".2f"),
                    Column("backward ms", "backward_ms", ".2f"),
                    Column("offloads", lambda layer: offloads_text(layer["offloads"])),
                    Column("MB", lambda layer: layer["offload_bytes"] / 1e6 if layer["offloads"] else None, ".1f"),
                    *(Column(row["row"], lambda layer, name=row["row"]: sum(layer["stall_ms"][name].values()), ".2f")
                      for row in outcome["rows"][1:])], layers)
    blocks = "; rows of several blocks have the times of one, and mean stalls" * (
        len(layers) < len(outcome["layers"]))
    engine = outcome["engine"]
    return _answer(outcome) + (
        "{network} ({about}), batch {batch}, {types}, on {gpu_name};\n{times}; policy {policy}: {swapped_tensors} "
        "tensors, density {swapped_density:.3f} ({densities});\nlink {link_gb_per_s:g} GB/s; engine {engine[preset]}: "
        "{lanes}, a link port of {engine[link_beat_bytes]}, at {engine[clock_mhz]:g} MHz; {engine[share]};\n"
        "{schedule}:\n\n".format(types=_types(outcome), lanes=lanes_text(engine["lanes"], engine["beat_bytes"]),
                                 **outcome)
        + rows.text() + _too_large(outcome)
        + f"\n\nStalls of both passes in ms; the device has {outcome['memory_gb']:g} GB{blocks}:\n\n{stalls.text()}")


def _answer(outcome: Mapping[str, Any]) -> str:
    """What swapping costs, and what the engine brings back, in a sentence."""
    steps = {row["row"]: row["step_ms"] for row in outcome["rows"]}
    best = min(("zvc", "exponents"), key=steps.__getitem__)
    plain, engine, gain = (steps["vdnn"] / steps["oracle"], steps[best] / steps["oracle"],
                           100 * (steps["vdnn"] / steps[best] - 1))
    if not any(row["moved_bytes"] for row in outcome["rows"]):
        return "Nothing is swapped: the step needs no engine.\n\n"
    if plain < 1.005:
        return "Plain swapping hides behind computing and costs nothing here: an engine has nothing to gain.\n\n"
    coding = {"zvc": "zero-value coding", "exponents": "exponents"}[best]
    if gain < 0.5:
        return f"Plain swapping makes the step {plain:.3f} times as long; the engine gains nothing ({gain:.0f} %).\n\n"
    return (f"Plain swapping makes the step {plain:.3f} times as long; with the engine and {coding} it is {engine:.3f} "
            f"times: {gain:.0f} % faster.\n\n")


def _too_large(outcome: Mapping[str, Any]) -> str:
    """The rows that do not fit the device, in a line; empty if all do."""
    rows = {row["row"]: row["memory_bytes"] / 1e9 for row in outcome["rows"] if not row["fits"]}
    named = ", ".join(f"{name} ({size:.1f})" for name, size in rows.items())
    help_ = "" if "vdnn" not in rows else ": fewer samples, or weights on several GPUs (--shards), need less"
    return f"\n\nDoes not fit the {outcome['memory_gb']:g} GB of the device: {named}{help_}" if rows else ""


def paper_text(outcome: Mapping[str, Any]) -> str:
    """The six networks of the paper, and its headline figures beside ours."""
    steps, coded = ("oracle", "vdnn", "zvc", "exponents", "rle", "zlib"), ("zvc", "exponents", "rle", "zlib")
    networks = Table([
        Column("network", "network"), Column("batch", "batch"), Column("density", "swapped_density", ".3f"),
        *(Column(f"{name} ms", f"{name}.step_ms", ".1f") for name in steps),
        *(Column(f"{name} x", f"{name}.speedup", ".2f") for name in coded), Column("zvc ratio", "zvc.ratio", ".2f")],
        [{**entry, **{row["row"]: row for row in entry["rows"]}} for entry in outcome["networks"]])
    beside = Table([Column("figure, zvc", "figure"), Column("here", "here"), Column("Rhu et al.", "paper", left=False)],
                   outcome["beside"])
    return (f"Training steps on {outcome['gpu_name']}, policy {outcome['policy']}, link "
            f"{outcome['link_gb_per_s']:g} GB/s; {outcome['networks'][0]['schedule']}; x is the speed-up over "
            f"vdnn:\n\n{networks.text()}\n\n{beside.text()}")


def lists_text(lists: Mapping[str, Any]) -> str:
    """The networks and GPUs that can be named."""
    networks = Table([
        Column("network", "name"), Column("batch", "batch"),
        Column("input", lambda entry: "x".join(map(str, entry["input"])), left=False), Column("type", "dtype"),
        Column("parameters", "params", ","), Column("GFLOP/sample", "gflops", ".2f"),
        Column("saved MB", "activation_mb", ".1f"), Column("source", "about")], lists["networks"])
    gpus = Table([
        Column("gpu", "name"), Column("in full", "about"),
        *(Column(name, lambda entry, of=name: entry.peaks.get(of), "g") for name in _COMPUTE),
        Column("GB/s", "bandwidth", "g"), Column("GB", "memory", "g"), Column("link", "link"),
        Column("GB/s", "link_bandwidth", "g"), Column("source", "source")], lists["gpus"])
    return (f"{networks.text()}\n\nPeaks in TFLOP/s by the type of products, without sparsity; the link in one "
            f"direction:\n\n{gpus.text()}")


def alike_blocks(layers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The layers, those of successive blocks that compute and offload alike once.

    Their name says which blocks they are: ``block2..31/norm1``. Stalls are the mean of these blocks.
    """
    runs: list[list[Mapping[str, Any]]] = []
    last: dict[tuple[object, ...], tuple[int, list[Mapping[str, Any]]]] = {}
    for layer in layers:
        found = _NUMBERED.match(layer["layer"])
        number = int(found[2]) if found else 0
        # Sums of floating-point numbers differ behind five digits.
        alike = (*(found.group(1, 3) if found else [layer["layer"]]), f"{layer['forward_ms']:.5g}",
                 f"{layer['backward_ms']:.5g}", layer["offload_bytes"],
                 *(_NUMBERED.sub(r"\1/\3", name) for name in layer["offloads"]))
        before, run = last.get(alike, (0, []))
        if not run or number != before + 1:
            runs.append(run := [])
        run.append(layer)
        last[alike] = number, run
    return [_mean(run) for run in runs]


def _mean(run: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Alike layers as one."""
    first, last = run[0], run[-1]
    stalls = {row: {way: sum(layer["stall_ms"][row].get(way, 0.0) for layer in run) / len(run) for way in ways}
              for row, ways in first["stall_ms"].items()}
    return {**first, "layer": _range(first["layer"], last["layer"]), "stall_ms": stalls,
            "offloads": list(map(_range, first["offloads"], last["offloads"]))}


def _range(first: str, last: str) -> str:
    """Names that differ in the number of their block, as one."""
    found, end = _NUMBERED.match(first), _NUMBERED.match(last)
    return first if first == last or not found or not end else f"{found[1]}{found[2]}..{end[2]}{found[3]}"


def offloads_text(names: Sequence[str]) -> str:
    """The first names, and how many more there are: a layer of a captured network may offload dozens."""
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + f" and {more} more" * (more > 0)


def _types(outcome: Mapping[str, Any]) -> str:
    """The type of values, and that of products where it is not the same."""
    dtype, compute = outcome["dtype"], outcome["compute"]
    alike = compute == dtype or (dtype.startswith("float8") and compute == "float8")
    return dtype if alike else f"{dtype} computed in {compute}"
