"""The whole self-test in a simulator, up to the text on its UART, which golden has to agree with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import lines as zvc
from cdma.hdl.generate.backend import verilog_text
from cdma.hdl.selftest.config import CoresTestConfig
from cdma.hdl.selftest.selftest import Selftest
from cdma.measure.arrays import dump_lines
from tests.hdl.selftest.reference import Line, generated

_DIVISOR = 4
_PERIOD_PS = 10_000
_CONFIG = CoresTestConfig(pause_ms=1)
_LINES = dump_lines(None, None, 128)
_PAGE = Path(__file__).resolve().parents[3] / "docs/boards.md"
_LATENCY = 60
Runs = list[tuple[list[str], dict[str, int]]]


@pytest.fixture(scope="module")
def verilog() -> str:
    """The self-test as boards have it, but for a clock of a few cycles per bit."""
    return verilog_text(Selftest(_CONFIG, _LINES, _DIVISOR * _CONFIG.baud), _CONFIG.name)


@pytest.fixture
def play(listen: Callable[..., Runs], verilog: str) -> Callable[..., Runs]:
    """Listens to the self-test for some runs."""
    def run(runs: int, switches: int = 0, pressed: tuple[int, ...] = ()) -> Runs:
        pins = {"clock": "clk", "reset": "rst", "button": "button", "tx": "tx", "running": "running",
                "passed": "passed", "failed": "failed"}
        return listen(verilog, _CONFIG.name, f"beats of {_CONFIG.beat_bytes} bytes", runs=runs, pressed=pressed,
                      pins=pins, rest={"rst": 0, "button": 0, "switches": switches}, high=[], dark=0,
                      period_ps=_PERIOD_PS,
                      bit_ps=_DIVISOR * _PERIOD_PS, patience_ms=100)

    return run


def _raw(element_bytes: int, density: int | None) -> bytes:
    return _LINES if density is None else generated(_CONFIG.beat_bytes, element_bytes, density, _CONFIG.raw_bytes)


def _check(text: str) -> Line:
    line = Line.of(text)
    raw = np.frombuffer(_raw(line.bits // 8, line.density), np.uint8)
    packed = zvc.compress(raw, line.bits // 8).size
    assert (line.raw, line.packed, line.ratio) == (raw.size, packed, 1000 * raw.size // packed), text
    # As many cycles as the wider side has beats, the way through both cores, and the wait for a first packed beat.
    beats = raw.size / _CONFIG.beat_bytes
    fewest = max(raw.size, packed) / _CONFIG.beat_bytes
    most = fewest + _LATENCY + raw.size / packed
    assert 1000 * beats / most - 1 <= line.rate <= 1000 * beats / fewest, text
    return line


def test_all_tests_pass_with_goldens_figures_and_one_with_a_wrong_bit_fails(play: Callable[..., Runs]) -> None:
    (right, lights), (wrong, wrong_lights), (again, _) = play(3, pressed=(1,))
    tests = [(bits, density) for bits in (8, 16, 32) for density in (*range(9), None)]
    lines = [_check(text) for text in right[:-1]]
    assert [(line.bits, line.density) for line in lines] == tests
    assert all(line.passed for line in lines)
    assert right[-1] == "run 1 passed 30 of 30 ALL PASS"
    assert lights == {"passed": 1, "failed": 0}
    assert "```text\n" + "\n".join(right) + "\n```" in _PAGE.read_text(encoding="utf-8")

    verdicts = [Line.of(text).passed for text in wrong[:-1]]
    assert len(verdicts) == 30 and verdicts.count(False) == 1
    assert wrong[-1] == "run 2 passed 29 of 30 FAIL"
    assert wrong_lights == {"passed": 0, "failed": 1}

    assert again[:-1] == right[:-1]
    assert again[-1] == "run 3 passed 30 of 30 ALL PASS"


@pytest.mark.parametrize(("switches", "density"), [(1, 1), (4, 4), (8, 8), (9, None), (15, None)])
def test_switches_choose_a_density_or_the_dump(play: Callable[..., Runs], switches: int, density: int | None) -> None:
    ((texts, lights),) = play(1, switches)
    lines = [_check(text) for text in texts[:-1]]
    assert [(line.bits, line.density, line.passed) for line in lines] == [(bits, density, True) for bits in (8, 16, 32)]
    assert texts[-1] == "run 1 passed 3 of 3 ALL PASS"
    assert lights == {"passed": 1, "failed": 0}
