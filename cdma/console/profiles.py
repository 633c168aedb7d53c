"""``--profile``: the times of a file, with a warning where they are those of another kind of device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.console.errors import warn

if TYPE_CHECKING:
    from workload.timeline.profiles import Profile
    from workload.timeline.scenario import Scenario

__all__ = ["captured_times", "profile_for"]


def captured_times(scenario: Scenario, roofline: str) -> str:
    """Where the times of a captured network come from, in words: from the capture, or from the roofline and why."""
    from workload.timeline.profiles import captured_profile

    own = captured_profile(scenario.captured) if scenario.captured is not None else None
    if scenario.times is not None:
        return f"times from the capture, measured on {scenario.times.measured_on}"
    why = "the capture has no times" if own is None else f"those of the capture are of {own.measured_on}"
    return f"times from its roofline at {roofline} ({why})"


def profile_for(path: str | None, gpu_name: str) -> Profile | None:
    """The profile in a file, None where none is given; warns if it was measured on a CPU.

    Parameters
    ----------
    path
        Of the file.
    gpu_name
        The GPU that is modelled with it, see :data:`workload.timeline.gpus.GPUS`.

    Raises
    ------
    ValueError
        If the file cannot be read, or there is no such GPU.
    """
    from workload.timeline.gpus import gpu
    from workload.timeline.profiles import load_profile

    if path is None:
        return None
    profile, device = load_profile(path), gpu(gpu_name)
    if profile.device == "cpu":
        warn(f"{path} was measured on a CPU, but the model is of a GPU, {device.about}: measure the times there, or "
             "leave --profile out")
    return profile
