"""Plans as files: JSON with the engine, and for every tensor the descriptor's fields and the predicted figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path

from cdma.golden.codec.narrowing import NARROWED_CODINGS, WIDE_BYTES, Narrowing
from cdma.golden.results import from_json, to_json
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


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The plan for a tensor: its size, its treatment by name and fields, and the prediction."""

    raw_bytes: int
    treatment: str
    coding: str
    fallback: bool = True
    leave_raw: bool = False
    narrow: int = 0
    predicted: Predicted

    @property
    def how(self) -> Treatment:
        """The treatment."""
        return Treatment(self.coding, self.fallback, self.leave_raw, self.narrow)


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
        raw_bytes=choice.tensor.raw_bytes, treatment=choice.chosen.how.name, **asdict(choice.chosen.how),
        predicted=Predicted(choice.chosen.packed_bytes, round(choice.chosen.offload_cycles),
                            round(choice.chosen.prefetch_cycles), choice.exposed * 1e6))
        for layer in plan.choices for choice in layer.alone}
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
        plan = from_json(PlanFile, {key: value for key, value in content.items() if key not in ("kind", "version")})
        for key in ("clock_mhz", "link_gb_per_s"):
            if not 0 < getattr(plan, key) < inf:
                raise ValueError(f"{key} must be a number above 0, not {getattr(plan, key)!r}")
        if plan.latency < 0:
            raise ValueError(f"latency must be a whole number of 0 or more, not {plan.latency}")
        for name, entry in plan.tensors.items():
            _check(f"tensor {name}", entry)
            check_built(plan.engine, name, entry.how.name, entry.how.coding)
            if entry.how.narrow:
                check_narrowing(plan.engine)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a valid plan: {error}") from error
    return plan


def _check(tensor: str, entry: Entry) -> None:
    """Raise ValueError if the values of an entry are not allowed, or do not suit each other."""
    how, numbers = entry.how, asdict(entry.predicted) | {"raw_bytes": entry.raw_bytes}
    for key, value in numbers.items():
        if not 0 <= value < inf:
            raise ValueError(f"{tensor}: {key} must be a number of 0 or more, not {value!r}")
    try:
        coding = coding_of(how.coding)
    except ValueError as error:
        raise ValueError(f"{tensor}: {error}") from error
    if entry.raw_bytes % coding.element_bytes:
        raise ValueError(f"{tensor}: {entry.raw_bytes} bytes are no whole number of the elements of {how.coding}")
    if how.narrow not in set(Narrowing):
        raise ValueError(f"{tensor}: narrow must be 0, 1 or 2, not {how.narrow}")
    if how.narrow and (coding not in NARROWED_CODINGS[how.narrow] or entry.raw_bytes % WIDE_BYTES):
        raise ValueError(f"{tensor}: what is rounded is float32; bfloat16 is coded as zvc16 or bfloat16, float16 as "
                         f"zvc16, not as {how.coding}")
    if how.leave_raw and not how.fallback:
        raise ValueError(f"{tensor}: leave_raw needs fallback")
