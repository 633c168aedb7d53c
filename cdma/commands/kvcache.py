"""``cdma kvcache``: decoding with keys and values in host memory."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from cdma.console.networks import device_options
from cdma.console.numbers import byte_size, share
from cdma.console.options import add_command, json_option, whole_number
from cdma.console.output import count, show
from cdma.report.table import Column, Table

_DESCRIPTION = """\
A decoder makes a token at a time and reads the keys and values of all tokens before (KV cache). Where these do not fit
the device, the rest is in host memory and crosses the link in every step. Rows: a device with memory enough; the rest
over the link as it is; the rest through the engine. Beside tokens a second it says what fits the device, how much host
memory the pages take, and how long it takes to bring one context back.

The ratio is measured on keys and values of a dump, the shipped one if none is given. docs/kvcache.md has the model."""

_EXAMPLES = """\
  cdma kvcache llama --context 8192 --batch 128           on an H100, over PCIe 5
  cdma kvcache llama --context 131072 --batch 8 --gpu rtx-4090
  cdma kvcache gpt2 --context 1024 --batch 4096 --link 12.8 --page 2M --block 1024
  cdma kvcache moe --context 32768 --batch 64 --gpu h200 --json | jq '.rows[].tokens_per_s'
  cdma kvcache mine.json --context 4096 --batch 32 --dump kv.safetensors --array '*/[kv]'"""

_COMPUTE = {"float8_e4m3": "float8", "float8_e5m2": "float8"}  # of types that GPUs have by another name


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "kvcache", "decoding with keys and values in host memory", _DESCRIPTION, _EXAMPLES,
                         run)
    parser.add_argument("network", metavar="NETWORK|FILE.json", help="decoder (cdma timeline --list has gpt2, llama "
                        "and others) or a file with one of yours")
    parser.add_argument("--context", type=whole_number, required=True, metavar="N", help="tokens of each sequence")
    parser.add_argument("--batch", type=whole_number, required=True, metavar="N", help="sequences")
    device_options(parser, "h100")
    parser.add_argument("--block", type=whole_number, default=16, metavar="TOKENS", help="tokens of a transfer, whose "
                        "keys or values of a layer are contiguous on the device (default: 16)")
    parser.add_argument("--page", type=_page, default=4096, metavar="SIZE", help="page of host memory, 4K to 2M "
                        "(default: 4K)")
    parser.add_argument("--dump", metavar="FILE", help="dump with keys and values (default: the shipped transformer's)")
    parser.add_argument("--array", metavar="PATTERN", help="names of its arrays of keys and values, with * and ? "
                        "(default: those of the shipped dump)")
    parser.add_argument("--efficiency", type=share, default=0.5, metavar="X", help="share of the GPU's peak that "
                        "products and attention reach (default: 0.5)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Model the cache and print it."""
    show(call, _outcome(call), kvcache_text)
    return 0


def _outcome(call: argparse.Namespace) -> dict[str, Any]:
    """The cache as JSON has it: the ratio that was measured, what fits, and the ways of moving the rest."""
    from cdma.workload.data import SUMS
    from cdma.workload.serving.kvcache import Cache, kv_cache, load_decoder
    from cdma.workload.serving.ratios import SHIPPED_ARRAYS, kv_ratio
    from cdma.workload.timeline.gpus import gpu
    from cdma.workload.timeline.scenario import build_engine, suiting_preset

    if call.dump and not call.array:
        raise ValueError("say which arrays of the dump are keys and values: --array 'PATTERN' (cdma characterise "
                         f"{call.dump} lists them)")
    if not call.efficiency:
        raise ValueError("the efficiency must be above 0 and at most 1, not 0")
    decoder = load_decoder(call.network)
    device = gpu(call.gpu)
    link = call.link or device.link_reached
    memory = call.memory or device.memory
    peak = device.peak(_COMPUTE.get(decoder.dtype, decoder.dtype)) * 1e12 * call.efficiency
    cache = Cache(decoder, call.context, call.batch, peak, device.bandwidth * 1e9, memory * 1e9, link * 1e9,
                  call.block, call.page)
    preset = call.engine or suiting_preset(link)
    measured = kv_ratio(call.dump or SUMS, call.array or SHIPPED_ARRAYS)
    resident, rows = kv_cache(cache, build_engine(preset, call.clock), measured["ratio"])
    return {"network": decoder.name, "about": decoder.about, "dtype": decoder.dtype, "context": call.context,
            "batch": call.batch, "gpu": call.gpu, "gpu_name": device.about, "memory_gb": memory, "link_gb_per_s": link,
            "engine": preset, "block_tokens": call.block, "block_bytes": cache.block_bytes, "page_bytes": call.page,
            "measured": measured, "resident": resident, "rows": rows}


def _page(text: str) -> int:
    """``4K`` or ``2M``, for argparse."""
    size = byte_size(text)
    if size not in [1 << log for log in range(12, 22)]:
        raise argparse.ArgumentTypeError(f"must be a power of two from 4K to 2M, not {text!r}")
    return size


_WORDS = {"memory": "a device with memory enough", "offload": "rest over the link",
          "engine": "rest through the engine"}


def kvcache_text(outcome: Mapping[str, Any]) -> str:
    """What fits, then the rows."""
    fits, ratio = outcome["resident"], outcome["measured"]
    rows = Table([Column("keys and values", lambda row: _WORDS[row["row"]]), Column("compute ms", "compute_ms", ".2f"),
                  Column("link ms", "link_ms", ".2f"), Column("step ms", "step_ms", ".2f"),
                  Column("tokens/s", "tokens_per_s", ".1f"), Column("link GB", "link_gb", ".2f"),
                  Column("host GB", "host_gb", ".2f"),
                  Column("page waste", lambda row: row["page_waste"] if row["host_gb"] else None, ".0%"),
                  Column("context back ms", lambda row: None if row["row"] == "memory" else row["back_ms"], ".2f")],
                 outcome["rows"])
    _, plain, engine = outcome["rows"]
    answer = "All of it is on the device: only contexts that come back use the link." if not fits["away"] else \
        (f"{fits['away']:.0%} of the cache is in host memory: the engine makes "
         f"{plain['step_ms'] / engine['step_ms']:.2f} times the tokens a second.")
    return (
        "{network} ({about}), {dtype}, {batch:,} sequences of {context:,} tokens, on {gpu_name} with {memory_gb:g} "
        "GB;\nlink {link_gb_per_s:g} GB/s, engine {engine}; blocks of {block_tokens} tokens, {block_bytes:,} bytes of "
        "keys or values; pages of {page_bytes:,};\n".format(**outcome)
        + f"ratio {ratio['ratio']:.3f} by {ratio['coding']}, measured on {len(ratio['arrays'])} arrays of "
        f"{ratio['dump']}:\n\n{answer}\nKeys and values: {count(fits['token_bytes'])} bytes a token, "
        f"{fits['cache_gb']:.2f} GB; weights {fits['weights_gb']:.2f} GB.\nAlone on the device: "
        f"{count(fits['sequences'])} of these contexts, or one of {count(fits['longest'])} tokens.\n\n"
        f"{rows.text()}\n\nA step makes a token for each sequence. Context back: keys and values of one sequence over "
        "the link; "
        f"computing them again takes {fits['again_ms']:.2f} ms.")
