"""What each module of a split design is called, what it is made of, and where it is used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from amaranth.hdl import Fragment, Module
from amaranth.hdl._xfrm import TransformedElaboratable

from cdma.hdl.generate.split.names import PlainNames, module_names, snake_case
from cdma.hdl.generate.split.rtlil import Instance, Netlist, parse

__all__ = ["Origin", "Part", "origins", "split_parts"]

_NUMBER = re.compile(r"\$\d+")
_FIRST_PORTS = ("clk", "rst", "clear")
_UNNAMED = re.compile(r"\\port\$\d+\$\d+")
_CONNECTION = re.compile(r"\\(\S+)(?: \[(\d+)(?::(\d+))?\])?")


@dataclass(frozen=True)
class Origin:
    """What a module was elaborated from: a class, or a part with a name of the module above it, which is of a class."""

    of: type
    part: str = ""

    @property
    def kind(self) -> str:
        """Its name as a part of a module's name."""
        return "_".join([snake_case(self.of.__name__), *([self.part] if self.part else [])])


@dataclass
class Part:
    """A module of a split design.

    Parameters
    ----------
    name : str
        The module's plain name.
    origin : Origin
        What it was elaborated from.
    netlist : Netlist
        What is in it, by the names that it had.
    names : dict
        Plain names of its signals, memories and instances, by those that they had.
    users : dict
        Plain names of the modules that have it, and of the instances there.
    copies : int
        Instances of it in the whole design.
    """

    name: str
    origin: Origin
    netlist: Netlist
    names: dict[str, str] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)
    copies: int = 0

    @property
    def ports(self) -> list[str]:
        """Plain names of the ports, in the order in which they are written."""
        return [self.names[port] for port in self._order()]

    @property
    def rtlil(self) -> str:
        """The module in RTLIL, with plain names."""
        return self.netlist.text(f"\\{self.name}",
                                 lambda name: f"\\{self.names[name]}" if name in self.names else name, self._order())

    def _order(self) -> list[str]:
        """The ports as in the design's top, or clock and reset and then the others in alphabetical order."""
        ports = self.netlist.ports
        if self.netlist.name == f"\\{self.name}":
            return ports
        first = {name: place for place, name in enumerate(_FIRST_PORTS)}
        return sorted(ports, key=lambda port: (first.get(self.names[port], len(first)), self.names[port]))


def origins(fragments: Mapping[tuple[str, ...], Fragment]) -> dict[str, Origin]:
    """What the modules of a design were elaborated from, by their names in RTLIL.

    Parameters
    ----------
    fragments : mapping
        All fragments of a design by their paths, those above before those below.
    """
    found: dict[str, Origin] = {}
    for path, fragment in fragments.items():
        made = [type(origin) for origin in fragment.origins or ()
                if not isinstance(origin, Module | TransformedElaboratable)]
        if made:
            origin = Origin(made[0])
        elif (above := found.get("\\" + ".".join(path[:-1]))) is not None:
            origin = Origin(above.of, "_".join([*filter(None, [above.part]), PlainNames().plain(path[-1])]))
        else:
            origin = Origin(type(fragment))
        found["\\" + ".".join(path)] = origin
    return found


def split_parts(netlist: str, top: str, made_of: Mapping[str, Origin], ports: Sequence[str]) -> list[Part]:
    """The modules of a design, each once, with plain names; the top first, and each before those that are in it.

    Parameters
    ----------
    netlist : str
        The design in RTLIL, as Amaranth writes it.
    top : str
        Name of the top, which it keeps.
    made_of : mapping
        What each module was elaborated from.
    ports : sequence of str
        Ports of the top, in their order; they keep their names.
    """
    modules = {module.name: module for module in _merged(parse(netlist), made_of)}
    order = _from_top(modules, f"\\{top}")
    names = module_names(top, [made_of[name].kind for name in order[1:]])
    found = {old: Part(new, made_of[old], modules[old]) for old, new in zip(order, names, strict=True)}
    whole = found[f"\\{top}"]
    whole.copies = 1
    whole.netlist.wires = {f"\\{port}": whole.netlist.wires[f"\\{port}"] for port in ports} | whole.netlist.wires
    for old in order:
        part = found[old]
        _name_signals(part)
        for instance in part.netlist.instances:
            if instance.module in found:
                below = found[instance.module]
                below.users.setdefault(part.name, []).append(part.names[instance.name])
                below.copies += part.copies
                _name_ports(below, instance.ports, part.names)
    for part in found.values():
        part.users = {name: sorted(instances) for name, instances in sorted(part.users.items())}
        _use_plain_names(part.netlist, found)
    return list(found.values())


def _from_top(modules: Mapping[str, Netlist], top: str) -> list[str]:
    """Modules of a design, each behind all that have it; otherwise in the order of their instances."""
    found: list[str] = []

    def visit(name: str) -> None:
        for instance in reversed(modules[name].instances):
            if instance.module in modules and instance.module not in seen:
                visit(instance.module)
        seen.add(name)
        found.append(name)

    seen: set[str] = set()
    visit(top)
    return found[::-1]


def _name_ports(part: Part, connections: Mapping[str, str], names: Mapping[str, str]) -> None:
    """Wishes for names of ports that nobody named: the signal that the first instance connects, and its bits."""
    for port, signals in connections.items():
        if _UNNAMED.fullmatch(port) and port not in part.names:
            connection = _CONNECTION.fullmatch(signals)
            if connection and not _UNNAMED.fullmatch(f"\\{connection[1]}"):
                bits = "".join(f"_{bit}" for bit in connection.groups()[1:] if bit is not None)
                part.names[port] = names.get(f"\\{connection[1]}", connection[1]) + bits


def _name_signals(part: Part) -> None:
    """Gives every named signal, memory and instance of a module a plain name, and keeps the wishes for ports."""
    netlist, wishes = part.netlist, part.names
    names = PlainNames()
    part.names = {}
    # Of equal names, ports keep theirs, and then those that Amaranth did not number.
    wanted = [*netlist.ports, *netlist.wires, *netlist.memories, *(each.name for each in netlist.instances)]
    ports = set(netlist.ports)
    for name in sorted(dict.fromkeys(wanted), key=lambda one: (one not in ports, "$" in one)):
        if not name.startswith("$"):
            wire = netlist.wires.get(name)
            unnamed = f"{'in' if wire and wire.direction == 'input' else 'out'}_1"
            part.names[name] = names.plain(wishes.get(name, unnamed if _UNNAMED.fullmatch(name) else name))


def _use_plain_names(netlist: Netlist, found: Mapping[str, Part]) -> None:
    """Instances name their modules and the ports there as these are named now."""
    for instance in netlist.instances:
        if instance.module in found:
            names = found[instance.module].names
            instance.ports = {f"\\{names[port]}": signals for port, signals in instance.ports.items()}
            instance.module = f"\\{found[instance.module].name}"


class _Canonical:
    """Names of a module's signals that do not depend on where in the design the module is.

    What Amaranth numbered, because nobody gave it a name or the name was taken, is numbered anew in the order in which
    the module uses it.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._numbers = count()

    def __call__(self, name: str) -> str:
        if name not in self.names:
            base, numbers = _NUMBER.subn("$", name)
            self.names[name] = f"{base}#{next(self._numbers)}" if numbers else name
        return self.names[name]


def _merged(modules: Iterable[Netlist], kinds: Mapping[str, object]) -> list[Netlist]:
    """The modules that differ, each once; instances of the others become instances of these.

    Two modules are equal if they are of one kind and do the same with signals of the same names, widths and attributes,
    and if the modules below them are equal. Only what Amaranth numbered may have other numbers. Their ports may come in
    another order, and have other names where nobody gave one.

    Parameters
    ----------
    modules : iterable of Netlist
        All modules of a design. Their instances are changed.
    kinds : mapping
        What a module is of, by its name: its class, for instance. Modules of different kinds are never equal.

    Returns
    -------
    list of Netlist
        In the order that they had.
    """
    by_name = {module.name: module for module in modules}
    kept: dict[object, tuple[Netlist, dict[str, str]]] = {}
    # By module: the one that it is equal to, and the names of its ports there.
    merged: dict[str, tuple[str, dict[str, str]]] = {}

    def visit(module: Netlist) -> None:
        for instance in module.instances:
            if instance.module in by_name:
                if instance.module not in merged:
                    visit(by_name[instance.module])
                instance.module, ports = merged[instance.module]
                instance.ports = {ports[port]: signals for port, signals in instance.ports.items()}
        canonical = _Canonical()
        key = kinds.get(module.name), _facts(module, canonical)
        first, names = kept.setdefault(key, (module, canonical.names))
        back = {name: own for own, name in names.items()}
        merged[module.name] = first.name, {port: back[canonical(port)] for port in module.ports}

    for module in by_name.values():
        if module.name not in merged:
            visit(module)
    names = {module.name for module, _ in kept.values()}
    return [module for name, module in by_name.items() if name in names]


def _facts(module: Netlist, canonical: _Canonical) -> tuple[str, ...]:
    """All that a module is, with canonical names: its lines, and its wires in alphabetical order."""
    body: list[str] = []
    for entry in module.body:
        body += entry.renamed(canonical) if isinstance(entry, Instance) else [entry.renamed(canonical)]
    wires = sorted(f"{canonical(name)} {wire}" for name, wire in module.wires.items())
    return (*body, "", *wires)
