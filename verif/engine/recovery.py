"""Soft resets in mid-transfer, and checks after a fault: nothing is left open, and transfers work."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.golden.engine import Descriptor, Operation, Status
from cdma.verif.engine.stimulus import random_tensor
from cdma.verif.engine.testbench import EngineTestbench

__all__ = ["goes_on", "reset_softly", "right_pair"]


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


async def reset_softly(bench: EngineTestbench, descriptors: Sequence[Descriptor]) -> None:
    """Hand descriptors over, reset the engine by its register while it works on them, and check that all registers have
    their reset values."""
    for descriptor in descriptors:
        await bench.control.channels[Operation(descriptor.operation)].push(descriptor)
    await bench.control.wait(int(bench.rng.integers(1, 1500)))
    await bench.control.soft_reset()
    await bench.quiet()
    for name, register in bench.control.registers.items():
        value = await bench.control.read(name)
        assert value == register.reset, f"{name} is {value:#x} after the soft reset, not {register.reset:#x}"
    for descriptor in descriptors:
        bench.scoreboard.lost(descriptor)
