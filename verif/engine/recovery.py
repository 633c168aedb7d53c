"""Faults and what comes after them: time limits of ports, soft resets, nothing left open, and transfers that work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from math import floor, log2

from cdma.golden.engine import Descriptor, Operation, Status
from cdma.verif.engine.stimulus import random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench

__all__ = ["READ", "USES", "WRITE", "goes_on", "limit_ports", "longest_silence", "ports_are_back", "reset_softly",
           "right_pair", "rounds"]

READ, WRITE = ("ar", "r"), ("aw", "w", "b")
USES = {Operation.OFFLOAD: {"device": READ, "link": WRITE}, Operation.PREFETCH: {"link": READ, "device": WRITE}}
"""Channels that a direction uses at each memory."""

_LIMIT = 11
"""Logarithm of the lanes' limit: more than twice as many cycles as the memories' pauses and latencies together."""

_ISOLATED = 0xFFFF_0000
"""Bits of STATUS that say which ports are."""


def right_pair(bench: EngineTestbench, blocks: int = 0) -> list[Descriptor]:
    """An offload and a prefetch that are right."""
    tensors = [random_tensor(bench.rng, bench.config, most_blocks=blocks) for _ in range(2)]
    return [bench.offload(tensors[0]), bench.prefetch(bench.stream(tensors[1]), tensors[1])]


async def goes_on(bench: EngineTestbench) -> None:
    """Check that no AXI transaction is open, that memory has the expected content, and that both directions work."""
    await bench.quiet()
    await bench.compare()
    bench.clear()
    descriptors = right_pair(bench)
    await bench.load()
    for completion in await bench.run(descriptors):
        assert completion.status is Status.OK
    await bench.compare()
    bench.clear()


async def rounds(bench: EngineTestbench, count: int, behaviours: int = 1) -> AsyncIterator[int]:
    """The rounds of a test, by their numbers. Each begins with free places and with random behaviours of the memories:
    one of both, one of each, or as they were; and ends with an engine that works."""
    for number in range(count):
        bench.clear()
        if behaviours:
            await bench.behave(*(random_behaviour(bench.rng) for _ in range(behaviours)))
        yield number
        await goes_on(bench)


async def ports_are_back(bench: EngineTestbench) -> None:
    """Wait until no port is isolated, and expect that all answer."""
    assert await bench.control.sets("STATUS", _ISOLATED, 200_000, to=False), (
        f"a port stays isolated: {await bench.control.state()}")
    bench.scoreboard.silence()


async def reset_softly(bench: EngineTestbench, descriptors: Sequence[Descriptor]) -> None:
    """Hand descriptors over, reset the engine by its register while it works on them, and check that all registers have
    their reset values."""
    await bench.push(descriptors)
    await bench.control.wait(int(bench.rng.integers(1, 1500)))
    await bench.control.soft_reset()
    await bench.quiet()
    for name, register in bench.control.registers.items():
        value = await bench.control.read(name)
        assert value == register.reset, f"{name} is {value:#x} after the soft reset, not {register.reset:#x}"
    for descriptor in descriptors:
        bench.scoreboard.lost(descriptor)


def _link_limit(bench: EngineTestbench) -> int:
    """Logarithm of the link's limit: with a slower clock, more than half as many of its cycles as the lanes' limit."""
    return _LIMIT + floor(log2(bench.link_cycle))


def longest_silence(bench: EngineTestbench) -> int:
    """Cycles after which every port that answers nothing has been reported."""
    return 2 << _link_limit(bench)


async def limit_ports(bench: EngineTestbench) -> None:
    """Write the limits of the lanes' ports and of the link's."""
    await bench.control.write("TIME_LIMIT", _LIMIT << 8 | _link_limit(bench))
