"""Published sizes of the networks, to check the tables: parameters, multiply-adds, activations."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.workload.networks.layers import Network

__all__ = ["PRODUCTS", "PUBLISHED", "Counts", "counts"]

PRODUCTS = ("conv", "fc", "matmul", "attention")
"""Kinds of layers that multiply and add."""


@dataclass(frozen=True)
class Counts:
    """Sizes of a network for one sample, None where nothing is published.

    Parameters
    ----------
    params
        Learned parameters.
    multiply_adds
        Of the forward pass, in convolutions and products.
    activations
        Values that convolutions and products write.
    source
        Where this is published.
    """

    params: float | None
    multiply_adds: float | None
    activations: float | None
    source: str


PUBLISHED = {
    "alexnet": Counts(60e6, 0.72e9, 650e3, "Krizhevsky et al. 2012; multiply-adds as commonly quoted"),
    "overfeat": Counts(145e6, 2.81e9, None, "Sermanet et al. 2013, table 4, fast model"),
    "nin": Counts(7.6e6, None, None, "the ImageNet model of Caffe's model zoo"),
    "vgg16": Counts(138.36e6, 15.47e9, 13.56e6, "timm's table of benchmarks"),
    "squeezenet": Counts(1_248_424, None, None, "Iandola et al. 2016, table 1"),
    "googlenet": Counts(6.8e6, 1.5e9, None, "Szegedy et al. 2014, the sums of table 1, which is rounded"),
    "resnet50": Counts(25.56e6, 4.11e9, 11.11e6, "timm's table of benchmarks"),
    "gpt2": Counts(124_439_808, None, None, "the released weights of Radford et al. 2019"),
    "gpt2-xl": Counts(1_557_611_200, None, None, "the released weights of Radford et al. 2019"),
    "llama": Counts(8_030_261_248, None, None, "the released weights of Llama 3 8B"),
    "vit": Counts(86_567_656, None, None, "the weights of torchvision's vit_b_16"),
    "relu2": Counts(15.7e9, None, None, "Parmar et al. 2024: 3.2 billion of embeddings and 12.5 billion of blocks"),
    "moe": Counts(46.7e9, None, None, "Jiang et al. 2024 and its release"),
}
"""By network. The transformer's block is not published by itself."""


def counts(network: Network) -> Counts:
    """The same sizes, calculated from the table of a network."""
    products = [layer for layer in network.layers if layer.kind in PRODUCTS]
    return Counts(network.params, sum(layer.flops for layer in products) / 2,
                  sum(layer.elements for layer in products), network.about)
