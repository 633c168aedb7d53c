"""Shared by the benches of both block cores: the testbench of a job."""

from __future__ import annotations

from typing import Any

from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.verif.common import job
from cdma.verif.core.blocks.testbench import BlockTestbench

__all__ = ["block_ready"]


async def block_ready(dut: Any) -> BlockTestbench:
    """A testbench for the block core of the job, after reset."""
    bench = BlockTestbench(dut, BlockCoreConfig(**job.load()["config"]))
    await bench.reset()
    return bench
