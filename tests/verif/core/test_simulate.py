"""Long data: the shipped dump through both cores, figures that mean what they say, and differences that are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import lines as zvc
from cdma.hdl.config.core import load, preset_names
from cdma.verif.common import tools
from cdma.verif.core.simulate import simulate
from cdma.verif.core.streaming import Tensor, build_core, stream
from cdma.verif.core.throughput import latency, measure
from cdma.workload.data import shipped
from cdma.workload.dumps import load as load_dump
from cdma.workload.dumps.narrow import narrow


@pytest.fixture(scope="module")
def dump() -> dict[str, np.ndarray]:
    """Arrays of the shipped dump, cut to what simulates in seconds."""
    return {name: array.reshape(-1)[:16384] for name, array in load_dump(shipped()).items()}


@pytest.mark.parametrize(("element_bytes", "stalls"), [(4, 0.0), (4, 0.3), (2, 0.2), (1, 0.2)])
def test_the_shipped_dump(dump, element_bytes: int, stalls: float, build_dir: Path, seed: int) -> None:
    arrays = dump if element_bytes == 4 else {name: narrow(array, element_bytes) for name, array in dump.items()}
    said: list[tuple[str, int, int]] = []
    results = simulate(arrays, element_bytes, 32, stalls=stalls, build_dir=build_dir, seed=seed,
                       progress=lambda *what: said.append(what))
    assert [result.name for result in results] == list(arrays)
    assert [result.difference for result in results] == [None] * len(results)
    for result, array in zip(results, arrays.values(), strict=True):
        assert result.passed
        assert result.raw_bytes == array.nbytes
        assert result.packed_bytes == zvc.packed_bytes(array, element_bytes)
        assert result.density == pytest.approx(np.count_nonzero(array) / array.size)
        assert 0 < result.compress_in_beats_per_cycle <= 1
        assert 0 < result.decompress_out_beats_per_cycle <= 1
    assert said[0][1] == 0
    assert all(done <= total for _, done, total in said)


def test_a_wrong_byte_is_found_with_its_line(build_dir: Path, tmp_path: Path) -> None:
    raw = np.arange(1, 1025, dtype=np.uint8).astype(np.uint16)
    right = Tensor.of(raw, 2)
    wrong = Tensor(right.raw, right.packed.copy(), 2)
    wrong.packed[200] ^= 1
    config = load("compressor")
    built = build_core(config, simulator="verilator", build_dir=build_dir)
    passages = stream(built, config, [right, wrong, right], folder=tmp_path)
    said = f"byte 200 (line 1) is 0x{right.packed[200]:02x}, not 0x{wrong.packed[200]:02x}"
    assert [passage.difference for passage in passages] == [None, said, None]


_SIMULATORS = ["verilator", *(["icarus"] if tools.available("icarus") else [])]


@pytest.mark.parametrize("simulator", _SIMULATORS)
def test_waves_are_kept(simulator: str, tmp_path: Path, build_dir: Path) -> None:
    simulate({"a": np.eye(16, dtype=np.float32)}, 4, 16, simulator=simulator, waves=tmp_path, build_dir=build_dir)
    form = tools.wave_format(simulator)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"compressor.{form}", f"decompressor.{form}"]
    assert all(file.stat().st_size > 1000 for file in tmp_path.iterdir())


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"element_bytes": 3}, "element_bytes must be 1, 2 or 4, not 3"),
    ({"beat_bytes": 48}, "beat_bytes must be one of 16, 32, 64, not 48"),
    ({"stalls": 1.5}, "stalls must be at least 0 and below 1, not 1.5"),
    ({"simulator": "vcs"}, "simulator must be one of verilator, icarus, not 'vcs'"),
    ({"arrays": {}}, "there is no array to simulate"),
    ({"arrays": {"odd": np.zeros(3, np.uint8)}},
     "array odd: 3 bytes are not a multiple of the element size of 2 bytes"),
])
def test_what_is_not_allowed_is_said(changes: dict, sentence: str, tmp_path: Path) -> None:
    arguments = {"arrays": {"a": np.zeros(8, np.uint16)}, "element_bytes": 2, "beat_bytes": 32, "stalls": 0.0} | changes
    with pytest.raises(ValueError, match=sentence):
        simulate(**arguments, build_dir=tmp_path)


@pytest.mark.parametrize("preset", preset_names())
def test_throughput_reaches_the_limit(preset: str, build_dir: Path) -> None:
    # Cycles of a simulation, not seconds: the same on every machine.
    config = load(preset)
    rows = measure(config, build_dir=build_dir)
    assert len(rows) == 11 * len(config.element_bytes)
    slow = [row for row in rows if row.share < 0.99]
    assert not slow
    assert all(row.share < 1.005 for row in rows)


@pytest.mark.parametrize("preset", preset_names())
def test_latency(preset: str, build_dir: Path) -> None:
    config = load(preset)
    rows = latency(config, build_dir=build_dir)
    assert [row.element_bits for row in rows] == list(config.element_bits)
    # What the cores reach today, handshake to handshake: a change that takes longer has to say so here.
    assert all(0 < row.first_cycles <= {"compressor": 6, "decompressor": 4}[config.core] for row in rows), rows
