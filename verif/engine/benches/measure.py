"""Tensors of many densities through an engine, one at a time; reports the beats at its ports."""

from __future__ import annotations

from typing import Any

import cocotb

from golden.engine import Descriptor, Status
from golden.results import from_json
from verif.common import job
from verif.common.tensors import random_raw
from verif.engine.jobs import Busy, MeasureJob, Passage, PassageReport
from verif.engine.stimulus import RawTensor
from verif.engine.testbench import EngineTestbench, ready


@cocotb.test()
async def measure(dut: Any) -> None:
    """Offload and prefetch a tensor of every density."""
    asked = from_json(MeasureJob, job.load())
    bench = await ready(dut)
    await bench.behave(asked.behaviour)
    size = asked.element_bytes
    passages = []
    for density in asked.densities:
        tensor = RawTensor(random_raw(bench.rng, asked.raw_bytes // size, size, density), size)
        stream = bench.stream(tensor)
        bench.clear()
        descriptors = {"offload": bench.offload(tensor), "prefetch": bench.prefetch(stream, tensor)}
        await bench.load()
        for direction, descriptor in descriptors.items():
            link, lanes, cycles = await _passage(bench, descriptor, direction == "offload")
            passages.append(Passage(direction, density, tensor.raw.size, stream.size, link, lanes, cycles))
        await bench.compare()
    job.report(PassageReport(tuple(passages)))


async def _passage(bench: EngineTestbench, descriptor: Descriptor, offload: bool) -> tuple[Busy, tuple[Busy, ...], int]:
    """Beats of the link and of every lane that had any in one transfer, and the cycles of its completion."""
    await bench.device.clear()
    await bench.link.clear()
    completion, = await bench.run([descriptor])
    assert completion.status is Status.OK, completion
    link = await bench.link.traffic()
    lanes = [await bench.device.traffic(lane) for lane in range(bench.config.lanes)]
    reads = [Busy(each.read_beats, each.first_read, each.last_read) for each in (link, *lanes)]
    writes = [Busy(each.write_beats, each.first_write, each.last_write) for each in (link, *lanes)]
    from_lanes, to_link = (reads[1:], writes[0]) if offload else (writes[1:], reads[0])
    return to_link, tuple(lane for lane in from_lanes if lane.beats), completion.cycles
