"""Where times and densities of a scenario come from, in words, and ``--profile``: it warns of
times of another kind of device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.console.errors import warn

if TYPE_CHECKING:
    from cdma.workload.networks.tensors import Tensors
    from cdma.workload.timeline.efficiency import Efficiency
    from cdma.workload.timeline.profiles import Profile
    from cdma.workload.timeline.ratios import Filling
    from cdma.workload.timeline.scenario import Scenario

__all__ = ["densities_text", "profile_for", "times_text"]


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
