"""The block stream on a GPU: compress and decompress tensors where they are, byte for byte as the engines do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdma.gpu.codec import Packed, compress, decompress, expand, of_stream
    from cdma.gpu.engine import GpuEngine

__all__ = ["GpuEngine", "Packed", "compress", "decompress", "expand", "of_stream"]


def __getattr__(name: str) -> Any:
    # Imported on first use, because it needs PyTorch and Triton, of the extra gpu.
    if name in __all__:
        return getattr(import_module("cdma.gpu.engine" if name == "GpuEngine" else "cdma.gpu.codec"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
