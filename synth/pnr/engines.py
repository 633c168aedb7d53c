"""The units of an engine on an ECP5, each placed and routed by itself.

Units are those of :mod:`cdma.synth.units.division`. A part of a unit stands between registers, and registers replace
the parts that are cut out of it (see :mod:`cdma.synth.pnr.harness`). A path from unit to unit counts in both, up to the
border. Parts of lane 0 stand for all lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field, replace

from cdma.golden.results import HIDDEN, derived
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.pnr.harness import CLOCK, stand_in
from cdma.synth.pnr.place import DEVICES, Best, PnrReport, Resources, Run, place_and_route
from cdma.synth.tools.yosys import Progress, report
from cdma.synth.units.division import division, of_lane
from cdma.synth.units.hierarchy import Design

__all__ = ["PlacedUnit", "PlacedUnits", "place_part", "place_units"]

_INNER_CLOCK = "clk"
"""The clock's port of all modules but the top."""


@dataclass(frozen=True)
class PlacedUnit:
    """A unit of an engine on a part.

    Parameters
    ----------
    name : str
        The unit.
    instances : int
        How many there are.
    used : Resources
        What all of its instances take.
    slowest : PnrReport
        The part of the unit with the lowest clock; names of its paths are those below the engine's top. JSON has its
        runs alone.
    """

    name: str
    instances: int
    used: Resources
    slowest: PnrReport = field(metadata=HIDDEN)

    @derived
    def runs(self) -> tuple[Run, ...]:
        """The runs of the slowest part."""
        return self.slowest.runs

    @derived
    def best(self) -> Best | None:
        """The best of them."""
        return self.slowest.best

    @derived
    def median_mhz(self) -> float | None:
        """The median clock of the runs."""
        return self.slowest.median_mhz


@dataclass(frozen=True)
class PlacedUnits:
    """All units of an engine, each on a part of its own.

    Parameters
    ----------
    name : str
        The engine's top module.
    device, speed, yosys, nextpnr, available
        As for :class:`cdma.synth.pnr.place.PnrReport`.
    units : tuple of PlacedUnit
        The units.
    """

    name: str
    device: str
    speed: int
    yosys: str
    nextpnr: str
    available: Resources
    units: tuple[PlacedUnit, ...]

    @derived
    def total(self) -> Resources:
        """Resources of all units together, without optimisation across their borders."""
        return _sum(unit.used for unit in self.units)


def place_units(config: EngineConfig, verilog: str, *, device: str = "LFE5U-85F", speed: int = 8, seeds: int = 1,
                progress: Progress | None = None) -> PlacedUnits:
    """Place each unit of an engine on a separate ECP5.

    Parameters
    ----------
    config : EngineConfig
        What was built.
    verilog : str
        Its Verilog.
    device, speed, seeds, progress
        As for :func:`cdma.synth.pnr.place.place_and_route`.

    Raises
    ------
    ValueError
        As for :func:`cdma.synth.pnr.place.place_and_route`.
    """
    design = Design(verilog, config.name)
    parts, cut = division(design, config.lanes)
    stage = f"placing and routing {config.name} on {device}-{speed}"
    done = 0

    def run(part: tuple[str, str]) -> PnrReport:
        nonlocal done
        unit, root = part
        result = place_part(design, root, cut, device=device, speed=speed, seeds=seeds)
        done += 1
        report(progress, f"{stage}: {unit}", done, len(parts))
        return result

    report(progress, stage, 0, len(parts))
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(run, parts))
    units = []
    for unit in dict.fromkeys(unit for unit, _ in parts):
        own = [(config.lanes if of_lane(root) else 1, placed)
               for (of, root), placed in zip(parts, reports, strict=True) if of == unit]
        units.append(PlacedUnit(unit, max(count for count, _ in own),
                                _sum(placed.used for count, placed in own for _ in range(count)),
                                min((placed for _, placed in own), key=_mhz)))
    first = reports[0]
    return PlacedUnits(config.name, device, speed, first.yosys, first.nextpnr, DEVICES[device], tuple(units))


def place_part(design: Design, part: str, cut: Collection[str], *, device: str, speed: int,
               seeds: int = 1) -> PnrReport:
    """Place one part of a design on an ECP5, with registers in place of modules that are cut out.

    Parameters
    ----------
    design : Design
        The design.
    part : str
        The part's path below the top.
    cut : collection of str
        Modules that are left out where they are inside.

    Raises
    ------
    ValueError
        As for :func:`cdma.synth.pnr.place.place_and_route`.
    """
    root = design.paths()[part]
    clock = CLOCK if root == design.top else _INNER_CLOCK
    inside = [stand_in(name, design.ports(name), _INNER_CLOCK) for name in design.outside(root, cut)]
    placed = place_and_route(design.part(root, cut, black_boxes=False), root, design.ports(root), device=device,
                             speed=speed, seeds=seeds, clock=clock, inside=inside)
    below = f"{part}." if part else ""
    return replace(placed, runs=tuple(replace(run, path=replace(
        run.path, start=f"{below}{run.path.start}", end=f"{below}{run.path.end}")) for run in placed.runs))


def _mhz(placed: PnrReport) -> float:
    """The clock; None if a part does not fit."""
    return placed.best.mhz if placed.best else 0.0


def _sum(all_of: Iterable[Resources]) -> Resources:
    return Resources(*map(sum, zip(*map(astuple, all_of), strict=True)))
