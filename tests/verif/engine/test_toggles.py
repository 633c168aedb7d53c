"""Toggles of a bus, against bits of whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cdma.verif.engine.toggles import bus_beats, toggles


def _bytes(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


def test_pieces_begin_beats_and_hold_what_they_leave_out() -> None:
    beats = bus_beats([_bytes(1, 2, 3, 4, 5), _bytes(7), _bytes(8, 9, 10, 11)], 4)
    assert beats.tolist() == [[1, 2, 3, 4], [5, 2, 3, 4], [7, 2, 3, 4], [8, 9, 10, 11]]
    # 1 to 5 is one bit, 5 to 7 is one; 7 to 8 four, 2 to 9 three, 3 to 10 two, 4 to 11 four.
    assert toggles(beats) == 1 + 1 + 4 + 3 + 2 + 4
    assert bus_beats([_bytes(7, 8)], 4).tolist() == [[7, 8, 0, 0]]
    assert toggles(bus_beats([], 4)) == toggles(bus_beats([_bytes(255)], 4)) == 0


@given(st.lists(st.binary(max_size=40), max_size=5), st.sampled_from([1, 4, 16]))
def test_toggles_are_bits_that_differ(pieces: list[bytes], width: int) -> None:
    last, expected, first = bytearray(width), 0, True
    for piece in pieces:
        for at in range(0, len(piece), width):
            part = piece[at:at + width]
            now = bytearray(part) + last[len(part):]
            if not first:
                expected += (int.from_bytes(now, "little") ^ int.from_bytes(last, "little")).bit_count()
            last, first = now, False
    assert toggles(bus_beats([np.frombuffer(piece, np.uint8) for piece in pieces], width)) == expected
