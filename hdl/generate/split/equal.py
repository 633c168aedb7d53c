"""Finds equal modules of a netlist, and makes their instances instances of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import count

from cdma.hdl.generate.split.rtlil import Instance, Netlist

__all__ = ["merge"]

_NUMBER = re.compile(r"\$\d+")


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


def merge(modules: Iterable[Netlist], kinds: Mapping[str, object]) -> list[Netlist]:
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
