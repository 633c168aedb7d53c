"""Transformers of today: parameters as published, and what each layer keeps, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.workload.networks.catalog import load_network
from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.layers import Network
from cdma.workload.networks.models import gpt2, llama
from cdma.workload.networks.tensors import Tensor, tensors
from cdma.workload.timeline.compute import roofline
from cdma.workload.timeline.gpus import Gpu
from cdma.workload.timeline.swapping import swapped


def kept(network: Network, block: str = "block2/") -> dict[str, Tensor]:
    """The saved tensors of a block."""
    return {name.removeprefix(block): tensor for name, tensor in tensors(network).tensors.items()
            if name.startswith(block) and tensor.saved}


def test_other_models_of_a_family() -> None:
    assert llama(groups=32, hidden=11008, words=32000).params == 6_738_415_616  # Llama 2 7B, Touvron et al. 2023
    assert gpt2(blocks=24, features=1024, heads=16).params == 354_823_168       # GPT-2 medium


def test_active_parameters_of_the_mixture() -> None:
    """Jiang et al. 2024: a token uses 13 of 47 billion parameters; each does a multiplication and an addition."""
    net = load_network("moe", positions=1)
    products = sum(layer.flops for layer in net.layers if layer.kind == "fc") / 2
    assert products + net.layer("embedding").params == pytest.approx(12.9e9, rel=0.005)


def test_what_gpt2_keeps() -> None:
    # Bytes of a position in a block of 768 features.
    found = {name: (tensor.size / (8 * 1024), tensor.dtype, tensor.role)
             for name, tensor in kept(load_network("gpt2")).items()}
    assert found == {
        "norm1": (1536, "bfloat16", "norm"), "qkv": (3 * 1536, "bfloat16", "attention"),
        "attention": (1536, "bfloat16", "attention"), "add1": (3072, "float32", "sum"),
        "norm2": (1536, "bfloat16", "norm"), "mlp/up": (4 * 1536, "bfloat16", "linear"),
        "mlp/gelu": (4 * 1536, "bfloat16", "gelu"), "add2": (3072, "float32", "sum"),
        "norm1/statistics": (8, "float32", "statistics"), "attention/statistics": (48, "float32", "statistics"),
        "norm2/statistics": (8, "float32", "statistics")}


def test_what_llama_keeps() -> None:
    found = {name: tensor.size / 8192 for name, tensor in kept(load_network("llama")).items()}
    assert found == {
        "norm1": 8192, "query": 8192, "key": 2048, "value": 2048, "attention": 8192, "add1": 16384, "norm2": 8192,
        "mlp/gate": 28672, "mlp/up": 28672, "mlp/silu": 28672, "mlp/swiglu": 28672, "add2": 16384,
        "norm1/statistics": 4, "attention/statistics": 128, "norm2/statistics": 4}


def test_squared_relu_has_zeros_twice() -> None:
    found = kept(load_network("relu2"))
    assert {name for name, tensor in found.items() if tensor.sparse} == {"mlp/up", "mlp/square"}
    assert found["mlp/square"].role == "relu"


def test_experts_keep_routed_positions_only() -> None:
    found = {name.removeprefix("experts/"): tensor.elements / 32768
             for name, tensor in kept(load_network("moe")).items() if name.startswith("experts/")}
    assert found == {"softmax": 8, "routed": 2 * 4096, "gate": 2 * 14336, "up": 2 * 14336, "silu": 2 * 14336,
                     "swiglu": 2 * 14336, "down": 2 * 4096}


def test_no_tensor_grows_with_the_square_of_positions() -> None:
    few, many = (load_network("gpt2", batch=1, positions=positions) for positions in (512, 4096))
    saved = [sum(tensor.size for tensor in tensors(one).tensors.values() if tensor.saved) for one in (few, many)]
    assert saved[1] == 8 * saved[0]
    attention = [one.layer("block1/attention").flops for one in (few, many)]
    # Two products of positions x positions x features, half of them behind the mask.
    assert attention == [2 * 512 * 512 * 768, 2 * 4096 * 4096 * 768]


def test_types_of_a_decoder() -> None:
    full = {tensor.dtype for tensor in tensors(load_network("gpt2", dtype="float32")).tensors.values()}
    assert full == {"int64", "float32"}
    network = load_network("llama", dtype="float8_e4m3")
    found = {name: tensor.dtype for name, tensor in kept(network).items()}
    assert network.compute == "float8"
    assert {name for name, dtype in found.items() if dtype == "float8_e4m3"} == {"norm1", "norm2", "mlp/swiglu"}
    assert {name for name, dtype in found.items() if dtype == "bfloat16"} == {
        "query", "key", "value", "attention", "mlp/gate", "mlp/up", "mlp/silu"}


def test_statistics_stay_on_the_device() -> None:
    plan = tensors(load_network("gpt2"))
    moved = swapped(plan, "all", 1e9)
    assert {"data", "embedding", "block12/mlp/gelu", "norm"} <= moved
    assert not any(plan.tensors[name].role == "statistics" for name in moved)


def test_tied_scores_and_lookups_move_what_they_read() -> None:
    net = DecoderBuilder("words", "a test", 1, (4,), "bfloat16")
    net.embedding("embedding", 1000, 8)
    net.scores("head", 1000, tied=True)
    network = net.network()
    assert network.params == 8000
    steps = roofline(tensors(network), Gpu("thin", "a test", {"float32": 1e6}, 1e-6, 1.0))
    # Tokens of 8 bytes, then 4 rows of the table read and written in float32, not the table.
    assert steps[0].forward_traffic == 4 * 8 + 2 * 4 * 8 * 4
    assert steps[1].forward_traffic == 4 * 8 * 4 + 8000 * 2 + 4 * 1000 * 2


def test_a_decoder_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"dtype": "bfloat16", "input": [128], "layers": [
        {"kind": "embedding", "name": "embedding", "words": 100, "features": 64},
        {"kind": "decoder_block", "name": "block1", "heads": 4, "groups": 2, "hidden": 160},
        {"kind": "decoder_block", "name": "block2", "heads": 4, "hidden": 160, "activation": "relu2", "experts": 1},
        {"kind": "rms_norm", "name": "norm"}, {"kind": "scores", "name": "head", "words": 100}]}))
    plan = tensors(load_network(str(path)))
    assert plan.network.params == 100 * 64 * 2 + 64 + (64 * 96 * 2 + 3 * 64 * 160 + 128) + (
        4 * 64 * 64 + 2 * 64 * 160 + 128)
    assert plan.tensors["data"].dtype == "int64"
    with pytest.raises(ValueError, match=r"mine\.json has its shapes from its file"):
        load_network(str(path), positions=64)


def test_mistakes() -> None:
    net = DecoderBuilder("wrong", "a test", 1, (16,), "bfloat16")
    net.embedding("e", 10, 24)
    net.linear("short", 7)
    for build, says in ((lambda: net.embedding("f", 10, 24), "f reads tokens, not 16x7"),
                        (lambda: net.fused_attention("a", 5, "e"), "24 features cannot be split into 5 heads"),
                        (lambda: net.fused_attention("a", 4, "e", "e"), "reads queries, keys and values"),
                        (lambda: net.fused_attention("a", 4, "e", "e", "e", groups=3), "4 heads in 3 groups"),
                        (lambda: net.fused_attention("a", 4, "e", "e", "e", groups=2), "24 and 24 and 24 features"),
                        (lambda: net.perceptron("p", "tanh", 8, after="e"), "gelu, relu2 or swiglu, not 'tanh'"),
                        (lambda: net.multiply("m", ["e", "short"]), "reads layers of one shape"),
                        (lambda: net.decoder_block("b", 4, 8, norm="batch", after="e"), "rms or layer"),
                        (lambda: net.decoder_block("b", 0, 8, after="e"), "heads must be a whole number"),
                        (lambda: net.experts("x", 0, 2, 8, after="e"), "experts must be a whole number")):
        with pytest.raises(ValueError, match=says):
            build()
