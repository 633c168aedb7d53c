"""Published sizes of the networks, to check the tables: parameters, multiply-adds, activations."""

from __future__ import annotations

from typing import Any

from cdma.workload.networks.layers import PRODUCTS, Network

__all__ = ["PUBLISHED", "counts"]

PUBLISHED = {name: dict(zip(("params", "multiply_adds", "activations", "source"), row, strict=True)) for name, row in {
    "alexnet": (60e6, 0.72e9, 650e3, "Krizhevsky et al. 2012; multiply-adds as commonly quoted"),
    "overfeat": (145e6, 2.81e9, None, "Sermanet et al. 2013, table 4, fast model"),
    "nin": (7.6e6, None, None, "the ImageNet model of Caffe's model zoo"),
    "vgg16": (138.36e6, 15.47e9, 13.56e6, "timm's table of benchmarks"),
    "squeezenet": (1_248_424, None, None, "Iandola et al. 2016, table 1"),
    "googlenet": (6.8e6, 1.5e9, None, "Szegedy et al. 2014, the sums of table 1, which is rounded"),
    "resnet50": (25.56e6, 4.11e9, 11.11e6, "timm's table of benchmarks"),
    "gpt2": (124_439_808, None, None, "the released weights of Radford et al. 2019"),
    "gpt2-xl": (1_557_611_200, None, None, "the released weights of Radford et al. 2019"),
    "llama": (8_030_261_248, None, None, "the released weights of Llama 3 8B"),
    "vit": (86_567_656, None, None, "the weights of torchvision's vit_b_16"),
    "relu2": (15.7e9, None, None, "Parmar et al. 2024: 3.2 billion of embeddings and 12.5 billion of blocks"),
    "moe": (46.7e9, None, None, "Jiang et al. 2024 and its release"),
}.items()}
"""Sizes of networks for one sample, None where nothing is published: learned parameters, multiply-adds of the forward
pass in convolutions and products, values that these write, and where it is published. The transformer's block is not
published by itself."""


def counts(network: Network) -> dict[str, Any]:
    """The same sizes, calculated from the table of a network."""
    products = [layer for layer in network.layers if layer.kind in PRODUCTS]
    return {"params": network.params, "multiply_adds": sum(layer.flops for layer in products) / 2,
            "activations": sum(layer.elements for layer in products), "source": network.about}
