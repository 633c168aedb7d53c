"""Blocks of a transformer's encoder with a ReLU."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["transformer"]


def transformer(batch: int = 64, blocks: int = 1, positions: int = 512, features: int = 512, heads: int = 8,
                hidden: int = 2048) -> Network:
    """Vaswani et al. 2017, the base model's encoder; 3,152,384 parameters a block."""
    net = Builder("transformer", "Vaswani et al. 2017, an encoder block of the base model", batch,
                  (positions, features))
    for number in range(1, blocks + 1):
        net.transformer_block(f"block{number}", heads, hidden)
    return net.network()
