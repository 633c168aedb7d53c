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
from tests.golden.samples import corners, floats, free_payload

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(cdma.gpu.__file__).parent / "exponents.cu"
LINES = (4, 16, 32, 256)
GUARD = 0xA5


class Kernels:
    """Those for blocks of so many lines."""

    def __init__(self, lines: int, library: Path) -> None:
        self.lines, self.size, self._library = lines, 128 * lines, ctypes.CDLL(str(library))

    def __call__(self, name: str, *arguments: Any) -> None:
        self._library[f"cdma_{name}"](*(each.ctypes.data_as(ctypes.c_void_p) if isinstance(each, np.ndarray) else each
                                        for each in arguments))

    def decode(self, stream: np.ndarray, index: np.ndarray, raw: bool = True) -> tuple[bytes, list[int]]:
        """The raw bytes, and which blocks are right."""
        places = np.concatenate([[0], np.cumsum((index.astype(np.int64) + 7) & ~3)])
        out, state = np.full(index.size * self.size, GUARD, np.uint8), np.zeros(index.size, np.uint8)
        self("decode", stream, places, index, out, state, wide(stream.size), int(raw), wide(index.size))
        return out.tobytes(), state.tolist()


@pytest.fixture(scope="module", params=LINES, ids=lambda lines: f"{128 * lines} bytes")
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    made = tmp_path_factory.mktemp("cuda") / "exponents.so"
    options = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", f"-DLINES={request.param}", "-x", "c", "-shared",
               "-fPIC", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run([shutil.which("gcc") or "cc", *options, "-o", str(made), str(SOURCE)], check=True)
    return Kernels(request.param, made)


def raws(size: int) -> Iterator[bytes]:
    """Whole blocks: corners, values of any spread, and the dump of bfloat16."""
    yield b"".join(corners(2))
    yield np.random.default_rng(1).bytes(31 * size)     # stays raw
    for seed in range(400):
        yield floats(2048, 2, seed)
    yield np.concatenate([array.reshape(-1).view(np.uint8) for array in
                          load(ROOT / "workload/data/sums_gpt.safetensors").values()]).tobytes()


def wide(number: int) -> ctypes.c_int64:
    return ctypes.c_int64(number)


def test_streams_are_those_of_the_golden_model(kernels: Kernels) -> None:
    raw = np.frombuffer(b"".join(raws(kernels.size)), np.uint8)
    count = raw.size // kernels.size
    raw = raw[:count * kernels.size].copy()
    wanted = blocks.compress(raw, Coding.BFLOAT16, kernels.size)
    lengths = np.zeros((2, count), np.int32)
    kernels("measure", raw, lengths, wide(count), wide(count))
    for row, coding in zip(lengths, (Coding.ZVC16, Coding.BFLOAT16), strict=True):
        stream = blocks.compress(raw, coding, kernels.size)
        assert row.tolist() == [block.payload_bytes for block in blocks.headers(stream)]
    places = np.concatenate([[0], np.cumsum((lengths[1].astype(np.int64) + 7) & ~3)])
    stream = np.full(wanted.size + 16, GUARD, np.uint8)
    for chosen in (Coding.ZVC16, Coding.BFLOAT16):
        kernels("encode", raw, stream, places, np.array([chosen], np.int32), wide(count))
        assert (stream[:wanted.size] == (wanted if chosen == Coding.BFLOAT16 else GUARD)).all()
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
    right, rounds = 0, 3000 if kernels.lines == 32 else 200
    for number in range(rounds):
        payload = bytearray(free_payload(2, kernels.lines, number % 300))
        if number >= rounds // 10:
            place = int(rng.integers(0, len(payload) if number % 2 else min(len(payload), 3 * kernels.lines)))
            payload[place] ^= 1 << int(rng.integers(0, 8))
        if number % 7 == 6:
            del payload[int(rng.integers(0, len(payload))):]
        stream = np.frombuffer(len(payload).to_bytes(2, "little") + b"\x22\0" + payload + bytes(-len(payload) % 4),
                               np.uint8).copy()
        if number % 11 == 10:
            stream[int(rng.integers(2, 4)) if number % 2 else -1] ^= 4
        index = np.array([len(payload)], np.uint16)
        back, state = kernels.decode(stream, index)
        try:
            wanted = blocks.decompress(stream, kernels.size, kernels.size).tobytes()
        except StreamError:
            wanted = None
        # Streams of other codings are not for this kernel.
        assert state == [int(wanted is not None and stream[2] == 0x22)], number
        assert not state[0] or back == wanted
        right += state[0]
        assert kernels.decode(stream[:-4].copy(), index)[1] == kernels.decode(stream, index ^ 1)[1] == [0]
    assert rounds // 6 < right < 5 * rounds // 6
