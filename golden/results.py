"""Results as JSON: what every package does with the frozen dataclasses that its measurements give.

It lies in the lowest package and imports nothing of the project, so that all may import it; ``hdl`` measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["HIDDEN", "INLINED", "derived", "to_json"]

_HOW = "json"

INLINED = MappingProxyType({_HOW: "inlined"})
"""Metadata of a field that is a result itself, whose content JSON has in place of the field."""

HIDDEN = MappingProxyType({_HOW: "hidden"})
"""Metadata of a field that JSON does not have."""


class derived(property):  # noqa: N801 - a decorator, as property is
    """A property that JSON has as well: after the fields, in the order in which the class defines them."""


def to_json(value: Any) -> Any:
    """Plain values of a result, ready for :func:`json.dumps`.

    Dataclasses become objects: their fields, then their :class:`derived` properties. Mappings stay objects, sequences
    become arrays, enumerations their values, paths text, and NumPy's numbers and arrays plain numbers and arrays.

    Raises
    ------
    TypeError
        If there is anything else in it.
    """
    if isinstance(value, Enum):
        return to_json(value.value)
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value)
    raise TypeError(f"a result must be made of dataclasses and plain values, not of {type(value).__name__}")


def _object(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in fields(value):
        how = entry.metadata.get(_HOW)
        if how == "inlined":
            found |= to_json(getattr(value, entry.name))
        elif how != "hidden":
            found[entry.name] = to_json(getattr(value, entry.name))
    names = {name: None for kind in reversed(type(value).__mro__) for name, member in vars(kind).items()
             if isinstance(member, derived)}
    return found | {name: to_json(getattr(value, name)) for name in names}
