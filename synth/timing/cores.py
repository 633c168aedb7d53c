"""How fast a core is in the cells of a library: its worst paths, in the design's own names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hdl.config.core import CoreConfig
from hdl.generate.verilog import emit
from synth.cells import library as libraries
from synth.cells.library import Library
from synth.timing import static
from synth.timing.static import Step
from synth.tools import opensta, scripts
from synth.tools.netlist import Netlist, read
from synth.tools.yosys import Progress, find, report

__all__ = ["CLOCK", "NETLIST", "TOOLS", "Stage", "TimingPath", "TimingReport", "chosen_tool", "measure", "of_netlist",
           "timing", "tool_name"]

TOOLS = ("opensta", "tables")
"""What can time a netlist: OpenSTA where it is installed, and the library's delay tables read here."""

NETLIST = ("net.v", "net.json")
"""The files that a mapped netlist consists of."""

CLOCK = "aclk"
"""The clock's port."""


@dataclass(frozen=True)
class Stage:
    """A step of a path: ``ps`` from the input of a ``cell`` to the net ``net``, or its set-up time (``net`` is then
    empty)."""

    cell: str
    net: str
    ps: float


@dataclass(frozen=True)
class TimingPath:
    """The slowest path of its kind.

    Parameters
    ----------
    kind : str
        ``register to register``, ``input to register``, ``register to output`` or ``input to output``.
    ps : float
        How long it takes, set-up time included. Inputs arrive with the clock edge.
    mhz : float
        The clock that allows.
    start, end : str
        The register or port it starts from and ends at.
    stages : tuple of Stage
        The way.
    """

    kind: str
    ps: float
    mhz: float
    start: str
    end: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class TimingReport:
    """Timing of a design: wires without length, an ideal clock.

    Parameters
    ----------
    name : str
        The top module.
    library : str
        Name of the cell library.
    recipe : str
        How logic was mapped to cells.
    tool : str
        What timed it.
    yosys : str
        Which Yosys mapped it.
    um2, kge : float
        Area of the netlist that was timed.
    paths : tuple of TimingPath
        The slowest of each kind that there is, register to register first.
    """

    name: str
    library: str
    recipe: str
    tool: str
    yosys: str
    um2: float
    kge: float
    paths: tuple[TimingPath, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def timing(config: CoreConfig, *, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE, tool: str | None = None,
           progress: Progress | None = None) -> TimingReport:
    """Worst paths of a core, flattened, in the cells of a library.

    Parameters
    ----------
    config : CoreConfig
        Which core.
    liberty : str or Path
        The cell library.
    recipe : str
        How logic is mapped to cells: ``fast`` or ``small``.
    tool : str, optional
        ``opensta`` or ``tables``; OpenSTA where it is installed if not given.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If the recipe or the tool is unknown, OpenSTA is asked for and not installed, the library is missing, damaged
        or lacks a cell that is needed, or there is no Yosys that is new enough.
    """
    library = libraries.load(liberty)
    report(progress, f"generating {config.name}")
    return measure(emit(config).text, config.name, library, clock=CLOCK, recipe=recipe, tool=tool, progress=progress)


def measure(verilog: str, top: str, library: Library, *, clock: str = CLOCK, recipe: str = scripts.DEFAULT_RECIPE,
            tool: str | None = None, progress: Progress | None = None) -> TimingReport:
    """Worst paths of any design in Verilog with one clock; parameters, result and errors as for :func:`timing`."""
    tool = chosen_tool(tool)
    yosys = find(progress)
    report(progress, f"synthesis of {top}", 0, 2)
    result = yosys.run(scripts.library_script(top, True, recipe, library, netlist=True),
                       scripts.inputs(verilog, recipe, library), list(NETLIST), f"synthesis of {top}")
    report(progress, f"timing of {top}", 1, 2)
    paths = of_netlist(result, top, library, clock=clock, tool=tool)
    report(progress, f"timing of {top}", 2, 2)
    um2 = sum(library.cells[kind].area for kind, _ in read(result["net.json"], top).cells.values())
    return TimingReport(name=top, library=library.name, recipe=recipe, tool=tool_name(tool), yosys=yosys.version,
                        um2=round(um2, 3), kge=round(um2 / library.nand2.area / 1000, 4), paths=paths)


def of_netlist(files: Mapping[str, str], top: str, library: Library, *, clock: str = CLOCK,
               tool: str | None = None) -> tuple[TimingPath, ...]:
    """The worst paths of a mapped netlist.

    Parameters
    ----------
    files : mapping of str to str
        Text of the :data:`NETLIST` that :func:`synth.tools.scripts.library_script` leaves.
    top, library, clock, tool
        As for :func:`timing`.

    Raises
    ------
    ValueError
        If the tool is unknown, or OpenSTA is asked for and not installed.
    """
    netlist = read(files["net.json"], top)
    load = scripts.output_load(library)
    if chosen_tool(tool) == "opensta":
        return _named(opensta.worst_paths(files["net.v"], netlist, library, clock, load), netlist, library)
    return _named(static.worst_paths(netlist, library, clock, load), netlist, library)


def tool_name(tool: str) -> str:
    """How reports call one of the :data:`TOOLS`."""
    return opensta.version() if tool == "opensta" else static.NAME


def chosen_tool(named: str | None) -> str:
    """The one of the :data:`TOOLS` that is named; OpenSTA where it is installed if none is.

    Raises
    ------
    ValueError
        If it is unknown, or OpenSTA is named and not installed.
    """
    if named is None:
        return "opensta" if opensta.available() else "tables"
    if named not in TOOLS:
        raise ValueError(f"the timing tool must be one of {', '.join(TOOLS)}, not {named!r}")
    if named == "opensta" and not opensta.available():
        raise ValueError("OpenSTA is not installed: put its program sta on PATH, or use the timing tool tables")
    return named


def _named(paths: Mapping[tuple[str, str], list[Step]], netlist: Netlist, library: Library) -> tuple[TimingPath, ...]:
    ordered = sorted(paths, key=lambda ends: (ends[0] != "register", ends[1] != "register"))
    # What a port only passes on to another takes no time.
    return tuple(_path(ends, paths[ends], netlist, library) for ends in ordered
                 if sum(step.ps for step in paths[ends]) > 0)


def _path(ends: tuple[str, str], steps: list[Step], netlist: Netlist, library: Library) -> TimingPath:
    first, last = steps[0], steps[-1]
    ps = sum(step.ps for step in steps)
    start = netlist.register(first.instance, library) if first.instance else netlist.names.get(first.net or 0, "")
    end = netlist.register(last.instance, library) if last.net is None else _port(netlist, last.net)
    stages = tuple(Stage(netlist.cells[step.instance][0] if step.instance else "(input)",
                         netlist.names.get(step.net, "") if step.net is not None else "", round(step.ps, 2))
                   for step in steps)
    return TimingPath(kind=" to ".join(ends), ps=round(ps, 1), mhz=round(1e6 / ps, 1), start=start, end=end,
                      stages=stages)


def _port(netlist: Netlist, net: int) -> str:
    return next((name for name, other in netlist.outputs.items() if other == net), netlist.names.get(net, ""))
