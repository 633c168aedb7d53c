"""``--profile``: the times of a file, with a warning where they are those of another kind of device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.console.errors import warn

if TYPE_CHECKING:
    from workload.timeline.profiles import Profile

__all__ = ["profile_for"]


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
