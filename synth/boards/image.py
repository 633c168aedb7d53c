"""The self-test between a board's pins."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer

from cdma.hdl.selftest.config import SelftestConfig
from cdma.hdl.selftest.selftest import SWITCHES, Selftest
from cdma.synth.boards.catalog import Board, Pll

__all__ = ["Image"]

_SETTLING_BITS = 16


class Image(Elaboratable):
    """The top of a board: clock, reset, pins, and the self-test.

    ::

        oscillator --> [PLL] --> clock, reset
        switches, button --> self-test --> UART
                                 +-------> LED 0 running, LED 1 passed, LED 2 failed

    Parameters
    ----------
    board : Board
        Which board.
    config : SelftestConfig
        What to build: the configuration of a test of the cores, or of an engine.
    lines : bytes
        The lines of the dump.
    """

    def __init__(self, board: Board, config: SelftestConfig, lines: bytes):
        self._board = board
        self._test: Any = Selftest(config, lines, board.clock_hz)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.test = test = self._test
        if self._board.pll is not None:
            self._clock(m, platform, self._board.pll)

        def pin(name: str, direction: io.Direction, *resource: str | int) -> Any:
            buffer = io.Buffer(direction, platform.request(*resource, dir="-"))
            m.submodules[name] = buffer
            return buffer

        switches = [pin(f"switch_{k}", io.Direction.Input, "switch", k).i for k in range(SWITCHES)]
        pressed = Cat(*switches, pin("button", io.Direction.Input, *self._board.button_pin).i)
        chosen = Cat(test.switches, test.button)
        m.d.comb += chosen.eq(self._relative(m, pressed) if self._board.relative else pressed)
        for k, light in enumerate((test.running, test.passed, test.failed)):
            m.d.comb += pin(f"led_{k}", io.Direction.Output, "led", k).o.eq(light)
        m.submodules.tx = tx = io.Buffer(io.Direction.Output, platform.request("uart", 0, dir="-").tx)
        m.d.comb += tx.o.eq(test.tx)
        for resource, name in self._board.high:
            held = io.Buffer(io.Direction.Output, getattr(platform.request(resource, 0, dir="-"), name))
            m.submodules[name] = held
            m.d.comb += held.o.eq(1)
        return m

    @staticmethod
    def _relative(m: Module, pressed: Any) -> Any:
        now, off = Signal(SWITCHES + 1), Signal(SWITCHES + 1)
        settling = Signal(range(1 << _SETTLING_BITS), init=(1 << _SETTLING_BITS) - 1)
        m.submodules.inputs = FFSynchronizer(pressed, now)
        with m.If(settling != 0):
            m.d.sync += [settling.eq(settling - 1), off.eq(now)]
        return (now ^ off) & (settling == 0).replicate(SWITCHES + 1)

    def _clock(self, m: Module, platform: Any, pll: Pll) -> None:
        m.domains.sync = ClockDomain()
        oscillator = io.Buffer(io.Direction.Input, platform.request(platform.default_clk, dir="-"))
        reset = io.Buffer(io.Direction.Input, platform.request(platform.default_rst, dir="-"))
        m.submodules.oscillator, m.submodules.reset_pin = oscillator, reset
        locked, clock = Signal(), Signal()
        if self._board.family == "ecp5":
            # The settings are those of ecppll: the output in phase with the oscillator.
            m.submodules.pll = Instance(
                "EHXPLLL", a_FREQUENCY_PIN_CLKI=f"{self._board.oscillator_hz / 1e6:g}",
                a_FREQUENCY_PIN_CLKOP=f"{self._board.clock_hz / 1e6:g}", a_ICP_CURRENT="12", a_LPF_RESISTOR="8",
                a_MFG_ENABLE_FILTEROPAMP="1", a_MFG_GMCREF_SEL="2",
                p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED", p_STDBY_ENABLE="DISABLED",
                p_DPHASE_SOURCE="DISABLED", p_OUTDIVIDER_MUXA="DIVA", p_OUTDIVIDER_MUXB="DIVB",
                p_OUTDIVIDER_MUXC="DIVC", p_OUTDIVIDER_MUXD="DIVD", p_CLKOP_ENABLE="ENABLED", p_FEEDBK_PATH="CLKOP",
                p_CLKI_DIV=pll.reference, p_CLKFB_DIV=pll.feedback, p_CLKOP_DIV=pll.output,
                p_CLKOP_CPHASE=pll.output // 2 - 1, p_CLKOP_FPHASE=0,
                i_CLKI=oscillator.i, i_CLKFB=clock, i_RST=0, i_STDBY=0, i_PHASESEL0=0, i_PHASESEL1=0, i_PHASEDIR=1,
                i_PHASESTEP=1, i_PHASELOADREG=1, i_PLLWAKESYNC=0, i_ENCLKOP=0,
                o_CLKOP=clock, o_LOCK=locked)
            m.d.comb += ClockSignal().eq(clock)
        else:
            around = Signal()
            m.submodules.pll = Instance(
                "PLLE2_BASE", p_CLKIN1_PERIOD=1e9 / self._board.oscillator_hz,
                p_DIVCLK_DIVIDE=pll.reference, p_CLKFBOUT_MULT=pll.feedback, p_CLKOUT0_DIVIDE=pll.output,
                i_CLKIN1=oscillator.i, i_CLKFBIN=around, i_RST=0, i_PWRDWN=0,
                o_CLKFBOUT=around, o_CLKOUT0=clock, o_LOCKED=locked)
            m.submodules.buffer = Instance("BUFG", i_I=clock, o_O=ClockSignal())
        m.submodules.reset = ResetSynchronizer(~locked | reset.i, domain="sync")
