"""Long data through one core: writes the files of a run, starts it, and reads back when every beat was taken."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding
from cdma.hdl.generate.verilog import Verilog, emit
from cdma.verif.common import runner
from cdma.verif.common.progress import watch
from cdma.verif.common.stream import Bytes
from cdma.verif.core.testbench import Config
from cdma.verif.rules.instances import instance, with_rules

__all__ = ["Tensor", "build_core", "checked_core", "of_lines", "stream"]

_RULES = "axi4_stream.v"
_USER_BITS = 64
"""As many as any core's `tuser` has, or more."""


@dataclass(frozen=True)
class Tensor:
    """An array to send: its name, its bytes, the stream that they pack to, and its coding.

    A coding of lines is for the cores of lines, with elements of its size; others are for the block cores.
    """

    name: str
    raw: Bytes
    packed: Bytes
    coding: Coding

    @classmethod
    def of(cls, array: np.ndarray, coding: Coding, block_bytes: int = blocks.BLOCK_BYTES, name: str = "") -> Tensor:
        """The tensor of any array's bits.

        Raises
        ------
        ValueError
            If its length is not a multiple of the element size, or is 0 where there have to be blocks.
        """
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if raw.size % coding.element_bytes or not (raw.size or of_lines(coding)):
            raise ValueError(f"array {name}: {raw.size} bytes are not a multiple of the element size of "
                             f"{coding.element_bytes} bytes")
        return cls(name, raw, zvc.compress(raw, coding.element_bytes) if of_lines(coding) else
                   blocks.compress(raw, coding, block_bytes), coding)


def of_lines(coding: Coding) -> bool:
    """Whether a coding is that of a core of lines."""
    return not coding.sized


def build_core(config: Config, *, simulator: str, build_dir: Path,
               waves: bool = False, options: Sequence[str] = ()) -> runner.Build:
    """Generate and compile a core; options are more of the simulator's compiler."""
    verilog = _generated(config)
    return runner.build(checked_core(verilog), verilog.name, simulator=simulator, build_dir=build_dir, waves=waves,
                        options=options)


def checked_core(verilog: Verilog) -> str:
    """A core's Verilog with the rules of its streams; a broken one ends the simulation."""
    ports = {port.name for port in verilog.ports}
    return with_rules(verilog.text, verilog.name, [_RULES],
                      [_stream_rules(verilog.config.beat_bytes, ports, prefix) for prefix in ("s_axis", "m_axis")])


def _stream_rules(beat_bytes: int, ports: Container[str], prefix: str) -> str:
    pins = {name: f"{prefix}_{name}" for name in ("tdata", "tkeep", "tlast", "tuser", "tvalid", "tready")
            if f"{prefix}_{name}" in ports}
    # Of packets that come in, bytes count in the last beat only.
    values = {"DATA_WIDTH": 8 * beat_bytes, "USER_WIDTH": _USER_BITS, "CONTIGUOUS": int(prefix == "m_axis")}
    return instance(_RULES, f"{prefix}_rules", values,
                    {"aclk": "aclk", "aresetn": "aresetn", **pins, "tstrb": pins["tkeep"]})


@lru_cache(maxsize=64)
def _generated(config: Config) -> Verilog:
    """A core's Verilog, once in a process: it takes seconds, and a core is simulated many times."""
    return emit(config)


def stream(built: runner.Build, config: Config, tensors: Sequence[Tensor], *, folder: Path, stalls: float = 0.0,
           seed: int = 1, alone: bool = False, progress: Callable[[int], None] | None = None) -> list[dict[str, Any]]:
    """Send tensors through a core, back to back or one by one. A block decompressor gets the blocks that are not raw.

    Parameters
    ----------
    built
        The core, compiled from ``config``.
    folder
        Where the run keeps its files.
    stalls
        Share of the cycles that either side pauses.
    alone
        Send each packet only when the one before has come out, and report the cycles of all beats.
    progress
        Called now and then with the number of beats that came out.

    Returns
    -------
    list
        For every tensor ``taken`` and ``given``, the cycles of the first and the last beat and the number of beats, of
        what went in and of what came out, or the cycles of all beats, empty when there were none; and ``difference``,
        the first one in a sentence, or None.

    Raises
    ------
    BenchError
        If the simulation ended before its bench.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arrays: list[dict[str, Any]] = []
    for number, tensor in enumerate(tensors):
        files = {side: str(folder.resolve() / f"{number}.{side}.npy") for side in ("raw", "packed")}
        for side, file in files.items():
            np.save(file, getattr(tensor, side))
        arrays.append({"coding": tensor.coding, **files})
    job = {"config": config.as_dict(), "arrays": arrays, "stalls": stalls, "alone": alone}
    with watch(folder / "progress", progress):
        return runner.run(built, "cdma.verif.core.benches.stream", job=job, folder=folder, seed=seed)["arrays"]
