"""Checks of descriptors: each against the golden model, on the edges of what is allowed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from cdma.golden.engine import OPEN, WINDOW_BYTES, Descriptor, Parameters, Window, Windows
from cdma.golden.engine import Operation as GoldenOperation
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.control.checker import Checker
from cdma.hdl.engine.control.descriptor import Operation
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import clocked
from tests.hdl.engine.control.bench import good, window_pages, words_of

_MOST = 1 << 40
_CODINGS = (0x11, 0x12, 0x14, 0x22, 0x24)
_CONFIGS = {
    "default": load_engine("engine"),
    "tiny": load_engine("tiny"),
    "paper": load_engine("paper").replace(crc=False),
    "full": load_engine("wide").replace(address_bits=64),
    "narrowing": load_engine("engine").replace(narrowing=True),
    "float32": EngineConfig(codings=("zvc16", "zvc32", "float32"), narrowing=True),
    "narrowing16": EngineConfig(narrowing=True, codings=("zvc16",), block_bytes=1024, crc=False),
    "page lists": load_engine("tiny").replace(page_lists=True),
    "page lists of 64 bits": load_engine("wide").replace(address_bits=64, page_lists=True),
    "odd": EngineConfig(address_bits=33, codings=("zvc8", "zvc16"), link_beat_bytes=64, block_bytes=32768,
                        buffer_bytes=65536),
    "windows": load_engine("engine").replace(address_windows=True, codings=("zvc8", "zvc32")),
    "windows32": load_engine("tiny").replace(address_windows=True),
    "windows64": load_engine("wide").replace(address_windows=True, address_bits=64),
    "windows and page lists": load_engine("engine").replace(address_windows=True, page_lists=True),
}
_OF_WINDOWS = {Status.SOURCE_OUTSIDE_WINDOW.value, Status.DESTINATION_OUTSIDE_WINDOW.value}


def _edges(config: EngineConfig, operation: int) -> dict[str, list[dict[str, Any]]]:
    """One field or two beside each other's limits: by what is tried, what is changed in a good descriptor."""
    size, end, grain = config.numbers[-1] & 15, 1 << config.address_bits, {
        "source": config.block_bytes if operation == 1 else config.link_beat_bytes,
        "destination": config.link_beat_bytes if operation == 1 else config.block_bytes}
    linked = "destination" if operation == 1 else "source"
    listed = {"page_list": True, "page_size": 12}
    # Lengths of some pages, and a little less or more; ends of what is read and written, beside the last address.
    lengths = [(pages * 32768, surplus) for pages in (1, 3, 1 << 10, 1 << 16) for surplus in (-size, 0, size, 32768)]
    ends = [(name, address) for name in grain for address in (
        end - grain[name], end, end + grain[name], 1 << 63, (1 << 64) - grain[name], end // 2) if address < 1 << 64]
    capacities = (0, 1, 4095, 4096, 4097, (1 << 32) - 1, 1 << 32, _MOST - 1, _MOST, _MOST + 5, 1 << 63, (1 << 64) - 1,
                  end - 1, min(end, (1 << 64) - 1))
    return {
        "nothing wrong": [{"tag": 0xDEADBEEF}],
        "operations": [{"operation": other} for other in (0, 1, 2, 3, 4, 129, 255)],
        "codings": [{"coding": other, "raw_bytes": length}
                    for other in (*_CODINGS, 0, 1, 2, 4, 0x10, 0x13, 0x18, 0x21, 0x32, 0x54, 0x91, 0xA4, 255)
                    for length in (1, 2, 3, 4, 6, 4095, 4096)],
        "flags that are not defined": [{"other_flags": 1 << bit} for bit in range(7, 16)],
        "flags": [dict(zip(("interrupt", "check_crc", "fallback", "leave_raw"), bits, strict=True), crc=0x89ABCDEF)
                  for bits in product((False, True), repeat=4)],
        "narrowing": [{"narrow": narrow, "coding": other, "raw_bytes": length, "capacity": 8192}
                      for narrow in range(4) for other in (*_CODINGS, 0x02)
                      for length in (1, 2, 4, 6, 8, 4096 + 2, 4096 + 4)],
        "reserved bits": [{"reserved": words, **pages} for pages in ({}, {**listed, "pages": 1}) for bit in (0, 17, 23)
                          for words in ((1 << bit, 0), (0, 1), (0, 1 << bit + 8))],
        "page sizes": [{"page_size": page_size, **pages} for page_size in (*range(24), 32, 128, 255)
                       for pages in ({"page_list": True, "pages": 1}, {"pages": page_size % 2})],
        "numbers of pages": [{"pages": pages, **how}
                             for pages in (0, 1, 2, (1 << 28) - 1, 1 << 28, (1 << 28) + 1, (1 << 32) - 1)
                             for how in ({}, listed, {"page_list": True, linked: 1})],
        "page lists that end beside the last address": [
            {**listed, "pages": pages + surplus, "page_size": 21, "capacity": capacity,
             linked: (end - pages * 8) // grain[linked] * grain[linked]}
            for pages in (8, 1 << 13, 1 << 27) for surplus in (-1, 0, 1, 64)
            for capacity in (4096, _MOST - 1, _MOST, (1 << 64) - 1)],
        "raw lengths": [{"raw_bytes": length, "capacity": _MOST} for length in (
            0, size, _MOST - size, _MOST, _MOST + size, 1 << 32, 1 << 63, (1 << 64) - size, 1 << 39)],
        "packed lengths": [{"packed_bytes": length} for length in (
            0, 1, 2, 3, 4, 6, 8, 1 << 32, _MOST - 4, _MOST - 1, _MOST, 1 << 63, (1 << 64) - 4)],
        "alignment": [{name: 1 << bit} for name in grain for bit in range(16)],
        "addresses": [{name: address, "raw_bytes": size, "packed_bytes": 4 * (operation == 2), "capacity": capacity}
                      for name, address in ends for capacity in (0, size, 32)],
        "ends of sources": [{"source": end - length, "raw_bytes": length + surplus, "capacity": length,
                             "packed_bytes": 0 if operation == 1 else length + surplus // size * 4}
                            for length, surplus in lengths],
        "ends of destinations": [{"destination": end - length, "raw_bytes": length + (operation == 2) * surplus,
                                  "capacity": length + surplus + (operation == 2) * 99999}
                                 for length, surplus in lengths],
        "ends of destinations, carried": [{"destination": end - length, "capacity": length + (1 << 32)}
                                          for length, _ in lengths[::4]],
        "capacities": [{"capacity": capacity, **how} for capacity in capacities for how in (
            {}, {"raw_bytes": 4096 if capacity < 1 << 32 else (1 << 32) + 4096 * size},
            {"destination": grain["destination"]})],
    }


def _run(config: EngineConfig, operation: Operation, cases: Iterable[tuple[Descriptor, Windows]]) -> Counter[int]:
    """Checks descriptors one after the other, each as golden does; how often each status came."""
    dut, built, seen = Checker(config, operation), Parameters.of(config), Counter()

    async def process(ctx: Any) -> None:
        for asked, windows in cases:
            status = int(built.refusal(asked, GoldenOperation(operation.value), windows) or 0)
            seen[status] += 1
            if config.address_windows:
                ctx.set(dut.windows, window_pages(windows))
            words = words_of(asked.pack())
            ctx.set(dut.start, 1)
            cycles = 0
            while not ctx.get(dut.done):
                word = ctx.get(dut.word)
                await ctx.tick()
                ctx.set(dut.start, 0)
                ctx.set(dut.data, words[word])
                cycles += 1
                assert cycles <= 19
            assert cycles == 19
            assert ctx.get(dut.status).value == status, asked
            assert (ctx.get(dut.tag), ctx.get(dut.operation)) == (asked.tag, asked.operation)
            assert ctx.get(dut.interrupt) == asked.interrupt
            if status == 0:
                right = {name: getattr(asked, name) for name in (
                    "source", "destination", "raw_bytes", "packed_bytes", "check_crc", "crc", "fallback", "leave_raw")}
                right |= {"element": asked.coding & 15, "exponents": asked.coding >> 5,
                          "capacity": min(asked.capacity, _MOST - 1)}
                if config.page_lists:
                    right["listed"] = asked.page_list
                if asked.page_list:
                    right |= {"pages": asked.pages, "page_size": asked.page_size - 12}
                got = ctx.get(dut.request)
                assert ({name: got[name] for name in right}, got.narrow.value) == (right, asked.narrow)
            await ctx.tick()

    clocked(dut, process)
    return seen


@pytest.mark.parametrize("operation", Operation, ids=lambda operation: operation.name.lower())
@pytest.mark.parametrize("name", _CONFIGS)
def test_edges(name: str, operation: Operation) -> None:
    config = _CONFIGS[name]
    edges = _edges(config, operation.value)
    seen = _run(config, operation, [(good(operation.value, **{"coding": config.numbers[-1]} | changes), OPEN)
                                    for cases in edges.values() for changes in cases])
    expected = {status.value for status in Status if status.value < 0x10} - _OF_WINDOWS
    if operation is Operation.PREFETCH:
        expected.add(Status.DESTINATION_TOO_SMALL.value)
    if not config.page_lists:
        expected.remove(Status.BAD_PAGE_LIST.value)
    assert set(seen) == expected, "the edges leave a check out"


@pytest.mark.parametrize("operation", Operation, ids=lambda operation: operation.name.lower())
@pytest.mark.parametrize("name", [name for name, config in _CONFIGS.items() if config.address_windows])
def test_windows(name: str, operation: Operation) -> None:
    """Windows from any bit of an address on; what is read and written begins or ends beside one of their ends."""
    config, rng = _CONFIGS[name], random.Random(f"{name} {operation}")
    bits, last = config.address_bits, 1 << config.address_bits
    grains = (config.block_bytes, config.link_beat_bytes)

    def window() -> Window:
        base, length = (rng.getrandbits(bits) >> rng.randrange(bits - 13) for _ in range(2))
        limit = rng.choice([0, base + length])
        return Window(*(each % last // WINDOW_BYTES * WINDOW_BYTES for each in (base, limit)))

    def place(inside: Window, grain: int, length: int) -> int:
        near = rng.choice([inside.base, (inside.limit or last) - length])
        near = (near + rng.choice([0, 0, 0, -grain, grain])) % last // grain * grain
        return near ^ (1 << rng.randrange(13, bits)) * (rng.random() < 0.3)

    cases = []
    for _ in range(400):
        windows = Windows(device=window(), link=window())
        raw, packed = (4096 * rng.choice([1, 2, 7, 1 << 20]) for _ in range(2))
        of_device, of_link = (place(inside, grain, length) for inside, grain, length in (
            (windows.device, grains[0], raw), (windows.link, grains[1], packed)))
        fields: dict[str, Any] = {"source": of_device, "destination": of_link, "capacity": packed}
        if operation is Operation.PREFETCH:
            fields = {"source": of_link, "destination": of_device, "capacity": raw, "packed_bytes": packed}
        cases.append((good(operation.value, coding=config.numbers[-1], raw_bytes=raw, **fields), windows))
    seen = _run(config, operation, cases)
    assert min(seen[status] for status in (0, *_OF_WINDOWS)) > 20, seen
