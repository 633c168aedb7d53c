"""The records that runs of an engine exchange with their benches, as JSON: what to do, and what was seen."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.config.engine import EngineConfig
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.top import IMAGE_BYTES

__all__ = ["ArrayReport", "Busy", "Handling", "MeasureJob", "Move", "NetworkJob", "NetworkReport", "Passage"]


@dataclass(frozen=True)
class Handling:
    """How an array is moved: fields of its descriptors.

    Parameters
    ----------
    coding
        Of the blocks of the stream, one of :class:`cdma.golden.codec.coding.Coding`.
    fallback, leave_raw
        Whether blocks may stay raw, and whether all do.
    narrow
        What float32 values are rounded to, one of :class:`cdma.golden.codec.narrowing.Narrowing`.
    """

    coding: int
    fallback: bool = True
    leave_raw: bool = False
    narrow: int = 0


@dataclass(frozen=True)
class Move:
    """An array to move: the file with its bytes, and how."""

    file: str
    how: Handling


@dataclass(frozen=True)
class NetworkJob:
    """Job of :mod:`cdma.verif.engine.benches.network`.

    Parameters
    ----------
    config
        The engine.
    image_bytes
        Bytes of each memory.
    moves
        The arrays, in order of their offload.
    behaviour
        How the memories answer.
    link_share
        Share of the bandwidth of ``behaviour`` that the link has.
    row
        Whether the arrays go one directly after the other, instead of one at a time.
    """

    config: EngineConfig
    image_bytes: int
    moves: tuple[Move, ...]
    behaviour: Behaviour
    link_share: float
    row: bool = False


@dataclass
class ArrayReport:
    """What was seen of an array; the bench fills it in.

    Parameters
    ----------
    offload_cycles, prefetch_cycles
        Cycles of its completions; 0 where there was none.
    raw_blocks
        Blocks that were left raw.
    difference
        What was wrong first; None when all was right.
    """

    offload_cycles: int = 0
    prefetch_cycles: int = 0
    raw_blocks: int = 0
    difference: str | None = None

    def note(self, difference: str | None) -> None:
        """Keep the first difference."""
        self.difference = self.difference or difference


@dataclass(frozen=True)
class NetworkReport:
    """Report of :mod:`cdma.verif.engine.benches.network`.

    Parameters
    ----------
    arrays
        In the order of the job. Cycles of an array in a row include waiting for those before it.
    offload_cycles, prefetch_cycles
        Cycles in which the direction was busy: those of all arrays together.
    """

    arrays: tuple[ArrayReport, ...]
    offload_cycles: int
    prefetch_cycles: int


@dataclass(frozen=True)
class MeasureJob:
    """Job of :mod:`cdma.verif.engine.benches.measure`.

    Parameters
    ----------
    config
        The engine.
    densities
        Of the tensors.
    raw_bytes
        Size of each tensor.
    coding
        Of their blocks, one of :class:`cdma.golden.codec.coding.Coding`.
    behaviour
        How the memories answer.
    count
        Tensors of each density, one directly after the other.
    page_size
        Logarithm of the bytes of the pages that streams are in; None: each is at one address.
    ring_entries
        Size of the write-back rings that completions are written to; None: they are read from the window.
    """

    config: EngineConfig
    densities: tuple[float, ...]
    raw_bytes: int
    coding: int
    behaviour: Behaviour
    count: int = 1
    image_bytes: int = IMAGE_BYTES
    page_size: int | None = None
    ring_entries: int | None = None


@dataclass(frozen=True)
class Busy:
    """Beats that passed a port in one direction, and the cycles of the first and the last."""

    beats: int
    first: int
    last: int


@dataclass(frozen=True)
class Passage:
    """One transfer, or several of equal tensors that came one directly after the other.

    Parameters
    ----------
    direction
        ``offload`` or ``prefetch``.
    density, raw_bytes, packed_bytes
        Of its tensor, or all of them together.
    link, lanes
        Beats of the link, and of each lane that had any.
    cycles
        Of its completion, or the last one's.
    span
        Cycles from the first beat of any kind at any port to the last, completions that are written back among them.
    """

    direction: str
    density: float
    raw_bytes: int
    packed_bytes: int
    link: Busy
    lanes: tuple[Busy, ...]
    cycles: int
    span: int

