"""Time limits of ports that memories keep within, also those behind a slow clock of the link."""

from __future__ import annotations

from math import floor, log2

from cdma.verif.engine.testbench import EngineTestbench

__all__ = ["limit_ports", "longest_silence"]

_LIMIT = 11
"""Logarithm of the lanes' limit: more than twice as many cycles as the memories' pauses and latencies together."""


def _link_limit(bench: EngineTestbench) -> int:
    """Logarithm of the link's limit: with a slower clock, more than half as many of its cycles as the lanes' limit."""
    return _LIMIT + floor(log2(bench.link_cycle))


def longest_silence(bench: EngineTestbench) -> int:
    """Cycles after which every port that answers nothing has been reported."""
    return 2 << _link_limit(bench)


async def limit_ports(bench: EngineTestbench) -> None:
    """Write the limits of the lanes' ports and of the link's."""
    await bench.control.write("TIME_LIMIT", _LIMIT << 8 | _link_limit(bench))
