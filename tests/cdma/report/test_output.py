"""Numbers in what commands print."""

from __future__ import annotations

import pytest

from cdma.console.output import arrays_text


@pytest.mark.parametrize(("number", "text"), [(0, "0 arrays"), (1, "1 array"), (2, "2 arrays"), (1200, "1,200 arrays")])
def test_arrays(number: int, text: str) -> None:
    assert arrays_text(number) == text
