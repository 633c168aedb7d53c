"""Streams in pages through the paths, against golden: where their bytes go or come from, one transfer after another."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.engine import Descriptor, Operation, Status
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.data_path import DataPath
from cdma.hdl.engine.paths.offload import OffloadPath
from cdma.hdl.engine.paths.prefetch import PrefetchPath
from tests.hdl.bench import Bench
from tests.hdl.engine.link.streams import activations
from tests.hdl.engine.paths.bench import LEAN, PathBench

_PAGE = 4096
_LIST, _FLAT = 0xF000, 0xE000       # where page lists are, and a stream that is not in pages
_PAGES = range(0, _FLAT, _PAGE)


@lru_cache(maxsize=4)
def _prepared(config: EngineConfig, operation: Operation) -> tuple[DataPath, Bench]:
    dut = (OffloadPath if operation is Operation.OFFLOAD else PrefetchPath)(config)
    return dut, Bench(dut)


def _list(bench: PathBench, number: int, pages: list[int]) -> int:
    """Puts a page list into the link's memory; returns its address."""
    address = _LIST + 256 * number
    bench.put(address, struct.pack(f"<{len(pages)}Q", *pages))
    return address


def _prefetch(bench: PathBench, number: int, raw_bytes: int, pages: list[int]) -> Descriptor:
    """A prefetch of a stream in some pages, or at one place without any."""
    raw = activations(bench.rng, raw_bytes, 4)
    stream = blocks.compress(raw, 0x14, bench.config.block_bytes).tobytes()
    if pages:
        assert len(stream) <= len(pages) * _PAGE
        for place, start in zip(pages, range(0, len(stream), _PAGE), strict=False):
            bench.put(place, stream[start:start + _PAGE])
    else:
        bench.put(_FLAT, stream)
    return Descriptor(operation=Operation.PREFETCH, coding=0x14, source=_list(bench, number, pages) if pages else _FLAT,
                      destination=8192 * number, raw_bytes=raw_bytes, capacity=raw_bytes, packed_bytes=len(stream),
                      check_crc=True, crc=crc32c(stream), page_list=bool(pages), pages=len(pages),
                      page_size=12 if pages else 0)


def _offload(bench: PathBench, number: int, raw_bytes: int, pages: list[int]) -> Descriptor:
    """An offload to some pages, or to one place."""
    return Descriptor(operation=Operation.OFFLOAD, coding=0x14, source=8192 * number,
                      destination=_list(bench, number, pages) if pages else _FLAT, raw_bytes=raw_bytes,
                      capacity=max(len(pages), 1) * _PAGE, page_list=bool(pages), pages=len(pages),
                      page_size=12 if pages else 0)


@pytest.mark.parametrize("in_flight", [1, 2])
@pytest.mark.parametrize("operation", Operation, ids=lambda operation: operation.name.lower())
def test_streams_in_pages(operation: Operation, in_flight: int) -> None:
    """Pages in any order; between them a stream that is not in pages; at last a list with too few entries."""
    config = LEAN.replace(page_lists=True, transfers_in_flight=in_flight)
    bench = PathBench(*_prepared(config, operation), config, operation, seed=in_flight, pauses=0.1)
    make = _offload if operation is Operation.OFFLOAD else _prefetch
    places = list(_PAGES)
    random.Random(in_flight).shuffle(places)
    sizes = [(7 * 512 + 12, 2), (512, 1), (6000, 0), (15 * 512, 3), (8192, 3)]
    taken = iter(places)
    asked = [make(bench, number, size if count else 2000, [next(taken) for _ in range(count)])
             for number, (size, count) in enumerate(sizes)]

    async def process(ctx: Any) -> None:
        for each in await bench.several(ctx, asked):
            assert each.status is Status.OK
        assert bench.most == in_flight + 1
        # The list ends before the stream does.
        short = replace(make(bench, 0, 16384, [next(taken) for _ in range(5)]), pages=1)
        assert (await bench.transfer(ctx, short)).status is Status.PAGE_LIST_TOO_SHORT
        assert (await bench.transfer(ctx, asked[1])).status is Status.OK

    bench.run(process)
