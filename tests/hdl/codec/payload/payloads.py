"""Blocks with their payloads, whole and damaged, as a decompressor of blocks gets them, and what is to come of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from cdma.golden.reference.exponents import MANTISSA, compress_exponents, decompress_exponents
from cdma.golden.reference.lines import MalformedError
from cdma.golden.reference.tags_first import compress_tags_first, decompress_tags_first
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.payload.unpacking import PayloadError

__all__ = ["LINE", "Beat", "Block", "damaged", "random_floats", "random_raw", "sampled"]

LINE = 128


@dataclass(frozen=True)
class Beat:
    """A raw beat: its bytes, or None where they do not matter; and the result, if it is the block's last one."""

    content: bytes | None
    last: bool
    result: tuple[PayloadError, int] | None


@dataclass(frozen=True)
class Block:
    """A payload that is said to hold so many raw bytes in elements of this size; the word of a short block is not
    part of it."""

    payload: bytes
    element: int
    raw_bytes: int
    exponents: bool = False

    @classmethod
    def of(cls, raw: bytes, element: int, exponents: bool = False) -> Block:
        """The block of these bytes."""
        compress = compress_exponents if exponents else compress_tags_first
        return cls(compress(raw, element, False), element, len(raw), exponents)

    @property
    def headers(self) -> bytes:
        """The line headers, with exponents."""
        return self.payload[:self.lines] if self.exponents else b""

    def _counted(self, bit: int) -> int:
        """Lines with this bit in their header, without those of zeros."""
        return sum(header >> bit & 1 for header in self.headers if header != 0xFF)

    @property
    def fact_bytes(self) -> int:
        """Bytes of all facts and their filler: where the tags begin."""
        return -(-(len(self.headers) + self._counted(7) + self._counted(6)) // 4) * 4

    @property
    def tag_bytes(self) -> int:
        """Bytes of all tags."""
        tagged = len(self.headers) - self.headers.count(0xFF) - self._counted(4) if self.exponents else self.lines
        return tagged * LINE // self.element // 8

    def _expanded(self) -> tuple[bytes | None, tuple[str, int, int | None] | None]:
        """Its raw bytes, or the reason, the byte and the line of its fault, from the reference."""
        decompress = decompress_exponents if self.exponents else decompress_tags_first
        try:
            return decompress(self.payload, self.element, self.raw_bytes, 0), None
        except MalformedError as error:
            return None, error.fault[:3]

    def raw(self) -> tuple[bytes | None, PayloadError, int]:
        """Its raw bytes, None if it is malformed; and the result."""
        raw, fault = self._expanded()
        if fault:
            return None, PayloadError[fault[0]], fault[2] or 0
        return raw, PayloadError.OK, self.lines - 1

    def refused(self) -> tuple[PayloadError, int] | None:
        """The fault and its line if it is known before the block is unpacked: of a line header, or of facts or tags
        that are not there."""
        fault = self._expanded()[1]
        if fault and (fault[0] in ("TRUNCATED_FACTS", "TRUNCATED_TAG") or (
                fault[0] == "BAD_FACTS" and fault[1] < self.lines)):
            return PayloadError[fault[0]], fault[2] or 0
        return None

    @property
    def lines(self) -> int:
        """Its lines."""
        return -(-self.raw_bytes // LINE)

    def beats(self, size: int) -> list[Beat]:
        """The raw beats: as many as the raw bytes take, or those up to the first one of the line that is refused."""
        raw, code, line = self.raw()
        count = -(-self.raw_bytes // size) if not self.refused() else line * LINE // size + 1
        return [Beat(None if raw is None else raw[k * size:(k + 1) * size], k == count - 1,
                     (code, line) if k == count - 1 else None) for k in range(count)]


def random_raw(rng: random.Random, length: int, element: int, density: float) -> bytes:
    """So many bytes, of whose elements this share is not zero."""
    return b"".join(rng.randrange(1, 1 << 8 * element).to_bytes(element, "little") if rng.random() < density
                    else bytes(element) for _ in range(length // element))


def random_floats(rng: random.Random, length: int, element: int) -> bytes:
    """So many bytes of floating-point elements, each line of its own kind: how many are not zero, how far exponents are
    apart, which signs. Lines of every kind come that exponent coding knows."""
    out = bytearray()
    base = rng.randrange(256)
    while len(out) < length:
        spread = rng.choice([0, 1, 2, 3, 4, 7, 8, 14, 15, 20, 31, 40, 62, 63, 64, 255])
        if rng.random() < 0.5:
            base = rng.choice([0, 1, 2, 3, spread, 127, 254, 255, rng.randrange(spread, 256)])
        density, signs = rng.choice([0.0, 0.05, 0.5, 0.95, 1.0, 1.0]), rng.choice([0, 0.5])
        tiny = rng.choice([0, 0, 0.1, 1.0])
        for _ in range(LINE // GROUP_BYTES):
            near, full = rng.choice([0, spread // 4, spread, spread]), rng.choice([0.0, density, density, density])
            for _ in range(GROUP_BYTES // element):
                exponent = max(0, base - rng.randint(0, near)) if rng.random() >= tiny else 0
                value = (exponent << MANTISSA[element] | rng.choice([0, rng.getrandbits(MANTISSA[element])])
                         | (rng.random() < signs) << 8 * element - 1)
                # A value of all zeros is no value: the smallest one instead.
                out += ((value or 1) if rng.random() < full else 0).to_bytes(element, "little")
    return bytes(out[:length])


def sampled(rng: random.Random, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = ()) -> Block:
    """A block of any size, element and density; half of them are whole. Of those with exponents in the build, most
    have them."""
    element = rng.choice(sizes)
    length = block_bytes if rng.random() < 0.5 else rng.randrange(element, block_bytes + 1) // element * element
    if element in exponents and rng.random() < 0.8:
        return Block.of(random_floats(rng, length, element), element, True)
    return Block.of(random_raw(rng, length, element, rng.choice([0.0, 0.02, 0.4, 0.7, 0.98, 1.0])), element)


def damaged(rng: random.Random, block: Block) -> Block:
    """The block with something wrong, or not: a bit flipped in its facts or tags, bytes missing or left over."""
    payload = bytearray(block.payload)
    facts, behind = block.fact_bytes, block.fact_bytes + block.tag_bytes
    kind = rng.choice(["tag", "end of tags", "less", "more", "both", *(["facts", "facts"] if facts else [])])
    if kind == "facts":
        payload[rng.randrange(facts)] ^= 1 << rng.randrange(8)
    if kind in ("tag", "both") and facts < behind:
        payload[rng.randrange(facts, behind)] ^= 1 << rng.randrange(8)
    if kind == "end of tags" and facts < behind:
        last = LINE // block.element // 8
        bit = rng.randrange(max(0, (block.raw_bytes - 1) % LINE // block.element), 8 * last)
        payload[behind - last + bit // 8] ^= 1 << bit % 8
    if kind in ("less", "both"):
        del payload[max(behind, len(payload) - rng.choice([1, 2, 4, rng.randrange(1, 300)])):]
    if kind == "more":
        payload += rng.randbytes(rng.choice([1, 2, 3, 4, rng.randrange(1, 200)]))
    return Block(bytes(payload), block.element, block.raw_bytes, block.exponents)
