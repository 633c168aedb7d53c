"""The slowest paths of a mapped netlist, in the names of the design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdma.synth.cells.library import Library
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.netlist import Netlist, read

__all__ = ["CLOCK", "NETLIST", "REGISTERS", "slowest", "worst"]

NETLIST = ("net.v", "net.json")
"""The files that a mapped netlist consists of."""

CLOCK = "aclk"
"""The clock's port."""

REGISTERS = "register to register"
"""The kind of path that limits the clock."""


def slowest(files: Mapping[str, str], top: str, library: Library, clock: str = CLOCK) -> list[dict[str, Any]]:
    """The slowest path of each kind that there is, register to register first. Wires have no length, clocks are ideal.

    A design without a clock has none: it has no registers, and its paths are parts of paths elsewhere.

    Parameters
    ----------
    files : mapping of str to str
        Text of the :data:`NETLIST` that :func:`cdma.synth.tools.scripts.library_script` leaves.
    top, library, clock
        The module, its cells, and the port for the clock.

    Returns
    -------
    list of dict
        The ``kind`` of each path; how long it takes, ``ps``, set-up time included, where inputs arrive with the clock
        edge; the clock ``mhz`` that it allows; the registers or ports ``start`` and ``end``; and its ``stages``: ``ps``
        from the input of a ``cell`` to a ``net``, or its set-up time (``net`` is then empty).

    Raises
    ------
    ValueError
        If OpenSTA is not installed, or fails.
    """
    netlist = read(files["net.json"], top)
    if clock not in netlist.inputs:
        return []
    paths = opensta.worst_paths(files["net.v"], netlist, library, clock, scripts.output_load(library))
    ordered = sorted(paths, key=lambda ends: (ends[0] != "register", ends[1] != "register"))
    # A port that is only connected to another port has no delay.
    return [_path(" to ".join(ends), paths[ends], netlist, library) for ends in ordered
            if sum(step.ps for step in paths[ends]) > 0]


def worst(paths: Sequence[Mapping[str, Any]]) -> Any:
    """The path from register to register; None if there is none."""
    return next((path for path in paths if path["kind"] == REGISTERS), None)


def _path(kind: str, steps: Sequence[opensta.Step], netlist: Netlist, library: Library) -> dict[str, Any]:
    first, last = steps[0], steps[-1]
    ps = sum(step.ps for step in steps)
    start = netlist.register(first.instance, library) if first.instance else netlist.names.get(first.net or 0, "")
    end = netlist.register(last.instance, library) if last.net is None else next(
        (name for name, net in netlist.outputs.items() if net == last.net), netlist.names.get(last.net, ""))
    stages = [{"cell": netlist.cells[step.instance][0] if step.instance else "(input)",
               "net": netlist.names.get(step.net, "") if step.net is not None else "", "ps": round(step.ps, 2)}
              for step in steps]
    return {"kind": kind, "ps": round(ps, 1), "mhz": round(1e6 / ps, 1), "start": start, "end": end, "stages": stages}
