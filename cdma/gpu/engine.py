"""Saved tensors in pinned memory of the host, compressed on the GPU where that pays; for ``workload.offload``.

::

    stream      forward                                       backward
    compute     ... layer, encode A, layer, encode B ...      ... decode B, layer, decode A, layer ...
    out                           copy A, exact length
    back                                                      copy B, copy A, ahead of the layers

The length of a stream is known to the device first, so it is copied one tensor late: until then a tensor waits in
device memory, compressed. What comes back waits there compressed too, until just before it is used.

Streams take what they need of the slab, at the first place that fits. A ring needs as much in a plain step, where
backward frees in the reverse order. Where graphs overlap, or one is retained, a ring waits for its oldest stream: in
simulated steps of such kinds it needed up to 1.9 times the bytes that are in use, the first place that fits 1.08 times.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Self

from cdma.golden.codec.blocks import BLOCK_BYTES, HEADER_BYTES
from cdma.golden.codec.narrowing import Narrowing
from cdma.gpu.codec import Packed, compress, expand, suiting
from cdma.gpu.rule import POLICIES, Rule
from cdma.gpu.streams import streams_of
from cdma.workload.extra import package
from cdma.workload.training.engine import EngineError
from cdma.workload.training.places import FullError, Places

__all__ = ["GpuEngine", "Totals"]

torch = package("torch", "gpu")

_GRAIN = 512


@dataclass
class Totals:
    """What became of the tensors.

    Parameters
    ----------
    packed, plain
        Tensors that went compressed, and as they are.
    raw_bytes, link_bytes
        Of all of them, and what crossed the link for them one way.
    stayed, stayed_bytes
        Tensors that stayed on the device because that is cheaper, and their bytes now.
    refused
        Tensors that stayed because the slab had no room.
    held_bytes, most_bytes
        Of the slab: now, and at most.
    codec_seconds
        In which the device encoded and decoded, and computed nothing else.
    """

    packed: int = 0
    plain: int = 0
    raw_bytes: int = 0
    link_bytes: int = 0
    stayed: int = 0
    stayed_bytes: int = 0
    refused: int = 0
    held_bytes: int = 0
    most_bytes: int = 0
    codec_seconds: float = 0.0


@dataclass(eq=False)
class _Kept:
    """A tensor: its bytes in device memory, until they are copied out, and again from when they come back; or for good,
    where it stays."""

    kind: tuple[str, int]
    size: int
    layer: int
    choice: str
    packed: Packed | None       # without its bytes, once they are copied
    there: Any
    length: Any
    times: tuple[Any, Any]      # of encoding
    place: tuple[int, int] | None = None
    out: tuple[Any, Any] | None = None      # events of the copy
    back: tuple[Any, Any] | None = None
    coming: Any = None
    used: bool = False
    freed: bool = False


class GpuEngine:
    """Keeps tensors as :class:`cdma.workload.training.TensorEngine` asks, but takes and gives tensors of the device.

    ::

        with GpuEngine() as engine, workload.offload(model, engine):
            criterion(model(images), labels).backward()

    Parameters
    ----------
    device
        Of the tensors: ``cuda``; ``cpu`` does the same steps on the host, for tests.
    slab_bytes
        Pinned memory for what is kept, reserved once.
    budget
        Bytes of device memory for tensors that stay, where that is cheaper than to move them.
    ahead
        Layers whose tensors are copied back ahead of their use, beside the layer that computes; None: any number. A
        layer is a module without others in it.
    ahead_bytes
        Bytes on the link that are copied back ahead of their use; None: any number.
    late
        Tensors that may wait for their copy.
    policy
        ``packed``, ``plain`` or ``stays`` for all tensors; None: :class:`Rule` decides for each.
    narrowing
        Round all float32 tensors to :attr:`Narrowing.BFLOAT16` or ``FLOAT16``, which go compressed then: training
        differs from plain training, but in the same way whatever the times are.

    Members
    -------
    device
        Of the tensors that it takes.
    totals, rule
        What became of the tensors, and the rates so far.
    """

    takes_tensors = True

    def __init__(self, device: Any = "cuda", *, slab_bytes: int = 1 << 30, budget: int = 0, ahead: int | None = None,
                 ahead_bytes: int | None = 256 << 20, late: int = 1, policy: str | None = None,
                 narrowing: int = Narrowing.NONE) -> None:
        if policy not in (None, *POLICIES):
            raise ValueError(f"the policy must be {', '.join(POLICIES)} or None, not {policy!r}")
        # With the number of a GPU: another thread may have another current one.
        self.device = torch.empty(0, device=device).device
        self.totals, self.rule = Totals(), Rule(policy, budget)
        self._streams = streams_of(self.device)
        self._slab = self._streams.pinned(slab_bytes)
        self._places = Places(0, slab_bytes, _GRAIN)
        self._ahead, self._ahead_bytes = (float("inf") if each is None else each for each in (ahead, ahead_bytes))
        self._late, self._narrowing = late, Narrowing(narrowing)
        self._out, self._back = self._streams.stream(), self._streams.stream()
        self._waiting: deque[_Kept] = deque()
        self._live: dict[_Kept, None] = {}
        self._timed: deque[tuple[str, Any, int, tuple[Any, Any]]] = deque()
        self._leaving: deque[tuple[Any, Any]] = deque()
        self._freed: deque[_Kept] = deque()
        self._right = torch.ones((), dtype=torch.bool, device=self.device)
        self._layer = 0
        self._last: tuple[str, Any] | None = None   # what was called last, and the event of its end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.check()

    def takes(self, size: int) -> bool:
        """Whether the slab has room for a tensor; if not it stays where it is."""
        self._reclaim()
        # Those that wait may be as long as they are raw.
        waiting = sum(self._places.rounded(_most(each.size)) for each in self._waiting)
        fits = self._places.largest >= waiting + _most(size)
        self.totals.refused += not fits
        return fits

    def layer(self) -> None:
        """A layer begins: what is offloaded from now on is its."""
        self._layer += 1

    def offload(self, data: Any, dtype: str) -> Any:
        """Take the bytes of a tensor, uint8 on the device; they may change after the call."""
        self._reclaim()
        kind = (dtype, data.numel())
        first = self._begin("forward", kind)
        packed = length = None
        if self._narrowing and dtype == "float32" and not (data.numel() | data.storage_offset()) % 4:
            choice = "packed"
            packed = compress(data.view(torch.float32), narrowing=self._narrowing)
        else:
            choice = self.rule.choose(kind, data.numel(), self.rule.budget - self.totals.stayed_bytes)
            if choice == "packed":
                packed = compress(data, suiting(getattr(torch, dtype).itemsize))
        if packed is not None:
            there, length = packed.stream, packed.length.to("cpu", non_blocking=True)
        else:
            # Into memory of its own: the tensor may change before it is copied, and in ways that nothing counts.
            there = data.clone()
        kept = _Kept(kind, data.numel(), self._layer, choice, packed, there, length, (first, self._streams.mark()))
        self._live[kept] = None
        if choice == "stays":
            self.totals.stayed += 1
            self.totals.stayed_bytes += kept.size
        else:
            self._waiting.append(kept)
        while len(self._waiting) > self._late:
            self._copy_out(self._waiting.popleft())
        self._end("forward")
        return kept

    def prefetch(self, handle: Any) -> Any:
        """The bytes of a tensor, uint8 on the device."""
        kept: _Kept = handle
        self._begin("backward", kept.kind)
        while self._waiting:
            self._copy_out(self._waiting.popleft())
        if kept.choice == "stays":
            self._start_ahead(kept)
            self._end("backward")
            return kept.there
        self._start_back(kept)
        self._start_ahead(kept)
        data, kept.coming, kept.used = kept.coming, None, True
        assert kept.back is not None
        self._streams.after(kept.back[1])
        if kept.packed is not None:
            first = self._streams.mark()
            values, right = expand(replace(kept.packed, stream=data))
            data = values.view(torch.uint8)
            self._right &= right
            self._timed.append(("decode", kept.kind, kept.size, (first, self._streams.mark())))
        self._end("backward")
        return data

    def free(self, handle: Any) -> None:
        """Forget a tensor, when the next one is moved."""
        self._freed.append(handle)

    def check(self) -> None:
        """Wait for the device, and raise an EngineError if a stream came back malformed."""
        if not bool(self._right):
            raise EngineError(f"a block stream came back from the host malformed, on {self.device}: its bytes changed "
                              "in the slab or on the link")

    def report(self) -> dict[str, Any]:
        """Totals, the rates in bytes a second, and the kinds of tensors as :meth:`Rule.kinds` has them."""
        self._look()
        return asdict(self.totals) | {"rates": dict(self.rule.rates), "kinds": self.rule.kinds()}

    def _begin(self, what: str, kind: tuple[str, int]) -> Any:
        """The event of the begin of a call; what was computed since the last call has its time."""
        first = self._streams.mark()
        if self._last is not None and (what == "backward" or self._last[0] == "forward"):
            self._timed.append((what, kind, kind[1], (self._last[1], first)))
        return first

    def _end(self, what: str) -> None:
        self._look()
        self._last = what, self._streams.mark()

    def _copy_out(self, kept: _Kept) -> None:
        """Start the copy of a tensor, of exactly its length, which the device has computed by now or soon."""
        if kept.freed:
            return
        size = kept.size
        if kept.packed is not None:
            self._streams.wait(kept.times[1])
            size = int(kept.length)
            self.rule.packed(kept.kind, kept.size, size)
            self._timed.append(("encode", kept.kind, kept.size, kept.times))
        try:
            kept.place = self._places.take(size), size
        except FullError:
            raise EngineError(f"the slab of {self._slab.numel():,} bytes has no place for {size:,}: reserve more, or "
                              "let fewer tensors wait") from None
        self._streams.after(kept.times[1], self._out)
        kept.out = self._copied("out", self._slab[kept.place[0]:kept.place[0] + size], kept.there[:size], self._out)
        self._leaving.append((kept.out[1], kept.there))
        kept.there = None
        if kept.packed is not None:
            kept.packed = replace(kept.packed, stream=None)
        totals = self.totals
        totals.packed += kept.packed is not None
        totals.plain += kept.packed is None
        totals.raw_bytes += kept.size
        totals.link_bytes += size
        totals.held_bytes += size
        totals.most_bytes = max(totals.most_bytes, totals.held_bytes)

    def _start_back(self, kept: _Kept) -> None:
        """Start the copy of a tensor to the device, unless it has begun."""
        if kept.coming is None:
            assert kept.place is not None and kept.out is not None
            start, size = kept.place
            # Memory of the stream that computes: the copy waits until nothing there uses it any more.
            kept.coming = torch.empty(size, dtype=torch.uint8, device=self.device)
            self._streams.after(self._streams.mark(), self._back)
            self._streams.after(kept.out[1], self._back)
            kept.back = self._copied("back", kept.coming, self._slab[start:start + size], self._back)

    def _start_ahead(self, kept: _Kept) -> None:
        """Start the copies of tensors that were offloaded before one, which backward needs next."""
        earlier, layer, layers, size = False, kept.layer, 0, 0
        for each in reversed(self._live):
            if earlier and each.place is not None and not each.used:
                layers, layer, size = layers + (each.layer != layer), each.layer, size + each.place[1]
                if layers > self._ahead or size > self._ahead_bytes:
                    break
                self._start_back(each)
            earlier |= each is kept

    def _copied(self, what: str, target: Any, source: Any, stream: Any) -> tuple[Any, Any]:
        """Copy on a stream; returns the events around it."""
        with self._streams.on(stream):
            first = self._streams.mark(stream)
            target.copy_(source, non_blocking=True)
            events = first, self._streams.mark(stream)
        self._timed.append((what, None, source.numel(), events))
        return events

    def _look(self) -> None:
        """Free what is copied, and take the times of what is done."""
        while self._leaving and (len(self._leaving) > self._late + 1 or self._streams.done(self._leaving[0][0])):
            # The memory goes back to the stream that computes, after the copy.
            self._streams.after(self._leaving.popleft()[0])
        while self._timed and self._streams.done(self._timed[0][3][1]):
            what, kind, size, (first, last) = self._timed.popleft()
            if what == "step":
                self.rule.step(kind)
                continue
            seconds = self._streams.seconds(first, last)
            self.rule.measured(what, kind, size, seconds)
            self.totals.codec_seconds += seconds if what in ("encode", "decode") else 0

    def _reclaim(self) -> None:
        """Free the places of tensors that are not needed any more; where none are left, a step has ended."""
        ended = bool(self._freed)
        while self._freed:
            kept = self._freed.popleft()
            kept.freed, kept.there = True, None
            self.totals.stayed_bytes -= kept.size if kept.choice == "stays" else 0
            del self._live[kept]
            if kept.place is not None:
                self._places.give(*kept.place)
                self.totals.held_bytes -= kept.place[1]
            if kept.back is not None:
                # Neither its place nor the memory it came to is written before the copy is done.
                self._streams.after(kept.back[1], self._out)
                self._streams.after(kept.back[1])
            kept.coming = None
        if ended and not self._live:
            now = self._streams.mark()
            self._timed.append(("step", self.rule.turn(), 0, (now, now)))


def _most(size: int) -> int:
    """Bytes of the longest stream of so many: all blocks raw."""
    return size + HEADER_BYTES * (size // BLOCK_BYTES + 2)
