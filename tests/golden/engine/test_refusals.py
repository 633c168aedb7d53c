"""Descriptors that the engine's model refuses: every field at its limits, the checks in order, no byte moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Completion, Descriptor, Engine, Memory, Operation, Status
from tests.golden.engines import BUILT, CODINGS, DEVICE, LINK, NARROWING, OFFLOAD, PREFETCH, engine

_TOP = 1 << 40
_MOST = (1 << 64) - 1

REFUSED: list[tuple[Descriptor, dict[str, Any], Status]] = [
    *((base, {"operation": value}, Status.BAD_OPERATION) for base in (OFFLOAD, PREFETCH) for value in (0, 3, 4, 255)),
    *((base, {"coding": value}, Status.CODING_NOT_BUILT) for base in (OFFLOAD, PREFETCH)
      for value in (0, 1, 2, 4, 0x10, 0x13, 0x18, 0x21, 0x44, 0x94, 0xA2, 255)),
    *((base, {"other_flags": 1 << bit}, Status.BAD_FLAGS) for base in (OFFLOAD, PREFETCH) for bit in range(7, 16)),
    *((base, {"page_list": True, "pages": 1, "page_size": 12}, Status.BAD_FLAGS) for base in (OFFLOAD, PREFETCH)),
    (OFFLOAD, {"check_crc": True}, Status.BAD_FLAGS),
    (PREFETCH, {"fallback": False}, Status.BAD_FLAGS),
    (PREFETCH, {"leave_raw": True}, Status.BAD_FLAGS),
    (OFFLOAD, {"leave_raw": True, "fallback": False}, Status.BAD_FLAGS),
    *((base, {"coding": coding, "narrow": form}, Status.BAD_FLAGS) for base in (OFFLOAD, PREFETCH)
      for coding in CODINGS for form in (1, 2, 3)),
    *((base, {"reserved": reserved}, Status.BAD_RESERVED) for base in (OFFLOAD, PREFETCH)
      for reserved in ((1, 0), (1 << 23, 0), (0, 1), (0, 0xFFFF_FFFF))),
    *((base, {field: 1}, Status.BAD_RESERVED) for base in (OFFLOAD, PREFETCH) for field in ("pages", "page_size")),
    *((base, {"raw_bytes": value}, Status.BAD_RAW_BYTES) for base in (OFFLOAD, PREFETCH)
      for value in (0, 1, 2, 3, 3998, _TOP, _TOP + 4000, _MOST - 3)),
    *((base, {"coding": coding, "raw_bytes": 3999}, Status.BAD_RAW_BYTES) for base in (OFFLOAD, PREFETCH)
      for coding in (0x12, 0x22, 0x24)),
    *((base, {"coding": 0x24, "raw_bytes": 3998}, Status.BAD_RAW_BYTES) for base in (OFFLOAD, PREFETCH)),
    *((OFFLOAD, {"packed_bytes": value}, Status.BAD_PACKED_BYTES) for value in (1, 4, _TOP, _MOST)),
    *((PREFETCH, {"packed_bytes": value}, Status.BAD_PACKED_BYTES)
      for value in (0, 1, 2, 3, 802, _TOP, _TOP + 800, _MOST - 3)),
    *((OFFLOAD, {"source": value}, Status.BAD_SOURCE)
      for value in (1, DEVICE + 256, DEVICE + 511, _TOP - 512, _TOP, _TOP + DEVICE, 1 << 63)),
    *((PREFETCH, {"source": value}, Status.BAD_SOURCE)
      for value in (1, LINK + 16, LINK + 31, _TOP - 32, _TOP, _TOP + LINK, 1 << 63)),
    *((OFFLOAD, {"destination": value}, Status.BAD_DESTINATION)
      for value in (1, LINK + 4, LINK + 16, _TOP - 32, _TOP, _TOP + LINK, 1 << 63)),
    *((OFFLOAD, {"capacity": value}, Status.BAD_DESTINATION) for value in (_TOP - LINK - 31, _TOP, _MOST)),
    *((PREFETCH, {"destination": value}, Status.BAD_DESTINATION)
      for value in (1, DEVICE + 32, DEVICE + 256, _TOP - 512, _TOP, _TOP + DEVICE, 1 << 63)),
    *((PREFETCH, {"capacity": value}, Status.DESTINATION_TOO_SMALL) for value in (0, 1, 3999)),
]

_DAMAGED: list[tuple[Status, dict[str, Any]]] = [
    (Status.BAD_OPERATION, {"operation": 9}),
    (Status.CODING_NOT_BUILT, {"coding": 4}),
    (Status.BAD_FLAGS, {"other_flags": 128}),
    (Status.BAD_RESERVED, {"reserved": (1, 1)}),
    (Status.BAD_RAW_BYTES, {"raw_bytes": 0}),
    (Status.BAD_PACKED_BYTES, {"packed_bytes": 2}),
    (Status.BAD_SOURCE, {"source": 4}),
    (Status.BAD_DESTINATION, {"destination": 4}),
    (Status.DESTINATION_TOO_SMALL, {"capacity": 0}),
]
"""A fault of every check, in the order of the checks."""


@pytest.mark.parametrize(("base", "changes", "status"), REFUSED,
                         ids=[f"{Operation(base.operation).name}-{status.name}-{changes}"
                              for base, changes, status in REFUSED])
def test_refused(base: Descriptor, changes: dict[str, Any], status: Status) -> None:
    model = engine()
    images = model.device.image.copy(), model.link.image.copy()
    descriptor = replace(base, **changes)
    right = Completion(tag=base.tag, status=status, operation=descriptor.operation)
    assert model.refusal(descriptor) == model.run(descriptor) == right
    assert model.outcomes(descriptor) == [right]
    assert np.array_equal(model.device.image, images[0])
    assert np.array_equal(model.link.image, images[1])


@pytest.mark.parametrize(("base", "changes"), [
    (OFFLOAD, {}), (PREFETCH, {}),
    (OFFLOAD, {"interrupt": True, "crc": 0xFFFF_FFFF, "tag": 0xFFFF_FFFF, "fallback": False}),
    (PREFETCH, {"interrupt": True, "check_crc": True}),
    (OFFLOAD, {"leave_raw": True}),
    (OFFLOAD, {"raw_bytes": 4}), (PREFETCH, {"raw_bytes": 4}),
    (OFFLOAD, {"coding": 0x11, "raw_bytes": 3}), (OFFLOAD, {"coding": 0x12, "raw_bytes": 6}),
    (PREFETCH, {"coding": 0x22, "raw_bytes": 6}), (OFFLOAD, {"coding": 0x24, "raw_bytes": 12}),
    (OFFLOAD, {"source": 0, "raw_bytes": _TOP - 4}), (OFFLOAD, {"source": _TOP - 512, "raw_bytes": 512}),
    (OFFLOAD, {"source": _TOP - 4096}),
    (PREFETCH, {"packed_bytes": 4}), (PREFETCH, {"source": 0, "packed_bytes": _TOP - 4}),
    (PREFETCH, {"source": _TOP - 32, "packed_bytes": 32}), (PREFETCH, {"source": _TOP - 800}),
    (OFFLOAD, {"destination": _TOP - 32, "capacity": 32}), (OFFLOAD, {"capacity": 0}),
    (OFFLOAD, {"capacity": _TOP - LINK - 32}),
    (PREFETCH, {"destination": _TOP - 4096}), (PREFETCH, {"destination": _TOP - 512, "raw_bytes": 512}),
    (PREFETCH, {"destination": 0, "raw_bytes": _TOP - 4, "capacity": _MOST}), (PREFETCH, {"capacity": _MOST}),
])
def test_just_allowed(base: Descriptor, changes: dict[str, Any]) -> None:
    assert engine().refusal(replace(base, **changes)) is None


@given(damaged=st.sets(st.integers(0, len(_DAMAGED) - 1), min_size=1))
def test_the_first_check_that_fails_is_named(damaged: set[int]) -> None:
    changes = {name: value for number in damaged for name, value in _DAMAGED[number][1].items()}
    assert engine().run(replace(PREFETCH, **changes)).status == _DAMAGED[min(damaged)][0]


def test_what_is_not_built_is_refused() -> None:
    plain = engine(replace(BUILT, crc=False, codings=(Coding.ZVC32,)))
    assert plain.run(replace(PREFETCH, check_crc=True)).status == Status.BAD_FLAGS
    for coding in (0x11, 0x12, 0x22, 0x24):
        assert plain.run(replace(OFFLOAD, coding=coding)).status == Status.CODING_NOT_BUILT
    narrow = engine(replace(BUILT, address_bits=32))
    assert narrow.run(replace(OFFLOAD, source=1 << 32)).status == Status.BAD_SOURCE
    assert narrow.run(replace(OFFLOAD, capacity=(1 << 32) - OFFLOAD.destination)).status == Status.OK
    assert narrow.run(replace(OFFLOAD, capacity=(1 << 32) - OFFLOAD.destination + 1)).status == Status.BAD_DESTINATION


@pytest.mark.parametrize("base", [OFFLOAD, PREFETCH])
def test_narrowing(base: Descriptor) -> None:
    """To bfloat16 with either coding of 16-bit values, to float16 with zero-value coding, where it was built."""
    model = engine(NARROWING)
    for form, coding in ((1, 0x12), (1, 0x22), (2, 0x12)):
        for raw_bytes in (4, 4000):
            asked = replace(base, coding=coding, narrow=form, raw_bytes=raw_bytes, source=LINK, destination=DEVICE)
            asked = replace(asked, source=DEVICE, destination=LINK) if base is OFFLOAD else asked
            assert model.refusal(asked) is None
        for raw_bytes in (2, 3998, 4001):
            assert model.run(replace(asked, raw_bytes=raw_bytes)).status == Status.BAD_RAW_BYTES
        for other in (0x11, 0x14, 0x24):
            assert model.run(replace(asked, coding=other)).status == Status.BAD_FLAGS
    assert model.run(replace(asked, coding=0x22)).status == Status.BAD_FLAGS
    assert model.run(replace(asked, narrow=3)).status == Status.BAD_FLAGS
    with pytest.raises(ValueError, match="not 256"):
        replace(NARROWING, block_bytes=512)


def test_addresses_of_64_bits() -> None:
    """Sums beyond the last address do not come round; no capacity is too large, as far as there are addresses."""
    top = 1 << 64
    wide = Engine(replace(BUILT, address_bits=64), Memory(top - 4096, np.zeros(4096, np.uint8)),
                  Memory(LINK, np.zeros(4096, np.uint8)))
    fits = replace(OFFLOAD, source=top - 4096, raw_bytes=4096, capacity=top - OFFLOAD.destination)
    assert wide.run(fits).status == Status.OK
    assert wide.run(replace(fits, capacity=fits.capacity + 1)).status == Status.BAD_DESTINATION
    assert wide.run(replace(fits, raw_bytes=4100)).status == Status.BAD_SOURCE


@pytest.mark.parametrize(("changes", "message"), [
    ({"lanes": 0}, "lanes must be 1 to 16, not 0"),
    ({"block_bytes": 100}, "block_bytes must be 512 to 32768"),
    ({"beat_bytes": 8}, "beat_bytes must be 16, 32 or 64, not 8"),
    ({"link_beat_bytes": 128}, "link_beat_bytes must be 16, 32 or 64, not 128"),
    ({"address_bits": 65}, "address_bits must be 32 to 64, not 65"),
    ({"codings": (0x14, 4)}, "codings must be among zvc8, zvc16, zvc32, bfloat16, float32, not lines32"),
    ({"codings": (8,)}, "coding must be one of 0x01 .*, not 0x08"),
])
def test_engines_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(BUILT, **changes)
