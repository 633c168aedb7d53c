"""PyTorch's files, .pt and .pth, read by PyTorch itself, only tensors: no code in the file is run."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cdma.workload.dumps.reading import Strange, reading
from cdma.workload.dumps.types import element_type
from cdma.workload.extra import package

__all__ = ["pickled_names", "read_pickled"]

_Tensor = Any
"""A tensor of PyTorch, which need not be installed."""


def pickled_names(path: Path) -> dict[str, Strange | None]:
    """The names of a file's tensors, and what is strange about them: keys and numbers of the dicts and lists around
    them, with slashes between.

    A file that is a single tensor gives it the file's name.

    Raises
    ------
    ValueError
        If PyTorch is not installed, or the file cannot be read or holds anything that is not plain data.
    """
    return {name: _strange(tensor) for name, tensor in _tensors(path).items()}


def read_pickled(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Tensors of a file, in the order of their dimensions, however they are strided. Those of types that are not known
    here are their bytes.

    Raises
    ------
    ValueError
        As for :func:`pickled_names`, or if a tensor has no values in memory.
    """
    torch = package("torch", "torch")
    tensors = _tensors(path)
    found = {}
    with reading(path, "PyTorch file"):
        for name in names:
            tensor = tensors[name]
            strange = _strange(tensor)
            if strange is not None and not strange.readable:
                raise ValueError(f"{name} is {strange.dtype}: only dense tensors with values can be read")
            tensor = tensor.detach().resolve_conj().resolve_neg()
            if strange is not None and tensor.element_size() == 1:
                tensor = tensor.view(torch.uint8)       # some types cannot be copied
            values = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
            found[name] = values if strange is not None else values.view(
                element_type(_type(tensor))).reshape(tuple(tensor.shape))
    return found


def _type(tensor: _Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _strange(tensor: _Tensor) -> Strange | None:
    """What is strange about a tensor; None if its values can be read."""
    if str(tensor.layout) != "torch.strided" or tensor.is_nested or tensor.is_quantized or tensor.is_meta:
        about = "nested" if tensor.is_nested else "meta" if tensor.is_meta else f"{tensor.layout} {_type(tensor)}"
        return Strange(about.removeprefix("torch."), readable=False)
    try:
        element_type(_type(tensor))
    except ValueError:
        return Strange(_type(tensor))
    return None


def _tensors(path: Path) -> dict[str, _Tensor]:
    torch = package("torch", "torch")
    with reading(path, "PyTorch file", (pickle.UnpicklingError, RecursionError, AttributeError, KeyError, TypeError)):
        try:
            # A mapped file is read only where it is accessed; files of old releases cannot be mapped.
            content = _read(torch, path, mmap=True)
        except RuntimeError:
            content = _read(torch, path, mmap=False)
        found: dict[str, _Tensor] = {}
        for name, tensor in _flat(torch, content, ""):
            title = name or path.stem
            if title in found:
                raise ValueError(f"two of its tensors would be called {title}")
            found[title] = tensor
        return found


def _read(torch: Any, path: Path, mmap: bool) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
    except pickle.UnpicklingError as error:
        raise ValueError("it holds more than tensors in dicts and lists: save just these") from error


def _flat(torch: Any, content: Any, name: str) -> Iterator[tuple[str, _Tensor]]:
    """The tensors in nested dicts, lists and tuples; other content is skipped."""
    if isinstance(content, torch.Tensor):
        yield name, content
        return
    if isinstance(content, Mapping):
        inside: Iterable[tuple[Any, Any]] = content.items()
    elif isinstance(content, (list, tuple)):
        inside = enumerate(content)
    else:
        return
    for key, value in inside:
        yield from _flat(torch, value, f"{name}/{key}" if name else str(key))
