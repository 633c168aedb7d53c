"""The phases of the CUDA kernels, compiled for the host: streams, lengths and verdicts are the golden model's, for
the shortest and longest blocks and some between."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cdma.gpu
from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.errors import StreamError
from cdma.workload.dumps import load
from tests.golden.samples import EXPONENTS, corners, floats, free_payload

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(cdma.gpu.__file__).parent / "exponents.cu"
SHAPES = [(2, 4), (2, 32), (2, 256), (4, 4), (4, 16), (4, 32), (4, 256)]
GUARD = 0xA5


class Kernels:
    """Those for values of so many bytes, in blocks of so many lines."""

    def __init__(self, value_bytes: int, lines: int, folder: Path) -> None:
        self.value_bytes, self.lines, self.size = value_bytes, lines, 128 * lines
        self.coding, self.plain = Coding(EXPONENTS[value_bytes]), Coding(0x10 | value_bytes)
        options = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", f"-DVALUE_BYTES={value_bytes}",
                   f"-DLINES={lines}", "-x", "c", "-shared", "-fPIC", "-fsanitize=undefined", "-fno-sanitize-recover"]
        made = folder / "exponents.so"
        subprocess.run([shutil.which("gcc") or "cc", *options, "-o", str(made), str(SOURCE)], check=True)
        self.library = ctypes.CDLL(str(made))

    def __call__(self, name: str, *arguments: Any) -> None:
        self.library[f"cdma_{name}"](*(each.ctypes.data_as(ctypes.c_void_p) if isinstance(each, np.ndarray) else each
                                       for each in arguments))

    def decode(self, stream: np.ndarray, index: np.ndarray, raw: bool = True) -> tuple[bytes, list[int]]:
        """The raw bytes, and which blocks are right."""
        places = np.concatenate([[0], np.cumsum((index.astype(np.int64) + 7) & ~3)])
        out, state = np.full(index.size * self.size, GUARD, np.uint8), np.zeros(index.size, np.uint8)
        self("decode", stream, places, index, out, state, wide(stream.size), int(raw), wide(index.size))
        return out.tobytes(), state.tolist()


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: f"{8 * shape[0]} bits, {128 * shape[1]} bytes")
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(*request.param, folder=tmp_path_factory.mktemp("cuda"))


def raws(size: int, value_bytes: int) -> Iterator[bytes]:
    """Whole blocks: corners, values of any spread, and the shipped values of the type."""
    yield b"".join(corners(value_bytes))
    yield np.random.default_rng(1).bytes(31 * size)     # stays raw
    for seed in range(400):
        yield floats(4096 // value_bytes, value_bytes, seed)
    dump = {2: "sums_gpt.safetensors", 4: "digits_cnn.npz"}[value_bytes]
    yield np.concatenate([array.reshape(-1).view(np.uint8)[:1 << 19] for array in
                          load(ROOT / "workload/data" / dump).values()])[:1 << 20].tobytes()


def wide(number: int) -> ctypes.c_int64:
    return ctypes.c_int64(number)


def test_streams_are_those_of_the_golden_model(kernels: Kernels) -> None:
    raw = np.frombuffer(b"".join(raws(kernels.size, kernels.value_bytes)), np.uint8)
    count = raw.size // kernels.size
    raw = raw[:count * kernels.size].copy()
    wanted = blocks.compress(raw, kernels.coding, kernels.size)
    lengths = np.zeros((2, count), np.int32)
    kernels("measure", raw, lengths, wide(count), wide(count))
    for row, stream in zip(lengths, (blocks.compress(raw, kernels.plain, kernels.size), wanted), strict=True):
        assert row.tolist() == [block.payload_bytes for block in blocks.headers(stream)]
    places = np.concatenate([[0], np.cumsum((lengths[1].astype(np.int64) + 7) & ~3)])
    stream = np.full(wanted.size + 16, GUARD, np.uint8)
    for chosen in (kernels.plain, kernels.coding):
        kernels("encode", raw, stream, places, np.array([chosen], np.int32), wide(count))
        assert (stream[:wanted.size] == (wanted if chosen == kernels.coding else GUARD)).all()
    assert (stream[wanted.size:] == GUARD).all()
    back, state = kernels.decode(wanted, lengths[1].astype(np.uint16))
    assert back == raw.tobytes() and all(state)
    codings = [block.coding for block in blocks.headers(wanted)]
    assert codings.count(Coding.RAW) > 20
    assert kernels.decode(wanted, lengths[1].astype(np.uint16), raw=False)[1] == [
        int(coding != Coding.RAW) for coding in codings]


def test_verdicts_of_single_blocks(kernels: Kernels) -> None:
    """Payloads of other writers, whole and damaged."""
    rng = np.random.default_rng(1)
    right, rounds = 0, {32: 800, 256: 60}.get(kernels.lines, 200)
    for number in range(rounds):
        payload = bytearray(free_payload(kernels.value_bytes, kernels.lines, number % 300))
        if number >= rounds // 10:
            place = int(rng.integers(0, len(payload) if number % 2 else min(len(payload), 3 * kernels.lines)))
            payload[place] ^= 1 << int(rng.integers(0, 8))
        if number % 7 == 6:
            del payload[int(rng.integers(0, len(payload))):]
        stream = np.frombuffer(len(payload).to_bytes(2, "little") + bytes([kernels.coding, 0]) + payload
                               + bytes(-len(payload) % 4), np.uint8).copy()
        if number % 11 == 10:
            stream[int(rng.integers(2, 4)) if number % 2 else -1] ^= 4
        index = np.array([len(payload)], np.uint16)
        back, state = kernels.decode(stream, index)
        try:
            wanted = blocks.decompress(stream, kernels.size, kernels.size).tobytes()
        except StreamError:
            wanted = None
        # Streams of other codings are not for this kernel.
        assert state == [int(wanted is not None and stream[2] == kernels.coding)], number
        assert not state[0] or back == wanted
        right += state[0]
        assert kernels.decode(stream[:-4].copy(), index)[1] == kernels.decode(stream, index ^ 1)[1] == [0]
    assert rounds // 6 < right < 5 * rounds // 6
