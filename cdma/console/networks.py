"""Options of the commands that model a network on a GPU with an engine before its link, and where times and densities
of a scenario come from, in words."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.errors import warn
from cdma.console.numbers import named, positive, share
from cdma.console.options import whole_number

if TYPE_CHECKING:
    from cdma.workload.networks.tensors import Tensors
    from cdma.workload.timeline.efficiency import Efficiency
    from cdma.workload.timeline.profiles import Profile
    from cdma.workload.timeline.queued import Ahead
    from cdma.workload.timeline.ratios import Filling
    from cdma.workload.timeline.scenario import Scenario
    from cdma.workload.timeline.study import Study

__all__ = ["ahead_option", "densities_text", "device_options", "efficiency_of", "look_ahead", "network_options",
           "profile_for", "schedule_text", "times_text"]

_AHEAD = re.compile(r"(\d+)blocks?|all", re.ASCII | re.IGNORECASE)


def device_options(parser: Any, gpu: str) -> None:
    """Add ``--gpu``, by default the one named, ``--memory``, ``--link``, ``--engine`` and ``--clock``."""
    parser.add_argument("--gpu", default=gpu, metavar="NAME", help=f"GPU (default: {gpu})")
    parser.add_argument("--memory", type=positive, metavar="GB", help="memory of the device (default: the GPU's)")
    parser.add_argument("--link", type=positive, metavar="GB/s", help="bandwidth of the link (default: 80 %% of the "
                        "rate of the GPU's own, as the paper measured on PCIe 3 x16: 12.8)")
    parser.add_argument("--engine", metavar="PRESET", help="engine whose dimensions and measured cycles are used: "
                        "engine, lean, paper, smallest, tiny or wide (default: paper, six lanes of 32 bytes; wide for "
                        "links of more than 32 GB/s)")
    parser.add_argument("--clock", type=positive, default=1000.0, metavar="MHZ", help="clock of the engine (default: "
                        "1000)")


def network_options(parser: Any, about: str = "") -> None:
    """Add the options of a network's size, densities and times; every help text begins with ``about``."""
    parser.add_argument("--batch", type=whole_number, metavar="N",
                        help=f"{about}samples of a step (default: the network's own)")
    parser.add_argument("--positions", type=whole_number, metavar="N",
                        help=f"{about}length of a sequence, of decoders (default: the network's own)")
    parser.add_argument("--density", type=share, metavar="X", help=f"{about}density of all tensors after a ReLU, 0 to "
                        "1")
    parser.add_argument("--densities", metavar="FILE", help=f"{about}dump to measure, or .json with densities, by "
                        "tensor")
    parser.add_argument("--compute", metavar="TYPE", help=f"{about}what matrix products are computed in: float32, "
                        "tf32, bfloat16, float16 or float8 (default: the type of values)")
    parser.add_argument("--efficiency", type=named(share), action="append", metavar="[KIND=]X", help=f"{about}share of "
                        "the GPU's peak that is reached: of convolutions and products, or of the KIND convolution, "
                        "product, attention or memory; may be repeated (default: 0.5, memory 1)")
    parser.add_argument("--profile", metavar="FILE.json", help=f"{about}times of every layer instead of the roofline: "
                        '{"conv1": {"forward_ms": 1.5, "backward_ms": 3.1}, ...}')


def ahead_option(parser: Any, where: str = "") -> None:
    """Add ``--ahead``."""
    parser.add_argument("--ahead", type=_ahead, metavar="Nblocks|all", help=f"{where}how far "
                        "transfers may be behind in forward, and in front in backward, for instance 2blocks; all: no "
                        "limit (default: as far as memory is free)")


def look_ahead(call: argparse.Namespace) -> Ahead | None:
    """The look-ahead of a call; None is as far as memory is free.

    Raises
    ------
    ValueError
        If one is given for a schedule without a queue.
    """
    from cdma.workload.timeline.queued import Ahead

    if call.ahead is None:
        return None
    if getattr(call, "schedule", "queue") != "queue":
        raise ValueError("--ahead is for a queue of transfers: give --schedule queue too, or leave it out")
    return Ahead(blocks=None if call.ahead == "all" else call.ahead)


def schedule_text(schedule: str, study: Study) -> str:
    """The schedule of a study, in words."""
    if schedule == "layer":
        return "each layer waits for the transfers beside it"
    return f"transfers have a queue, look-ahead {study.ahead}"


def efficiency_of(call: argparse.Namespace) -> Efficiency:
    """The efficiency that a call gives.

    Raises
    ------
    ValueError
        If it is not allowed, or the call also names a profile, which has times already.
    """
    from cdma.workload.timeline.efficiency import efficiency

    if call.profile and call.efficiency is not None:
        raise ValueError("--profile has times already: leave --efficiency out")
    return efficiency(call.efficiency or [])


def times_text(scenario: Scenario, profile: str | None, reached: Efficiency) -> str:
    """Where the times of a scenario come from, in words.

    Parameters
    ----------
    scenario
        The inputs.
    profile
        Path of the file that ``--profile`` gives.
    reached
        Shares of the GPU's peaks, of its roofline.
    """
    from cdma.workload.timeline.profiles import captured_profile

    if profile is not None and scenario.profile is not None:
        device = scenario.profile.measured_on
        return f"times from {Path(profile).name}{f', measured on {device}' * bool(device)}"
    roofline = f"times from its roofline at {reached.text()}"
    if scenario.captured is None:
        return roofline
    if scenario.times is not None:
        return f"times from the capture, measured on {scenario.times.measured_on}"
    own = captured_profile(scenario.captured)
    why = "the capture has no times" if own is None else f"those of the capture are of {own.measured_on}"
    return f"{roofline} ({why})"


def densities_text(scenario: Scenario, plan: Tensors, fillings: Mapping[str, Filling]) -> str:
    """Where the densities of a scenario's tensors come from, in words: of all sources, those that a tensor has."""
    from cdma.workload.timeline.densities import default_fillings, sources

    rest = f"{scenario.density:g} behind every ReLU" if scenario.density is not None else sources(plan)
    own = scenario.densities or (scenario.network if scenario.captured else None)
    if not own:
        return rest
    default = default_fillings(plan, scenario.density, scenario.drift)
    others = [tensor for name, tensor in plan.tensors.items() if fillings[name] == default[name]]
    if not others:
        return Path(own).name
    return f"{Path(own).name}, else {rest if any(tensor.sparse for tensor in others) else 'ratios by role and type'}"


def profile_for(path: str | None, gpu_name: str) -> Profile | None:
    """The profile in a file, None where none is given; warns if it was measured on a CPU.

    Parameters
    ----------
    path
        Of the file.
    gpu_name
        The GPU that is modelled with it, see :data:`cdma.workload.timeline.gpus.GPUS`.

    Raises
    ------
    ValueError
        If the file cannot be read, or there is no such GPU.
    """
    from cdma.workload.timeline.gpus import gpu
    from cdma.workload.timeline.profiles import load_profile

    if path is None:
        return None
    profile, device = load_profile(path), gpu(gpu_name)
    if profile.device == "cpu":
        warn(f"{path} was measured on a CPU, but the model is of a GPU, {device.about}: measure the times there, or "
             "leave --profile out")
    return profile


def _ahead(text: str) -> int | str:
    """A number of blocks, or ``all``, for argparse."""
    found = _AHEAD.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(f"must be a number of blocks, as 2blocks, or all, not {text!r}")
    return "all" if found[1] is None else int(found[1])
