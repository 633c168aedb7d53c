"""What saved tensors are handed to: an engine that takes bytes, and gives them back."""

from __future__ import annotations

from typing import Any, Protocol

from cdma.golden.codec.buffers import Bytes

__all__ = ["EngineError", "TensorEngine"]


class EngineError(RuntimeError):
    """An engine did not move a tensor; the message says which and why."""


class TensorEngine(Protocol):
    """Keeps tensors outside device memory: :mod:`cdma.engines` has the golden model's and the Verilog's.

    An engine with ``takes_tensors``, as :class:`cdma.gpu.GpuEngine`, is given tensors of bytes on the device (on its
    ``device`` alone, if it has one), and gives such; one with ``takes`` is asked with the bytes of a tensor whether it
    has room; one with ``layer`` is called when the forward pass of a module without others in it begins.
    """

    def offload(self, data: Bytes, dtype: str) -> Any:
        """Take the bytes of a tensor, and return a handle to them.

        Parameters
        ----------
        data
            At least one byte, of any number; may change after the call.
        dtype
            Type of the values by PyTorch's name: float32, bfloat16, int64, bool.

        Raises
        ------
        EngineError
            If it cannot.
        """
        ...

    def prefetch(self, handle: Any) -> Bytes:
        """The bytes of a tensor; can be called any number of times until the handle is freed.

        Raises
        ------
        EngineError
            If they do not come back.
        """
        ...

    def free(self, handle: Any) -> None:
        """Forget a tensor. Python calls this while it collects garbage, so it may come at any moment, also within
        another call, and must raise nothing."""
        ...
