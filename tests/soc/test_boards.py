"""The SoC for a board: a whole project, which can be moved, with the firmware in the ROM."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from cdma.golden.codec.coding import Coding
from cdma.hdl.config.engine import load_engine
from cdma.hdl.litex import module
from cdma.hdl.litex.boards import write_board
from cdma.hdl.litex.layout import BOARDS

TINY = load_engine("tiny")


@pytest.mark.parametrize("board", BOARDS)
def test_a_project_is_whole(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of a project with another engine, whose Verilog is replaced."""
    folder = tmp_path / "project"
    folder.mkdir()
    folder.joinpath(f"{TINY.name}.v").write_text("module other; endmodule\n")
    # The engine's own takes a minute to generate.
    monkeypatch.setattr(module, "emit", lambda config: SimpleNamespace(sources={"": "module stand_in; endmodule\n"}))
    tensor = bytes(range(256)) * 16
    files = write_board(board, TINY, tensor, Coding.FLOAT32, folder)
    assert (folder / f"{TINY.name}.v").read_text() == "module stand_in; endmodule\n"
    script = (folder / "cdma_soc.ys").read_text()
    read = re.findall(r"^read_verilog (.*)$", script, re.MULTILINE)
    assert set(read) == {f"{TINY.name}.v", "VexRiscv_Lite.v", "cdma_soc.v"} <= set(files)
    assert str(tmp_path) not in "".join((folder / name).read_text() for name in files)
    pins = (folder / "cdma_soc.lpf").read_text()
    assert 'LOCATE COMP "sdram_clock" SITE "F19"' in pins and 'LOCATE COMP "serial_tx" SITE "L4"' in pins
    assert len(re.findall(r'LOCATE COMP "sdram_dq\[\d+\]"', pins)) == 16
    words = (folder / "cdma_soc_rom.init").read_text().split()
    rom = b"".join(int(word, 16).to_bytes(16, "little") for word in words)
    assert rom.startswith((folder / "firmware/firmware.bin").read_bytes()) and tensor in rom
    verilog = (folder / "cdma_soc.v").read_text()
    assert "EHXPLLL" in verilog and f"{TINY.name} {TINY.name}" in verilog
    assert re.search(rf"reg \[127:0\] rom\[0:{len(words) - 1}\];", verilog)


def test_an_unknown_board_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no board 'arty' for a SoC: there are ulx3s-85f"):
        write_board("arty", TINY, bytes(64), Coding.ZVC32, tmp_path)
