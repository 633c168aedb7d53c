"""What the golden model knows of a configuration of an engine."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Parameters
from cdma.hdl.config.engine import EngineConfig

__all__ = ["golden_parameters"]


def golden_parameters(config: EngineConfig) -> Parameters:
    """The parameters of the golden model that stand for a configuration."""
    values: dict[str, Any] = {field.name: getattr(config, field.name) for field in fields(Parameters)}
    values["codings"] = tuple(map(Coding, config.numbers))
    return Parameters(**values)
