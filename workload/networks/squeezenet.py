"""SqueezeNet 1.0, with the layer names of its authors' model, which the shipped dump has as well."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.layers import Network

__all__ = ["squeezenet"]


def squeezenet(batch: int = 512) -> Network:
    """Iandola et al. 2016, table 1; 1,248,424 parameters."""
    net = Builder("squeezenet", "Iandola et al. 2016, version 1.0", batch, (3, 227, 227))
    net.conv("conv1", 96, 7, 2)
    net.pool("pool1", 3, 2)
    for number, squeeze in enumerate((16, 16, 32, 32, 48, 48, 64, 64), 2):
        fire = f"fire{number}"
        squeezed = net.conv(f"{fire}/squeeze1x1", squeeze, 1)
        wide = [net.conv(f"{fire}/expand1x1", 4 * squeeze, 1, after=squeezed),
                net.conv(f"{fire}/expand3x3", 4 * squeeze, 3, pad=1, after=squeezed)]
        net.concat(f"{fire}/concat", wide)
        if number in (4, 8):
            net.pool(f"pool{number}", 3, 2)
    net.dropout("drop9")
    net.conv("conv10", 1000, 1)
    net.global_pool("pool10")
    return net.network()
