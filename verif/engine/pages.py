"""Streams in pages of simulated link memory: places for them, their lists, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cdma.golden.engine import ENTRY_BYTES, PAGE_SIZES, Descriptor
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.layout import Arena

__all__ = ["Listed", "listed_bytes", "pages_of", "take_pages"]

_MOST_SPARE = 3


@dataclass(frozen=True)
class Listed:
    """A page list in link memory: its address, and its fields of a descriptor."""

    address: int
    pages: int
    page_size: int


def take_pages(rng: np.random.Generator, arena: Arena, size: int, beat_bytes: int,
               page_size: int | None = None) -> Listed:
    """A list of pages for a stream of at most so many bytes, in any order, with some that it does not need.

    ``page_size`` is the logarithm of a page's bytes; one that fits when not given, most often the smallest.
    """
    if page_size is None:
        sizes = [each for each in PAGE_SIZES if (1 << each) * (_MOST_SPARE + 2) <= arena.size // 16] or [PAGE_SIZES[0]]
        page_size = int(rng.choice([sizes[0], sizes[0], sizes[int(rng.integers(len(sizes)))]]))
    page_bytes = 1 << page_size
    pages = max(1, -(-size // page_bytes)) + int(rng.integers(_MOST_SPARE + 1))
    base = arena.take(pages * page_bytes, gap=1, align=page_bytes)
    entries = base + rng.permutation(pages).astype("<u8") * page_bytes
    place = arena.take(pages * ENTRY_BYTES, align=beat_bytes)
    arena.view(place, pages * ENTRY_BYTES)[:] = entries.astype("<u8").view(np.uint8)
    return Listed(place, pages, page_size)


def pages_of(arena: Arena, address: int, descriptor: Descriptor, size: int) -> list[tuple[int, int]]:
    """Address and size of the places of a stream's first bytes, as far as its list and its pages are in the arena."""
    if not descriptor.page_list:
        return [(address, size)]
    page_bytes = 1 << descriptor.page_size
    count = min(descriptor.pages, -(-size // page_bytes))
    found = []
    for number in range(count):
        entry = arena.view(address + number * ENTRY_BYTES, ENTRY_BYTES)
        if entry.size < ENTRY_BYTES:
            break
        page = int(entry.view("<u8")[0])
        if not arena.base <= page < arena.base + arena.size:
            break
        found.append((page, min(page_bytes, size - number * page_bytes)))
    return found


def listed_bytes(arena: Arena, address: int, descriptor: Descriptor, size: int) -> Bytes:
    """The first bytes of a stream."""
    return np.concatenate([arena.view(*each) for each in pages_of(arena, address, descriptor, size)])
