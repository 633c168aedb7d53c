"""PyTorch: training steps whose saved tensors an engine keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdma.workload.training.engine import EngineError, TensorEngine

if TYPE_CHECKING:
    from cdma.workload.training.hooks import Offload

__all__ = ["EngineError", "TensorEngine", "offload"]


def offload(model: Any, engine: TensorEngine, *, least: int = 4096) -> Offload:
    """Let an engine keep what autograd saves: offloaded in the forward pass, prefetched in the backward pass.

    ::

        with model_engine("engine") as engine, offload(model, engine):
            loss = criterion(model(images), labels)
            loss.backward()

    The hooks work on all that is computed within the context, the loss too, on this thread. The bits of the tensors do
    not change, nor do their strides, so that losses, gradients and weights are those of plain training.

    Parameters
    ----------
    model
        A ``torch.nn.Module``, whose parameters and buffers stay on the device.
    engine
        Of :mod:`cdma.engines`, or one of yours. Backward must run before it is closed.
    least
        Tensors of fewer bytes stay on the device.

    Returns
    -------
    Offload
        A context manager; its ``counts`` say what became of the saved tensors.

    Raises
    ------
    ValueError
        If PyTorch is not installed, or ``least`` is not allowed.
    TypeError
        If the model is no ``torch.nn.Module``, or the engine lacks a call.
    EngineError
        In forward or backward passes: the engine did not move a tensor.
    """
    from cdma.workload.training.hooks import Offload

    return Offload(model, engine, least)
