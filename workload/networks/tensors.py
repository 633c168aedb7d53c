"""The tensors of a network in device memory, and the steps that write and read them.

A step is a layer with the in-place layers after it, so that a convolution and its ReLU are one step and one tensor.
The inputs of a concatenation are written directly into its tensor; it has no step of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cdma.workload.dumps.types import element_type, type_name
from cdma.workload.networks.layers import INPUT, Layer, Network

__all__ = ["ROLES", "Step", "Tensor", "Tensors", "tensors"]

ROLES = ("input", "relu", "gelu", "swiglu", "norm", "attention", "linear", "sum", "softmax", "statistics")
"""What made the values of a tensor. ``attention``: its queries, keys, values, and its output. ``linear``: a convolution
or product without a non-linearity behind it. ``sum``: a sum or a mean, and so the stream between a transformer's
blocks. ``statistics``: means, deviations, log-sum-exp."""

_ROLE = {"relu": "relu", "gelu": "gelu", "silu": "swiglu", "swiglu": "swiglu", "batch norm": "norm",
         "layer norm": "norm", "rms norm": "norm", "lrn": "norm", "attention": "attention", "add": "sum",
         "average pool": "sum", "embedding": "sum", "softmax": "softmax"}
_INHERIT = ("pool", "dropout", "concat", "rotary", "square", "route")  # kinds that only move values, or keep zeros
_WEIGHT_BYTES = 4  # of a parameter: weights stay float32 where values are shorter, as with autocast


@dataclass(frozen=True)
class Step:
    """A layer with the in-place layers after it.

    Parameters
    ----------
    name
        That of its first layer.
    layers
        In order.
    reads
        Tensors that forward reads.
    writes
        The tensor that forward writes.
    keeps
        Tensors that backward reads.
    """

    name: str
    layers: tuple[Layer, ...]
    reads: tuple[str, ...]
    writes: str
    keeps: tuple[str, ...]


@dataclass(frozen=True)
class Tensor:
    """A buffer of activations, of the whole batch.

    Parameters
    ----------
    name
        Name of the layer that writes it first, or of the concatenation; ``data`` is the network's input.
    elements, size
        Values, bytes.
    dtype
        Type of its values, see :func:`cdma.workload.dumps.types.element_type`.
    role
        The one of :data:`ROLES` that made its values. Max pooling, dropout and concatenations keep that of their
        input, and normalisation across channels keeps the zeros of a ReLU.
    written, read, kept
        Numbers of the steps that write it in forward, read it in forward, read it in backward; each in rising order.
    feeds_conv
        A convolution reads it.
    """

    name: str
    elements: int
    size: int
    dtype: str
    role: str
    written: tuple[int, ...]
    read: tuple[int, ...]
    kept: tuple[int, ...]
    feeds_conv: bool

    @property
    def sparse(self) -> bool:
        """It has zeros from a ReLU."""
        return self.role == "relu"

    @property
    def saved(self) -> bool:
        """Backward needs it."""
        return bool(self.kept)

    @property
    def last_use(self) -> int:
        """The step of forward after which it may be removed from the device."""
        return max(self.written + self.read)


@dataclass(frozen=True)
class Tensors:
    """The steps of a network in the order of forward, and its tensors by name in the order they are written in.

    ``traffic`` has the bytes that forward of each layer moves, where they were counted; None computes them from shapes.
    ``shards`` is the number of devices that share the weights.
    """

    network: Network
    steps: tuple[Step, ...]
    tensors: dict[str, Tensor]
    traffic: Mapping[str, int] | None = None
    shards: int = 1

    @property
    def weight_bytes(self) -> int:
        """Bytes of the parameters on a device, once; they are float32 where values are shorter, too."""
        return -(-self.network.params // self.shards) * _WEIGHT_BYTES


def tensors(network: Network) -> Tensors:
    """Work out the steps and tensors of a network."""
    buffer = _buffers(network)
    groups = _groups(network)
    steps = tuple(_step(group, buffer) for group in groups)
    roles, types = _roles(network, buffer), _types(network, buffer)
    shapes = {INPUT: math.prod(network.input_shape)}
    for layer in network.layers:
        shapes[buffer[layer.name]] = max(layer.elements, shapes.get(buffer[layer.name], 0))
    written, read, kept = (_places(names) for names in (
        [(step.writes,) for step in steps], [step.reads for step in steps], [step.keeps for step in steps]))
    found = {}
    for name, elements in shapes.items():
        readers = read.get(name, ())
        feeds_conv = any(layer.kind == "conv" for n in readers for layer in steps[n].layers[:1])
        found[name] = _tensor(name, elements * network.batch, types[name], roles[name], written.get(name, ()), readers,
                              kept.get(name, ()), feeds_conv)
    for number, step in enumerate(steps):
        for layer in step.layers:
            if layer.statistics:
                name = f"{layer.name}/statistics"
                found[name] = _tensor(name, layer.statistics * network.batch, "float32", "statistics", (number,), (),
                                      (number,))
    return Tensors(network, steps, found)


def _tensor(name: str, elements: int, dtype: str, role: str, written: tuple[int, ...], read: tuple[int, ...],
            kept: tuple[int, ...], feeds_conv: bool = False) -> Tensor:
    kind = element_type(dtype)
    return Tensor(name, elements, elements * kind.itemsize, type_name(kind), role, written, read, kept, feeds_conv)


def _places(names: Iterable[Iterable[str]]) -> dict[str, tuple[int, ...]]:
    """The numbers of the steps that name each tensor."""
    found: dict[str, tuple[int, ...]] = {}
    for number, several in enumerate(names):
        for name in several:
            found[name] = (*found.get(name, ()), number)
    return found


def _buffers(network: Network) -> dict[str, str]:
    """The tensor that each layer writes."""
    own = {INPUT: INPUT}
    for layer in network.layers:
        own[layer.name] = own[layer.inputs[0]] if layer.in_place else layer.name
    joined = {}
    for layer in network.layers:
        if layer.view:
            # No layer writes the input, so that it stays where it is.
            joined |= {own[source]: layer.name for source in layer.inputs if own[source] != INPUT}

    def final(name: str) -> str:
        while name in joined:
            name = joined[name]
        return name

    return {name: final(buffer) for name, buffer in own.items()}


def _groups(network: Network) -> list[list[Layer]]:
    """The layers of each step. An in-place layer joins the step that wrote last what it overwrites."""
    groups: list[list[Layer]] = []
    home: dict[str, int] = {}
    for layer in network.layers:
        if layer.view:
            # An in-place layer after a concatenation belongs to the last step that writes into it.
            home[layer.name] = max((home[source] for source in layer.inputs if source in home), default=-1)
            continue
        if layer.in_place and home.get(layer.inputs[0], -1) >= 0:
            home[layer.name] = home[layer.inputs[0]]
            groups[home[layer.name]].append(layer)
            continue
        home[layer.name] = len(groups)
        groups.append([layer])
    return groups


def _step(layers: list[Layer], buffer: dict[str, str]) -> Step:
    first = layers[0]
    reads = tuple(dict.fromkeys(buffer[source] for source in first.inputs))
    writes = buffer[first.name]
    keeps = dict.fromkeys(reads if first.reads_input else ())
    if any(layer.reads_output for layer in layers):
        keeps[writes] = None
    return Step(first.name, tuple(layers), reads, writes, tuple(keeps))


def _roles(network: Network, buffer: dict[str, str]) -> dict[str, str]:
    """What made the values of each tensor."""
    layers = {INPUT: "input"}
    for layer in network.layers:
        sources = [layers[source] for source in layer.inputs]
        if layer.kind in _INHERIT:
            # Of several, one without zeros speaks for all: they are sparse only if each of them is.
            layers[layer.name] = next((role for role in sources if role != "relu"), "relu")
        elif layer.kind == "lrn" and sources == ["relu"]:
            layers[layer.name] = "relu"
        else:
            layers[layer.name] = _ROLE.get(layer.kind, "linear")
    # The last layer that writes a tensor decides; for a tensor with several writers that is the concatenation.
    found = {buffer[name]: role for name, role in layers.items()}
    for layer in network.layers:
        # Attention reads and writes products; its scores stay one, because only softmax reads them.
        if layer.kind == "attention" or (layer.kind == "matmul" and "softmax" in map(layers.get, layer.inputs)):
            found[buffer[layer.name]] = "attention"
        if layer.kind in ("attention", "matmul"):
            found |= {buffer[name]: "attention" for name in layer.inputs if found[buffer[name]] == "linear"}
    return found


def _types(network: Network, buffer: dict[str, str]) -> dict[str, str]:
    """The type of each tensor, that of the last layer that writes it and has one."""
    found = {INPUT: network.input_dtype or network.dtype}
    for layer in network.layers:
        if not layer.in_place or layer.dtype is not None:
            found[buffer[layer.name]] = layer.dtype or network.dtype
    return found
