"""The engine as a module of LiteX: all ports connected, and SoCs refused that it does not fit."""

# The extra [soc] brings LiteX; types are checked without it as well.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from litedram.modules import MT48LC16M16
from litedram.phy.model import SDRAMPHYModel
from litex.build.generic_platform import Pins
from litex.build.sim import SimPlatform
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore

from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.generate.verilog import ports
from cdma.hdl.litex import module as made
from cdma.hdl.litex.module import add_cdma, write_headers
from cdma.hdl.litex.soc import TOP, plain_errors, simulation_soc
from tests.docs.pages import PAGES, blocks

TINY = load_engine("tiny")


@pytest.fixture
def verilog(tmp_path: Path) -> Path:
    """A file in the place of an engine's Verilog, which takes a minute to generate."""
    path = tmp_path / "engine.v"
    path.write_text("module stand_in; endmodule\n")
    return path


def bare_soc(bus_data_width: int) -> SoCCore:
    """A SoC without an engine."""
    platform = SimPlatform("SIM", [("sys_clk", 0, Pins(1))])
    with plain_errors():
        return SoCCore(platform, int(1e6), cpu_type="vexriscv", cpu_variant="lite", bus_data_width=bus_data_width,
                       with_uart=False, integrated_rom_size=0x1000)


def connections(text: str, config: EngineConfig) -> dict[str, str]:
    """What each port of the engine is connected to in Verilog."""
    (body,) = re.findall(rf"\n{config.name} {config.name}\s*\((.*?)\n\);", text, re.DOTALL)
    return dict(re.findall(r"\.(\w+)\s*\((.*)\)", body))


@pytest.mark.parametrize("dram", [False, True])
@pytest.mark.parametrize("settings", [{}, {"lanes": 2, "link_beat_bytes": 32, "buffer_bytes": 2560},
                                      {"user_bits": 4, "attribute_registers": True},
                                      {"link_clock": "separate", "write_back": True}])
def test_every_port_is_connected(settings: dict[str, Any], dram: bool, verilog: Path) -> None:
    config = TINY.replace(**settings)
    soc = simulation_soc(config, 1 << 16, verilog, dram=dram)
    assert len([name for name in soc.bus.masters if name.startswith("dma_")]) == (0 if dram else config.lanes + 1)
    with plain_errors():
        soc.finalize()
        text = soc.platform.get_verilog(soc, name=TOP).main_source
    wires = connections(text, config)
    assert set(wires) == {port.name for port in ports(config)}
    assert all(wires.values())
    # Nothing but clock and reset is shared or constant.
    rest = [wire for name, wire in wires.items() if not name.endswith(("aclk", "aresetn"))]
    assert len(set(rest)) == len(rest) and not any(re.match(r"\d", wire) for wire in rest)
    assert str(verilog) in [path for path, *_ in soc.platform.sources]


def test_registers_and_interrupt_are_in_the_headers(verilog: Path, tmp_path: Path) -> None:
    soc = simulation_soc(TINY, 1 << 16, verilog)
    with plain_errors():
        soc.write_software(tmp_path)
    memories = (tmp_path / "generated/mem.h").read_text()
    assert re.search(r"#define DMA_BASE 0x8\w{7}", memories), "registers are where the processor caches nothing"
    assert "#define DMA_SIZE 0x00001000" in memories
    number = re.search(r"#define DMA_INTERRUPT (\d+)", (tmp_path / "generated/soc.h").read_text())
    assert number and int(number[1]) == soc.irq.locs["dma"]
    assert (tmp_path / "cdma_tiny_engine_regs.h").exists() and (tmp_path / "cdma_driver.h").exists()


def test_the_verilog_is_generated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(["first", "second"])
    monkeypatch.setattr(made, "emit", lambda config: SimpleNamespace(sources={"a.v": next(texts), "b.v": "\nmemory"}))
    for _ in range(2):
        simulation_soc(TINY, 1 << 16, tmp_path / "new" / "engine.v")
    assert (tmp_path / "new" / "engine.v").read_text() == "first\nmemory"


@pytest.mark.parametrize(("width", "settings", "beats"), [(32, {}, 64), (64, {"burst_beats": 256}, 128)])
def test_bursts_that_a_narrow_bus_cannot_carry_are_refused(width: int, settings: dict[str, int], beats: int,
                                                           verilog: Path) -> None:
    soc = bare_soc(width)
    with pytest.raises(ValueError, match=f"bursts of 256 beats at the lanes .* set burst_beats to {beats} or less"):
        add_cdma(soc, TINY.replace(**settings), verilog=verilog)
    add_cdma(soc, TINY.replace(burst_beats=beats), verilog=verilog)


def test_the_dram_has_a_port_for_the_processor_and_each_master(verilog: Path, tmp_path: Path) -> None:
    soc = simulation_soc(TINY.replace(lanes=3), 0, verilog, dram=True)
    assert len(soc.sdram.crossbar.masters) == 1 + 3 + 1
    with plain_errors():
        soc.write_software(tmp_path)
    steps = re.findall(r"X\((\d+), (\d+), (\d+), (\d+), (\d+)\)", (tmp_path / "generated/dram.h").read_text())
    # The clock enable; precharge all; mode with reset; precharge all; two refreshes; mode: CAS latency 2, bursts of 1.
    assert [(control, bits, int(address)) for control, bits, address, _, _ in steps] == [
        ("1", "14", 0), ("0", "11", 0x400), ("0", "15", 0x120), ("0", "11", 0x400), ("0", "13", 0), ("0", "13", 0),
        ("0", "15", 0x20)]


def test_a_cache_that_would_be_stale_is_refused(verilog: Path) -> None:
    soc = bare_soc(128)
    module = MT48LC16M16(50e6, "1:1")
    soc.sdrphy = SDRAMPHYModel(module=module, data_width=16, clk_freq=50e6)
    with plain_errors():
        soc.add_sdram("sdram", phy=soc.sdrphy, module=module)
    with pytest.raises(ValueError, match="give add_sdram an l2_cache_size of 0"):
        add_cdma(soc, TINY, verilog=verilog, crossbar=soc.sdram.crossbar)


def test_addresses_must_fit_the_bus(verilog: Path) -> None:
    with pytest.raises(ValueError, match="address_bits must be 32, as on the bus of the SoC, not 40"):
        add_cdma(bare_soc(128), TINY.replace(address_bits=40), verilog=verilog)


def test_a_name_that_hides_the_drivers_is_refused(verilog: Path) -> None:
    with pytest.raises(ValueError, match="name must not be cdma"):
        add_cdma(bare_soc(128), TINY, name="cdma", verilog=verilog)


def test_what_litex_refuses_is_an_error_of_one_line(verilog: Path) -> None:
    soc, errors = bare_soc(128), sys.stderr
    with pytest.raises(ValueError, match=r"LiteX refuses the SoC: .*[Oo]verlap") as caught, plain_errors():
        soc.bus.add_region("one", SoCRegion(origin=0x4000_0000, size=0x1000))
        soc.bus.add_region("two", SoCRegion(origin=0x4000_0000, size=0x1000))
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)
    assert sys.stderr is errors


def test_headers_are_those_that_are_handed_over(tmp_path: Path) -> None:
    write_headers(TINY, tmp_path / "include")
    assert "cdma_offload" in (tmp_path / "include/cdma_driver.h").read_text()
    assert "#define CDMA_REG_MAGIC" in (tmp_path / "include/cdma_tiny_engine_regs.h").read_text()


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(made, "emit", lambda config: SimpleNamespace(sources={"a.v": "module stand_in; endmodule\n"}))
    (example,) = [block for page in PAGES for block in blocks(page) if block.info == "py soc"]
    there: dict[str, Any] = {}
    exec(example.body, there)
    soc = bare_soc(128)
    there["add_engine"](soc, SimpleNamespace(include_dir=str(tmp_path / "include")))
    assert [name for name in soc.bus.masters if name.startswith("dma_")] == ["dma_lane0", "dma_lane1", "dma_link"]
    written = sorted(path.name for path in (tmp_path / "include").iterdir())
    assert written == ["cdma_driver.h", "cdma_tiny_engine_regs.h"]
