"""Faults and what comes after them: time limits of ports, soft resets, nothing left open, and transfers that work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import replace
from math import floor, log2
from typing import Any

import numpy as np

from cdma.golden.codec.blocks import decompress
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.errors import StreamError
from cdma.golden.engine import ENTRY_BYTES, PAGE_SIZES, Descriptor, Operation, Status
from cdma.golden.engine.status import status_of
from cdma.verif.engine.pages import pages_of
from cdma.verif.engine.stimulus import DAMAGES, RawTensor, damage, random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench

__all__ = ["READ", "USES", "WRITE", "failing", "faults", "goes_on", "limit_ports", "longest_silence", "ports_are_back",
           "reset_softly", "right_pair", "rounds", "tries"]

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


def faults(bench: EngineTestbench) -> list[tuple[Operation, Status]]:
    """Directions with statuses that :func:`failing` transfers of this engine can have."""
    pages = [each for each in (Status.PAGE_MISALIGNED, Status.PAGE_OUTSIDE, Status.PAGE_LIST_TOO_SHORT,
                               Status.PAGE_LIST_READ_ERROR)
             if bench.config.page_lists and (each is not Status.PAGE_OUTSIDE or bench.config.address_bits < 64)]
    found = [(each, status) for each in Operation for status in (Status.DESTINATION_TOO_SMALL, *pages)]
    found += [(Operation.OFFLOAD, Status.LANE_READ_ERROR), (Operation.OFFLOAD, Status.LINK_WRITE_ERROR),
              (Operation.PREFETCH, Status.LANE_WRITE_ERROR), (Operation.PREFETCH, Status.LINK_READ_ERROR)]
    found += [(Operation.PREFETCH, status) for status in Status if _of_stream(status)]
    return found + ([(Operation.PREFETCH, Status.CRC_MISMATCH)] if bench.config.crc else [])


def _of_stream(status: Status) -> bool:
    return Status.BAD_CODING <= status <= Status.BAD_PAYLOAD


def failing(bench: EngineTestbench, operation: Operation, status: Status,
            coding: Coding) -> tuple[Descriptor, tuple[str, int] | None]:
    """A transfer of a coding that ends with a status, and the memory and address that has to answer with an error."""
    offload, of_list = operation is Operation.OFFLOAD, status.name.startswith("PAGE_")
    if _of_stream(status):
        return _malformed(bench, status, coding), None
    tensor = random_tensor(bench.rng, bench.config, coding=coding, most_blocks=2)
    if of_list:
        # More than a page, in any coding: the second entry is wrong.
        tensor = RawTensor(bench.rng.integers(0, 256, 2 << PAGE_SIZES[0], dtype=np.uint8), coding)
        bench.page_share, bench.page_size = 1, PAGE_SIZES[0]
    if offload and status is Status.DESTINATION_TOO_SMALL:
        return bench.offload(tensor, capacity=4), None
    right = bench.move(operation, tensor)
    changes: dict[Status, dict[str, Any]] = {
        Status.DESTINATION_TOO_SMALL: {"capacity": right.raw_bytes - 1}, Status.PAGE_LIST_TOO_SHORT: {"pages": 1},
        Status.CRC_MISMATCH: {"check_crc": True, "crc": right.crc ^ 1}}
    if status in changes:
        return replace(right, **changes[status]), None
    device = not of_list and offload == status.name.endswith("READ_ERROR")
    at = right.source if offload == device else right.destination
    if status in (Status.PAGE_MISALIGNED, Status.PAGE_OUTSIDE):
        wrong = 4 if status is Status.PAGE_MISALIGNED else 1 << 63
        bench.link_arena.view(at + ENTRY_BYTES, ENTRY_BYTES).view("<u8")[0] |= np.uint64(wrong)
        return right, None
    if not (device or of_list):
        (at, _), = pages_of(bench.link_arena, at, right, 1)
    return right, ("device" if device else "link", at)


def _malformed(bench: EngineTestbench, status: Status, coding: Coding) -> Descriptor:
    size = bench.config.block_bytes
    for _ in range(1000):
        tensor = random_tensor(bench.rng, bench.config, coding=coding, most_blocks=2, narrows=False)
        for _, _, stream in damage(bench.rng, [(bench.stream(tensor), size)] * len(DAMAGES)):
            try:
                decompress(stream, size, tensor.raw.size, coding=coding)
            except StreamError as fault:
                if status_of(fault)[0] is status:
                    return bench.prefetch(stream, tensor, check_crc=False)
    raise AssertionError(f"no damaged stream of {coding.name} gives {status.name}")


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


def tries(count: int, met: Collection[object]) -> Iterator[int]:
    """The tries of a test, by their numbers: ``count``, and up to ten times as many while ``met`` is empty. The test
    adds to it what it is looking for."""
    for number in range(10 * count):
        if number >= count and met:
            break
        yield number


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
