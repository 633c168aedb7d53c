"""What ``cdma kvcache`` gives: a decoder whose cache is partly in host memory, without and with the engine."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.workload.serving.kvcache import CacheRow, Resident
from cdma.workload.serving.ratios import KvRatio

__all__ = ["KvOutcome"]


@dataclass(frozen=True)
class KvOutcome:
    """The cache of a decoder on a GPU, behind a link.

    Parameters
    ----------
    network, about, dtype, context, batch
        The decoder, what it is, the type of its values, tokens of a sequence, and sequences.
    gpu, gpu_name, memory_gb, link_gb_per_s, engine
        The GPU, its full name, 10^9 bytes of its memory, 10^9 bytes a second of the link, and the engine's preset.
    block_tokens, block_bytes, page_bytes
        Tokens and bytes of a transfer, and bytes of a page of host memory.
    measured
        The ratio of keys and values.
    resident
        What fits.
    rows
        The ways of moving the rest.
    """

    network: str
    about: str
    dtype: str
    context: int
    batch: int
    gpu: str
    gpu_name: str
    memory_gb: float
    link_gb_per_s: float
    engine: str
    block_tokens: int
    block_bytes: int
    page_bytes: int
    measured: KvRatio
    resident: Resident
    rows: tuple[CacheRow, ...]
