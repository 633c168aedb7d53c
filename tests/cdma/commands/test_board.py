"""board: what is written and printed, JSON, and every way to get it wrong."""

from pathlib import Path

import numpy as np
import pytest

from cdma.measure.arrays import dump_lines
from cdma.synth.boards import build as builds
from cdma.synth.boards.build import BoardError
from cdma.synth.boards.catalog import BOARDS
from cdma.workload.data import shipped
from cdma.workload.dumps import load

_SMALL = ["--design", "cores", "--set", "element_bits=32", "--set", "pipeline=small", "--bytes", "128"]
_BUILT = {
    "board": "ulx3s-85f", "part": "LFE5U-85F-6BG381", "clock_mhz": 25.0, "clock": "the board's oscillator, 25 MHz",
    "used": {"luts": 1234, "flip_flops": 567, "block_ram": 8.5},
    "available": {"luts": 83640, "flip_flops": 83640, "block_ram": 208}, "yosys": "Yosys 0.70", "nextpnr": "0.11",
    "fmax_mhz": 61.5, "slowest": ["test.a", "test.b"], "bitstream": "ulx3s-85f/cdma_selftest.bit"}


def test_list_has_every_board_and_parameter(cdma) -> None:
    outcome = cdma("board", "--list")
    assert (outcome.code, outcome.err) == (0, "")
    listed = cdma("board", "--list", "--json").json
    assert set(listed["boards"]) == set(BOARDS) >= {"ulx3s-12f", "ulx3s-45f", "ulx3s-85f", "versa-ecp5", "arty-a7-35"}
    assert set(listed["parameters"]) == {"engine", "cores"}
    for word in (*BOARDS, *listed["parameters"]["engine"], *listed["parameters"]["cores"]):
        assert word in outcome.out
    assert listed["boards"]["ulx3s-12f"]["codings"] == ["zvc32"]
    assert listed["boards"]["ulx3s-85f"]["codings"] == ["zvc8", "zvc16", "zvc32", "bfloat16", "float32"]
    assert listed["boards"]["versa-ecp5"]["clock"] == "a PLL, from the oscillator's 100 MHz"
    assert listed["boards"]["arty-a7-35"]["bitstream_by"] == "Vivado"


def test_files_are_written_into_a_folder_named_after_the_board(cdma) -> None:
    outcome = cdma("board", "ulx3s-12f", *_SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    files = {path.name for path in Path("ulx3s-12f").iterdir()}
    assert files == {"README.md", "build.sh", "cdma_selftest.v", "cdma_selftest.lpf", "cdma_selftest.ys"}
    for name in files:
        assert f"wrote ulx3s-12f/{name}" in outcome.out
    assert outcome.out.endswith("ulx3s-12f/README.md says how to build and load it\n")


def test_an_engine_is_tested_unless_said_otherwise(cdma) -> None:
    made = cdma("board", "ulx3s-12f", "--set", "block_bytes=512", "--set", "raw_bytes=1024", "--json").json
    assert (made["test"], made["dump_bytes"]) == ("engine", 1024)
    assert made["configuration"]["codings"] == ["zvc32"]
    page = Path("ulx3s-12f/README.md").read_text(encoding="utf-8")
    assert "# Self-test of a cDMA engine on the ulx3s-12f" in page
    assert "| 3 | fill: the data to their source; their inverse to the destinations |" in page


def test_json_has_files_and_configuration(cdma, tmp_path: Path) -> None:
    made = cdma("board", "arty-a7-100", *_SMALL, "--set", "name=probe", "-o", tmp_path / "arty", "--json").json
    assert (made["board"], made["test"]) == ("arty-a7-100", "cores") and made["clock_mhz"] == 50
    assert made["configuration"]["element_bits"] == [32] and made["dump_bytes"] == 128
    assert {Path(each["file"]).name for each in made["files"]} == {
        "README.md", "probe.v", "probe.xdc", "probe.tcl", "probe.ys"}
    for each in made["files"]:
        assert Path(each["file"]).stat().st_size == each["bytes"]
    assert made["built"] is None


def test_what_a_build_takes_is_printed(cdma, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "build", lambda board, name, folder, progress: _BUILT)
    outcome = cdma("board", "ulx3s-85f", *_SMALL, "--build")
    assert outcome.code == 0
    printed = " ".join(outcome.out.split())
    for words in ("LUTs 1,234 83,640 1 %", "block RAMs 8.5 208 4 %",
                  "clock 25 MHz, the board's oscillator, 25 MHz; it would reach 61.5 MHz",
                  "from test.a to test.b",
                  "bitstream ulx3s-85f/cdma_selftest.bit"):
        assert words in printed
    printed_json = cdma("board", "ulx3s-85f", *_SMALL, "--build", "--json").json
    assert printed_json["built"] == _BUILT


def test_a_build_that_fails_is_one_line(fails, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BoardError("place and route for ulx3s-85f failed: ERROR: no room")

    monkeypatch.setattr(builds, "build", refuse)
    assert "failed: ERROR: no room" in fails("board", "ulx3s-85f", *_SMALL, "--build")


def test_lines_are_spread_over_the_array() -> None:
    raw = load(shipped(), "fire4/concat")["fire4/concat"].tobytes()
    lines = dump_lines(None, None, 384)
    assert [raw.find(lines[at:at + 128]) // 128 for at in (0, 128, 256)] == [0, 1023, 2047]
    assert dump_lines(None, None, 128) == raw[:128]


def test_a_dump_of_the_readers_own(tmp_path: Path) -> None:
    values = np.arange(100, dtype=np.float32)
    np.save(tmp_path / "mine.npy", values)
    # Three whole lines are there, and a part of one.
    assert dump_lines(str(tmp_path / "mine.npy"), None, 16384) == values.tobytes()[:384]


def test_an_array_that_is_too_small_is_refused(fails, tmp_path: Path) -> None:
    np.save(tmp_path / "tiny.npy", np.ones(3, np.float32))
    assert "has 12 bytes, less than a line of 128" in fails("board", "ulx3s-85f", "--dump", tmp_path / "tiny.npy")


def test_all_arrays_of_a_dump_are_too_many(fails) -> None:
    assert "choose one with --array" in fails("board", "ulx3s-85f", "--dump", shipped())
