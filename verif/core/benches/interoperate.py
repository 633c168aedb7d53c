"""A core between the AXI4-Stream models of cocotbext-axi, which know nothing of this project.

They find the ports by name and drive them as their authors read the AXI4-Stream specification, so a rule that our own
source and sink both misread is detected.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from cdma.golden.codec import lines as zvc
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.core import CoreConfig
from cdma.verif.common import job
from cdma.verif.common.tensors import corners
from cdma.verif.core import block_stimulus, stimulus
from cdma.verif.core.benches.common import generator
from cdma.verif.core.packets import expected_raw, payloads
from cdma.verif.core.testbench import core_config

_Frame = tuple[bytes, int | None]
"""The bytes of a frame and its ``tuser``; a core of lines gives none."""


def _frames(config: CoreConfig) -> list[tuple[_Frame, list[_Frame]]]:
    """Frames that go into a core of lines, each with what comes out; these models send no frame without bytes."""
    sizes, seed = config.element_bytes, int(generator().integers(1 << 30))
    packets = stimulus.random_packets(generator(), sizes, 60)
    for size in sizes:
        packets += corners(size, config.beat_bytes, seed)
    found = []
    for packet in packets:
        given, wanted = packet.data.tobytes(), zvc.compress(packet.data, packet.element_bytes).tobytes()
        if config.core == "decompressor":
            given, wanted = wanted, given
        if given:
            found.append(((given, packet.element_bytes), [(wanted, None)]))
    return found


def _block_frames(config: BlockCoreConfig) -> list[tuple[_Frame, list[_Frame]]]:
    """The same for a block core: several payloads come out of a raw packet."""
    packets = [packet for packet in block_stimulus.random_packets(generator(), config, 15) if packet.data.size]
    if config.core == "block_compressor":
        return [((packet.data.tobytes(), packet.user),
                 [(payload.data.tobytes(), payload.user) for payload in payloads(packet, config.block_bytes)])
                for packet in packets]
    coded = [payload for packet in packets
             for payload in payloads(replace(packet, fallback=False), config.block_bytes)]
    raws = [expected_raw(payload, config).data for payload in coded]
    return [((payload.data.tobytes(), payload.user), [(raw.tobytes(), None)])
            for payload, raw in zip(coded, raws, strict=True) if raw is not None]


@cocotb.test()
async def packets_pass(dut: Any) -> None:
    """Frames equal those of the golden model for any pauses on either side."""
    config = core_config(job.load()["config"])
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
        frames = _block_frames(config) if isinstance(config, BlockCoreConfig) else _frames(config)
        for (data, user), _ in frames:
            await source.send(AxiStreamFrame(data, tuser=user))
        for number, (data, user) in enumerate(each for _, wanted in frames for each in wanted):
            frame = await with_timeout(sink.recv(), 100, "us")
            assert bytes(frame.tdata) == data, f"packet {number} of {len(data)} bytes differs"
            assert user in (None, frame.tuser), f"tuser of packet {number} is {frame.tuser}, not {user}"
