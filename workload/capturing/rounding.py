"""Training with rounded activations: tensors saved for backward are narrowed as the engine does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cdma.workload.capturing.storage import Weights, activation
from cdma.workload.dumps.narrow import narrow
from cdma.workload.dumps.types import FORMATS
from cdma.workload.extra import package

__all__ = ["rounded"]

torch = package("torch", "torch")


@contextmanager
def rounded(model: Any, name: str | None) -> Iterator[None]:
    """Round the float32 activations that are saved for backward, to nearest with ties to even, but not weights.

    Forward uses the exact values, backward the restored ones.

    Parameters
    ----------
    model
        Its parameters and buffers are not rounded.
    name
        Format; None does not round.

    Raises
    ------
    ValueError
        If there is no such format.
    """
    if name is None:
        yield
        return
    if name not in FORMATS:
        raise ValueError(f"there is no format {name!r} to narrow activations to: there are {', '.join(FORMATS)}")
    form, weights = FORMATS[name], Weights(model)

    def pack(tensor: Any) -> Any:
        if tensor.dtype is not torch.float32 or not activation(tensor) or weights.has(tensor):
            return tensor
        codes = narrow(tensor.detach().cpu().numpy(), form.itemsize, name)
        return torch.from_numpy(codes.view(form).astype(np.float32)).to(tensor.device)

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield
