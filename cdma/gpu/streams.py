"""Streams and events of a GPU, and for the CPU the same calls, done at once: so one code serves and is tested."""

from __future__ import annotations

import time
import weakref
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from cdma.workload.extra import package

__all__ = ["Streams", "streams_of"]

torch = package("torch", "gpu")


class Streams(Protocol):
    """What work is ordered by; ``None`` is the stream that computes."""

    def stream(self) -> Any:
        """A new stream."""
        ...

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """Within it, work goes to a stream."""
        ...

    def mark(self, stream: Any = None) -> Any:
        """An event: all work of a stream so far."""
        ...

    def after(self, event: Any, stream: Any = None) -> None:
        """What a stream gets from now on waits for an event."""
        ...

    def done(self, event: Any) -> bool:
        """Whether the device has come to an event."""
        ...

    def wait(self, event: Any) -> None:
        """Let the host wait for an event."""
        ...

    def seconds(self, first: Any, last: Any) -> float:
        """Time between two events that are done."""
        ...

    def pinned(self, size: int) -> Any:
        """Bytes of the host that the device copies from and to."""
        ...


class _Cuda:
    """Those of a device of CUDA."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def stream(self) -> Any:
        return torch.cuda.Stream(self._device)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        return torch.cuda.stream(stream)

    def mark(self, stream: Any = None) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(stream or torch.cuda.current_stream(self._device))
        return event

    def after(self, event: Any, stream: Any = None) -> None:
        (stream or torch.cuda.current_stream(self._device)).wait_event(event)

    def done(self, event: Any) -> bool:
        return event.query()

    def wait(self, event: Any) -> None:
        event.synchronize()

    def seconds(self, first: Any, last: Any) -> float:
        return first.elapsed_time(last) / 1e3

    def pinned(self, size: int) -> Any:
        # PyTorch's own pinned memory would be rounded to a power of two.
        memory = torch.empty(size, dtype=torch.uint8)
        status = torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), size, 0)
        if int(status):
            raise ValueError(f"{size:,} bytes of the host cannot be pinned (status {int(status)}): ask for fewer")
        weakref.finalize(memory, torch.cuda.cudart().cudaHostUnregister, memory.data_ptr()).atexit = False
        return memory


class _Host:
    """Work of the CPU, which is done when the call returns."""

    def stream(self) -> Any:
        return None

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        return nullcontext()

    def mark(self, stream: Any = None) -> Any:
        return time.perf_counter()

    def after(self, event: Any, stream: Any = None) -> None:
        pass

    def done(self, event: Any) -> bool:
        return True

    def wait(self, event: Any) -> None:
        pass

    def seconds(self, first: Any, last: Any) -> float:
        return last - first

    def pinned(self, size: int) -> Any:
        return torch.empty(size, dtype=torch.uint8)


def streams_of(device: Any) -> Streams:
    """Those of a device."""
    return _Cuda(device) if device.type == "cuda" else _Host()
