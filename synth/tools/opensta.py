"""OpenSTA: whether it is installed, and the slowest paths it finds in a mapped netlist.

It is the only static timing here: clocks in the cells of a library need it, areas do not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from cdma.synth.cells.library import Library
from cdma.synth.tools.netlist import Netlist
from cdma.synth.tools.programs import run

__all__ = ["OpenStaError", "Step", "available", "require", "script", "steps", "version", "worst_paths"]

_GROUPS = {"clock": ("register", "register"), "from_inputs": ("input", "register"),
           "to_outputs": ("register", "output"), "across": ("input", "output")}


class OpenStaError(ValueError):
    """OpenSTA is not installed, or did not give a report; the message is one line."""


@dataclass(frozen=True)
class Step:
    """A step of a path: the delay in ps to ``net``, which ``instance`` drives; or the set-up time of ``instance``."""

    instance: str
    net: int | None
    ps: float


def available() -> bool:
    """Whether ``sta`` is on PATH."""
    return shutil.which("sta") is not None


def require() -> None:
    """Check that OpenSTA is installed, before work that is lost without it.

    Raises
    ------
    OpenStaError
        If it is not.
    """
    if not available():
        raise OpenStaError("clocks in the cells of a library are calculated by OpenSTA, and its program sta is not on "
                           "PATH: install it (Debian and Ubuntu: apt install opensta), or use --target ecp5")


@lru_cache
def version() -> str:
    """Name and version of OpenSTA."""
    done = subprocess.run(["sta", "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return f"OpenSTA {done.stdout.strip()}".strip()


def script(netlist: Netlist, library: Library, clock: str, load: float) -> str:
    """OpenSTA commands that report the worst path of each kind; parameters as for :func:`worst_paths`.

    A link's own clock is the same one.
    """
    own = f"link_{clock}"
    clocks = f"{{{clock} {own}}}" if own in netlist.inputs else clock
    return f"""\
read_liberty cells.lib
read_verilog net.v
link_design {{{netlist.name}}}
create_clock -name clock -period 1 [get_ports {clocks}]
set ports [list]
foreach port [all_inputs] {{ if {{[get_name $port] ni {{{clock} {own}}}}} {{ lappend ports $port }} }}
set_input_delay 0 -clock clock $ports
set_output_delay 0 -clock clock [all_outputs]
set_driving_cell -lib_cell {library.driver.name} $ports
set_load {load / library.load_unit:.6g} [all_outputs]
group_path -name from_inputs -from $ports
group_path -name to_outputs -to [all_outputs]
group_path -name across -from $ports -to [all_outputs]
report_checks -path_delay max -format full -digits 6 -group_count 1
"""


def worst_paths(verilog: str, netlist: Netlist, library: Library, clock: str,
                load: float) -> dict[tuple[str, str], list[Step]]:
    """The slowest path of each kind, as OpenSTA finds it.

    Parameters
    ----------
    verilog : str
        The netlist; cells have the same names as in ``netlist``.
    netlist : Netlist
        The mapped design.
    library : Library
        Its cells.
    clock : str
        The clock's port.
    load : float
        Load of each output port, fF.

    Returns
    -------
    dict of (str, str) to list of Step
        By start (``register`` or ``input``) and end (``register`` or ``output``) of the path. The first step names the
        port or the register it starts from, the last step of a path to a register is the set-up time.

    Raises
    ------
    OpenStaError
        If OpenSTA is not installed, or fails.
    """
    require()
    done, _ = run(["sta", "-no_splash", "-exit", "run.tcl"], {
        "cells.lib": library.text, "net.v": verilog, "run.tcl": script(netlist, library, clock, load)})
    paths = steps(done.stdout, netlist, library)
    if done.returncode or not paths:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("Error")]
        raise OpenStaError(f"OpenSTA has no paths for {netlist.name}: {said[-1] if said else 'it reported none'}")
    return paths


_STAGE = re.compile(r"^ *(-?[\d.]+) +-?[\d.]+ [v^] (\S+)/(\S+) \((\S+)\)", re.MULTILINE)
_SETUP = re.compile(r"^ *(-?[\d.]+) +-?[\d.]+ +(?:library|clock gating) setup time", re.MULTILINE)
_END = re.compile(r"^Endpoint: (\S+)", re.MULTILINE)
_GROUP = re.compile(r"^Path Group: (\S+)", re.MULTILINE)
_INPUT = re.compile(r"^ *(-?[\d.]+) +-?[\d.]+ [v^] (\S+) \(in\)", re.MULTILINE)


def steps(report: str, netlist: Netlist, library: Library) -> dict[tuple[str, str], list[Step]]:
    """The paths in a report of OpenSTA (``report_checks -format full``); the library's time unit is OpenSTA's."""
    paths: dict[tuple[str, str], list[Step]] = {}
    for block in re.split(r"(?=^Startpoint:)", report, flags=re.MULTILINE)[1:]:
        group, end = _GROUP.search(block), _END.search(block)
        if group is None or end is None or group[1] not in _GROUPS:
            continue
        path: list[Step] = []
        if port := _INPUT.search(block):
            path.append(Step("", netlist.inputs.get(_plain(port[2])), float(port[1]) * library.time_unit))
        for delay, instance, pin, kind in _STAGE.findall(block):
            # The clock pin that a path starts from and the data pin it ends at are listed as well.
            if pin in {output.name for output in library.cells[kind].outputs}:
                net = netlist.cells[_plain(instance)][1].get(pin)
                path.append(Step(_plain(instance), net, float(delay) * library.time_unit))
        if setup := _SETUP.search(block):
            path.append(Step(_plain(end[1]), None, -float(setup[1]) * library.time_unit))
        paths[_GROUPS[group[1]]] = path
    return paths


def _plain(name: str) -> str:
    return name.replace("\\", "")
