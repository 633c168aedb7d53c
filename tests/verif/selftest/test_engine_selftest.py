"""The self-test of an engine, as it is built for a board, from its pins to its text, which golden has to agree with."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.errors import StreamError
from cdma.golden.engine.status import Status, status_of
from cdma.hdl.selftest.config import EngineTestConfig
from cdma.hdl.selftest.engine_trial import lengths
from cdma.hdl.selftest.pattern import PLACES
from cdma.hdl.selftest.source import DUMP
from cdma.measure.arrays import dump_lines
from cdma.synth.boards.catalog import board
from tests.extended import extended
from tests.hdl.selftest.reference import Line, generated

pytestmark = extended
Runs = list[tuple[list[str], dict[str, int]]]
_CONFIG = EngineTestConfig(baud=3_000_000, pause_ms=1, codings=board("ulx3s-85f").codings)
_LINES = dump_lines(None, None, _CONFIG.raw_bytes)
_LENGTHS = lengths(_CONFIG, len(_LINES))
_ITEMS = len(_LENGTHS)
_PAGE = Path(__file__).resolve().parents[3] / "docs/boards.md"
_CYCLES = re.compile(r"(?<=offload=|refetch=)[0-9a-f]+")


@pytest.fixture
def play(listen: Callable[..., Runs]) -> Callable[..., Runs]:
    """Listens to the image for some runs."""
    return partial(listen, "ulx3s-85f", _CONFIG, _LINES, f"engine, 1 lane of {_CONFIG.beat_bytes} bytes")


def _stream(coding: str, item: int) -> tuple[bytes, int, np.ndarray]:
    """The tensor of a test, its coding's number, and its block stream."""
    number = int(Coding[coding.upper()])
    size = number & 15
    raw = _LINES if item == DUMP else generated(
        _CONFIG.beat_bytes, size, item if item < DUMP else 4, _CONFIG.raw_bytes, floats=number > 0x20)
    tensor = raw[:_LENGTHS[item]]
    return tensor, number, blocks.compress(np.frombuffer(tensor, np.uint8), number, _CONFIG.block_bytes)


def _status(coding: str, item: int) -> int:
    """What the flipped byte of a stream must lead to."""
    tensor, number, stream = _stream(coding, item)
    flipped = np.array(stream)
    flipped[PLACES[item - DUMP - 1]] ^= 1
    try:
        blocks.decompress(flipped, _CONFIG.block_bytes, len(tensor), None, number)
    except StreamError as error:
        return int(status_of(error)[0])
    return int(Status.CRC_MISMATCH)


def _check(text: str, coding: str, item: int) -> None:
    line = Line.of(text)
    tensor, _, stream = _stream(coding, item)
    numbers = line.numbers
    assert (line.group, numbers["item"], line.passed) == (coding, item, True), text
    assert (numbers["raw"], numbers["packed"]) == (len(tensor), stream.size), text
    assert numbers["status"] == (_status(coding, item) if item > DUMP else 0), text
    # Not faster than the ports, and not slower than memories that pause in an eighth of the cycles and answer late.
    beats = max(len(tensor), stream.size) / _CONFIG.beat_bytes
    assert beats < numbers["offload"] < 2 * beats + 500, text
    assert beats < numbers["prefetch"] < 2 * beats + 500 if item <= DUMP else numbers["prefetch"] == 0, text


def test_all_tests_pass_with_goldens_figures_and_one_with_a_wrong_bit_fails(play: Callable[..., Runs]) -> None:
    (right, lights), (wrong, wrong_lights) = play(2, pressed=(1,))
    tests = [(coding, item) for coding in _CONFIG.codings for item in range(_ITEMS)]
    for text, (coding, item) in zip(right[:-1], tests, strict=True):
        _check(text, coding, item)
    assert Line.of(right[-1]) == ("", {"run": 1, "passed": len(tests), "tests": len(tests)}, True)
    assert lights == {"passed": 1, "failed": 0}

    failed = [text for text, before in zip(wrong, right, strict=True)
              if _CYCLES.sub("", text) != _CYCLES.sub("", before)]
    # The prefetch of a flipped stream reports an error; the engine is reset behind it, and every other test passes.
    assert len(failed) == 2
    assert failed[0].endswith("FAIL step=39 seen=30 wanted=10")
    assert Line.of(failed[1]) == ("", {"run": 2, "passed": len(tests) - 1, "tests": len(tests)}, False)
    assert wrong_lights == {"passed": 0, "failed": 1}

    # The page has the last coding and the run; cycles differ by little when the engine changes.
    page = _PAGE.read_text(encoding="utf-8")
    shown = next(part.split("\n```")[0] for part in page.split("```text\n") if part.startswith("float32 item=0"))
    printed = "\n".join(right[-_ITEMS - 1:])
    assert _CYCLES.sub("", shown) == _CYCLES.sub("", printed)
    for old, new in zip(_CYCLES.findall(shown), _CYCLES.findall(printed), strict=True):
        old, new = int(old, 16), int(new, 16)
        assert abs(old - new) <= max(20, new // 20), f"docs/boards.md says {old} cycles, the image says {new}"


@pytest.mark.parametrize(("switches", "item"), [(9, DUMP), (15, _ITEMS - 1)])
def test_switches_choose_a_test(play: Callable[..., Runs], switches: int, item: int) -> None:
    ((texts, lights),) = play(1, switches)
    for text, coding in zip(texts[:-1], _CONFIG.codings, strict=True):
        _check(text, coding, item)
    assert Line.of(texts[-1]) == ("", {"run": 1, "passed": len(_CONFIG.codings), "tests": len(_CONFIG.codings)}, True)
    assert lights == {"passed": 1, "failed": 0}
