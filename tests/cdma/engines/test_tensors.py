"""Tensors through the engine of the golden model come back as they were; what fails says what and why."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.driver import Code, DriverError
from cdma.engines import DriverEngine, Side, model_engine
from cdma.engines.model import ModelMachine
from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Fault
from cdma.hdl.config.engine import load_engine
from cdma.workload.training import EngineError

DEFAULT = load_engine("engine")
LISTED = DEFAULT.replace(page_lists=True)


def values(rng: np.random.Generator, size: int) -> np.ndarray:
    """Bytes of which half of the words are zero."""
    words = rng.integers(1, 1 << 32, -(-size // 4), np.uint32) * rng.integers(0, 2, -(-size // 4), np.uint32)
    return words.view(np.uint8)[:size].copy()


@pytest.mark.parametrize("page_bytes", [None, 4096, 65536])
def test_tensors_come_back(page_bytes: int | None) -> None:
    rng = np.random.default_rng(1)
    with model_engine(LISTED, page_bytes=page_bytes, memory_bytes=1 << 20) as engine:
        sent = [values(rng, size) for size in (1, 7, 4096, 5001, 40000, 100_000)]
        handles = [engine.offload(data, dtype) for data, dtype in zip(
            sent, ("bool", "bfloat16", "float32", "int64", "uint8", "float16"), strict=True)]
        for data, handle in [*zip(sent, handles, strict=True)][::-1]:
            for _ in range(2):
                assert np.array_equal(engine.prefetch(handle), data)
        assert [each.bytes for each in engine.transfers] == [data.size for data in sent]
        assert all(each.prefetches == 2 and bool(each.pages) == bool(page_bytes) for each in engine.transfers)
        assert all(each.packed_bytes < each.raw_bytes for each in engine.transfers[2:])


def test_freed_tensors_make_room() -> None:
    rng = np.random.default_rng(2)
    with model_engine(LISTED, page_bytes=4096, memory_bytes=1 << 18) as engine:
        for _ in range(20):
            data = values(rng, 150_000)
            handle = engine.offload(data, "float32")
            assert np.array_equal(engine.prefetch(handle), data)
            engine.free(handle)


def test_padding_is_counted_apart() -> None:
    values = np.random.default_rng(6).standard_normal(1025).astype(np.float32).view(np.uint8)
    with model_engine() as engine:
        engine.offload(values[:4097], "float32")
    assert (engine.transfers[0].bytes, engine.transfers[0].raw_bytes) == (4097, 4100)


@pytest.mark.parametrize("size", [1 << 14, (1 << 14) + 1])
@pytest.mark.parametrize(("preset", "coding"), [("engine", Coding.BFLOAT16), ("paper", Coding.ZVC32)])
def test_values_choose_among_the_codings_that_are_built(preset: str, coding: Coding, size: int) -> None:
    """float32 that holds bfloat16 values; of any length, because the engine pads."""
    data = np.random.default_rng(4).standard_normal(size // 4 + 1).astype(np.float32).view("<u2")
    data[::2] = 0
    with model_engine(preset) as engine:
        handle = engine.offload(data.view(np.uint8)[:size], "float32")
        assert np.array_equal(engine.prefetch(handle), data.view(np.uint8)[:size])
    assert engine.transfers[0].coding is coding


def test_a_full_link_memory() -> None:
    with model_engine(memory_bytes=1 << 16) as engine:
        noise = np.random.default_rng(3).integers(0, 256, 40000, np.uint8)
        engine.offload(noise, "uint8")
        with pytest.raises(EngineError, match="link memory of 65,536 bytes has no place for a tensor of 40,000 bytes"):
            engine.offload(noise, "uint8")
        with pytest.raises(EngineError, match="a tensor of 70,000 bytes does not fit into the device memory"):
            engine.offload(np.zeros(70000, np.uint8), "uint8")


def test_a_fault_of_memory() -> None:
    machine = ModelMachine(DEFAULT, 1 << 20)
    engine = DriverEngine(machine, DEFAULT)
    machine.memories[Side.LINK].faults.append(Fault(0, 1 << 20))
    values = np.random.default_rng(5).standard_normal(1024).astype(np.float32).view(np.uint8)
    with pytest.raises(EngineError, match=r"cdma_engine failed in the offload of a tensor of 4,096 bytes of float32 "
                                          r"\(float32\): .*LINK_WRITE_ERROR"):
        engine.offload(values, "float32")


@pytest.mark.parametrize("page_bytes", [None, 4096])
def test_what_fails_takes_no_memory(page_bytes: int | None) -> None:
    """A link memory that is full, a transfer there that fails, and one back."""
    machine = ModelMachine(LISTED, 1 << 18)
    engine, faults = DriverEngine(machine, LISTED, page_bytes), machine.memories[Side.LINK].faults
    noise = np.random.default_rng(7).integers(0, 256, 150_000, np.uint8)
    for _ in range(3):
        handle = engine.offload(noise, "uint8")
        with pytest.raises(EngineError, match="link memory of 262,144 bytes has no place"):
            engine.offload(noise, "uint8")
        for fails in (lambda: engine.offload(noise[:4096], "uint8"), lambda given=handle: engine.prefetch(given)):
            faults.append(Fault(0, 1 << 18))
            with pytest.raises(EngineError, match=r"LINK_|PAGE_LIST_READ_ERROR"):
                fails()
            faults.clear()
        assert np.array_equal(engine.prefetch(handle), noise)
        engine.free(handle)


def test_memory_of_a_transfer_that_goes_on_is_not_given_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = model_engine(memory_bytes=1 << 18)

    def gives_up(*_: object) -> None:
        raise DriverError(Code.TIMEOUT)

    with monkeypatch.context() as patch:
        patch.setattr(engine._driver, "offload", gives_up)
        patch.setattr(engine._driver, "drain", gives_up)
        with pytest.raises(EngineError, match="TIMEOUT"):
            engine.offload(np.ones(150_000, np.uint8), "uint8")
    with pytest.raises(EngineError, match="does not fit into the device memory"):
        engine.offload(np.ones(150_000, np.uint8), "uint8")


def test_a_stream_that_was_changed() -> None:
    machine = ModelMachine(DEFAULT, 1 << 20)
    engine = DriverEngine(machine, DEFAULT)
    handle = engine.offload(np.arange(8192, dtype=np.uint8), "uint8")
    machine.memories[Side.LINK].image[2000] ^= 1
    with pytest.raises(EngineError, match=r"failed in the prefetch of a tensor of 8,192 bytes of uint8 .*CRC_MISMATCH"):
        engine.prefetch(handle)


@pytest.mark.parametrize(("page_bytes", "said"), [(4096, "has no page lists"), (5000, "a power of two from 4096")])
def test_pages_that_there_are_not(page_bytes: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        model_engine(DEFAULT if page_bytes == 4096 else LISTED, page_bytes=page_bytes)
