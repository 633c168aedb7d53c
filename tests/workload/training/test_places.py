"""Places never overlap, and what is given back can be taken again."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.workload.training.places import FullError, Places


def test_the_whole_memory_is_there_again() -> None:
    places = Places(0x1000, 4096, 64)
    taken = [(places.take(size), size) for size in (1, 64, 65, 1000)]
    assert [address for address, _ in taken] == [0x1000, 0x1040, 0x1080, 0x1100]
    for each in (2, 0, 3, 1):
        places.give(*taken[each])
    assert places.free == 4096
    assert places.take(4096) == 0x1000


def test_only_whole_grains_are_used() -> None:
    places = Places(10, 200, 64)
    assert places.free == 128
    assert places.take(128) == 64
    with pytest.raises(FullError):
        places.take(1)


def test_alignment_leaves_what_is_before_free() -> None:
    places = Places(64, 1 << 14, 64)
    assert places.take(4096, 4096) == 4096
    assert places.take(64) == 64


def test_the_end_of_a_place_can_be_given_back() -> None:
    places = Places(0, 1024, 64)
    place = places.take(1024)
    places.give(place + 128, 896)
    assert places.take(896) == 128


def test_random_places_do_not_overlap() -> None:
    rng = np.random.default_rng(5)
    places, used, taken = Places(0, 1 << 16, 32), np.zeros(1 << 16, bool), []
    for _ in range(500):
        if taken and rng.random() < 0.45:
            address, size = taken.pop(int(rng.integers(len(taken))))
            places.give(address, size)
            used[address:address + places.rounded(size)] = False
            continue
        size, align = int(rng.integers(1, 3000)), 1 << int(rng.integers(0, 10))
        try:
            address = places.take(size, align)
        except FullError:
            continue
        place = used[address:address + places.rounded(size)]
        assert address % align == 0 and address + place.size <= used.size and not place.any()
        place[:] = True
        taken.append((address, size))
    assert places.free == np.count_nonzero(~used)
