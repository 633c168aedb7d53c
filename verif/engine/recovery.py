"""Checks after a fault: nothing is left open, and transfers work."""

from __future__ import annotations

from golden.engine import Descriptor, Status
from verif.engine.stimulus import random_tensor
from verif.engine.testbench import EngineTestbench

__all__ = ["goes_on", "right_pair"]


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
