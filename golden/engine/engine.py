"""The engine as a function from descriptors and memory images to memory images and completions.

A transfer without a fault or with a single fault has one correct completion. With several faults, which of them ends
the transfer depends on the speed of the memories, because lanes and link work in parallel. A completion is then correct
for each fault that the engine can reach:

- memory errors: the first one of each lane, in the order of its blocks, and the first one on the link;
- the first page of the stream that cannot be used;
- offload: the first block for which the capacity is too small;
- prefetch: the first fault of the stream, in the order of the stream. The engine checks everything before a fault
  before it reports the fault, so it cannot report a later one. Within a block the order is that of docs/formats.md:
  coding, sequence, whether it is short, length, then that the block is complete, then its padding, then the length
  field of a short block, then its payload. Bytes after the last block come last.

The engine can write a block if nothing before it in the stream is wrong: no read error, no lack of capacity, no bad
header. Part of a block that is truncated or badly padded, or has a wrong length field, may have reached its lane. A
lane that reports a block with a wrong payload writes nothing after it. The CRC is compared only if there was no other
fault.

A port can become silent at any moment of a transfer, so for each silent port of the direction there is one more correct
completion; and so for each lane of the direction with an error in a buffer, which the transfer may meet or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.codec.headers import HEADER_BYTES, Frame, Scan, scan
from cdma.golden.codec.narrowing import NARROWED_BYTES, WIDE_BYTES, narrow, widen
from cdma.golden.engine.memory import BurstError, Memory
from cdma.golden.engine.pages import BadPage, PageList, Span, gathered, scattered
from cdma.golden.engine.parameters import LENGTH_BITS, Parameters
from cdma.golden.engine.records import RECORD_BYTES, Completion, Descriptor
from cdma.golden.engine.status import Operation, Status, status_of
from cdma.golden.engine.windows import OPEN, Windows

__all__ = ["Engine", "Silence"]

_LONGEST = (1 << LENGTH_BITS) - 1
_LIST_SILENCE = Status.LINK_READ_TIMEOUT
_PORTS = {Status.LANE_READ_TIMEOUT: Operation.OFFLOAD, Status.LINK_WRITE_TIMEOUT: Operation.OFFLOAD,
          Status.LANE_WRITE_TIMEOUT: Operation.PREFETCH, Status.LINK_READ_TIMEOUT: Operation.PREFETCH}


@dataclass(frozen=True)
class _LaneError:
    lane: int
    block: int
    error: BurstError


@dataclass(frozen=True)
class Silence:
    """A port that answers nothing for the time limit.

    Parameters
    ----------
    status
        Status of a transfer in its direction; it names the kind of the port.
    lane
        Number of the lane, for a lane's port.
    """

    status: Status
    lane: int = 0

    def __post_init__(self) -> None:
        if self.status not in _PORTS:
            raise ValueError(f"the status of a silent port must be one of {', '.join(each.name for each in _PORTS)}, "
                             f"not {self.status!r}")


@dataclass(frozen=True)
class Engine:
    """An engine between two memories.

    Parameters
    ----------
    parameters
        The configuration that was built.
    device, link
        Device memory and the memory behind the link.
    silent
        Ports that answer nothing for the time limit.
    windows
        The address windows; open when not given.
    spoiled
        Lanes, each with its direction, that find an error of parity in one of their buffers.
    """

    parameters: Parameters
    device: Memory
    link: Memory
    silent: frozenset[Silence] = frozenset()
    windows: Windows = OPEN
    spoiled: frozenset[tuple[Operation, int]] = frozenset()

    def run(self, descriptor: Descriptor, channel: Operation | None = None) -> Completion:
        """Run a transfer and return its completion; the destination's image changes if the transfer succeeds.

        After an error the destination is undefined within its capacity (offload) or raw length (prefetch); this model
        does not change it. Of several correct completions it returns that of the first fault in stream order.

        Parameters
        ----------
        channel
            The direction of the queue that the descriptor is in; its own when not given.

        Raises
        ------
        ValueError
            If the transfer reaches addresses that have neither memory nor a fault.
        """
        return self.outcomes(descriptor, channel)[0]

    def outcomes(self, descriptor: Descriptor, channel: Operation | None = None) -> list[Completion]:
        """Run a transfer and return all correct completions for it, see the head of this module.

        Parameters, errors: as :meth:`run`, which gives the first of them.
        """
        if (refused := self.refusal(descriptor, channel)) is not None:
            return [refused]
        blank = Completion(tag=descriptor.tag, status=Status.OK, operation=descriptor.operation)
        act = self._offload if descriptor.operation == Operation.OFFLOAD else self._prefetch
        return [*act(descriptor, blank), *self._timeouts(descriptor, blank),
                *(replace(blank, status=Status.BUFFER_PARITY, lane=lane) for operation, lane in sorted(self.spoiled)
                  if operation == descriptor.operation)]

    def _timeouts(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        """A completion for each silent port of the direction; an isolated port blocks every transfer."""
        silent = sorted((each for each in self.silent if _PORTS[each.status] == asked.operation),
                        key=lambda each: (each.status, each.lane))
        found = [replace(blank, status=each.status, lane=each.lane) for each in silent]
        # An offload reads page lists through the port through which a prefetch reads streams.
        listed = self.parameters.page_lists and asked.operation == Operation.OFFLOAD
        if listed and Silence(_LIST_SILENCE) in self.silent:
            found.append(replace(blank, status=Status.PAGE_LIST_READ_TIMEOUT))
        return found

    def refusal(self, descriptor: Descriptor, channel: Operation | None = None) -> Completion | None:
        """The completion of a descriptor that is refused before anything is read or written; None if it is accepted."""
        status = self.parameters.refusal(descriptor, channel, self.windows)
        return None if status is None else Completion(tag=descriptor.tag, status=status,
                                                      operation=descriptor.operation)

    def fetch(self, address: int) -> Descriptor | Completion:
        """Read a ring's entry from link memory: the descriptor, or the completion for an entry that cannot be read.

        Raises
        ------
        ValueError
            If the address is not a multiple of 64, or has no memory.
        """
        if address % RECORD_BYTES:
            raise ValueError(f"the address of a ring's entry must be a multiple of {RECORD_BYTES}, not {address:#x}")
        if Silence(Status.LINK_READ_TIMEOUT) in self.silent:
            return Completion(tag=0, status=Status.DESCRIPTOR_READ_TIMEOUT, operation=0, place=address)
        error = self.link.error(address, RECORD_BYTES, self.parameters.link_beat_bytes, write=False,
                                most_beats=self.parameters.burst_beats)
        if error is not None:
            return Completion(tag=0, status=Status.DESCRIPTOR_READ_ERROR, operation=0, response=error.response,
                              place=address)
        return Descriptor.unpack(self.link.read(address, RECORD_BYTES).tobytes())

    def _offload(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        built = self.parameters
        size = built.block_bytes
        part = _coded_part(asked)
        unread = self._lane_errors(asked.source, asked.raw_bytes, write=False)
        # Only blocks before the first one that cannot be read may reach the link.
        readable = min([asked.raw_bytes, *(each.block * size for each in unread)])
        raw = self.device.read(asked.source, readable) if readable else np.zeros(0, np.uint8)
        coded = narrow(raw, asked.narrow).view(np.uint8) if asked.narrow else raw
        stream = blocks.compress(coded, asked.coding, size // part, asked.fallback, asked.leave_raw)
        found = scan(stream, Frame(size // part, readable // part))
        ends = _ends(found)
        fitting = int(np.searchsorted(ends, min(asked.capacity, _LONGEST), side="right"))
        room = int(ends[fitting - 1]) if fitting else 0
        # In stream order: blocks that reach the link come before all that do not.
        faults = []
        spans, bad = self._places(asked, asked.destination, room)
        if error := self._span_error(spans, write=True):
            faults.append(_of_memory(blank, Status.LINK_WRITE_ERROR, error[1]))
        if bad is not None:
            faults.append(_of_page(blank, bad))
        if room < stream.size:
            faults.append(replace(blank, status=Status.DESTINATION_TOO_SMALL, place=fitting))
        faults += [_of_memory(blank, Status.LANE_READ_ERROR, each.error, each.lane) for each in unread]
        if faults:
            return faults
        scattered(self.link, spans, stream)
        nonzero = int(np.count_nonzero(coded.view(f"<u{Coding(asked.coding).element_bytes}")))
        return [replace(blank, crc=crc32c(stream) if built.crc else 0, bytes_written=stream.size, nonzero=nonzero,
                        raw_blocks=_raw_blocks(found), pages=len(spans) if asked.page_list else 0)]

    def _places(self, asked: Descriptor, address: int, size: int) -> tuple[list[Span], BadPage | None]:
        """Where the first bytes of a stream are in link memory, up to the first page that cannot be used."""
        if not asked.page_list:
            return [Span(0, address, size)], None
        built = self.parameters
        pages = PageList(self.link, address, asked.pages, 1 << asked.page_size, built.address_bits,
                         built.link_beat_bytes, built.burst_beats, self.windows.link)
        found = list(pages.spans(size))
        return ([each for each in found if isinstance(each, Span)],
                next((each for each in found if isinstance(each, BadPage)), None))

    def _span_error(self, spans: list[Span], *, write: bool) -> tuple[int, BurstError] | None:
        """The first error of link memory in a stream: the byte of the stream where its beat begins, and the error."""
        for span in spans:
            error = self.link.error(span.address, span.size, self.parameters.link_beat_bytes, write=write,
                                    most_beats=self.parameters.burst_beats)
            if error is not None:
                return span.start + error.beat - span.address, error
        return None

    def _prefetch(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        built = self.parameters
        spans, bad = self._places(asked, asked.source, asked.packed_bytes)
        error = self._span_error(spans, write=False)
        # The bytes of the stream that can be read.
        readable = asked.packed_bytes if bad is None else bad.start
        readable = readable if error is None else error[0]
        stream = gathered(self.link, [replace(span, size=min(span.size, readable - span.start))
                                      for span in spans if span.start < readable])
        part = _coded_part(asked)
        found = scan(stream, Frame(built.block_bytes // part, asked.raw_bytes // part, Coding(asked.coding)))
        faults: list[tuple[int, Completion]] = []
        raw, fault = _expand(stream, asked, built.block_bytes)
        standing: tuple[int, int] | None = None
        if fault is not None:
            status, place = status_of(fault)
            # After a link error or a bad page the end of the stream is unknown.
            if not ((error or bad) and status is Status.TRUNCATED):
                faults.append((place, replace(blank, status=status, place=place)))
            if status is Status.BAD_PAYLOAD:
                standing = self._lane(asked.destination, place), place
        for each in self._lane_errors(asked.destination, asked.raw_bytes, write=True):
            stands = standing is not None and each.lane == standing[0] and each.block > standing[1]
            if each.block < _handed_out(found) and not stands:
                faults.append((each.block, _of_memory(blank, Status.LANE_WRITE_ERROR, each.error, each.lane)))
        if error:
            faults.append((found.offset.size, _of_memory(blank, Status.LINK_READ_ERROR, error[1])))
        if bad is not None:
            faults.append((found.offset.size, _of_page(blank, bad)))
        if faults:
            return [completion for _, completion in sorted(faults, key=lambda each: each[0])]
        crc = crc32c(stream) if built.crc else 0
        if asked.check_crc and crc != asked.crc:
            return [replace(blank, status=Status.CRC_MISMATCH, crc=crc)]
        self.device.write(asked.destination, raw)
        return [replace(blank, crc=crc, bytes_written=raw.size, raw_blocks=_raw_blocks(found),
                        pages=len(spans) if asked.page_list else 0)]

    def _lane(self, address: int, block: int) -> int:
        """The lane of a block, for a transfer that begins at this address of device memory."""
        return (address // self.parameters.block_bytes + block) % self.parameters.lanes

    def _lane_errors(self, address: int, raw_bytes: int, *, write: bool) -> list[_LaneError]:
        """The first error of each lane, in the order of its blocks."""
        built = self.parameters
        size = built.block_bytes
        # Blocks are interleaved, so a fault's first block in each lane is among the fault's first blocks, one per lane.
        hit: set[int] = set()
        for fault in self.device.faults:
            if address < fault.end:
                first = max(fault.start - address, 0) // size
                hit.update(range(first, min(first + built.lanes, -(-raw_bytes // size))))
        found: dict[int, _LaneError] = {}
        for block in sorted(hit):
            lane = self._lane(address, block)
            at = block * size
            error = self.device.error(address + at, min(size, raw_bytes - at), built.beat_bytes, write=write,
                                      most_beats=built.burst_beats)
            if error is not None and lane not in found:
                found[lane] = _LaneError(lane, block, error)
        return list(found.values())


def _of_memory(blank: Completion, status: Status, error: BurstError, lane: int = 0) -> Completion:
    return replace(blank, status=status, lane=lane, response=error.response, place=error.address)


def _of_page(blank: Completion, bad: BadPage) -> Completion:
    if bad.error is not None:
        return _of_memory(blank, bad.status, bad.error)
    return replace(blank, status=bad.status, place=bad.start)


def _ends(found: Scan) -> np.ndarray:
    """Bytes of the stream before the end of each block, padding included."""
    return found.offset + HEADER_BYTES + (found.payload + HEADER_BYTES - 1) // HEADER_BYTES * HEADER_BYTES


def _raw_blocks(found: Scan) -> int:
    return int(np.count_nonzero(found.coding == Coding.RAW))


def _coded_part(asked: Descriptor) -> int:
    """Raw bytes for each byte that is coded: 2 where float32 is narrowed, because the 16-bit values are coded, in
    blocks of half the size; otherwise 1."""
    return WIDE_BYTES // NARROWED_BYTES if asked.narrow else 1


def _expand(stream: Bytes, asked: Descriptor, block_bytes: int) -> tuple[Bytes, StreamError | None]:
    """The tensor, and the first fault of its stream, if any."""
    part = _coded_part(asked)
    try:
        coded = blocks.decompress(stream, block_bytes // part, asked.raw_bytes // part, coding=asked.coding)
    except StreamError as fault:
        return np.zeros(0, np.uint8), fault
    return widen(coded, asked.narrow) if asked.narrow else coded, None


def _handed_out(found: Scan) -> int:
    """Number of blocks of which a lane receives any bytes: those before the first bad header, and one that is truncated
    or badly padded."""
    part = found.error is not None and found.error.reason in (Reason.TRUNCATED_DATA, Reason.BAD_PADDING)
    return found.offset.size + part
