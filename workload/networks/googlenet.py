"""GoogLeNet, as Caffe's ``bvlc_googlenet``, without the two auxiliary classifiers."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["googlenet"]

_MODULES = (
    ("3a", 64, (96, 128), (16, 32), 32),
    ("3b", 128, (128, 192), (32, 96), 64),
    ("4a", 192, (96, 208), (16, 48), 64),
    ("4b", 160, (112, 224), (24, 64), 64),
    ("4c", 128, (128, 256), (24, 64), 64),
    ("4d", 112, (144, 288), (32, 64), 64),
    ("4e", 256, (160, 320), (32, 128), 128),
    ("5a", 256, (160, 320), (32, 128), 128),
    ("5b", 384, (192, 384), (48, 128), 128),
)
_POOLS = {"3b": "pool3", "4e": "pool4"}


def googlenet(batch: int = 256) -> Network:
    """Szegedy et al. 2014, table 1; 6,998,552 parameters."""
    net = Builder("googlenet", "Szegedy et al. 2014, as Caffe's bvlc_googlenet without auxiliary classifiers", batch,
                  (3, 224, 224))
    net.conv("conv1", 64, 7, 2, pad=3)
    net.pool("pool1", 3, 2)
    net.lrn("norm1")
    net.conv("conv2_reduce", 64, 1)
    net.conv("conv2", 192, 3, pad=1)
    net.lrn("norm2")
    last = net.pool("pool2", 3, 2)
    for name, one, three, five, pool in _MODULES:
        last = net.inception(f"inception_{name}", last, one, three, five, pool)
        if name in _POOLS:
            last = net.pool(_POOLS[name], 3, 2)
    net.global_pool("pool5")
    net.dropout("drop")
    net.fc("fc", 1000, relu=False)
    return net.network()
