"""The driver in Python on registers that the golden model plays; the same calls are on simulated ones in
tests/verif/engine/test_handover.py."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cdma.driver import (
    OWN_TAGS,
    Caches,
    Code,
    Driver,
    DriverError,
    Memories,
    Pages,
    TransferError,
    error_text,
    library,
)
from cdma.driver.layout import REGISTERS, mask
from cdma.golden.c import compiled
from cdma.golden.codec import blocks
from cdma.golden.engine import Memory, Operation, Status, Window
from cdma.hdl.config.engine import load_engine
from tests.cdma.driver.systems import BACK, BUILT, CODING, LINK, RING, STREAM, Halting, System, refused
from tests.docs.pages import ROOT, table

_OFFLOAD, _PREFETCH = Operation


def test_every_call_of_the_driver_in_c_is_there() -> None:
    rows = table(ROOT / "docs/programming.md", "function")
    names = {name.strip("` ").removeprefix("cdma_") for row in rows for name in row[0].split(",")}
    assert {"offload", "drain", "write_back_init"} <= names
    missing = {name for name in names - {"init", "error_text"} if not callable(getattr(Driver, name, None))}
    assert not missing
    own = {name for name, value in vars(Driver).items() if callable(value) and not name.startswith("_")}
    assert own <= names


def test_there_and_back() -> None:
    system = System()
    driver, size = system.driver, system.raw.nbytes
    assert (driver.state.lanes, driver.state.block_bytes, driver.state.queue_depth) == (1, 2048, BUILT.queue_depth)
    packed = driver.offload(0, STREAM, size, driver.capacity(size), CODING)
    right = blocks.compress(system.raw.view(np.uint8), CODING, BUILT.block_bytes)
    assert np.array_equal(system.link[:packed.bytes_written], right)
    back = driver.prefetch(STREAM, BACK, packed.bytes_written, size, CODING, packed.crc)
    assert back.bytes_written == size and np.array_equal(system.device[BACK:BACK + size], system.device[:size])
    counted = driver.take_counters(_OFFLOAD)
    assert (counted["raw_bytes"], counted["packed_bytes"]) == (size, right.size)
    assert not any(driver.take_counters(_OFFLOAD).values())


def test_pages() -> None:
    system = System()
    driver, size = system.driver, system.raw.nbytes
    system.ring(1)[:24].view("<u8")[:] = LINK + 0x3000, LINK + 0x1000, LINK + 0x5000
    pages = Pages(RING, 3, 12)
    packed = driver.offload_pages(0, pages, size, driver.capacity(size), CODING)
    assert packed.pages == -(-packed.bytes_written // 4096) == 2
    driver.prefetch_pages(pages, BACK, packed.bytes_written, size, CODING, packed.crc)
    assert np.array_equal(system.device[BACK:BACK + size], system.device[:size])
    plain = System(BUILT.replace(page_lists=False)).driver
    refused(Code.NOT_BUILT, plain.offload_pages, 0, pages, size, size, CODING)
    refused(Code.NOT_BUILT, plain.prefetch_pages, pages, BACK, size, size, CODING, 0)


def test_no_engine_and_other_versions() -> None:
    registers = System().registers
    for name, value, code in (("MAGIC", 0, Code.NO_ENGINE), ("VERSION", 1 << 16 | 9, Code.VERSION),
                              ("VERSION", 2 << 16, Code.VERSION)):
        right = registers._values[REGISTERS[name].offset]
        registers._values[REGISTERS[name].offset] = value
        refused(code, Driver, registers)
        registers._values[REGISTERS[name].offset] = right
    assert Driver(registers).state.lanes == 1


def test_a_reset_that_does_not_end() -> None:
    class Stuck(Halting):
        def read32(self, offset: int) -> int:
            return 1 if offset == REGISTERS["CONTROL"].offset else super().read32(offset)

    empty = Memory(0, np.zeros(64, np.uint8))
    registers = Stuck(BUILT, empty, empty)
    with pytest.raises(DriverError, match="the soft reset does not end") as caught:
        Driver(registers, reset_time_limit=4)
    assert caught.value.code is Code.RESET


def test_transfers_that_fail() -> None:
    driver = System().driver
    with pytest.raises(TransferError, match="capacity does not hold the result") as caught:
        driver.offload(0, STREAM, 4096, 16, CODING)
    assert caught.value.completion.status is Status.DESTINATION_TOO_SMALL
    assert driver.take_events() == {"OFFLOAD_ERROR"} and not driver.take_events()
    with pytest.raises(TransferError) as caught:
        driver.prefetch(STREAM, BACK + 1, 64, 64, CODING, 0)
    assert caught.value.completion.status is Status.BAD_DESTINATION


def test_submitted_descriptors() -> None:
    system = System()
    driver = system.driver
    assert driver.poll(_OFFLOAD) is None
    for tag in range(3):
        driver.submit(system.offload(tag, coding=0x7F if tag == 1 else CODING))
    refused(Code.BUSY, driver.offload, 0, STREAM, 4, 8, CODING)
    assert driver.wait(_OFFLOAD).tag == 0
    with pytest.raises(TransferError, match="tag 0x1") as caught:
        driver.poll(_OFFLOAD)
    assert caught.value.completion.status is Status.CODING_NOT_BUILT
    assert driver.wait(_OFFLOAD).tag == 2
    assert list(driver.state.pending) == [0, 0]
    refused(Code.TIMEOUT, driver.wait, _OFFLOAD)
    driver.offload(0, STREAM, 4096, 8192, CODING)


def test_the_queue_is_full() -> None:
    system = System()
    system.registers.halted = True
    for tag in range(BUILT.queue_depth):
        system.driver.submit(system.offload(tag))
    refused(Code.FULL, system.driver.submit, system.offload(99))
    # An entry of a ring takes the place between the look and the doorbell.
    system.registers._channels[_OFFLOAD].waiting.pop()

    def overtake(offset: int, value: int) -> None:
        if offset == REGISTERS["OFFLOAD_DOORBELL"].offset:
            system.registers._channels[_OFFLOAD].waiting.append(system.offload(100))

    system.registers.before = overtake
    refused(Code.FULL, system.driver.submit, system.offload(99))
    assert system.driver.state.pending[0] == BUILT.queue_depth


def test_a_call_that_gives_up() -> None:
    """The late completion is dropped, and the next call gets its own."""
    system = System(polls=3)
    driver = system.driver
    system.registers.halted = True
    for late in (1, 2):
        refused(Code.TIMEOUT, driver.offload, 0, STREAM, 4096, 8192, CODING)
        assert driver.state.late[0] == late
    system.registers.halted = False
    driver.submit(system.offload(7))
    assert driver.wait(_OFFLOAD).tag == 7
    assert driver.state.late[0] == 0
    system.registers.halted = True
    refused(Code.TIMEOUT, driver.offload, 0, STREAM, 4096, 8192, CODING)
    system.registers.halted = False
    assert driver.offload(0, STREAM, 2048, 8192, CODING).tag == OWN_TAGS | 3
    driver.state.polls = 0     # never gives up: the pause brings the engine back
    system.registers.halted = True

    def relax() -> None:
        system.registers.halted = False
        system.registers._work(_OFFLOAD)

    driver.relax = relax
    assert driver.offload(0, STREAM, 2048, 8192, CODING).status is Status.OK


def test_draining() -> None:
    system = System(polls=50)
    driver = system.driver
    for tag in range(3):
        driver.submit(system.offload(tag))
    driver.drain(_OFFLOAD)
    assert driver.state.pending[0] == 0 and driver.poll(_OFFLOAD) is None
    system.registers.halted = True
    driver.submit(system.offload(3))
    refused(Code.TIMEOUT, driver.drain, _OFFLOAD)


@pytest.mark.parametrize(("port", "of"), [
    ("LANE_READ", [_OFFLOAD]), ("LANE_WRITE", [_PREFETCH]), ("LINK_READ", [_OFFLOAD, _PREFETCH]),
    ("LINK_WRITE", [_OFFLOAD])])
def test_the_ports_of_a_direction(port: str, of: list[Operation]) -> None:
    """An offload reads page lists at the link, where they are built."""
    for system in (System(), System(BUILT.replace(page_lists=False))):
        listed = system.driver.state.page_lists
        system.registers._values[REGISTERS["STATUS"].offset] = mask("STATUS", f"{port}_ISOLATED")
        for operation in Operation:
            isolated = operation in of and (bool(listed) or (port, operation) != ("LINK_READ", _OFFLOAD))
            assert system.driver.isolated(operation) == isolated
            if isolated:
                refused(Code.TIMEOUT, system.driver.drain, operation)
            else:
                system.driver.drain(operation)


def test_numbers_that_arerefused() -> None:
    system = System()
    registers, driver = system.registers, system.driver
    for count, cycles in ((0, 0), (1 << 16, 0), (1, 1 << 24), (1, -1)):
        refused(Code.ARGUMENT, driver.set_coalescing, 1, count, cycles)
    driver.set_coalescing(_PREFETCH, 7, 1000)
    assert [registers._values[REGISTERS[f"PREFETCH_WRITE_BACK_{name}"].offset] for name in ("COALESCE", "TIME")] == [
        7, 1000]
    plain = System(load_engine("tiny")).driver
    refused(Code.NOT_BUILT, plain.set_coalescing, 1, 1, 0)
    refused(Code.NOT_BUILT, plain.write_back_init, 1, bytearray(256), RING, 4)
    refused(Code.NOT_BUILT, plain.set_windows, Window(), Window())
    refused(Code.NOT_BUILT, plain.lock_windows)
    refused(Code.NOT_BUILT, plain.set_link_attributes, 15, 2, 0)
    for operation in (0, 3):
        for call in (driver.poll, driver.wait, driver.abort, driver.drain, driver.take_counters,
                     driver.write_back_disable):
            refused(Code.ARGUMENT, call, operation)
    system = System()
    refused(Code.TAG, driver.submit, system.offload(OWN_TAGS))
    for changed in ({"coding": 256}, {"raw_bytes": 1 << 64}, {"source": -1}, {"operation": 3}, {"page_size": 256}):
        refused(Code.ARGUMENT, driver.submit, system.offload(**changed))


def test_interrupts() -> None:
    system = System()
    driver = system.driver
    driver.enable_interrupts("OFFLOAD_COMPLETION", "PREFETCH_ERROR")
    assert system.registers._values[REGISTERS["IRQ_ENABLE"].offset] == 1 | 1 << 5
    driver.submit(system.offload(interrupt=True))
    assert system.registers.irq
    assert driver.take_events() == {"OFFLOAD_COMPLETION"} and not system.registers.irq
    driver.enable_interrupts()
    driver.submit(system.offload(interrupt=True))
    assert not system.registers.irq
    with pytest.raises(DriverError, match="not OFFLOAD_DONE") as caught:
        driver.enable_interrupts("OFFLOAD_DONE")
    assert caught.value.code is Code.ARGUMENT
    refused(Code.NOT_BUILT, System(load_engine("tiny")).driver.enable_interrupts, "OFFLOAD_WRITE_BACK_ERROR")


def test_time_limits() -> None:
    system = System()
    for link, lanes, limit in ((0, 1, 0x0100), (2, 3, 0x0201), (1 << 20, (1 << 20) + 1, 0x1514),
                               (1 << 31, (1 << 64) - 1, 0x1F1F)):
        system.driver.set_time_limit(link, lanes)
        assert system.registers._values[REGISTERS["TIME_LIMIT"].offset] == limit
    refused(Code.ARGUMENT, system.driver.set_time_limit, 0, -1)


def test_windows_and_attributes() -> None:
    system = System()
    driver = system.driver
    for base, limit in ((100, 0), (0, 4097), (8192, 4096), (1 << 32, 0), (0, (1 << 32) + 4096)):
        given: Any = SimpleNamespace(base=base, limit=limit)    # golden's own are never misaligned
        refused(Code.WINDOW, driver.set_windows, given, Window())
        refused(Code.WINDOW, driver.set_windows, Window(), given)
    reserved = ((cache, 0, 0) for cache in (4, 5, 8, 9, 12, 13))
    for chosen in (*reserved, (16, 0, 0), (0, 8, 0), (0, 0, 16), (0, 0, 0, 1 << 16), (0, 0, 0, 16)):
        refused(Code.ARGUMENT, driver.set_lane_attributes, *chosen)
    driver.set_link_attributes(15, 2, 5, 9)
    assert system.registers._values[REGISTERS["LINK_ATTRIBUTES"].offset] == 15 | 2 << 4 | 5 << 8 | 9 << 16
    end: Any = SimpleNamespace(base=8192, limit=1 << 32)     # of the address space
    driver.set_windows(Window(4096, 0), end)
    assert [system.registers._values[REGISTERS[f"LINK_{name}"].offset]
            for name in ("BASE_LO", "BASE_HI", "LIMIT_LO", "LIMIT_HI")] == [8192, 0, 0, 0]
    driver.set_windows(Window(), Window(0, LINK + 0x1000))
    with pytest.raises(TransferError, match="window"):
        driver.offload(0, LINK + 0x1000, 4096, 8192, CODING)
    driver.lock_windows()
    assert Driver(system.registers).locked()
    refused(Code.LOCKED, driver.lock_windows)
    refused(Code.LOCKED, driver.set_windows, Window(), Window())
    refused(Code.LOCKED, driver.set_lane_attributes, 15, 2, 0)


def test_errors_in_buffers() -> None:
    system = System(BUILT.replace(buffer_parity=True))
    driver, values = system.driver, system.registers._values
    values[REGISTERS["BUFFER_ERRORS"].offset] = 3 | 7 << 16
    assert (driver.buffer_errors(_OFFLOAD), driver.buffer_errors(_PREFETCH)) == (3, 7)
    refused(Code.ARGUMENT, driver.buffer_errors, 3)
    for lane, memory in ((1, 0), (-1, 0), (0, 7), (0, 11)):
        refused(Code.ARGUMENT, driver.inject_buffer_error, lane, memory)
    assert not values[REGISTERS["BUFFER_INJECT"].offset]
    driver.inject_buffer_error(0, 10)
    assert values[REGISTERS["BUFFER_INJECT"].offset] == 1 << 31 | 10 << 8
    refused(Code.NOT_BUILT, System().driver.buffer_errors, _OFFLOAD)
    refused(Code.NOT_BUILT, System().driver.inject_buffer_error, 0, 0)


def test_caches_are_maintained() -> None:
    """Each hook gets what C gives, in order with the doorbell; tests/hdl/generate/handover has the order of all."""
    said: list[Any] = []

    class Log(Caches):
        def clean(self, place: memoryview) -> None:
            said.append(("clean", bytes(place)))

        def invalidate(self, place: memoryview) -> None:
            said.append(("invalidate", place.nbytes))

        def before_read(self, memory: Memories, address: int, size: int) -> None:
            said.append(("before read", memory, address, size))

        def before_write(self, memory: Memories, address: int, size: int) -> None:
            said.append(("before write", memory, address, size))

        def after_write(self, memory: Memories, address: int, size: int) -> None:
            said.append(("after write", memory, address, size))

    system = System(caches=Log())
    driver = system.driver
    ring = driver.ring_init(_OFFLOAD, system.ring(4), RING, 4)
    tail = REGISTERS["OFFLOAD_RING_TAIL"].offset
    system.registers.before = lambda offset, value: said.append("tail") if offset == tail else None
    given = system.offload(raw_bytes=4096, capacity=5000)
    driver.ring_submit(ring, given)
    assert said == [("clean", given.pack()), ("before read", Memories.DEVICE, 0, 4096),
                    ("before write", Memories.LINK, STREAM, 5000), "tail"]
    said.clear()
    driver.take_buffers(given)
    assert said == [("after write", Memories.LINK, STREAM, 5000)]
    driver.wait(_OFFLOAD)
    driver.write_back_init(_OFFLOAD, system.ring(4), RING, 4)
    said.clear()
    assert driver.poll(_OFFLOAD) is None
    assert said == [("invalidate", 64)]


def test_every_code_and_status_has_its_sentence() -> None:
    texts = {error_text(each) for each in (*Status, *Code)}
    assert len(texts) == len(Status) + len(Code)
    assert error_text(0x99) == error_text(min(Code) - 1) == "unknown error"
    assert re.search("tags from", str(DriverError(Code.TAG)))


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "COMPILERS", ("no-such-compiler",))
    library._library.cache_clear()
    with pytest.raises(ValueError, match="the driver is in C and needs a compiler"):
        System()
    library._library.cache_clear()
