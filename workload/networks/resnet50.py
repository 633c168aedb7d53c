"""ResNet-50, with the stride in the 3x3 convolutions, as torchvision has it."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["resnet50"]


def resnet50(batch: int = 64) -> Network:
    """He et al. 2015, table 1; 25,557,032 parameters."""
    net = Builder("resnet50", "He et al. 2015, as torchvision's resnet50", batch, (3, 224, 224))
    _conv_norm(net, "conv1", 64, 7, 2, 3)
    last = net.pool("pool1", 3, 2, pad=1, ceil=False)
    for stage, (blocks, channels) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for number in range(1, blocks + 1):
            name, stride = f"layer{stage}.{number}", 2 if stage > 1 and number == 1 else 1
            _conv_norm(net, f"{name}.conv1", channels, 1, after=last)
            _conv_norm(net, f"{name}.conv2", channels, 3, stride, 1)
            wide = _conv_norm(net, f"{name}.conv3", 4 * channels, 1, relu=False)
            # The first block of a stage has other channels, so its shortcut has a convolution.
            short = last if number > 1 else _conv_norm(net, f"{name}.shortcut", 4 * channels, 1, stride, relu=False,
                                                       after=last)
            last = net.add(f"{name}.add", [wide, short], relu=True)
    net.global_pool("pool5")
    net.fc("fc", 1000, relu=False)
    return net.network()


def _conv_norm(net: Builder, name: str, channels: int, kernel: int, stride: int = 1, pad: int = 0, relu: bool = True,
               after: str | None = None) -> str:
    net.conv(name, channels, kernel, stride, pad, bias=False, relu=False, after=after)
    return net.norm(f"{name}.norm", relu=relu)
