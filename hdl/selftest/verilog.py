"""Verilog of the self-test alone, without a board around it."""

from __future__ import annotations

from cdma.hdl.generate.backend import verilog_text
from cdma.hdl.selftest.config import SelftestConfig
from cdma.hdl.selftest.selftest import Selftest

__all__ = ["selftest_verilog"]


def selftest_verilog(config: SelftestConfig, lines: bytes, clock_hz: int) -> str:
    """The self-test for a simulator: ports ``clk``, ``rst`` and those of
    :class:`~cdma.hdl.selftest.selftest.Selftest`."""
    config.check_lines(lines)
    return verilog_text(Selftest(config, lines, clock_hz), config.name)
