"""Tensors through the Verilog of an engine come back as they were, in the cycles that a plan predicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cdma.engines import Side, model_engine, verilog_engine
from cdma.hdl.config.engine import load_engine
from cdma.measure.training import Predicting
from cdma.verif.common import tools
from cdma.workload.training import EngineError

TINY = load_engine("tiny")


def values(size: int, seed: int = 1) -> np.ndarray:
    """Bytes of float32 of which half are zero."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(-(-size // 4), np.float32) * rng.integers(0, 2, -(-size // 4), np.uint32)
    return found.astype(np.float32).view(np.uint8)[:size].copy()


def test_tensors_come_back(build_dir: Path) -> None:
    sent = [(values(size, size), dtype) for size, dtype in ((3, "bool"), (4097, "uint8"), (40_000, "float32"),
                                                            (30_002, "bfloat16"), (8000, "int64"))]
    with model_engine(TINY) as model:
        for data, dtype in sent:
            model.prefetch(model.offload(data, dtype))
    with verilog_engine(TINY, build_dir=build_dir) as engine:
        predicting = Predicting(engine)
        handles = [predicting.offload(data, dtype) for data, dtype in sent]
        for (data, _), handle in [*zip(sent, handles, strict=True)][::-1]:
            assert np.array_equal(predicting.prefetch(handle), data)
            predicting.free(handle)
    for seen, golden in zip(engine.transfers, model.transfers, strict=True):
        assert (seen.packed_bytes, seen.raw_blocks, seen.crc) == (golden.packed_bytes, golden.raw_blocks, golden.crc)
        assert seen.offload_cycles and seen.prefetch_cycles
    predicted = sum(sum(both) for both in predicting.predicted)
    measured = sum(each.offload_cycles + each.prefetch_cycles for each in engine.transfers)
    assert predicted == pytest.approx(measured, rel=0.05)


def test_a_stream_that_was_changed(build_dir: Path) -> None:
    with verilog_engine(TINY, build_dir=build_dir) as engine:
        handle = engine.offload(values(4096), "float32")
        machine, place = engine.machine, handle.address
        machine.load(Side.LINK, place, machine.dump(Side.LINK, place, 64) ^ np.eye(1, 64, 40, np.uint8)[0])
        with pytest.raises(EngineError, match=r"cdma_tiny_engine failed in the prefetch of a tensor of 4,096 bytes of "
                                              r"float32 \(float32\): .*"):
            engine.prefetch(handle)
        # The next one finds the engine as it was.
        data = values(5000)
        assert np.array_equal(engine.prefetch(engine.offload(data, "float32")), data)


def test_a_simulation_that_ends(build_dir: Path) -> None:
    with pytest.raises(EngineError, match="tests failed"), \
            verilog_engine(TINY, build_dir=build_dir) as engine:
        engine.machine.read32(0xFFC)


def test_without_a_simulator(build_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(simulator: str) -> None:
        raise tools.MissingToolError(f"simulation with {simulator} needs g++, which is not on PATH")

    monkeypatch.setattr(tools, "require", missing)
    with pytest.raises(ValueError, match=r"needs g\+\+, which is not on PATH"), \
            verilog_engine(TINY, build_dir=build_dir):
        pass


@pytest.mark.parametrize(("size", "said"), [(3 << 20, "a power of two of bytes, not 3145728"),
                                            (1 << 33, "need more than the 32 address bits")])
def test_memories_that_there_are_not(size: int, said: str, build_dir: Path) -> None:
    with pytest.raises(ValueError, match=said), verilog_engine(TINY, memory_bytes=size, build_dir=build_dir):
        pass
