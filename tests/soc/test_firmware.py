"""The firmware of the SoC: where it keeps things, and that it compiles without warnings."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.hdl.config.engine import load_engine
from cdma.hdl.litex.firmware import FirmwareError, compiler, firmware
from cdma.hdl.litex.layout import PARTS, Layout
from cdma.hdl.litex.soc import plain_errors, simulation_soc

TINY = load_engine("tiny")


@pytest.mark.parametrize("length", [4, 2048, 2052, 65536, 100_000])
@pytest.mark.parametrize("settings", [{}, {"lanes": 2}, {"block_bytes": 512}])
def test_places_do_not_overlap_and_hold_every_stream(length: int, settings: dict[str, int]) -> None:
    config = TINY.replace(**settings)
    layout = Layout(config, length)
    assert length <= layout.stream_at and layout.stream_at + layout.stream_bytes <= layout.back_at
    assert layout.back_at + length <= layout.ring_at
    assert layout.ring_at + 16 * 64 <= layout.records_at
    assert layout.records_at + 16 * 64 <= layout.main_ram_bytes
    assert not layout.ring_at % 64 and not layout.records_at % 64
    assert not any(place % config.block_bytes for place in (layout.stream_at, layout.back_at, layout.part_bytes))
    assert (layout.parts - 1) * layout.part_bytes < length <= layout.parts * layout.part_bytes
    assert layout.parts <= PARTS
    noise = bytes(range(1, 256)) * (length // 255 + 1)
    packed = [blocks.compress(noise[:size], Coding.ZVC8, config.block_bytes).size
              for size in (min(length, layout.part_bytes), length)]
    assert packed[0] <= layout.part_stream_bytes and packed[1] <= layout.stream_bytes


@pytest.mark.parametrize("length", [0, 6, 1 << 18])
def test_lengths_that_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"the tensor must have 4 to 245760 bytes, a multiple of 4, not {length}"):
        Layout(TINY, length)


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FirmwareError, match="apt install gcc-riscv64-unknown-elf"):
        compiler()


def test_the_firmware_compiles_without_warnings(tmp_path: Path) -> None:
    engine = tmp_path / "engine.v"
    engine.write_text("module stand_in; endmodule\n")
    tensor = bytes(range(256)) * 16
    soc = simulation_soc(TINY, 1 << 16, engine)
    with plain_errors():
        rom = firmware(soc, tensor, Coding.ZVC32, tmp_path)
    assert tensor in rom
    source = Path(firmware.__code__.co_filename).parent / "program" / "main.c"
    for language in ("-std=c99", "-std=c11"):
        done = subprocess.run([compiler(), *str(soc.cpu.gcc_flags).split(), language, "-O2", "-Wall", "-Wextra",
                               "-Wpedantic", "-Wshadow", "-Werror", "-ffreestanding", "-I.", "-c", str(source),
                               "-o", os.devnull], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    soc.write_rom(rom, tmp_path)
    lines = (tmp_path / "cdma_soc_rom.init").read_text().split()
    assert bytes.fromhex(lines[0])[::-1] == rom[:16] and len(lines) == -(-len(rom) // 16)


def test_what_the_compiler_refuses_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "engine.v"
    engine.write_text("module stand_in; endmodule\n")
    monkeypatch.setattr(Layout, "header", lambda layout, coding: "#error no\n")
    soc = simulation_soc(TINY, 1 << 16, engine)
    with pytest.raises(FirmwareError, match=r"does not make the firmware: .*error: #error no"):
        firmware(soc, bytes(64), Coding.ZVC32, tmp_path)
