"""Decoding with a cache of keys and values (KV cache) that does not fit the device: the rest is in host memory.

A step of decoding makes a token for each sequence of the batch. It reads all weights, and the keys and values of all
tokens so far. The device keeps the weights, two layers' worth of buffers, and as much of the cache as fits; the rest
comes over the link in every step, layer by layer, while the layers before compute. What is new goes to the host.

1. **Computing.** A step takes the longer of its operations at a share of the peak, those of products and 4 for each
   value of the queries and token of the context, and its memory traffic: weights, cache, and what comes over the link.
2. **Link.** Both directions run at the same time. Transfers of a layer are in flight together, so that their start is
   paid once for each layer. Without the engine transfers have no start, which favours them.
3. **The step** takes the longer of computing and link, because the order of the layers is known and they are fetched
   ahead.
4. **Pages.** A transfer is a block of tokens, contiguous on the device: keys or values of a layer. Its stream fills
   pages of the host's memory, the last one partly. The engine's page lists have pages of 4 KiB to 2 MiB. Without the
   engine blocks fill pages as well.
5. **Bringing a context back**, as after pre-emption or for a prefix that is known: all layers of one sequence over the
   link, or the same keys and values computed again, with products and causal attention at the same share of the peak.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

from cdma.workload.dumps.types import element_type
from cdma.workload.networks.catalog import load_network
from cdma.workload.networks.layers import INPUT
from cdma.workload.timeline.schedule import Engine

__all__ = ["BLOCK_TOKENS", "PAGE_BYTES", "Cache", "Decoder", "kv_cache", "load_decoder"]

BLOCK_TOKENS = 16
"""Tokens of a block, as in vLLM by default."""
PAGE_BYTES = 4096
"""Bytes of a page of host memory."""
_PAGES = tuple(1 << log for log in range(12, 22))


@dataclass(frozen=True)
class Decoder:
    """A decoder.

    Parameters
    ----------
    name, about
        Its name, and where its sizes are from.
    dtype
        Type of its weights, keys and values.
    blocks
        Layers of attention.
    query_values, key_values
        Values of a token's queries, and of its keys, in a block; its values have as many as its keys.
    params
        Parameters, all of which a step reads.
    token_flops
        Operations of products for a token, without attention.
    """

    name: str
    about: str
    dtype: str
    blocks: int
    query_values: int
    key_values: int
    params: int
    token_flops: float

    @property
    def row_bytes(self) -> int:
        """Bytes of the keys of a token in a block."""
        return self.key_values * element_type(self.dtype).itemsize

    @property
    def token_bytes(self) -> int:
        """Bytes of keys and values of a token, in all blocks."""
        return 2 * self.blocks * self.row_bytes

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights."""
        return self.params * element_type(self.dtype).itemsize


def load_decoder(name: str) -> Decoder:
    """A decoder: a network of the catalogue, or the path of a JSON file with one.

    Raises
    ------
    ValueError
        If there is no such network, it has no fused attention, or its layers of attention differ.
    """
    network = load_network(name)
    shapes = {layer.name: layer.shape for layer in network.layers} | {INPUT: network.input_shape}
    attention = [layer for layer in network.layers if layer.kind == "attention"]
    found = {(layer.shape[-1], (sum(shapes[source][-1] for source in layer.inputs) - layer.shape[-1]) // 2,
              layer.shape[0]) for layer in attention}
    if len(found) != 1:
        what = "its layers of attention differ" if found else "it has no fused attention"
        raise ValueError(f"{network.name} is no decoder whose keys and values could be kept: {what}; give gpt2, llama, "
                         f"relu2 or moe, for instance")
    queries, keys, positions = found.pop()
    flops = sum(layer.flops for layer in network.layers if layer.kind in ("fc", "matmul"))
    return Decoder(network.name, network.about, network.dtype, len(attention), queries, keys, network.params,
                   flops / positions)


@dataclass(frozen=True)
class Cache:
    """A KV cache, where it is and how it moves.

    Parameters
    ----------
    decoder
        The decoder.
    context, batch
        Tokens of each sequence, and sequences.
    peak, bandwidth, memory
        Operations a second that are reached, bytes a second of the device's memory, and its bytes.
    link
        Bytes a second of the link, in each direction.
    block_tokens, page_bytes
        Tokens of a transfer, and bytes of a page.

    Raises
    ------
    ValueError
        If a number is not allowed, or the weights do not fit.
    """

    decoder: Decoder
    context: int
    batch: int
    peak: float
    bandwidth: float
    memory: float
    link: float
    block_tokens: int = BLOCK_TOKENS
    page_bytes: int = PAGE_BYTES

    def __post_init__(self) -> None:
        for name, value in (("context", self.context), ("batch", self.batch), ("block", self.block_tokens)):
            if value < 1:
                raise ValueError(f"the {name} must be 1 or more, not {value}")
        if self.page_bytes not in _PAGES:
            raise ValueError(f"a page must have 4096 to 2097152 bytes, a power of two, not {self.page_bytes}")
        if self.room < 0 < self.away:
            raise ValueError(f"{self.decoder.name} does not fit: its weights and the buffers of two layers need "
                             f"{(self.memory - self.room) / 1e9:.1f} GB, and the device has {self.memory / 1e9:g}")

    @property
    def whole_bytes(self) -> int:
        """Bytes of the whole cache."""
        return self.batch * self.context * self.decoder.token_bytes

    @property
    def room(self) -> float:
        """Bytes of the device for the cache, beside the weights and two layers' buffers."""
        return self.memory - self.decoder.weight_bytes - 2 * self.whole_bytes / self.decoder.blocks

    @property
    def away(self) -> float:
        """Bytes of the cache in host memory."""
        if self.whole_bytes + self.decoder.weight_bytes <= self.memory:
            return 0.0
        return self.whole_bytes - min(self.whole_bytes, self.room)

    @property
    def block_bytes(self) -> int:
        """Bytes of a transfer."""
        return self.block_tokens * self.decoder.row_bytes


def kv_cache(cache: Cache, engine: Engine, ratio: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What fits, and all rows; ``ratio`` is that of keys and values through the engine.

    Returns
    -------
    tuple[dict[str, Any], list[dict[str, Any]]]
        Bytes of a token and of the whole cache, sequences of this context and tokens of one sequence on the device
        alone, the share of the cache that is in host memory, and milliseconds of computing one context again. Rows are
        ``memory`` (all of it on a device that is large enough), ``offload`` and ``engine``: a step of decoding, its
        computing and transfers, tokens of all sequences a second, 10^9 bytes over the link in a step and of whole pages
        in host memory, the share of these that is empty, and bringing back the context of one sequence.
    """
    token_bytes, weight_bytes = cache.decoder.token_bytes, cache.decoder.weight_bytes
    spare = max(cache.memory - weight_bytes, 0.0)
    resident = {"token_bytes": token_bytes, "cache_gb": cache.whole_bytes / 1e9, "weights_gb": weight_bytes / 1e9,
                "sequences": int(spare // (cache.context * token_bytes)), "longest": int(spare // token_bytes),
                "away": cache.away / cache.whole_bytes, "again_ms": _again(cache) * 1e3}
    coded = engine.transfer(cache.link, lambda name: ratio)

    def through(direction: str, size: float) -> float:
        # The start is that of a transfer of nothing; the rest of the time is proportional to the bytes.
        start = coded("", direction, 0)
        each = (coded("", direction, 1 << 30) - start) / (1 << 30)
        return cache.decoder.blocks * start + size * each if size else 0.0

    return resident, [_row(cache, "memory", 0.0, 1.0, lambda direction, size: 0.0),
                      _row(cache, "offload", cache.away, 1.0, lambda direction, size: size / cache.link),
                      _row(cache, "engine", cache.away, ratio, through)]


def _row(cache: Cache, name: str, away: float, ratio: float, seconds: Callable[[str, float], float]
         ) -> dict[str, Any]:
    fresh = cache.batch * cache.decoder.token_bytes * (away / cache.whole_bytes)
    moved = max(seconds("prefetch", away), seconds("offload", fresh))
    work = _compute(cache, away)
    step = max(work, moved)
    packed = cache.block_bytes / ratio
    paged = ceil(packed / cache.page_bytes) * cache.page_bytes
    return {"row": name, "step_ms": step * 1e3, "compute_ms": work * 1e3, "link_ms": moved * 1e3,
            "tokens_per_s": cache.batch / step, "link_gb": away / ratio / 1e9,
            "host_gb": away / cache.block_bytes * paged / 1e9, "page_waste": 1 - packed / paged if away else 0.0,
            "back_ms": seconds("prefetch", cache.context * cache.decoder.token_bytes) * 1e3}


def _compute(cache: Cache, away: float) -> float:
    decoder = cache.decoder
    products = decoder.token_flops * cache.batch
    attention = 4 * decoder.blocks * decoder.query_values * cache.context * cache.batch
    traffic = cache.decoder.weight_bytes + cache.whole_bytes + away
    return max((products + attention) / cache.peak, traffic / cache.bandwidth)


def _again(cache: Cache) -> float:
    """Seconds of computing the keys and values of one context again; causal attention has half of all pairs."""
    decoder = cache.decoder
    attention = 2 * decoder.blocks * decoder.query_values * cache.context ** 2
    return (decoder.token_flops * cache.context + attention) / cache.peak
