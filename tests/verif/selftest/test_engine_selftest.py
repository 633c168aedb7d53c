"""The self-test of an engine, as it is built for a board, from its pins to its text, which golden has to agree with."""

from __future__ import annotations

import re
from collections.abc import Callable
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
from cdma.measure.arrays import dump_lines
from cdma.synth.boards.catalog import board
from cdma.synth.boards.project import project
from tests.extended import extended
from tests.hdl.selftest.reference import EngineLine, generated

pytestmark = extended
Runs = list[tuple[list[str], dict[str, int]]]
_BAUD = 3_000_000
_BOARD = board("ulx3s-85f")
_CONFIG = EngineTestConfig(baud=_BAUD, pause_ms=1, codings=_BOARD.codings)
_LINES = dump_lines(None, None, _CONFIG.raw_bytes // 128)
_LENGTHS = lengths(_CONFIG, len(_LINES))
_DUMP, _ITEMS = 9, len(_LENGTHS)
_PAGE = Path(__file__).resolve().parents[3] / "docs/boards.md"
_PRIMITIVES = Path(__file__).with_name("primitives.v").read_text(encoding="utf-8")
_CYCLES = re.compile(r"(?<=offload )\d+ prefetch \d+")


@pytest.fixture(scope="module")
def verilog() -> str:
    """The image of the board."""
    return project(_BOARD, _CONFIG, _LINES)["cdma_selftest.v"] + _PRIMITIVES


@pytest.fixture
def play(listen: Callable[..., Runs], verilog: str) -> Callable[..., Runs]:
    """Listens to the image for some runs."""
    def run(runs: int, switches: int = 0, pressed: tuple[int, ...] = ()) -> Runs:
        pins = {"clock": "clk25_0__io", "reset": None, "button": "button_0__io", "tx": "uart_0__tx__io",
                "running": "led_0__io", "passed": "led_1__io", "failed": "led_2__io"}
        rest = {"button_0__io": 0, **{f"switch_{k}__io": switches >> k & 1 for k in range(4)}}
        return listen(verilog, _CONFIG.name, f"engine, 1 lane of {_CONFIG.beat_bytes} bytes", runs=runs,
                      pressed=pressed, pins=pins, rest=rest, dark=0,
                      high=[f"{resource}_0__{pin}__io" for resource, pin in _BOARD.high],
                      period_ps=10**12 // _BOARD.oscillator_hz, bit_ps=8 * 10**12 // _BOARD.oscillator_hz,
                      patience_ms=100)

    return run


def _stream(coding: str, item: int) -> tuple[bytes, int, np.ndarray]:
    """The tensor of a test, its coding's number, and its block stream."""
    number = int(Coding[coding.upper()])
    size = number & 15
    raw = _LINES if item == _DUMP else generated(
        _CONFIG.beat_bytes, size, item if item < _DUMP else 4, _CONFIG.raw_bytes, floats=number > 0x20)
    tensor = raw[:_LENGTHS[item]]
    return tensor, number, blocks.compress(np.frombuffer(tensor, np.uint8), number, _CONFIG.block_bytes)


def _status(coding: str, item: int) -> int:
    """What the flipped byte of a stream must lead to."""
    tensor, number, stream = _stream(coding, item)
    flipped = np.array(stream)
    flipped[PLACES[item - _DUMP - 1]] ^= 1
    try:
        blocks.decompress(flipped, _CONFIG.block_bytes, len(tensor), None, number)
    except StreamError as error:
        return int(status_of(error)[0])
    return int(Status.CRC_MISMATCH)


def _check(text: str, coding: str, item: int) -> EngineLine:
    line = EngineLine.of(text)
    assert line.coding == coding
    if item > _DUMP:
        assert (line.place, line.status) == (PLACES[item - _DUMP - 1], _status(coding, item)), text
        return line
    tensor, _, stream = _stream(coding, item)
    assert line.density == (item if item < _DUMP else None)
    assert (line.raw, line.packed, line.ratio) == (len(tensor), stream.size, 1000 * len(tensor) // stream.size), text
    # Not faster than the ports, and not slower than memories that pause in an eighth of the cycles and answer late.
    beats = max(len(tensor), stream.size) / _CONFIG.beat_bytes
    assert line.offload and line.prefetch
    assert beats < min(line.offload, line.prefetch) and max(line.offload, line.prefetch) < 2 * beats + 500, text
    return line


def test_all_tests_pass_with_goldens_figures_and_one_with_a_wrong_bit_fails(play: Callable[..., Runs]) -> None:
    (right, lights), (wrong, wrong_lights) = play(2, pressed=(1,))
    tests = [(coding, item) for coding in _CONFIG.codings for item in range(_ITEMS)]
    assert len(right) == len(tests) + 1
    for text, (coding, item) in zip(right, tests, strict=False):
        assert _check(text, coding, item).step is None, text
    assert right[-1] == f"run 1 passed {len(tests)} of {len(tests)} ALL PASS"
    assert lights == {"passed": 1, "failed": 0}

    failed = [text for text, before in zip(wrong, right, strict=True)
              if _CYCLES.sub("", text) != _CYCLES.sub("", before)]
    # The prefetch of a flipped stream reports an error; the engine is reset behind it, and every other test passes.
    assert len(failed) == 2 and EngineLine.of(failed[0]).step
    assert failed[0].endswith("FAIL in step 57: 48 instead of 16")
    assert failed[1] == f"run 2 passed {len(tests) - 1} of {len(tests)} FAIL"
    assert wrong_lights == {"passed": 0, "failed": 1}

    # The page has this text; cycles differ by little when the engine changes.
    page = _PAGE.read_text(encoding="utf-8")
    shown = next(part.split("\n```")[0] for part in page.split("```text\n") if part.startswith("zvc8 density 0/8"))
    assert _CYCLES.sub("", shown) == _CYCLES.sub("", "\n".join(right))
    for old, new in zip(_cycles(shown), _cycles("\n".join(right)), strict=True):
        assert abs(old - new) <= max(20, new // 20), f"docs/boards.md says {old} cycles, the image says {new}"


def _cycles(text: str) -> list[int]:
    return [int(number) for found in _CYCLES.findall(text) for number in found.split(" prefetch ")]


@pytest.mark.parametrize(("switches", "item"), [(9, _DUMP), (15, _ITEMS - 1)])
def test_switches_choose_a_test(play: Callable[..., Runs], switches: int, item: int) -> None:
    ((texts, lights),) = play(1, switches)
    for text, coding in zip(texts, _CONFIG.codings, strict=False):
        assert _check(text, coding, item).step is None, text
    assert texts[-1] == f"run 1 passed {len(_CONFIG.codings)} of {len(_CONFIG.codings)} ALL PASS"
    assert lights == {"passed": 1, "failed": 0}
