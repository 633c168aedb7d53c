"""How the tests of the self-test listen to a board's image, with models of its primitives, from pins to text."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.hdl.selftest.config import SelftestConfig
from cdma.synth.boards.catalog import board
from cdma.synth.boards.project import project
from cdma.verif.common import runner

Runs = list[tuple[list[str], dict[str, int]]]
_FOLDER = Path(__file__).parent

# What is high at rest: on the Versa, switches that are not moved, whichever way they stand. Its LEDs are lit by a 0.
_BOARDS = {
    "ulx3s-12f": ("clk25_0__io", None, {"button_0__io": 0}, 0),
    "ulx3s-85f": ("clk25_0__io", None, {"button_0__io": 0}, 0),
    "versa-ecp5": ("clk100_0__p", "rst_0__io", {"switch_4__io": 1, "rst_0__io": 1}, 1),
    "arty-a7-35": ("clk100_0__io", "rst_0__io", {"button_0__io": 0, "rst_0__io": 1}, 0),
}


@functools.cache
def _verilog(name: str, config: SelftestConfig, lines: bytes) -> str:
    return project(board(name), config, lines)[f"{config.name}.v"] + (_FOLDER / "primitives.v").read_text()


@pytest.fixture
def listen(build_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Runs]:
    """Compiles an image, listens to its UART for some runs, and returns the lines of each with the lights behind it."""
    monkeypatch.syspath_prepend(_FOLDER)

    def run(name: str, config: SelftestConfig, lines: bytes, heading: str, runs: int = 1, switches: int = 0,
            pressed: tuple[int, ...] = ()) -> Runs:
        of = board(name)
        clock, reset, rest, dark = _BOARDS[name]
        pins = {"clock": clock, "reset": reset, "button": next(iter(rest)), "tx": "uart_0__tx__io",
                "running": "led_0__io", "passed": "led_1__io", "failed": "led_2__io"}
        # Switches of the Versa are read against where they stood.
        levels = {f"switch_{k}__io": int(of.relative) ^ switches >> k & 1 for k in range(4)}
        built = runner.build(_verilog(name, config, lines), config.name, simulator="verilator", build_dir=build_dir)
        report = runner.run(built, "uart_bench", folder=tmp_path, job={
            "runs": runs, "pressed": pressed, "pins": pins, "rest": levels | rest, "dark": dark,
            "high": [f"{resource}_0__{pin}__io" for resource, pin in of.high], "patience_ms": 100,
            "period_ps": 10**12 // of.oscillator_hz,
            "bit_ps": round(of.clock_hz / config.baud) * 10**12 // round(of.clock_hz)})
        before, *texts = report["text"].split(f"\r\ncdma self-test, {heading}\r\n")
        assert before == "" and len(texts) == runs
        return [(text.removesuffix("\r\n").split("\r\n"), lights)
                for text, lights in zip(texts, report["lights"], strict=True)]

    return run
