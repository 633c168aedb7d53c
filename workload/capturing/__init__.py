"""PyTorch: capture of activations as dumps, profiles of layers, training with rounded activations, an example."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.workload.capturing.settings import CaptureError, Settings

if TYPE_CHECKING:
    from cdma.workload.capturing.recorder import Recorder

__all__ = ["CaptureError", "capture"]


def capture(model: Any, folder: str | Path, *, every: int = 1, steps: Iterable[int] | None = None,
            modules: str | Iterable[str] = ("*",), outputs: bool = False, least: int = 4096, max_array: int = 4 << 20,
            max_total: int = 1 << 30, form: str | None = None, times: bool = False) -> Recorder:
    """Write the activations that a model keeps for backward, while it trains.

    ::

        with capture(model, "dump", every=100) as recorder:
            for recorder.epoch in range(epochs):
                train(model)

    Parameters
    ----------
    model
        A ``torch.nn.Module``.
    folder
        A new dump: a file of arrays for each step, ``manifest.json``, and ``network.json``, the network's table.
    every, steps, modules, outputs, least, max_array, max_total, form, times
        See :class:`cdma.workload.capturing.settings.Settings`.

    Returns
    -------
    Recorder
        A context manager: the model is captured within its context.

    Raises
    ------
    ValueError
        If PyTorch is not installed, or a choice is not allowed.
    CaptureError
        If no module matches, or the folder has a dump already; in the first step, if the form cannot hold the values.
    TypeError
        If the model is not a ``torch.nn.Module``.
    """
    patterns = (modules,) if isinstance(modules, str) else tuple(modules)
    settings = Settings(every, None if steps is None else tuple(steps), patterns, outputs, least, max_array, max_total,
                        form, times)
    from cdma.workload.capturing.recorder import Recorder

    return Recorder(model, folder, settings)
