"""The worked example of transformers: a small GPT or Llama learns sums in words, under bfloat16 autocast.

Its text is generated, ``thirty-four plus nine is forty-three.`` and so on, and read byte by byte. LayerNorm, GELU and
SwiGLU leave hardly a zero behind; with squared ReLU in their place zeros are back. The norms of the Llama compute in
float32, and what they save of bfloat16 values has empty low halves. Seeds are fixed, so that a run is
repeatable on the same machine and release of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from cdma.workload.capturing.training import Begun
from cdma.workload.extra import package

__all__ = ["BATCH", "CONTEXT", "EPOCHS", "PERCEPTRONS", "Gpt", "begin", "steps", "text"]

torch = package("torch", "torch")

EPOCHS = 10
BATCH = 32
CONTEXT = 64  # bytes of a sequence
_STEPS = 60  # of an epoch
_WIDTH, _HEADS = 64, 4
_RATE = 3e-3
_SUMS = 6000
_TEST = 16 * CONTEXT + 1  # bytes at the end of the text that are for testing

_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_words(number: int) -> str:
    """A number from 0 to 199 in words."""
    if number >= 100:
        return "one hundred" if number == 100 else f"one hundred {in_words(number - 100)}"
    if number < len(_SMALL):
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return f"{_TENS[tens]}-{_SMALL[ones]}" if ones else _TENS[tens]


def text(sums: int = _SUMS, seed: int = 0) -> str:
    """A line for each sum of two numbers from 0 to 99."""
    pairs = np.random.default_rng(seed).integers(0, 100, (sums, 2)).tolist()
    return "".join(f"{in_words(one)} plus {in_words(other)} is {in_words(one + other)}.\n" for one, other in pairs)


class Perceptron(torch.nn.Module):
    """Two linear layers with a GELU between, as GPT-2 has them."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(_WIDTH, 4 * _WIDTH), torch.nn.Linear(4 * _WIDTH, _WIDTH)
        self.gelu = torch.nn.GELU()

    def forward(self, tokens: Any) -> Any:
        """Tokens in and out: batch, context, width."""
        return self.down(self.gelu(self.up(tokens)))


class GatedPerceptron(torch.nn.Module):
    """Three linear layers with SwiGLU between, as Llama has them."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = torch.nn.Linear(_WIDTH, 3 * _WIDTH), torch.nn.Linear(_WIDTH, 3 * _WIDTH)
        self.silu, self.down = torch.nn.SiLU(), torch.nn.Linear(3 * _WIDTH, _WIDTH)

    def forward(self, tokens: Any) -> Any:
        """Tokens in and out: batch, context, width."""
        return self.down(self.silu(self.gate(tokens)) * self.up(tokens))


class SquaredPerceptron(torch.nn.Module):
    """Two linear layers with a squared ReLU between, as Nemotron-4 has them (So et al. 2021, Primer)."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(_WIDTH, 4 * _WIDTH), torch.nn.Linear(4 * _WIDTH, _WIDTH)
        self.relu = torch.nn.ReLU()

    def forward(self, tokens: Any) -> Any:
        """Tokens in and out: batch, context, width."""
        return self.down(self.relu(self.up(tokens)).square())


PERCEPTRONS = {"gpt": (Perceptron, GatedPerceptron), "relu2": (SquaredPerceptron, SquaredPerceptron),
               "llama": (GatedPerceptron, GatedPerceptron)}
"""The perceptron of each block, by network. Those of ``gpt`` differ: a dump has values of GELU and of SwiGLU."""


class RmsNorm(torch.nn.Module):
    """Values divided by their root mean square, in float32 and written out, as Llama and its kin in PyTorch have it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, tokens: Any) -> Any:
        """Tokens in and out: batch, context, width."""
        wide = tokens.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).type_as(tokens) * self.weight


class Block(torch.nn.Module):
    """Attention and a perceptron, each behind a norm and added to what came in.

    Parameters
    ----------
    perceptron
        The perceptron.
    norm
        Makes a norm for a width.
    turn
        What is done with queries and keys.
    """

    def __init__(self, perceptron: Any, norm: Callable[[int], Any], turn: Callable[[Any], Any]) -> None:
        super().__init__()
        self.norm1, self.norm2, self.turn = norm(_WIDTH), norm(_WIDTH), turn
        self.qkv, self.out = torch.nn.Linear(_WIDTH, 3 * _WIDTH), torch.nn.Linear(_WIDTH, _WIDTH)
        self.mlp = perceptron

    def forward(self, tokens: Any) -> Any:
        """Tokens in and out: batch, context, width."""
        queries, keys, values = self.qkv(self.norm1(tokens)).unflatten(-1, (3, _HEADS, -1)).permute(2, 0, 3, 1, 4)
        mixed = torch.nn.functional.scaled_dot_product_attention(self.turn(queries), self.turn(keys), values,
                                                                 is_causal=True)
        tokens = tokens + self.out(mixed.transpose(1, 2).flatten(2))
        return tokens + self.mlp(self.norm2(tokens))


class Gpt(torch.nn.Module):
    """A decoder of bytes: embeddings, two blocks with a network's :data:`PERCEPTRONS`, scores of the next byte."""

    normed: Any = torch.nn.LayerNorm

    @staticmethod
    def placed() -> Any:
        """The embedding of places, if there is one."""
        return torch.nn.Embedding(CONTEXT, _WIDTH)

    @staticmethod
    def turn(heads: Any) -> Any:
        """Queries or keys as they are."""
        return heads

    def __init__(self, network: str = "gpt") -> None:
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(128, _WIDTH), self.placed()
        self.blocks = torch.nn.ModuleList(Block(perceptron(), self.normed, self.turn)
                                          for perceptron in PERCEPTRONS[network])
        self.norm, self.head = self.normed(_WIDTH), torch.nn.Linear(_WIDTH, 128)

    def forward(self, codes: Any) -> Any:
        """The scores of the byte after each one."""
        # Autocast leaves embeddings in float32; where weights are in bfloat16, so are the sums between the blocks.
        found = self.tokens(codes)
        found = (found if self.places is None else found + self.places.weight).bfloat16()
        for block in self.blocks:
            found = block(found)
        return self.head(self.norm(found))


class Llama(Gpt):
    """The same as Llama has it: norms are :class:`RmsNorm`, and places turn queries and keys."""

    normed = RmsNorm

    @staticmethod
    def placed() -> None:
        """None."""

    @staticmethod
    def turn(heads: Any) -> Any:
        """Queries or keys turned by their places (Su et al. 2021, RoFormer)."""
        one, other = heads.chunk(2, -1)
        half = one.shape[-1]
        angles = torch.arange(CONTEXT)[:, None] * 10000.0 ** -(torch.arange(half) / half)
        return torch.cat([one * angles.cos() - other * angles.sin(), other * angles.cos() + one * angles.sin()], -1)


def steps() -> int:
    """Training steps of a run."""
    return EPOCHS * _STEPS


def begin(seed: int = 0, batch: int = BATCH, network: str = "gpt") -> Begun:
    """One of the networks of :data:`PERCEPTRONS` and its optimizer, with weights and batches by a seed."""
    torch.manual_seed(seed)
    learn, test = _data()
    model = (Llama if network == "llama" else Gpt)(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE)

    def epoch() -> Iterator[Callable[[], Any]]:
        for starts in torch.randint(len(learn) - CONTEXT, (_STEPS, batch)):
            yield lambda starts=starts: _loss(model, learn[starts[:, None] + torch.arange(CONTEXT + 1)])

    def score() -> Any:
        return (_scores(model, test[:-1].view(-1, CONTEXT)).argmax(-1) == test[1:].view(-1, CONTEXT)).float().mean()

    return Begun(model, optimizer, seed, EPOCHS, epoch, score)


@cache
def _data() -> tuple[Any, Any]:
    """The bytes to learn from, and those for testing."""
    codes = torch.tensor(list(text().encode()))
    return codes[:-_TEST], codes[-_TEST:]


def _scores(model: Any, codes: Any) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        return model(codes)


def _loss(model: Any, sequences: Any) -> Any:
    return torch.nn.functional.cross_entropy(_scores(model, sequences[:, :-1]).float().flatten(0, 1),
                                             sequences[:, 1:].flatten())
