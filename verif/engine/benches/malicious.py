"""Malformed streams, many in a simulation: golden's status, or its bytes, and nothing outside of the destination."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.golden.engine import Status
from cdma.verif.common import job
from cdma.verif.engine.stimulus import damage, random_behaviour, random_tensor
from cdma.verif.engine.testbench import ready

_BATCH = 24


@cocotb.test()
async def malformed_streams(dut: Any) -> None:
    """So many streams as the job asks for, short ones, a right one after every third."""
    bench = await ready(dut)
    wanted = job.load()["streams"]
    done = refused = 0
    while done < wanted:
        await bench.behave(random_behaviour(bench.rng))
        bench.clear()
        tensors = [random_tensor(bench.rng, bench.config, most_blocks=2) for _ in range(min(_BATCH, wanted - done))]
        streams = [(bench.stream(each), each.coded_bytes(bench.config.block_bytes)) for each in tensors]
        descriptors = []
        order = bench.rng.permutation(len(streams))
        for _, number, stream in damage(bench.rng, [streams[at] for at in order]):
            tensor = tensors[order[number]]
            descriptors.append(bench.prefetch(stream, tensor, check_crc=False))
            if number % 3 == 0:
                descriptors.append(bench.prefetch(streams[order[number]][0], tensor))
        completions = await bench.load_and_run(descriptors)
        await bench.compare()
        done += len(tensors)
        refused += sum(completion.status is not Status.OK for completion in completions)
    await bench.quiet()
    bench.scoreboard.check()
    job.report({"streams": done, "refused": refused})
