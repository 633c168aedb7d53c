"""Network in Network, as Caffe's model zoo has it for ImageNet."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["nin"]


def nin(batch: int = 128) -> Network:
    """Lin et al. 2014; 7,595,176 parameters."""
    net = Builder("nin", "Lin et al. 2014, as the ImageNet model of Caffe's model zoo", batch, (3, 224, 224))
    net.conv("conv1", 96, 11, 4)
    net.conv("cccp1", 96, 1)
    net.conv("cccp2", 96, 1)
    net.pool("pool1", 3, 2)
    net.conv("conv2", 256, 5, pad=2)
    net.conv("cccp3", 256, 1)
    net.conv("cccp4", 256, 1)
    net.pool("pool2", 3, 2)
    net.conv("conv3", 384, 3, pad=1)
    net.conv("cccp5", 384, 1)
    net.conv("cccp6", 384, 1)
    net.pool("pool3", 3, 2)
    net.dropout("drop")
    net.conv("conv4", 1024, 3, pad=1)
    net.conv("cccp7", 1024, 1)
    net.conv("cccp8", 1000, 1)
    net.global_pool("pool4")
    return net.network()
