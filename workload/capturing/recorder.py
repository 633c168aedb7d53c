"""Capture: writes the activations that a model keeps for backward, step by step while it trains."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from cdma.workload.capturing.manifest import Manifest
from cdma.workload.capturing.profiling import STEPS, WARM_UP, Profiler, device_of, layer_names
from cdma.workload.capturing.settings import CaptureError, Settings, prefix
from cdma.workload.capturing.step import Step
from cdma.workload.capturing.storage import storage_of, type_of
from cdma.workload.capturing.table import table, timed
from cdma.workload.extra import package
from cdma.workload.networks.captured import Table
from cdma.workload.networks.layers import INPUT

__all__ = ["Recorder"]

torch = package("torch", "torch")


class Recorder:
    """Captures steps of a model's training, as a context manager; see :func:`cdma.workload.capture`.

    A step is a call of the model in training mode while gradients are recorded. Between captured steps only the model
    has two hooks; in a captured step each of its modules has. Backward gets the saved tensors unchanged.

    Attributes
    ----------
    epoch
        The epoch for the manifest, set by the training; None until then.
    step
        Number of steps so far.
    stopped
        Why capture stopped; None while it works.
    """

    def __init__(self, model: Any, folder: str | Path, settings: Settings) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"only a torch.nn.Module can be captured, not {type(model).__name__}")
        if isinstance(model, torch.jit.ScriptModule):
            raise CaptureError("a model in TorchScript takes no hooks: capture the one that was given to torch.jit")
        if hasattr(model, "_orig_mod"):
            raise CaptureError("a compiled model saves what the compiler chose: capture the model that was given to "
                               "torch.compile, and train that")
        self._model, self._settings = model, settings
        settings.check_modules([(INPUT, INPUT), *((name, type(module).__name__)
                                                  for name, module in model.named_modules())])
        self.manifest = Manifest(folder, type(model).__name__)
        self.epoch: int | None = None
        self.step = 0
        self.stopped: str | None = None
        self._total = 0
        self._handles: list[Any] = []
        self._now: Step | None = None
        self._table: Table | None = None
        first = settings.free(WARM_UP, STEPS) if settings.times else None
        self._profiler = None if first is None else Profiler(model, None, first + WARM_UP)

    def __enter__(self) -> Self:
        self._handles = [
            self._model.register_forward_pre_hook(self._begin, prepend=True, with_kwargs=True),
            self._model.register_forward_hook(self._end, always_call=True)]
        if self._profiler is not None:
            self._profiler.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._drop()
        for handle in self._handles:
            handle.remove()
        if self._profiler is not None:
            self._profiler.__exit__(kind, error, trace)
            self._add_times()
        if self.step and self.stopped is None:
            self._save(self.manifest.save)

    def _begin(self, model: Any, args: Any, kwargs: Any) -> None:
        if not (model.training and torch.is_grad_enabled()):
            return
        self._drop()
        self._add_times()
        if self.stopped is None and self._settings.due(self.step):
            self._now = Step(self._model, self._settings, self._settings.max_total - self._total, (args, kwargs),
                             self._table is None)
        self.step += 1

    def _end(self, model: Any, args: Any, output: Any) -> None:
        now = self._now
        if now is None or now.failed():
            self._drop()
            return
        self._now = None
        now.close()
        step = self.step - 1
        for text in now.notes:
            self.manifest.note(text)
        if now.full:
            self._stop(f"stopped at step {step}: its arrays would exceed the limit of {self._settings.max_total:,} "
                       f"bytes in all, {self._total:,} are written")
            return
        if not now.arrays:
            self.manifest.note("some steps have no array in the dump: none of theirs was both chosen and large enough")
            return
        suffix, write = _writer({f"{prefix(step)}/{name}": tensor for name, (tensor, _) in now.arrays.items()},
                               self._settings.form)
        entries = {f"{prefix(step)}/{name}": entry for name, (_, entry) in now.arrays.items()}
        if self._save(partial(self.manifest.add, prefix(step) + suffix, write, step, self.epoch, entries,
                              now.saved_bytes, now.bytes)):
            self._total += now.bytes
            if self._table is None:
                self._table = self._table_of(now, step)
                self._save(partial(self.manifest.write_network, self._table))

    def _table_of(self, now: Step, step: int) -> Table:
        sizes: dict[Any, int] = {}
        for weight in self._model.parameters():
            key = storage_of(weight)
            sizes[key] = sizes.get(key, 0) + weight.numel()
        return table(self._model, layer_names(self._model), now, step, device_of(self._model), sizes)

    def _add_times(self) -> None:
        """Complete the table once times are measured."""
        times = None if self._profiler is None else self._profiler.times
        if times is not None and self._table is not None:
            self._table, self._profiler = timed(self._table, times), None
            self._save(partial(self.manifest.write_network, self._table))

    def _save(self, write: Any) -> bool:
        """Write; if that fails, warn and let training continue."""
        try:
            write()
        except OSError as error:
            self.stopped = f"cannot write to {self.manifest.folder}: {error.strerror or error}"
            warnings.warn(f"capture stopped: {self.stopped}", stacklevel=2)
            return False
        return True

    def _stop(self, why: str) -> None:
        self.stopped = why
        self.manifest.note(why)
        self._save(self.manifest.save)

    def _drop(self) -> None:
        if self._now is not None:
            self._now.close()
            self._now = None


def _writer(arrays: Mapping[str, Any], form: str | None) -> tuple[str, Callable[[BinaryIO], object]]:
    """Choose the form of a step's file.

    Parameters
    ----------
    arrays
        Contiguous tensors in the host's memory, by name.
    form
        ``npz``, ``safetensors``, or None for .npz if it can hold the values, and .safetensors otherwise.

    Returns
    -------
    tuple[str, Callable[[BinaryIO], object]]
        The suffix of the file, and a function that writes its content.

    Raises
    ------
    CaptureError
        If .npz cannot hold the values.
    """
    strange = sorted({type_of(tensor) for tensor in arrays.values() if not hasattr(np, type_of(tensor))})
    if form == "npz" and strange:
        raise CaptureError(f"the model has {', '.join(strange)} values, which .npz cannot hold bit for bit: choose "
                           "safetensors as the form")
    if form == "safetensors" or strange:
        content = package("safetensors.torch", "torch").save
        return ".safetensors", lambda file: file.write(content(dict(arrays)))
    return ".npz", lambda file: np.savez(file, **{name: tensor.numpy() for name, tensor in arrays.items()})
