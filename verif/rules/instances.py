"""Puts rule modules on the ports of a design that is simulated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cdma.verif.rules.catalogue import source

__all__ = ["instance", "pins_of", "with_rules"]

_PIN = re.compile(r"^    input wire (?:\[.*\] )?(\w+),?$", re.MULTILINE)


def pins_of(file: str, used: Iterable[str]) -> list[str]:
    """The pins of the rules of a file.

    Raises
    ------
    ValueError
        If there are no such rules, or they lack one that is used.
    """
    known = _PIN.findall(source(file))
    if unknown := sorted(set(used) - set(known)):
        raise ValueError(f"the rules in {file} have no pin {unknown[0]!r}: choose from {', '.join(known)}")
    return known


def instance(file: str, name: str, parameters: Mapping[str, int], pins: Mapping[str, str]) -> str:
    """An instance of the rules of a file, as Verilog.

    Parameters
    ----------
    file
        One of :data:`cdma.verif.rules.catalogue.FILES`.
    name
        Of the instance: reports name it.
    parameters
        Values of the module's parameters; all others have their default.
    pins
        What each pin of the module is joined to. Others are 0.

    Raises
    ------
    ValueError
        If there are no such rules, or they have no such pin.
    """
    values = ", ".join(f".{key}({value})" for key, value in parameters.items())
    joined = ",\n        ".join(f".{pin}({pins.get(pin, '0')})" for pin in pins_of(file, pins))
    return f"    {file.removesuffix('.v')}_rules #({values}) {name} (\n        {joined}\n    );"


def with_rules(text: str, top: str, files: Iterable[str], instances: Iterable[str]) -> str:
    """Verilog with instances of rules in one of its modules.

    Parameters
    ----------
    text
        Verilog that has the module.
    top
        Its name.
    files
        The rules that the instances are of.

    Raises
    ------
    ValueError
        If there is no such module.
    """
    found = re.search(rf"^module {re.escape(top)}\b.*?(?=^endmodule$)", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"there is no module {top} to put rules into")
    return "\n".join([source(*files), text[:found.end()], *instances, text[found.end():]])
