"""VGG-16, configuration D."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["vgg16"]


def vgg16(batch: int = 128) -> Network:
    """Simonyan and Zisserman 2014, table 1, column D; 138,357,544 parameters."""
    net = Builder("vgg16", "Simonyan and Zisserman 2014, configuration D", batch, (3, 224, 224))
    for stage, (layers, channels) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1):
        for layer in range(1, layers + 1):
            net.conv(f"conv{stage}_{layer}", channels, 3, pad=1)
        net.pool(f"pool{stage}", 2, 2)
    for name in ("fc6", "fc7"):
        net.fc(name, 4096)
        net.dropout(f"{name}/dropout")
    net.fc("fc8", 1000, relu=False)
    return net.network()
