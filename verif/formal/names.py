"""Names of the signals inside a component, alike in all versions of Python."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path

from amaranth.hdl import Signal

__all__ = ["names_of"]

_NAMELESS = ("$signal", "$like")
"""How Amaranth names signals when the bytecode does not tell which variable they are for."""


def names_of(signals: Iterable[Signal]) -> list[tuple[str, Signal]]:
    """Name signals as their sources do; each signal comes once, in the order of its first place.

    Amaranth takes the name of a signal from the bytecode of the statement that makes it. What can be seen there differs
    between versions of Python: of ``a, b = Signal(), Signal()``, one version names none, another one names ``b``. So a
    signal without a name gets that of the variable that the statement in its source assigns it to. Where this cannot
    be told either, signals are called ``$0``, ``$1`` and so on.
    """
    once = list({id(signal): signal for signal in signals}.values())
    found: dict[int, str] = {}
    made = sorted(once, key=lambda signal: (*_line(signal), signal.duid))
    for (path, line), of_line in groupby(made, key=_line):
        there, targets = list(of_line), _targets(path).get(line, ())
        # There are more signals where the statement ran several times, fewer where some are never assigned.
        if targets and len(there) % len(targets) == 0:
            found |= {id(signal): targets[number % len(targets)] for number, signal in enumerate(there)}
    named: list[tuple[str, Signal]] = []
    nameless = 0
    for signal in once:
        name = signal.name
        if name in _NAMELESS and id(signal) in found:
            name = found[id(signal)]
        elif name in _NAMELESS:
            name, nameless = f"${nameless}", nameless + 1
        named.append((name, signal))
    return named


def _line(signal: Signal) -> tuple[str, int]:
    path, line = signal.src_loc
    return path, line


@cache
def _targets(path: str) -> dict[int, tuple[str, ...]]:
    """By line of a source, the variables that it assigns new signals to; lines that do something else are left out."""
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return {}
    by_line: dict[int, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        targets, values = ((target.elts, value.elts) if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                           else ([target], [value]))
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        if len(names) == len(values) and all(_makes_signal(each) and each.lineno == node.lineno for each in values):
            by_line[node.lineno] = tuple(names)
    return by_line


def _makes_signal(value: ast.expr) -> bool:
    """Whether an expression is ``Signal(...)`` or ``Signal.like(...)``."""
    if not isinstance(value, ast.Call):
        return False
    called = value.func.value if isinstance(value.func, ast.Attribute) else value.func
    return isinstance(called, ast.Name) and called.id == "Signal"
