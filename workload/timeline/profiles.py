"""Files with the times of a network's layers: measured by ``cdma capture --profile``, or written by hand.

A file written by hand needs only ``{"conv1": {"forward_ms": 1.5, "backward_ms": 3.1}, ...}``. A measured file names the
device too::

    {"format": "cdma-profile", "version": 1, "device": "cuda", "device_name": "NVIDIA H200", "layers": {"conv1": ...}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.workload.json_file import read_json
from cdma.workload.networks.captured import Captured
from cdma.workload.timeline.gpus import GPUS, Gpu

__all__ = ["Profile", "captured_profile", "load_profile", "profile_text"]

_FORMAT, _VERSION = "cdma-profile", 1


@dataclass(frozen=True)
class Profile:
    """Times of layers.

    Attributes
    ----------
    layers
        Seconds of forward and backward of a training step, by layer.
    device
        Type of the device of the measurement, as PyTorch names it: ``cpu``, ``cuda``; None if it is not in the file.
    device_name
        The maker's name of the device; None if it is not in the file.
    """

    layers: Mapping[str, tuple[float, float]]
    device: str | None = None
    device_name: str | None = None

    def suits(self, gpu: Gpu) -> bool:
        """Whether the times were measured on a GPU, by its name."""
        found = _plain(self.device_name or "")
        named = [name for name in GPUS if _plain(name) in found]
        return max(named, key=len, default=None) == gpu.name

    @property
    def measured_on(self) -> str | None:
        """The device in words; None if unknown."""
        return self.device_name or ("a CPU" if self.device == "cpu" else self.device)


def profile_text(layers: Mapping[str, Mapping[str, float]], device: str, device_name: str | None) -> str:
    """The content of the file of a measured profile; ``layers`` has ``forward_ms`` and ``backward_ms`` by layer."""
    return json.dumps({"format": _FORMAT, "version": _VERSION, "device": device, "device_name": device_name,
                       "layers": layers}, indent=1) + "\n"


def load_profile(path: str | Path) -> Profile:
    """The times in a file.

    Raises
    ------
    ValueError
        If the file cannot be read, or is neither a measured profile nor an object with the times of each layer.
    """
    content = read_json(path)
    if isinstance(content, dict) and content.get("format") == _FORMAT:
        if content.get("version") != _VERSION:
            raise ValueError(f"{path} is a profile of version {content.get('version')!r}, and {_VERSION} is known")
        device, name = content.get("device"), content.get("device_name")
        if not (isinstance(device, str) and isinstance(name, str | None)):
            raise ValueError(f"{path} must name the device that was measured: device, and device_name or null")
        return Profile(_layers(path, content.get("layers")), device, name)
    return Profile(_layers(path, content))


def captured_profile(captured: Captured) -> Profile | None:
    """The times that a captured network came with; None if they were not measured."""
    return None if captured.times is None else Profile(captured.times, captured.device, captured.device_name)


def _layers(path: str | Path, content: Any) -> dict[str, tuple[float, float]]:
    """Seconds by layer; ValueError if the content has another form."""
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{path} must have an object with the times of each layer, by name")
    times = {}
    for name, entry in content.items():
        keys = ("forward_ms", "backward_ms")
        both: list[Any] = [entry.get(key) for key in keys] if isinstance(entry, dict) else [None]
        if any(isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf")
               for value in both):
            raise ValueError(f"{path}: {name} must have forward_ms and backward_ms, numbers of 0 or more")
        times[name] = (both[0] / 1e3, both[1] / 1e3)
    return times


def _plain(name: str) -> str:
    """A name of a device without case, spaces and dashes."""
    return name.replace(" ", "").replace("-", "").lower()
