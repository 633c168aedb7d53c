"""Malformed streams: all kinds and reasons come, the two readers agree, and a difference is found."""

from __future__ import annotations

from itertools import islice

import pytest

from cdma.golden.codec.errors import Reason
from cdma.golden.reference.blocks import Reader
from cdma.verif.engine.stimulus import DAMAGES
from cdma.verif.soak.streams import check_streams, stream_cases

_UNSEEN = {Reason.CRC_MISMATCH.name}
"""Reasons that damage cannot reach: no CRC is given."""


def test_streams_are_reproducible() -> None:
    one, other = ([(case.kind, case.stream.tobytes()) for case in islice(stream_cases(7), 70)] for _ in range(2))
    assert one == other
    assert one != [(case.kind, case.stream.tobytes()) for case in islice(stream_cases(8), 70)]


def test_every_kind_and_every_reason_comes_and_both_readers_agree() -> None:
    kinds = {case.kind for case in islice(stream_cases(1), 640)}
    assert kinds == set(DAMAGES)
    found = check_streams(1500, 1)
    assert found.streams == 1500
    assert not found.failures
    assert set(found.reasons) == {reason.name for reason in Reason} - _UNSEEN
    assert sum(found.reasons.values()) == found.refused < found.streams


def test_a_difference_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    read_one = Reader.read_one

    def careless(self: Reader, at: int, number: int, before: int) -> tuple[bytes, int]:
        part, behind = read_one(self, at, number, before)
        return part[:-1] + bytes([part[-1] ^ 1]), behind

    monkeypatch.setattr(Reader, "read_one", careless)
    found = check_streams(64, 3)
    assert found.failures
    assert "of seed 3 (" in found.failures[0]


def test_it_stops_when_told() -> None:
    assert check_streams(1000, 1, until=lambda: True).streams == 0
