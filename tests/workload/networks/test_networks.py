"""Networks: parameters and shapes as published, tensors as counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.catalog import NETWORKS, PAPER, load_network
from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.layers import Network
from cdma.workload.networks.tensors import tensors

# Published: Caffe's and torchvision's models count exactly so; OverFeat's paper says 145 M (fast), NiN's model 7.6 M.
PARAMETERS = {"alexnet": 60_965_224, "overfeat": 145_920_872, "nin": 7_595_176, "vgg16": 138_357_544,
              "squeezenet": 1_248_424, "googlenet": 6_998_552, "resnet50": 25_557_032, "transformer": 3_152_384,
              "gpt2": 124_439_808, "gpt2-xl": 1_557_611_200, "llama": 8_030_261_248, "vit": 86_567_656,
              "relu2": 15_628_775_424, "moe": 46_702_792_704}
SHAPES = {
    "alexnet": {"conv1": (96, 55, 55), "pool1": (96, 27, 27), "conv2": (256, 27, 27), "pool2": (256, 13, 13),
                "conv3": (384, 13, 13), "conv5": (256, 13, 13), "pool5": (256, 6, 6), "fc6": (4096,), "fc8": (1000,)},
    "overfeat": {"conv1": (96, 56, 56), "pool1": (96, 28, 28), "conv2": (256, 24, 24), "pool2": (256, 12, 12),
                 "conv5": (1024, 12, 12), "pool5": (1024, 6, 6), "fc6": (3072,)},
    "nin": {"conv1": (96, 54, 54), "pool1": (96, 27, 27), "pool2": (256, 13, 13), "pool3": (384, 6, 6),
            "cccp8": (1000, 6, 6)},
    "vgg16": {"conv1_1": (64, 224, 224), "pool1": (64, 112, 112), "conv3_3": (256, 56, 56), "pool5": (512, 7, 7)},
    "squeezenet": {"conv1": (96, 111, 111), "pool1": (96, 55, 55), "fire2/concat": (128, 55, 55),
                   "fire4/concat": (256, 55, 55), "pool4": (256, 27, 27), "fire8/concat": (512, 27, 27),
                   "pool8": (512, 13, 13), "conv10": (1000, 13, 13)},
    "googlenet": {"conv1": (64, 112, 112), "pool1": (64, 56, 56), "pool2": (192, 28, 28),
                  "inception_3a/concat": (256, 28, 28), "inception_3b/concat": (480, 28, 28), "pool3": (480, 14, 14),
                  "inception_4e/concat": (832, 14, 14), "inception_5b/concat": (1024, 7, 7), "pool5": (1024, 1, 1)},
    "resnet50": {"conv1": (64, 112, 112), "pool1": (64, 56, 56), "layer1.3.add": (256, 56, 56),
                 "layer2.4.add": (512, 28, 28), "layer3.6.add": (1024, 14, 14), "layer4.3.add": (2048, 7, 7)},
    "transformer": {"block1/attention/scores": (8, 512, 512), "block1/up": (512, 2048), "block1/norm2": (512, 512)},
    "gpt2": {"block12/qkv": (1024, 2304), "block12/mlp/gelu": (1024, 3072), "head": (1024, 50257)},
    "gpt2-xl": {"block48/mlp/up": (1024, 6400)},
    "llama": {"block32/key": (8192, 1024), "block32/mlp/gate": (8192, 14336), "head": (8192, 128256)},
    "vit": {"patches": (768, 14, 14), "tokens": (197, 768), "block12/add2": (197, 768), "head": (1000,)},
    "relu2": {"block32/value": (4096, 1024), "block32/mlp/square": (4096, 24576)},
    "moe": {"block32/experts/router": (32768, 8), "block32/experts/swiglu": (65536, 14336)}}
BATCHES = {"alexnet": 256, "overfeat": 256, "nin": 128, "vgg16": 128, "squeezenet": 512, "googlenet": 256}


@pytest.mark.parametrize("name", NETWORKS)
def test_published_parameters_and_shapes(name: str) -> None:
    network = load_network(name)
    assert network.params == PARAMETERS[name]
    assert {layer: network.layer(layer).shape for layer in SHAPES[name]} == SHAPES[name]


def test_batches_of_the_paper() -> None:
    assert {name: load_network(name).batch for name in PAPER} == BATCHES
    assert load_network("vgg16", 64).batch == 64


def small() -> Network:
    """Two convolutions side by side between a pool and a sum, all steps and tensors in sight."""
    net = Builder("small", "a test", 2, (3, 8, 8))
    start = net.conv("conv1", 4, 3, pad=1)
    left = net.conv("left", 5, 1, after=start)
    right = net.conv("right", 6, 1, after=start)
    net.concat("both", [left, right])
    net.dropout("drop")
    net.pool("pool", 2, 2)
    wide = net.conv("conv2", 11, 1, relu=False)
    net.add("sum", [wide, "pool"], relu=True)
    net.fc("fc", 10, relu=False)
    return net.network()


def test_steps_and_tensors_counted_by_hand() -> None:
    plan = tensors(small())
    assert [step.name for step in plan.steps] == ["conv1", "left", "right", "pool", "conv2", "sum", "fc"]
    assert [layer.name for layer in plan.steps[2].layers] == ["right", "right/relu", "drop"]
    # Name: values of the batch of 2, sparse, written, read, kept.
    expected = {
        "data": (2 * 3 * 64, False, (), (0,), (0,)),
        "conv1": (2 * 4 * 64, True, (0,), (1, 2), (0, 1, 2)),
        "both": (2 * 11 * 64, True, (1, 2), (3,), (1, 2, 3)),
        "pool": (2 * 11 * 16, True, (3,), (4, 5), (3, 4)),
        "conv2": (2 * 11 * 16, False, (4,), (5,), ()),
        "sum": (2 * 11 * 16, True, (5,), (6,), (5, 6)),
        "fc": (2 * 10, False, (6,), (), ())}
    assert {name: (tensor.elements, tensor.sparse, tensor.written, tensor.read, tensor.kept)
            for name, tensor in plan.tensors.items()} == expected
    assert all(tensor.size == 4 * tensor.elements for tensor in plan.tensors.values())
    assert [name for name, tensor in plan.tensors.items() if tensor.feeds_conv] == ["data", "conv1", "pool"]
    assert [name for name, tensor in plan.tensors.items() if not tensor.saved] == ["conv2", "fc"]


def test_every_convolution_of_the_six_reads_and_keeps() -> None:
    for name in PAPER:
        plan = tensors(load_network(name))
        for number, step in enumerate(plan.steps):
            if step.layers[0].kind == "conv":
                assert all(number in plan.tensors[source].kept for source in step.reads), step.name
            assert number in plan.tensors[step.writes].written


def test_pooling_rounds_up_and_starts_on_the_map() -> None:
    net = Builder("pools", "a test", 1, (1, 112, 112))
    net.pool("up", 3, 2)
    net.pool("down", 3, 2, ceil=False, after="data")
    net.pool("same", 3, 1, pad=1, after="data")
    net.pool("clipped", 2, 3, pad=1, after="data")
    network = net.network()
    # Clipped: windows begin at -1, 2, ... 110, while one at 113 would begin behind the map.
    assert [layer.shape[1] for layer in network.layers] == [56, 55, 112, 38]


def test_networks_from_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"name": "mine", "batch": 4, "input": [3, 32, 32], "layers": [
        {"kind": "conv", "name": "a", "channels": 8, "kernel": 3, "pad": 1},
        {"kind": "pool", "name": "p", "kernel": 2, "stride": 2},
        {"kind": "fc", "name": "f", "features": 10, "relu": False}]}))
    network = load_network(str(path))
    assert (network.name, network.batch, network.params) == ("mine", 4, 8 * 27 + 8 + 10 * 8 * 256 + 10)
    assert load_network(str(path), 9).batch == 9


def test_types_from_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"batch": 2, "dtype": "bfloat16", "input": [6, 8], "layers": [
        {"kind": "norm", "name": "n", "over": "layer", "dtype": "float32"},
        {"kind": "linear", "name": "up", "features": 16, "relu": True},
        {"kind": "linear", "name": "down", "features": 8, "dtype": "float8_e4m3fn"}]}))
    network = load_network(str(path))
    plan = tensors(network)
    assert (network.dtype, network.compute) == ("bfloat16", "bfloat16")
    assert {name: (tensor.dtype, tensor.size, tensor.role) for name, tensor in plan.tensors.items()} == {
        "data": ("bfloat16", 2 * 48 * 2, "input"), "n": ("float32", 2 * 48 * 4, "norm"),
        "up": ("bfloat16", 2 * 96 * 2, "relu"), "down": ("float8_e4m3", 2 * 48, "linear")}
    assert plan.weight_bytes == 4 * network.params
    other = load_network(str(path), dtype="float8_e4m3fn")
    assert (other.dtype, other.compute, other.layer("n").dtype) == ("float8_e4m3", "float8", "float32")
    assert load_network("alexnet", dtype="float16", compute="tf32").compute == "tf32"


def test_types_that_are_not_allowed() -> None:
    for dtype, compute, says in (("float64", None, "cannot be trained in 'float64'"),
                                 ("bf16", None, "there is no type 'bf16' of elements"),
                                 (None, "int8", "alexnet cannot be computed in 'int8': give float32, tf32")):
        with pytest.raises(ValueError, match=says):
            load_network("alexnet", dtype=dtype, compute=compute)


def test_roles_of_the_encoder_and_of_googlenet() -> None:
    roles = {name: tensor.role for name, tensor in tensors(load_network("transformer")).tensors.items()}
    assert {name.removeprefix("block1/"): role for name, role in roles.items()} == {
        "data": "input", "query": "attention", "key": "attention", "value": "attention",
        "attention/scores": "linear", "attention/softmax": "softmax", "attention/values": "attention",
        "output": "linear", "add1": "sum", "norm1": "norm", "up": "relu", "down": "linear", "add2": "sum",
        "norm2": "norm"}
    plan = tensors(load_network("googlenet"))
    assert plan.tensors["norm1"].role == plan.tensors["inception_3a/concat"].role == "relu"
    assert plan.tensors["pool5"].role == "sum"


@pytest.mark.parametrize(("content", "says"), [
    ('{"input": [8], "dtype": 16, "layers": []}', "dtype must be the name of a type"),
    ('{"input": [8], "compute": "int4", "layers": [{"kind": "fc", "name": "f", "features": 1}]}', "computed in 'int4'"),
    ('{"input": [8], "layers": [{"kind": "fc", "name": "f", "features": 1, "dtype": "nibble"}]}', "no type 'nibble'"),
    ("[", "is not JSON"),
    ("[]", "must have an object with input"),
    ('{"input": [3, 8, 8], "layers": [], "colour": 1}', "has colour"),
    ('{"input": [3, 8, 8], "layers": []}', "has no layers"),
    ('{"input": [3, 0, 8], "layers": []}', "must be whole numbers"),
    ('{"input": [3, 8, 8], "batch": 0, "layers": []}', "the batch of mine"),
    ('{"input": [3, 8, 8], "layers": [{"kind": "warp", "name": "a"}]}', "layer 0 must be an object"),
    ('{"input": [3, 8, 8], "layers": [{"kind": "conv", "name": "a", "channels": 2}]}', "'kernel'; a conv takes name"),
    ('{"input": [3, 8, 8], "layers": [{"kind": "conv", "name": "a", "channels": 2, "kernel": 9}]}', "does not fit"),
    ('{"input": [3, 8, 8], "layers": [{"kind": "conv", "name": "a", "channels": "2", "kernel": 1}]}', "channels must"),
    ('{"input": [3, 8, 8], "layers": [{"kind": "relu", "name": "a", "after": "b"}]}', "no layer 'b' to read"),
    ('{"input": [3, 8, 8], "layers": [{"kind": "conv", "name": "a", "channels": 2, "kernel": 1, "pad": 0.5}]}', "pad"),
    ('{"input": [3, 8, 8], "layers": [{"kind": "norm", "name": "a", "over": "all"}]}', "over batch or layer"),
    ('{"input": [8], "layers": [{"kind": "pool", "name": "a", "kernel": 2, "stride": 2}]}', "reads channels, height"),
    ('{"input": [8], "layers": [{"kind": "multiply", "name": "a", "after": []}]}', "of one shape, not none"),
    ('{"input": [8, 8], "layers": [{"kind": "pick", "name": "a"}, {"kind": "pick", "name": "b"}]}', "8 features alone"),
])
def test_mistakes_in_files(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=says.replace("(", r"\(")) as caught:
        load_network(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("layer", [
    {"kind": "concat", "after": ["a", None]}, {"kind": "add", "after": [None, "a"]}, {"kind": "norm", "after": None},
    {"kind": "multiply", "after": ["a", None]}, {"kind": "concat", "after": ["data", None]},
    {"kind": "inception", "after": None, "one": 2, "three": [2, 2], "five": [2, 2], "pool": 2}])
def test_null_is_the_layer_before(layer: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    found = []
    for text in ("null", '"b"'):
        convs = [{"kind": "conv", "name": name, "channels": 4, "kernel": 1, "relu": False} for name in "ab"]
        layers = [*convs, layer | {"name": "c"}]
        path.write_text(json.dumps({"input": [4, 8, 8], "layers": layers}).replace("null", text))
        found.append(tensors(load_network(str(path))))
    assert found[0] == found[1]


def test_attention_reads_what_null_names() -> None:
    net = Builder("mine", "a test", 1, (8, 4))
    net.linear("q", 4)
    net.linear("v", 4)
    net.attention("t", 2, "q", None, None)  # type: ignore[arg-type]
    layers = {layer.name: layer.inputs for layer in net.network().layers}
    assert (layers["t/scores"], layers["t/values"]) == (("q", "v"), ("t/softmax", "v"))


def test_decoders_read_what_null_or_a_name_says() -> None:
    net = DecoderBuilder("mine", "a test", 1, (8, 12))
    net.linear("a", 12)
    net.fused_attention("t", 2, None)  # type: ignore[arg-type]
    for activation in ("gelu", "relu2", "swiglu"):
        net.perceptron(activation, activation, 6, after="a")
    layers = {layer.name: layer.inputs for layer in net.network().layers}
    assert [layers[name] for name in ("t", "gelu/up", "relu2/up", "swiglu/up")] == [("a",)] * 4


def test_an_unknown_layer() -> None:
    with pytest.raises(ValueError, match="alexnet has no layer 'conv9'"):
        load_network("alexnet").layer("conv9")


def test_mistakes_in_tables() -> None:
    net = Builder("wrong", "a test", 1, (3, 8, 8))
    net.conv("a", 4, 3)
    net.conv("b", 4, 5, after="data")
    net.fc("f", 5)
    net.relu("b2", after="b")
    for build, says in ((lambda: net.conv("a", 4, 3), "two layers 'a'"),
                        (lambda: net.concat("c", ["a", "b"]), "cannot stand side by side"),
                        (lambda: net.add("s", ["a", "b"]), "cannot be added"),
                        (lambda: net.conv("g", 6, 1, groups=3), "cannot be split into 3 groups"),
                        (lambda: net.attention("t", 1, "a", "a", "f"), "reads positions and features"),
                        (lambda: net.transformer_block("t", 2, 8), "reads positions and features")):
        with pytest.raises(ValueError, match=says):
            build()
