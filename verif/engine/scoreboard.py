"""The scoreboard of an engine: compares completions and memory images with those of the golden model."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.engine import (
    ENTRY_BYTES,
    Completion,
    Descriptor,
    Engine,
    Fault,
    Memory,
    Operation,
    Parameters,
    Response,
    Silence,
    Status,
    Windows,
)
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import cover
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.layout import Arena
from cdma.verif.engine.locate import Written, where
from cdma.verif.engine.pages import listed_bytes, pages_of
from cdma.verif.engine.stream_sampling import sample_transfer, sample_windows

__all__ = ["Scoreboard", "Totals"]

_MOST = 100
_KEPT = 256
"""Transfers that are remembered, to say which of them a wrong byte belongs to."""


@dataclass
class Totals:
    """Bytes that the successful transfers of a direction moved, and beats of their streams on the link."""

    raw_bytes: int = 0
    packed_bytes: int = 0
    beats: int = 0


@dataclass
class _Loose:
    """The destination of a transfer that failed.

    Parameters
    ----------
    before
        Its bytes before.
    after
        Its bytes, had the transfer succeeded; None when nothing is known of them.
    """

    arena: Arena
    address: int
    before: Bytes
    after: Bytes | None


class Scoreboard:
    """Judges completions and images.

    The golden model works on the arenas' images: after every completion they are what memory must hold. Of a transfer
    that failed, each byte of the destination must be the old one or, where the model knows it, the right one.

    Parameters
    ----------
    config
        What the engine was built from.
    device, link
        What the memories hold.

    Members
    -------
    differences
        A sentence for everything that was wrong (the first hundred).
    """

    def __init__(self, config: EngineConfig, device: Arena, link: Arena) -> None:
        self.differences: list[str] = []
        self._totals = {operation: Totals() for operation in Operation}
        self._beats = config.link_beat_bytes
        self._arenas = {Operation.OFFLOAD: link, Operation.PREFETCH: device}
        self._memories = {"device": Memory(device.base, device.image), "link": Memory(link.base, link.image)}
        self._engine = Engine(Parameters.of(config), self._memories["device"], self._memories["link"])
        self._loose: list[_Loose] = []
        self._config = config
        self._written: dict[int, list[Written]] = {id(arena): [] for arena in (device, link)}
        self._transfers = 0

    def fail(self, memory: str, first: int, last: int, resp: int, *, reads: bool = True, writes: bool = True) -> None:
        """Expect errors of accesses to a range of addresses."""
        self._memories[memory].faults.append(Fault(first, last + 1, Response(resp), reads, writes))

    def heal(self) -> None:
        """Expect no errors of memory any more."""
        for memory in self._memories.values():
            memory.faults.clear()

    def silence(self, *ports: Silence) -> None:
        """Expect that these ports do not answer, and that all others do."""
        self._engine = replace(self._engine, silent=frozenset(ports))

    def spoil(self, *lanes: tuple[Operation, int]) -> None:
        """Expect that these lanes of a direction may find an error in a buffer, and no others."""
        self._engine = replace(self._engine, spoiled=frozenset(lanes))

    def confine(self, windows: Windows) -> None:
        """Expect that descriptors which are not inside these windows are refused."""
        self._engine = replace(self._engine, windows=windows)

    def fault(self, sentence: str) -> None:
        """Note something that was wrong."""
        if len(self.differences) < _MOST:
            self.differences.append(sentence)

    def take_totals(self, operation: Operation) -> Totals:
        """The totals of a direction since the last call."""
        totals, self._totals[operation] = self._totals[operation], Totals()
        return totals

    def check(self) -> None:
        """Raise AssertionError when anything was wrong so far."""
        if self.differences:
            more = f"\nand {len(self.differences) - 3} more" if len(self.differences) > 3 else ""
            raise AssertionError("\n".join(self.differences[:3]) + more)

    def expected(self, descriptor: Descriptor) -> list[Completion]:
        """All right completions of a descriptor that its direction executed; the images change as it changes memory."""
        return self._engine.outcomes(descriptor)

    def judge(self, descriptor: Descriptor, seen: Completion, *, channel: Operation | None = None,
              aborted: bool = False) -> str | None:
        """Check a completion; returns what was wrong with it, or None.

        Parameters
        ----------
        channel
            Which direction the descriptor was given to; its own when not given.
        aborted
            Whether an abort was asked for while it ran.
        """
        channel = channel or Operation(descriptor.operation)
        if cover.ENABLED:
            sample_windows(self._config, channel, descriptor, seen, self._engine.windows)
        refused = self._engine.refusal(descriptor, channel)
        if refused is not None:
            return self._compare(descriptor, [refused], seen)
        arena = self._arenas[channel]
        size = descriptor.capacity if channel is Operation.OFFLOAD else descriptor.raw_bytes
        spans = [(descriptor.destination, size)] if channel is Operation.PREFETCH else pages_of(
            arena, descriptor.destination, descriptor, size)
        # An address outside the image answers with an error; what is inside may be written.
        places = [(address, arena.view(address, max(0, min(size, arena.base + arena.size - address))))
                  for address, size in spans]
        before = [place.copy() for _, place in places]
        right = self.expected(descriptor)
        self._remember(arena, channel, descriptor, spans)
        succeeds = right[0].status is Status.OK
        # The data of an offload may have left before an error in them was found; prefetches write none behind it.
        known = succeeds and not (seen.status is Status.BUFFER_PARITY and channel is Operation.OFFLOAD)
        if aborted:
            right = [*right, Completion(tag=descriptor.tag, operation=channel, status=Status.ABORTED)]
        if seen.status is Status.OK and succeeds:
            stream = descriptor.packed_bytes if channel is Operation.PREFETCH else right[0].bytes_written
            self._totals[channel].raw_bytes += descriptor.raw_bytes
            self._totals[channel].packed_bytes += stream
            if cover.ENABLED:
                self._sample(channel, descriptor, stream)
            least = -(-stream // self._beats)
            self._totals[channel].beats += least
            if seen.cycles < least:
                self.fault(f"{_shown(descriptor)}: {seen.cycles} cycles, but {least} beats passed the link")
        else:
            for (address, place), old in zip(places, before, strict=True):
                self._loose.append(_Loose(arena, address, old, place.copy() if known else None))
                place[:] = old
        return self._compare(descriptor, right, seen)

    def _sample(self, channel: Operation, descriptor: Descriptor, packed: int) -> None:
        offload = channel is Operation.OFFLOAD
        link, device = self._arenas[Operation.OFFLOAD], self._arenas[Operation.PREFETCH]
        ends = (descriptor.source, descriptor.destination)
        raw_at, stream_at = ends if offload else ends[::-1]
        unreadable = descriptor.page_list and self._memories["link"].error(
            stream_at, descriptor.pages * ENTRY_BYTES, self._beats, write=False) is not None
        sample_transfer(self._config, channel, descriptor, device.view(raw_at, descriptor.raw_bytes),
                        listed_bytes(link, stream_at, descriptor, packed), unreadable=unreadable)

    def _remember(self, arena: Arena, channel: Operation, descriptor: Descriptor,
                  spans: list[tuple[int, int]]) -> None:
        self._transfers += 1
        stream = np.zeros(0, np.uint8)
        if channel is Operation.OFFLOAD:
            inside = [arena.view(address, size) for address, size in spans if arena.base <= address]
            stream = np.concatenate(inside) if inside else stream
        written = self._written[id(arena)]
        written.append(Written(self._transfers, channel, descriptor, spans, stream))
        del written[:-_KEPT]

    def lost(self, descriptor: Descriptor) -> None:
        """Note that a descriptor has no completion because of a reset, before or after it was executed."""
        blank = Completion(tag=descriptor.tag, operation=descriptor.operation, status=Status.ABORTED)
        self.judge(descriptor, blank, aborted=True)

    def _compare(self, descriptor: Descriptor, right: list[Completion], seen: Completion) -> str | None:
        if seen in right:
            return None
        sentence = f"{_shown(descriptor)}: {_difference(right[0], seen)}"
        if len(right) > 1:
            sentence += f" (nor any of {len(right) - 1} others)"
        self.fault(sentence)
        return sentence

    def compare(self, name: str, arena: Arena, seen: Bytes) -> str | None:
        """Compare an image with the expected memory; returns what was wrong, or None."""
        for loose in [each for each in self._loose if each.arena is arena]:
            self._loose.remove(loose)
            at = loose.address - arena.base
            now = seen[at:at + loose.before.size]
            if loose.after is not None:
                wrong = np.flatnonzero((now != loose.before) & (now != loose.after))
                if wrong.size:
                    address = loose.address + int(wrong[0])
                    self.fault(f"{name} memory: byte {address:#x} of the destination of a transfer that failed is "
                               f"neither the old one nor the right one; {self._where(arena, address)}")
            arena.image[at:at + now.size] = now
        wrong = np.flatnonzero(arena.image != seen)
        if not wrong.size:
            return None
        first = int(wrong[0])
        sentence = (f"{name} memory: byte {arena.base + first:#x} is {seen[first]:#04x}, not "
                    f"{arena.image[first]:#04x}; {wrong.size} bytes differ; "
                    f"{self._where(arena, arena.base + first)}")
        self.fault(sentence)
        # Later comparisons start from what was seen.
        arena.image[:] = seen
        return sentence

    def _where(self, arena: Arena, address: int) -> str:
        return where(self._written[id(arena)], address, self._config)


def _shown(descriptor: Descriptor) -> str:
    name = {each.value: each.name.lower() for each in Operation}.get(descriptor.operation, "nothing known")
    coding = coding_name(Coding(descriptor.coding)) if descriptor.coding in set(Coding) else f"{descriptor.coding:#04x}"
    return (f"{name} of {descriptor.raw_bytes} bytes, coding {coding}, from {descriptor.source:#x} to "
            f"{descriptor.destination:#x}")


def _difference(right: Completion, seen: Completion) -> str:
    seen = replace(seen, cycles=right.cycles)
    parts = []
    for field in fields(Completion):
        wanted, found = getattr(right, field.name), getattr(seen, field.name)
        if wanted != found:
            shown = [each.name if isinstance(each, Status) else f"{each:#x}" for each in (found, wanted)]
            parts.append(f"{field.name} is {shown[0]}, not {shown[1]}")
    return ", ".join(parts)
