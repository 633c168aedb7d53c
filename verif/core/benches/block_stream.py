"""Long data through a block core: arrays go in as a whole or block by block; results are reported, not judged."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.verif.core.benches.stream import pass_arrays


@cocotb.test()
async def stream(dut: Any) -> None:
    """Arrays through a block core."""
    await pass_arrays(dut)
