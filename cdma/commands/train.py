"""``cdma train``: training steps whose saved activations go through an engine, beside plain training."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdma.console.errors import CheckError
from cdma.console.numbers import byte_size, one_or_more, positive
from cdma.console.options import add_command, build_option, engine, engine_option, json_option, refuse, whole_number
from cdma.console.output import count, lanes_text, show
from cdma.console.progress import Progress
from cdma.report.table import Column, Table

_DESCRIPTION = """\
Train a small network twice from the same seed: plainly, and with every activation that PyTorch saves for backward in
an engine, offloaded in the forward pass and prefetched in the backward pass. The engine is the generated Verilog in
Verilator, between simulated memories, under the driver; with --golden the golden model stands in for it, which
is faster and knows no time. Losses, gradients and weights of both trainings are compared bit for bit; where one differs
it is named, and the exit code is 1.

Printed are tensors, bytes, ratio and cycles by types of values, beside the cycles that a plan predicts and those of a
plain DMA engine of the same width. Tensors go one at a time, so no transfer hides behind another or behind computing.

With --device there is no engine: a GPU trains networks of the classes of GPT-2 and ResNet-50 on synthetic data,
plainly, with PyTorch's save_on_cpu, with what autograd saves on the host as it is and compressed where that pays, and
with blocks that are computed again. Printed are the time of a step, the share of it in which the GPU codes, and peak
memory.

The examples are digits, a convolutional network in float32, and sums and llama, a small GPT and a small Llama in
bfloat16 autocast; the norms of the Llama compute in float32. PyTorch comes with the extra: pip install
'cdma-rtl[torch]'. docs/training.md has what is moved, and the same for a model of yours."""

_EXAMPLES = """\
  cdma train --example digits                             a step through the Verilog of the default engine
  cdma train --example sums --engine tiny --steps 2
  cdma train --example digits --set page_lists=true --page 4K
  cdma train --example sums --latency 350                 memories as slow as those of the paper
  cdma train --example digits --golden --steps 100        the golden model instead of the Verilog
  cdma train --gpu                                        GPT-2 and ResNet-50 on a GPU, by all ways
  cdma train --example sums --json | jq '.total.deviation'"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "train", "a training step through the engine, bit for bit", _DESCRIPTION, _EXAMPLES,
                         run)
    parser.add_argument("--example", metavar="NAME", help="the network: digits, sums or llama; with --device gpt2 "
                        "or resnet50 (default: both)")
    parser.add_argument("--device", metavar="NAME", help="train on a GPU, as PyTorch names it (cuda), or rehearse on "
                        "the cpu")
    parser.add_argument("--gpu", action="store_const", const="cuda", dest="device", help="the same as --device cuda")
    engine_option(parser)
    parser.add_argument("--steps", type=one_or_more, default=1, metavar="N", help="training steps (default: 1)")
    parser.add_argument("--batch", type=one_or_more, metavar="N",
                        help="samples of a batch (default: digits 64, others 8)")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="seed of weights and batches "
                        "(default: 0)")
    parser.add_argument("--golden", action="store_true", help="the golden model instead of the Verilog")
    parser.add_argument("--page", type=byte_size, metavar="SIZE",
                        help="streams are in pages of this size, 4K to 2M, of "
                        "an engine with page_lists (default: each is in one piece)")
    parser.add_argument("--least", type=byte_size, default=4096, metavar="SIZE",
                        help="tensors of fewer bytes stay on the "
                        "device (default: 4K)")
    parser.add_argument("--memory", type=byte_size, metavar="SIZE",
                        help="bytes of each memory of the engine, a power of "
                        "two; link memory holds all streams of a step (default: 4M, and 1G with --golden)")
    parser.add_argument("--latency", type=whole_number, default=0, metavar="CYCLES", help="cycles until the engine's "
                        "memories answer (default: 0)")
    parser.add_argument("--clock", type=positive, default=1000.0, metavar="MHZ", help="clock of the engine (default: "
                        "1000)")
    build_option(parser)
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Train twice, and print what was moved and whether both came out the same."""
    if call.device is not None:
        return _run_gpu(call)
    if call.example is None:
        raise ValueError("give the network to train: --example digits, --example sums or --example llama")
    config = engine(call.engine or "engine", call.settings)
    from cdma.measure.training import trained

    with Progress() as progress:
        outcome = trained(call.example, config, steps=call.steps, batch=call.batch, seed=call.seed, model=call.golden,
                          page_bytes=call.page, least=call.least, latency=call.latency, memory_bytes=call.memory,
                          clock_mhz=call.clock, build_dir=Path(call.build_dir), progress=progress)
    show(call, outcome, training_text)
    if outcome["differences"]:
        raise CheckError(f"training through {outcome['engine']} differs from plain training: "
                         f"{outcome['differences'][0]}")
    return 0


_WAYS = [Column("network", "network"), Column("way", "way"), Column("ms", "milliseconds", ",.1f"),
         Column("peak MB", lambda row: row["peak_bytes"] and row["peak_bytes"] / 1e6, ",.0f", optional=True),
         Column("out, bytes", "raw_bytes", ",.0f", optional=True), Column("ratio", "ratio", ".3f", optional=True),
         Column("coding", "codec_share", ".1%", optional=True),
         Column("bits", lambda row: "those of plain training" if row["identical"] else "others")]


def _run_gpu(call: argparse.Namespace) -> int:
    """Train on a GPU by all ways of saving memory, and print what each takes."""
    refuse(call, "--device trains without an engine", "--engine", "--set", "--batch", "--seed", "--golden",
           "--page", "--least", "--memory", "--latency", "--clock")
    from cdma.gpu.bench import about, checked_device
    from cdma.gpu.steps import NETWORKS, steps

    if call.example not in (None, *NETWORKS):
        raise ValueError(f"there is no example {call.example!r} with --device: there are {', '.join(NETWORKS)}")
    device = checked_device(call.device)
    rows = []
    with Progress() as progress:
        for name in [call.example] if call.example else NETWORKS:
            for row in steps(device, name, runs=call.steps if call.steps > 1 else None):
                progress(f"training {name}, {row['way']}", len(rows) + 1, 0)
                ratio = row["raw_bytes"] / row["link_bytes"] if "engine" in row else None
                rows.append({"codec_share": None, "raw_bytes": None, **row, "ratio": ratio})
    found = about(device) | {"rows": rows}
    show(call, found, lambda found: f"{found['card']} ({device}):\n\n{Table(_WAYS, found['rows']).text()}")
    if wrong := [row for row in rows if not row["identical"]]:
        raise CheckError(f"{wrong[0]['network']}, {wrong[0]['way']}: loss or gradients differ from plain training")
    return 0


def training_text(outcome: Mapping[str, Any]) -> str:
    """A row for each type of values, their times, what stayed, and whether both trainings came out the same."""
    pages, by = outcome["page_bytes"], "golden model" if outcome["by"] == "model" else "Verilog"
    about = ("{example}: {steps} {word} of {network} with a batch of {batch}, through the {who} of {engine}, {lanes_} "
             "and a link of {link_beat_bytes}; memories answer after {latency} cycles, streams are in {streams}. "
             "Cycles:"
             ).format(word="step" if outcome["steps"] == 1 else "steps", who=by,
                      lanes_=lanes_text(outcome["lanes"], outcome["beat_bytes"]),
                      streams="one piece each" if pages is None else f"pages of {count(pages)} bytes", **outcome)
    rows = Table([
        Column("type", "dtype"), Column("coding", "coding"), Column("tensors", "tensors", ","),
        Column("bytes", "bytes", ","), Column("packed", "packed_bytes", ","), Column("ratio", "ratio", ".3f"),
        Column("offload", "offload_cycles", ",", optional=True),
        Column("prefetch", "prefetch_cycles", ",", optional=True), Column("predicted", "predicted_cycles", ",.0f"),
        Column("deviation", "deviation", "+.2%", optional=True), Column("plain", "plain_cycles", ",.0f"),
        Column("gain", "gain", ".2f")], [*outcome["rows"], outcome["total"]])
    return "\n\n".join([_filled(about), rows.text(), _filled(_times(outcome)), _filled(_stayed(outcome)),
                        _verdict(outcome)])


def _times(outcome: Mapping[str, Any]) -> str:
    """Cycles as times at the clock."""
    total, clock = outcome["total"], outcome["clock_mhz"]
    what = "Predicted" if total["offload_cycles"] is None else "Measured"
    said = (f"{what}: {total['cycles']:,.0f} cycles for both ways, {total['cycles'] / clock:.1f} us at {clock:g} MHz, "
            "one tensor at a time; a plain DMA of the same width needs at least "
            f"{total['plain_cycles'] / clock:.1f} us")
    if total["deviation"] is not None:
        said += f"; a plan predicts {total['predicted_cycles'] / clock:.1f} us, {total['deviation']:+.2%}"
    return said


def _stayed(outcome: Mapping[str, Any]) -> str:
    counts = outcome["counts"]
    said = (f"Of {count(counts.saved)} saved tensors {count(counts.moved)} went to the engine, and "
            f"{count(counts.again)} were there already; on the device stayed {count(counts.small)} of fewer than "
            f"{count(outcome['least'])} bytes ({count(counts.small_bytes)} bytes in all), and {count(counts.weights)} "
            "parameters and buffers")
    return f"{said}, and {counts.other} without plain memory" if counts.other else said


def _verdict(outcome: Mapping[str, Any]) -> str:
    losses = " ".join(f"{loss:.6f}" for loss in outcome["losses"])
    compared = f"{outcome['gradients']} gradients and {outcome['weights']} weights"
    if outcome["identical"]:
        return (f"Losses: {losses}\nThe loss of every step, {compared} are those of plain training, bit for bit: "
                "passed")
    return (f"Losses: {losses}\nOf the losses, {compared}, {len(outcome['differences'])} are not those of plain "
            "training: failed")


def _filled(text: str) -> str:
    return textwrap.fill(text, 110, break_on_hyphens=False)
