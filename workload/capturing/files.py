"""Arrays of a step as .npz, or as .safetensors where NumPy has no type for their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np

from cdma.workload.capturing.settings import CaptureError
from cdma.workload.extra import package

__all__ = ["writer"]

torch = package("torch", "torch")


def writer(arrays: Mapping[str, Any], form: str | None) -> tuple[str, Callable[[BinaryIO], None]]:
    """Choose the form of a step's file.

    Parameters
    ----------
    arrays
        Contiguous tensors in the host's memory, by name.
    form
        ``npz``, ``safetensors``, or None for .npz if it can hold the values, and .safetensors otherwise.

    Returns
    -------
    tuple[str, Callable[[BinaryIO], None]]
        The suffix of the file, and a function that writes its content.

    Raises
    ------
    CaptureError
        If .npz cannot hold the values.
    """
    strange = sorted({_name(tensor) for tensor in arrays.values() if not hasattr(np, _name(tensor))})
    if form == "npz" and strange:
        raise CaptureError(f"the model has {', '.join(strange)} values, which .npz cannot hold bit for bit: choose "
                           "safetensors as the form")
    if form == "safetensors" or strange:
        content = package("safetensors.torch", "torch").save
        return ".safetensors", lambda file: _write(file, content(dict(arrays)))
    return ".npz", lambda file: np.savez(file, **{name: tensor.numpy() for name, tensor in arrays.items()})


def _write(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def _name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
