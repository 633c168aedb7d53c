"""What a GPU gives: bytes against the golden model, the codec's speed, copies, and steps; in the order of worth."""

from __future__ import annotations

import datetime
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding, coding_name
from cdma.gpu.codec import compress, decompress, expand
from cdma.gpu.steps import NETWORKS, steps
from cdma.gpu.streams import streams_of
from cdma.workload.data import SUMS
from cdma.workload.extra import package

__all__ = ["STEPS", "Setup", "about", "checked_device", "measure"]

torch = package("torch", "gpu")

_RUNS = 20
_TOOLS = ("racecheck", "memcheck")
_SMALL = """
import torch; from cdma import gpu
for count in (2048, 40000, 100001):
    for dtype in (torch.bfloat16, torch.float32):
        values = torch.randn(count, device="cuda").to(dtype)
        assert torch.equal(gpu.decompress(gpu.compress(values)), values)
"""


@dataclass(frozen=True)
class Setup:
    """Where and how much is measured.

    Parameters
    ----------
    device
        A GPU; or the CPU, for a rehearsal whose speeds mean nothing.
    raw_bytes
        Of the shipped dump, tiled.
    backends
        Those of :func:`cdma.gpu.codec.kernels` that are measured.
    runs
        Of which the median counts.
    """

    device: Any
    raw_bytes: int = 1 << 30
    backends: tuple[str | None, ...] = ("cuda", "triton")
    runs: int = _RUNS


def checked_device(name: str) -> str:
    """A device that PyTorch has: ``cpu``, or a GPU; ValueError otherwise."""
    if name != "cpu" and not (name.partition(":")[0] == "cuda" and torch.cuda.is_available()):
        raise ValueError(f"PyTorch finds no GPU {name}: name one that it has (cuda, cuda:1), or cpu to rehearse")
    return name


def about(device: Any) -> dict[str, Any]:
    """Card, driver, versions, and the date."""
    cuda = torch.device(device).type == "cuda"
    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"]
    driver = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip() \
        if shutil.which(query[0]) else ""
    return {"date": datetime.date.today().isoformat(), "device": str(device),
            "card": torch.cuda.get_device_name(device) if cuda else platform.machine(), "driver": driver or None,
            "torch": torch.__version__, "triton": version("triton") if find_spec("triton") else None,
            "cuda": torch.version.cuda, "python": platform.python_version()}


def measure(setup: Setup, seconds: float = 230, told: Callable[[dict[str, Any]], None] | None = None,
            only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Take all steps of :data:`STEPS`, or some, as long as there is time.

    Parameters
    ----------
    seconds
        After which no row is begun.
    told
        Called with the results so far after every row.

    Returns
    -------
    dict[str, Any]
        Results by step: a list of rows, of which the last says ``not_run`` and why where something could not be done.
    """
    end, found = time.monotonic() + seconds, about(setup.device)
    for name in only or STEPS:
        rows: list[dict[str, Any]] = []
        found[name] = rows
        try:
            for row in STEPS[name](setup):
                rows.append(row)
                if told is not None:
                    told(found)
                if time.monotonic() > end:
                    raise TimeoutError(f"{seconds:g} s are over")
        except Exception as error:      # whatever a driver or a tool has to say: the next step may work
            rows.append({"not_run": f"{type(error).__name__}: {error}".strip().partition("\n")[0]})
        if told is not None:
            told(found)
    return found


def _dump(raw_bytes: int) -> Any:
    """The shipped values of bfloat16, tiled; read here, because a machine with a GPU may have no safetensors."""
    content = SUMS.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    names = json.loads(content[8:start])
    whole = np.concatenate([np.frombuffer(content[start:], np.uint8)[slice(*entry["data_offsets"])]
                            for name, entry in names.items() if name != "__metadata__"])
    return torch.from_numpy(np.resize(whole, raw_bytes)).view(torch.bfloat16)


def _sparse(setup: Setup, density: float) -> Any:
    """Values of bfloat16 of which so many are not zero, made on the device."""
    source = torch.Generator(setup.device).manual_seed(1)
    values = torch.randn(setup.raw_bytes // 2, generator=source, device=setup.device).bfloat16()
    values[torch.rand(values.numel(), generator=source, device=setup.device) >= density] = 0
    return values


def _bytes(setup: Setup) -> Iterator[dict[str, Any]]:
    """Streams and what comes back, against the golden model."""
    values = _dump(setup.raw_bytes)
    for coding in (Coding.BFLOAT16, Coding.ZVC16, Coding.FLOAT32):
        if coding == Coding.FLOAT32:
            values = values[:values.numel() // 8].float() * 1.1     # with all bits of mantissas
        there = values.to(setup.device)
        wanted = blocks.compress(values.view(torch.uint8).numpy(), coding)     # the longest part of it
        for backend in setup.backends:
            packed = compress(there, [coding], backend=backend)
            yield {"backend": backend, "coding": coding_name(coding), "raw_bytes": values.nbytes,
                   "packed_bytes": int(packed.length), "ratio": values.nbytes / int(packed.length),
                   "stream_equal": np.array_equal(packed.content().cpu().numpy(), wanted),
                   "back_equal": torch.equal(decompress(packed, backend=backend).view(torch.uint8),
                                             there.view(torch.uint8))}


def _speeds(setup: Setup) -> Iterator[dict[str, Any]]:
    """GB/s of raw bytes, with all launches; encoding with the choice among all codings too."""
    dump = _dump(setup.raw_bytes).to(setup.device)
    samples = [("bfloat16 dump", dump, [Coding.BFLOAT16]), ("bfloat16 dump", dump, None),
               *((f"density {density}", _sparse(setup, density), [Coding.ZVC16])
                 for density in (0.25, 0.5, 1.0)),
               ("float32 that holds bfloat16", dump[:dump.numel() // 2].float(), None),
               ("float32 dump", dump[:dump.numel() // 2].float() * 1.1, None)]
    for what, values, codings in samples:
        for backend in setup.backends:
            packed = compress(values, codings, backend=backend)
            yield {"values": what, "backend": backend, "coding": coding_name(Coding(int(packed.coding))),
                   "chosen": codings is None, **_rates(
                       setup, values, int(packed.length),
                       lambda v=values, c=codings, b=backend: compress(v, c, backend=b),
                       lambda p=packed, b=backend: expand(p, backend=b))}
    yield from _peers(setup, dump)


def _peers(setup: Setup, values: Any) -> Iterator[dict[str, Any]]:
    """NVIDIA's codecs, where they are installed."""
    nvcomp = __import__("nvidia.nvcomp", fromlist=["nvcomp"])
    array = nvcomp.as_array(values.view(torch.uint8))
    for algorithm in ("ANS", "Bitcomp", "LZ4"):
        codec = nvcomp.Codec(algorithm=algorithm)
        packed = codec.encode(array)
        yield {"values": "bfloat16 dump", "backend": "nvcomp", "coding": algorithm, **_rates(
            setup, values, packed.buffer_size, lambda c=codec: c.encode(array), lambda c=codec, p=packed: c.decode(p))}


def _rates(setup: Setup, values: Any, packed_bytes: int, encode: Callable[[], Any], decode: Callable[[], Any]
           ) -> dict[str, float]:
    return {"ratio": values.nbytes / packed_bytes, "encode_gbps": values.nbytes / _seconds(setup, encode) / 1e9,
            "decode_gbps": values.nbytes / _seconds(setup, decode) / 1e9}


def _copies(setup: Setup) -> Iterator[dict[str, Any]]:
    """GB/s between pinned memory and the device, each way alone and both at once."""
    streams, size = streams_of(torch.device(setup.device)), min(setup.raw_bytes, 1 << 28)
    host = [streams.pinned(size) for _ in range(2)]
    there = [torch.empty(size, dtype=torch.uint8, device=setup.device) for _ in range(2)]
    lanes = [streams.stream() for _ in range(2)]

    def copy(ways: tuple[int, ...]) -> None:
        start = streams.mark()
        for way in ways:
            streams.after(start, lanes[way])
            with streams.on(lanes[way]):
                (there if way else host)[way].copy_((host if way else there)[way], non_blocking=True)
            streams.after(streams.mark(lanes[way]))

    for what, ways in (("out", (0,)), ("back", (1,)), ("both", (0, 1))):
        yield {"copy": what, "gbps": len(ways) * size / _seconds(setup, lambda w=ways: copy(w)) / 1e9}


def _offload(setup: Setup) -> Iterator[dict[str, Any]]:
    """Training steps, by all ways of saving memory."""
    for name in NETWORKS:
        yield from steps(setup.device, name)


def _sanitized(setup: Setup) -> Iterator[dict[str, Any]]:
    """NVIDIA's checkers of races and of accesses, on small inputs."""
    for tool in _TOOLS:
        call = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", _SMALL]
        done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=90,
                              cwd=Path(__file__).resolve().parents[2])
        said = (done.stdout + done.stderr).strip().splitlines() or [""]
        summary = next((line for line in said if "SUMMARY" in line), said[-1])
        # Where the tool refuses the device, it says so instead of a summary.
        clean = done.returncode == 0 and "SUMMARY" in summary
        yield {"tool": tool, "clean": clean, "said": summary} if "SUMMARY" in summary else {
            "tool": tool, "not_run": summary}


STEPS: dict[str, Callable[[Setup], Iterator[dict[str, Any]]]] = {
    "bytes": _bytes, "speeds": _speeds, "copies": _copies, "offload": _offload, "sanitizer": _sanitized}
"""What is measured, in the order of its worth."""


def _seconds(setup: Setup, call: Callable[[], Any]) -> float:
    """The median of the time of a call on the device."""
    streams, found = streams_of(torch.device(setup.device)), []
    call()
    for _ in range(setup.runs):
        first = streams.mark()
        call()
        last = streams.mark()
        streams.wait(last)
        found.append(streams.seconds(first, last))
    return median(found)
