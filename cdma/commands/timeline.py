"""``cdma timeline``: the cost of swapping in a training step, and the gain of compression."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.networks import compute_options, efficiency_of, size_options
from cdma.console.numbers import amount, number, positive, share
from cdma.console.options import add_command, json_option, whole_number
from cdma.console.output import print_json
from cdma.console.pictures import picture_file
from cdma.console.profiles import densities_text, profile_for, times_text
from cdma.console.progress import Progress
from cdma.console.schedules import look_ahead, schedule_options, schedule_text
from cdma.hdl.config.files import write_file
from cdma.report.plots.drawing import require_extra
from cdma.report.timeline_text import lists_text, paper_text, timeline_text

if TYPE_CHECKING:
    from cdma.measure.timelines import PaperOutcome, TimelineOutcome
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
  cdma timeline vgg16 --gpu v100 --policy conv --density 0.5 --gantt vgg16.svg
  cdma timeline squeezenet --densities dump.npz --json | jq '.rows[].step_ms'
  cdma timeline mine.json --profile mine_times.json       a network and times of yours
  cdma timeline captured --gpu h100                       a network as cdma capture saw it train
  cdma timeline vgg16 --policy lms --least-kb 1024 --use 0.3
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
    parser.add_argument("--gpu", default="titan-x", metavar="NAME", help="GPU (default: titan-x)")
    size_options(parser)
    parser.add_argument("--dtype", metavar="TYPE", help="type of the network's values: float32, bfloat16, float16, "
                        "float8_e4m3 or float8_e5m2 (default: the network's own)")
    parser.add_argument("--policy", choices=("all", "conv", "dynamic", "lms", "budget"), default="all",
                        help="what is swapped; all: tensors that backward needs; conv: tensors that convolutions read; "
                        "dynamic: none, conv or all, the first that fits the device; lms: by size; budget: the "
                        "largest, up to --budget (default: all)")
    parser.add_argument("--least-kb", type=amount, default=1024, metavar="KB", help="lms: smallest tensor that is "
                        "swapped, in 1024 bytes (default: 1024)")
    parser.add_argument("--use", type=share, default=0.5, metavar="SHARE", help="lms: share of the device's memory in "
                        "use from which tensors are swapped (default: 0.5)")
    parser.add_argument("--budget", type=positive, metavar="GB", help="budget: most that is swapped, as torchtitan's "
                        "cpu_offload_budget_gb")
    parser.add_argument("--shards", type=_count, default=1, metavar="N", help="GPUs that share the weights, their "
                        "gradients and the optimizer's state, as with FSDP (default: 1)")
    parser.add_argument("--memory", type=positive, metavar="GB", help="memory of the device (default: the GPU's)")
    parser.add_argument("--link", type=positive, metavar="GB/s", help="bandwidth of the link (default: 80 %% of the "
                        "rate of the GPU's own, as the paper measured on PCIe 3 x16: 12.8)")
    parser.add_argument("--engine", metavar="PRESET", help="engine whose dimensions and measured "
                        "cycles are used: default, paper, tiny or wide (default: paper, six lanes of 32 bytes; wide "
                        "for links of more than 32 GB/s)")
    parser.add_argument("--lanes", type=_count, metavar="N", help="lanes of the engine (default: the preset's)")
    parser.add_argument("--beat-bytes", type=int, choices=(16, 32, 64), help="bytes of a lane's beat (default: the "
                        "preset's)")
    parser.add_argument("--clock", type=positive, default=1000.0, metavar="MHZ", help="clock of the engine (default: "
                        "1000)")
    parser.add_argument("--share", type=_share_or_file, metavar="X|FILE.json", help="share of its limit that the "
                        "engine reaches: a number above 0 and at most 1, or figures of cdma bench (default: the "
                        "measured cycles of the preset)")
    parser.add_argument("--density", type=share, metavar="X", help="density of all tensors after a ReLU, 0 to 1")
    parser.add_argument("--densities", metavar="FILE", help="dump to measure, or .json with densities, by tensor")
    compute_options(parser)
    parser.add_argument("--profile", metavar="FILE.json", help="times of every layer instead of the roofline: "
                        '{"conv1": {"forward_ms": 1.5, "backward_ms": 3.1}, ...}')
    schedule_options(parser)
    parser.add_argument("--gantt", type=picture_file, metavar="FILE.svg", help="write the timelines as a picture")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Model the step and print rows and layers."""
    if (call.network is not None) + call.list + call.paper != 1:
        raise ValueError("give one of a network, --paper and --list (cdma timeline --list names the networks)")
    if call.list:
        from cdma.measure.timelines import lists

        named = lists()
        print_json(named) if call.json else print(lists_text(named))
        return 0
    if call.gantt:
        require_extra()
    with Progress() as progress:
        if call.paper:
            outcome = _paper(call, progress)
            text = paper_text(outcome)
        else:
            outcome, done = _outcome(call, call.network, progress)
            text = timeline_text(outcome)
            if call.gantt:
                from cdma.report.plots.gantt import gantt

                title = f"{outcome.network}, batch {outcome.batch}, {outcome.gpu_name}, policy {call.policy}"
                write_file(call.gantt, gantt(done.rows, title))
    if call.json:
        print_json(outcome)
    else:
        print(text)
        if call.gantt:
            print(f"\npicture: {call.gantt}")
    return 0


def _outcome(call: argparse.Namespace, name: str, progress: Progress) -> tuple[TimelineOutcome, Study]:
    from cdma.measure.timelines import EngineInputs, TimelineOutcome
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
        name, call.gpu, call.batch, call.policy, round(call.least_kb * 1024), call.use, call.memory, link, engine,
        call.density, call.densities, reached, profile, call.schedule, look_ahead(call), call.dtype, call.compute,
        call.positions, budget=call.budget, shards=call.shards)
    done = scenario.study(progress)
    network, device = done.plan.network, gpu(call.gpu)
    inputs = EngineInputs(preset, engine.lanes, engine.beat_bytes, engine.link_beat_bytes, call.clock,
                          engine.lane_bandwidth / 1e9, engine.link_port_bandwidth / 1e9, _share_text(call.share))
    return TimelineOutcome(network.name, network.about, network.batch, network.dtype, network.compute, device.name,
                           device.about, scenario.device_memory, call.policy, scenario.link_reached,
                           times_text(scenario, call.profile, reached),
                           densities_text(scenario, done.plan, done.fillings), inputs, done.summary(),
                           schedule_text(call.schedule, done), call.shards), done


def _share_text(share: float | str | None) -> str:
    """The source of the engine's share of its limit, in words."""
    if share is None:
        return "measured cycles"
    return f"measured cycles of {Path(share).name}" if isinstance(share, str) else f"{share:g} of its limit"


def _paper(call: argparse.Namespace, progress: Progress) -> PaperOutcome:
    from cdma.measure.timelines import PaperOutcome
    from cdma.workload.networks.catalog import PAPER
    from cdma.workload.results.paper import beside, headline
    from cdma.workload.timeline.gpus import gpu

    for option in ("densities", "profile", "gantt", "batch", "positions"):
        if getattr(call, option) is not None:
            raise ValueError(f"--{option} is for one network: name it instead of --paper")
    networks, studies = [], []
    for done, name in enumerate(PAPER):
        progress("networks", done, len(PAPER))
        outcome, study = _outcome(call, name, progress)
        networks.append(outcome)
        studies.append(study)
    return PaperOutcome(call.gpu, gpu(call.gpu).about, call.policy, networks[0].link_gb_per_s, tuple(networks),
                        beside(headline(studies), call.gpu))


def _share_or_file(text: str) -> float | str:
    if text.endswith(".json"):
        return text
    return number(text, "a number above 0 and at most 1, or a .json file", lambda value: 0 < value <= 1)


def _count(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError("must be a whole number of 1 or more, not 0")
    return number
