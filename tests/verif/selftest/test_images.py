"""The very Verilog that is built for boards, with models of the FPGAs' primitives, from its pins to its text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cdma.golden.codec import lines as zvc
from cdma.hdl.selftest.config import CoresTestConfig
from cdma.hdl.selftest.source import DUMP
from tests.extended import usually
from tests.hdl.selftest.reference import Line, generated, sparse

_CONFIG = CoresTestConfig(element_bits=(32,), pipeline="small", raw_bytes=1024, baud=2_500_000, pause_ms=1)
_LINES = sparse(np.random.default_rng(7), 256)


@pytest.mark.parametrize("name", usually("ulx3s-12f", of=("ulx3s-12f", "versa-ecp5", "arty-a7-35")))
def test_an_image_tells_goldens_figures_and_a_pressed_button(
        listen: Callable[..., list[tuple[list[str], dict[str, int]]]], name: str) -> None:
    runs = listen(name, _CONFIG, _LINES, f"beats of {_CONFIG.beat_bytes} bytes", runs=3, pressed=(1,))
    for number, (texts, lights) in enumerate(runs, 1):
        lines = [Line.of(text) for text in texts]
        wrong = int(number == 2)
        assert [line.passed for line in lines[:-1]].count(False) == wrong
        assert lines.pop() == ("", {"run": number, "passed": 10 - wrong, "tests": 10}, not wrong)
        assert [line.numbers["item"] for line in lines] == [*range(DUMP + 1)]
        assert lights == {"passed": 1 - wrong, "failed": wrong}
        for item, line in enumerate(lines):
            raw = _LINES if item == DUMP else generated(16, 4, item, 1024)
            packed = zvc.compress(np.frombuffer(raw, np.uint8), 4).size
            if line.passed:
                assert (line.group, line.numbers["raw"], line.numbers["packed"]) == ("32bit", len(raw), packed)
