"""Finds register bits that no statement of a design assigns.

Registers without a reset start without a value in the Verilog, so such a bit keeps the noise of power-up for ever.
"""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Fragment, MemoryInstance

from tests.hdl.bench import assigned

__all__ = ["unassigned"]


def unassigned(design: Fragment, path: str = "top") -> Iterator[str]:
    """Registers without a reset that have such bits, each with its path and a mask of the bits."""
    for domain, statements in design.statements.items():
        if domain != "comb":
            for signal, mask in assigned(statements):
                if missing := (1 << len(signal)) - 1 & ~mask:
                    yield f"{path}.{signal.name} {missing:#x}"
    for part, name, *_ in design.subfragments:
        if not isinstance(part, MemoryInstance):
            yield from unassigned(part, f"{path}.{name}")
