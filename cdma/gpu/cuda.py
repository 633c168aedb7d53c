"""Launches the CUDA kernels for whole blocks of 4096 bytes of bfloat16, Triton's for all else."""

from __future__ import annotations

from ctypes import c_int32, c_int64
from functools import cache
from pathlib import Path
from typing import Any

from cdma.golden.codec.coding import Coding
from cdma.gpu.launch import TritonKernels
from cdma.gpu.nvrtc import Module, cubin
from cdma.workload.extra import package

__all__ = ["SOURCE", "CudaKernels", "module"]

torch = package("torch", "gpu")

SOURCE = Path(__file__).with_name("exponents.cu")
_BLOCK_BYTES = 4096
_WARPS = 4


class CudaKernels(TritonKernels):
    """Exponents of bfloat16 in CUDA C++, a warp a block."""

    name = "cuda"

    def measure(self, raw: Any, lengths: Any, size: int, block_bytes: int, narrow: int, first: int = 0) -> None:
        """As :class:`TritonKernels`; where both codings of 16 bits are measured, whole blocks in CUDA."""
        if len(lengths) == 2 and (size, block_bytes, narrow) == (2, _BLOCK_BYTES, 0):
            first = raw.numel() * size // block_bytes
            _launch("cdma_measure", raw, first, lengths, c_int64(lengths.shape[1]))
        super().measure(raw, lengths, size, block_bytes, narrow, first)

    def encode(self, raw: Any, stream: Any, places: Any, chosen: Any, coding: Coding, block_bytes: int, narrow: int,
               first: int = 0) -> None:
        """As :class:`TritonKernels`; whole blocks of bfloat16 in CUDA."""
        if (coding, block_bytes, narrow) == (Coding.BFLOAT16, _BLOCK_BYTES, 0):
            first = raw.numel() * coding.element_bytes // block_bytes
            _launch("cdma_encode", raw, first, stream, places, chosen)
        super().encode(raw, stream, places, chosen, coding, block_bytes, narrow, first)

    def decode(self, stream: Any, places: Any, index: Any, out: Any, state: Any, stream_bytes: int, raw_bytes: int,
               coding: Coding, block_bytes: int, narrow: int, raw: bool, first: int = 0) -> None:
        """As :class:`TritonKernels`; whole blocks of bfloat16 in CUDA."""
        if (coding, block_bytes, narrow) == (Coding.BFLOAT16, _BLOCK_BYTES, 0):
            first = raw_bytes // block_bytes
            _launch("cdma_decode", stream, first, places, index, out, state, c_int64(stream_bytes), c_int32(raw))
        super().decode(stream, places, index, out, state, stream_bytes, raw_bytes, coding, block_bytes, narrow, raw,
                       first)


@cache
def module(device: int) -> Module:
    """The kernels on a device; compiled at the first call, in about a second."""
    with torch.cuda.device(device):
        major, minor = torch.cuda.get_device_capability()
        return Module(cubin(SOURCE.read_text(encoding="utf-8"), SOURCE.name, 10 * major + minor))


def _launch(name: str, first: Any, blocks: int, *others: Any) -> None:
    """Launch a kernel over whole blocks on the current stream of the device of its first argument."""
    if blocks:
        device = first.device.index
        with torch.cuda.device(device):
            stream = torch.cuda.current_stream().cuda_stream
            module(device).launch(name, -(-blocks // _WARPS), 32 * _WARPS, stream, [first, *others, c_int64(blocks)])
