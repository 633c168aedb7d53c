"""A network as a table: layers in the order of the forward pass, with shapes, parameters, operations per sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["INPUT", "Layer", "Network"]

INPUT = "data"
"""The name of the network's input."""


@dataclass(frozen=True)
class Layer:
    """One layer.

    Parameters
    ----------
    name, kind
        Its name, unique in the network; ``conv``, ``fc``, ``relu`` and so on.
    inputs
        Names of the layers it reads; :data:`INPUT` is the network's input.
    shape
        Shape of its output for one sample: channels, height, width of feature maps.
    params
        Learned parameters.
    flops
        Floating-point operations of the forward pass for one sample, a multiply-add counted as two.
    gradients
        Operations of backward, as a multiple of forward's: 2 with weights (gradients of weights and of the input), 1
        without weights, and 1 if the gradient of the input is not needed.
    in_place
        It overwrites its input, as ReLU and dropout do.
    view
        It moves no data: a concatenation, whose inputs are written to their place directly.
    reads_input, reads_output
        Backward reads the input or output of the layer, so that it is kept until then.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    params: int = 0
    flops: int = 0
    gradients: int = 1
    in_place: bool = False
    view: bool = False
    reads_input: bool = False
    reads_output: bool = False

    @property
    def elements(self) -> int:
        """Values that it writes for one sample."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Network:
    """A network and the batch it is trained with.

    Parameters
    ----------
    name
        Its name in commands.
    about
        Where its table comes from, in one sentence.
    batch
        Samples of a training step.
    input_shape
        One sample.
    layers
        In the order of the forward pass.
    element_bytes
        Bytes of a value; training in float32 has 4.
    """

    name: str
    about: str
    batch: int
    input_shape: tuple[int, ...]
    layers: tuple[Layer, ...]
    element_bytes: int = 4

    @property
    def params(self) -> int:
        """Learned parameters of all layers."""
        return sum(layer.params for layer in self.layers)

    @property
    def flops(self) -> int:
        """Floating-point operations of the forward pass of one sample."""
        return sum(layer.flops for layer in self.layers)

    def layer(self, name: str) -> Layer:
        """The layer of a name.

        Raises
        ------
        ValueError
            If there is none.
        """
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"{self.name} has no layer {name!r}: there are "
                         f"{', '.join(layer.name for layer in self.layers)}")
