"""Long data: shipped dumps through cores, figures that mean what they say, and differences that are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding
from cdma.hdl.config.core import load, preset_names
from cdma.verif.common import tools
from cdma.verif.core.simulate import CodedArray, simulate
from cdma.verif.core.streaming import Tensor, build_core, stream
from cdma.verif.core.throughput import block_throughput, latency, measure
from cdma.workload.data import shipped
from cdma.workload.dumps import load as load_dump
from cdma.workload.dumps.narrow import narrow
from tests.verif.conftest import FULL


def _simulated(arrays: list[CodedArray], **how: Any) -> list[dict[str, Any]]:
    """What becomes of arrays, which all have to pass; progress must make sense."""
    said: list[tuple[str, int, int]] = []
    results = simulate(arrays, 32, progress=lambda *what: said.append(what), **how)
    assert [result["name"] for result in results] == [each.name for each in arrays]
    assert [result["difference"] for result in results] == [None] * len(results)
    assert all(result["passed"] for result in results)
    for sent, result in zip(arrays, results, strict=True):
        assert result["raw_bytes"] == sent.array.nbytes
        assert result["density"] == pytest.approx(np.count_nonzero(sent.array) / sent.array.size)
    assert said[0][1] == 0
    assert all(done <= total for _, done, total in said)
    return results


@pytest.mark.parametrize(("element_bytes", "stalls"), [(4, 0.0), (4, 0.3), (2, 0.2), (1, 0.2)])
def test_the_shipped_dump_in_lines(element_bytes: int, stalls: float, build_dir: Path, seed: int) -> None:
    arrays = [CodedArray(name, values if element_bytes == 4 else narrow(values, element_bytes),
                         Coding[f"LINES{8 * element_bytes}"])
              for name, array in load_dump(shipped()).items() for values in [array.reshape(-1)[:16384]]]
    for sent, result in zip(arrays, _simulated(arrays, stalls=stalls, build_dir=build_dir, seed=seed), strict=True):
        assert result["packed_bytes"] == zvc.packed_bytes(sent.array, element_bytes)
        assert 0 < result["compress_in_beats_per_cycle"] <= 1
        assert 0 < result["decompress_out_beats_per_cycle"] <= 1


@pytest.fixture(scope="module")
def coded() -> list[CodedArray]:
    """Arrays of the shipped dump, cut to what simulates in seconds, in every coding; the last block is a short one."""
    found = []
    codings = [coding for coding in Coding if coding.sized]
    for (name, array), coding in zip(load_dump(shipped()).items(), codings, strict=False):
        values, size = array.reshape(-1)[:20000], coding.element_bytes
        form = "bfloat16" if coding is Coding.BFLOAT16 else None
        found.append(CodedArray(name, values if size == 4 else narrow(values, size, form), coding))
    return [*found, CodedArray("dense", np.full(1030, 3, np.uint32), Coding.ZVC32)]


@pytest.mark.parametrize("stalls", [0.0, 0.3])
def test_the_shipped_dump_in_blocks(coded: list[CodedArray], stalls: float, build_dir: Path, seed: int) -> None:
    results = _simulated(coded, block_bytes=4096, stalls=stalls, build_dir=build_dir, seed=seed)
    for sent, result in zip(coded, results, strict=True):
        stream = blocks.compress(sent.array, sent.coding)
        raw = [block for block in blocks.headers(stream, 4096) if block.coding is Coding.RAW]
        assert result["coding"] == sent.coding.name.lower()
        assert (result["packed_bytes"], result["raw_blocks"]) == (stream.size, len(raw))
        assert result["ratio"] == pytest.approx(sent.array.nbytes / stream.size)
        if not stalls:
            # Arrays are short, and the decompressor waits a little where the coding changes.
            least = 0.9 if sent.coding.exponents else 0.98
            assert result["compress_in_beats_per_cycle"] > 0.98 * result["limit"]
            assert result["decompress_out_beats_per_cycle"] > least or result["raw_blocks"]
    assert results[-1]["raw_blocks"] == 2
    assert results[-1]["decompress_cycles"] == 0


def test_a_wrong_byte_is_found_with_its_line(build_dir: Path, tmp_path: Path) -> None:
    raw = np.arange(1, 1025, dtype=np.uint8).astype(np.uint16)
    right = Tensor.of(raw, Coding.LINES16)
    wrong = Tensor("", right.raw, right.packed.copy(), right.coding)
    wrong.packed[200] ^= 1
    config = load("compressor")
    built = build_core(config, simulator="verilator", build_dir=build_dir)
    passages = stream(built, config, [right, wrong, right], folder=tmp_path)
    said = f"byte 200 (line 1) is 0x{right.packed[200]:02x}, not 0x{wrong.packed[200]:02x}"
    assert [passage["difference"] for passage in passages] == [None, said, None]


def test_a_wrong_byte_is_found_with_its_block(build_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = np.arange(4096, dtype=np.uint16) % 2 * 7
    right = blocks.compress(raw, Coding.ZVC16)
    wrong = right.copy()
    # The first element of the second block.
    wrong[right.size // 2 + 4 + 256] ^= 1
    monkeypatch.setattr(blocks, "compress", lambda *arguments: wrong)
    result, = simulate([CodedArray("a", raw, Coding.ZVC16)], 32, block_bytes=4096, build_dir=build_dir)
    assert not result["passed"]
    assert str(result["difference"]).startswith("compressing: block 1: byte 256 is 0x07, not 0x06")
    assert "decompressing: block 1: byte 2 (line 0) is 0x06, not 0x07" in str(result["difference"])


_SIMULATORS = ["verilator", *(["icarus"] if tools.available("icarus") else [])]


@pytest.mark.parametrize("simulator", _SIMULATORS)
def test_waves_are_kept(simulator: str, tmp_path: Path, build_dir: Path) -> None:
    simulate([CodedArray("a", np.eye(16, dtype=np.float32), Coding.LINES32)], 16, simulator=simulator, waves=tmp_path,
             build_dir=build_dir)
    form = tools.wave_format(simulator)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"compressor.{form}", f"decompressor.{form}"]
    assert all(file.stat().st_size > 1000 for file in tmp_path.iterdir())


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"beat_bytes": 48}, "beat_bytes must be one of 16, 32, 64, not 48"),
    ({"beat_bytes": 48, "block_bytes": 4096}, "beat_bytes must be one of 16, 32, 64, not 48"),
    ({"block_bytes": 640}, "block_bytes must be one of 512, .* not 640"),
    ({"stalls": 1.5}, "stalls must be at least 0 and below 1, not 1.5"),
    ({"simulator": "vcs"}, "simulator must be one of verilator, icarus, not 'vcs'"),
    ({"arrays": []}, "there is no array to simulate"),
    ({"arrays": [CodedArray("odd", np.zeros(3, np.uint8), Coding.ZVC16)]},
     "array odd: 3 bytes are not a multiple of the element size of 2 bytes"),
])
def test_what_is_not_allowed_is_said(changes: dict, sentence: str, tmp_path: Path) -> None:
    arguments = {"arrays": [CodedArray("a", np.zeros(8, np.uint16), Coding.LINES16)], "beat_bytes": 32} | changes
    with pytest.raises(ValueError, match=sentence):
        simulate(**arguments, build_dir=tmp_path)


@pytest.mark.parametrize("preset", preset_names())
def test_throughput_reaches_the_limit(preset: str, build_dir: Path) -> None:
    # Cycles of a simulation, not seconds: the same on every machine.
    config = load(preset)
    rows = measure(config, build_dir=build_dir)
    assert len(rows) == 11 * len(config.element_bytes)
    assert all(0.99 <= row["share"] < 1.005 for row in rows), rows


@pytest.mark.parametrize("beat_bytes", [32, 16, 64] if FULL else [32])
def test_tensors_with_exponents_at_the_full_rate(beat_bytes: int, build_dir: Path) -> None:
    """64 KiB. Builds for other beats than the presets' take a minute to compile."""
    rows = block_throughput(beat_bytes, codings=(Coding.BFLOAT16, Coding.FLOAT32), densities=(0.7,),
                            build_dir=build_dir)
    assert len(rows) == 2
    for row in rows:
        assert row["compress_beats_per_cycle"] >= 0.99 * row["limit"], row
        assert row["decompress_beats_per_cycle"] >= 0.99 * row["limit"], row


@pytest.mark.parametrize("preset", preset_names())
def test_latency(preset: str, build_dir: Path) -> None:
    config = load(preset)
    rows = latency(config, build_dir=build_dir)
    assert [row["element_bits"] for row in rows] == list(config.element_bits)
    # What the cores reach today, handshake to handshake: a change that takes longer has to say so here.
    assert all(0 < row["first_cycles"] <= {"compressor": 6, "decompressor": 4}[config.core] for row in rows), rows
