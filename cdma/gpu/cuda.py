"""Launches the CUDA kernels for whole blocks with exponents, Triton's for all else."""

from __future__ import annotations

from ctypes import c_int32, c_int64
from functools import cache
from pathlib import Path
from typing import Any

from cdma.golden.codec.coding import Coding
from cdma.golden.codec.layout import LINE_BYTES
from cdma.gpu.launch import TritonKernels
from cdma.gpu.nvrtc import Module, cubin
from cdma.workload.extra import package

__all__ = ["CudaKernels", "code"]

torch = package("torch", "gpu")

_SOURCE = Path(__file__).with_name("exponents.cu")
_EXPONENTS = (Coding.BFLOAT16, Coding.FLOAT32)


class CudaKernels(TritonKernels):
    """Exponents in CUDA C++, a warp a block."""

    name = "cuda"

    def measure(self, raw: Any, lengths: Any, size: int, block_bytes: int, narrow: int, first: int = 0) -> None:
        """As :class:`TritonKernels`; where exponents are measured, whole blocks in CUDA."""
        if len(lengths) == 2 and not narrow:
            first = raw.numel() * size // block_bytes
            _launch("cdma_measure", (block_bytes, size), raw, first, lengths, c_int64(lengths.shape[1]))
        super().measure(raw, lengths, size, block_bytes, narrow, first)

    def encode(self, raw: Any, stream: Any, places: Any, chosen: Any, coding: Coding, block_bytes: int, narrow: int,
               first: int = 0) -> None:
        """As :class:`TritonKernels`; whole blocks with exponents in CUDA."""
        if coding in _EXPONENTS and not narrow:
            first = raw.numel() * coding.element_bytes // block_bytes
            _launch("cdma_encode", (block_bytes, coding.element_bytes), raw, first, stream, places, chosen)
        super().encode(raw, stream, places, chosen, coding, block_bytes, narrow, first)

    def decode(self, stream: Any, places: Any, index: Any, out: Any, state: Any, stream_bytes: int, raw_bytes: int,
               coding: Coding, block_bytes: int, narrow: int, raw: bool, first: int = 0) -> None:
        """As :class:`TritonKernels`; whole blocks with exponents in CUDA."""
        if coding in _EXPONENTS and not narrow:
            first = raw_bytes // block_bytes
            _launch("cdma_decode", (block_bytes, coding.element_bytes), stream, first, places, index, out, state,
                    c_int64(stream_bytes), c_int32(raw))
        super().decode(stream, places, index, out, state, stream_bytes, raw_bytes, coding, block_bytes, narrow, raw,
                       first)


def code(block_bytes: int, value_bytes: int, arch: int) -> bytes:
    """The code of the kernels for blocks of a size, of values of 2 or 4 bytes, on GPUs of ``sm_<arch>``; needs no
    GPU."""
    return cubin(_SOURCE.read_text(encoding="utf-8"), _SOURCE.name, arch, LINES=block_bytes // LINE_BYTES,
                 VALUE_BYTES=value_bytes, WARPS=_warps(block_bytes))


def _warps(block_bytes: int) -> int:
    """Warps of a thread block, of which each has a memory of 1.4 times a block, and all 48 KiB."""
    return min(4, 32768 // block_bytes)


@cache
def _module(device: int, block_bytes: int, value_bytes: int) -> Module:
    """The kernels on a device; compiled at the first call, in about a second."""
    major, minor = torch.cuda.get_device_capability(device)
    return Module(code(block_bytes, value_bytes, 10 * major + minor))


def _launch(name: str, sizes: tuple[int, int], first: Any, blocks: int, *others: Any) -> None:
    """Launch a kernel, made for bytes of a block and of a value, over whole blocks on the current stream of the device
    of its first argument."""
    if blocks:
        warps = _warps(sizes[0])
        with torch.cuda.device(first.device.index):
            stream = torch.cuda.current_stream().cuda_stream
            _module(first.device.index, *sizes).launch(name, -(-blocks // warps), 32 * warps, stream,
                                                       [first, *others, c_int64(blocks)])
