"""Tensors of many densities through an engine, alone or in a row; reports the beats at its ports."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Descriptor, Operation, Status
from cdma.verif.common import job
from cdma.verif.common.tensors import network_values
from cdma.verif.engine.control import enabled
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.stimulus import RawTensor
from cdma.verif.engine.testbench import EngineTestbench, ready


@cocotb.test()
async def measure(dut: Any) -> None:
    """Offload and prefetch tensors of every density."""
    asked = job.load()
    bench = await ready(dut)
    bench.page_share, bench.page_size = float(asked["page_size"] is not None), asked["page_size"]
    await bench.behave(Behaviour(**asked["behaviour"]))
    coding = Coding(asked["coding"])
    passages = []
    for density in asked["densities"]:
        values = network_values(bench.rng, coding, asked["raw_bytes"] // coding.element_bytes, density)
        tensor = RawTensor(values, coding)
        stream = bench.stream(tensor)
        bench.clear()
        each = range(asked["count"])
        offloads = [bench.offload(tensor, capacity=stream.size) for _ in each]
        prefetches = [bench.prefetch(stream, tensor, check_crc=bench.config.crc) for _ in each]
        rings = bench.write_back(asked["ring_entries"]) if asked["ring_entries"] else {}
        await bench.load()
        async with enabled(*rings.values()):
            for direction, descriptors in (("offload", offloads), ("prefetch", prefetches)):
                passages.append({"direction": direction, "density": density, "raw_bytes": len(each) * tensor.raw.size,
                                 "packed_bytes": len(each) * stream.size} | await _passage(bench, descriptors))
        await bench.compare()
    job.report({"passages": passages})


async def _passage(bench: EngineTestbench, descriptors: list[Descriptor]) -> dict[str, Any]:
    """Beats of the link and of every lane that had any in these transfers, with the cycles of the first and the last;
    the cycles of the last completion, and those from the first beat of any port to the last, completions that are
    written back among them."""
    await bench.device.clear()
    await bench.link.clear()
    if len(descriptors) == 1:
        completion, = await bench.run(descriptors)
        assert completion.status is Status.OK, completion
        cycles = completion.cycles
    else:
        cycles = await _row(bench, descriptors)
    link = await bench.link.traffic()
    lanes = [await bench.device.traffic(lane) for lane in range(bench.config.lanes)]
    reads = [(each.read_beats, each.first_read, each.last_read) for each in (link, *lanes)]
    writes = [(each.write_beats, each.first_write, each.last_write) for each in (link, *lanes)]
    offload = descriptors[0].operation == Operation.OFFLOAD
    from_lanes, to_link = (reads[1:], writes[0]) if offload else (writes[1:], reads[0])
    seen = [(first, last) for beats, first, last in (*reads, *writes) if beats]
    span = max(last for _, last in seen) - min(first for first, _ in seen) + 1
    return {"link": to_link, "lanes": [lane for lane in from_lanes if lane[0]], "cycles": cycles, "span": span}


async def _row(bench: EngineTestbench, descriptors: list[Descriptor]) -> int:
    """Runs descriptors of one direction without a pause; of each completion only what is needed is read, because the
    registers would be the limit otherwise."""
    channel = bench.control.channels[Operation(descriptors[0].operation)]
    feeder = cocotb.start_soon(channel.feed(descriptors))
    for descriptor in descriptors:
        if channel.records is not None:
            cycles = (await bench.completed(descriptor)).cycles
            continue
        for _ in range(bench.patience(descriptor)):
            if await channel.read("COMPLETIONS"):
                break
        right = bench.scoreboard.expected(descriptor)[0]
        tag, status = [await channel.read(f"COMPLETION_{word}") for word in range(2)]
        assert (tag, status & 255) == (descriptor.tag, right.status), (descriptor, tag, status)
        if descriptor is descriptors[-1]:
            cycles = await channel.read("COMPLETION_8")
        await channel.write("COMPLETION_POP", 1)
    await feeder
    return cycles
