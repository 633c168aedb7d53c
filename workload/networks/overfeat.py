"""OverFeat, the fast model."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["overfeat"]


def overfeat(batch: int = 256) -> Network:
    """Sermanet et al. 2013, table 1; 145,920,872 parameters."""
    net = Builder("overfeat", "Sermanet et al. 2013, the fast model of table 1", batch, (3, 231, 231))
    net.conv("conv1", 96, 11, 4)
    net.pool("pool1", 2, 2)
    net.conv("conv2", 256, 5)
    net.pool("pool2", 2, 2)
    net.conv("conv3", 512, 3, pad=1)
    net.conv("conv4", 1024, 3, pad=1)
    net.conv("conv5", 1024, 3, pad=1)
    net.pool("pool5", 2, 2)
    for name, features in (("fc6", 3072), ("fc7", 4096)):
        net.fc(name, features)
        net.dropout(f"{name}/dropout")
    net.fc("fc8", 1000, relu=False)
    return net.network()
