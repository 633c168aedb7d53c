"""The registers on the bus, against the map in the job, which was read from the generated files."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.verif.common import job
from cdma.verif.engine.lite import refused
from cdma.verif.engine.testbench import ready


@cocotb.test()
async def reset_values(dut: Any) -> None:
    """Every register is at its offset in the map, and reads its reset value there."""
    bench = await ready(dut)
    for name, (offset, reset, _) in job.load()["map"].items():
        value = await bench.control.bus.read(offset)
        assert value == reset, f"{name} at {offset:#x} reads {value:#010x} after reset, not {reset:#010x}"


@cocotb.test()
async def writable_bits(dut: Any) -> None:
    """Bits that can be read and written hold what is written, and no other register changes with them."""
    bench = await ready(dut)
    values = job.load()["map"]
    plain = {name: (offset, mask) for name, (offset, _, mask) in values.items() if mask}
    for name, (offset, mask) in plain.items():
        before = {other: await bench.control.bus.read(place) for other, (place, _) in plain.items() if other != name}
        for pattern in (0xFFFF_FFFF, 0x5555_5555, 0xAAAA_AAAA):
            await bench.control.bus.write(offset, pattern)
            seen = await bench.control.bus.read(offset)
            wanted = pattern & mask
            assert seen == wanted, f"{name} reads {seen:#010x} after {pattern:#010x}, not {wanted:#010x}"
        after = {other: await bench.control.bus.read(place) for other, (place, _) in plain.items() if other != name}
        assert before == after, f"writing {name} changed another register"


@cocotb.test()
async def holes(dut: Any) -> None:
    """An offset where the map has nothing answers with an error; beside a register that is alone in its 8 bytes it
    reads 0 and ignores writes."""
    bench = await ready(dut)
    known = {offset for offset, _, _ in job.load()["map"].values()}
    reserved = {offset ^ 4 for offset in known} - known
    for offset in sorted(reserved):
        await bench.control.bus.write(offset, 0xFFFF_FFFF)
        assert await bench.control.bus.read(offset) == 0, f"offset {offset:#x} is reserved and does not read 0"
    for offset in sorted(set(range(0, 0x1000, 4)) - known - reserved)[::7]:
        for access in (bench.control.bus.read(offset), bench.control.bus.write(offset, 1)):
            await refused(access, f"offset {offset:#x}, where there is no register,")
