"""``cdma train``: training steps whose saved activations go through an engine, beside plain training."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cdma.console.errors import CheckError
from cdma.console.numbers import byte_size, one_or_more, positive
from cdma.console.options import add_command, engine, engine_option, json_option, whole_number
from cdma.console.output import print_json
from cdma.console.progress import Progress
from cdma.report.training_text import training_text

_DESCRIPTION = """\
Train a small network twice from the same seed: plainly, and with every activation that PyTorch saves for backward in
an engine, offloaded in the forward pass and prefetched in the backward pass. The engine is the generated Verilog in
Verilator, between simulated memories, under the driver; with --model the golden model stands in for it, which
is faster and knows no time. Losses, gradients and weights of both trainings are compared bit for bit; where one differs
it is named, and the exit code is 1.

Printed are tensors, bytes, ratio and cycles by types of values, beside the cycles that a plan predicts and those of a
plain DMA engine of the same width. Tensors go one at a time, so no transfer hides behind another or behind computing.

The examples are digits, a convolutional network in float32, and sums and llama, a small GPT and a small Llama in
bfloat16 autocast; the norms of the Llama compute in float32. PyTorch comes with the extra: pip install
'cdma-rtl[torch]'. docs/training.md has what is moved, and the same for a model of yours."""

_EXAMPLES = """\
  cdma train --example digits                             a step through the Verilog of the default engine
  cdma train --example sums --engine tiny --steps 2
  cdma train --example digits --set page_lists=true --pages 4K
  cdma train --example sums --latency 350                 memories as slow as those of the paper
  cdma train --example digits --model --steps 100         the golden model instead of the Verilog
  cdma train --example sums --json | jq '.total.deviation'"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "train", "a training step through the engine, bit for bit", _DESCRIPTION, _EXAMPLES,
                         run)
    parser.add_argument("--example", metavar="NAME", help="the network: digits, sums or llama")
    engine_option(parser, "engine: preset (engine, paper, smallest, tiny, wide) or TOML file (default: engine)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="change a parameter of the engine; may be repeated")
    parser.add_argument("--steps", type=one_or_more, default=1, metavar="N", help="training steps (default: 1)")
    parser.add_argument("--batch", type=one_or_more, metavar="N",
                        help="samples of a batch (default: digits 64, others 8)")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="seed of weights and batches "
                        "(default: 0)")
    parser.add_argument("--model", action="store_true", help="the golden model instead of the Verilog")
    parser.add_argument("--pages", type=byte_size, metavar="SIZE",
                        help="streams are in pages of this size, 4K to 2M, of "
                        "an engine with page_lists (default: each is in one piece)")
    parser.add_argument("--least", type=byte_size, default=4096, metavar="SIZE",
                        help="tensors of fewer bytes stay on the "
                        "device (default: 4K)")
    parser.add_argument("--memory", type=byte_size, metavar="SIZE",
                        help="bytes of each memory of the engine, a power of "
                        "two; link memory holds all streams of a step (default: 4M, and 1G with --model)")
    parser.add_argument("--latency", type=whole_number, default=0, metavar="CYCLES", help="cycles until the engine's "
                        "memories answer (default: 0)")
    parser.add_argument("--clock", type=positive, default=1000.0, metavar="MHZ", help="clock of the engine (default: "
                        "1000)")
    parser.add_argument("--build-dir", default="build/sim", metavar="DIR",
                        help="folder for Verilog and simulator builds, which are reused (default: build/sim)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Train twice, and print what was moved and whether both came out the same."""
    if call.example is None:
        raise ValueError("give the network to train: --example digits, --example sums or --example llama")
    config = engine(call.engine or "engine", call.settings)
    from cdma.measure.training import trained

    with Progress() as progress:
        outcome = trained(call.example, config, steps=call.steps, batch=call.batch, seed=call.seed, model=call.model,
                          page_bytes=call.pages, least=call.least, latency=call.latency, memory_bytes=call.memory,
                          clock_mhz=call.clock, build_dir=Path(call.build_dir), progress=progress)
    print_json(outcome) if call.json else print(training_text(outcome))
    if outcome["differences"]:
        raise CheckError(f"training through {outcome['engine']} differs from plain training: "
                         f"{outcome['differences'][0]}")
    return 0
