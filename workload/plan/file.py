"""Plans as files: JSON with the engine, and for every tensor the descriptor's fields and the predicted figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdma.golden.codec.narrowing import NARROWED_CODINGS, WIDE_BYTES, Narrowing
from cdma.golden.results import INLINED, to_json
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.config.files import write_file
from cdma.workload.json_file import read_json
from cdma.workload.plan.choice import Plan
from cdma.workload.plan.codings import check_built, coding_of
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.treatments import Treatment, check_narrowing

__all__ = ["VERSION", "Entry", "PlanFile", "Predicted", "load_plan", "plan_file"]

VERSION = 2
_KIND = "cdma plan"


@dataclass(frozen=True)
class Predicted:
    """The prediction for a tensor: its bytes on the link, cycles, and the time that computing does not hide."""

    packed_bytes: int
    offload_cycles: int
    prefetch_cycles: int
    exposed_us: float


@dataclass(frozen=True)
class Entry:
    """The plan for a tensor: its size, its treatment by name and fields, and the prediction."""

    raw_bytes: int
    treatment: str
    how: Treatment = field(metadata=INLINED)
    predicted: Predicted


@dataclass(frozen=True)
class PlanFile:
    """The content of a plan's file.

    Parameters
    ----------
    source
        The dump or network it was made for.
    engine
        The engine.
    clock_mhz, link_gb_per_s
        Its clock, and the bandwidth of the link.
    latency
        Cycles until memories answer.
    tensors
        By name.
    """

    source: str
    engine: EngineConfig
    clock_mhz: float
    link_gb_per_s: float
    latency: int
    tensors: Mapping[str, Entry]

    @property
    def link_share(self) -> float:
        """Bandwidth of the link as a share of that of the engine's port to it."""
        return min(1.0, self.link_gb_per_s * 1e3 / self.clock_mhz / self.engine.link_beat_bytes)

    def write(self, path: str | Path) -> None:
        """Write the file."""
        content = {"kind": _KIND, "version": VERSION} | to_json(self)
        write_file(path, json.dumps(content, indent=1) + "\n")

    def check(self, engine: EngineConfig, raw_bytes: Mapping[str, int]) -> None:
        """Check that the plan is for this engine and has these tensors, whose bytes are given by name.

        Raises
        ------
        ValueError
            If the plan is for another engine, or a tensor is missing or has another size.
        """
        mine, other = self.engine.as_dict(), engine.as_dict()
        differing = [name for name in mine if mine[name] != other[name]]
        if differing:
            name = differing[0]
            raise ValueError(f"the plan is for {self.engine.name} with {name} {mine[name]}, not for {engine.name} with "
                             f"{name} {other[name]}: make a plan for this engine")
        for name, size in raw_bytes.items():
            if name not in self.tensors:
                raise ValueError(f"the plan, made for {self.source}, has no tensor {name}: make a plan for this dump, "
                                 f"or choose its tensors with --array")
            if self.tensors[name].raw_bytes != size:
                raise ValueError(f"{name} has {size} bytes, but {self.tensors[name].raw_bytes} in the plan, made for "
                                 f"{self.source}: make a plan for this dump")


def plan_file(plan: Plan, source: str, timing: Timing, clock_mhz: float) -> PlanFile:
    """The content of the file for a plan.

    Parameters
    ----------
    source
        The dump or network it was made for.
    timing, clock_mhz
        The engine, and its clock.
    """
    tensors = {choice.tensor.name: Entry(
        choice.tensor.raw_bytes, choice.chosen.how.name, choice.chosen.how, Predicted(
            choice.chosen.packed_bytes, round(choice.chosen.offload_cycles), round(choice.chosen.prefetch_cycles),
            choice.exposed * 1e6)) for layer in plan.choices for choice in layer.alone}
    return PlanFile(source, timing.config, clock_mhz, timing.link * clock_mhz / 1e3, timing.latency, tensors)


def load_plan(path: str | Path) -> PlanFile:
    """Read a plan.

    Raises
    ------
    ValueError
        If the file cannot be read, is not a plan, has another version, or has a value that is not allowed.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise ValueError(f"{path} is not a plan: cdma plan -o {Path(path).name} writes one")
    if content.get("version") != VERSION:
        raise ValueError(f"{path} is a plan of version {content.get('version')!r}, this program reads version "
                         f"{VERSION}: make it again with cdma plan")
    try:
        engine = EngineConfig(**_object(content, "engine"))
        tensors = {name: _entry(name, entry, engine) for name, entry in _object(content, "tensors").items()}
        return PlanFile(str(content.get("source", "")), engine, _number(content, "clock_mhz", True),
                        _number(content, "link_gb_per_s", True), _whole(content, "latency"), tensors)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a valid plan: {error}") from error


def _entry(name: str, content: Any, engine: EngineConfig) -> Entry:
    if not isinstance(content, dict):
        raise ValueError(f"tensor {name} must be an object, not {content!r}")
    try:
        how = Treatment(_coding(content), _flag(content, "fallback"), _flag(content, "leave_raw"),
                        _whole(content, "narrow"))
        predicted = _object(content, "predicted")
        entry = Entry(_whole(content, "raw_bytes"), how.name, how, Predicted(
            _whole(predicted, "packed_bytes"), _whole(predicted, "offload_cycles"),
            _whole(predicted, "prefetch_cycles"), _number(predicted, "exposed_us")))
    except ValueError as error:
        raise ValueError(f"tensor {name}: {error}") from error
    check_built(engine, name, how.name, how.coding)
    if entry.raw_bytes % how.element_bytes:
        raise ValueError(f"tensor {name}: {entry.raw_bytes} bytes are no whole number of the elements of {how.coding}")
    if how.narrow not in set(Narrowing):
        raise ValueError(f"tensor {name}: narrow must be 0, 1 or 2, not {how.narrow}")
    if how.narrow:
        check_narrowing(engine)
        if coding_of(how.coding) not in NARROWED_CODINGS[how.narrow] or entry.raw_bytes % WIDE_BYTES:
            raise ValueError(f"tensor {name}: what is rounded is float32; bfloat16 is coded as zvc16 or bfloat16, "
                             f"float16 as zvc16, not as {how.coding}")
    if how.leave_raw and not how.fallback:
        raise ValueError(f"tensor {name}: leave_raw needs fallback")
    return entry


def _coding(content: Mapping[str, Any]) -> str:
    """The name of a coding."""
    value = content.get("coding")
    if not isinstance(value, str):
        raise ValueError(f"coding must be a name, not {value!r}")
    coding_of(value)
    return value


def _object(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = content.get(key)
    if not isinstance(value, dict):
        raise ValueError(f"{key} must be an object, not {value!r}")
    return value


def _number(content: Mapping[str, Any], key: str, positive: bool = False) -> float:
    value = content.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf") or \
            (positive and not value):
        raise ValueError(f"{key} must be a number {'above 0' if positive else 'of 0 or more'}, not {value!r}")
    return value


def _whole(content: Mapping[str, Any], key: str) -> int:
    value = content.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{key} must be a whole number of 0 or more, not {value!r}")
    return value


def _flag(content: Mapping[str, Any], key: str) -> bool:
    value = content.get(key)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false, not {value!r}")
    return value
