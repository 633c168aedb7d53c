"""The self-test: test after test, a line of text for each, and the verdict in text and lights."""

from __future__ import annotations

import enum

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from cdma.hdl.selftest.config import SelftestConfig
from cdma.hdl.selftest.printer import Printer
from cdma.hdl.selftest.suites import suite_of
from cdma.hdl.selftest.text import Number, Part
from cdma.hdl.selftest.uart import UartTransmitter

__all__ = ["SWITCHES", "Selftest"]

SWITCHES = 4
"""Switches that choose what is tested."""

_SETTLING = 3
"""Cycles from the reset to the first run."""


class _Message(enum.IntEnum):
    """The messages that all suites have; those of the suite follow: its groups, then its lines."""

    HEADING = 0
    PASS = 1
    FAIL = 2
    SUM = 3
    ALL_PASS = 4
    SUM_FAIL = 5
    OWN = 6


class _Number(enum.IntEnum):
    """The numbers that all suites have, behind those of the suite."""

    RUN = 0
    PASSED = 1
    TESTS = 2


class Selftest(wiring.Component):
    """Runs all tests repeatedly and prints their results and counters.

    ::

        switches --> sequence: group by group, item by item
        button ---->    |
                        +--> suite --> counters --> printer --> UART --> tx
                        +--> running, passed, failed

    A run prints a heading, a line per test, and a line with the number of tests that passed. After a pause the next run
    begins. Ratios and rates are computed in hardware, rounded down to thousandths.

    Parameters
    ----------
    config : SelftestConfig
        What to build: the configuration of a test of the cores, or of an engine.
    lines : bytes
        The lines of the dump.
    clock_hz : int
        Cycles of the clock per second.

    Members
    -------
    switches : In(SWITCHES)
        0: every item; k: item k alone; from the last item on: the last item alone. Read when a run begins; may change
        at any time.
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
        self._suite = suite_of(config, lines)
        self._divisor = round(clock_hz / config.baud)
        self._pause = max(1, clock_hz * config.pause_ms // 1000)
        super().__init__({"switches": In(SWITCHES), "button": In(1), "tx": Out(1),
                          "running": Out(1), "passed": Out(1), "failed": Out(1)})

    def _messages(self) -> list[list[Part]]:
        texts, first = self._suite.texts, self._suite.dividends.shape().length
        run, passed, tests = (Number(first + number) for number in _Number)
        return [
            [f"\r\ncdma self-test, {texts.heading}\r\n"],
            [" PASS\r\n"],
            [" FAIL", *texts.failure, "\r\n"],
            ["run ", run, " passed ", passed, " of ", tests],
            [" ALL PASS\r\n"],
            [" FAIL\r\n"],
            *([name] for name in texts.groups),
            *(list(line) for line in texts.lines),
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        suite = self._suite
        m.submodules.suite = suite
        groups, shared = len(suite.texts.groups), suite.dividends.shape().length
        m.submodules.printer = printer = Printer(self._messages(), shared + len(_Number), suite.width)
        m.submodules.uart = uart = UartTransmitter(self._divisor)
        wiring.connect(m, printer.o, uart.i)
        switches, pressed = Signal(SWITCHES), Signal()
        m.submodules.switches = FFSynchronizer(self.switches, switches)
        m.submodules.button = FFSynchronizer(self.button, pressed)

        chosen = Signal(SWITCHES)
        # The first run begins when the switches have come through their synchronizer.
        wait = Signal(range(max(_SETTLING + 1, self._pause)), init=_SETTLING)
        wanted = Signal()                       # a wrong bit
        count, passes, run = Signal(16), Signal(16), Signal(16)
        for number in range(shared):
            m.d.comb += [printer.dividends[number].eq(suite.dividends[number]),
                         printer.divisors[number].eq(suite.divisors[number])]
        for number, value in zip(_Number, (run, passes, count), strict=True):
            m.d.comb += [printer.dividends[shared + number].eq(value), printer.divisors[shared + number].eq(1)]
        m.d.comb += self.tx.eq(uart.tx)
        final = suite.items - 1
        alone = Signal()
        m.d.comb += alone.eq(chosen != 0)
        first = Mux(switches > final, final, switches)
        with m.If(pressed):
            m.d.sync += wanted.eq(1)
        with m.FSM(init="pause"):
            with m.State("begin"):
                m.d.sync += [chosen.eq(switches), suite.item.eq(first), suite.group.eq(0), count.eq(0), passes.eq(0),
                             run.eq(run + 1), self.running.eq(1)]
                m.d.comb += [printer.message.eq(_Message.HEADING), printer.start.eq(1)]
                m.next = "heading"
            with m.State("heading"):
                with m.If(printer.done):
                    m.next = "start"
            with m.State("start"):
                m.d.comb += suite.start.eq(1)
                m.d.sync += [suite.fault.eq(wanted), wanted.eq(pressed)]
                m.next = "test"
            with m.State("test"):
                with m.If(suite.done):
                    m.d.sync += [count.eq(count + 1), passes.eq(passes + suite.passed)]
                    m.d.comb += [printer.message.eq(_Message.OWN + suite.group), printer.start.eq(1)]
                    m.next = "group"
            with m.State("group"):
                with m.If(printer.done):
                    m.d.comb += [printer.message.eq(_Message.OWN + groups + suite.line), printer.start.eq(1)]
                    m.next = "line"
            with m.State("line"):
                with m.If(printer.done):
                    m.d.comb += [printer.message.eq(Mux(suite.passed, _Message.PASS, _Message.FAIL)),
                                 printer.start.eq(1)]
                    m.next = "verdict"
            with m.State("verdict"):
                with m.If(printer.done):
                    m.next = "start"
                    with m.If(alone | (suite.item == final)):
                        m.d.sync += [suite.item.eq(Mux(alone, suite.item, 0)), suite.group.eq(suite.group + 1)]
                        with m.If(suite.group == groups - 1):
                            m.d.comb += [printer.message.eq(_Message.SUM), printer.start.eq(1)]
                            m.next = "sum"
                    with m.Else():
                        m.d.sync += suite.item.eq(suite.item + 1)
            with m.State("sum"):
                with m.If(printer.done):
                    right = passes == count
                    m.d.comb += [printer.message.eq(Mux(right, _Message.ALL_PASS, _Message.SUM_FAIL)),
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
