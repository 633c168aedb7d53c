"""The boards: part, clock, buttons and LEDs."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.extras import install

__all__ = ["BOARDS", "Board", "Pll", "board", "platform"]

_FEW = ("zvc32",)
"""Codings for FPGAs of up to 24,000 LUTs."""


@dataclass(frozen=True)
class Pll:
    """How a PLL makes the clock of the board's oscillator.

    Parameters
    ----------
    reference : int
        What the oscillator's clock is divided by in front of the phase detector.
    feedback : int
        What the clock that is fed back is divided by: on an ECP5 the one after the output divider, on Xilinx parts
        the PLL's own.
    output : int
        What the PLL's own clock is divided by.
    """

    reference: int
    feedback: int
    output: int


@dataclass(frozen=True)
class Board:
    """A board.

    Parameters
    ----------
    name : str
        What it is called on the command line.
    about : str
        One line on it.
    module, platform : str
        Its definition in the package amaranth-boards.
    family : str
        ``ecp5`` or ``xilinx7``, as the targets of synthesis are called.
    oscillator_hz, clock_hz : int
        The board's oscillator, and the clock of the self-test.
    pll : Pll or None
        The PLL between the two; None where they are equal.
    switches, button : str
        What the four switches and the button are called on the board, for a reader.
    button_pin : tuple of str and int
        The button among the board's resources.
    relative : bool
        Whether the positions of switches and button at start-up count as off, because their polarity is not known.
    high : tuple of tuple of str
        Pins that are held high: resource, and pin in it.
    serial : str
        The serial port that it usually gets on Linux.
    program : str
        The command that loads the bitstream, with ``{name}``.
    codings : tuple of str
        Codings that the engine of its image has unless others are asked for: those for which the FPGA has room.
    """

    name: str
    about: str
    module: str
    platform: str
    family: str
    oscillator_hz: int
    clock_hz: int
    switches: str
    button: str
    button_pin: tuple[str, int]
    serial: str
    program: str
    pll: Pll | None = None
    relative: bool = False
    high: tuple[tuple[str, str], ...] = ()
    codings: tuple[str, ...] = tuple(CODINGS)

    @property
    def clock_source(self) -> str:
        """The source of the clock, in words."""
        mhz = f"{self.oscillator_hz / 1e6:g} MHz"
        return f"the board's oscillator, {mhz}" if self.pll is None else f"a PLL, from the oscillator's {mhz}"


def _ulx3s(size: str) -> Board:
    return Board(
        name=f"ulx3s-{size.lower()}", about=f"Radiona ULX3S with a Lattice LFE5U-{size}", module="ulx3s",
        platform=f"ULX3S_{size}_Platform", family="ecp5", oscillator_hz=25_000_000, clock_hz=25_000_000,
        switches="DIP switches 1 to 4", button="FIRE 1", button_pin=("button", 0), serial="/dev/ttyUSB0",
        program="openFPGALoader -b ulx3s {name}.bit",
        # If it is low, the Wi-Fi module starts its loader, which may configure the FPGA again.
        high=(("esp32", "gpio0"),), codings=_FEW if size in ("12F", "25F") else tuple(CODINGS))


def _versa(name: str, part: str, module: str, platform: str) -> Board:
    return Board(
        name=name, about=f"Lattice ECP5 Versa with an {part}", module=module, platform=platform, family="ecp5",
        oscillator_hz=100_000_000, clock_hz=50_000_000, pll=Pll(2, 1, 12), relative=True,
        switches="switches 1 to 4 of the DIP switch", button="switch 5 of the DIP switch", button_pin=("switch", 4),
        serial="/dev/ttyUSB1",
        program='openocd -f {name}-openocd.cfg -c "transport select jtag; init; svf -quiet {name}.svf; exit"')


def _arty(size: int) -> Board:
    return Board(
        name=f"arty-a7-{size}", about=f"Digilent Arty A7 with a Xilinx XC7A{size}T", module="arty_a7",
        platform=f"ArtyA7_{size}Platform", family="xilinx7", oscillator_hz=100_000_000, clock_hz=50_000_000,
        pll=Pll(1, 8, 16), switches="SW0 to SW3", button="BTN0", button_pin=("button", 0),
        serial="/dev/ttyUSB1", program=f"openFPGALoader -b arty_a7_{size}t {{name}}.bit",
        codings=_FEW if size == 35 else tuple(CODINGS))


BOARDS = {each.name: each for each in (
    *map(_ulx3s, ("12F", "25F", "45F", "85F")),
    _versa("versa-ecp5", "LFE5UM-45F", "versa_ecp5", "VersaECP5Platform"),
    _versa("versa-ecp5-5g", "LFE5UM5G-45F", "versa_ecp5_5g", "VersaECP55GPlatform"),
    _arty(35),
    _arty(100),
)}
"""The boards by name."""


def board(name: str) -> Board:
    """A board by its name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in BOARDS:
        raise ValueError(f"no board {name!r}: there are {', '.join(BOARDS)}")
    return BOARDS[name]


def platform(of: Board) -> Any:
    """The board's platform of amaranth-boards, a new one each time.

    Raises
    ------
    ValueError
        If amaranth-boards is not installed.
    """
    try:
        module = importlib.import_module(f"amaranth_boards.{of.module}")
    except ModuleNotFoundError as error:
        raise ValueError("pins and clocks of boards come from the package amaranth-boards: "
                         f"{install('boards')}") from error
    return getattr(module, of.platform)()
