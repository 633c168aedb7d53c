"""The driver's calls: those of ``cdma_driver.h`` without their prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cdma.driver.access import Registers, fence
from cdma.driver.caches import Caches, take_buffers
from cdma.driver.control import PORTS
from cdma.driver.errors import DriverError, TransferError
from cdma.driver.named import direction
from cdma.driver.queues import OWN_TAGS, Queues
from cdma.driver.rings import Pages
from cdma.golden.engine import Completion, Descriptor, Operation, Status
from cdma.hdl.engine.control.table import MAGIC, VERSION
from cdma.hdl.generate.handover.codes import Code

__all__ = ["OWN_TAGS", "Driver"]

_POLLS = 10_000_000
_RECORD_POLLS = 64
_RESET_TIME_LIMIT = 20


class Driver(Queues):
    """One engine. Making a driver finds the engine, resets it, and reads what was built.

    A call that is refused, or that gives up, raises :class:`DriverError` with the code that the driver in C returns. A
    transfer that fails raises :class:`TransferError` with its completion. The two directions are independent; calls
    for the same one must not overlap, and making a driver or ``reset`` must not overlap with any other call.

    Parameters
    ----------
    registers
        Reads and writes the engine's registers.
    polls
        How often a call polls before it gives up; 0: it never does.
    relax
        Called between two polls, to sleep for example.
    barrier
        Keeps accesses to memory and registers in order.
    caches
        Cache maintenance, where the engine is not coherent with the processor's caches.
    record_polls
        Looks for a record, after which the driver asks whether the write-back ring still works.
    reset_time_limit
        A reset ends within two periods of the time limit, so the driver sets a short one for it: 2 to the power of this
        many cycles. It reads CONTROL at most half as many times.

    Raises
    ------
    DriverError
        NO_ENGINE, VERSION or RESET.
    """

    def __init__(self, registers: Registers, *, polls: int = _POLLS, relax: Callable[[], None] | None = None,
                 barrier: Callable[[], None] = fence, caches: Caches | None = None,
                 record_polls: int = _RECORD_POLLS, reset_time_limit: int = _RESET_TIME_LIMIT) -> None:
        super().__init__(registers, polls, relax, barrier, Caches() if caches is None else caches, record_polls)
        self._reset_time_limit = reset_time_limit
        if self.read("MAGIC") != MAGIC:
            raise DriverError(Code.NO_ENGINE)
        version = self.fields("VERSION")
        if version["MAJOR"] != VERSION[0] or version["MINOR"] < VERSION[1]:
            raise DriverError(Code.VERSION, f"{version['MAJOR']}.{version['MINOR']}, not {VERSION[0]}.{VERSION[1]}")
        self.reset()
        self.built = self.read_built()

    # Transfers.

    def capacity(self, raw_bytes: int) -> int:
        """A capacity that holds the block stream of a tensor of this length, whatever its values and its coding are,
        unless it has no fallback."""
        return -(-raw_bytes // 4) * 4 + 4 * -(-raw_bytes // self.built.block_bytes)

    def offload(self, source: int, destination: int, raw_bytes: int, capacity: int, coding: int) -> Completion:
        """Compress a tensor from device memory to the link, and wait.

        After TIMEOUT the transfer goes on, and both buffers are still in use: call ``drain`` before they are used for
        anything else.

        Raises
        ------
        DriverError
            ARGUMENT, BUSY, FULL or TIMEOUT.
        TransferError
            If its status is not OK.
        """
        return self._run(Descriptor(operation=Operation.OFFLOAD, coding=coding, source=source, destination=destination,
                                    raw_bytes=raw_bytes, capacity=capacity))

    def prefetch(self, source: int, destination: int, packed_bytes: int, raw_bytes: int, coding: int,
                 crc: int) -> Completion:
        """Expand a block stream from the link into device memory, check its CRC if the engine can, and wait.

        Errors: as :meth:`offload`.
        """
        return self._run(Descriptor(operation=Operation.PREFETCH, coding=coding, source=source, destination=destination,
                                    raw_bytes=raw_bytes, capacity=raw_bytes, packed_bytes=packed_bytes,
                                    check_crc=self.built.crc, crc=crc))

    def offload_pages(self, source: int, pages: Pages, raw_bytes: int, capacity: int, coding: int) -> Completion:
        """As :meth:`offload`, into pages of link memory; ``pages`` of the completion are used, the others are free."""
        return self._run(self._listed(Descriptor(operation=Operation.OFFLOAD, coding=coding, source=source,
                                                 destination=pages.address, raw_bytes=raw_bytes, capacity=capacity),
                                      pages))

    def prefetch_pages(self, pages: Pages, destination: int, packed_bytes: int, raw_bytes: int, coding: int,
                       crc: int) -> Completion:
        """As :meth:`prefetch`, from pages of link memory."""
        return self._run(self._listed(Descriptor(
            operation=Operation.PREFETCH, coding=coding, source=pages.address, destination=destination,
            raw_bytes=raw_bytes, capacity=raw_bytes, packed_bytes=packed_bytes, check_crc=self.built.crc, crc=crc),
            pages))

    def submit(self, given: Descriptor) -> None:
        """Queue a descriptor through the registers, without waiting.

        Raises
        ------
        DriverError
            ARGUMENT, TAG or FULL.
        """
        if given.tag >= OWN_TAGS:
            raise DriverError(Code.TAG)
        self._push(given)
        self.pending[direction(given.operation)] += 1

    def poll(self, operation: int) -> Completion | None:
        """The oldest completion of submitted descriptors of a direction, or None if there is none yet. Completions of
        blocking calls that gave up are dropped.

        Raises
        ------
        DriverError
            ARGUMENT.
        TransferError
            If its status is not OK; the completion is taken.
        """
        operation = direction(operation)
        # There are never more completions than places for them, unless the bus itself has failed.
        for _ in range(self.built.queue_depth + 1):
            done = self._take(operation)
            if done is None:
                return None
            if done.tag < OWN_TAGS:
                return _checked(done)
        return None

    def wait(self, operation: int) -> Completion:
        """Wait for the oldest completion of submitted descriptors; after TIMEOUT it can be called again.

        Errors: as :meth:`poll`, and TIMEOUT.
        """
        found: list[Completion] = []

        def there() -> bool:
            found.extend(done for done in [self.poll(operation)] if done is not None)
            return bool(found)

        self.until(there)
        return found[0]

    def take_buffers(self, given: Descriptor) -> None:
        """The buffers of a submitted descriptor are the processor's again: call it after its completion, before the
        destination is read. Only cache maintenance; blocking calls do it themselves."""
        take_buffers(self._caches, given)

    def _listed(self, given: Descriptor, pages: Pages) -> Descriptor:
        if not self.built.page_lists:
            raise DriverError(Code.NOT_BUILT)
        return replace(given, page_list=True, pages=pages.pages, page_size=pages.page_size)

    def _run(self, given: Descriptor) -> Completion:
        """Queue a descriptor with a tag of the driver's own, and wait for its completion."""
        operation = direction(given.operation)
        if self.pending[operation]:
            raise DriverError(Code.BUSY)
        given = replace(given, tag=OWN_TAGS | self.calls[operation])
        self._push(given)
        self.calls[operation] = (self.calls[operation] + 1) % OWN_TAGS
        self.late[operation] += 1
        found: list[Completion] = []

        def there() -> bool:
            found.extend(done for done in [self._take(operation)] if done is not None and done.tag == given.tag)
            return bool(found)

        self.until(there)
        take_buffers(self._caches, given)
        return _checked(found[0])

    # The whole engine.

    def reset(self) -> None:
        """Abort all transfers and put every register and queue back to its reset value.

        Completions that were not taken are lost, and rings must be initialised again. Ports that do not answer do not
        hold it up.

        Raises
        ------
        DriverError
            RESET, if it does not end.
        """
        self._write_time_limit(self._reset_time_limit, self._reset_time_limit)
        self.write("CONTROL", 1)
        self.until(lambda: not self.read("CONTROL") & 1, 1 << (self._reset_time_limit - 1), Code.RESET)
        self._forget()

    def drain(self, operation: int) -> None:
        """End all transfers of a direction, and wait until the engine uses no buffer of it any more.

        For a caller that gives up after TIMEOUT, or wants to stop. Aborts what runs, drops all completions that were
        not taken, and disables the rings; descriptors that were not read stay in theirs.

        Raises
        ------
        DriverError
            TIMEOUT: a memory does not answer, and may still be accessed while ``isolated`` says so.
        """
        operation = direction(operation)
        self._stop_ring(operation)
        self.write_back_disable(operation)
        self.records[operation] = None
        running = [f"{operation.name}_BUSY", *(f"{port}_ISOLATED" for port in PORTS[operation])]

        def done() -> bool:
            # In the order in which a descriptor passes them, so that none is missed.
            waiting = self.channel_field(operation, "QUEUE", "LEVEL")
            status = self.fields("STATUS")
            busy = any(status[name] for name in running)
            completions = self.channel_field(operation, "COMPLETIONS", "COUNT")
            if busy:
                self.abort(operation)
            if completions:
                self.write_channel(operation, "COMPLETION_POP", 1)
            return not (waiting or busy or completions)

        self.until(done)
        self._barrier()
        self.late[operation] = 0
        self.pending[operation] = self._unread(operation)


def _checked(done: Completion) -> Completion:
    if done.status is not Status.OK:
        raise TransferError(done)
    return done
