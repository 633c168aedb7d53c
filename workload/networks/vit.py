"""The vision transformer: an encoder of the patches of a picture."""

from __future__ import annotations

from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.layers import Network

__all__ = ["vit"]


def vit(batch: int = 64, dtype: str = "bfloat16", compute: str = "", blocks: int = 12) -> Network:
    """Dosovitskiy et al. 2021, ViT-B/16 for 1000 classes; 86,567,656 parameters."""
    net = DecoderBuilder("vit", "Dosovitskiy et al. 2021, ViT-B/16: 12 blocks of 768 features", batch, (3, 224, 224),
                         dtype, compute)
    net.conv("patches", 768, 16, stride=16, relu=False)
    net.tokens("tokens")
    for number in range(1, blocks + 1):
        net.decoder_block(f"block{number}", 12, 3072, activation="gelu", norm="layer", bias=True, rotary=False,
                          causal=False)
    net.layer_norm("norm")
    net.pick("class")
    net.scores("head", 1000, bias=True)
    return net.network()
