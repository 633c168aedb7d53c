"""Descriptors and rings at the edges of address windows, by the engine's model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cdma.golden.engine import Completion, Descriptor, Engine, Memory, Status, Window, Windows
from tests.golden.engines import BUILT, DEVICE, LINK, OFFLOAD, PREFETCH, engine

_WINDOWS = Windows(Window(DEVICE, DEVICE + 0x2000), Window(LINK, LINK + 0x3000))
_SOURCE, _DESTINATION = Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW


@pytest.mark.parametrize(("base", "changes", "status"), [
    *((OFFLOAD, changes, status) for changes, status in (
        ({}, None),
        ({"source": DEVICE, "raw_bytes": 0x2000}, None),
        ({"source": DEVICE - 512}, _SOURCE),
        ({"source": DEVICE, "raw_bytes": 0x2004}, _SOURCE),
        ({"source": DEVICE, "coding": 0x11, "raw_bytes": 0x2001}, _SOURCE),
        ({"source": DEVICE + 0x2000}, _SOURCE),
        ({"destination": LINK, "capacity": 0x3000}, None),
        ({"destination": LINK, "capacity": 0x3001}, _DESTINATION),
        ({"destination": LINK - 32}, _DESTINATION),
        ({"destination": LINK + 0x3000}, _DESTINATION),
        ({"destination": LINK + 0x3000, "capacity": 0}, None),
        ({"destination": LINK + 0x3020, "capacity": 0}, _DESTINATION),
        ({"capacity": (1 << 40) - LINK - 32}, _DESTINATION),
        ({"source": 0, "destination": 0}, _SOURCE))),
    *((PREFETCH, changes, status) for changes, status in (
        ({}, None),
        ({"source": LINK, "packed_bytes": 0x3000}, None),
        ({"source": LINK - 32}, _SOURCE),
        ({"source": LINK, "packed_bytes": 0x3004}, _SOURCE),
        ({"source": LINK + 0x3000}, _SOURCE),
        ({"destination": DEVICE, "raw_bytes": 0x2000, "capacity": 0x2000}, None),
        ({"destination": DEVICE, "capacity": 1 << 50}, None),
        ({"destination": DEVICE - 512}, _DESTINATION),
        ({"destination": DEVICE, "raw_bytes": 0x2004, "capacity": 0x2004}, _DESTINATION),
        ({"destination": DEVICE + 0x2000}, _DESTINATION),
        ({"source": 0, "destination": 0}, _SOURCE))),
])
def test_the_edges(base: Descriptor, changes: dict[str, Any], status: Status | None) -> None:
    """Whatever may be accessed lies inside: the raw bytes, the stream, and the whole capacity of an offload."""
    model = replace(engine(), windows=_WINDOWS)
    asked = replace(base, **changes)
    images = model.device.image.copy(), model.link.image.copy()
    if status is None:
        assert model.refusal(asked) is None
        return
    assert model.run(asked) == Completion(tag=asked.tag, status=status, operation=asked.operation)
    assert np.array_equal(model.device.image, images[0])
    assert np.array_equal(model.link.image, images[1])


def test_fields_are_checked_first() -> None:
    """A field that is wrong is named before a window; the windows come before the capacity of a prefetch."""
    model = replace(engine(), windows=Windows(Window(4096, 4096), Window(4096, 4096)))
    for changes, status in (({"destination": 1}, Status.BAD_DESTINATION), ({"capacity": 0}, _SOURCE)):
        assert model.run(replace(PREFETCH, **changes)).status is status
    model = replace(model, windows=Windows(link=Window(LINK, 0), device=Window(4096, 4096)))
    assert model.run(replace(PREFETCH, capacity=0)).status is _DESTINATION


@pytest.mark.parametrize("bits", [32, 40, 64])
def test_a_limit_of_zero_is_the_end_of_the_address_space(bits: int) -> None:
    top = 1 << bits
    model = Engine(replace(BUILT, address_bits=bits), Memory(top - 4096, np.zeros(4096, np.uint8)),
                   Memory(LINK, np.zeros(4096, np.uint8)), windows=Windows(Window(top - 4096, 0), Window(0, 0)))
    assert model.run(replace(OFFLOAD, source=top - 4096, raw_bytes=4096)).status is Status.OK
    assert model.run(replace(OFFLOAD, source=top - 4096, raw_bytes=4100)).status is Status.BAD_SOURCE
    assert model.run(replace(OFFLOAD, source=top - 8192, raw_bytes=4096)).status is _SOURCE


@pytest.mark.parametrize(("address", "entries", "fits"), [
    (LINK, 128, True), (LINK, 256, False), (LINK - 64, 2, False), (LINK + 0x2F80, 2, True), (LINK + 0x2FC0, 2, False),
    (LINK + 0x3000, 2, False), (0, 2, False),
])
def test_rings(address: int, entries: int, fits: bool) -> None:
    window = Window(LINK, LINK + 0x3000)
    assert BUILT.takes_ring(address, entries, window) is fits
    assert BUILT.takes_ring(address, entries)


@pytest.mark.parametrize(("window", "message"), [
    ({"base": 100}, "base of a window must be a multiple of 4096 below 2.64, not 0x64"),
    ({"limit": 1 << 64}, "limit of a window must be a multiple of 4096 below 2.64"),
    ({"base": -4096}, "base must be"),
])
def test_windows_that_cannot_be(window: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Window(**window)
