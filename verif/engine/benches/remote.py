"""An engine for software in another process: serves accesses to registers and memories until that process is done.

The simulation waits for each request, and time stands still meanwhile.
"""

from __future__ import annotations

from multiprocessing.connection import Client
from typing import Any

import cocotb

from cdma.golden.results import from_json
from cdma.verif.common import job
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.testbench import EngineTestbench, ready


@cocotb.test()
async def remote(dut: Any) -> None:
    """Serve requests; at the end no burst may be open, and no rule of a bus may have been broken."""
    asked = job.load()
    bench = await ready(dut)
    await bench.behave(from_json(Behaviour, asked["behaviour"]))
    await bench.load()
    with Client(asked["address"], "AF_UNIX") as connection:
        connection.send(tuple(memory.base for memory in (bench.device, bench.link)))
        while (request := _next(connection)) is not None:
            connection.send(await _answer(bench, *request))
    await bench.quiet()
    for memory in (bench.device, bench.link):
        for sentence in await memory.broken():
            bench.scoreboard.fault(sentence)
    bench.scoreboard.check()


def _next(connection: Any) -> Any:
    """The next request; None at the end, also if the other process has gone."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


async def _answer(bench: EngineTestbench, what: str, *arguments: Any) -> Any:
    if what == "read":
        return await bench.control.bus.read(*arguments)
    if what == "write":
        return await bench.control.bus.write(*arguments)
    if what == "wait":
        return await bench.control.wait(*arguments)
    memory = (bench.device, bench.link)[arguments[0]]
    return await (memory.load(arguments[2], arguments[1]) if what == "load" else memory.dump(*arguments[1:]))
