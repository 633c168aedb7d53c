"""Packets on their way into a compressor of blocks, beat by beat, for those who look at them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cdma.golden.reference.exponents import WHOLE, ZEROS
from tests.hdl.codec.payload.payloads import LINE, Block, random_floats

__all__ = ["Packet", "plain_block", "present_bytes", "random_length", "read_record", "send", "whole_blocks",
           "with_every_kind"]


Record = dict[str, Any]
"""Fields of a line's record; of a line of zeros, only that it is one."""


@dataclass(frozen=True)
class Packet:
    """A block of a packet: its raw bytes, the bytes of an element, whether it is coded with exponents, and whether a
    part of an element comes behind it."""

    raw: bytes
    size: int
    exponents: bool = True
    cut: bool = False

    @property
    def coded(self) -> Block:
        """The block, coded with exponents."""
        return Block.of(self.raw, self.size, True)

    @property
    def elements(self) -> int:
        """Its elements that are not zero."""
        return sum(any(self.raw[at:at + self.size]) for at in range(0, len(self.raw), self.size))

    @property
    def rests(self) -> int:
        """Bytes of its data that are rests, with exponents."""
        return len(self.coded.parts[2]) - self.elements * (self.size - 1)

    @property
    def begun(self) -> bool:
        """It ends within the first element of a line."""
        return self.cut and len(self.raw) % LINE == 0

    def beats(self, beat_bytes: int) -> list[bytes]:
        """Its beats. The last one is empty if it has a part of an element only."""
        beats = [self.raw[at:at + beat_bytes] for at in range(0, len(self.raw), beat_bytes)]
        return beats + [b""] * (self.cut and len(self.raw) % beat_bytes == 0)

    def records(self) -> list[Record]:
        """The record of each line that has a beat, with exponents."""
        records = [line["record"] for line in self.coded.records()]
        return [*({"zero": 1} if record["zero"] else record for record in records), *([{"zero": 1}] * self.begun)]


def read_record(record: Any) -> Record:
    """The fields of a record that a design gives, those that count."""
    if record.zero:
        return {"zero": 1}
    return {"less": list(record.less), **{name: getattr(record, name) for name in
                                          ("zero", "dense", "signs", "escape", "base", "width")}}


def present_bytes(data: int, present: int) -> int:
    """A beat with 0 in the bytes that are missing: ``present`` has a bit for each 2 bytes."""
    return data & (1 << 16 * present.bit_length()) - 1


def random_length(rng: random.Random, size: int) -> int:
    """Bytes of a block: whole lines, whole beats, or any elements."""
    return rng.choice([size, 32, 64, 100, 128, 132, 384, 512, 1024, 1024, size * rng.randrange(1, 1024 // size)])


def with_every_kind(packets: Sequence[Packet]) -> list[Packet]:
    """The packets, of which those with exponents have line headers with every width and flag."""
    kinds = {header for packet in packets if packet.exponents
             for header in packet.coded.parts[0][:-(-len(packet.raw) // LINE)]}
    assert {header & 7 for header in kinds} == set(range(8))
    assert {ZEROS} < kinds and any(header & 7 == WHOLE for header in kinds - {ZEROS})
    for bit in range(3, 8):
        assert {header >> bit & 1 for header in kinds - {ZEROS}} == {0, 1}
    return list(packets)


def whole_blocks(count: int) -> list[Packet]:
    """Blocks of 4096 bytes in which every line has a base, widths and a tag."""
    out = bytearray()
    for line in range(count * 4096 // LINE):
        out += b"".join((200 + line % 2 - (k if k < 16 else 0) << 7).to_bytes(2, "little") for k in range(63))
        out += bytes(2)
    packets = [Packet(bytes(out[k:k + 4096]), 2) for k in range(0, len(out), 4096)]
    assert all(len(packet.coded.parts[0]) == 96 for packet in packets)
    return packets


def plain_block(rng: random.Random, length: int, size: int) -> Packet:
    """A block of values of every kind, coded with exponents."""
    return Packet(random_floats(rng, length, size), size)


async def send(ctx: Any, port: Any, packets: Sequence[Packet], beat_bytes: int, rng: random.Random, busy: float,
               also: Callable[[Any, Packet | None, bool], None] = lambda *_: None,
               full: Callable[[Any], bool] = lambda _: False) -> int:
    """Sends the beats to a port with ``take``, ``data``, ``present``, ``last``, ``wide``, ``empty`` and ``waits``, with
    noise in bytes that are missing; cycles in which none could be taken.

    Parameters
    ----------
    also
        Sets other ports in each cycle, for the packet of the beat, None if there is no beat, and its last one.
    full
        Whether a beat has to wait.
    """
    stalls, waits = 0, False
    for packet in packets:
        beats = packet.beats(beat_bytes)
        for k, beat in enumerate(beats):
            while waits or rng.random() >= busy or full(ctx):
                stalls += waits
                ctx.set(port.take, 0)
                ctx.set(port.data, rng.getrandbits(8 * beat_bytes))
                ctx.set(port.last, rng.getrandbits(1))
                also(ctx, None, False)
                waits = bool(ctx.get(port.waits))
                await ctx.tick()
            last = k == len(beats) - 1
            ctx.set(port.take, packet.exponents)
            there = -(-len(beat) // 2)
            noise = rng.getrandbits(8 * beat_bytes) >> 16 * there << 16 * there
            ctx.set(port.data, int.from_bytes(beat, "little") | noise)
            ctx.set(port.present, (1 << there) - 1)
            ctx.set(port.last, last)
            ctx.set(port.wide, packet.size == 4)
            ctx.set(port.empty, not beat)
            also(ctx, packet, last)
            waits = bool(ctx.get(port.waits))
            await ctx.tick()
    ctx.set(port.take, 0)
    also(ctx, None, False)
    return stalls
