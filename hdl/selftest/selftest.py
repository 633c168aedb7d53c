"""The self-test: test after test, a line of text for each, and the verdict in text and lights."""

from __future__ import annotations

import enum

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.selftest.config import SelftestConfig
from hdl.selftest.printer import Printer
from hdl.selftest.source import DUMP, ITEMS
from hdl.selftest.text import Number, Part
from hdl.selftest.trial import Trial
from hdl.selftest.uart import UartTransmitter

__all__ = ["SWITCHES", "Selftest"]

SWITCHES = 4
"""Switches that choose what is tested."""

_SPARE_BITS = 10
"""A ratio is printed in thousandths: bits that numbers have more for it."""


class _Number(enum.IntEnum):
    """The numbers in the text."""

    BITS = 0
    DENSITY = 1
    RAW = 2
    PACKED = 3
    RATIO = 4
    RATE = 5
    RUN = 6
    PASSED = 7
    TESTS = 8


class _Message(enum.IntEnum):
    """The messages, in the order of their texts."""

    HEADING = 0
    GENERATED = 1
    DUMP = 2
    PASS = 3
    FAIL = 4
    SUM = 5
    ALL_PASS = 6


def _messages(beat_bytes: int) -> list[list[Part]]:
    counts: list[Part] = [
        " raw ", Number(_Number.RAW), " packed ", Number(_Number.PACKED), " ratio ", Number(_Number.RATIO, True),
        " raw beats/cycle ", Number(_Number.RATE, True)]
    bits = Number(_Number.BITS)
    return [
        [f"\r\ncdma self-test, beats of {beat_bytes} bytes\r\n"],
        [bits, " bit density ", Number(_Number.DENSITY), "/8", *counts],
        [bits, " bit dump", *counts],
        [" PASS\r\n"],
        [" FAIL\r\n"],
        ["run ", Number(_Number.RUN), " passed ", Number(_Number.PASSED), " of ", Number(_Number.TESTS)],
        [" ALL PASS\r\n"],
    ]


class Selftest(wiring.Component):
    """Runs all tests repeatedly and prints their results and counters.

    ::

        switches --> sequence: element size by element size, item by item
        button ---->    |
                        +--> trial --> counters --> printer --> UART --> tx
                        +--> running, passed, failed

    A run prints a heading, a line per test, and a line with the number of tests that passed. After a pause the next run
    begins. Ratio and beats per cycle are computed in hardware, rounded down to thousandths.

    Parameters
    ----------
    config : SelftestConfig
        What to build.
    lines : bytes
        The lines of the dump.
    clock_hz : int
        Cycles of the clock per second.

    Members
    -------
    switches : In(SWITCHES)
        0: every density and the dump; 1 to 8: that density in eighths alone; more: the dump alone. Read when a run
        begins; may change at any time.
    button : In(1)
        When pressed, a bit of the next test is flipped, to show that a test can fail; may change at any time.
    tx : Out(1)
        The UART's line.
    running, passed, failed : Out(1)
        A run is under way; the last run passed; the last run failed.
    """

    def __init__(self, config: SelftestConfig, lines: bytes, clock_hz: int):
        if clock_hz < 2 * config.baud:
            raise ValueError(f"the clock must be at least twice the UART's {config.baud} bits per second, "
                             f"not {clock_hz} Hz")
        self._config = config
        self._lines = lines
        self._divisor = round(clock_hz / config.baud)
        self._pause = max(1, clock_hz * config.pause_ms // 1000)
        super().__init__({"switches": In(SWITCHES), "button": In(1), "tx": Out(1),
                          "running": Out(1), "passed": Out(1), "failed": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        sizes = config.element_bytes
        m.submodules.trial = trial = Trial(config, self._lines)
        width = len(trial.raw) + _SPARE_BITS
        m.submodules.printer = printer = Printer(_messages(config.beat_bytes), len(_Number), width)
        m.submodules.uart = uart = UartTransmitter(self._divisor)
        wiring.connect(m, printer.o, uart.i)
        switches, pressed = Signal(SWITCHES), Signal()
        m.submodules.switches = FFSynchronizer(self.switches, switches)
        m.submodules.button = FFSynchronizer(self.button, pressed)

        chosen = Signal(SWITCHES)
        size = Signal(range(max(2, len(sizes))))
        item = Signal(range(ITEMS))
        wait = Signal(range(self._pause))
        wanted = Signal()                       # a wrong bit
        count, passes, run = Signal(16), Signal(16), Signal(16)
        thousand_raw = (trial.raw << 10) - (trial.raw << 4) - (trial.raw << 3)
        quotients = {
            _Number.BITS: (trial.element << 3, 1),
            _Number.DENSITY: (item, 1),
            _Number.RAW: (trial.raw, 1),
            _Number.PACKED: (trial.packed, 1),
            _Number.RATIO: (thousand_raw, trial.packed),
            _Number.RATE: (thousand_raw[exact_log2(config.beat_bytes):], trial.cycles),
            _Number.RUN: (run, 1),
            _Number.PASSED: (passes, 1),
            _Number.TESTS: (count, 1),
        }
        for number, (dividend, divisor) in quotients.items():
            m.d.comb += [printer.dividends[number].eq(dividend), printer.divisors[number].eq(divisor)]
        m.d.comb += [
            trial.item.eq(item),
            trial.element.eq(Array(sizes)[size]),
            self.tx.eq(uart.tx),
        ]
        alone = Signal()
        m.d.comb += alone.eq(chosen != 0)
        first = Mux(switches > 8, DUMP, switches)
        with m.If(pressed):
            m.d.sync += wanted.eq(1)
        with m.FSM():
            with m.State("begin"):
                m.d.sync += [chosen.eq(switches), item.eq(first), size.eq(0), count.eq(0), passes.eq(0),
                             run.eq(run + 1), self.running.eq(1)]
                m.d.comb += [printer.message.eq(_Message.HEADING), printer.start.eq(1)]
                m.next = "heading"
            with m.State("heading"):
                with m.If(printer.done):
                    m.next = "start"
            with m.State("start"):
                m.d.comb += trial.start.eq(1)
                m.d.sync += [trial.fault.eq(wanted), wanted.eq(pressed)]
                m.next = "test"
            with m.State("test"):
                with m.If(trial.done):
                    m.d.sync += [count.eq(count + 1), passes.eq(passes + trial.passed)]
                    m.d.comb += [printer.message.eq(Mux(item == DUMP, _Message.DUMP, _Message.GENERATED)),
                                 printer.start.eq(1)]
                    m.next = "line"
            with m.State("line"):
                with m.If(printer.done):
                    m.d.comb += [printer.message.eq(Mux(trial.passed, _Message.PASS, _Message.FAIL)),
                                 printer.start.eq(1)]
                    m.next = "verdict"
            with m.State("verdict"):
                with m.If(printer.done):
                    m.next = "start"
                    with m.If(alone | (item == DUMP)):
                        m.d.sync += [item.eq(Mux(alone, item, 0)), size.eq(size + 1)]
                        with m.If(size == len(sizes) - 1):
                            m.d.comb += [printer.message.eq(_Message.SUM), printer.start.eq(1)]
                            m.next = "sum"
                    with m.Else():
                        m.d.sync += item.eq(item + 1)
            with m.State("sum"):
                with m.If(printer.done):
                    right = passes == count
                    m.d.comb += [printer.message.eq(Mux(right, _Message.ALL_PASS, _Message.FAIL)),
                                 printer.start.eq(1)]
                    m.d.sync += [self.passed.eq(right), self.failed.eq(~right), self.running.eq(0),
                                 wait.eq(self._pause - 1)]
                    m.next = "pause"
            with m.State("pause"):
                with m.If(wait != 0):
                    m.d.sync += wait.eq(wait - 1)
                with m.Elif(printer.done):
                    m.next = "begin"
        return m
