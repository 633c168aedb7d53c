"""Blocks with their payloads, whole and damaged, as a decompressor of blocks gets them, and what is to come of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from golden.reference.lines import MalformedError
from golden.reference.tags_first import compress_tags_first, decompress_tags_first
from hdl.codec.payload.unpacking import PayloadError

__all__ = ["Beat", "Block", "Feed", "damaged", "random_raw", "sampled"]

LINE = 128


@dataclass(frozen=True)
class Beat:
    """A raw beat: its bytes, or None where they do not matter; and the result, if it is the block's last one."""

    content: bytes | None
    last: bool
    result: tuple[PayloadError, int] | None


@dataclass(frozen=True)
class Feed:
    """What the unpacker gets of a block."""

    order: dict[str, Any]
    tags: list[int]
    data: list[dict[str, Any]]


@dataclass(frozen=True)
class Block:
    """A payload that is said to hold so many raw bytes in elements of this size; the word of a short block is not
    part of it."""

    payload: bytes
    element: int
    raw_bytes: int

    @classmethod
    def of(cls, raw: bytes, element: int) -> Block:
        """The block of these bytes."""
        return cls(compress_tags_first(raw, element, False), element, len(raw))

    @property
    def tag_bytes(self) -> int:
        """Bytes of all tags."""
        return -(-self.raw_bytes // LINE) * LINE // self.element // 8

    def raw(self) -> tuple[bytes | None, PayloadError, int]:
        """Its raw bytes, None if it is malformed; and the result, from the reference."""
        try:
            return decompress_tags_first(self.payload, self.element, self.raw_bytes, 0), PayloadError.OK, self.lines - 1
        except MalformedError as error:
            reason, _, line, _ = error.fault
            return None, PayloadError[reason], line or 0

    @property
    def lines(self) -> int:
        """Its lines."""
        return -(-self.raw_bytes // LINE)

    def beats(self, size: int) -> list[Beat]:
        """The raw beats, as many as the raw bytes take."""
        raw, code, line = self.raw()
        count = -(-self.raw_bytes // size)
        return [Beat(None if raw is None else raw[k * size:(k + 1) * size], k == count - 1,
                     (code, line) if k == count - 1 else None) for k in range(count)]

    def feed(self, size: int, sizes: tuple[int, ...], rng: random.Random) -> Feed:
        """Rows and order; what does not count in them is noise. The payload must hold all tags."""
        grain, behind = min(sizes), self.tag_bytes
        units = size // grain
        padded = self.payload + rng.randbytes(size)
        rows = [int.from_bytes(padded[at:at + size], "little") for at in range(0, len(self.payload), size)]
        bare = len(self.payload) == behind
        data = [] if bare else rows[behind // size:]
        facts = [{"data": row, "last": number == len(data) - 1, "end": rng.randrange(units + 1),
                  "ragged": rng.getrandbits(1)} for number, row in enumerate(data)]
        if facts:
            in_last = (len(self.payload) - 1) % size + 1
            facts[-1] |= {"end": in_last // grain, "ragged": in_last % grain != 0}
        order = {
            "element": {f"b{each}": each == self.element for each in sizes}, "beats": -(-self.raw_bytes // size) - 1,
            "tail": self.raw_bytes // grain % units, "start": 0 if bare else behind // grain % units, "bare": bare,
            "error": PayloadError.OK}
        return Feed(order, rows[:-(-behind // size)], facts)


def random_raw(rng: random.Random, length: int, element: int, density: float) -> bytes:
    """So many bytes, of whose elements this share is not zero."""
    return b"".join(rng.randrange(1, 1 << 8 * element).to_bytes(element, "little") if rng.random() < density
                    else bytes(element) for _ in range(length // element))


def sampled(rng: random.Random, sizes: tuple[int, ...], block_bytes: int) -> Block:
    """A block of any size, element and density; half of them are whole."""
    element = rng.choice(sizes)
    length = block_bytes if rng.random() < 0.5 else rng.randrange(element, block_bytes + 1) // element * element
    return Block.of(random_raw(rng, length, element, rng.choice([0.0, 0.02, 0.4, 0.7, 0.98, 1.0])), element)


def damaged(rng: random.Random, block: Block) -> Block:
    """The block with something wrong, or not: a bit flipped in its tags, bytes missing or left over."""
    payload = bytearray(block.payload)
    kind = rng.choice(["tag", "end of tags", "less", "more", "both"])
    if kind in ("tag", "both"):
        payload[rng.randrange(block.tag_bytes)] ^= 1 << rng.randrange(8)
    if kind == "end of tags":
        bit = rng.randrange(block.raw_bytes // block.element - 1, 8 * block.tag_bytes)
        payload[bit // 8] ^= 1 << bit % 8
    if kind in ("less", "both"):
        del payload[max(block.tag_bytes, len(payload) - rng.choice([1, 2, 4, rng.randrange(1, 300)])):]
    if kind == "more":
        payload += rng.randbytes(rng.choice([1, 2, 3, 4, rng.randrange(1, 200)]))
    return Block(bytes(payload), block.element, block.raw_bytes)
