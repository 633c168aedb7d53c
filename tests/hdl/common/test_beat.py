"""The layout of a beat: its fields, their widths and places."""

from __future__ import annotations

import pytest

from cdma.hdl.common.beat import beat_layout, beat_stream


@pytest.mark.parametrize("beat_bytes", [16, 32, 64])
def test_fields(beat_bytes: int) -> None:
    found = {name: (field.offset, field.width) for name, field in beat_layout(beat_bytes)}
    bits = 8 * beat_bytes
    assert found == {"data": (0, bits), "keep": (bits, beat_bytes), "last": (bits + beat_bytes, 1)}
    assert beat_stream(beat_bytes).members["payload"].shape == beat_layout(beat_bytes)
