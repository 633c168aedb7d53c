"""The engine as a function from descriptors and memory images to memory images and completions.

A transfer that goes well has one right completion. So has one with a single fault. Where there are several, lanes and
link work side by side, and which fault ends the transfer depends on how fast the memories are. Right is a completion
for any fault that the engine can get to, whatever else is wrong:

- an error of memory: of each lane the first one in its blocks, and the first one on the link;
- offload: the first block that the capacity does not hold;
- prefetch: the first fault of the stream, in the order of the stream. The engine looks at all that came before a fault
  until it names it, so no other one can be named. Of a block coding, sequence and length come first, then that it is
  all there, then its padding, then its lines. What is behind the last block comes after them.

The engine gets to a block's destination if nothing before it in the stream is wrong: nothing that cannot be read, or
does not fit, or has a bad header. Of a block that is cut off or badly padded a part may have gone to its lane; the lane
that names a block whose lines are wrong writes nothing behind it. The CRC is compared when all else went well.

A port that falls silent does so at any moment of a transfer, so beside all these there is a completion for each silent
port of its direction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from golden.codec import blocks
from golden.codec.buffers import Bytes
from golden.codec.coding import RAW
from golden.codec.crc32c import crc32c
from golden.codec.errors import Reason, StreamError
from golden.codec.headers import HEADER_BYTES, Frame, Scan, scan
from golden.codec.narrowing import NARROWED_BYTES, WIDE_BYTES, narrow, widen
from golden.engine.memory import BurstError, Memory
from golden.engine.parameters import LENGTH_BITS, Parameters
from golden.engine.records import RECORD_BYTES, Completion, Descriptor
from golden.engine.status import Operation, Status, status_of

__all__ = ["Engine", "Silence"]

_LONGEST = (1 << LENGTH_BITS) - 1
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
        What becomes of a transfer in its direction: the kind of the port.
    lane
        Of a lane's port.
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
        What was built.
    device, link
        Device memory and the far side's.
    silent
        Ports that answer nothing for the time limit.
    """

    parameters: Parameters
    device: Memory
    link: Memory
    silent: frozenset[Silence] = frozenset()

    def run(self, descriptor: Descriptor, channel: Operation | None = None) -> Completion:
        """Do a transfer, and change the destination's image if it succeeds; the completion.

        On an error the destination is undefined within its capacity (offload) or raw length (prefetch); this model
        leaves it as it was. Of several right completions it is the one for the first fault in the order of the stream.

        Parameters
        ----------
        channel
            The direction of the queue that the descriptor is in; its own when not given.

        Raises
        ------
        ValueError
            If the transfer gets to addresses where there is neither memory nor a fault.
        """
        return self.outcomes(descriptor, channel)[0]

    def outcomes(self, descriptor: Descriptor, channel: Operation | None = None) -> list[Completion]:
        """Do a transfer; all completions that are right for it, see above.

        Parameters, errors: as :meth:`run`, which gives the first of them.
        """
        if (refused := self.refusal(descriptor, channel)) is not None:
            return [refused]
        blank = Completion(tag=descriptor.tag, status=Status.OK, operation=descriptor.operation)
        act = self._offload if descriptor.operation == Operation.OFFLOAD else self._prefetch
        return [*act(descriptor, blank), *self._timeouts(descriptor, blank)]

    def _timeouts(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        """A completion for each silent port of a direction: an isolated one holds up transfers that do not use it."""
        silent = sorted((each for each in self.silent if _PORTS[each.status] == asked.operation),
                        key=lambda each: (each.status, each.lane))
        return [replace(blank, status=each.status, lane=each.lane) for each in silent]

    def refusal(self, descriptor: Descriptor, channel: Operation | None = None) -> Completion | None:
        """The completion of a descriptor that is refused before anything is read or written; None when it is not."""
        status = self.parameters.refusal(descriptor, channel)
        return None if status is None else Completion(tag=descriptor.tag, status=status,
                                                      operation=descriptor.operation)

    def fetch(self, address: int) -> Descriptor | Completion:
        """A ring's entry in the far side's memory: the descriptor, or the completion that says it cannot be read.

        Raises
        ------
        ValueError
            If the address is no multiple of 64, or there is no memory.
        """
        if address % RECORD_BYTES:
            raise ValueError(f"the address of a ring's entry must be a multiple of {RECORD_BYTES}, not {address:#x}")
        if Silence(Status.LINK_READ_TIMEOUT) in self.silent:
            return Completion(tag=0, status=Status.DESCRIPTOR_READ_TIMEOUT, operation=0, place=address)
        error = self.link.error(address, RECORD_BYTES, self.parameters.link_beat_bytes, write=False)
        if error is not None:
            return Completion(tag=0, status=Status.DESCRIPTOR_READ_ERROR, operation=0, response=error.response,
                              place=address)
        return Descriptor.unpack(self.link.read(address, RECORD_BYTES).tobytes())

    def _offload(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        built = self.parameters
        size = built.block_bytes
        part = _coded_part(asked)
        unread = self._lane_errors(asked.source, asked.raw_bytes, write=False)
        # What is before the first block that cannot be read may get to the link.
        readable = min([asked.raw_bytes, *(each.block * size for each in unread)])
        raw = self.device.read(asked.source, readable) if readable else np.zeros(0, np.uint8)
        coded = narrow(raw, asked.narrow).view(np.uint8) if asked.narrow else raw
        stream = blocks.compress(coded, asked.element_bytes, size // part, asked.fallback and built.raw_fallback,
                                 asked.leave_raw)
        found = scan(stream, Frame(size // part, readable // part))
        ends = _ends(found)
        fitting = int(np.searchsorted(ends, min(asked.capacity, _LONGEST), side="right"))
        room = int(ends[fitting - 1]) if fitting else 0
        # In the order of the stream: what gets to the link is before all that does not.
        faults = []
        if error := self.link.error(asked.destination, room, built.link_beat_bytes, write=True):
            faults.append(_of_memory(blank, Status.LINK_WRITE_ERROR, error))
        if room < stream.size:
            faults.append(replace(blank, status=Status.DESTINATION_TOO_SMALL, place=fitting))
        faults += [_of_memory(blank, Status.LANE_READ_ERROR, each.error, each.lane) for each in unread]
        if faults:
            return faults
        self.link.write(asked.destination, stream)
        nonzero = int(np.count_nonzero(coded.view(f"<u{asked.element_bytes}")))
        return [replace(blank, crc=crc32c(stream) if built.crc else 0, bytes_written=stream.size, nonzero=nonzero,
                        raw_blocks=_raw_blocks(found))]

    def _prefetch(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        built = self.parameters
        error = self.link.error(asked.source, asked.packed_bytes, built.link_beat_bytes, write=False)
        stream = self.link.read(asked.source, error.beat - asked.source if error else asked.packed_bytes)
        part = _coded_part(asked)
        found = scan(stream, Frame(built.block_bytes // part, asked.raw_bytes // part, asked.element_bytes))
        faults: list[tuple[int, Completion]] = []
        raw, fault = _expand(stream, asked, built.block_bytes)
        standing: tuple[int, int] | None = None
        if fault is not None:
            status, place = status_of(fault)
            # Where the link failed, the stream has no end.
            if not (error and status is Status.TRUNCATED):
                faults.append((place, replace(blank, status=status, place=place)))
            if status is Status.BAD_PAYLOAD:
                standing = self._lane(asked.destination, place), place
        for each in self._lane_errors(asked.destination, asked.raw_bytes, write=True):
            stands = standing is not None and each.lane == standing[0] and each.block > standing[1]
            if each.block < _handed_out(found) and not stands:
                faults.append((each.block, _of_memory(blank, Status.LANE_WRITE_ERROR, each.error, each.lane)))
        if error:
            faults.append((found.offset.size, _of_memory(blank, Status.LINK_READ_ERROR, error)))
        if faults:
            return [completion for _, completion in sorted(faults, key=lambda each: each[0])]
        crc = crc32c(stream) if built.crc else 0
        if asked.check_crc and crc != asked.crc:
            return [replace(blank, status=Status.CRC_MISMATCH, crc=crc)]
        self.device.write(asked.destination, raw)
        return [replace(blank, crc=crc, bytes_written=raw.size, raw_blocks=_raw_blocks(found))]

    def _lane(self, address: int, block: int) -> int:
        """The lane of a block of a transfer that begins at an address of device memory."""
        return (address // self.parameters.block_bytes + block) % self.parameters.lanes

    def _lane_errors(self, address: int, raw_bytes: int, *, write: bool) -> list[_LaneError]:
        """Of each lane, the first error in its blocks."""
        built = self.parameters
        size = built.block_bytes
        # Lanes take turns, so the first block of each that a fault hits is among as many blocks as there are lanes.
        hit: set[int] = set()
        for fault in self.device.faults:
            if address < fault.end:
                first = max(fault.start - address, 0) // size
                hit.update(range(first, min(first + built.lanes, -(-raw_bytes // size))))
        found: dict[int, _LaneError] = {}
        for block in sorted(hit):
            lane = self._lane(address, block)
            at = block * size
            error = self.device.error(address + at, min(size, raw_bytes - at), built.beat_bytes, write=write)
            if error is not None and lane not in found:
                found[lane] = _LaneError(lane, block, error)
        return list(found.values())


def _of_memory(blank: Completion, status: Status, error: BurstError, lane: int = 0) -> Completion:
    return replace(blank, status=status, lane=lane, response=error.response, place=error.address)


def _ends(found: Scan) -> np.ndarray:
    """Bytes of the stream before the end of each block, padding included."""
    return found.offset + HEADER_BYTES + (found.payload + HEADER_BYTES - 1) // HEADER_BYTES * HEADER_BYTES


def _raw_blocks(found: Scan) -> int:
    return int(np.count_nonzero(found.coding == RAW))


def _coded_part(asked: Descriptor) -> int:
    """How many raw bytes stand for one that is coded: the stream of a narrowed tensor is that of the 16-bit tensor,
    with blocks as much shorter as it is."""
    return WIDE_BYTES // NARROWED_BYTES if asked.narrow else 1


def _expand(stream: Bytes, asked: Descriptor, block_bytes: int) -> tuple[Bytes, StreamError | None]:
    """The tensor, or the first thing that is wrong with its stream."""
    part = _coded_part(asked)
    try:
        coded = blocks.decompress(stream, block_bytes // part, asked.raw_bytes // part,
                                  element_bytes=asked.element_bytes)
    except StreamError as fault:
        return np.zeros(0, np.uint8), fault
    return widen(coded, asked.narrow) if asked.narrow else coded, None


def _handed_out(found: Scan) -> int:
    """Blocks of which lanes get something: those before the first bad header, and one that is cut off or badly
    padded."""
    part = found.error is not None and found.error.reason in (Reason.TRUNCATED_DATA, Reason.BAD_PADDING)
    return found.offset.size + part
