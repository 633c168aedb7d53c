"""simulate --engine and area --engine: what they print, and every way to get it wrong."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.hdl.config.engine import load_engine
from cdma.verif.engine import simulate as engine_simulate


@pytest.fixture
def dump(tmp_path: Path) -> dict[str, np.ndarray]:
    """Small arrays in dump.npz, one of them 16-bit."""
    rng = np.random.default_rng(5)
    arrays = {"first": np.maximum(rng.standard_normal((3, 7, 110)), 0).astype(np.float32),
              "second": np.maximum(rng.standard_normal(9000), 0).astype(np.float32)}
    np.savez(tmp_path / "dump.npz", allow_pickle=False, **arrays)
    return arrays


def test_there_and_back(cdma, build_dir: Path, dump: dict[str, np.ndarray]) -> None:
    call = ["simulate", "--engine", "tiny", "dump.npz", "--latency", 40, "--stalls", 0.1, "--build-dir", build_dir]
    result = cdma(*call, "--json").json
    config = load_engine("tiny")
    assert (result["engine"], result["latency"], result["stalls"]) == (config.name, 40, 0.1)
    assert [row["name"] for row in result["arrays"]] == list(dump)
    for row in result["arrays"]:
        assert row["coding"] == "float32"
        stream = blocks.compress(dump[row["name"]], Coding.FLOAT32, config.block_bytes)
        assert (row["raw_bytes"], row["packed_bytes"]) == (dump[row["name"]].nbytes, stream.size)
        assert row["offload_cycles"] > 40 and row["prefetch_cycles"] > 40
        assert row["plain_bytes_per_cycle"] == 16
        assert row["raw_toggles"] == _toggles(dump[row["name"]].tobytes(), 16)
        assert row["packed_toggles"] == _toggles(stream.tobytes(), 16)
        assert row["passed"] is True
    total = {kind: sum(row[f"{kind}_toggles"] for row in result["arrays"]) for kind in ("raw", "packed")}
    assert result["toggles"] == {
        "raw_per_raw_byte": total["raw"] / result["raw_bytes"], "packed_by_raw": total["packed"] / total["raw"],
        "packed_per_raw_byte": total["packed"] / result["raw_bytes"],
        "packed_per_packed_byte": total["packed"] / result["packed_bytes"]}
    outcome = cdma(*call)
    assert (outcome.code, outcome.err) == (0, "")
    assert "2 passed, 0 failed" in outcome.out
    assert "times a plain DMA" in outcome.out
    assert outcome.out.splitlines()[-1] == (
        f"Toggles of the link's data wires per raw byte: {result['toggles']['packed_per_raw_byte']:.3f}, plain "
        f"{result['toggles']['raw_per_raw_byte']:.3f}; per packed byte "
        f"{result['toggles']['packed_per_packed_byte']:.3f}")


def _toggles(data: bytes, width: int) -> int:
    """Bits that change between the whole beats of some bytes, and in the bytes of a shorter last one."""
    beats = [data[at:at + width] for at in range(0, len(data), width)]
    return sum((a ^ b).bit_count() for one, next_ in pairwise(beats)
               for a, b in zip(one, next_, strict=False))


def test_a_difference_is_named(cdma, build_dir: Path, dump: dict[str, np.ndarray],
                               monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Callable[..., Any] = engine_simulate._result

    def damaged(*arguments: Any) -> Any:
        return whole(*arguments[:-1], arguments[-1] | {"difference": "stream byte 3 is 0x01, not 0x00"})

    monkeypatch.setattr(engine_simulate, "_result", damaged)
    outcome = cdma("simulate", "--engine", "tiny", "dump.npz", "--build-dir", build_dir)
    assert outcome.code == 1
    assert "FAIL: stream byte 3" in outcome.out
    assert outcome.err == "cdma: error: first: stream byte 3 is 0x01, not 0x00\n"
