"""Layer and step of training, read from the names of a dump's arrays."""

from __future__ import annotations

import re

__all__ = ["step_text", "titled_step", "training_step"]

_STEP = re.compile(r"(?P<unit>p|step|epoch)(?P<step>\d+)(?:/(?P<layer>.+))?")
_PERCENT = "% of training"
_UNITS = {"p": _PERCENT, "step": "step", "epoch": "epoch"}


def training_step(name: str, prefix: str = "") -> tuple[str, int | None, str | None]:
    """Layer, step and unit of the step; the latter two None where neither name nor prefix has a step.

    Parameters
    ----------
    name
        Of the array: ``p020/conv1`` is at 20 % of the training, ``step100/...`` and ``epoch3/...`` have the
        step and epoch.
    prefix
        What stands before the name where there are several dumps; it may have the step instead.
    """
    step = _STEP.fullmatch(name)
    if step and step["layer"]:
        layer = f"{prefix}:{step['layer']}" if prefix else step["layer"]
    else:
        step = _STEP.fullmatch(prefix)
        layer = name if step else f"{prefix}:{name}" if prefix else name
    return (layer, int(step["step"]), _UNITS[step["unit"]]) if step else (layer, None, None)


def titled_step(title: str) -> tuple[str, int | None, str | None]:
    """The same of a name that may have the dump's before it: ``run:p020/conv1``, ``epoch3:conv1``."""
    prefix, colon, name = title.rpartition(":")
    return training_step(name if colon else title, prefix)


def step_text(unit: str | None, number: int | None) -> str:
    """What a step is called: ``20 %``, ``step 100``."""
    return f"{number} %" if unit == _PERCENT else f"{unit} {number}"
