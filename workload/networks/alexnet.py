"""AlexNet, as Caffe's ``bvlc_alexnet``: two groups in three of the convolutions, one input crop of 227."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["alexnet"]


def alexnet(batch: int = 256) -> Network:
    """Krizhevsky et al. 2012; 60,965,224 parameters."""
    net = Builder("alexnet", "Krizhevsky et al. 2012, as Caffe's bvlc_alexnet", batch, (3, 227, 227))
    net.conv("conv1", 96, 11, 4)
    net.lrn("norm1")
    net.pool("pool1", 3, 2)
    net.conv("conv2", 256, 5, pad=2, groups=2)
    net.lrn("norm2")
    net.pool("pool2", 3, 2)
    net.conv("conv3", 384, 3, pad=1)
    net.conv("conv4", 384, 3, pad=1, groups=2)
    net.conv("conv5", 256, 3, pad=1, groups=2)
    net.pool("pool5", 3, 2)
    for name in ("fc6", "fc7"):
        net.fc(name, 4096)
        net.dropout(f"{name}/dropout")
    net.fc("fc8", 1000, relu=False)
    return net.network()
