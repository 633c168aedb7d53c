"""The clock of a core in the cells of a library: its slowest paths, in the names of the design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cdma.hdl.config.core import CoreConfig
from cdma.hdl.generate.verilog import emit
from cdma.synth.cells import library as libraries
from cdma.synth.cells.library import Library
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.netlist import Netlist, read
from cdma.synth.tools.yosys import Progress, find, report

__all__ = ["CLOCK", "NETLIST", "REGISTERS", "Stage", "TimingPath", "TimingReport", "measure", "of_netlist", "timing"]

NETLIST = ("net.v", "net.json")
"""The files that a mapped netlist consists of."""

CLOCK = "aclk"
"""The clock's port."""

REGISTERS = "register to register"
"""The kind of path that limits the clock."""


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
        The clock that this path allows.
    start, end : str
        The register or port it starts from and ends at.
    stages : tuple of Stage
        Its steps.
    """

    kind: str
    ps: float
    mhz: float
    start: str
    end: str
    stages: tuple[Stage, ...]

    @property
    def gates(self) -> int:
        """Gates between its ends: the first stage leaves the register that the path starts from, the last is the
        set-up time of the one that it ends at."""
        return len(self.stages) - 2


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

    @property
    def worst(self) -> TimingPath | None:
        """The slowest path from register to register; None if there is none."""
        return next((path for path in self.paths if path.kind == REGISTERS), None)


def timing(config: CoreConfig, *, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE,
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
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If the recipe is unknown, the library is missing, damaged or lacks a cell that is needed, OpenSTA is not
        installed, or there is no Yosys that is new enough.
    """
    library = libraries.load(liberty)
    report(progress, f"generating {config.name}")
    return measure(emit(config).text, config.name, library, clock=CLOCK, recipe=recipe, progress=progress)


def measure(verilog: str, top: str, library: Library, *, clock: str = CLOCK, recipe: str = scripts.DEFAULT_RECIPE,
            progress: Progress | None = None) -> TimingReport:
    """Worst paths of any design in Verilog with one clock; parameters, result and errors as for :func:`timing`."""
    opensta.require()
    yosys = find(progress)
    report(progress, f"synthesis of {top}", 0, 2)
    result = yosys.run(scripts.library_script(top, True, recipe, library, netlist=True),
                       scripts.inputs(verilog, recipe, library), list(NETLIST), f"synthesis of {top}")
    report(progress, f"timing of {top}", 1, 2)
    paths = of_netlist(result, top, library, clock=clock)
    report(progress, f"timing of {top}", 2, 2)
    um2 = sum(library.cells[kind].area for kind, _ in read(result["net.json"], top).cells.values())
    return TimingReport(name=top, library=library.name, recipe=recipe, tool=opensta.version(), yosys=yosys.version,
                        um2=round(um2, 3), kge=round(um2 / library.nand2.area / 1000, 4), paths=paths)


def of_netlist(files: Mapping[str, str], top: str, library: Library, *, clock: str = CLOCK) -> tuple[TimingPath, ...]:
    """The worst paths of a mapped netlist.

    Parameters
    ----------
    files : mapping of str to str
        Text of the :data:`NETLIST` that :func:`cdma.synth.tools.scripts.library_script` leaves.
    top, library, clock
        As for :func:`timing`.

    Raises
    ------
    ValueError
        If OpenSTA is not installed, or fails.
    """
    netlist = read(files["net.json"], top)
    paths = opensta.worst_paths(files["net.v"], netlist, library, clock, scripts.output_load(library))
    ordered = sorted(paths, key=lambda ends: (ends[0] != "register", ends[1] != "register"))
    # A port that is only connected to another port has no delay.
    return tuple(_path(ends, paths[ends], netlist, library) for ends in ordered
                 if sum(step.ps for step in paths[ends]) > 0)


def _path(ends: tuple[str, str], steps: list[opensta.Step], netlist: Netlist, library: Library) -> TimingPath:
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
