"""Verilog of the self-test alone, without a board around it."""

from __future__ import annotations

import os

from amaranth.back import verilog

from hdl.selftest.config import SelftestConfig
from hdl.selftest.selftest import Selftest

__all__ = ["selftest_verilog"]


def selftest_verilog(config: SelftestConfig, lines: bytes, clock_hz: int) -> str:
    """The self-test for a simulator: ports ``clk``, ``rst`` and those of :class:`~hdl.selftest.selftest.Selftest`."""
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    return verilog.convert(Selftest(config, lines, clock_hz), name=config.name, emit_src=False,
                           strip_internal_attrs=True)
