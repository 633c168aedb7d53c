"""The tensors of a network in device memory, and the steps that write and read them.

A step is a layer with the in-place layers after it, so that a convolution and its ReLU are one step and one tensor.
The inputs of a concatenation are written directly into its tensor; it has no step of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workload.networks.layers import INPUT, Layer, Network

__all__ = ["Step", "Tensor", "Tensors", "tensors"]


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
    sparse
        It has zeros from a ReLU, also after layers that keep zeros: max pooling, dropout, normalisation across
        channels.
    written, read, kept
        Numbers of the steps that write it in forward, read it in forward, read it in backward; each in rising order.
    feeds_conv
        A convolution reads it.
    """

    name: str
    elements: int
    size: int
    sparse: bool
    written: tuple[int, ...]
    read: tuple[int, ...]
    kept: tuple[int, ...]
    feeds_conv: bool

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
    """The steps of a network in the order of forward, and its tensors by name in the order they are written in."""

    network: Network
    steps: tuple[Step, ...]
    tensors: dict[str, Tensor]

    @property
    def weight_bytes(self) -> int:
        """Bytes of the parameters, once."""
        return self.network.params * self.network.element_bytes


def tensors(network: Network) -> Tensors:
    """Work out the steps and tensors of a network."""
    buffer = _buffers(network)
    groups = _groups(network)
    steps = tuple(_step(group, buffer) for group in groups)
    sparse = _sparse(network, buffer)
    shapes = {INPUT: math.prod(network.input_shape)}
    for layer in network.layers:
        shapes[buffer[layer.name]] = max(layer.elements, shapes.get(buffer[layer.name], 0))
    found = {}
    for name, elements in shapes.items():
        places = range(len(steps))
        readers = tuple(n for n in places if name in steps[n].reads)
        feeds_conv = any(layer.kind == "conv" for n in readers for layer in steps[n].layers[:1])
        count = elements * network.batch
        found[name] = Tensor(name, count, count * network.element_bytes, sparse[name],
                             tuple(n for n in places if steps[n].writes == name), readers,
                             tuple(n for n in places if name in steps[n].keeps), feeds_conv)
    return Tensors(network, steps, found)


def _buffers(network: Network) -> dict[str, str]:
    """The tensor that each layer writes."""
    own = {INPUT: INPUT}
    for layer in network.layers:
        own[layer.name] = own[layer.inputs[0]] if layer.in_place else layer.name
    joined = {}
    for layer in network.layers:
        if layer.view:
            joined |= {own[source]: layer.name for source in layer.inputs}

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


def _sparse(network: Network, buffer: dict[str, str]) -> dict[str, bool]:
    """Whether a ReLU's zeros are in each tensor."""
    layers = {INPUT: False}
    for layer in network.layers:
        inherits = layer.kind in ("pool", "lrn", "dropout", "concat")
        layers[layer.name] = layer.kind == "relu" or (inherits and all(layers[source] for source in layer.inputs))
    # The last layer that writes a tensor decides; for a tensor with several writers that is the concatenation.
    return {buffer[name]: sparse for name, sparse in layers.items()}
