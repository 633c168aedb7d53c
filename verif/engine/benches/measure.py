"""Tensors of many densities through an engine, one at a time; what passed the ports is reported."""

from __future__ import annotations

from typing import Any

import cocotb

from golden.engine import Descriptor, Status
from verif.common import job
from verif.common.tensors import random_raw
from verif.engine.memory import Behaviour
from verif.engine.stimulus import RawTensor
from verif.engine.testbench import EngineTestbench, ready


@cocotb.test()
async def measure(dut: Any) -> None:
    """Offload and prefetch a tensor of every density."""
    values = job.load()
    bench = await ready(dut)
    await bench.behave(Behaviour(**values["behaviour"]))
    size = values["element_bytes"]
    passages = []
    for density in values["densities"]:
        tensor = RawTensor(random_raw(bench.rng, values["raw_bytes"] // size, size, density), size)
        stream = bench.stream(tensor)
        bench.clear()
        descriptors = {"offload": bench.offload(tensor), "prefetch": bench.prefetch(stream, tensor)}
        await bench.load()
        for direction, descriptor in descriptors.items():
            passage = await _passage(bench, descriptor, direction == "offload")
            passages.append({"direction": direction, "density": density, "raw_bytes": tensor.raw.size,
                             "packed_bytes": stream.size, **passage})
        await bench.compare()
    job.report({"passages": passages})


async def _passage(bench: EngineTestbench, descriptor: Descriptor, offload: bool) -> dict[str, Any]:
    """Beats, first and last cycle at the link and at every lane that had any, of one transfer."""
    await bench.device.clear()
    await bench.link.clear()
    completion, = await bench.run([descriptor])
    assert completion.status is Status.OK, completion
    link = await bench.link.traffic()
    lanes = [await bench.device.traffic(lane) for lane in range(bench.config.lanes)]
    reads = [(each.read_beats, each.first_read, each.last_read) for each in (link, *lanes)]
    writes = [(each.write_beats, each.first_write, each.last_write) for each in (link, *lanes)]
    from_lanes, to_link = (reads[1:], writes[0]) if offload else (writes[1:], reads[0])
    return {"link": to_link, "lanes": [lane for lane in from_lanes if lane[0]], "cycles": completion.cycles}
