"""Writes a module that a netlist has several times, such as a lane of an engine, only once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

__all__ = ["share_modules"]

_MODULE = re.compile(r"(?:^attribute [^\n]*\n)*^module (\S+)\n.*?^end\n", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  cell (\\\S+)(.*?^  end$)", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(r"^  wire .*(?:input|output|inout) .*(\\port\$\d+\$\d+)$", re.MULTILINE)
_CONNECTED = re.compile(r"(?<=^    connect )\\port\$\d+\$\d+", re.MULTILINE)
_PORT = re.compile(r"\\port\$\d+\$\d+")
_NUMBER = re.compile(r"\d+")


def share_modules(netlist: str) -> str:
    """The netlist, with modules that are equal and whose names differ in numbers only written once.

    Amaranth writes a module for each instance. Most of an engine is lanes, and all lanes are equal. The first instance
    gives the module its name: ``lane1`` is an instance of ``cdma_engine.offload.lane0``. Equal modules whose names
    differ in more, as two FIFOs of one shape, stay apart: a reader finds each unit by its module's name.

    Amaranth numbers ports that have no name of their own through the whole netlist (``port$4263$0``). Here they are
    numbered in each module, because equal modules would differ in these numbers.

    Parameters
    ----------
    netlist : str
        RTLIL as :mod:`amaranth.back.rtlil` writes it: each module before those that it instantiates.

    Returns
    -------
    str
        RTLIL of the same design.
    """
    modules = {module[1]: module[0] for module in _MODULE.finditer(netlist)}
    ports = {name: {port: f"\\port${number}" for number, port in enumerate(_DECLARED.findall(text))}
             for name, text in modules.items()}
    keys: dict[str, str] = {}
    for name, text in reversed(modules.items()):
        modules[name] = _renumbered(text, ports[name], ports)
        facts = _instances_of(modules[name], keys).replace(name, "", 1)
        keys[name] = f"{_NUMBER.sub('', name)} {hashlib.sha256(facts.encode()).hexdigest()}"
    first: dict[str, str] = {}
    for name, key in keys.items():
        first[key] = name
    names = {name: first[key] for name, key in keys.items()}
    return "".join(_instances_of(text, names) for name, text in modules.items() if names[name] == name)


def _renumbered(module: str, own: Mapping[str, str], ports: Mapping[str, Mapping[str, str]]) -> str:
    """A module with new names of its own ports, and of those of the modules that it instantiates."""
    def connected(cell: re.Match[str]) -> str:
        theirs = ports.get(cell[1], {})
        return f"  cell {cell[1]}" + _CONNECTED.sub(lambda port: theirs.get(port[0], port[0]), cell[2])

    # The new names have one number: the second pass leaves them alone.
    return _PORT.sub(lambda port: own.get(port[0], port[0]), _INSTANCE.sub(connected, module))


def _instances_of(module: str, names: Mapping[str, str]) -> str:
    """A module with other names of the modules that it instantiates."""
    return _INSTANCE.sub(lambda cell: f"  cell {names.get(cell[1], cell[1])}{cell[2]}", module)
