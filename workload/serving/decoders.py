"""What a decoder's cache of keys and values depends on, from its table of layers."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.workload.dumps.types import element_type
from cdma.workload.networks.catalog import load_network
from cdma.workload.networks.layers import INPUT, Network

__all__ = ["Decoder", "decoder_of", "load_decoder"]

_PRODUCTS = ("fc", "matmul")


@dataclass(frozen=True)
class Decoder:
    """A decoder.

    Parameters
    ----------
    name, about
        Its name, and where its sizes are from.
    blocks
        Layers of attention.
    query_values, key_values
        Values of a token's queries, and of its keys, in a block; its values have as many as its keys.
    params
        Parameters, all of which a step reads.
    token_flops
        Operations of products for a token, without attention.
    """

    name: str
    about: str
    blocks: int
    query_values: int
    key_values: int
    params: int
    token_flops: float

    def row_bytes(self, dtype: str) -> int:
        """Bytes of the keys of a token in a block."""
        return self.key_values * element_type(dtype).itemsize

    def token_bytes(self, dtype: str) -> int:
        """Bytes of keys and values of a token, in all blocks."""
        return 2 * self.blocks * self.row_bytes(dtype)


def load_decoder(name: str) -> tuple[Decoder, str]:
    """A decoder, and the type of its values: a network of the catalogue, or the path of a JSON file with one.

    Raises
    ------
    ValueError
        If there is no such network, or it is no decoder.
    """
    network = load_network(name)
    return decoder_of(network), network.dtype


def decoder_of(network: Network) -> Decoder:
    """The decoder that a network is.

    Raises
    ------
    ValueError
        If it has no fused attention, or the layers of attention differ.
    """
    shapes = {layer.name: layer.shape for layer in network.layers} | {INPUT: network.input_shape}
    found = set()
    for layer in (layer for layer in network.layers if layer.kind == "attention"):
        queries = layer.shape[-1]
        found.add((queries, (sum(shapes[source][-1] for source in layer.inputs) - queries) // 2, layer.shape[0]))
    if len(found) != 1:
        what = "its layers of attention differ" if found else "it has no fused attention"
        raise ValueError(f"{network.name} is no decoder whose keys and values could be kept: {what}; give gpt2, llama, "
                         f"relu2 or moe, for instance")
    queries, keys, positions = found.pop()
    blocks = sum(layer.kind == "attention" for layer in network.layers)
    flops = sum(layer.flops for layer in network.layers if layer.kind in _PRODUCTS)
    return Decoder(network.name, network.about, blocks, queries, keys, network.params, flops / positions)
