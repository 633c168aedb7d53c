"""The driver's calls: those of ``cdma_driver.h`` without their prefix, done by the code in C."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from dataclasses import fields
from enum import IntEnum
from typing import Any

import numpy as np

from cdma.driver import library
from cdma.driver.access import Registers
from cdma.driver.layout import REGISTERS, mask
from cdma.driver.library import Pages, Ring, State, WriteBackRing
from cdma.golden.engine import RECORD_BYTES, Completion, Descriptor, Operation, Status, Window
from cdma.hdl.generate.handover.codes import Code

__all__ = ["OWN_TAGS", "Caches", "Driver", "DriverError", "Memories", "TransferError"]

OWN_TAGS = 0x8000_0000
"""Tags from here on are the driver's own: each blocking call has a new one. A completion with such a tag that no call
waits for belongs to a call that gave up, and is dropped."""

_POLLS = 10_000_000
_RECORD_POLLS = 64
_RESET_TIME_LIMIT = 20
_MOST_ENTRIES = 1 << 16
_RECORD = struct.Struct("<BBHI5QIIB7x")
_COMPLETION = tuple(each.name for each in fields(Completion))


class DriverError(Exception):
    """A call was refused, or gave up waiting.

    Parameters
    ----------
    code
        Why: the same code that the driver in C returns.
    detail
        What was given, for mistakes in an argument.
    """

    def __init__(self, code: Code, detail: str = "") -> None:
        super().__init__(f"{library.text(code)}{f': {detail}' if detail else ''} ({code.name})")
        self.code = code


class TransferError(Exception):
    """A transfer was completed with a status other than OK.

    Parameters
    ----------
    completion
        Its completion, with tag, status and place.
    """

    def __init__(self, completion: Completion) -> None:
        super().__init__(f"{library.text(completion.status)} ({completion.status.name}, tag {completion.tag:#x}, place "
                         f"{completion.place:#x})")
        self.completion = completion


class Memories(IntEnum):
    """The memory in which a buffer of a descriptor is."""

    DEVICE = 0
    LINK = 1


class Caches:
    """Hooks that do nothing: override those that your system needs. Memory is given in whole cache lines.

    Rings are given as the processor reaches them, buffers of descriptors at their address for the engine.
    """

    def clean(self, place: memoryview) -> None:
        """Write to memory what the processor has written to a ring: the engine reads it next."""

    def invalidate(self, place: memoryview) -> None:
        """Forget what was read of a ring: the engine may have written it since."""

    def before_read(self, memory: Memories, address: int, size: int) -> None:
        """The engine is going to read a buffer: clean it."""

    def before_write(self, memory: Memories, address: int, size: int) -> None:
        """The engine is going to write a buffer: invalidate it, so that no line is written back over it."""

    def after_write(self, memory: Memories, address: int, size: int) -> None:
        """The engine has written a buffer: invalidate what was read of it meanwhile."""


class Driver:
    """One engine. Making a driver finds the engine, resets it, and reads what was built.

    A call that is refused, or that gives up, raises :class:`DriverError` with the code that the driver in C returns. A
    transfer that fails raises :class:`TransferError` with its completion. What the access to registers, ``relax`` or a
    hook raises ends the call. The two directions are independent; calls for the same one must not overlap, and making a
    driver or ``reset`` must not overlap with any other call.

    Parameters
    ----------
    registers
        Reads and writes the engine's registers.
    polls
        How often a call polls before it gives up; 0: it never does.
    relax
        Called between two polls, to sleep for example.
    caches
        Cache maintenance, where the engine is not coherent with the processor's caches.
    record_polls
        Looks for a record, after which the driver asks whether the write-back ring still works.
    reset_time_limit
        A reset ends within two periods of the time limit, so the driver sets a short one for it: 2 to the power of this
        many cycles. It reads CONTROL at most half as many times.

    Members
    -------
    relax
        As given; it may be changed.
    state
        What was built, and what is pending.

    Raises
    ------
    DriverError
        NO_ENGINE, VERSION or RESET.
    ValueError
        If there is no C compiler.
    """

    def __init__(self, registers: Registers, *, polls: int = _POLLS, relax: Callable[[], None] | None = None,
                 caches: Caches | None = None, record_polls: int = _RECORD_POLLS,
                 reset_time_limit: int = _RESET_TIME_LIMIT) -> None:
        self.relax = relax
        self.state = State()
        self._thread = threading.local()
        self._records: dict[int, list[WriteBackRing]] = {}
        self._hooks = library.Hooks(reset_time_limit, record_polls, library.WRITE(self._guarded(registers.write32)),
                                    library.READ(self._guarded(registers.read32, True)),
                                    library.GO_ON(self._guarded(self._go_on, True)))
        for name, hook in _cache_hooks(caches).items() if caches is not None else ():
            kind = library.PLACE if name in ("clean", "invalidate") else library.BUFFER
            setattr(self._hooks, name, kind(self._guarded(hook)))
        self._run("start", ctypes.pointer(self._hooks))
        self.state.polls = polls

    # How the driver in C is called.

    def _go_on(self) -> int:
        """Between two polls."""
        if self.relax is not None:
            self.relax()
        return 1

    def _guarded(self, hook: Callable[..., Any], answers: bool = False) -> Callable[..., None]:
        """A hook for C, which no exception passes: it is kept, and nothing more is called until the call has ended."""
        def call(answer: Any, *arguments: Any) -> None:
            try:
                found = hook(*arguments)
                if answers:
                    answer[0] = found
                answer[1] = 1
            except BaseException as error:
                answer[1] = 0
                self._thread.error = error

        return call

    def _call(self, name: str, *arguments: Any, of: int = 0) -> int:
        """What a function in C returns that takes the engine first."""
        return self._called(name, self.state, *arguments, of=of)

    def _called(self, name: str, *arguments: Any, of: int = 0) -> int:
        """What a function in C returns; ``of`` are the operations in whose directions it does something, their sum."""
        function: Any = library.function(name)
        raised: Any = library.function("raised")
        for value, kind in zip(arguments, function.argtypes, strict=True):
            _check(value, kind)
        self._thread.error = None
        raised(self.state, 0)
        try:
            found = function(*arguments)
        finally:
            ended = raised(self.state, of)
        if ended:
            error, self._thread.error = self._thread.error, None
            # None: a signal's exception came before the first line of a hook, and Python has dropped it.
            raise KeyboardInterrupt if error is None else error
        return found

    def _run(self, name: str, *arguments: Any, of: int = 0) -> None:
        """Call a function that returns a code."""
        _raise(self._call(name, *arguments, of=of))

    def _transfer(self, name: str, *arguments: Any, of: int) -> Completion | None:
        """Call a function that returns a status, and has a result."""
        result = library.Result()
        code = self._call(name, *arguments, result, of=of)
        if code == Code.PENDING:
            return None
        if code < 0:
            _raise(code)
        found = {each: getattr(result, each) for each in _COMPLETION}
        done = Completion(**found | {"status": Status(result.status)})
        if done.status is not Status.OK:
            raise TransferError(done)
        return done

    def _finished(self, name: str, *arguments: Any, of: int) -> Completion:
        done = self._transfer(name, *arguments, of=of)
        assert done is not None
        return done

    # Transfers.

    def capacity(self, raw_bytes: int) -> int:
        """A capacity that holds the block stream of a tensor of this length, whatever its values and its coding are,
        unless it has no fallback."""
        return self._call("capacity", raw_bytes)

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
        return self._finished("offload", source, destination, raw_bytes, capacity, coding, of=Operation.OFFLOAD)

    def prefetch(self, source: int, destination: int, packed_bytes: int, raw_bytes: int, coding: int,
                 crc: int) -> Completion:
        """Expand a block stream from the link into device memory, check its CRC if the engine can, and wait.

        Errors: as :meth:`offload`.
        """
        return self._finished("prefetch", source, destination, packed_bytes, raw_bytes, coding, crc,
                              of=Operation.PREFETCH)

    def offload_pages(self, source: int, pages: Pages, raw_bytes: int, capacity: int, coding: int) -> Completion:
        """As :meth:`offload`, into pages of link memory; ``pages`` of the completion are used, the others are free."""
        return self._finished("offload_pages", source, pages, raw_bytes, capacity, coding, of=Operation.OFFLOAD)

    def prefetch_pages(self, pages: Pages, destination: int, packed_bytes: int, raw_bytes: int, coding: int,
                       crc: int) -> Completion:
        """As :meth:`prefetch`, from pages of link memory."""
        return self._finished("prefetch_pages", pages, destination, packed_bytes, raw_bytes, coding, crc,
                              of=Operation.PREFETCH)

    def submit(self, given: Descriptor) -> None:
        """Queue a descriptor through the registers, without waiting.

        Raises
        ------
        DriverError
            ARGUMENT, TAG or FULL.
        """
        self._run("submit", _descriptor(given), of=given.operation)

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
        return self._transfer("poll", operation, of=operation)

    def wait(self, operation: int) -> Completion:
        """Wait for the oldest completion of submitted descriptors; after TIMEOUT it can be called again.

        Errors: as :meth:`poll`, and TIMEOUT.
        """
        return self._finished("wait", operation, of=operation)

    def take_buffers(self, given: Descriptor) -> None:
        """The buffers of a submitted descriptor are the processor's again: call it after its completion, before the
        destination is read. Only cache maintenance; blocking calls do it themselves."""
        self._call("take_buffers", _descriptor(given))

    # Rings.

    def ring_init(self, operation: int, memory: Any, address: int, entries: int) -> Ring:
        """Let the engine read descriptors of a direction from a new, empty ring.

        The ring that was there before is disabled, and entries of it that were not read are lost.

        Parameters
        ----------
        operation
            The direction.
        memory
            The ring as the processor reaches it: a writable buffer that the engine's reads see.
        address
            The ring's address on the link, a multiple of 64.
        entries
            Descriptors of 64 bytes that it holds: a power of two from 2 to 65536. One always stays free.

        Raises
        ------
        DriverError
            ARGUMENT, RING_SIZE, TIMEOUT or REFUSED.
        """
        return self._new_ring("ring_init", Ring(), operation, memory, address, entries)

    def ring_enable(self, ring: Ring) -> None:
        """Let the engine read the ring, again after a descriptor could not be read or the ring was disabled.

        Raises
        ------
        DriverError
            REFUSED, if it is outside the link's window.
        """
        _raise(self._called("ring_enable", ring))

    def ring_disable(self, ring: Ring) -> None:
        """Let the engine read no more of the ring, and wait until it has stopped; what was read is still done.

        Raises
        ------
        DriverError
            TIMEOUT.
        """
        _raise(self._called("ring_disable", ring))

    def ring_submit(self, ring: Ring, given: Descriptor) -> None:
        """Put a descriptor into the ring, and tell the engine; its completion comes as after ``submit``.

        Raises
        ------
        DriverError
            ARGUMENT, TAG, RING_DISABLED or FULL.
        """
        _raise(self._called("ring_put", ring, _descriptor(given), of=ring.operation))

    def write_back_init(self, operation: int, memory: Any, address: int, entries: int) -> WriteBackRing:
        """Let the engine write the completions of a direction to a new ring.

        From then on ``poll``, ``wait`` and blocking calls look into memory, and read a register only now and then.
        Records of a ring that was there before are lost, if they were not taken.

        Parameters
        ----------
        operation, memory, address, entries
            As for ``ring_init``; the engine writes the memory, and the processor must see that.

        Raises
        ------
        DriverError
            ARGUMENT, NOT_BUILT, RING_SIZE, TIMEOUT or REFUSED.
        """
        ring, kept = WriteBackRing(), self._records.setdefault(operation, [])
        kept.append(ring)    # before C has it
        try:
            return self._new_ring("write_back_init", ring, operation, memory, address, entries)
        finally:
            has = ctypes.cast(self.state.records[operation == Operation.PREFETCH], ctypes.c_void_p).value
            # Where there is no new ring, the engine may still write to the old one.
            kept[:] = [ring] if has == ctypes.addressof(ring) else [each for each in kept if each is not ring]

    def write_back_disable(self, operation: int) -> None:
        """Disable the write-back ring of a direction, if there is one, and wait until no record is being written.

        ``poll`` takes the records that are left, then goes over to the registers.

        Raises
        ------
        DriverError
            ARGUMENT or TIMEOUT.
        """
        self._run("write_back_disable", operation, of=operation)

    def set_coalescing(self, operation: int, count: int, cycles: int) -> None:
        """Report completions of a write-back ring together; errors are reported at once.

        Parameters
        ----------
        operation
            The direction.
        count
            After so many records, 1 to 65535.
        cycles
            So many cycles after the first one at the latest, below 2^24; 0: however long it takes.

        Raises
        ------
        DriverError
            ARGUMENT or NOT_BUILT.
        """
        self._run("set_coalescing", operation, count, cycles)

    def _new_ring(self, function: str, ring: Any, operation: int, memory: Any, address: int, entries: int) -> Any:
        need = entries * RECORD_BYTES if 0 <= entries <= _MOST_ENTRIES else 0    # other numbers are refused anyway
        try:
            content = np.frombuffer(memory, np.uint8)
        except (TypeError, ValueError, BufferError):
            content = np.frombuffer(b"", np.uint8)
        if not content.flags.writeable or content.size < need:
            raise DriverError(Code.ARGUMENT, f"the memory of the ring must be a writable buffer of {need} bytes")
        ring.memory = content    # lives as long as the ring
        _raise(self._called(function, ring, self.state, operation, content.ctypes.data, address, entries, of=operation))
        return ring

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
        self._run("reset", of=Operation.OFFLOAD + Operation.PREFETCH)

    def drain(self, operation: int) -> None:
        """End all transfers of a direction, and wait until the engine uses no buffer of it any more.

        For a caller that gives up after TIMEOUT, or wants to stop. Aborts what runs, drops all completions that were
        not taken, and disables the rings; descriptors that were not read stay in theirs.

        Raises
        ------
        DriverError
            TIMEOUT: a memory does not answer, and may still be accessed while ``isolated`` says so.
        """
        self._run("drain", operation, of=operation)

    def abort(self, operation: int) -> None:
        """End the oldest running transfer of a direction; its completion has the status ABORTED unless it was done."""
        self._run("abort", operation)

    def isolated(self, operation: int) -> bool:
        """Whether a port may still access the memory of a transfer of a direction that was reported as timed out or
        aborted."""
        return bool(self._call("isolated", operation))

    def set_time_limit(self, link_cycles: int, lane_cycles: int) -> None:
        """How many cycles the link and the lanes may go without an answer before a transfer ends with a TIMEOUT status.

        Both are rounded up to a power of two from 2 on, and the engine may take twice as long; 0: no limit.

        Raises
        ------
        DriverError
            ARGUMENT, if a number is negative.
        """
        self._run("set_time_limit", link_cycles, lane_cycles)

    def enable_interrupts(self, *events: str) -> None:
        """Let events raise the interrupt, and no others.

        The completion of a descriptor is an event only if it has the flag ``interrupt``.

        Parameters
        ----------
        events
            Names of fields of IRQ_ENABLE, for example ``OFFLOAD_COMPLETION``.

        Raises
        ------
        DriverError
            ARGUMENT, if there is no such event; NOT_BUILT, if this engine does not have it: the others are enabled.
        """
        names = [each.name for each in REGISTERS["IRQ_ENABLE"].fields]
        if unknown := set(events) - set(names):
            raise DriverError(Code.ARGUMENT, f"events are {', '.join(names)}, not {', '.join(sorted(unknown))}")
        self._run("enable_interrupts", sum(mask("IRQ_ENABLE", name) for name in set(events)))

    def take_events(self) -> set[str]:
        """The events since the last call, which are cleared, so that the interrupt ends. Take completions after it."""
        value = self._call("take_events")
        return {each.name for each in REGISTERS["IRQ_STATUS"].fields if value & each.mask}

    def take_counters(self, operation: int) -> dict[str, int]:
        """What a direction has counted since the last call: ``raw_bytes``, ``packed_bytes``, ``busy_cycles`` and so on;
        the counters are set to zero.

        Raises
        ------
        DriverError
            ARGUMENT.
        """
        counters = library.Counters()
        self._run("take_counters", operation, counters)
        return {field[0]: getattr(counters, field[0]) for field in counters._fields_}

    def buffer_errors(self, operation: int) -> int:
        """How many errors of parity lanes of a direction found in their memories since the last reset; 65535: at least
        as many.

        Raises
        ------
        DriverError
            ARGUMENT, or NOT_BUILT: the engine has no parity.
        """
        count = ctypes.c_uint32()
        self._run("buffer_errors", operation, count)
        return count.value

    def inject_buffer_error(self, lane: int, memory: int) -> None:
        """Change a bit of what is read next from a memory of a lane, to test what happens then.

        The transfer ends with BUFFER_PARITY, or is repeated if others are at work beside it. A memory that was not
        built is never read.

        Parameters
        ----------
        lane
            Its number.
        memory
            Of :class:`cdma.hdl.engine.transfer.buffers.LaneMemory`.

        Raises
        ------
        DriverError
            ARGUMENT or NOT_BUILT.
        """
        self._run("inject_buffer_error", lane, memory)

    # What the engine may do in the system.

    def set_lane_attributes(self, cache: int, prot: int, qos: int, user: int = 0) -> None:
        """Choose AxCACHE, AxPROT, AxQOS and AxUSER of all lanes' ports for the bursts that follow.

        A reset brings those back that the engine was built with.

        Raises
        ------
        DriverError
            ARGUMENT, NOT_BUILT, LOCKED, or BUSY while a descriptor is at work.
        """
        self._run("set_lane_attributes", _struct(library.Attributes, cache, prot, qos, user))

    def set_link_attributes(self, cache: int, prot: int, qos: int, user: int = 0) -> None:
        """The same for the link's port: block streams, rings and page lists."""
        self._run("set_link_attributes", _struct(library.Attributes, cache, prot, qos, user))

    def locked(self) -> bool:
        """Whether address windows and attributes are locked."""
        return bool(self._call("locked"))

    def set_windows(self, device: Window, link: Window) -> None:
        """Confine descriptors and rings to a part of device memory and of link memory.

        A soft reset, so making a driver as well, leaves the windows as they are.

        Raises
        ------
        DriverError
            NOT_BUILT, WINDOW, LOCKED, or REFUSED: a ring is enabled or a descriptor is being processed, and only some
            of the registers may have been written.
        """
        self._run("set_windows", *(library.Window(each.base, each.limit) for each in (device, link)))

    def lock_windows(self) -> None:
        """Lock address windows and attributes: from now on only a reset of the engine by its pin changes them.

        Raises
        ------
        DriverError
            NOT_BUILT, LOCKED or REFUSED.
        """
        self._run("lock_windows")


def _raise(code: int) -> None:
    """Raise what a code stands for, if it is one."""
    if code:
        raise DriverError(Code(code))


def _check(value: Any, kind: Any) -> None:
    """Numbers must fit into their type: C would cut them off."""
    if kind in (ctypes.c_uint32, ctypes.c_uint64) and not 0 <= value < 1 << 8 * ctypes.sizeof(kind):
        raise DriverError(Code.ARGUMENT, f"{value} is not a number of {8 * ctypes.sizeof(kind)} bits")


def _struct(kind: Any, *values: int) -> Any:
    """A struct of numbers that fit."""
    for value, field in zip(values, kind._fields_, strict=True):
        _check(value, field[1])
    return kind(*values)


def _descriptor(given: Descriptor) -> library.Descriptor:
    try:
        return library.Descriptor(*_RECORD.unpack(given.pack()))
    except ValueError as error:
        raise DriverError(Code.ARGUMENT, str(error)) from error


def _cache_hooks(caches: Caches) -> dict[str, Callable[..., None]]:
    """What C calls, in the form in which users write it."""
    def place(hook: Callable[[memoryview], None]) -> Callable[..., None]:
        return lambda at, size: hook(memoryview((ctypes.c_uint8 * size).from_address(at)).cast("B"))

    def buffer(hook: Callable[[Memories, int, int], None]) -> Callable[..., None]:
        return lambda memory, address, size: hook(Memories(memory), address, size)

    return {**{name: place(getattr(caches, name)) for name in ("clean", "invalidate")},
            **{name: buffer(getattr(caches, name)) for name in ("before_read", "before_write", "after_write")}}
