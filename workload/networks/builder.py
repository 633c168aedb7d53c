"""Builds networks: every method adds one layer, computes its shape, and returns its name for later layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cdma.workload.networks.layers import INPUT, Layer, Network

__all__ = ["Builder", "check_sizes"]


class Builder:
    """A network under construction.

    Every method takes the new layer's ``name`` and, as ``after``, the layer that it reads (the one added last when
    left out), and returns the name. Shapes that do not fit raise ValueError.

    Parameters
    ----------
    name, about, batch, dtype, compute, input_dtype
        See :class:`cdma.workload.networks.layers.Network`.
    input_shape
        One sample: channels, height, width; or positions, features.
    """

    def __init__(self, name: str, about: str, batch: int, input_shape: Sequence[int], dtype: str = "float32",
                 compute: str = "", input_dtype: str | None = None) -> None:
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise ValueError(f"the batch of {name} must be a whole number of 1 or more, not {batch!r}")
        if not input_shape or any(isinstance(size, bool) or not isinstance(size, int) or size < 1
                                  for size in input_shape):
            raise ValueError(f"the input shape of {name} must be whole numbers of 1 or more, not {list(input_shape)}")
        self._name, self._about, self._batch = name, about, batch
        self._input, self._types = tuple(input_shape), (dtype, compute, input_dtype)
        self._dtype: str | None = None
        self._layers: list[Layer] = []
        self._shapes: dict[str, tuple[int, ...]] = {INPUT: self._input}
        self._last = INPUT

    @contextmanager
    def typed(self, dtype: str | None) -> Iterator[None]:
        """Layers that are added within it write values of this type; None is the network's."""
        before, self._dtype = self._dtype, dtype
        try:
            yield
        finally:
            self._dtype = before

    def conv(self, name: str, channels: int, kernel: int, stride: int = 1, pad: int = 0, groups: int = 1,
             bias: bool = True, relu: bool = True, after: str | None = None) -> str:
        """A convolution of square kernels, followed by a ReLU in place unless ``relu`` is false."""
        source, (inputs, height, width) = self._maps(name, after)
        check_sizes(name, channels=channels, kernel=kernel, stride=stride, groups=groups)
        if inputs % groups or channels % groups:
            raise ValueError(f"{name}: {inputs} and {channels} channels cannot be split into {groups} groups")
        size = (_span(name, height, kernel, stride, pad), _span(name, width, kernel, stride, pad))
        weights = channels * (inputs // groups) * kernel * kernel
        self._add(Layer(name, "conv", (source,), (channels, *size), weights + channels * bias,
                        2 * weights * size[0] * size[1], 1 if source == INPUT else 2, reads_input=True))
        return self.relu(f"{name}/relu") if relu else name

    def fc(self, name: str, features: int, bias: bool = True, relu: bool = True, after: str | None = None) -> str:
        """A fully connected layer over the flattened sample, followed by a ReLU in place unless ``relu`` is false."""
        source = self._source(after)
        return self._linear(name, source, math.prod(self._shapes[source]), features, (features,), bias, relu)

    def linear(self, name: str, features: int, bias: bool = True, relu: bool = False, after: str | None = None,
               copies: int = 1, tied: bool = False) -> str:
        """A fully connected layer over the last axis, as in transformers; a ReLU follows only if ``relu`` is true.

        ``copies`` are layers of this size that share the positions between them, as experts do. A layer that is
        ``tied`` has no weights of its own and reads those of another.
        """
        check_sizes(name, copies=copies)
        source = self._source(after)
        *places, inputs = self._shapes[source]
        return self._linear(name, source, inputs, features, (*places, features), bias, relu, copies, tied)

    def pool(self, name: str, kernel: int, stride: int, pad: int = 0, average: bool = False, ceil: bool = True,
             after: str | None = None) -> str:
        """Max or average pooling; the last window may extend past the edge, as in Caffe, unless ``ceil`` is False."""
        source, (channels, height, width) = self._maps(name, after)
        check_sizes(name, kernel=kernel, stride=stride)
        shape = (channels, *(_span(name, size, kernel, stride, pad, ceil) for size in (height, width)))
        kind = "average pool" if average else "pool"
        # Backward of max pooling reads both maps to find the maximum, as cuDNN does; that of the mean reads none.
        return self._add(Layer(name, kind, (source,), shape, 0, math.prod(shape) * kernel * kernel,
                               reads_input=not average, reads_output=not average))

    def global_pool(self, name: str, after: str | None = None) -> str:
        """The mean of every feature map."""
        source, (channels, height, width) = self._maps(name, after)
        return self._add(Layer(name, "average pool", (source,), (channels, 1, 1), 0, channels * height * width))

    def relu(self, name: str, after: str | None = None) -> str:
        """A ReLU in place."""
        return self._same(name, "relu", 1, after, in_place=True, reads_output=True)

    def dropout(self, name: str, after: str | None = None) -> str:
        """Dropout in place; its mask of one bit per element is not counted."""
        return self._same(name, "dropout", 1, after, in_place=True)

    def lrn(self, name: str, size: int = 5, after: str | None = None) -> str:
        """Local response normalisation across ``size`` channels."""
        check_sizes(name, size=size)
        return self._same(name, "lrn", 2 * size + 3, after, reads_input=True, reads_output=True)

    def norm(self, name: str, over: str = "batch", relu: bool = False, after: str | None = None) -> str:
        """Normalisation over the ``batch`` (scale and shift of every channel) or the ``layer`` (of every feature)."""
        if over not in ("batch", "layer"):
            raise ValueError(f"{name}: a norm is over batch or layer, not {over!r}")
        shape = self._shapes[self._source(after)]
        self._same(name, f"{over} norm", 8, after, params=2 * shape[0 if over == "batch" else -1], reads_input=True)
        return self.relu(f"{name}/relu") if relu else name

    def concat(self, name: str, after: Sequence[str]) -> str:
        """Concatenation along the channels; moves nothing, because the inputs are written to their place directly."""
        sources = tuple(map(self._source, after))
        shapes = [self._shapes[source] for source in sources]
        if len({shape[1:] for shape in shapes}) != 1:
            raise ValueError(f"{name}: maps of {' and '.join(map(_text, shapes))} cannot stand side by side")
        return self._add(Layer(name, "concat", sources, (sum(shape[0] for shape in shapes), *shapes[0][1:]),
                               view=True))

    def add(self, name: str, after: Sequence[str], relu: bool = False) -> str:
        """The sum of several layers' outputs, as in residual networks."""
        sources = tuple(map(self._source, after))
        shapes = [self._shapes[source] for source in sources]
        if len(set(shapes)) != 1:
            raise ValueError(f"{name}: {' and '.join(map(_text, shapes))} cannot be added, they are not of one shape")
        self._add(Layer(name, "add", sources, shapes[0], 0, math.prod(shapes[0]) * (len(shapes) - 1)))
        return self.relu(f"{name}/relu") if relu else name

    def inception(self, name: str, after: str, one: int, three: tuple[int, int], five: tuple[int, int],
                  pool: int) -> str:
        """GoogLeNet's module: 1x1, 3x3 and 5x5 after 1x1 reductions, 1x1 after a pool, concatenated."""
        after = self._source(after)
        branches = [self.conv(f"{name}/1x1", one, 1, after=after)]
        for size, (reduced, channels) in ((3, three), (5, five)):
            self.conv(f"{name}/{size}x{size}_reduce", reduced, 1, after=after)
            branches.append(self.conv(f"{name}/{size}x{size}", channels, size, pad=size // 2))
        self.pool(f"{name}/pool", 3, 1, pad=1, after=after)
        branches.append(self.conv(f"{name}/pool_proj", pool, 1))
        return self.concat(f"{name}/concat", branches)

    def attention(self, name: str, heads: int, query: str, key: str, value: str) -> str:
        """Scaled dot-product attention: scores, softmax, and the values they weigh."""
        query, key, value = map(self._source, (query, key, value))
        shapes = [self._shapes[source] for source in (query, key, value)]
        if len(set(shapes)) != 1 or len(shapes[0]) != 2:
            raise ValueError(f"{name} reads positions and features, three times alike, not "
                             f"{', '.join(map(_text, shapes))}")
        positions, features = shapes[0]
        check_sizes(name, heads=heads)
        if features % heads:
            raise ValueError(f"{name}: {features} features cannot be split into {heads} heads")
        work, scores = 2 * positions * positions * features, (heads, positions, positions)
        self._add(Layer(f"{name}/scores", "matmul", (query, key), scores, 0, work, 2, reads_input=True))
        self._add(Layer(f"{name}/softmax", "softmax", (f"{name}/scores",), scores, 0, 5 * math.prod(scores),
                        reads_output=True))
        return self._add(Layer(f"{name}/values", "matmul", (f"{name}/softmax", value), (positions, features), 0, work,
                               2, reads_input=True))

    def transformer_block(self, name: str, heads: int, hidden: int, after: str | None = None) -> str:
        """A block of a transformer's encoder: self-attention and two linear layers with a ReLU, each added to what it
        read and normalised."""
        source = self._source(after)
        if len(self._shapes[source]) != 2:
            raise ValueError(f"{name} reads positions and features, not {_text(self._shapes[source])}")
        features = self._shapes[source][-1]
        query, key, value = (self.linear(f"{name}/{part}", features, after=source)
                             for part in ("query", "key", "value"))
        self.attention(f"{name}/attention", heads, query, key, value)
        joined = self.add(f"{name}/add1", [self.linear(f"{name}/output", features), source])
        normed = self.norm(f"{name}/norm1", "layer", after=joined)
        self.linear(f"{name}/up", hidden, relu=True)
        self.add(f"{name}/add2", [self.linear(f"{name}/down", features), normed])
        return self.norm(f"{name}/norm2", "layer")

    def network(self) -> Network:
        """The network with the layers added so far."""
        if not self._layers:
            raise ValueError(f"{self._name} has no layers")
        return Network(self._name, self._about, self._batch, self._input, tuple(self._layers), *self._types)

    def _linear(self, name: str, source: str, inputs: int, features: int, shape: tuple[int, ...], bias: bool,
                relu: bool, copies: int = 1, tied: bool = False) -> str:
        check_sizes(name, features=features)
        weights = inputs * features * copies
        self._add(Layer(name, "fc", (source,), shape, weights * (not tied) + features * copies * bias,
                        2 * inputs * math.prod(shape), 1 if source == INPUT else 2, reads_input=True,
                        shared=weights * tied))
        return self.relu(f"{name}/relu") if relu else name

    def _same(self, name: str, kind: str, work: int, *after: str | None, **more: Any) -> str:
        """A layer whose output has the shape of what it reads, with so many operations for each value."""
        sources = tuple(map(self._source, after))
        shapes = {self._shapes[source] for source in sources}
        if len(shapes) != 1:
            raise ValueError(f"{name} reads layers of one shape, not {', '.join(sources) or 'none'}")
        (shape,) = shapes
        return self._add(Layer(name, kind, sources, shape, flops=work * math.prod(shape), **more))

    def _source(self, after: str | None) -> str:
        source = self._last if after is None else after
        if source not in self._shapes:
            raise ValueError(f"{self._name} has no layer {source!r} to read: there are {', '.join(self._shapes)}")
        return source

    def _maps(self, name: str, after: str | None) -> tuple[str, tuple[int, int, int]]:
        source = self._source(after)
        shape = self._shapes[source]
        if len(shape) != 3:
            raise ValueError(f"{name} reads channels, height and width, not {_text(shape)}")
        return source, (shape[0], shape[1], shape[2])

    def _add(self, layer: Layer) -> str:
        if layer.name in self._shapes:
            raise ValueError(f"{self._name} has two layers {layer.name!r}: give every layer a name of its own")
        self._layers.append(layer if self._dtype is None else replace(layer, dtype=self._dtype))
        self._shapes[layer.name] = layer.shape
        self._last = layer.name
        return layer.name


def _span(name: str, size: int, kernel: int, stride: int, pad: int, ceil: bool = False) -> int:
    """Windows along one axis."""
    if isinstance(pad, bool) or not isinstance(pad, int) or pad < 0:
        raise ValueError(f"{name}: pad must be a whole number of 0 or more, not {pad!r}")
    room = size + 2 * pad - kernel
    if room < 0:
        raise ValueError(f"{name}: a window of {kernel} does not fit into {size} with {pad} on both sides")
    if not ceil:
        return room // stride + 1
    windows = -(-room // stride) + 1
    # The last window must begin on the map or on the padding before it.
    return windows - ((windows - 1) * stride >= size + pad)


def check_sizes(name: str, **sizes: int) -> None:
    """Raise ValueError unless each size is a whole number of 1 or more."""
    for what, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"{name}: {what} must be a whole number of 1 or more, not {size!r}")


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
