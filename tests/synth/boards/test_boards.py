"""Images of boards: the catalogue against amaranth-boards, files against each other, a build with the real tools."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, UnusedElaboratable

from cdma.hdl.selftest.config import CoresTestConfig, EngineTestConfig, SelftestConfig
from cdma.synth.boards import build as builds
from cdma.synth.boards import image as images
from cdma.synth.boards.build import build
from cdma.synth.boards.catalog import BOARDS, board, platform
from cdma.synth.boards.image import Image
from cdma.synth.boards.project import project
from tests.hdl.bench import clocked

_SMALL = CoresTestConfig(element_bits=(32,), pipeline="small", raw_bytes=1024)
_NAMES = ("ulx3s-12f", "versa-ecp5", "arty-a7-35")


@pytest.fixture(scope="module")
def files() -> dict[str, dict[str, str]]:
    """The files of an image of each kind of board."""
    return {name: project(board(name), _SMALL, bytes(range(128))) for name in _NAMES}


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_is_what_amaranth_boards_says(name: str) -> None:
    of = board(name)
    there = platform(of)
    assert of.oscillator_hz == there.default_clk_frequency
    for wanted in (of.button_pin, *(("switch", k) for k in range(4)), *(("led", k) for k in range(3)), ("uart", 0)):
        assert there.lookup(*wanted)
    if of.pll is None:
        assert of.clock_hz == of.oscillator_hz
        return
    compared = of.oscillator_hz / of.pll.reference * of.pll.feedback
    # ECP5: the output goes back to the phase detector. Xilinx: the oscillator of the PLL does.
    out, own = (compared, compared * of.pll.output) if of.family == "ecp5" else (compared / of.pll.output, compared)
    assert out == of.clock_hz
    assert 400e6 <= own <= 800e6 if of.family == "ecp5" else 800e6 <= own <= 1600e6


def _ports(verilog: str, name: str) -> set[str]:
    """The ports of the top."""
    head = re.search(rf"^module {name}\((.*?)\);", verilog, re.MULTILINE | re.DOTALL)
    assert head
    return {port.strip() for port in head[1].split(",")}


@pytest.mark.parametrize("name", _NAMES)
def test_every_port_has_a_pin_and_every_pin_a_port(files: dict[str, dict[str, str]], name: str) -> None:
    made = files[name]
    ports = _ports(made["cdma_selftest.v"], "cdma_selftest")
    if "cdma_selftest.lpf" in made:
        pins = set(re.findall(r'LOCATE COMP "(\w+)" SITE', made["cdma_selftest.lpf"]))
    else:
        pins = set(re.findall(r'set_property LOC \w+ \[get_ports "(\w+)"\]', made["cdma_selftest.xdc"]))
    assert pins == ports
    assert {"switch_0__io", "switch_3__io", "led_0__io", "led_2__io", "uart_0__tx__io"} <= pins


@pytest.mark.parametrize(("name", "words"), [
    ("ulx3s-12f", {"cdma_selftest.lpf": 'FREQUENCY PORT "clk25_0__io" 25000000', "build.sh": "--12k --package CABGA381",
                   "README.md": "openFPGALoader -b ulx3s cdma_selftest.bit"}),
    ("versa-ecp5", {"cdma_selftest.lpf": 'FREQUENCY PORT "clk100_0__p" 100000000', "build.sh": "--speed 8",
                    "cdma_selftest-openocd.cfg": "ecp5", "README.md": "when the image starts count as off"}),
    ("arty-a7-35", {"cdma_selftest.xdc": "create_clock", "cdma_selftest.tcl": "-part xc7a35ticsg324-1L",
                    "README.md": "vivado -mode batch -source cdma_selftest.tcl"}),
])
def test_files_are_for_the_board(files: dict[str, dict[str, str]], name: str, words: dict[str, str]) -> None:
    for file, text in words.items():
        assert text in files[name][file]


def test_the_same_image_has_the_same_files(files: dict[str, dict[str, str]]) -> None:
    assert project(board("ulx3s-12f"), _SMALL, bytes(range(128))) == files["ulx3s-12f"]


def test_switches_that_work_either_way_count_from_where_they_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_SETTLING_BITS", 4)
    m = Module()
    pressed, seen = Signal(5), Signal(5)
    m.d.comb += seen.eq(Image._relative(m, pressed))

    async def process(ctx: Any) -> None:
        ctx.set(pressed, 0b11011)
        for _ in range(40):
            assert ctx.get(seen) == 0
            await ctx.tick()
        for now, wanted in ((0b11010, 0b00001), (0b01011, 0b10000), (0b11111, 0b00100), (0b11011, 0)):
            ctx.set(pressed, now)
            await ctx.tick().repeat(3)
            assert ctx.get(seen) == wanted

    clocked(m, process)


# As small as a design can be that has the pins of a board's image.
_LIGHT = """\
module light(input clk25_0__io, input button_0__io, output led_0__io);
    reg [{high}:0] count = 0;
    always @(posedge clk25_0__io) count <= count * count + button_0__io;
    assign led_0__io = count[{high}];
endmodule
"""
_PINS = """\
LOCATE COMP "clk25_0__io" SITE "G2";
LOCATE COMP "button_0__io" SITE "R1";
LOCATE COMP "led_0__io" SITE "B2";
FREQUENCY PORT "clk25_0__io" {hertz} HZ;
"""


@pytest.fixture
def light(tmp_path: Path) -> Callable[..., Path]:
    """Writes a small design for the ULX3S."""
    def write(high: int, hertz: int) -> Path:
        (tmp_path / "light.v").write_text(_LIGHT.format(high=high))
        (tmp_path / "light.lpf").write_text(_PINS.format(hertz=hertz))
        return tmp_path

    return write


def test_the_tools_make_a_bitstream(light: Callable[..., Path]) -> None:
    stages: list[str] = []
    built = build(board("ulx3s-85f"), "light", light(3, 25_000_000), lambda stage, done, total: stages.append(stage))
    bitstream = Path(built["bitstream"])
    bits = bitstream.read_bytes()
    # The bitstream's own preamble, and its part.
    assert b"\xff\xff\xbd\xb3" in bits and b"LFE5U-85F" in bits
    assert bitstream.with_suffix(".svf").read_text().count("SDR") > 10
    assert built["part"] == "LFE5U-85F-6BG381"
    assert (built["used"]["flip_flops"], built["used"]["block_ram"]) == (4, 0)
    assert 0 < built["used"]["luts"] < 40 < built["available"]["luts"]
    assert built["fmax_mhz"] > built["clock_mhz"] == 25
    # The highest bit of the count goes by the name of the light.
    assert {name.partition("[")[0] for name in built["slowest"]} <= {"count", "led_0__io"}
    assert [stage.split(" for ")[0] for stage in stages[-3:]] == ["synthesis", "place and route", "bitstream"]


def test_a_clock_that_is_not_reached_is_an_error(light: Callable[..., Path]) -> None:
    with pytest.raises(ValueError, match=r"^place and route for ulx3s-85f failed: .*Max frequency.*FAIL") as caught:
        build(board("ulx3s-85f"), "light", light(17, 900_000_000))
    assert "\n" not in str(caught.value)


def test_a_netlist_for_xilinx_is_counted(tmp_path: Path) -> None:
    (tmp_path / "light.v").write_text(_LIGHT.format(high=3))
    built = build(board("arty-a7-35"), "light", tmp_path)
    assert (built["part"], built["fmax_mhz"], built["bitstream"]) == ("xc7a35ticsg324-1L", None, None)
    assert built["used"]["flip_flops"] == 4 and 0 < built["used"]["luts"] < 20
    assert built["available"]["luts"] == 20_800


def test_half_a_block_ram_counts_as_half() -> None:
    stat = '{"modules": {"\\\\top": {"num_cells_by_type": {"RAMB36E1": 2, "RAMB18E1": 3, "LUT2": 4, "FDRE": 5}}}}'
    assert builds._counted(stat, "xilinx7") == {"luts": 4, "flip_flops": 5, "block_ram": 3.5}


@pytest.mark.parametrize(("variable", "value", "words"), [
    ("NEXTPNR_ECP5", "/bin/false", "nextpnr-ecp5, but /bin/false is not a working nextpnr-ecp5"),
    ("ECPPACK", "/bin/false", "bitstream for ulx3s-85f failed: exit code 1"),
])
def test_a_tool_that_fails_is_named(light: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, variable: str,
                                    value: str, words: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=words):
        build(board("ulx3s-85f"), "light", light(3, 25_000_000))


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"nextpnr-ecp5, but there is none: pip install 'cdma-rtl\[boards\]'"):
        build(board("ulx3s-85f"), "light", tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "amaranth_boards.ulx3s", None)
    with pytest.raises(ValueError, match=r"amaranth-boards: pip install 'cdma-rtl\[boards\]'"):
        platform(board("ulx3s-85f"))


def test_an_unknown_board_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no board 'de10': there are ulx3s-12f, .*arty-a7-100"):
        board("de10")


@pytest.mark.parametrize(("config", "lines"), [
    (EngineTestConfig(), bytes(7296)), (EngineTestConfig(), b""), (CoresTestConfig(), bytes(100)),
], ids=["too many", "none", "no whole line"])
def test_lines_are_refused_before_a_part_is_begun(monkeypatch: pytest.MonkeyPatch, config: SelftestConfig,
                                                  lines: bytes) -> None:
    """Amaranth warns of every part that was begun and not used, once any part of any design was."""
    monkeypatch.setattr(UnusedElaboratable, "_MustUse__silence", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            project(board("ulx3s-85f"), config, lines)
        except ValueError as error:
            assert f"not {len(lines)} bytes" in str(error)
        else:
            pytest.fail("the lines were taken")
        gc.collect()
    assert not [str(each.message) for each in caught if each.category is UnusedElaboratable]
