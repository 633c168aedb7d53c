"""The driver in Python on registers that the golden model plays; the same calls are on simulated ones in
tests/verif/engine/test_handover.py."""

from __future__ import annotations

import ctypes
import re
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
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
from cdma.golden.engine import Completion, Memory, Operation, Status, Window
from cdma.hdl.config.engine import load_engine
from tests.cdma.driver.systems import BACK, BUILT, CODING, LINK, RING, STREAM, Halting, System
from tests.docs.pages import ROOT, table

_OFFLOAD, _PREFETCH = Operation


def _refused(code: Code, call: Callable[..., Any], *arguments: Any) -> None:
    with pytest.raises(DriverError) as caught:
        call(*arguments)
    assert caught.value.code is code, caught.value


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
    _refused(Code.NOT_BUILT, plain.offload_pages, 0, pages, size, size, CODING)
    _refused(Code.NOT_BUILT, plain.prefetch_pages, pages, BACK, size, size, CODING, 0)


def test_no_engine_and_other_versions() -> None:
    registers = System().registers
    for name, value, code in (("MAGIC", 0, Code.NO_ENGINE), ("VERSION", 1 << 16 | 9, Code.VERSION),
                              ("VERSION", 2 << 16, Code.VERSION)):
        right = registers._values[REGISTERS[name].offset]
        registers._values[REGISTERS[name].offset] = value
        _refused(code, Driver, registers)
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
    _refused(Code.BUSY, driver.offload, 0, STREAM, 4, 8, CODING)
    assert driver.wait(_OFFLOAD).tag == 0
    with pytest.raises(TransferError, match="tag 0x1") as caught:
        driver.poll(_OFFLOAD)
    assert caught.value.completion.status is Status.CODING_NOT_BUILT
    assert driver.wait(_OFFLOAD).tag == 2
    assert list(driver.state.pending) == [0, 0]
    _refused(Code.TIMEOUT, driver.wait, _OFFLOAD)
    driver.offload(0, STREAM, 4096, 8192, CODING)


def test_the_queue_is_full() -> None:
    system = System()
    system.registers.halted = True
    for tag in range(BUILT.queue_depth):
        system.driver.submit(system.offload(tag))
    _refused(Code.FULL, system.driver.submit, system.offload(99))
    # An entry of a ring takes the place between the look and the doorbell.
    system.registers._channels[_OFFLOAD].waiting.pop()

    def overtake(offset: int, value: int) -> None:
        if offset == REGISTERS["OFFLOAD_DOORBELL"].offset:
            system.registers._channels[_OFFLOAD].waiting.append(system.offload(100))

    system.registers.before = overtake
    _refused(Code.FULL, system.driver.submit, system.offload(99))
    assert system.driver.state.pending[0] == BUILT.queue_depth


def test_a_call_that_gives_up() -> None:
    """The late completion is dropped, and the next call gets its own."""
    system = System(polls=3)
    driver = system.driver
    system.registers.halted = True
    for late in (1, 2):
        _refused(Code.TIMEOUT, driver.offload, 0, STREAM, 4096, 8192, CODING)
        assert driver.state.late[0] == late
    system.registers.halted = False
    driver.submit(system.offload(7))
    assert driver.wait(_OFFLOAD).tag == 7
    assert driver.state.late[0] == 0
    system.registers.halted = True
    _refused(Code.TIMEOUT, driver.offload, 0, STREAM, 4096, 8192, CODING)
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
    _refused(Code.TIMEOUT, driver.drain, _OFFLOAD)


def test_a_ring() -> None:
    system = System()
    driver, memory = system.driver, system.ring(4)
    ring = driver.ring_init(_OFFLOAD, memory, RING, 4)
    for tag in range(9):
        driver.ring_submit(ring, system.offload(tag))
        assert driver.wait(_OFFLOAD).tag == tag
    system.registers.halted = True
    for tag in range(3):
        driver.ring_submit(ring, system.offload(tag))
    _refused(Code.FULL, driver.ring_submit, ring, system.offload(3))
    driver.ring_disable(ring)
    _refused(Code.RING_DISABLED, driver.ring_submit, ring, system.offload(3))
    driver.ring_enable(ring)
    _refused(Code.BUSY, driver.offload, 0, STREAM, 4096, 8192, CODING)
    driver.ring_disable(ring)
    driver.ring_init(_OFFLOAD, memory, RING, 4)
    assert driver.state.pending[0] == 0, "entries that were not read are lost"
    _refused(Code.TAG, driver.ring_submit, ring, system.offload(OWN_TAGS))
    driver.reset()
    _refused(Code.RING_DISABLED, driver.ring_submit, ring, system.offload(3))


def test_rings_that_are_refused() -> None:
    system = System()
    driver, memory = system.driver, system.ring(4)
    system.registers.log.clear()
    for operation, buffer, address, entries, code in (
            (3, memory, RING, 4, Code.ARGUMENT), (1, None, RING, 4, Code.ARGUMENT),
            (1, memory[:255], RING, 4, Code.ARGUMENT), (1, bytes(256), RING, 4, Code.ARGUMENT),
            *((1, memory, RING, entries, Code.RING_SIZE) for entries in (0, 1, 3, 1 << 17)),
            (1, memory, RING + 32, 4, Code.RING_SIZE), (1, memory, (1 << 32) - 64, 2, Code.RING_SIZE),
            (1, bytearray(1 << 22), (1 << 32) - (1 << 22) + 64, 1 << 16, Code.RING_SIZE),
            (1, memory, 1 << 32, 2, Code.RING_SIZE), (1, memory, RING, 1 << 31, Code.RING_SIZE),
            (1, memory, -64, 2, Code.ARGUMENT)):
        _refused(code, driver.ring_init, operation, buffer, address, entries)
        _refused(code, driver.write_back_init, operation, buffer, address, entries)
    assert not system.registers.log, "a register was accessed"
    driver.set_windows(Window(), Window(0, 0x8000))
    _refused(Code.REFUSED, driver.ring_init, 1, memory, RING, 4)
    _refused(Code.REFUSED, driver.write_back_init, 1, memory, RING, 4)
    driver.state.address_bits = 64      # more than were built: the engine refuses what the driver does not
    _refused(Code.REFUSED, driver.ring_init, 1, memory, 1 << 32, 2)
    ring = driver.ring_init(_OFFLOAD, memory, 0x1000, 4)
    _refused(Code.ARGUMENT, driver.ring_submit, ring, system.offload(operation=_PREFETCH))
    _refused(Code.REFUSED, driver.set_windows, Window(), Window())


def test_completions_from_memory() -> None:
    """Around the end of the ring, without a read of the registers that hold completions."""
    system = System(record_polls=4)
    driver = system.driver
    system.ring(4)[:] = 0xA5
    driver.write_back_init(_OFFLOAD, system.ring(4), RING, 4)
    system.registers.log.clear()
    for _ in range(3):
        packed = driver.offload(0, STREAM, system.raw.nbytes, 1 << 14, CODING)
        assert packed.bytes_written
        for tag in range(2):
            driver.submit(system.offload(tag))
        assert [driver.wait(_OFFLOAD).tag for _ in range(2)] == [0, 1]
    window = range(REGISTERS["OFFLOAD_COMPLETION_0"].offset, REGISTERS["OFFLOAD_DOORBELL"].offset)
    assert not [access for access in system.registers.log if access[0] == "r" and access[1] in window]
    # Full: what has no place in the ring is in the registers after it.
    for tag in range(5):
        driver.submit(system.offload(tag))
    driver.write_back_disable(_OFFLOAD)
    assert [driver.wait(_OFFLOAD).tag for _ in range(5)] == list(range(5))
    assert not driver.state.records[0]
    for stop in (partial(driver.drain, _OFFLOAD), driver.reset):
        driver.write_back_init(_OFFLOAD, system.ring(4), RING, 4)
        stop()
        assert not driver.state.records[0]
        assert not system.registers._values[REGISTERS["OFFLOAD_WRITE_BACK_CONTROL"].offset]


@pytest.mark.parametrize("status", [Status.DESCRIPTOR_READ_ERROR, Status.DESCRIPTOR_READ_TIMEOUT])
def test_an_entry_that_could_not_be_read_is_still_to_come(status: Status) -> None:
    """Its completion is no descriptor's: a blocking call is refused until those of all descriptors were taken."""
    system = System()
    driver = system.driver
    ring = driver.ring_init(_OFFLOAD, system.ring(4), RING, 4)
    system.registers.halted = True
    driver.ring_submit(ring, system.offload(1))
    system.registers._channels[_OFFLOAD].done.append(Completion(tag=0, status=status, operation=0))
    with pytest.raises(TransferError) as caught:
        driver.wait(_OFFLOAD)
    assert caught.value.completion.status is status
    _refused(Code.BUSY, driver.offload, 0, STREAM, 4096, 8192, CODING)
    system.registers.halted = False
    driver.ring_enable(ring)
    assert driver.wait(_OFFLOAD).tag == 1
    assert driver.offload(0, STREAM, 4096, 8192, CODING).status is Status.OK


@pytest.mark.parametrize(("taken", "lost"), [(2, 0), (3, 0), (4, 0), (1, 1), (0, 2)])
def test_a_new_ring_for_records_after_one_that_failed(taken: int, lost: int) -> None:
    """Two records were written; of the third one the response failed, but it is in memory, and so is the fourth. Those
    that were taken do not come again, those that were not are lost up to the third one, and nothing else is."""
    system = System(record_polls=100)
    driver, channel, memory = system.driver, system.registers._channels[_OFFLOAD], system.ring(8)
    driver.write_back_init(_OFFLOAD, memory, RING, 8)
    for tag in range(2):
        driver.submit(system.offload(tag))
    channel.recorded = False
    system.registers._values[REGISTERS["OFFLOAD_WRITE_BACK_CONTROL"].offset] = 0
    for tag in (2, 3, 4):
        driver.submit(system.offload(tag))
    for index in (2, 3):
        words = memory.view("<u4")[16 * index:16 * index + 16]
        words[:15], words[15] = np.frombuffer(channel.done[index - 2].pack(), "<u4")[:15], 1 | index << 16
    assert [driver.wait(_OFFLOAD).tag for _ in range(taken)] == [*range(taken)]
    driver.write_back_init(_OFFLOAD, system.ring(4), RING, 4)
    left = range(taken + lost, 5)
    assert [driver.wait(_OFFLOAD).tag for _ in left] == [*left]
    assert driver.poll(_OFFLOAD) is None and driver.state.pending[0] == 0
    assert driver.offload(0, STREAM, 4096, 8192, CODING).status is Status.OK


def test_no_new_ring_while_a_record_may_still_be_written() -> None:
    system = System()
    driver, status, memory = system.driver, REGISTERS["STATUS"].offset, system.ring(4)
    first = driver.write_back_init(_PREFETCH, np.zeros(256, np.uint8), RING + 256, 4)
    driver.drain(_PREFETCH)
    memory[:] = 0xA5
    system.registers._values[status] = mask("STATUS", "LINK_WRITE_ISOLATED")
    _refused(Code.TIMEOUT, driver.write_back_init, _PREFETCH, memory, RING, 4)
    assert (memory == 0xA5).all()
    assert driver._records[_PREFETCH] == [first], "the engine may still write there"
    system.registers._values[status] = 0
    ring = driver.write_back_init(_PREFETCH, memory, RING, 4)
    assert driver._records[_PREFETCH] == [ring]


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
                _refused(Code.TIMEOUT, system.driver.drain, operation)
            else:
                system.driver.drain(operation)


def test_numbers_that_are_refused() -> None:
    system = System()
    registers, driver = system.registers, system.driver
    for count, cycles in ((0, 0), (1 << 16, 0), (1, 1 << 24), (1, -1)):
        _refused(Code.ARGUMENT, driver.set_coalescing, 1, count, cycles)
    driver.set_coalescing(_PREFETCH, 7, 1000)
    assert [registers._values[REGISTERS[f"PREFETCH_WRITE_BACK_{name}"].offset] for name in ("COALESCE", "TIME")] == [
        7, 1000]
    plain = System(load_engine("tiny")).driver
    _refused(Code.NOT_BUILT, plain.set_coalescing, 1, 1, 0)
    _refused(Code.NOT_BUILT, plain.write_back_init, 1, bytearray(256), RING, 4)
    _refused(Code.NOT_BUILT, plain.set_windows, Window(), Window())
    _refused(Code.NOT_BUILT, plain.lock_windows)
    _refused(Code.NOT_BUILT, plain.set_link_attributes, 15, 2, 0)
    for operation in (0, 3):
        for call in (driver.poll, driver.wait, driver.abort, driver.drain, driver.take_counters,
                     driver.write_back_disable):
            _refused(Code.ARGUMENT, call, operation)
    system = System()
    _refused(Code.TAG, driver.submit, system.offload(OWN_TAGS))
    for changed in ({"coding": 256}, {"raw_bytes": 1 << 64}, {"source": -1}, {"operation": 3}, {"page_size": 256}):
        _refused(Code.ARGUMENT, driver.submit, system.offload(**changed))


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
    _refused(Code.NOT_BUILT, System(load_engine("tiny")).driver.enable_interrupts, "OFFLOAD_WRITE_BACK_ERROR")


def test_time_limits() -> None:
    system = System()
    for link, lanes, limit in ((0, 1, 0x0100), (2, 3, 0x0201), (1 << 20, (1 << 20) + 1, 0x1514),
                               (1 << 31, (1 << 64) - 1, 0x1F1F)):
        system.driver.set_time_limit(link, lanes)
        assert system.registers._values[REGISTERS["TIME_LIMIT"].offset] == limit
    _refused(Code.ARGUMENT, system.driver.set_time_limit, 0, -1)


def test_windows_and_attributes() -> None:
    system = System()
    driver = system.driver
    for base, limit in ((100, 0), (0, 4097), (8192, 4096), (1 << 32, 0), (0, (1 << 32) + 4096)):
        given: Any = SimpleNamespace(base=base, limit=limit)    # golden's own are never misaligned
        _refused(Code.WINDOW, driver.set_windows, given, Window())
        _refused(Code.WINDOW, driver.set_windows, Window(), given)
    reserved = ((cache, 0, 0) for cache in (4, 5, 8, 9, 12, 13))
    for chosen in (*reserved, (16, 0, 0), (0, 8, 0), (0, 0, 16), (0, 0, 0, 1 << 16), (0, 0, 0, 16)):
        _refused(Code.ARGUMENT, driver.set_lane_attributes, *chosen)
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
    _refused(Code.LOCKED, driver.lock_windows)
    _refused(Code.LOCKED, driver.set_windows, Window(), Window())
    _refused(Code.LOCKED, driver.set_lane_attributes, 15, 2, 0)


def test_errors_in_buffers() -> None:
    system = System(BUILT.replace(buffer_parity=True))
    driver, values = system.driver, system.registers._values
    values[REGISTERS["BUFFER_ERRORS"].offset] = 3 | 7 << 16
    assert (driver.buffer_errors(_OFFLOAD), driver.buffer_errors(_PREFETCH)) == (3, 7)
    _refused(Code.ARGUMENT, driver.buffer_errors, 3)
    for lane, memory in ((1, 0), (-1, 0), (0, 7), (0, 11)):
        _refused(Code.ARGUMENT, driver.inject_buffer_error, lane, memory)
    assert not values[REGISTERS["BUFFER_INJECT"].offset]
    driver.inject_buffer_error(0, 10)
    assert values[REGISTERS["BUFFER_INJECT"].offset] == 1 << 31 | 10 << 8
    _refused(Code.NOT_BUILT, System().driver.buffer_errors, _OFFLOAD)
    _refused(Code.NOT_BUILT, System().driver.inject_buffer_error, 0, 0)


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


def test_an_exception_ends_a_call() -> None:
    """Of a register's access, or of ``relax``, however long a call would poll; the driver goes on after it."""
    system = System(polls=0)
    driver = system.driver
    system.registers.halted = True

    def fails(*_: Any) -> None:
        raise KeyboardInterrupt("stopped")

    driver.relax = fails
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        driver.offload(0, STREAM, 4096, 8192, CODING)
    driver.relax = None
    system.registers.before = fails
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        driver.offload(0, STREAM, 4096, 8192, CODING)
    system.registers.before, system.registers.halted = lambda offset, value: None, False
    wrong: Any = SimpleNamespace(read32=lambda offset: "", write32=lambda offset, value: "not used")
    with pytest.raises(TypeError):
        Driver(wrong)
    system.registers._work(_OFFLOAD)
    assert driver.offload(0, STREAM, 4096, 8192, CODING).status is Status.OK


class Failing:
    """Registers, of which the access raises that comes after ``left`` others, before it is done or after it."""

    def __init__(self, registers: Halting, done: bool = False) -> None:
        self.registers, self.done, self.left = registers, done, -1

    def _access(self, call: Callable[..., int | None], *arguments: int) -> Any:
        self.left -= 1
        found = call(*arguments) if self.left != -1 or self.done else None
        if self.left == -1:
            raise OSError("no answer")
        return found

    def read32(self, offset: int) -> int:
        return self._access(self.registers.read32, offset)

    def write32(self, offset: int, value: int) -> None:
        self._access(self.registers.write32, offset, value)


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("name", ["write_back_init", "write_back_disable", "drain", "reset", "ring_init", "submit",
                                  "offload", "wait"])
def test_an_exception_at_any_access(name: str, done: bool) -> None:
    """C, which goes on with zeros, does not take the engine for idle, its ring for disabled, or a new one for its own;
    and no ring that it has is freed."""
    for left in range(100):
        system = System()
        registers, memory = Failing(system.registers, done), system.ring(4)
        driver = Driver(registers, polls=100, record_polls=2)
        driver.write_back_init(_OFFLOAD, memory, RING, 4)
        for _ in range(3):      # the next record is the ring's last one
            driver.offload(0, STREAM, 64, 128, CODING)
        if name != "offload":
            driver.submit(system.offload(1))
        given: list[Any] = {"write_back_init": [_OFFLOAD, memory, RING, 4], "reset": [], "submit": [system.offload(2)],
                            "ring_init": [_OFFLOAD, system.link[0x4000:], LINK + 0x4000, 4],
                            "offload": [0, STREAM, 64, 128, CODING]}.get(name, [_OFFLOAD])
        registers.left = left
        try:
            getattr(driver, name)(*given)
        except OSError:
            pass
        else:
            break
        has = ctypes.cast(driver.state.records[0], ctypes.c_void_p).value
        assert has in (None, *map(ctypes.addressof, driver._records[_OFFLOAD]))
        if name == "wait" and not done:
            assert driver.wait(_OFFLOAD).tag == 1, "it comes again"
        while driver.poll(_OFFLOAD) is not None:
            pass
        driver.drain(_OFFLOAD)
        assert not driver.state.pending[0] and not driver.state.late[0]
        assert driver.offload(0, STREAM, 64, 128, CODING).status is Status.OK
        driver.write_back_init(_OFFLOAD, memory, RING, 4)
        assert driver.offload(0, STREAM, 64, 128, CODING).status is Status.OK
    else:
        pytest.fail("it always raises")
    assert left


def test_an_exception_while_a_ring_is_full() -> None:
    """RING_HEAD was not read: entries that the engine has not read stay as they are."""
    system = System()
    registers = Failing(system.registers)
    driver = Driver(registers, polls=100)
    ring = driver.ring_init(_OFFLOAD, system.ring(4), RING, 4)
    driver.ring_submit(ring, system.offload(9))
    driver.wait(_OFFLOAD)
    system.registers.halted = True
    for tag in range(3):
        driver.ring_submit(ring, system.offload(tag))
    registers.left = 1
    with pytest.raises(OSError, match="no answer"):
        driver.ring_submit(ring, system.offload(3))
    assert (ring.head, ring.tail, driver.state.pending[0]) == (1, 0, 3)
    system.registers.halted = False
    driver.ring_enable(ring)
    assert [driver.wait(_OFFLOAD).tag for _ in range(3)] == [0, 1, 2] and driver.state.pending[0] == 0


def test_a_signal_at_any_moment() -> None:
    """Python's handler may run before the first line of a hook, where nothing catches what it raises: the call ends all
    the same, and what C reads then is no completion."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("Python handles signals on its main thread")
    system, lost = System(polls=1 << 20), []
    driver = system.driver
    system.registers.halted = True
    driver.submit(system.offload(1))
    before, sys.unraisablehook = sys.unraisablehook, lost.append
    try:
        for _ in range(1000):
            sender = threading.Timer(0.001, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
            # It may come before the call, and where Python itself drops it, as in a finaliser, the call gives up.
            with pytest.raises((KeyboardInterrupt, DriverError)) as ended:
                sender.start()
                driver.wait(_OFFLOAD)
            sender.join()
            assert ended.type is KeyboardInterrupt or not lost
            if lost:
                break
    finally:
        sys.unraisablehook = before
    assert lost, "none came where it matters"
    assert driver.state.pending[0] == 1
    system.registers.halted = False
    system.registers._work(_OFFLOAD)
    assert driver.wait(_OFFLOAD).tag == 1


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "COMPILERS", ("no-such-compiler",))
    library._library.cache_clear()
    with pytest.raises(ValueError, match="the driver is in C and needs a compiler"):
        System()
    library._library.cache_clear()
