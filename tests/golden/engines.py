"""Engines for the tests, and which completions are right for a transfer: slowly, block by block and beat by beat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Completion, Descriptor, Engine, Fault, Memory, Parameters, Status
from cdma.golden.reference import blocks as reference
from cdma.golden.reference.lines import MalformedError, elements_of
from cdma.golden.reference.narrowing import narrowed

CODINGS = (0x11, 0x12, 0x14, 0x22, 0x24)
"""Those that an engine can be built for."""

BUILT = Parameters(lanes=3, block_bytes=512, beat_bytes=16, link_beat_bytes=32, address_bits=40,
                   codings=tuple(Coding(number) for number in CODINGS))
NARROWING = replace(BUILT, block_bytes=1024, narrowing=True)
DEVICE, LINK = 0x10_0000, 0x8000
SIZE = 1 << 16

OFFLOAD = Descriptor(operation=1, coding=0x14, source=DEVICE + 512, destination=LINK + 32, raw_bytes=4000,
                     capacity=5000, tag=7)
PREFETCH = Descriptor(operation=2, coding=0x14, source=LINK + 64, destination=DEVICE + 1024, raw_bytes=4000,
                      capacity=4000, packed_bytes=800, tag=8)

_STATUS = {"BAD_CODING": Status.BAD_CODING, "WRONG_SEQUENCE": Status.BAD_SEQUENCE, "BAD_LENGTH": Status.BAD_LENGTH,
           "TRUNCATED_HEADER": Status.TRUNCATED, "TRUNCATED_DATA": Status.TRUNCATED, "BAD_PADDING": Status.BAD_PADDING}

Outcome = tuple[Status, int, int, int]
"""Status, lane, response, place."""


def engine(built: Parameters = BUILT, seed: int = 1) -> Engine:
    """An engine between memories full of noise."""
    rng = np.random.default_rng(seed)
    return Engine(built, Memory(DEVICE, rng.integers(0, 256, SIZE, dtype=np.uint8)),
                  Memory(LINK, rng.integers(0, 256, SIZE, dtype=np.uint8)))


def tensor(elements: int, size: int, density: float, seed: int = 1) -> np.ndarray:
    """Bytes of elements of which about ``density`` are not zero."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 255, elements * size, dtype=np.uint8) * np.repeat(rng.random(elements) < density, size)


def summary(completions: list[Completion]) -> list[Outcome]:
    """What tells one fault from another."""
    return [(each.status, each.lane, each.response, each.place) for each in completions]


def first_error(faults: list[Fault], address: int, size: int, beat: int, write: bool,
                most_beats: int = 256) -> tuple[int, int, int] | None:
    """First address of the burst and of the beat that fails first, and the response."""
    burst = address
    for at in range(address, address + size, beat):
        if at % 4096 == 0 or at % (most_beats * beat) == 0:
            burst = at
        for fault in faults:
            if (fault.writes if write else fault.reads) and any(fault.start <= byte < fault.end
                                                                for byte in range(at, at + beat)):
                return burst, at, fault.response
    return None


@dataclass
class Slow:
    """The engine of the same name, in the order of the stream; ``device`` and ``link`` are read, never written."""

    built: Parameters
    device: Memory
    link: Memory
    found: set[Outcome] = field(default_factory=set)

    def outcomes(self, asked: Descriptor) -> set[Outcome]:
        """All that is right for a descriptor that is not refused; nothing when the transfer succeeds."""
        self.found = set()
        if asked.operation == 1:
            self._offload(asked)
        else:
            self._prefetch(asked)
        return self.found

    def _blocks(self, address: int, raw_bytes: int) -> Iterator[tuple[int, int, int]]:
        for at in range(address, address + raw_bytes, self.built.block_bytes):
            yield at, min(self.built.block_bytes, address + raw_bytes - at), \
                at // self.built.block_bytes % self.built.lanes

    def _offload(self, asked: Descriptor) -> None:
        stopped: set[int] = set()
        place, fits = asked.destination, True
        for number, (at, size, lane) in enumerate(self._blocks(asked.source, asked.raw_bytes)):
            error = first_error(self.device.faults, at, size, self.built.beat_bytes, False, self.built.burst_beats)
            if error and lane not in stopped:
                self.found.add((Status.LANE_READ_ERROR, lane, error[2], error[0]))
                stopped.add(lane)
            if stopped or not fits:
                continue
            raw = self.device.read(at, size).tobytes()
            if asked.narrow:
                raw = b"".join(narrowed(int.from_bytes(each, "little"), asked.narrow).to_bytes(2, "little")
                               for each in elements_of(raw, 4))
            block = reference.compress_blocks(raw, asked.coding, self.built.block_bytes, asked.fallback,
                                              asked.leave_raw)
            fits = place + len(block) <= asked.destination + asked.capacity
            if fits:
                place += len(block)
            else:
                self.found.add((Status.DESTINATION_TOO_SMALL, 0, 0, number))
        error = first_error(self.link.faults, asked.destination, place - asked.destination,
                            self.built.link_beat_bytes, True, self.built.burst_beats)
        if error:
            self.found.add((Status.LINK_WRITE_ERROR, 0, error[2], error[0]))

    def _prefetch(self, asked: Descriptor) -> None:
        size = asked.packed_bytes
        failed = first_error(self.link.faults, asked.source, size, self.built.link_beat_bytes, False,
                             self.built.burst_beats)
        if failed:
            self.found.add((Status.LINK_READ_ERROR, 0, failed[2], failed[0]))
            size = failed[1] - asked.source
        part = 2 if asked.narrow else 1
        reader = reference.Reader(self.link.read(asked.source, size).tobytes(), self.built.block_bytes // part,
                                  asked.raw_bytes // part, asked.coding)
        offset, standing, named = 0, set[int](), False
        spans = list(self._blocks(asked.destination, asked.raw_bytes))
        failed_lanes: set[int] = set()
        for number, (at, raw, lane) in enumerate(spans):
            status, whole, written = None, True, True
            try:
                _, offset = reader.read_one(offset, number, number * reader.block)
            except MalformedError as error:
                reason, at_byte, line, _ = error.fault
                status = _STATUS.get(reason, Status.BAD_PAYLOAD) if line is None else Status.BAD_PAYLOAD
                # A length field comes behind the header and is checked when the block is there.
                field = reason == "BAD_LENGTH" and at_byte > offset
                whole = status is Status.BAD_PAYLOAD or field
                written = whole or reason in ("TRUNCATED_DATA", "BAD_PADDING")
                if whole:
                    length = int.from_bytes(reader.stream[offset:offset + 2], "little")
                    offset += 4 + length + -length % 4
            error = first_error(self.device.faults, at, raw, self.built.beat_bytes, True, self.built.burst_beats)
            if error and written and lane not in standing | failed_lanes:
                self.found.add((Status.LANE_WRITE_ERROR, lane, error[2], error[0]))
                failed_lanes.add(lane)
            if status is not None and not named and not (failed and status is Status.TRUNCATED):
                self.found.add((status, 0, 0, number))
                standing.add(lane)
            named |= status is not None
            if not whole:
                return
        if offset < size and not named:
            self.found.add((Status.TRAILING, 0, 0, len(spans)))
