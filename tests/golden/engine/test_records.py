"""Records and memories of the engine's model: every bit where the hardware has it, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.engine import RECORD_BYTES, Completion, Descriptor, Fault, Memory, Operation, Response, Status
from cdma.hdl.engine.control.descriptor import Operation as HardwareOperation
from cdma.hdl.engine.control.descriptor import completion_layout, descriptor_layout, record_fields
from cdma.hdl.engine.transfer.records import Status as HardwareStatus
from tests.golden.engines import BUILT, LINK, PREFETCH, engine

_BLANK = Descriptor(operation=0, coding=0, source=0, destination=0, raw_bytes=0, capacity=0)
_NAMES = {"resp": "response", "bytes": "bytes_written"}


def test_codes_are_those_of_the_hardware() -> None:
    assert {each.name: each.value for each in Status} == {each.name: each.value for each in HardwareStatus}
    assert {each.name: each.value for each in Operation} == {each.name: each.value for each in HardwareOperation}


def test_every_field_of_a_descriptor_is_where_the_hardware_has_it() -> None:
    special: dict[str, dict[str, Any]] = {
        "interrupt": {"interrupt": True}, "check_crc": {"check_crc": True}, "no_fallback": {"fallback": False},
        "page_list": {"page_list": True}, "undefined": {"other_flags": 0xFF80},
        "reserved": {"reserved": (0xFF_FFFF, 0xFFFF_FFFF)}}
    for name, first, width in record_fields(descriptor_layout()):
        changes = special.get(name, {_NAMES.get(name, name): (1 << width) - 1})
        record = replace(_BLANK, **changes).pack()
        assert int.from_bytes(record, "little") == (1 << width) - 1 << first, name
        assert Descriptor.unpack(record) == replace(_BLANK, **changes)


def test_every_field_of_a_completion_is_where_the_hardware_has_it() -> None:
    blank = Completion(tag=0, status=Status.OK, operation=0)
    for name, first, width in record_fields(completion_layout()):
        if name in ("unused", "reserved"):
            with pytest.raises(ValueError, match="bits that must be zero"):
                Completion.unpack((1 << first + width - 1).to_bytes(RECORD_BYTES, "little"))
            continue
        value = Status.ABORTED if name == "status" else (1 << width) - 1
        completion = replace(blank, **{_NAMES.get(name, name): value})
        assert int.from_bytes(completion.pack(), "little") == value << first, name
        assert Completion.unpack(completion.pack()).pack() == completion.pack()


@given(record=st.binary(min_size=RECORD_BYTES, max_size=RECORD_BYTES))
def test_any_64_bytes_are_a_descriptor(record: bytes) -> None:
    assert Descriptor.unpack(record).pack() == record


def test_completions_are_compared_without_their_cycles() -> None:
    completion = Completion(tag=1, status=Status.LANE_READ_ERROR, operation=2, lane=5, response=3, place=10, cycles=11)
    assert Completion.unpack(completion.pack()) == replace(completion, cycles=12)
    assert Completion.unpack(completion.pack()).cycles == 11
    assert completion != replace(completion, place=11)


@pytest.mark.parametrize(("changes", "message"), [
    ({"operation": 256}, "operation must be a number of 8 bits, not 256"),
    ({"source": -1}, "source must be a number of 64 bits, not -1"),
    ({"capacity": 1 << 64}, "capacity must be a number of 64 bits"),
    ({"tag": 1 << 32}, "tag must be a number of 32 bits"),
    ({"reserved": (0, 1 << 32)}, "reserved must be a number of 32 bits"),
    ({"reserved": (1 << 24, 0)}, "reserved must be a number of 24 bits"),
    ({"other_flags": 1 << 16}, "other_flags must be a number of 16 bits"),
    ({"other_flags": 2}, "other_flags must leave bits 0x7f clear, which have names, not 0x2"),
])
def test_fields_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(PREFETCH, **changes).pack()


def test_records_that_are_none() -> None:
    with pytest.raises(ValueError, match="a descriptor has 64 bytes, not 3"):
        Descriptor.unpack(b"abc")
    with pytest.raises(ValueError, match="a completion has 64 bytes, not 65"):
        Completion.unpack(bytes(65))
    with pytest.raises(ValueError, match="99 is not a valid Status"):
        Completion.unpack(bytes(4) + b"\x63" + bytes(59))


def test_entries_of_rings() -> None:
    model = engine()
    model.link.write(LINK + 128, np.frombuffer(PREFETCH.pack(), np.uint8))
    model.link.faults.append(Fault(LINK + 200, LINK + 201, Response.DECERR, writes=False))
    assert model.fetch(LINK + 128) == PREFETCH
    assert model.fetch(LINK + 192) == Completion(tag=0, status=Status.DESCRIPTOR_READ_ERROR, operation=0, response=3,
                                                 place=LINK + 192)
    with pytest.raises(ValueError, match="multiple of 64"):
        model.fetch(LINK + 32)


@pytest.mark.parametrize(("address", "entries", "taken"), [
    (0, 2, True), (0, 1 << 16, True), (64, 2, True), (1 << 39, 4096, True),
    (0, 0, False), (0, 1, False), (0, 3, False), (0, 6, False), (0, 1 << 17, False),
    (32, 2, False), (63, 2, False), (-64, 2, False),
    ((1 << 40) - 128, 2, True), ((1 << 40) - 128, 4, False), ((1 << 40) - 64, 2, False), (1 << 40, 2, False),
    ((1 << 40) - (1 << 22), 1 << 16, True), ((1 << 40) - (1 << 22) + 64, 1 << 16, False),
])
def test_rings_that_are_taken(address: int, entries: int, taken: bool) -> None:
    assert BUILT.takes_ring(address, entries) == taken


def test_regions_of_memory() -> None:
    low, high = np.arange(64, dtype=np.uint8), np.zeros(32, np.uint8)
    memory = Memory(256, low)
    memory.add(1 << 40, high)
    memory.add(320, np.full(16, 7, np.uint8))
    assert memory.read(300, 20).tolist() == list(range(44, 64))
    memory.write((1 << 40) + 30, np.array([1, 2], np.uint8))
    assert high.tolist() == [0] * 30 + [1, 2]
    assert memory.read(320, 16).tolist() == [7] * 16
    copy = memory.read(256, 1)
    copy[:] = 99
    assert low[0] == 0
    for address, size in ((255, 2), (0, 1), (319, 2), (330, 7), ((1 << 40) + 31, 2), (1 << 50, 1)):
        with pytest.raises(ValueError, match="not within a region: there are 64 at 0x100, 16 at 0x140, 32 at"):
            memory.read(address, size)
        with pytest.raises(ValueError, match="not within a region"):
            memory.write(address, np.zeros(size, np.uint8))
    for base in (200, 256, 310, 335):
        with pytest.raises(ValueError, match="overlaps that of"):
            memory.add(base, np.zeros(100, np.uint8))
    for image in (np.zeros(4, np.int32), np.zeros((2, 2), np.uint8), bytes(4)):
        with pytest.raises(TypeError, match=r"a flat array of numpy.uint8"):
            memory.add(4096, image)  # pyright: ignore[reportArgumentType]
