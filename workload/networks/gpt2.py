"""GPT-2: LayerNorm, GELU, learned positions."""

from __future__ import annotations

from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.layers import Network

__all__ = ["gpt2", "gpt2_xl"]


def gpt2(batch: int = 8, positions: int = 1024, dtype: str = "bfloat16", compute: str = "", blocks: int = 12,
         features: int = 768, heads: int = 12, name: str = "gpt2") -> Network:
    """Radford et al. 2019, the smallest; 124,439,808 parameters, as the released weights have."""
    about = f"Radford et al. 2019, {blocks} blocks of {features} features"
    net = DecoderBuilder(name, about, batch, (positions,), dtype, compute)
    net.embedding("embedding", 50257, features, positions=True)
    for number in range(1, blocks + 1):
        net.decoder_block(f"block{number}", heads, 4 * features, activation="gelu", norm="layer", bias=True,
                          rotary=False)
    net.layer_norm("norm")
    net.scores("head", 50257, tied=True)
    return net.network()


def gpt2_xl(batch: int = 1, positions: int = 1024, dtype: str = "bfloat16", compute: str = "") -> Network:
    """Radford et al. 2019, the largest; 1,557,611,200 parameters."""
    return gpt2(batch, positions, dtype, compute, 48, 1600, 25, "gpt2-xl")
