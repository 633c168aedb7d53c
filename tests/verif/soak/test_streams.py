"""Malformed streams: all kinds and reasons come, the two readers agree, and a difference is found."""

from __future__ import annotations

from itertools import islice

import pytest

from cdma.golden.codec.errors import Reason
from cdma.golden.reference.blocks import Reader
from cdma.verif.engine.stimulus import DAMAGES
from cdma.verif.soak.streams import check_streams, judge, stream_cases

_UNSEEN = {Reason.CRC_MISMATCH.name}
"""Reasons that damage cannot reach: no CRC is given."""


def test_streams_are_reproducible() -> None:
    one, other = ([(case.kind, case.stream.tobytes()) for case in islice(stream_cases(7), 70)] for _ in range(2))
    assert one == other
    assert one != [(case.kind, case.stream.tobytes()) for case in islice(stream_cases(8), 70)]


def test_every_kind_and_every_reason_comes_and_both_readers_agree() -> None:
    cases = [*islice(stream_cases(1), 1500)]
    assert {case.kind for case in cases} == set(DAMAGES)
    verdicts = [judge(case) for case in cases]
    assert all(golden == plain for golden, plain in verdicts)
    refused = [plain[0] for _, plain in verdicts if not isinstance(plain, bytes)]
    assert set(refused) == {reason.name for reason in Reason} - _UNSEEN
    assert len(refused) < len(verdicts)


def test_a_difference_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    read_one = Reader.read_one

    def careless(self: Reader, at: int, number: int, before: int) -> tuple[bytes, int]:
        part, behind = read_one(self, at, number, before)
        return part[:-1] + bytes([part[-1] ^ 1]), behind

    monkeypatch.setattr(Reader, "read_one", careless)
    judged, failures = check_streams(64, 3)
    assert judged == 64
    assert "of seed 3 (" in failures[0]


def test_it_stops_when_told() -> None:
    assert check_streams(1000, 1, until=lambda: True) == (0, [])
