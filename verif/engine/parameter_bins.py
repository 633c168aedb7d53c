"""Which values of an engine's parameters count as covered: the bins of the options of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cdma.hdl.config.engine import EngineConfig

__all__ = ["PARAMETERS", "parameter_bin"]

_CHOSEN: dict[str, tuple[str, ...]] = {
    "lanes": ("1", "2 or 3", "4 or more"),
    "beat_bytes": ("16", "32", "64"),
    "link_beat_bytes": ("16", "32", "64"),
    "block_bytes": ("512", "1024 or more"),
    "buffer_bytes": ("least", "more"),
    "address_bits": ("32", "33 to 63", "64"),
    "outstanding_reads": ("1", "2 or more"),
    "link_read_ids": ("1", "2 or more"),
    "burst_beats": ("16", "32 to 128", "256"),
    "transfers_in_flight": ("1", "2 to 8", "9 or more"),
    "queue_depth": ("8", "16 or more"),
}

PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(_CHOSEN | {
    name: (str(field.default), "other") if type(field.default) is int
    else tuple(str(choice).lower() for choice in field.metadata["choices"])
    for name, field in EngineConfig.fields().items() if field.metadata["choices"] and name not in _CHOSEN})
"""By parameter, the values or kinds of values that are covered: each word and both values of a switch, the default of a
number and any other one, unless they are chosen above."""


def parameter_bin(config: EngineConfig, name: str) -> str:
    """The bin that a configuration's value of a parameter is in."""
    value = getattr(config, name)
    if name == "buffer_bytes":
        return "least" if value - config.link_beat_bytes < config.block_bytes * 5 // 4 else "more"
    shown = str(value).lower()
    if shown in PARAMETERS[name]:
        return shown
    for each in PARAMETERS[name]:
        numbers = [int(word) for word in each.split() if word.isdecimal()]
        if each == "other" or (each.endswith("or more") and value >= numbers[0]) or (
                " or " in each and value in numbers) or (" to " in each and numbers[0] <= value <= numbers[-1]):
            return each
    raise ValueError(f"{name} of {value} has no bin in the coverage plan: it has {', '.join(PARAMETERS[name])}; add "
                     "one in verif/engine/parameter_bins.py")
