"""Long data through one core: writes the files of a run, starts it, and reads back when every beat was taken."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from cdma.golden.codec import lines as zvc
from cdma.golden.results import from_json
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.generate.verilog import Verilog, emit
from cdma.verif.common import runner
from cdma.verif.common.progress import watch
from cdma.verif.common.stream import Bytes
from cdma.verif.core.jobs import PacketFiles, StreamJob, StreamReport
from cdma.verif.rules.instances import instance, with_rules

__all__ = ["Passage", "Tensor", "build_core", "checked_core", "limit", "stream"]

_RULES = "axi4_stream.v"
_USER_BITS = 64
"""As many as any core's `tuser` has, or more."""


@dataclass(frozen=True)
class Tensor:
    """Raw bytes to send as one packet, and what they pack to.

    Parameters
    ----------
    raw
        A multiple of ``element_bytes`` bytes.
    """

    raw: Bytes
    packed: Bytes
    element_bytes: int

    @classmethod
    def of(cls, array: np.ndarray, element_bytes: int) -> Tensor:
        """The tensor of any array's bits.

        Raises
        ------
        ValueError
            If its length is not a multiple of the element size.
        """
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if raw.size % element_bytes:
            raise ValueError(f"{raw.size} bytes are not a multiple of the element size of {element_bytes} bytes")
        return cls(raw, zvc.compress(raw, element_bytes), element_bytes)


@dataclass(frozen=True)
class Passage:
    """How a packet passed a core.

    Parameters
    ----------
    taken, given
        Cycles of the first and the last beat and the number of beats, of what went in and what came out; or the
        cycles of all beats of a tensor that was sent alone. Empty when none did.
    difference
        The first difference in a sentence, or None.
    """

    taken: list[int]
    given: list[int]
    difference: str | None


def limit(raw_bytes: int, packed_bytes: int, beat_bytes: int) -> float:
    """Raw beats per cycle that a core can carry: one, or as many as the packed side lets through."""
    raw_beats = raw_bytes / beat_bytes
    return min(1.0, beat_bytes * raw_beats / packed_bytes) if packed_bytes else 1.0


def build_core(config: CoreConfig | BlockCoreConfig, *, simulator: str, build_dir: Path,
               waves: bool = False) -> runner.Build:
    """Generate and compile a core."""
    verilog = _generated(config)
    return runner.build(checked_core(verilog), verilog.name, simulator=simulator, build_dir=build_dir, waves=waves)


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
def _generated(config: CoreConfig | BlockCoreConfig) -> Verilog:
    """A core's Verilog, once in a process: it takes seconds, and a core is simulated many times."""
    return emit(config)


def stream(built: runner.Build, config: CoreConfig, tensors: Sequence[Tensor], *, folder: Path, stalls: float = 0.0,
           burst: float = 1.0, seed: int = 1, alone: bool = False,
           progress: Callable[[int], None] | None = None) -> list[Passage]:
    """Send tensors through a core, back to back or one by one.

    Parameters
    ----------
    built
        The core, compiled from ``config``.
    folder
        Where the run keeps its files.
    stalls, burst
        Share of the cycles that either side pauses, and mean length of a pause.
    alone
        Send each only when the one before has come out, and report the cycles of all beats.
    progress
        Called now and then with the number of beats that came out.

    Returns
    -------
    list
        A passage for every tensor.

    Raises
    ------
    BenchError
        If the simulation ended before its bench.
    """
    folder.mkdir(parents=True, exist_ok=True)
    packets = []
    for number, tensor in enumerate(tensors):
        files = {name: str(folder.resolve() / f"{number}.{name}.npy") for name in ("raw", "packed", "starts")}
        sizes = zvc.line_packed_bytes(tensor.raw, tensor.element_bytes)
        compressing = config.core == "compressor"
        np.save(files["raw"], tensor.raw)
        np.save(files["packed"], tensor.packed)
        np.save(files["starts"], np.cumsum(sizes) - sizes if compressing else np.arange(0, tensor.raw.size, LINE_BYTES))
        data, expected = ("raw", "packed") if compressing else ("packed", "raw")
        packets.append(PacketFiles(files[data], files[expected], files["starts"], tensor.element_bytes))
    job = StreamJob(config, tuple(packets), stalls, burst, alone)
    with watch(folder / "progress", progress):
        report = from_json(StreamReport, runner.run(built, "cdma.verif.core.benches.stream", job=job, folder=folder,
                                                    seed=seed))
    return [_passage(report, number) for number in range(len(tensors))]


def _passage(report: StreamReport, number: int) -> Passage:
    judged, given = report.judged, report.given
    difference = judged[number] if number < len(judged) else report.failed
    if difference is None and not any(judged):
        difference = report.failed
    return Passage(report.taken[number], given[number] if number < len(given) else [], difference)
