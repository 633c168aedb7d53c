"""Streams in pages: their bytes are those of a stream at one address; lists that are wrong, and what is not needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.engine import (
    ENTRY_BYTES,
    PAGE_SIZES,
    Completion,
    Descriptor,
    Engine,
    Fault,
    Silence,
    Status,
    Window,
    Windows,
)
from tests.golden.engines import BUILT, DEVICE, LINK, OFFLOAD, PREFETCH, SIZE, engine, tensor

_LISTED = replace(BUILT, page_lists=True)
_LIST = LINK
_FIRST = LINK + 0x2000        # of the pages; they reach to the end of the memory
_PAGES = (SIZE - 0x2000) // 4096
_RAW = 20_000


def _engine(entries: list[int], density: float = 0.6) -> Engine:
    """An engine with a tensor at the source of :data:`OFFLOAD`, and a page list."""
    made = engine(_LISTED)
    made.device.write(OFFLOAD.source, tensor(_RAW // 4, 4, density))
    made.link.write(_LIST, np.array(entries, "<u8").view(np.uint8))
    return made


def _entries(order: list[int]) -> list[int]:
    return [_FIRST + 4096 * number for number in order]


def _offload(pages: int, **changes: object) -> Descriptor:
    return replace(OFFLOAD, raw_bytes=_RAW, capacity=_RAW + 4000, destination=_LIST, page_list=True, pages=pages,
                   page_size=12, **changes)


def _stream() -> np.ndarray:
    """The stream of the tensor, written to one address."""
    made = _engine([])
    plain = replace(OFFLOAD, raw_bytes=_RAW, capacity=_RAW + 4000, destination=_FIRST)
    return made.link.read(_FIRST, made.run(plain).bytes_written)


@given(order=st.permutations(range(_PAGES)))
def test_a_stream_there_and_back(order: list[int]) -> None:
    made = _engine(_entries(order))
    before, stream = made.link.image.copy(), _stream()
    done = made.run(_offload(_PAGES))
    used = -(-stream.size // 4096)
    assert (done.status, done.bytes_written, done.pages) == (Status.OK, stream.size, used)
    assert used > 2
    expected = before
    for number in range(used):
        part = stream[4096 * number:4096 * (number + 1)]
        at = _FIRST - LINK + 4096 * order[number]
        expected[at:at + part.size] = part
    assert np.array_equal(made.link.image, expected)
    # The prefetch needs the used pages only.
    made.link.write(_LIST, np.array(_entries(order[:used]), "<u8").view(np.uint8))
    back = replace(PREFETCH, source=_LIST, destination=DEVICE + 0x8000, raw_bytes=_RAW, capacity=_RAW,
                   packed_bytes=stream.size, page_list=True, pages=used, page_size=12)
    assert made.run(back).pages == used
    assert np.array_equal(made.device.read(DEVICE + 0x8000, _RAW), tensor(_RAW // 4, 4, 0.6))
    short = made.run(replace(back, pages=used - 1))
    assert (short.status, short.place, short.pages) == (Status.PAGE_LIST_TOO_SHORT, 4096 * (used - 1), 0)


@pytest.mark.parametrize(("bit", "status"), [
    (0, Status.PAGE_MISALIGNED), (11, Status.PAGE_MISALIGNED), (40, Status.PAGE_OUTSIDE), (63, Status.PAGE_OUTSIDE)])
def test_entries_that_are_wrong(bit: int, status: Status) -> None:
    entries = _entries(list(range(_PAGES)))
    used = -(-_stream().size // 4096)
    for number in range(_PAGES):
        bad = list(entries)
        bad[number] |= 1 << bit
        made = _engine(bad)
        before = made.link.image.copy()
        done = made.run(_offload(_PAGES))
        if number < used:
            assert (done.status, done.place, done.pages) == (status, 4096 * number, 0)
            assert np.array_equal(made.link.image, before)
        else:
            assert done.status is Status.OK


def test_pages_of_other_sizes_are_aligned_to_them() -> None:
    # A page of 8 KiB in the second half of one.
    made = _engine([_FIRST, _FIRST + 4096])
    done = made.run(replace(_offload(2), page_size=13))
    assert (done.status, done.place) == (Status.PAGE_MISALIGNED, 8192)


@pytest.mark.parametrize(("faulty", "burst"), [(0, 0), (7, 0), (17, 16), (20, 16), (33, 32)])
def test_a_list_that_cannot_be_read(faulty: int, burst: int) -> None:
    """The entries of a piece that come before the error are used; the address is that of the piece's burst."""
    entries = [_FIRST + 4096 * (number % _PAGES) for number in range(48)]
    made = _engine(entries, 0.6)
    made.link.faults.append(Fault(_LIST + ENTRY_BYTES * faulty, _LIST + ENTRY_BYTES * faulty + 1, writes=False))
    # One page for each entry up to the error: streams that end before it do not meet it.
    first = faulty // 4 * 4        # of the beat with the error
    plain = replace(PREFETCH, source=_LIST, packed_bytes=4096 * first or 4, page_list=True, pages=48, page_size=12)
    spans, bad = made._places(plain, _LIST, plain.packed_bytes)
    assert len(spans) == first
    assert bad is None or (first == 0 and bad.status is Status.PAGE_LIST_READ_ERROR)
    spans, bad = made._places(plain, _LIST, 4096 * first + 4)
    assert len(spans) == first
    assert bad is not None
    assert (bad.status, bad.start) == (Status.PAGE_LIST_READ_ERROR, 4096 * first)
    assert bad.error is not None
    assert bad.error.address == _LIST + ENTRY_BYTES * burst


def status(built: Engine, descriptor: Descriptor) -> Status | None:
    refused: Completion | None = built.refusal(descriptor)
    return refused and refused.status


def test_what_is_refused() -> None:
    made, good = _engine([]), _offload(1)
    assert status(made, good) is None
    assert status(engine(BUILT), good) is Status.BAD_FLAGS
    for size in range(256):
        assert status(made, replace(good, page_size=size)) == (None if size in PAGE_SIZES else Status.BAD_PAGE_LIST)
    for pages in (0, 1 << 28, (1 << 32) - 1):
        assert status(made, replace(good, pages=pages)) is Status.BAD_PAGE_LIST
    assert status(made, replace(good, destination=_LIST + 16)) is Status.BAD_DESTINATION
    # The capacity says nothing of addresses; the list has to end within them.
    top = 1 << BUILT.address_bits
    assert status(made, replace(good, capacity=(1 << 64) - 1)) is None
    assert status(made, replace(good, destination=top - 32, pages=4)) is None
    assert status(made, replace(good, destination=top - 32, pages=5)) is Status.BAD_DESTINATION


def test_a_silent_link_stops_offloads_with_lists() -> None:
    made = replace(_engine(_entries([0, 1, 2, 3, 4])), silent=frozenset({Silence(Status.LINK_READ_TIMEOUT)}))
    assert {each.status for each in made.outcomes(_offload(5))} == {Status.OK, Status.PAGE_LIST_READ_TIMEOUT}


def _windowed(made: Engine, base: int, limit: int) -> Engine:
    return replace(made, windows=Windows(link=Window(base, limit)))


@pytest.mark.parametrize(("number", "base", "limit", "status"), [
    (0, LINK, _FIRST + 4096 * _PAGES, Status.OK),
    (2, LINK, _FIRST + 4096 * 2, Status.PAGE_OUTSIDE),
    (1, LINK, _FIRST + 4096, Status.PAGE_OUTSIDE),
])
def test_pages_outside_the_window(number: int, base: int, limit: int, status: Status) -> None:
    """A page is inside with all its bytes, or the stream ends before it."""
    made = _windowed(_engine(_entries(list(range(_PAGES)))), base, limit)
    before = made.link.image.copy()
    done = made.run(_offload(_PAGES))
    assert done.status is status
    if status is not Status.OK:
        assert done.place == 4096 * number
        assert np.array_equal(made.link.image, before)
    # A page that is not aligned is named so, wherever it is.
    made.link.write(_LIST, np.array([_entries([number + 1])[0] + 4], "<u8").view(np.uint8))
    assert made.run(_offload(_PAGES)).status is Status.PAGE_MISALIGNED


def test_a_page_that_reaches_over_the_limit() -> None:
    made = _engine([_FIRST])
    small = replace(_offload(1), raw_bytes=512, capacity=1024, page_size=13)
    for limit, status in ((_FIRST + 8192, Status.OK), (_FIRST + 4096, Status.PAGE_OUTSIDE)):
        assert _windowed(made, LINK, limit).run(small).status is status
    # Of a page before the base nothing is used either.
    made.link.write(_LIST + 0x1000, np.array([LINK], "<u8").view(np.uint8))
    lower = replace(small, destination=_LIST + 0x1000)
    assert _windowed(made, LINK + 0x1000, 0).run(lower).status is Status.PAGE_OUTSIDE
    assert _windowed(made, LINK, 0).run(lower).status is Status.OK


def test_a_list_outside_the_window() -> None:
    """The list has to be inside with all its entries; the capacity says nothing of addresses."""
    made = _windowed(_engine(_entries(list(range(_PAGES)))), LINK, LINK + 0x1000)
    huge = replace(_offload(512), capacity=1 << 39)
    assert status(made, huge) is None
    for changes in ({"pages": 513}, {"destination": LINK + 32}, {"destination": LINK - 32}):
        assert status(made, replace(huge, **changes)) is Status.DESTINATION_OUTSIDE_WINDOW
    back = replace(PREFETCH, source=LINK, page_list=True, pages=513, page_size=12)
    assert status(made, back) is Status.SOURCE_OUTSIDE_WINDOW
    assert status(made, replace(back, pages=512)) is None
