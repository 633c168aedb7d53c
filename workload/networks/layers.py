"""A network as a table: layers in the order of the forward pass, with shapes, parameters, operations per sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cdma.workload.dumps.types import element_type, is_floating, type_name

__all__ = ["COMPUTE", "INPUT", "PRODUCTS", "Layer", "Network", "compute_of"]

COMPUTE = ("float32", "tf32", "bfloat16", "float16", "float8")
"""The types that matrix products and convolutions are computed in."""

PRODUCTS = ("conv", "fc", "matmul", "attention")
"""Kinds of layers that multiply and add."""

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
    dtype
        Type of the values that it writes, see :func:`cdma.workload.dumps.types.element_type`; None is the network's.
    statistics
        float32 values of one sample that it keeps for backward beside its input and output: means and deviations of a
        normalisation, the log-sum-exp of attention.
    shared
        Parameters of another layer that it reads.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    params: int = 0
    flops: int = 0
    gradients: float = 1
    in_place: bool = False
    view: bool = False
    reads_input: bool = False
    reads_output: bool = False
    dtype: str | None = None
    statistics: int = 0
    shared: int = 0

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
    dtype
        Type of the values that layers write, unless a layer has its own; see
        :func:`cdma.workload.dumps.types.element_type`.
    compute
        The one of :data:`COMPUTE` that matrix products and convolutions use; left out, the one of ``dtype``.
    input_dtype
        Type of the input's values; None is ``dtype``.

    Raises
    ------
    ValueError
        If a type is not allowed.
    """

    name: str
    about: str
    batch: int
    input_shape: tuple[int, ...]
    layers: tuple[Layer, ...]
    dtype: str = "float32"
    compute: str = ""
    input_dtype: str | None = None

    def __post_init__(self) -> None:
        found = element_type(self.dtype)
        if not is_floating(found) or found.itemsize > 4:
            raise ValueError(f"{self.name} cannot be trained in {self.dtype!r}: give float32, bfloat16, float16, "
                             "float8_e4m3 or float8_e5m2")
        for dtype in (self.input_dtype, *(layer.dtype for layer in self.layers)):
            if dtype is not None:
                element_type(dtype)
        object.__setattr__(self, "dtype", type_name(found))
        object.__setattr__(self, "compute", self.compute or compute_of(self.dtype))
        if self.compute not in COMPUTE:
            raise ValueError(f"{self.name} cannot be computed in {self.compute!r}: give {', '.join(COMPUTE)}")

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


def compute_of(dtype: str) -> str:
    """The type of :data:`COMPUTE` that matrix products of values of a type use."""
    return "float8" if dtype.startswith("float8") else dtype
