"""What the tables of decoders keep is what PyTorch keeps under autocast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.tensors import tensors

torch: Any = import_module("torch")
nn: Any = torch.nn
functional: Any = nn.functional

_BATCH, _PLACES, _WIDTH, _HEADS, _GROUPS, _HIDDEN = 2, 64, 64, 4, 2, 160
_HEAD = _WIDTH // _HEADS


class Gelu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(_WIDTH, _HIDDEN), nn.Linear(_HIDDEN, _WIDTH)

    def forward(self, values: Any) -> Any:
        return self.down(functional.gelu(self.up(values), approximate="tanh"))


class SwiGlu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(_WIDTH, _HIDDEN, False), nn.Linear(_WIDTH, _HIDDEN, False)
        self.down = nn.Linear(_HIDDEN, _WIDTH, False)

    def forward(self, values: Any) -> Any:
        return self.down(functional.silu(self.gate(values)) * self.up(values))


class SquaredRelu(Gelu):
    def forward(self, values: Any) -> Any:
        return self.down(functional.relu(self.up(values)).square())


def rotated(values: Any) -> Any:
    """Rotary embedding, as in Llama's public code."""
    places, size = values.shape[-2:]
    angles = torch.outer(torch.arange(places), 1e4 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
    first, second = values.chunk(2, -1)
    return values * angles.cos().to(values.dtype) + torch.cat((-second, first), -1) * angles.sin().to(values.dtype)


class Block(nn.Module):
    """Attention of rotated queries and keys in groups, and a perceptron, each behind a LayerNorm."""

    def __init__(self, perceptron: Any, groups: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)])
        self.parts = nn.ModuleList([nn.Linear(_WIDTH, heads * _HEAD) for heads in (_HEADS, groups, groups)])
        self.out, self.perceptron = nn.Linear(_WIDTH, _WIDTH), perceptron

    def forward(self, values: Any) -> Any:
        normed = self.norms[0](values)
        query, key, value = (part(normed).unflatten(-1, (-1, _HEAD)).transpose(1, 2) for part in self.parts)
        mixed = functional.scaled_dot_product_attention(rotated(query), rotated(key), value, is_causal=True,
                                                        enable_gqa=True)
        values = values + self.out(mixed.transpose(1, 2).flatten(2))
        return values + self.perceptron(self.norms[1](values))


def same(one: Any, other: Any) -> bool:
    """One memory in two shapes, or equal values."""
    if one.dtype != other.dtype or one.numel() != other.numel():
        return False
    return one.data_ptr() == other.data_ptr() or torch.equal(one.flatten(), other.flatten())


def saved(model: Any) -> Counter[tuple[str, int]]:
    """Type and elements of the activations that backward keeps, those of equal values once.

    Autocast converts the output of a norm for each product that reads it, so that there are equal copies; and it keeps
    weights that it converted, and angles of the rotation, which do not grow with the batch.
    """
    kept: list[Any] = []

    def pack(tensor: Any) -> Any:
        if not any(same(one, tensor) for one in kept):
            kept.append(tensor)
        return tensor

    values = torch.randn(_BATCH, _PLACES, _WIDTH, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16):
        model(values)
    return Counter((str(one.dtype).removeprefix("torch."), one.numel()) for one in kept
                   if one.shape[0] in (_BATCH, _BATCH * _PLACES))


@pytest.mark.parametrize(("activation", "make", "groups"), [
    ("gelu", Gelu, _HEADS), ("swiglu", SwiGlu, _GROUPS), ("relu2", SquaredRelu, _GROUPS)])
def test_a_block_keeps_what_its_table_says(activation: str, make: Callable[[], Any], groups: int) -> None:
    torch.manual_seed(0)
    net = DecoderBuilder("one", "a test", _BATCH, (_PLACES,), "bfloat16")
    net.embedding("embedding", 10, _WIDTH)
    net.decoder_block("block1", _HEADS, _HIDDEN, groups, activation, "layer")
    table: Counter[tuple[str, int]] = Counter()
    for name, tensor in tensors(net.network()).tensors.items():
        # Mean and deviation are two tensors in PyTorch; the output of the block is for the one behind it.
        parts = 2 if "norm" in name and tensor.role == "statistics" else 1
        if tensor.saved and name != "data":
            table[tensor.dtype, tensor.elements // parts] += parts
    assert saved(Block(make(), groups)) == table
