"""A small network with the times of its steps, for timelines worked out on paper."""

from __future__ import annotations

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.tensors import Tensors, tensors
from cdma.workload.timeline.compute import Compute

__all__ = ["ENDLESS", "WORK", "three"]

WORK = [Compute(3.0, 6.0, 0, 0), Compute(4.0, 9.0, 0, 0), Compute(5.0, 10.0, 0, 0)]
ENDLESS = 1e30


def three(batch: int = 10) -> Tensors:
    """Three 1x1 convolutions; tensors of 4,000 bytes (data), 8,000 (a) and 12,000 (b), and c of 4,000."""
    net = Builder("three", "a test", batch, (1, 10, 10))
    net.conv("a", 2, 1)
    net.conv("b", 3, 1)
    net.conv("c", 1, 1, relu=False)
    return tensors(net.network())
