"""The whole self-test in a simulator, up to the text on its UART, which golden has to agree with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import lines as zvc
from cdma.hdl.selftest.config import CoresTestConfig
from cdma.hdl.selftest.source import DUMP
from cdma.measure.arrays import dump_lines
from tests.hdl.selftest.reference import Line, generated

_CONFIG = CoresTestConfig(pause_ms=1, baud=3_000_000)
_LINES = dump_lines(None, None, 16384)
_PAGE = Path(__file__).resolve().parents[3] / "docs/boards.md"
_LATENCY = 60
Runs = list[tuple[list[str], dict[str, int]]]


@pytest.fixture
def play(listen: Callable[..., Runs]) -> Callable[..., Runs]:
    """Listens to the image for some runs."""
    return partial(listen, "ulx3s-12f", _CONFIG, _LINES, f"beats of {_CONFIG.beat_bytes} bytes")


def _check(text: str, bits: int, item: int) -> None:
    line = Line.of(text)
    assert (line.group, line.numbers["item"], line.passed) == (f"{bits}bit", item, True), text
    raw = _LINES if item == DUMP else generated(_CONFIG.beat_bytes, bits // 8, item, _CONFIG.raw_bytes)
    packed = zvc.compress(np.frombuffer(raw, np.uint8), bits // 8).size
    assert (line.numbers["raw"], line.numbers["packed"]) == (len(raw), packed), text
    # As many cycles as the wider side has beats, the way through both cores, and the wait for a first packed beat.
    fewest = max(len(raw), packed) / _CONFIG.beat_bytes
    assert fewest <= line.numbers["cycles"] <= fewest + _LATENCY + len(raw) / packed, text


def test_all_tests_pass_with_goldens_figures_and_one_with_a_wrong_bit_fails(play: Callable[..., Runs]) -> None:
    (right, lights), (wrong, wrong_lights), (again, _) = play(3, pressed=(1,))
    tests = [(bits, item) for bits in (8, 16, 32) for item in range(DUMP + 1)]
    for text, (bits, item) in zip(right[:-1], tests, strict=True):
        _check(text, bits, item)
    assert right[-1] == "run=1 passed=1e tests=1e PASS"
    assert lights == {"passed": 1, "failed": 0}
    shown = "```text\n" + "\n".join(right[-11:]) + "\n```"
    assert shown in _PAGE.read_text(encoding="utf-8"), shown

    assert [Line.of(text).passed for text in wrong[:-1]].count(False) == 1 and len(wrong) == len(right)
    assert wrong[-1] == "run=2 passed=1d tests=1e FAIL"
    assert wrong_lights == {"passed": 0, "failed": 1}

    assert again[:-1] == right[:-1]
    assert again[-1] == "run=3 passed=1e tests=1e PASS"


@pytest.mark.parametrize(("switches", "item"), [(1, 1), (4, 4), (8, 8), (9, DUMP), (15, DUMP)])
def test_switches_choose_a_density_or_the_dump(play: Callable[..., Runs], switches: int, item: int) -> None:
    ((texts, lights),) = play(1, switches=switches)
    for text, bits in zip(texts[:-1], (8, 16, 32), strict=True):
        _check(text, bits, item)
    assert texts[-1] == "run=1 passed=3 tests=3 PASS"
    assert lights == {"passed": 1, "failed": 0}
