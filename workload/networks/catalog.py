"""The networks by name, and networks of the user from JSON files."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdma.workload.dumps.types import element_type, type_name
from cdma.workload.json_file import read_json
from cdma.workload.networks import models
from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.layers import Network

__all__ = ["NETWORKS", "PAPER", "TODAY", "load_network"]

NETWORKS: dict[str, Callable[..., Network]] = {name: getattr(models, name.replace("-", "_")) for name in (
    "alexnet", "overfeat", "nin", "vgg16", "squeezenet", "googlenet", "resnet50", "transformer", "gpt2", "gpt2-xl",
    "llama", "vit", "relu2", "moe")}
"""The function that builds each network; all take ``batch``, and decoders ``positions``."""
PAPER = ("alexnet", "overfeat", "nin", "vgg16", "squeezenet", "googlenet")
"""The six networks of Rhu et al."""
TODAY = ("gpt2", "gpt2-xl", "llama", "vit", "relu2", "moe")
"""Transformers of today, in bfloat16 unless told otherwise."""

_KINDS = ("conv", "fc", "linear", "pool", "global_pool", "relu", "dropout", "lrn", "norm", "concat", "add",
          "inception", "attention", "transformer_block", "embedding", "tokens", "layer_norm", "rms_norm", "gelu",
          "silu", "square", "multiply", "rotary", "fused_attention", "perceptron", "experts", "decoder_block", "scores",
          "pick")


def load_network(name: str, batch: int | None = None, dtype: str | None = None, compute: str | None = None,
                 positions: int | None = None) -> Network:
    """A network of the catalogue, or one from a file.

    Parameters
    ----------
    name
        A name of :data:`NETWORKS`, or the path of a JSON file: an object with ``name``, ``batch``, ``dtype``,
        ``compute``, ``input`` (the shape of one sample) and ``layers``, a list of objects that have the ``kind`` and
        ``name`` of a layer, the arguments of that method of :class:`cdma.workload.networks.decoder.DecoderBuilder`, and
        its own ``dtype`` if it differs.
    batch
        Samples of a step; None takes the network's own.
    dtype, compute
        Type of its values, and type that matrix products use, see :class:`cdma.workload.networks.layers.Network`; None
        takes the network's own. Another ``dtype`` brings its own ``compute``.
    positions
        Length of a sequence, for decoders; None takes the network's own.

    Raises
    ------
    ValueError
        If there is no such network, or the file does not describe one.
    """
    if name in NETWORKS:
        network = _from_catalog(name, batch=batch, dtype=dtype, positions=positions)
    elif positions is not None:
        raise ValueError(f"{name} has its shapes from its file: change the input there, and leave positions out")
    elif name.endswith(".json"):
        network = _from_json(name, read_json(name), batch)
    else:
        raise ValueError(f"there is no network {name!r}: give {', '.join(NETWORKS)} or a .json file")
    if dtype is not None and type_name(element_type(dtype)) != network.dtype:
        network = replace(network, dtype=dtype, compute="")
    return network if compute is None else replace(network, compute=compute)


def _from_catalog(name: str, **given: Any) -> Network:
    """A network with those arguments that are given and that its function takes."""
    make = NETWORKS[name]
    takes = inspect.signature(make).parameters
    if given["positions"] is not None and "positions" not in takes:
        raise ValueError(f"{name} has no choice of positions: they follow from its input")
    if given["dtype"] is not None:
        given["dtype"] = type_name(element_type(given["dtype"]))
    return make(**{key: value for key, value in given.items() if value is not None and key in takes})


def _from_json(path: str, content: Any, batch: int | None) -> Network:
    if not isinstance(content, dict) or not isinstance(content.get("input"), list) \
            or not isinstance(content.get("layers"), list):
        raise ValueError(f"{path} must have an object with input (a list of sizes), batch and layers (a list)")
    unknown = sorted(set(content) - {"name", "about", "batch", "dtype", "compute", "input", "layers"})
    if unknown:
        raise ValueError(f"{path} has {', '.join(unknown)}: name, about, batch, dtype, compute, input and layers are "
                         "allowed")
    types = {key: _text(f"{path}: {key}", content[key]) for key in ("dtype", "compute") if key in content}
    net = DecoderBuilder(
        str(content.get("name", Path(path).stem)), str(content.get("about", f"from {Path(path).name}")),
        content.get("batch", 1) if batch is None else batch, content["input"], **types)
    for number, layer in enumerate(content["layers"]):
        _add(f"{path}: layer {number}", net, layer)
    try:
        return net.network()
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where} must be the name of a type, as bfloat16, not {value!r}")
    return value


def _add(where: str, net: DecoderBuilder, layer: Any) -> None:
    if not isinstance(layer, dict) or layer.get("kind") not in _KINDS or not isinstance(layer.get("name"), str):
        raise ValueError(f"{where} must be an object with a name and a kind of {', '.join(_KINDS)}")
    method = getattr(net, layer["kind"])
    arguments = {key: value for key, value in layer.items() if key not in ("kind", "dtype")}
    dtype = None if layer.get("dtype") is None else _text(f"{where}: dtype", layer["dtype"])
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        allowed = ", ".join([*inspect.signature(method).parameters, "dtype"])
        raise ValueError(f"{where} ({layer['name']}): {error}; a {layer['kind']} takes {allowed}") from error
    try:
        if dtype is not None:
            element_type(dtype)
        with net.typed(dtype):
            method(**arguments)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
