"""Long data through the block cores: the shipped dump, and differences that are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.verif.core.blocks import simulate as module
from cdma.verif.core.blocks.simulate import BlockArray, simulate_blocks
from cdma.verif.core.blocks.throughput import block_throughput
from cdma.workload.data import shipped
from cdma.workload.dumps import load as load_dump
from cdma.workload.dumps.narrow import narrow
from tests.verif.conftest import FULL


@pytest.fixture(scope="module")
def arrays() -> list[BlockArray]:
    """Arrays of the shipped dump, cut to what simulates in seconds, in every coding; the last block is a short one."""
    found = []
    codings = [coding for coding in Coding if coding.sized]
    for (name, array), coding in zip(load_dump(shipped()).items(), codings, strict=False):
        values, size = array.reshape(-1)[:20000], coding.element_bytes
        form = "bfloat16" if coding is Coding.BFLOAT16 else None
        found.append(BlockArray(name, values if size == 4 else narrow(values, size, form), coding))
    return [*found, BlockArray("dense", np.full(1030, 3, np.uint32), Coding.ZVC32)]


@pytest.mark.parametrize("stalls", [0.0, 0.3])
def test_the_shipped_dump(arrays: list[BlockArray], stalls: float, build_dir: Path, seed: int) -> None:
    said: list[tuple[str, int, int]] = []
    results = simulate_blocks(arrays, 32, stalls=stalls, build_dir=build_dir, seed=seed,
                              progress=lambda *what: said.append(what))
    assert [result.difference for result in results] == [None] * len(arrays)
    for sent, result in zip(arrays, results, strict=True):
        stream = blocks.compress(sent.array, sent.coding)
        raw = [block for block in blocks.headers(stream, 4096) if block.coding is Coding.RAW]
        assert result.passed
        assert (result.name, result.coding) == (sent.name, sent.coding.name.lower())
        assert (result.raw_bytes, result.packed_bytes, result.raw_blocks) == (sent.array.nbytes, stream.size, len(raw))
        assert result.ratio == pytest.approx(sent.array.nbytes / stream.size)
        if not stalls:
            # Arrays are short, and the decompressor waits a little where the coding changes.
            least = 0.9 if sent.coding.exponents else 0.98
            assert result.compress_in_beats_per_cycle > 0.98 * result.limit
            assert result.decompress_out_beats_per_cycle > least or result.raw_blocks
    assert results[-1].raw_blocks == 2
    assert results[-1].decompress_cycles == 0
    assert said[0][1] == 0
    assert all(done <= total for _, done, total in said)


@pytest.mark.parametrize("beat_bytes", [32, 16, 64] if FULL else [32])
def test_tensors_with_exponents_at_the_full_rate(beat_bytes: int, build_dir: Path) -> None:
    """64 KiB. Builds for other beats than the presets' take a minute to compile."""
    rows = block_throughput(beat_bytes, codings=(Coding.BFLOAT16, Coding.FLOAT32), densities=(0.7,),
                            build_dir=build_dir)
    for row in rows:
        assert row.compress_beats_per_cycle >= 0.99 * row.limit, row
        assert row.decompress_beats_per_cycle is not None
        assert row.decompress_beats_per_cycle >= 0.99 * row.limit, row


def test_a_wrong_byte_is_found_with_its_block(build_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = np.arange(4096, dtype=np.uint16) % 2 * 7
    right = blocks.compress(raw, Coding.ZVC16)
    wrong = right.copy()
    # The first element of the second block.
    wrong[right.size // 2 + 4 + 256] ^= 1
    monkeypatch.setattr(module.blocks, "compress", lambda *arguments: wrong)
    result, = simulate_blocks([BlockArray("a", raw, Coding.ZVC16)], 32, build_dir=build_dir)
    assert not result.passed
    assert str(result.difference).startswith("compressing: block 1: byte 256 is 0x07, not 0x06")
    assert "decompressing: block 1: byte 2 is 0x06, not 0x07" in str(result.difference)


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"beat_bytes": 48}, "beat_bytes must be one of 16, 32, 64, not 48"),
    ({"block_bytes": 640}, "block_bytes must be one of 512, .* not 640"),
    ({"stalls": 1.5}, "stalls must be at least 0 and below 1, not 1.5"),
    ({"simulator": "vcs"}, "simulator must be one of verilator, icarus, not 'vcs'"),
    ({"arrays": []}, "there is no array to simulate"),
    ({"arrays": [BlockArray("odd", np.zeros(3, np.uint8), Coding.ZVC16)]},
     "array odd: 3 bytes are no multiple of the 2 bytes of an element of zvc16"),
])
def test_what_is_not_allowed_is_said(changes: dict, sentence: str, tmp_path: Path) -> None:
    arguments = {"arrays": [BlockArray("a", np.zeros(8, np.uint16), Coding.ZVC16)], "beat_bytes": 32} | changes
    with pytest.raises(ValueError, match=sentence):
        simulate_blocks(**arguments, build_dir=tmp_path)
