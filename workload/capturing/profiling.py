"""Times of a model's layers, as torch.profiler measures them while it trains, for ``cdma timeline --profile``.

A layer is a module that contains no other module. The time of functions between modules counts for the layer that
finished last, and so does that of modules that the timeline treats as in place. Operations of backward are matched with
those of forward by autograd's sequence numbers.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cdma.hdl.config.files import write_file
from cdma.workload.capturing.settings import CaptureError
from cdma.workload.capturing.storage import tensors
from cdma.workload.extra import package
from cdma.workload.timeline.profiles import profile_text

__all__ = ["STEPS", "WARM_UP", "Profiler", "check_file", "device_of", "layer_names", "layer_times", "profile"]

# The profiler's library logs every start and stop unless this is set before it is loaded.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
torch = package("torch", "torch")

WARM_UP, STEPS = 3, 5
"""Steps of a training before the measured ones, and measured steps."""

_MARK = "module: "
_BACKWARD = "autograd::engine::evaluate_function: "
_IN_PLACE = ("ReLU", "ReLU6", "LeakyReLU", "Dropout", "Dropout2d", "Identity", "Flatten")


class Profiler:
    """Measures steps of a model's training, as a context manager, and writes the file when they are done.

    If the file cannot be written, training continues.

    Parameters
    ----------
    model
        The model that is trained. A step is a call of it in training mode with gradients recorded, and the backward
        after it.
    file
        Written as JSON, see :mod:`cdma.workload.timeline.profiles`; None writes none, and is content with fewer steps.
    warm_up, steps
        Number of steps before the measured ones, and number of measured steps.

    Attributes
    ----------
    epoch
        Set by code that counts epochs; a profile does not use it.
    times
        Milliseconds of forward and backward by layer; None until the steps are done.
    stopped
        Why the file was not written; None without an error.

    Raises
    ------
    ValueError
        If there are no steps, or the file's path is not allowed; at the end, if the training had fewer steps.
    """

    def __init__(self, model: Any, file: str | Path | None, warm_up: int = WARM_UP, steps: int = STEPS) -> None:
        if warm_up < 0 or steps < 1:
            raise ValueError(f"steps must be 1 or more, and warm_up 0 or more, not {steps} and {warm_up}")
        self._model, self._warm_up, self._steps = model, warm_up, steps
        self._file = None if file is None else check_file(file)
        self.epoch: int | None = None
        self.times: dict[str, dict[str, float]] | None = None
        self.stopped: str | None = None
        self._step = 0
        self._handles: list[Any] = []
        self._ranges: list[tuple[str, Any]] = []
        self._profile: Any = None

    def __enter__(self) -> Self:
        self._handles = [self._model.register_forward_pre_hook(self._begin, prepend=True)]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._profile is not None and kind is None and self._step == self._warm_up + self._steps:
            self._finish()
        self._stop()
        self._handles.pop().remove()
        if self.times is None and kind is None and self._file is not None:
            raise CaptureError(f"the training had {self._step} steps: a profile takes {self._warm_up} to warm up and "
                               f"{self._steps} to measure")

    def _begin(self, model: Any, args: Any) -> None:
        if not (model.training and torch.is_grad_enabled()) or self.times is not None:
            return
        if self._step == self._warm_up + self._steps:
            self._finish()
            return
        if self._step == self._warm_up:
            self._start()
        self._step += 1

    def _start(self) -> None:
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        for name, module in self._model.named_modules():
            name = name or type(self._model).__name__
            self._handles[:0] = [module.register_forward_pre_hook(partial(self._enter, name)),
                                 module.register_forward_hook(partial(self._leave, name), always_call=True)]
        self._profile = torch.profiler.profile(activities=kinds, acc_events=True)
        self._profile.__enter__()
        # The call in progress began before these hooks were registered.
        self._enter(type(self._model).__name__, self._model, ())

    def _enter(self, name: str, module: Any, args: Any) -> None:
        mark = torch.profiler.record_function(_MARK + name)
        mark.__enter__()
        self._ranges.append((name, mark))

    def _leave(self, name: str, module: Any, args: Any, output: Any) -> None:
        while self._ranges:
            ended, mark = self._ranges.pop()
            mark.__exit__(None, None, None)
            if ended == name:
                break

    def _finish(self) -> None:
        profile = self._profile
        self._stop()
        self.times = layer_times(profile.events(), self._steps, layer_names(self._model))
        if self._file is None:
            return
        device, name = device_of(self._model)
        try:
            write_file(self._file, profile_text(self.times, device, name))
        except OSError as error:
            self.stopped = f"cannot write the profile {self._file}: {error.strerror or error}"

    def _stop(self) -> None:
        if self._profile is not None:
            self._profile.__exit__(None, None, None)
            self._profile = None
            while len(self._handles) > 1:
                self._handles.pop(0).remove()


def check_file(file: str | Path) -> Path:
    """The path of a file for a new profile.

    Raises
    ------
    CaptureError
        If its folder does not exist, or the path is a folder itself.
    """
    path = Path(file)
    if path.is_dir():
        raise CaptureError(f"{path} is a folder: give the profile the name of a file")
    if not path.absolute().parent.is_dir():
        raise CaptureError(f"{path.parent} is not a folder: the profile goes into a folder that is there")
    return path


def profile(model: Any, example_input: Any, file: str | Path, *, warm_up: int = 3,
            steps: int = 5) -> dict[str, dict[str, float]]:
    """Measure a model's layers on an input, and write the file that ``cdma timeline --profile`` reads.

    Parameters
    ----------
    model
        In training mode. Backward begins at the sum of its outputs; its gradients are not changed.
    example_input
        A batch, or a tuple of the model's inputs.
    file, warm_up, steps
        See :class:`Profiler`.

    Returns
    -------
    dict[str, dict[str, float]]
        ``forward_ms`` and ``backward_ms`` of a step by layer.

    Raises
    ------
    ValueError
        If there are no steps, the model is in evaluation mode, or the file cannot be written.
    """
    if not model.training:
        raise ValueError("the model is in evaluation mode: call model.train() first")
    inputs = example_input if isinstance(example_input, tuple) else (example_input,)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    with Profiler(model, file, warm_up, steps) as profiler:
        for _ in range(warm_up + steps):
            found = [output.sum() for output in tensors(model(*inputs)) if output.requires_grad]
            torch.autograd.grad(sum(found), weights, allow_unused=True)
    if profiler.stopped is not None:
        raise CaptureError(profiler.stopped)
    return profiler.times or {}


def layer_times(events: Any, steps: int, layers: Collection[str]) -> dict[str, dict[str, float]]:
    """Milliseconds of forward and backward of a step, by layer.

    Parameters
    ----------
    events
        From torch.profiler, with a range for every call of a module.
    steps
        Number of steps in them.
    layers
        Modules that are layers; the time of other modules counts for the layer before, or for the first layer.
    """
    device = any(event.device_time_total for event in events)
    times: dict[str, list[float]] = {}
    numbers: dict[int, str] = {}
    running: list[list[Any]] = []
    for event in sorted((event for event in events if not event.is_async), key=_order):
        while running and running[-1][1] <= event.time_range.start:
            name = running.pop()[0]
            if running:
                running[-1][2] = name
        if event.name.startswith(_MARK):
            running.append([event.name.removeprefix(_MARK), event.time_range.end, None])
        elif running and not event.name.startswith(_BACKWARD):
            layer = running[-1][2] or running[-1][0]
            times.setdefault(layer, [0.0, 0.0])
            if not _within_operation(event):
                times[layer][0] += _time(event, device)
            # An operation without a gradient has the number of the next one with a gradient: the last is correct.
            if event.sequence_nr >= 0:
                numbers[event.sequence_nr] = layer
    for event in events:
        if event.name.startswith(_BACKWARD) and event.sequence_nr in numbers:
            times[numbers[event.sequence_nr]][1] += _time(event, device)
    return _in_steps(times, steps, layers)


def _in_steps(times: dict[str, list[float]], steps: int, layers: Collection[str]) -> dict[str, dict[str, float]]:
    """The times of one step, by layer only."""
    merged: dict[str, list[float]] = {}
    into = next((name for name in times if name in layers), None)
    for name, part in times.items():
        into = name if name in layers or into is None else into
        merged[into] = [sum(both) for both in zip(merged.get(into, (0.0, 0.0)), part, strict=True)]
    return {name: {"forward_ms": round(forward / steps / 1e3, 6), "backward_ms": round(backward / steps / 1e3, 6)}
            for name, (forward, backward) in merged.items()}


def layer_names(model: Any) -> set[str]:
    """Names of the modules that are layers: those without others inside that do not work in place."""
    own = type(model).__name__
    return {name or own for name, module in model.named_modules()
            if type(module).__name__ not in _IN_PLACE and not any(True for _ in module.children())}


def device_of(model: Any) -> tuple[str, str | None]:
    """Type of the device that a model is on, and its name where PyTorch knows one."""
    device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    return device.type, torch.cuda.get_device_name(device) if device.type == "cuda" else None


def _order(event: Any) -> tuple[float, float]:
    return event.time_range.start, -event.time_range.end


def _within_operation(event: Any) -> bool:
    """Whether an operation is part of another one, whose time includes it."""
    parent = event.cpu_parent
    return parent is not None and not parent.name.startswith(_MARK)


def _time(event: Any, device: bool) -> float:
    """Microseconds of an operation: those of its kernels if there is a device, else those of the processor."""
    return event.device_time_total if device else event.cpu_time_total
