"""Decoders with rotary embedding and grouped queries: Llama, one with squared ReLU, and a mixture of experts."""

from __future__ import annotations

from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.layers import Network

__all__ = ["llama", "moe", "relu2"]


def llama(batch: int = 1, positions: int = 8192, dtype: str = "bfloat16", compute: str = "", blocks: int = 32,
          groups: int = 8, hidden: int = 14336, words: int = 128256,
          about: str = "Dubey et al. 2024, Llama 3 8B: 32 blocks of 4096 features") -> Network:
    """Llama 3 8B; 8,030,261,248 parameters. Llama 2 7B (Touvron et al. 2023) has 32 groups, 11008 hidden features and
    32000 words."""
    return _decoder("llama", about, batch, positions, dtype, compute, words, 4096, blocks, heads=32, groups=groups,
                    hidden=hidden)


def relu2(batch: int = 1, positions: int = 4096, dtype: str = "bfloat16", compute: str = "",
          blocks: int = 32) -> Network:
    """Nemotron-4 15B (Parmar et al. 2024): squared ReLU, as So et al. 2021 (Primer) found."""
    return _decoder("relu2", "Parmar et al. 2024, Nemotron-4 15B: squared ReLU (So et al. 2021), 32 blocks of 6144 "
                    "features", batch, positions, dtype, compute, 256000, 6144, blocks, heads=48, groups=8,
                    hidden=4 * 6144, activation="relu2", norm="layer")


def moe(batch: int = 1, positions: int = 32768, dtype: str = "bfloat16", compute: str = "",
        blocks: int = 32) -> Network:
    """Mixtral 8x7B (Jiang et al. 2024): two of eight experts for each position."""
    return _decoder("moe", "Jiang et al. 2024, Mixtral 8x7B: 2 of 8 experts, 32 blocks of 4096 features", batch,
                    positions, dtype, compute, 32000, 4096, blocks, heads=32, groups=8, hidden=14336, experts=8,
                    active=2)


def _decoder(name: str, about: str, batch: int, positions: int, dtype: str, compute: str, words: int, features: int,
             blocks: int, heads: int, groups: int, hidden: int, activation: str = "swiglu", norm: str = "rms",
             experts: int = 1, active: int = 1) -> Network:
    net = DecoderBuilder(name, about, batch, (positions,), dtype, compute)
    net.embedding("embedding", words, features)
    for number in range(1, blocks + 1):
        net.decoder_block(f"block{number}", heads, hidden, groups, activation, norm, experts=experts, active=active)
    net.rms_norm("norm") if norm == "rms" else net.layer_norm("norm")
    net.scores("head", words)
    return net.network()
