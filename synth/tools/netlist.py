"""A mapped netlist as Yosys writes it in JSON: cells, nets, ports, and the names the design gave them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from cdma.synth.cells.library import Library

__all__ = ["Netlist", "net_names", "read"]

_NUMBERED = re.compile(r"_\d+_|.*\$\d+")


class _Bits(TypedDict):
    """A net or a port in Yosys' JSON: its bits, numbers of nets or constants, and for a port the direction."""

    bits: list[int | str]
    offset: NotRequired[int]
    direction: NotRequired[str]


@dataclass(frozen=True)
class Netlist:
    """A flat module.

    Parameters
    ----------
    name : str
        The module.
    cells : dict of str to (str, dict)
        By instance name: the kind of cell, and the net at each pin; constants are left out.
    inputs, outputs : dict of str to int
        The net at each port bit.
    names : dict of int to str
        The best name of each net: one that the design gave rather than a numbered one, then the shortest.
    """

    name: str
    cells: dict[str, tuple[str, dict[str, int]]]
    inputs: dict[str, int]
    outputs: dict[str, int]
    names: dict[int, str]

    def register(self, instance: str, library: Library) -> str:
        """The design's name of an instance: its register, its memory's pin, or for a clock gate a register whose
        clock it gates. Without a name from the design: its number, an arrow, and the nearest named net that it leads
        to."""
        kind, pins = self.cells[instance]
        cell = library.cells[kind]
        if cell.kind == "memory":
            # The cell of a pin is inside the generate loop over the pin's bits.
            return instance[:instance.rindex("]") + 1]
        nets = [pins[pin.name] for pin in cell.outputs if pin.name in pins]
        if cell.kind == "clock gate":
            gated = sorted(self.register(other, library) for other, (_, theirs) in self.cells.items()
                           if other != instance and set(theirs.values()) & set(nets))
            return f"clock gate of {gated[0]}" if gated else instance
        name = min((self.names[net] for net in nets), key=_order, default=instance)
        near = self._leads_to(set(nets), library) if _order(name)[0] else None
        return f"{name}->{near}" if near else name

    def _leads_to(self, nets: set[int], library: Library) -> str | None:
        """The nearest net after these nets that the design named."""
        seen, edge = set(nets), nets
        while edge:
            edge = {pins[pin.name] for kind, pins in self.cells.values() if edge & set(pins.values())
                    for pin in library.cells[kind].outputs if pin.name in pins} - seen
            seen |= edge
            named = [name for name in (self.names[net] for net in edge if net in self.names) if not _order(name)[0]]
            if named:
                return min(named, key=_order)
        return None


def _order(name: str) -> tuple[bool, int, str]:
    # Numbers come from tools, and from Amaranth's names for expressions.
    return _NUMBERED.fullmatch(name.partition("[")[0]) is not None, len(name), name


def _bits(names: Mapping[str, _Bits], key: str) -> Iterator[tuple[str, int]]:
    for name, facts in sorted(names.items()):
        bits = facts["bits"]
        offset = facts.get("offset", 0)
        for index, bit in enumerate(bits):
            if isinstance(bit, int) and (not key or facts.get("direction") == key):
                # A bit that was split off a port or a register has its index in its name already.
                single = len(bits) == 1 and (not offset or name.endswith(f"[{offset}]"))
                yield (name if single else f"{name}[{index + offset}]"), bit


def net_names(nets: Mapping[str, _Bits]) -> dict[int, str]:
    """The best name of each net of a module: one that the design gave rather than a numbered one, then the shortest."""
    names: dict[int, str] = {}
    for name, bit in _bits(nets, ""):
        if bit not in names or _order(name) < _order(names[bit]):
            names[bit] = name
    return names


def read(text: str, top: str) -> Netlist:
    """The netlist of a flat module in Yosys' JSON."""
    module = json.loads(text)["modules"][top]
    names = net_names(module["netnames"])
    cells = {
        instance: (facts["type"], {pin: bits[0] for pin, bits in sorted(facts["connections"].items())
                                   if bits and isinstance(bits[0], int)})
        for instance, facts in sorted(module["cells"].items()) if facts["type"] != "$scopeinfo"}
    return Netlist(name=top, cells=cells, inputs=dict(_bits(module["ports"], "input")),
                   outputs=dict(_bits(module["ports"], "output")), names=names)
