"""Block streams for the tests of the link side: whole, damaged, and what the golden model says of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import WORD_BYTES, Coding
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.codec.headers import Block, Frame, scan
from cdma.golden.engine import status as engine_status
from cdma.hdl.engine.transfer.records import Status

__all__ = ["Expected", "activations", "damage", "expected", "packed", "sparse", "status_of",
           "stream_beats"]

@dataclass(frozen=True)
class Expected:
    """What is to come of a stream: the payload, coding and place of the blocks before a fault, and the fault."""

    blocks: list[Block]
    fault: tuple[Status, int] | None


def activations(rng: random.Random, size: int, element: int) -> bytes:
    """Raw bytes whose density changes from stretch to stretch: sparse, dense, all zero."""
    seed = np.random.default_rng(rng.getrandbits(32))
    parts = []
    left = size // element
    while left:
        count = min(left, rng.choice([40, 300, 1500]))
        part = seed.integers(0, 256, (count, element), dtype=np.uint8)
        part[seed.random(count) >= rng.choice([0, 0.1, 0.5, 0.9, 1])] = 0
        parts.append(part.tobytes())
        left -= count
    return b"".join(parts)


def sparse(rng: random.Random, size: int) -> bytes:
    """Values of which each block has zeros and others."""
    return b"".join(rng.randbytes(3) + b"\x3f" if rng.random() < 0.5 else bytes(4) for _ in range(size // 4))


def packed(raw: bytes, coding: int, block_bytes: int, fallback: bool = True) -> bytes:
    """The golden model's block stream."""
    return blocks.compress(raw, coding, block_bytes, fallback).tobytes()


def stream_beats(stream: bytes, beat_bytes: int, rng: random.Random) -> list[dict[str, int]]:
    """The beats of a packet; behind its end in the last one anything may be."""
    return [{"data": int.from_bytes(stream[at:at + beat_bytes] + rng.randbytes(max(0, at + beat_bytes - len(stream))),
                                    "little"),
             "keep": (1 << min(beat_bytes, len(stream) - at)) - 1, "last": at + beat_bytes >= len(stream)}
            for at in range(0, len(stream), beat_bytes)]


def damage(rng: random.Random, stream: bytes, block_bytes: int) -> bytes:
    """A stream with something wrong, most often near a header; still whole words."""
    content = bytearray(stream)
    heads = [block.offset for block in blocks.headers(stream, block_bytes)]
    kind = rng.choice(["header", "length", "field", "any", "byte", "end", "cut", "extend", "drop", "repeat"])
    head = rng.choice(heads)
    place = rng.randrange(len(content))
    words = 4 * rng.choice([1, 1, 2, 3, 8, 20])
    if kind == "header":
        content[head + rng.randrange(4)] ^= 1 << rng.randrange(8)
    elif kind == "length":
        content[head] = (content[head] + rng.choice([1, 4, 8, 252, 255])) % 256
    elif kind == "field":
        content[heads[-1] + 4 + rng.randrange(4)] ^= 1 << rng.randrange(8)
    elif kind == "any":
        content[place] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        content[place] = rng.choice([0, 1, 255])
    elif kind == "end":
        content[head - 1] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[rng.choice([place // 4 * 4 or 4, head or 4, head + 4, max(4, len(content) - 4)]):]
    elif kind == "extend":
        content += rng.randbytes(words)
    elif kind == "drop" and words < len(content):
        place = rng.randrange(0, len(content) - words, 4)
        del content[place:place + words]
    elif kind == "repeat":
        content[head:head] = content[head:head + words]
    return bytes(content)


def status_of(fault: StreamError) -> tuple[Status, int]:
    """What the engine reports of a fault that the golden model found, and the number of the block."""
    status, place = engine_status.status_of(fault)
    return Status(status.value), place


def expected(stream: bytes, block_bytes: int, raw_bytes: int, coding: int) -> Expected:
    """What the headers, the padding and the length field of a stream say; the content of payloads does not count."""
    found = scan(np.frombuffer(stream, np.uint8), Frame(block_bytes, raw_bytes, Coding(coding)))
    there = [found.block(number) for number in range(found.offset.size)]
    error = found.error
    if there and there[-1].short and (error is None or error.reason is Reason.TRAILING_BYTES):
        at = there[-1].payload_offset
        if int.from_bytes(stream[at:at + WORD_BYTES], "little") != raw_bytes - there[-1].number * block_bytes:
            error = StreamError(Reason.BAD_LENGTH, at, "", None, there[-1].number)
    return Expected(there, None if error is None else status_of(error))
