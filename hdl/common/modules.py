"""Components that a design has several times, written as one module with several instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amaranth.hdl import (
    ClockSignal,
    Fragment,
    Instance,
    ResetInserter,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Modules", "SharedModule", "port_values", "shared"]

Ports = dict[str, tuple[Value, PortDirection]]


@dataclass(frozen=True)
class SharedModule:
    """A module that is written by itself: its name, what is in it, and its ports by name but clock and reset."""

    name: str
    design: Fragment
    ports: Ports


class Modules:
    """Takes the place of a platform while Verilog is generated: :func:`shared` components become modules of their own.

    Parameters
    ----------
    top : str
        Name of the design.
    """

    def __init__(self, top: str) -> None:
        self._top = top
        self.shared: dict[str, SharedModule] = {}

    def get_shared(self, name: str, component: wiring.Component, clear: Signal) -> Instance:
        """An instance of the module of this name, which the first component makes."""
        ports: Ports = {"clear": (clear, PortDirection.Input)}
        ports |= {key: port for key, port in port_values(component, "__").items() if len(port[0])}
        module = f"{self._top}.{name}"
        if module in self.shared:
            # Amaranth warns of components that are not elaborated.
            component._MustUse__used = True  # type: ignore[attr-defined]
        else:
            self.shared[module] = SharedModule(module, Fragment.get(ResetInserter(clear)(component), self), ports)
        inputs = {f"i_{key}": value for key, (value, direction) in ports.items() if direction is PortDirection.Input}
        outputs = {f"o_{key}": value for key, (value, direction) in ports.items() if direction is PortDirection.Output}
        return Instance(module, i_clk=ClockSignal(), i_rst=ResetSignal(), **inputs, **outputs)


def shared(platform: object, name: str, component: wiring.Component, clear: Signal) -> Fragment:
    """A component that the design has several times, cleared by ``clear``.

    Parameters
    ----------
    platform
        What the design is elaborated for. Where Verilog is generated, all components of one name are instances of one
        module, which is written once; elsewhere, as in simulation, each is elaborated.
    name : str
        Of the module, below that of the design. Components of one name have to be equal.
    """
    if isinstance(platform, Modules):
        return platform.get_shared(name, component, clear)
    return Fragment.get(ResetInserter(clear)(component), platform)


def port_values(component: wiring.Component, separator: str = "_") -> Ports:
    """The members of a component: value and direction by their names, joined by the separator."""
    return dict(_members(component, separator))


def _members(component: wiring.Component, separator: str) -> Iterator[tuple[str, tuple[Value, PortDirection]]]:
    for path, member, value in component.signature.flatten(component):
        cast = Value.cast(value)
        direction = PortDirection.Input if member.flow is In else PortDirection.Output
        yield separator.join(map(str, path)), (cast, direction)
