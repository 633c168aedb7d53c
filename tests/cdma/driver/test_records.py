"""Rings of descriptors, and of records of completions, by the driver in Python."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from cdma.driver import (
    OWN_TAGS,
    Code,
    TransferError,
)
from cdma.driver.layout import REGISTERS, mask
from cdma.golden.engine import Completion, Operation, Status, Window
from tests.cdma.driver.systems import CODING, RING, STREAM, System, refused

_OFFLOAD, _PREFETCH = Operation


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
    refused(Code.FULL, driver.ring_submit, ring, system.offload(3))
    driver.ring_disable(ring)
    refused(Code.RING_DISABLED, driver.ring_submit, ring, system.offload(3))
    driver.ring_enable(ring)
    refused(Code.BUSY, driver.offload, 0, STREAM, 4096, 8192, CODING)
    driver.ring_disable(ring)
    driver.ring_init(_OFFLOAD, memory, RING, 4)
    assert driver.state.pending[0] == 0, "entries that were not read are lost"
    refused(Code.TAG, driver.ring_submit, ring, system.offload(OWN_TAGS))
    driver.reset()
    refused(Code.RING_DISABLED, driver.ring_submit, ring, system.offload(3))


def test_rings_that_arerefused() -> None:
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
        refused(code, driver.ring_init, operation, buffer, address, entries)
        refused(code, driver.write_back_init, operation, buffer, address, entries)
    assert not system.registers.log, "a register was accessed"
    driver.set_windows(Window(), Window(0, 0x8000))
    refused(Code.REFUSED, driver.ring_init, 1, memory, RING, 4)
    refused(Code.REFUSED, driver.write_back_init, 1, memory, RING, 4)
    driver.state.address_bits = 64      # more than were built: the engine refuses what the driver does not
    refused(Code.REFUSED, driver.ring_init, 1, memory, 1 << 32, 2)
    ring = driver.ring_init(_OFFLOAD, memory, 0x1000, 4)
    refused(Code.ARGUMENT, driver.ring_submit, ring, system.offload(operation=_PREFETCH))
    refused(Code.REFUSED, driver.set_windows, Window(), Window())


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
    refused(Code.BUSY, driver.offload, 0, STREAM, 4096, 8192, CODING)
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
    refused(Code.TIMEOUT, driver.write_back_init, _PREFETCH, memory, RING, 4)
    assert (memory == 0xA5).all()
    assert driver._records[_PREFETCH] == [first], "the engine may still write there"
    system.registers._values[status] = 0
    ring = driver.write_back_init(_PREFETCH, memory, RING, 4)
    assert driver._records[_PREFETCH] == [ring]
