"""A core between the AXI4-Stream models of cocotbext-axi, which know nothing of this project.

They find the ports by name and drive them as their authors read the AXI4-Stream specification, so a rule that our own
source and sink both misread is detected.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from golden.codec import lines as zvc
from hdl.config.core import CoreConfig
from verif.common import job
from verif.common.tensors import corners
from verif.core import stimulus
from verif.core.benches.common import generator


def _tensors(config: CoreConfig) -> list[tuple[int, np.ndarray]]:
    """Element size and raw bytes; these models send no frame without bytes."""
    sizes, seed = config.element_bytes, int(generator().integers(1 << 30))
    packets = stimulus.random_packets(generator(), sizes, 60)
    for size in sizes:
        packets += corners(size, config.beat_bytes, seed)
    return [(packet.element_bytes, packet.data) for packet in packets if packet.data.size]


@cocotb.test()
async def packets_pass(dut: Any) -> None:
    """Frames equal those of the golden model for any pauses on either side."""
    config = CoreConfig(**job.load()["config"])
    dut.aresetn.value = 0
    cocotb.start_soon(Clock(dut.aclk, 1, "ns").start())
    buses = [AxiStreamBus.from_prefix(dut, prefix) for prefix in ("s_axis", "m_axis")]
    source = AxiStreamSource(buses[0], dut.aclk, dut.aresetn, reset_active_level=False)
    sink = AxiStreamSink(buses[1], dut.aclk, dut.aresetn, reset_active_level=False)
    for model in (source, sink):
        model.log.setLevel("WARNING")
    await ClockCycles(dut.aclk, 3)
    dut.aresetn.value = 1
    rng = generator()
    for probability in (0.0, 0.4):
        for model in (source, sink):
            model.set_pause_generator(cycle((rng.random(997) < probability).tolist()))
        expected: list[bytes] = []
        for size, raw in _tensors(config):
            given, wanted = raw, zvc.compress(raw, size)
            if config.core == "decompressor":
                given, wanted = wanted, given
            await source.send(AxiStreamFrame(given.tobytes(), tuser=size))
            expected.append(wanted.tobytes())
        for number, wanted in enumerate(expected):
            frame = await with_timeout(sink.recv(), 100, "us")
            assert bytes(frame.tdata) == wanted, f"packet {number} of {len(wanted)} bytes differs"
