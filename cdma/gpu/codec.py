"""Compress and decompress tensors where they are; the kernels are chosen by device when it runs.

::

    compress    measure payloads of every coding -> choose the shortest -> places -> write blocks
    expand      places from the index -> expand the blocks of each coding, and tell which are well formed

All of it is launched at once: the host never waits, so the length and the coding are tensors on the device.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.errors import StreamError
from cdma.golden.codec.headers import HEADER_BYTES, Frame, scan
from cdma.golden.codec.narrowing import NARROWED_BYTES, NARROWED_CODINGS, WIDE_BYTES, Narrowing, narrow, widen
from cdma.golden.codec.smallest import SIZED
from cdma.workload.extra import package

__all__ = ["Packed", "compress", "decompress", "expand", "kernels", "of_stream", "suiting"]

torch = package("torch", "gpu")

_VIEWS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
_SIZES = {1: (1, 2), 2: (2,)}
"""Elements of the codings that are tried, by the bytes of a value; of wider values 2, 4: float32 may hold bfloat16."""


@dataclass(frozen=True)
class Packed:
    """A tensor as a block stream.

    Parameters
    ----------
    stream
        uint8, with room for the longest; the first ``length`` bytes are those that engines, golden model and C library
        write and read.
    index
        uint16: the payload bytes of each block. It stays beside the stream; blocks are found by it at once.
    length
        int64 on the device: bytes of the stream.
    coding
        int32 on the device: what blocks have that are not raw.
    codings
        Those that were tried, and are expanded.
    shape, dtype
        Of the tensor.
    block_bytes
        Raw bytes of a block of the stream.
    narrowing
        What float32 values were rounded to.
    """

    stream: Any
    index: Any
    length: Any
    coding: Any
    codings: tuple[Coding, ...]
    shape: tuple[int, ...]
    dtype: Any
    block_bytes: int
    narrowing: Narrowing = Narrowing.NONE

    @property
    def raw_bytes(self) -> int:
        """Bytes of the elements of the stream: of the tensor, or half as many where they are narrowed."""
        return prod(self.shape) * (NARROWED_BYTES if self.narrowing else self.dtype.itemsize)

    def content(self) -> Any:
        """The stream without the room behind it; waits for the device."""
        return self.stream[:int(self.length)]


def compress(tensor: Any, codings: Collection[int] | None = None, *, narrowing: int = Narrowing.NONE,
             block_bytes: int = blocks.BLOCK_BYTES, backend: str | None = None) -> Packed:
    """The block stream of a tensor, on its device; the host does not wait.

    Parameters
    ----------
    tensor
        Of any type of 1, 2, 4, 8 or 16 bytes a value; its values in C order.
    codings
        Those to choose from, by length; None: all that suit the size of its values.
    narrowing
        Round float32 values to :attr:`Narrowing.BFLOAT16` or ``FLOAT16`` first: the only step that is not exact.
    block_bytes
        Raw bytes of a block: a power of two from 512 to 32768. Narrowed, its stream has blocks of half of it, so they
        are 1024 at least.
    backend
        ``cuda``, ``triton`` or ``golden``; None: the fastest that the device has, see :func:`kernels`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not allowed, or a package is missing.
    """
    form = Narrowing(narrowing)
    size = _stream_block_bytes(block_bytes, form)
    raw = tensor.detach().contiguous().reshape(-1) if tensor.numel() else torch.empty(0, dtype=tensor.dtype,
                                                                                      device=tensor.device)
    if form:
        if tensor.dtype is not torch.float32:
            raise TypeError(f"only float32 can be narrowed, not {tensor.dtype}")
        raw = raw.view(torch.int32)
        wanted = NARROWED_CODINGS[form] if codings is None else codings
        raw_bytes = raw.numel() * NARROWED_BYTES
    else:
        raw = raw.view(torch.uint8)
        raw_bytes = raw.numel()
        wanted = suiting(tensor.element_size()) if codings is None else codings
    tried = tuple(each for each in SIZED if each in wanted and raw_bytes % each.element_bytes == 0
                  and (not form or each in NARROWED_CODINGS[form]))
    if not tried:
        raise ValueError(f"none of the codings {', '.join(coding_name(Coding(each)) for each in wanted)} suits "
                         f"{raw_bytes} bytes: choose codings of smaller elements")
    how = kernels(raw.device, backend)
    if how is None:
        return _on_the_host(raw, tried, tuple(tensor.shape), tensor.dtype, size, form)
    if raw.data_ptr() % 16:
        raw = raw.clone()
    count = -(-raw_bytes // size)
    stream = torch.empty(_room(raw_bytes, size), dtype=torch.uint8, device=raw.device)
    lengths = torch.empty((len(tried), count), dtype=torch.int32, device=raw.device)
    order: list[Coding] = []
    views = {each: raw if form else raw.view(_VIEWS[each]) for each in {coding.element_bytes for coding in tried}}
    for element, view in views.items():
        plain, exponents = Coding(0x10 | element), 0x20 | element
        rows = [each for each in tried if each in (plain, exponents)]
        if plain in rows:
            how.measure(view, lengths[len(order):len(order) + len(rows)], element, size, form)
        else:   # two rows are measured, of which the first is not wanted
            both = torch.empty((2, count), dtype=torch.int32, device=raw.device)
            how.measure(view, both, element, size, form)
            lengths[len(order)] = both[1]
        order += rows
    numbers, ranks = _table(tuple(order), raw.device)
    steps = (lengths + (HEADER_BYTES + 3)) & -4
    # Of two with equal bytes the first of SIZED is taken, as everywhere.
    best = (steps.sum(1, dtype=torch.int64) * len(SIZED) + ranks).argmin().reshape(1)
    chosen = numbers.index_select(0, best)
    places = torch.zeros(count + 1, dtype=torch.int64, device=raw.device)
    torch.cumsum(steps.index_select(0, best)[0], 0, dtype=torch.int64, out=places[1:])
    for coding in order:
        how.encode(views[coding.element_bytes], stream, places, chosen, coding, size, form)
    index = lengths.index_select(0, best)[0].to(torch.uint16)
    return Packed(stream, index, places[-1], chosen[0], tried, tuple(tensor.shape), tensor.dtype, size, form)


def decompress(packed: Packed, *, backend: str | None = None) -> Any:
    """The tensor; waits for the device to know whether the stream is well formed.

    Raises
    ------
    StreamError
        If it is not, with the reason, byte, block and line that the golden model gives.
    """
    tensor, right = expand(packed, backend=backend)
    if not bool(right):
        # The golden model has the last word. It raises, unless only the index or a coding was unexpected.
        stream = packed.content().cpu().numpy()
        raw = blocks.decompress(stream, packed.block_bytes, packed.raw_bytes)
        tensor = _tensor(raw, packed, tensor.device)
    return tensor


def expand(packed: Packed, *, backend: str | None = None) -> tuple[Any, Any]:
    """The tensor, and on the device whether its stream is well formed; the host does not wait.

    Where it is not, the blocks that are well formed are there.
    """
    stream, size = packed.stream, packed.block_bytes
    how = kernels(stream.device, backend)
    if how is None:
        try:
            raw = blocks.decompress(packed.content().numpy(), size, packed.raw_bytes)
        except StreamError:
            return torch.zeros(packed.shape, dtype=packed.dtype), torch.tensor(False)
        return _tensor(raw, packed, stream.device), torch.tensor(True)
    count = packed.index.numel()
    places = torch.zeros(count + 1, dtype=torch.int64, device=stream.device)
    torch.cumsum((packed.index.to(torch.int32) + (HEADER_BYTES + 3)) & -4, 0, dtype=torch.int64, out=places[1:])
    state = torch.zeros(count, dtype=torch.uint8, device=stream.device)
    wide = WIDE_BYTES // NARROWED_BYTES if packed.narrowing else 1
    out = torch.empty((packed.raw_bytes * wide + 15) & -16, dtype=torch.uint8, device=stream.device)
    for number, coding in enumerate(packed.codings):
        view = out.view(torch.int32 if packed.narrowing else _VIEWS[coding.element_bytes])
        how.decode(stream, places, packed.index, view, state, stream.numel(), packed.raw_bytes, coding, size,
                   packed.narrowing, raw=number == 0)
    right = (places[-1] == packed.length) & (state.sum() == count) & (count == -(-packed.raw_bytes // size))
    return out[:packed.raw_bytes * wide].view(packed.dtype).view(packed.shape), right


def of_stream(stream: Any, shape: tuple[int, ...], dtype: Any, *, index: Any = None, narrowing: int = Narrowing.NONE,
              block_bytes: int = blocks.BLOCK_BYTES, device: Any = None) -> Packed:
    """A block stream that something else wrote, to be decompressed on a device.

    Parameters
    ----------
    stream
        uint8 tensor: the whole stream.
    shape, dtype
        Of the tensor in it.
    index
        uint16: payload bytes of each block; None: the host goes from header to header.
    narrowing
        What float32 values were rounded to.
    block_bytes
        As for :func:`compress`.
    device
        Where to expand it; None: where it is.

    Raises
    ------
    StreamError
        If a header is wrong: the first fault of the stream.
    ValueError
        If ``block_bytes`` is not allowed.
    """
    form = Narrowing(narrowing)
    size = _stream_block_bytes(block_bytes, form)
    device = stream.device if device is None else torch.device(device)
    length = stream.numel()
    if index is None:
        raw_bytes = prod(shape) * (NARROWED_BYTES if form else dtype.itemsize)
        found = scan(stream.cpu().numpy(), Frame(size, raw_bytes))
        if found.error is not None:
            blocks.decompress(stream.cpu().numpy(), size, raw_bytes)    # raises what is wrong first
        index = torch.from_numpy(found.payload).to(torch.uint16)
    there = torch.zeros((length + 15) & -16, dtype=torch.uint8, device=device)
    there[:length] = stream.to(device)
    tried = tuple(NARROWED_CODINGS[form]) if form else tuple(SIZED)
    return Packed(there, index.to(device), torch.tensor(length, device=device), torch.tensor(0, device=device), tried,
                  tuple(shape), dtype, size, form)


def kernels(device: Any, backend: str | None = None) -> Any:
    """What codes blocks on a device: CUDA C++ and Triton on NVIDIA's GPUs, Triton on others and in its interpreter;
    None is the golden model on the host.

    Parameters
    ----------
    backend
        ``cuda``, ``triton`` or ``golden``; None: chosen by what is there.

    Raises
    ------
    ValueError
        If there is no such backend on this device.
    """
    if backend not in (None, "cuda", "triton", "golden"):
        raise ValueError(f"the backend must be cuda, triton or golden, not {backend!r}")
    here = torch.device(device).type == "cpu"
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if backend == "golden" or (backend is None and here and not interpreted):
        if not here:
            raise ValueError(f"the golden model codes tensors on the CPU, not on {device}")
        return None
    if here and (backend == "cuda" or not interpreted):
        raise ValueError(f"the backend {backend} needs a GPU, not {device}")
    package("triton", "gpu")
    from cdma.gpu.nvrtc import compiler

    if backend == "triton" or here or torch.version.cuda is None or (backend is None and compiler() is None):
        from cdma.gpu.launch import TritonKernels

        return TritonKernels()
    if compiler() is None:
        raise ValueError("NVRTC is not installed, and the backend cuda needs it: choose triton")
    from cdma.gpu.cuda import CudaKernels

    return CudaKernels()


def suiting(value_bytes: int) -> list[Coding]:
    """The codings that are tried on values of so many bytes."""
    return [each for each in SIZED if each.element_bytes in _SIZES.get(value_bytes, (2, 4))]


def _stream_block_bytes(block_bytes: int, form: Narrowing) -> int:
    """Bytes of a block of the stream, which has 512 at least."""
    least, where = (1024, " where values are narrowed") if form else (512, "")
    if block_bytes not in (512, 1024, 2048, 4096, 8192, 16384, 32768) or block_bytes < least:
        raise ValueError(f"block_bytes must be a power of two from {least} to 32768 on a GPU{where}, not {block_bytes}")
    return block_bytes * NARROWED_BYTES // WIDE_BYTES if form else block_bytes


def _room(raw_bytes: int, block_bytes: int) -> int:
    """Bytes of the longest stream: all blocks raw, up to a whole word of 16 bytes."""
    return (raw_bytes + HEADER_BYTES * -(-raw_bytes // block_bytes) + 18) & -16


@cache
def _table(order: tuple[Coding, ...], device: Any) -> tuple[Any, Any]:
    """Numbers of codings and their ranks, on a device; made once, because the host waits for it."""
    return (torch.tensor([int(each) for each in order], dtype=torch.int32, device=device),
            torch.tensor([SIZED.index(each) for each in order], dtype=torch.int64, device=device))


def _on_the_host(raw: Any, tried: tuple[Coding, ...], shape: tuple[int, ...], dtype: Any, size: int, form: Narrowing
                 ) -> Packed:
    data = narrow(raw.numpy(), form) if form else raw.numpy()
    streams = [blocks.compress(data, coding, size) for coding in tried]
    best = min(range(len(tried)), key=lambda number: streams[number].size)
    found = of_stream(torch.from_numpy(streams[best]), shape, dtype, narrowing=form,
                      block_bytes=2 * size if form else size)
    return Packed(found.stream, found.index, found.length, torch.tensor(int(tried[best])), tried, shape, dtype, size,
                  form)


def _tensor(raw: Any, packed: Packed, device: Any) -> Any:
    """The tensor of the raw bytes of a stream."""
    data = widen(raw, packed.narrowing) if packed.narrowing else raw
    return torch.from_numpy(data).to(device).view(packed.dtype).view(packed.shape)
