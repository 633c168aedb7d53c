"""``cdma timeline``: what swapping costs a training step, and what compressing gains."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.options import add_command, json_option, whole_number
from cdma.output import print_json
from cdma.progress import Progress
from cdma.timeline_output import lists_text, paper_text, timeline_text

if TYPE_CHECKING:
    from workload.gpus import Gpu
    from workload.study import Study

_DESCRIPTION = """\
Model one training step of a network whose activations are swapped to host memory, as vDNN does and Rhu et al. on top
of it: a layer's input is offloaded while the layer computes, and prefetched in backward while the layer behind it
computes; what does not fit behind the computing stalls. Rows: oracle (nothing is swapped), vdnn (swapped as it is), and
the engine with zero-value coding (zvc), run-length coding (rle) and zlib.

Times come from a roofline of the GPU or from a profile of yours; densities and ratios from a dump or file of yours, or
from a table: one average for all networks but SqueezeNet. docs/timeline.md has the model and its assumptions."""

_EXAMPLES = """\
  cdma timeline --list                                    networks and GPUs
  cdma timeline alexnet                                   on a Titan X, densities of the table
  cdma timeline vgg16 --gpu v100 --policy conv --density 0.5 --gantt vgg16.svg
  cdma timeline squeezenet --densities dump.npz --json | jq '.rows[].step_ms'
  cdma timeline mine.json --profile mine_times.json       a network and times of yours
  cdma timeline vgg16 --policy lms --least-kb 1024 --use 0.3
  cdma timeline --paper                                   the paper's six networks beside its figures"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "timeline", "model a training step that swaps its activations", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("network", nargs="?", metavar="NETWORK|FILE.json", help="network (see --list) or a file with "
                        "one of yours")
    parser.add_argument("--list", action="store_true", help="list networks and GPUs")
    parser.add_argument("--paper", action="store_true", help="the six networks of the paper beside its figures")
    parser.add_argument("--gpu", default="titan-x", metavar="NAME", help="GPU (default: titan-x)")
    parser.add_argument("--batch", type=whole_number, metavar="N",
                        help="samples of a step (default: the network's own)")
    parser.add_argument("--policy", choices=("all", "conv", "dynamic", "lms"), default="all",
                        help="what is swapped: all that backward needs, what convolutions read, as little of none, "
                        "conv and all as the device allows, or by size (default: all)")
    parser.add_argument("--least-kb", type=_amount, default=1024, metavar="KB", help="lms: smallest tensor that is "
                        "swapped, in 1024 bytes (default: 1024)")
    parser.add_argument("--use", type=_share, default=0.5, metavar="SHARE", help="lms: share of the device's memory in "
                        "use from which tensors are swapped (default: 0.5)")
    parser.add_argument("--memory", type=_positive, metavar="GB", help="memory of the device (default: the GPU's)")
    parser.add_argument("--link", type=_positive, default=12.8, metavar="GB/s", help="bandwidth of the link (default: "
                        "12.8, what the paper gets from PCIe 3 x16)")
    parser.add_argument("--lanes", type=_count, default=6, metavar="N", help="lanes of the engine (default: 6, the "
                        "paper's memory controllers)")
    parser.add_argument("--beat-bytes", type=int, choices=(16, 32, 64), default=32, help="bytes of a lane's transfer "
                        "(default: 32)")
    parser.add_argument("--clock", type=_positive, default=1000.0, metavar="MHZ", help="clock of the engine (default: "
                        "1000)")
    parser.add_argument("--measured", metavar="FILE", help="figures of cdma bench: the engine's measured share of its "
                        "limit (default: 0.99, what it is designed to reach)")
    parser.add_argument("--density", type=_share, metavar="X", help="density of all tensors behind a ReLU, 0 to 1")
    parser.add_argument("--densities", metavar="FILE", help="dump to measure, or .json with densities, by tensor")
    parser.add_argument("--efficiency", type=_share, metavar="X", help="share of the GPU's peak that convolutions "
                        "reach (default: 0.5)")
    parser.add_argument("--profile", metavar="FILE.json", help="times of every layer instead of the roofline: "
                        '{"conv1": {"forward_ms": 1.5, "backward_ms": 3.1}, ...}')
    parser.add_argument("--gantt", metavar="FILE.svg", help="write the timelines as a picture")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Model the step and print rows and layers."""
    if (call.network is not None) + call.list + call.paper != 1:
        raise ValueError("give one of a network, --paper and --list (cdma timeline --list names the networks)")
    if call.list:
        lists = _lists()
        print_json(lists) if call.json else print(lists_text(lists))
        return 0
    with Progress() as progress:
        if call.paper:
            outcome = _paper(call, progress)
        else:
            outcome, done = _outcome(call, call.network, progress)
            if call.gantt:
                from workload.gantt import gantt

                title = f"{outcome['network']}, batch {outcome['batch']}, {outcome['gpu_name']}, policy {call.policy}"
                Path(call.gantt).write_text(gantt(done.rows, title), encoding="utf-8")
    if call.json:
        print_json(outcome)
    else:
        print(paper_text(outcome) if call.paper else timeline_text(outcome))
        if call.gantt:
            print(f"\npicture: {call.gantt}")
    return 0


def _outcome(call: argparse.Namespace, name: str, progress: Progress) -> tuple[dict[str, Any], Study]:
    from workload.compute import load_profile, profiled, roofline
    from workload.densities import default_fillings, fillings_from_file
    from workload.engine_share import DESIGN_SHARE, measured_shares
    from workload.gpus import EFFICIENCY, gpu
    from workload.networks.catalog import load_network
    from workload.networks.tensors import tensors
    from workload.study import study
    from workload.swapping import swapped
    from workload.timeline import Engine

    if call.profile and call.efficiency is not None:
        raise ValueError("--profile has times already: leave --efficiency out")
    device, plan = gpu(call.gpu), tensors(load_network(name, call.batch))
    efficiency = EFFICIENCY if call.efficiency is None else call.efficiency
    compute = profiled(plan, load_profile(call.profile)) if call.profile else roofline(plan, device, efficiency)
    fillings = fillings_from_file(call.densities, plan, call.density) if call.densities else \
        default_fillings(plan, call.density)
    memory = device.memory if call.memory is None else call.memory
    chosen = swapped(plan, call.policy, memory * 1e9, round(call.least_kb * 1024), call.use)
    share = measured_shares(call.measured, {key: filling.density for key, filling in fillings.items()},
                            call.lanes) \
        if call.measured else DESIGN_SHARE
    engine = Engine(call.lanes, call.beat_bytes, call.clock, share)
    done = study(plan, compute, device, chosen, fillings, engine, call.link * 1e9, progress)
    return {
        "network": plan.network.name, "about": plan.network.about, "batch": plan.network.batch, "gpu": device.name,
        "gpu_name": device.about, "memory_gb": memory, "policy": call.policy, "link_gb_per_s": call.link,
        "times": f"times from {Path(call.profile).name}" if call.profile else
        f"times from its roofline at {efficiency:g} of the peak",
        "densities": _densities(call, plan.network.name),
        "engine": {"lanes": call.lanes, "beat_bytes": call.beat_bytes, "clock_mhz": call.clock,
                   "lane_gb_per_s": engine.lane_bandwidth / 1e9, "measured": bool(call.measured),
                   "share": None if call.measured else share},
        **done.as_dict()}, done


def _densities(call: argparse.Namespace, network: str) -> str:
    """Where the densities come from, in words."""
    rest = f"{call.density:g} behind every ReLU" if call.density is not None else \
        "the table's: measured on the shipped dump" if network == "squeezenet" else \
        "the table's: 0.38 behind every ReLU"
    return f"{Path(call.densities).name}, else {rest}" if call.densities else rest


def _paper(call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from workload.gpus import gpu
    from workload.networks.catalog import PAPER
    from workload.paper import beside

    for option in ("densities", "profile", "gantt", "batch"):
        if getattr(call, option) is not None:
            raise ValueError(f"--{option} is for one network: name it instead of --paper")
    networks = []
    for number, name in enumerate(PAPER):
        progress("networks", number, len(PAPER))
        networks.append(_outcome(call, name, progress)[0])
    return {"gpu": call.gpu, "gpu_name": gpu(call.gpu).about, "policy": call.policy, "link_gb_per_s": call.link,
            "networks": networks, "beside": beside(networks, call.gpu)}


def _lists() -> dict[str, Any]:
    from workload.gpus import GPUS
    from workload.networks.catalog import NETWORKS, load_network
    from workload.networks.tensors import tensors

    def one(name: str) -> dict[str, Any]:
        network = load_network(name)
        saved = sum(tensor.size for tensor in tensors(network).tensors.values() if tensor.saved)
        return {"name": name, "batch": network.batch, "params": network.params, "gflops": network.flops / 1e9,
                "activation_mb": saved / 1e6, "about": network.about}

    def processor(entry: Gpu) -> dict[str, Any]:
        return {"name": entry.name, "about": entry.about, "tflops": entry.tflops, "bandwidth": entry.bandwidth,
                "memory": entry.memory}

    return {"networks": [one(name) for name in NETWORKS], "gpus": [processor(entry) for entry in GPUS.values()]}


def _number(text: str, what: str, allowed: Any) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not allowed(number):
        raise argparse.ArgumentTypeError(f"must be {what}, not {text!r}")
    return number


def _positive(text: str) -> float:
    return _number(text, "a number above 0", lambda number: 0 < number < float("inf"))


def _amount(text: str) -> float:
    return _number(text, "a number of 0 or more", lambda number: 0 <= number < float("inf"))


def _share(text: str) -> float:
    return _number(text, "a number from 0 to 1", lambda number: 0 <= number <= 1)


def _count(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError("must be a whole number of 1 or more, not 0")
    return number
