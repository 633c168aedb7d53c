"""Builds transformers of today: what each layer keeps for backward is what PyTorch keeps under autocast.

The stream between blocks is float32, because sums of float32 embeddings and shorter products are. Products read and
write the network's type. In 8-bit floats only the inputs of products are of that type; queries, keys, values, and what
non-linearities read are bfloat16 then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from cdma.workload.networks.builder import Builder, check_sizes
from cdma.workload.networks.layers import INPUT, Layer

__all__ = ["DecoderBuilder"]

_STREAM = "float32"
_FLASH_GRADIENTS = 2.5  # five products in backward, which computes the scores again, after two in forward


class DecoderBuilder(Builder):
    """Layers of decoders, and of encoders of the same parts; see :class:`cdma.workload.networks.builder.Builder`."""

    def __init__(self, name: str, about: str, batch: int, input_shape: Sequence[int], dtype: str = "float32",
                 compute: str = "", input_dtype: str | None = None) -> None:
        super().__init__(name, about, batch, input_shape, dtype, compute, input_dtype)
        self._values = "bfloat16" if dtype.startswith("float8") else None

    def embedding(self, name: str, words: int, features: int, positions: bool = False, after: str | None = None) -> str:
        """A vector for each token; with ``positions`` a learned one for each place is added. Keeps the tokens."""
        source = self._source(after)
        check_sizes(name, words=words, features=features)
        if len(self._shapes[source]) != 1:
            raise ValueError(f"{name} reads tokens, not {'x'.join(map(str, self._shapes[source]))}")
        if source == INPUT:
            self._types = (*self._types[:2], "int64")
        places = self._shapes[source][0]
        with self.typed(_STREAM):
            return self._add(Layer(name, "embedding", (source,), (places, features),
                                   (words + places * positions) * features, places * features * positions,
                                   reads_input=True))

    def tokens(self, name: str, after: str | None = None) -> str:
        """The places of feature maps as positions, behind one for the class, with a learned vector for each added."""
        source, (features, height, width) = self._maps(name, after)
        places = height * width + 1
        with self.typed(_STREAM):
            return self._add(Layer(name, "add", (source,), (places, features), (places + 1) * features,
                                   places * features))

    def layer_norm(self, name: str, after: str | None = None) -> str:
        """Normalisation of each position, with scale and shift. Keeps its input, mean and deviation."""
        return self._norm(name, "layer norm", 2, 8, after)

    def rms_norm(self, name: str, after: str | None = None) -> str:
        """Division of each position by the root of its mean square, with scale. Keeps its input and that root."""
        return self._norm(name, "rms norm", 1, 4, after)

    def gelu(self, name: str, after: str | None = None) -> str:
        """GELU. Keeps its input."""
        return self._same(name, "gelu", 8, after, reads_input=True)

    def square(self, name: str, after: str | None = None) -> str:
        """Squares, behind a ReLU. Keeps its input."""
        return self._same(name, "square", 1, after, reads_input=True)

    def silu(self, name: str, after: str | None = None) -> str:
        """SiLU. Keeps its input."""
        return self._same(name, "silu", 4, after, reads_input=True)

    def multiply(self, name: str, after: Sequence[str]) -> str:
        """The product of two layers' outputs, element by element. Keeps both."""
        return self._same(name, "swiglu", 1, *after, reads_input=True)

    def rotary(self, name: str, after: str | None = None) -> str:
        """Rotary embedding of queries or keys in place. Keeps nothing that grows with the batch."""
        return self._same(name, "rotary", 3, after, in_place=True)

    def fused_attention(self, name: str, heads: int, query: str, key: str | None = None, value: str | None = None,
                        groups: int | None = None, causal: bool = True) -> str:
        """Attention that keeps queries, keys, values, its output and the log-sum-exp of each row, and no scores.

        Parameters
        ----------
        name, heads
            Its name, and heads of queries.
        query, key, value
            The layers that it reads; without ``key`` and ``value``, ``query`` has all three side by side.
        groups
            Heads of keys and values (None: as many as of queries).
        causal
            A position reads those before it only, which halves the work.
        """
        sources = (self._source(query), *(self._source(source) for source in (key, value) if source is not None))
        kept = heads if groups is None else groups
        check_sizes(name, heads=heads, groups=kept)
        shapes = [self._shapes[source] for source in sources]
        if len(sources) == 2 or any(len(shape) != 2 or shape[0] != shapes[0][0] for shape in shapes) or heads % kept:
            raise ValueError(f"{name} reads queries, keys and values of the same positions, for {heads} heads in "
                             f"{kept} groups: {' and '.join('x'.join(map(str, shape)) for shape in shapes)} do not fit")
        positions, total = shapes[0][0], sum(shape[1] for shape in shapes)
        size, rest = divmod(total, heads + 2 * kept)
        if rest or (len(shapes) == 3 and [shape[1] for shape in shapes] != [heads * size, kept * size, kept * size]):
            raise ValueError(f"{name}: {' and '.join(str(shape[1]) for shape in shapes)} features cannot be split into "
                             f"{heads} heads of queries and {kept} of keys and values")
        work = 4 * positions * positions * heads * size // (1 + causal)
        return self._add(Layer(name, "attention", sources, (positions, heads * size), 0, work, _FLASH_GRADIENTS,
                               reads_input=True, reads_output=True, statistics=heads * positions))

    def perceptron(self, name: str, activation: str, hidden: int, bias: bool = False, after: str | None = None) -> str:
        """Two products with a ``gelu``, ``relu2`` (squared ReLU) or ``swiglu`` between them."""
        source = self._source(after)
        features = self._shapes[source][-1]
        if activation == "swiglu":
            with self.typed(self._values):
                gate = self.linear(f"{name}/gate", hidden, bias, after=source)
                up = self.linear(f"{name}/up", hidden, bias, after=source)
                gated = self.silu(f"{name}/silu", after=gate)
            self.multiply(f"{name}/swiglu", [gated, up])
        elif activation in ("gelu", "relu2"):
            with self.typed(self._values):
                self.linear(f"{name}/up", hidden, bias, activation == "relu2", after=source)
            self.gelu(f"{name}/gelu") if activation == "gelu" else self.square(f"{name}/square")
        else:
            raise ValueError(f"{name}: the activation is gelu, relu2 or swiglu, not {activation!r}")
        with self.typed(self._values):
            return self.linear(f"{name}/down", features, bias)

    def experts(self, name: str, experts: int, active: int, hidden: int, after: str | None = None) -> str:
        """A mixture of experts with SwiGLU: each position goes to ``active`` of them, and none is left out.

        Each expert keeps the activations of the positions that are routed to it.
        """
        source = self._source(after)
        check_sizes(name, experts=experts, active=active, hidden=hidden)
        places, features = self._shapes[source]
        with self.typed(self._values):
            self.linear(f"{name}/router", experts, bias=False, after=source)
        with self.typed(_STREAM):
            weights = self._add(Layer(f"{name}/softmax", "softmax", (f"{name}/router",), (places, experts), 0,
                                      5 * places * experts, reads_output=True))
        routed = self._add(Layer(f"{name}/routed", "route", (source,), (active * places, features)))
        with self.typed(self._values):
            gate = self.linear(f"{name}/gate", hidden, bias=False, after=routed, copies=experts)
            up = self.linear(f"{name}/up", hidden, bias=False, after=routed, copies=experts)
            gated = self.silu(f"{name}/silu", after=gate)
        self.multiply(f"{name}/swiglu", [gated, up])
        with self.typed(self._values):
            down = self.linear(f"{name}/down", features, bias=False, copies=experts)
            return self._add(Layer(f"{name}/combine", "combine", (down, weights), (places, features), 0,
                                   2 * active * places * features, reads_input=True))

    def decoder_block(self, name: str, heads: int, hidden: int, groups: int | None = None, activation: str = "swiglu",
                      norm: str = "rms", bias: bool = False, rotary: bool = True, causal: bool = True,
                      experts: int = 1, active: int = 1, after: str | None = None) -> str:
        """Attention and a perceptron, each behind a norm and added to what came in.

        Parameters
        ----------
        name, heads, groups, causal
            As for :meth:`fused_attention`; ``causal`` is false in encoders.
        hidden, activation
            As for :meth:`perceptron`.
        norm
            ``rms`` or ``layer``.
        bias
            Products have one.
        rotary
            Queries and keys are rotated. Without it, one product makes queries, keys and values.
        experts, active
            More than one: a mixture, see :meth:`experts`.
        after
            The layer that it reads.
        """
        source = self._source(after)
        if len(self._shapes[source]) != 2 or norm not in ("rms", "layer"):
            raise ValueError(f"{name} reads positions and features, and its norm is rms or layer: "
                             f"{'x'.join(map(str, self._shapes[source]))} and {norm!r} do not fit")
        check_sizes(name, heads=heads, groups=heads if groups is None else groups)
        features = self._shapes[source][-1]
        normed = self.rms_norm if norm == "rms" else self.layer_norm
        kept = features // heads * (heads if groups is None else groups)
        first = normed(f"{name}/norm1", after=source)
        with self.typed(self._values):
            if rotary:
                read = [self.linear(f"{name}/{part}", size, bias, after=first)
                        for part, size in (("query", features), ("key", kept), ("value", kept))]
                read[:2] = [self.rotary(f"{one}/rotary", after=one) for one in read[:2]]
            else:
                read = [self.linear(f"{name}/qkv", features + 2 * kept, bias, after=first)]
            self.fused_attention(f"{name}/attention", heads, *read, groups=groups, causal=causal)
            out = self.linear(f"{name}/output", features, bias)
        with self.typed(_STREAM):
            joined = self.add(f"{name}/add1", [out, source])
        normed(f"{name}/norm2", after=joined)
        if experts > 1:
            last = self.experts(f"{name}/experts", experts, active, hidden)
        else:
            last = self.perceptron(f"{name}/mlp", activation, hidden, bias)
        with self.typed(_STREAM):
            return self.add(f"{name}/add2", [last, joined])

    def scores(self, name: str, words: int, tied: bool = False, bias: bool = False, after: str | None = None) -> str:
        """The product that scores words or classes, and the loss over them, which keeps float32 probabilities.

        With ``tied`` it reads the weights of the embedding.
        """
        with self.typed(self._values):
            self.linear(name, words, bias, after=after, tied=tied)
        shape = self._shapes[name]
        with self.typed(_STREAM):
            return self._add(Layer(f"{name}/loss", "softmax", (name,), shape, 0, 5 * math.prod(shape),
                                   reads_output=True))

    def pick(self, name: str, after: str | None = None) -> str:
        """The first position alone, that of the class."""
        source = self._source(after)
        if len(self._shapes[source]) < 2:
            raise ValueError(f"{name} reads positions and features, not {self._shapes[source][0]} features alone")
        return self._add(Layer(name, "route", (source,), self._shapes[source][1:]))

    def _norm(self, name: str, kind: str, values: int, work: int, after: str | None) -> str:
        """A norm that has, and keeps, this many values of each feature and position."""
        shape = self._shapes[self._source(after)]
        return self._same(name, kind, work, after, params=values * shape[-1], reads_input=True,
                          statistics=values * math.prod(shape[:-1]))
