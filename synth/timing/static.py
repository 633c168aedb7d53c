"""Static timing of a mapped netlist from the library's tables, for where no timing tool is installed.

Clocks are ideal and arrive everywhere at once, through clock gates too. Wires load their drivers as the library's
default wire load says, if it has one, and take no time. Of several arcs into a net the slowest counts, and the largest
slew goes on. OpenSTA does the same unless it is told about wires and clock trees.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from synth.cells.library import Library
from synth.timing.tables import FALL, RISE, Arc, WireLoad, arcs, loads
from synth.tools.netlist import Netlist

__all__ = ["NAME", "Step", "worst_paths"]

NAME = "the library's delay tables"
"""How reports call this way of timing."""

_Point = tuple[int, int]        # a net, and its direction
_REGISTER, _PORT = "register", "input"


@dataclass(frozen=True)
class Step:
    """A step of a path: the delay in ps to ``net``, which ``instance`` drives; or the set-up time of ``instance``."""

    instance: str
    net: int | None
    ps: float


@dataclass
class _Timing:
    loads: dict[_Point, float] = field(default_factory=lambda: defaultdict(float))
    slews: dict[_Point, float] = field(default_factory=lambda: defaultdict(float))
    starts: dict[str, dict[_Point, tuple[float, str]]] = field(default_factory=lambda: {_REGISTER: {}, _PORT: {}})
    through: dict[str, list[tuple[_Point, _Point, float]]] = field(default_factory=lambda: defaultdict(list))


def worst_paths(netlist: Netlist, library: Library, clock: str, load: float) -> dict[tuple[str, str], list[Step]]:
    """The slowest path of each kind.

    Parameters
    ----------
    netlist : Netlist
        The mapped design.
    library : Library
        Its cells.
    clock : str
        The clock's port.
    load : float
        What each output port is loaded with, fF.

    Returns
    -------
    dict of (str, str) to list of Step
        By where it starts (``register`` or ``input``) and where it ends (``register`` or ``output``); the first step
        names the port or the register it starts from, the last one of a path to a register is the set-up time.

    Raises
    ------
    ValueError
        If the logic has a loop.
    """
    timing = _Timing()
    driven, readers = _connections(netlist, library, timing, load / library.load_unit)
    clocks = _clock_nets(netlist, library, netlist.inputs[clock])
    order = _order(netlist, library, driven, readers)
    _start_ports(netlist, library, timing, {bit for bit in netlist.inputs.values() if bit not in clocks})
    for instance in order:
        _through(netlist, library, timing, instance, clocks)
    return _worst(netlist, library, timing, clocks, order)


def _connections(netlist: Netlist, library: Library, timing: _Timing,
                 port_load: float) -> tuple[set[int], dict[int, list[tuple[str, str]]]]:
    """The nets that cells drive, and for each net the pins that read it; notes the loads."""
    driven: set[int] = set()
    readers: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for instance, (kind, pins) in netlist.cells.items():
        outputs = {pin.name for pin in library.cells[kind].outputs}
        inputs = loads(library, kind)
        for pin, net in pins.items():
            if pin in outputs:
                driven.add(net)
            else:
                readers[net].append((instance, pin))
                for edge in (RISE, FALL):
                    timing.loads[net, edge] += inputs[pin][edge]
    for net in netlist.outputs.values():
        for edge in (RISE, FALL):
            timing.loads[net, edge] += port_load
    wires = WireLoad(library)
    ports = Counter(netlist.outputs.values())
    for net in {net for net, _ in timing.loads}:
        for edge in (RISE, FALL):
            timing.loads[net, edge] += wires.load(len(readers[net]) + ports[net])
    return driven, readers


def _clock_nets(netlist: Netlist, library: Library, root: int) -> set[int]:
    clocks = {root}
    grown = True
    while grown:
        grown = False
        for kind, pins in netlist.cells.values():
            cell = library.cells[kind]
            gated = {pins[pin.name] for pin in cell.outputs if pin.name in pins}
            # What drives a clock from a clock is a clock gate, or a buffer or an inverter on its way.
            if (cell.kind == "clock gate" or cell.truth() in ("01", "10")) and clocks & set(pins.values()) - gated:
                grown |= not gated <= clocks
                clocks |= gated
    return clocks


def _order(netlist: Netlist, library: Library, driven: set[int],
           readers: dict[int, list[tuple[str, str]]]) -> list[str]:
    """Instances, each after those that drive what goes through it; those that hold a state come first."""
    through = {kind: {arc.source for arc in arcs(library, kind) if arc.kind == "through"}
               for kind, _ in netlist.cells.values()}
    waits = {instance: sum(1 for pin, net in pins.items() if pin in through[kind] and net in driven)
             for instance, (kind, pins) in netlist.cells.items()}
    ready = [instance for instance, number in waits.items() if not number]
    for instance in ready:
        kind, pins = netlist.cells[instance]
        for pin in library.cells[kind].outputs:
            for reader, theirs in readers.get(pins.get(pin.name, -1), ()):
                if theirs in through[netlist.cells[reader][0]]:
                    waits[reader] -= 1
                    if waits[reader] == 0:
                        ready.append(reader)
    if len(ready) < len(netlist.cells):
        raise ValueError(f"the logic of {netlist.name} has a loop through {min(set(netlist.cells) - set(ready))}")
    return ready


def _start_ports(netlist: Netlist, library: Library, timing: _Timing, nets: set[int]) -> None:
    (arc, *_) = (arc for arc in arcs(library, library.driver.name) if arc.kind == "through")
    for net in sorted(nets):
        for _, edge in arc.edges:
            delay, slew = arc.delays[edge], arc.slews[edge]
            load = timing.loads[net, edge]
            # The driver stands outside: only what its load adds to its delay counts.
            added = delay.at(0, load) - delay.at(0, 0) if delay else 0.0
            timing.starts[_PORT][net, edge] = added * library.time_unit, ""
            timing.slews[net, edge] = slew.at(0, load) if slew else 0.0


def _through(netlist: Netlist, library: Library, timing: _Timing, instance: str, clocks: set[int]) -> None:
    kind, pins = netlist.cells[instance]
    for arc in arcs(library, kind):
        source, net = pins.get(arc.source), pins.get(arc.pin)
        if arc.kind == "capture" or source is None or net is None or net in clocks:
            continue
        if source in clocks and arc.kind == "through":
            continue
        for before, after in arc.edges:
            delay, slew = arc.delays[after], arc.slews[after]
            if delay is None:
                continue
            load = timing.loads[net, after]
            point = net, after
            incoming = 0.0 if arc.kind == "launch" else timing.slews[source, before]
            ps = delay.at(incoming, load) * library.time_unit
            if arc.kind == "launch":
                if ps > timing.starts[_REGISTER].get(point, (-1.0, ""))[0]:
                    timing.starts[_REGISTER][point] = ps, instance
            else:
                timing.through[instance].append(((source, before), point, ps))
            if slew is not None:
                timing.slews[point] = max(timing.slews[point], slew.at(incoming, load))


def _captures(netlist: Netlist, library: Library, clocks: set[int]) -> list[tuple[str, Arc, int]]:
    found = []
    for instance, (kind, pins) in netlist.cells.items():
        for arc in arcs(library, kind):
            if arc.kind == "capture" and pins.get(arc.source) in clocks and arc.pin in pins:
                found.append((instance, arc, pins[arc.pin]))
    return found


def _worst(netlist: Netlist, library: Library, timing: _Timing, clocks: set[int],
           order: list[str]) -> dict[tuple[str, str], list[Step]]:
    captures = _captures(netlist, library, clocks)
    paths: dict[tuple[str, str], list[Step]] = {}
    for start, starts in timing.starts.items():
        arrivals: dict[_Point, tuple[float, _Point | None, str]] = {
            point: (ps, None, instance) for point, (ps, instance) in starts.items()}
        for instance in order:
            for source, point, ps in timing.through.get(instance, ()):
                if source in arrivals:
                    ends = arrivals[source][0] + ps
                    if point not in arrivals or ends > arrivals[point][0]:
                        arrivals[point] = ends, source, instance
        best: dict[str, tuple[float, _Point, Step | None]] = {}

        def offer(end: str, total: float, point: _Point, last: Step | None, best=best) -> None:
            if end not in best or total > best[end][0]:
                best[end] = total, point, last

        for instance, arc, net in captures:
            for _, edge in arc.edges:
                table = arc.delays[edge]
                if (net, edge) in arrivals and table is not None:
                    setup = table.at(timing.slews[net, edge], 0.0) * library.time_unit
                    offer("register", arrivals[net, edge][0] + setup, (net, edge), Step(instance, None, setup))
        for net in netlist.outputs.values():
            for edge in (RISE, FALL):
                if (net, edge) in arrivals:
                    offer("output", arrivals[net, edge][0], (net, edge), None)
        for end, (_, point, last) in best.items():
            paths[start, end] = _trace(arrivals, point) + ([last] if last else [])
    return paths


def _trace(arrivals: dict[_Point, tuple[float, _Point | None, str]], point: _Point) -> list[Step]:
    steps: list[Step] = []
    following: _Point | None = point
    while following is not None:
        at = following
        ends, following, instance = arrivals[at]
        steps.append(Step(instance, at[0], ends - (arrivals[following][0] if following else 0.0)))
    return steps[::-1]
