"""Both paths with parity in the memories of their lanes: an error ends a transfer that is alone, and is counted.

Several are repeated, and all succeed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.engine import Descriptor, Operation, Status
from cdma.hdl.engine.paths.offload import OffloadPath
from cdma.hdl.engine.paths.prefetch import PrefetchPath
from cdma.hdl.engine.transfer.buffers import LaneMemory
from tests.hdl.bench import Bench
from tests.hdl.engine.paths.bench import LEAN, PathBench

_CONFIG = LEAN.replace(buffer_parity=True, safe_writes=True)
_BLOCK = _CONFIG.block_bytes
_RAW_BYTES = 6 * _BLOCK - 12
_OFFLOAD = [LaneMemory.RAW_BEATS, LaneMemory.DATA_ROWS, LaneMemory.TAG_ROWS, LaneMemory.FRAMED_ROWS]
_PREFETCH = [LaneMemory.PAYLOAD_ROWS, LaneMemory.METADATA_WORDS, LaneMemory.BURST_BEATS]


@lru_cache(maxsize=2)
def _prepared(operation: Operation) -> tuple[Any, Bench]:
    dut = (OffloadPath if operation is Operation.OFFLOAD else PrefetchPath)(_CONFIG)
    return dut, Bench(dut)


def _bench(operation: Operation, seed: int, pauses: float) -> PathBench:
    bench = PathBench(*_prepared(operation), _CONFIG, operation, seed=seed, pauses=pauses)
    # Every block has zeros and others, so all memories of its coding are used.
    values = np.random.default_rng(seed).integers(1, 1 << 32, bench.golden.device.image.size // 4, dtype=np.uint32)
    values[::2] = 0
    bench.golden.device.image[:] = values.view(np.uint8)
    bench.lanes[0].content[:] = values.tobytes()
    return bench


def _asked(bench: PathBench, operation: Operation, number: int = 0) -> Descriptor:
    """A transfer of six blocks; what transfers of other numbers read and write is elsewhere."""
    if operation is Operation.OFFLOAD:
        return Descriptor(operation=operation, coding=0x14, source=_BLOCK, destination=4096 * number, capacity=4096,
                          raw_bytes=_RAW_BYTES)
    raw = bytes(bench.golden.device.image[:_RAW_BYTES])
    stream = blocks.compress(raw, 0x14, _BLOCK).tobytes()
    bench.put(4096 * number, stream)
    return Descriptor(operation=operation, coding=0x14, source=4096 * number, destination=8192 + 4096 * number,
                      raw_bytes=_RAW_BYTES, capacity=_RAW_BYTES, packed_bytes=len(stream), check_crc=True,
                      crc=crc32c(stream))


@pytest.mark.parametrize("operation", list(Operation))
def test_an_error_ends_the_transfer_that_meets_it(operation: Operation) -> None:
    bench = _bench(operation, 3, 0.2)
    memories = _OFFLOAD if operation is Operation.OFFLOAD else _PREFETCH

    async def process(ctx: Any) -> None:
        count = 0
        for memory in memories:
            for lane in range(_CONFIG.lanes):
                asked = _asked(bench, operation)
                before = bytes(bench.lanes[0].content)
                await bench.spoil(ctx, lane, memory.value % 8)
                found = await bench.transfer(ctx, asked)
                assert (found.status, found.lane) == (Status.BUFFER_PARITY, lane), f"{memory.name} of lane {lane}"
                assert found.crc == found.bytes_written == 0
                count += 1
                assert bench.buffer_errors == count
                if operation is Operation.PREFETCH:
                    _nothing_wrong(bench, asked, before)
                bench.mend()
                assert (await bench.transfer(ctx, asked)).status is Status.OK

    bench.run(process)


def _nothing_wrong(bench: PathBench, asked: Descriptor, before: bytes) -> None:
    """Each byte of the destination is the old one or the right one."""
    for at in range(asked.raw_bytes):
        seen, right = bench.lanes[0].content[asked.destination + at], bench.golden.device.image[at]
        assert seen in (before[asked.destination + at], right), f"byte {at} is wrong"


@pytest.mark.parametrize("operation", list(Operation))
def test_transfers_that_overlap_are_repeated(operation: Operation) -> None:
    bench = _bench(operation, 4, 0.2)
    memories = _OFFLOAD if operation is Operation.OFFLOAD else _PREFETCH

    async def process(ctx: Any) -> None:
        for number, memory in enumerate(memories):
            asked = [_asked(bench, operation, place) for place in range(5)]
            await bench.spoil(ctx, number % _CONFIG.lanes, memory.value % 8)
            found = await bench.several(ctx, asked)
            assert [each.status for each in found].count(Status.OK) >= 4
            assert bench.buffer_errors == number + 1
            bench.mend()

    bench.run(process)
    assert bench.most > 2
