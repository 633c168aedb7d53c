"""The driver in Python under the names and arguments of driver.c, for the benches of the driver in C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cdma.driver import Driver, DriverError, Pages, Ring, TransferError, error_text
from cdma.driver.layout import ENGINE
from cdma.golden.engine import RECORD_BYTES, Completion, Descriptor, Operation, Window
from cdma.hdl.engine.control.table import COUNTERS
from cdma.hdl.generate.handover.codes import Code
from cdma.verif.engine.c_driver import POLLS, ReferenceDriver
from cdma.verif.engine.testbench import EngineTestbench

__all__ = ["PythonDriver"]

_RESET_TIME_LIMIT = 12
_RECORD_POLLS = 8
_BUILT = ("lanes", "beat_bytes", "link_beat_bytes", "address_bits", "block_bytes", "queue_depth", "crc", "narrowing",
          "address_windows", "page_lists", "write_back")


class _Bus:
    """Registers whose writes can be held back: the bench copies a ring between the descriptor and the tail."""

    def __init__(self, reference: ReferenceDriver) -> None:
        self._reference = reference
        self.held: list[tuple[int, int]] | None = None

    def read32(self, offset: int) -> int:
        return self._reference.read(offset)

    def write32(self, offset: int, value: int) -> None:
        if self.held is None:
            self._reference.write(offset, value)
        else:
            self.held.append((offset, value))


def _memory(address: int | None, entries: int) -> Any:
    """The memory of a ring from its address, as the bench gives it."""
    return None if address is None else (ctypes.c_uint8 * (entries * RECORD_BYTES)).from_address(address)


def _fill(found: Completion | None, result: Any) -> None:
    """Fill in a result in the order of ``struct cdma_result``."""
    result[:] = [0] * len(result) if found is None else [
        found.tag, found.status, found.operation, found.lane, found.response, found.crc, found.raw_blocks,
        found.bytes_written, found.nonzero, found.cycles, found.place, found.pages]


class _Functions:
    """The functions of driver.c; each gives a number, or raises what the driver raises."""

    def __init__(self, reference: ReferenceDriver) -> None:
        self._bus = _Bus(reference)
        self._driver: Driver
        self._ring: Ring
        self._published: list[tuple[int, int]] = []

    def init(self) -> int:
        self._driver = Driver(self._bus, reset_time_limit=_RESET_TIME_LIMIT, record_polls=_RECORD_POLLS)
        self._driver.polls = POLLS
        return 0

    def built(self, which: int) -> int:
        return getattr(self._driver.built, _BUILT[which])

    def set_address_bits(self, bits: int) -> None:
        self._driver.built = replace(self._driver.built, address_bits=bits)

    def set_polls(self, polls: int) -> None:
        self._driver.polls = polls

    def set_relax(self, hook: Callable[[], None]) -> None:
        self._driver.relax = hook

    def late(self, operation: int) -> int:
        return self._driver.late[Operation(operation)]

    def from_records(self, operation: int) -> int:
        return self._driver.records[Operation(operation)] is not None

    def offload(self, *numbers: Any) -> None:
        *given, result = numbers
        _fill(self._driver.offload(*given), result)

    def prefetch(self, *numbers: Any) -> None:
        *given, result = numbers
        _fill(self._driver.prefetch(*given), result)

    def offload_pages(self, source: int, place: int, pages: int, page_size: int, *numbers: Any) -> None:
        *given, result = numbers
        _fill(self._driver.offload_pages(source, Pages(place, pages, page_size), *given), result)

    def prefetch_pages(self, place: int, pages: int, page_size: int, *numbers: Any) -> None:
        *given, result = numbers
        _fill(self._driver.prefetch_pages(Pages(place, pages, page_size), *given), result)

    def submit(self, operation: int, tag: int, source: int, destination: int, raw_bytes: int, capacity: int,
               packed_bytes: int, coding: int, pages: int, page_size: int) -> None:
        self._driver.submit(Descriptor(
            operation=operation, tag=tag, source=source, destination=destination, raw_bytes=raw_bytes,
            capacity=capacity, packed_bytes=packed_bytes, coding=coding, page_list=bool(pages), pages=pages,
            page_size=page_size))

    def poll(self, operation: int, result: Any) -> int:
        found = self._driver.poll(operation)
        _fill(found, result)
        return 0 if found is not None else Code.PENDING

    def wait(self, operation: int, result: Any) -> None:
        _fill(self._driver.wait(operation), result)

    def ring_init(self, operation: int, memory: int | None, address: int, entries: int) -> None:
        self._ring = self._driver.ring_init(operation, _memory(memory, entries), address, entries)

    def ring_enable(self) -> None:
        self._driver.ring_enable(self._ring)

    def ring_disable(self) -> None:
        self._driver.ring_disable(self._ring)

    def ring_fill(self, tag: int, source: int, destination: int, raw_bytes: int, capacity: int, coding: int,
                  pages: int, page_size: int) -> None:
        self._bus.held = []
        try:
            self._driver.ring_submit(self._ring, Descriptor(
                operation=self._ring.operation, tag=tag, source=source, destination=destination, raw_bytes=raw_bytes,
                capacity=capacity, coding=coding, page_list=bool(pages), pages=pages, page_size=page_size))
            self._published = self._bus.held
        finally:
            self._bus.held = None

    def ring_publish(self) -> None:
        for offset, value in self._published:
            self._bus.write32(offset, value)

    def write_back_init(self, operation: int, memory: int | None, address: int, entries: int) -> None:
        self._driver.write_back_init(operation, _memory(memory, entries), address, entries)

    def set_windows(self, *bounds: int) -> None:
        try:
            windows = Window(*bounds[:2]), Window(*bounds[2:])
        except ValueError as error:
            raise DriverError(Code.WINDOW, str(error)) from error
        self._driver.set_windows(*windows)

    def set_attributes(self, link: int, *chosen: int) -> None:
        (self._driver.set_link_attributes if link else self._driver.set_lane_attributes)(*chosen)

    def enable_interrupts(self, events: int) -> None:
        self._driver.enable_interrupts(*(each.name for each in ENGINE["IRQ_ENABLE"].fields if events & each.mask))

    def take_events(self) -> int:
        taken = self._driver.take_events()
        return sum(each.mask for each in ENGINE["IRQ_STATUS"].fields if each.name in taken)

    def take_counters(self, operation: int, out: Any) -> None:
        counted = self._driver.take_counters(operation)
        out[:] = [counted[name.lower()] for name in COUNTERS]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """What has the same name and arguments in Python."""
        return getattr(self._driver, name)


class PythonDriver(ReferenceDriver):
    """The driver in Python; for the parameters see :class:`cdma.verif.engine.c_driver.ReferenceDriver`."""

    def __init__(self, bench: EngineTestbench, shift: int = 0, stuck: int | None = None) -> None:
        super().__init__(bench, shift, stuck)
        self._functions = _Functions(self)

    def function(self, name: str) -> Callable[..., int]:
        function = getattr(self._functions, name)

        def run(*arguments: Any) -> int:
            simple = (ctypes.c_uint64, ctypes.c_void_p)
            try:
                return int(function(*(each.value if isinstance(each, simple) else each for each in arguments)) or 0)
            except DriverError as error:
                return error.code
            except TransferError as error:
                _fill(error.completion, self.result)
                return error.completion.status

        return run

    def text(self, error: int) -> str:
        return error_text(error)
