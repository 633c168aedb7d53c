"""The self-test: test after test, a line of text for each, and the verdict in text and lights."""

from __future__ import annotations

import enum

from amaranth.hdl import Module, Mux, Signal, ValueLike
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from cdma.hdl.selftest.config import CoresTestConfig, EngineTestConfig, SelftestConfig
from cdma.hdl.selftest.engine_trial import EngineTrial
from cdma.hdl.selftest.trial import Trial
from cdma.hdl.selftest.uart import Printer, UartTransmitter

__all__ = ["SWITCHES", "Selftest"]

SWITCHES = 4
"""Switches that choose what is tested."""

_SETTLING = 3
"""Cycles from the reset to the first run."""


class _Message(enum.IntEnum):
    """The messages; the lines of tests follow, one for each group."""

    HEADING = 0
    PASS = 1
    FAIL = 2
    SUM = 3
    SUM_FAIL = 4
    LINE = 5


class Selftest(wiring.Component):
    """Runs all tests repeatedly and prints their results and counters.

    ::

        switches --> sequence: group by group, item by item
        button ---->    |
                        +--> trial --> counts --> printer --> UART --> tx
                        +--> running, passed, failed

    A run prints a heading, a line per test, and a line with the number of tests that passed. After a pause the next run
    begins. Numbers are hexadecimal, each behind its name.

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
        if isinstance(config, EngineTestConfig):
            self._trial = EngineTrial(config, lines)
        else:
            assert isinstance(config, CoresTestConfig)
            self._trial = Trial(config, lines)
        self._divisor = round(clock_hz / config.baud)
        self._pause = max(1, clock_hz * config.pause_ms // 1000)
        super().__init__({"switches": In(SWITCHES), "button": In(1), "tx": Out(1),
                          "running": Out(1), "passed": Out(1), "failed": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.trial = trial = self._trial
        switches, pressed = Signal(SWITCHES), Signal()
        m.submodules.switches = FFSynchronizer(self.switches, switches)
        m.submodules.button = FFSynchronizer(self.button, pressed)
        run, passes, tests = Signal(16), Signal(16), Signal(16)
        numbers = {"item": trial.item, **{name: getattr(trial, name) for name in (*trial.counts, *trial.failure)},
                   "run": run, "passed": passes, "tests": tests}

        def shown(*names: str) -> list[str | int]:
            return [part for name in names for part in (f" {name}=", [*numbers].index(name))]

        m.submodules.printer = printer = Printer([
            [f"\r\ncdma self-test, {trial.heading}\r\n"],
            [" PASS\r\n"],
            [" FAIL", *shown(*trial.failure), "\r\n"],
            ["run=", [*numbers].index("run"), *shown("passed", "tests")],
            [" FAIL\r\n"],
            *([group, *shown("item", *trial.counts)] for group in trial.groups)], len(numbers))
        m.d.comb += [printer.numbers[k].eq(value) for k, value in enumerate(numbers.values())]
        m.submodules.uart = uart = UartTransmitter(self._divisor)
        wiring.connect(m, printer.o, uart.i)
        m.d.comb += self.tx.eq(uart.tx)

        # The first run begins when the switches have come through their synchronizer.
        wait = Signal(range(max(_SETTLING + 1, self._pause)), init=_SETTLING)
        alone = Signal()                        # one item of each group
        wanted = Signal()                       # a wrong bit
        final = trial.items - 1
        with m.If(pressed):
            m.d.sync += wanted.eq(1)

        def say(message: ValueLike, then: str) -> None:
            m.d.comb += [printer.message.eq(message), printer.start.eq(1)]
            m.next = then

        with m.FSM():
            with m.State("pause"):
                with m.If(wait != 0):
                    m.d.sync += wait.eq(wait - 1)
                with m.Elif(printer.done):
                    m.d.sync += [
                        alone.eq(switches != 0), trial.item.eq(Mux(switches > final, final, switches)),
                        trial.group.eq(0), tests.eq(0), passes.eq(0), run.eq(run + 1), self.running.eq(1)]
                    say(_Message.HEADING, "start")
            with m.State("start"), m.If(printer.done):
                m.d.comb += trial.start.eq(1)
                m.d.sync += [trial.fault.eq(wanted), wanted.eq(pressed)]
                m.next = "test"
            with m.State("test"), m.If(trial.done):
                m.d.sync += [tests.eq(tests + 1), passes.eq(passes + trial.passed)]
                say(_Message.LINE + trial.group, "verdict")
            with m.State("verdict"), m.If(printer.done):
                say(Mux(trial.passed, _Message.PASS, _Message.FAIL), "next")
            with m.State("next"), m.If(printer.done):
                m.next = "start"
                with m.If(alone | (trial.item == final)):
                    m.d.sync += [trial.item.eq(Mux(alone, trial.item, 0)), trial.group.eq(trial.group + 1)]
                    with m.If(trial.group == len(trial.groups) - 1):
                        say(_Message.SUM, "sum")
                with m.Else():
                    m.d.sync += trial.item.eq(trial.item + 1)
            with m.State("sum"), m.If(printer.done):
                right = passes == tests
                m.d.sync += [self.passed.eq(right), self.failed.eq(~right), self.running.eq(0),
                             wait.eq(self._pause - 1)]
                say(Mux(right, _Message.PASS, _Message.SUM_FAIL), "pause")
        return m
