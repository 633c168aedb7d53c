"""The engine as a function from descriptors and memory images to memory images and completions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from golden import blocks, zvc
from golden.buffers import Bytes
from golden.coding import RAW
from golden.crc32c import crc32c
from golden.engine.memory import Memory
from golden.engine.records import Completion, Descriptor
from golden.engine.status import Operation, Status, status_of
from golden.errors import StreamError
from golden.headers import Frame, check_header

__all__ = ["LENGTH_BITS", "Engine", "Parameters"]

LENGTH_BITS = 40
"""Bits of every length in bytes."""

_UNDEFINED_FLAGS = 0xFFF8


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What an engine was built for; the fields are those of its configuration.

    Parameters
    ----------
    lanes
        Memory controllers.
    block_bytes
        Raw bytes of a block.
    beat_bytes, link_beat_bytes
        Bytes of a transfer at a lane, and at the link.
    address_bits
        Bits of an address.
    element_bytes
        Element sizes that were built.
    raw_fallback, crc
        Whether blocks may go raw, and whether the CRC is computed; without, it is 0 in completions.
    """

    lanes: int
    block_bytes: int
    beat_bytes: int
    link_beat_bytes: int
    address_bits: int
    element_bytes: tuple[int, ...]
    raw_fallback: bool = True
    crc: bool = True


@dataclass(frozen=True)
class Engine:
    """An engine between two memories.

    Parameters
    ----------
    parameters
        What was built.
    device, link
        Device memory and the far side's.
    """

    parameters: Parameters
    device: Memory
    link: Memory

    def run(self, descriptor: Descriptor) -> Completion:
        """Do a transfer, and change the destination's image if it succeeds.

        On an error the destination is undefined within its capacity; this model leaves it as it was.

        Raises
        ------
        ValueError
            If a transfer that has no fault goes where there is no memory.
        """
        return self.outcomes(descriptor)[0]

    def outcomes(self, descriptor: Descriptor) -> list[Completion]:
        """Do a transfer; all completions that are right for it.

        There is more than one only where there is more than one fault: lanes and link work side by side, so any of
        them may be the one that is reported: of each lane the first it meets, of the stream's headers and lengths the
        first, of the link the first. The first in the list is the first in the order of the stream.
        """
        blank = Completion(tag=descriptor.tag, status=Status.OK, operation=descriptor.operation)
        if (status := self._refused(descriptor)) is not None:
            return [replace(blank, status=status)]
        act = self._offload if descriptor.operation == Operation.OFFLOAD else self._prefetch
        return act(descriptor, blank)

    def refuses(self, descriptor: Descriptor) -> bool:
        """Whether a descriptor is refused before anything is read or written."""
        return self._refused(descriptor) is not None

    # Checks, in the order in which the first failure is reported.

    def _refused(self, asked: Descriptor, operation: Operation | None = None) -> Status | None:
        built = self.parameters
        offload = asked.operation == Operation.OFFLOAD
        most = 1 << LENGTH_BITS
        if asked.operation not in tuple(Operation) or (operation is not None and asked.operation != operation):
            return Status.BAD_OPERATION
        if asked.element_bytes not in built.element_bytes:
            return Status.BAD_ELEMENT
        if (asked.flags & _UNDEFINED_FLAGS or (asked.check_crc and (offload or not built.crc))
                or (not asked.fallback and not offload)):
            return Status.BAD_FLAGS
        if any(asked.reserved):
            return Status.BAD_RESERVED
        if not 0 < asked.raw_bytes < most or asked.raw_bytes % asked.element_bytes:
            return Status.BAD_RAW_BYTES
        if asked.packed_bytes if offload else not 0 < asked.packed_bytes < most or asked.packed_bytes % 4:
            return Status.BAD_PACKED_BYTES
        source = (built.block_bytes, asked.raw_bytes) if offload else (built.link_beat_bytes, asked.packed_bytes)
        target = (built.link_beat_bytes, asked.capacity) if offload else (built.block_bytes, asked.raw_bytes)
        for address, (grain, size), status in ((asked.source, source, Status.BAD_SOURCE),
                                               (asked.destination, target, Status.BAD_DESTINATION)):
            if address % grain or address + size > 1 << built.address_bits:
                return status
        return Status.DESTINATION_TOO_SMALL if not offload and asked.capacity < asked.raw_bytes else None

    def refusal(self, descriptor: Descriptor, channel: Operation) -> Completion | None:
        """The completion of a descriptor that a direction's channel refuses; None when it takes it."""
        status = self._refused(descriptor, channel)
        return None if status is None else Completion(tag=descriptor.tag, status=status,
                                                      operation=descriptor.operation)

    # The two directions.

    def _offload(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        built = self.parameters
        faults = self._lane_faults(asked.source, asked.raw_bytes, blank, write=False)
        if faults:
            return faults
        raw = self.device.read(asked.source, asked.raw_bytes)
        stream = blocks.compress(raw, asked.element_bytes, built.block_bytes, asked.fallback and built.raw_fallback)
        found = list(blocks.headers(stream, built.block_bytes))
        # What there is no room for is not written, so it cannot fail.
        fits = max((block.end for block in found if block.end <= asked.capacity), default=0)
        faults = [replace(blank, status=Status.DESTINATION_TOO_SMALL,
                          place=next(block.number for block in found if block.end > asked.capacity))
                  ] if fits < stream.size else []
        if fits and (fault := self.link.fault(asked.destination, fits, built.link_beat_bytes, write=True)):
            faults.append(replace(blank, status=Status.LINK_WRITE_ERROR, place=fault[0], response=fault[1]))
        if faults:
            return faults
        self.link.write(asked.destination, stream)
        nonzero = int(np.count_nonzero(raw.view(f"<u{asked.element_bytes}")))
        return [replace(blank, crc=crc32c(stream) if built.crc else 0, bytes_written=stream.size, nonzero=nonzero,
                        raw_blocks=sum(block.coding == RAW for block in found))]

    def _prefetch(self, asked: Descriptor, blank: Completion) -> list[Completion]:
        built = self.parameters
        if fault := self.link.fault(asked.source, asked.packed_bytes, built.link_beat_bytes, write=False):
            # Blocks before the burst that failed may be wrong as well, or their lanes.
            faults = [replace(blank, status=Status.LINK_READ_ERROR, place=fault[0], response=fault[1])]
            good = fault[0] - asked.source
            return faults + [each for each in self._stream_faults(self.link.read(asked.source, good), asked, blank)
                             if each.status not in (Status.TRUNCATED, Status.TRAILING)
                             ] + self._lane_faults(asked.destination, asked.raw_bytes, blank, write=True)
        stream = self.link.read(asked.source, asked.packed_bytes)
        faults = self._lane_faults(asked.destination, asked.raw_bytes, blank, write=True)
        try:
            raw = blocks.decompress(stream, built.block_bytes, asked.raw_bytes, element_bytes=asked.element_bytes)
        except StreamError:
            return self._stream_faults(stream, asked, blank) + faults
        if faults:
            return faults
        crc = crc32c(stream) if built.crc else 0
        if asked.check_crc and crc != asked.crc:
            return [replace(blank, status=Status.CRC_MISMATCH, crc=crc)]
        self.device.write(asked.destination, raw)
        raw_blocks = sum(block.coding == RAW for block in blocks.headers(stream, built.block_bytes))
        return [replace(blank, crc=crc, bytes_written=raw.size, raw_blocks=raw_blocks)]

    def _spans(self, address: int, size: int) -> Iterator[tuple[int, int]]:
        for at in range(address, address + size, self.parameters.block_bytes):
            yield at, min(self.parameters.block_bytes, address + size - at)

    def _lane_faults(self, address: int, size: int, blank: Completion, *, write: bool) -> list[Completion]:
        """Of each lane, the first block of device memory that answers with an error."""
        if not self.device.faults:
            return []
        built = self.parameters
        found: dict[int, Completion] = {}
        for at, length in self._spans(address, size):
            lane = at // built.block_bytes % built.lanes
            fault = self.device.fault(at, length, built.beat_bytes, write=write)
            if fault is not None and lane not in found:
                found[lane] = replace(blank, status=Status.LANE_WRITE_ERROR if write else Status.LANE_READ_ERROR,
                                      lane=lane, place=fault[0], response=fault[1])
        return list(found.values())

    def _stream_faults(self, stream: Bytes, asked: Descriptor, blank: Completion) -> list[Completion]:
        """What is wrong with a stream: of each lane's blocks the first, up to the first header that is wrong."""
        built = self.parameters
        frame = Frame(built.block_bytes, asked.raw_bytes, asked.element_bytes)
        first = asked.destination // built.block_bytes
        found: dict[int, Completion] = {}
        offset = 0
        spans = list(self._spans(0, asked.raw_bytes))
        for number, (_, size) in enumerate(spans):
            lane = (first + number) % built.lanes
            try:
                block = check_header(stream, number, offset, frame)
            except StreamError as fault:
                found.setdefault(-1, replace(blank, status=status_of(fault.reason, False), place=number))
                break
            payload = stream[block.payload_offset:block.payload_offset + block.payload_bytes]
            try:
                if block.coding != RAW:
                    zvc.decompress(payload, block.coding, size)
            except StreamError:
                found.setdefault(lane, replace(blank, status=Status.BAD_PAYLOAD, place=number))
            offset = block.end
        else:
            if offset < stream.size:
                found[-1] = replace(blank, status=Status.TRAILING, place=len(spans))
        return sorted(found.values(), key=lambda each: each.place)
