"""The configuration of an engine as the golden model takes it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Parameters
from cdma.hdl.config.engine import EngineConfig

__all__ = ["parameters"]


def parameters(config: EngineConfig) -> Parameters:
    """The parameters of the model of this engine."""
    values: dict[str, Any] = {each.name: getattr(config, each.name) for each in fields(Parameters)}
    values["codings"] = tuple(map(Coding, config.numbers))
    return Parameters(**values)
