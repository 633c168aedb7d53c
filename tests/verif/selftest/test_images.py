"""The very Verilog that is built for boards, with models of the FPGAs' primitives, from its pins to its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import lines as zvc
from cdma.hdl.selftest.config import CoresTestConfig
from cdma.hdl.selftest.source import DUMP
from cdma.synth.boards.catalog import board
from cdma.synth.boards.project import project
from tests.extended import usually
from tests.hdl.selftest.reference import Line, generated, sparse

_CONFIG = CoresTestConfig(element_bits=(32,), pipeline="small", raw_bytes=1024, baud=2_500_000, pause_ms=1)
_LINES = sparse(np.random.default_rng(7), 256)
_PRIMITIVES = Path(__file__).with_name("primitives.v").read_text(encoding="utf-8")

# What is high at rest: on the Versa, switches that are not moved, whichever way they stand. Its LEDs are lit by a 0.
_BOARDS = {
    "ulx3s-12f": ("clk25_0__io", None, {"button_0__io": 0}, 0),
    "versa-ecp5": ("clk100_0__p", "rst_0__io", {"switch_4__io": 1, "rst_0__io": 1}, 1),
    "arty-a7-35": ("clk100_0__io", "rst_0__io", {"button_0__io": 0, "rst_0__io": 1}, 0),
}


@pytest.mark.parametrize("name", usually("ulx3s-12f", of=_BOARDS))
def test_an_image_tells_goldens_figures_and_a_pressed_button(
        listen: Callable[..., list[tuple[list[str], dict[str, int]]]], name: str) -> None:
    clock, reset, rest, dark = _BOARDS[name]
    of = board(name)
    pins = {"clock": clock, "reset": reset, "button": next(iter(rest)), "tx": "uart_0__tx__io",
            "running": "led_0__io", "passed": "led_1__io", "failed": "led_2__io"}
    # Switches of the Versa are read against where they stood.
    switches = {f"switch_{k}__io": int(of.relative) for k in range(4)}
    runs = listen(project(of, _CONFIG, _LINES)["cdma_selftest.v"] + _PRIMITIVES, _CONFIG.name,
                  f"beats of {_CONFIG.beat_bytes} bytes", runs=3, pressed=(1,), pins=pins, rest=switches | rest,
                  high=[f"{resource}_0__{pin}__io" for resource, pin in of.high], dark=dark,
                  period_ps=10**12 // of.oscillator_hz, bit_ps=10**12 // _CONFIG.baud, patience_ms=20)
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
