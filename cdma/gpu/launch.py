"""Launches the Triton kernels, a program a block."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from cdma.golden.codec.coding import Coding
from cdma.golden.codec.layout import LINE_BYTES
from cdma.gpu.decode import decode
from cdma.gpu.encode import encode, measure
from cdma.workload.extra import package

__all__ = ["TritonKernels"]

torch = package("torch", "gpu")


class TritonKernels:
    """All codings, on any GPU that Triton knows, and in its interpreter; the portable form."""

    name = "triton"

    def measure(self, raw: Any, lengths: Any, size: int, block_bytes: int, narrow: int, first: int = 0) -> None:
        """Payload bytes of the blocks from ``first`` on, in one row for each coding of this size of elements."""
        blocks = lengths.shape[1]
        _launch(measure, blocks - first, block_bytes, raw, lengths, raw.numel(), blocks, first, size,
                block_bytes // LINE_BYTES, narrow, len(lengths) > 1)

    def encode(self, raw: Any, stream: Any, places: Any, chosen: Any, coding: Coding, block_bytes: int, narrow: int,
               first: int = 0) -> None:
        """The blocks from ``first`` on at their places of the stream, if ``chosen`` is this coding."""
        _launch(encode, places.numel() - 1 - first, block_bytes, raw, stream, places, chosen, raw.numel(), first,
                int(coding), coding.element_bytes, block_bytes // LINE_BYTES, narrow)

    def decode(self, stream: Any, places: Any, index: Any, out: Any, state: Any, stream_bytes: int, raw_bytes: int,
               coding: Coding, block_bytes: int, narrow: int, raw: bool, first: int = 0) -> None:
        """The raw bytes of the blocks from ``first`` on that have this coding, and with ``raw`` of those that have
        none; ``state`` of those that are well formed becomes 1."""
        _launch(decode, state.numel() - first, block_bytes, stream, places, index, out, state, stream_bytes, raw_bytes,
                first, int(coding), coding.element_bytes, block_bytes // LINE_BYTES, narrow, raw)


def _launch(kernel: Any, blocks: int, block_bytes: int, first: Any, *others: Any) -> None:
    if blocks > 0:
        # Triton launches on the current device, whatever the tensors are on.
        with torch.cuda.device(first.device) if first.is_cuda else nullcontext():
            # 4 warps for blocks of 4096 bytes, so that the elements of a block fit into registers.
            kernel[(blocks,)](first, *others, num_warps=max(1, min(16, block_bytes // 1024)))
