"""``cdma generate``: writes all files for the use of an engine, a core or a block core in a design."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.files import write_files, written_text
from cdma.console.options import add_command, configurations, core_options, json_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cdma.hdl.config.engine import EngineConfig
    from cdma.hdl.generate.handover.bench.files import Sample

_DESCRIPTION = """\
Write the files for a design and its flow, for each configuration: the Verilog, of an engine in the folder NAME with a
file for each module, of a core in NAME.v (--single and --split: the other form, equivalent); NAME.json with the
resolved configuration, the ports, the bus interfaces and the versions of the tools; NAME.vlt, waivers for the lint
rules that generated Verilog breaks, each with its reason; NAME.core for FuseSoC, NAME.f, and NAME.sdc; for Vivado
NAME.xdc, an IP in the folder NAME_ip, and package_NAME.tcl, which packages it anew. An engine comes with NAME_regs.h
and NAME.rdl of its registers, cdma_driver.h, cdma_codec.h and cdma_codec.c for streams on the host, and NAME_README.md
with an instantiation as well. The same configuration gives the same bytes on every machine; another minor version of
Python can name inner signals of the Verilog otherwise. The Verilog of an engine takes 15 seconds to some minutes,
depending on the number of lanes. With --bench, the folder NAME_bench has a first transfer: `make` there simulates the
engine, with g++ and Verilator alone."""

_EXAMPLES = """\
  cdma generate --list                                    presets and parameters
  cdma generate -o rtl                                    the DMA engine, one file a module: rtl/cdma_engine/*.v
  cdma generate --single -o rtl                           all of it in rtl/cdma_engine.v
  cdma generate tiny --bench -o rtl                       and rtl/cdma_tiny_engine_bench: run make there
  cdma generate engine --set lanes=8 --set name=my_dma -o rtl
  cdma generate compressor --set beat_bytes=16 --set name=small -o rtl    a core of line streams
  cdma generate block_compressor block_decompressor -o rtl          the block cores, tags first
  cdma generate exponent_block_compressor exponent_block_decompressor -o rtl
                                                          the block cores with exponents of bfloat16 and float32 too
  cdma generate my_design.toml -o rtl                     a configuration of your own"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "generate", "write the Verilog of engines and cores", _DESCRIPTION, _EXAMPLES, run)
    core_options(parser)
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="folder to write into (default: this one)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--split", action="store_true", help="one file a module in the folder NAME, as engines have it: "
                      "modules named by their classes, equal ones once, plain names, lines of 120 characters at most")
    form.add_argument("--single", action="store_true", help="all modules in NAME.v, as cores have it")
    parser.add_argument("--bench", action="store_true", help="write the folder NAME_bench too: benches in C++ and "
                        "cocotb that move a tensor through an engine, and need nothing of this project")
    parser.add_argument("--list", action="store_true", help="list presets and parameters, write nothing")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """List, or generate and print which files were written."""
    if call.list:
        show(call, _list(), _list_text)
        return 0
    from cdma.golden.c.library import sources
    from cdma.hdl.config.engine import EngineConfig
    from cdma.hdl.generate.handover.bench.files import bench_files
    from cdma.hdl.generate.handover.files import files
    from cdma.hdl.generate.verilog import emit

    configs = configurations(call)
    for config in configs if call.bench else ():
        if not isinstance(config, EngineConfig):
            raise ValueError(f"--bench moves tensors through engines, and {config.name} is none: leave it out, or name "
                             "engines only")
    folder = Path(call.output)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[dict[str, Any]] = []
    with Progress() as progress:
        for config in configs:
            split = call.split or (isinstance(config, EngineConfig) and not call.single)
            made = files(emit(config, progress, split=split), sources())
            if call.bench and isinstance(config, EngineConfig):
                made |= bench_files(config, _samples(config))
            written += [one | {"top": config.name} for one in write_files(folder, made)]
    show(call, written, lambda written: "\n".join(map(written_text, written)))
    return 0


def _samples(config: EngineConfig) -> list[Sample]:
    """Activations of a trained network, two blocks for each lane at most, in the coding that makes them smallest; and
    rounded to bfloat16, where that is built."""
    import numpy as np

    from cdma.golden.codec import blocks
    from cdma.golden.codec.coding import Coding
    from cdma.golden.codec.crc32c import crc32c
    from cdma.golden.codec.narrowing import NARROWED_BYTES, NARROWED_CODINGS, WIDE_BYTES, Narrowing, narrow, widen
    from cdma.golden.codec.smallest import smallest
    from cdma.hdl.generate.handover.bench.files import Sample
    from cdma.workload.data import shipped

    with np.load(shipped()) as dump:
        whole = dump["fire6/concat"].reshape(-1).view(np.uint8)
    # The last block is a short one.
    raw = whole[:max(1 << 14, 2 * config.lanes * config.block_bytes) - 28]

    def sample(name: str, back: NDArray[np.uint8], coded: NDArray[np.uint8], codings: Sequence[int], size: int,
               narrowing: str = "") -> Sample:
        coding = smallest(coded, codings, size)
        stream = blocks.compress(coded, coding, size)
        left_raw = sum(block.coding == Coding.RAW for block in blocks.headers(stream, size))
        nonzero = np.count_nonzero(coded.view(f"<u{coding.element_bytes}"))
        return Sample(name=name, back=back.tobytes(), stream=stream.tobytes(), coding=coding, narrowing=narrowing,
                      nonzero=int(nonzero), raw_blocks=left_raw, crc=crc32c(stream))

    found = [sample("", raw, raw, config.numbers, config.block_bytes)]
    if config.narrowing:
        form = Narrowing.BFLOAT16
        coded = narrow(raw, form)
        found.append(sample("rounded_", widen(coded, form).view(np.uint8), coded.view(np.uint8),
                            [each for each in NARROWED_CODINGS[form] if each in config.numbers],
                            config.block_bytes * NARROWED_BYTES // WIDE_BYTES, "CDMA_NARROW_BFLOAT16"))
    return found


def _list() -> dict[str, Any]:
    """The presets and parameters of engines, of cores and of block cores."""
    from cdma.hdl.config.catalog import kinds

    return {kind: {"presets": presets, "parameters": {
        name: {"about": field.metadata["help"], "allowed": field.metadata["allowed"]}
        for name, field in of.fields().items()}} for kind, (of, presets) in kinds().items()}


def _list_text(found: Mapping[str, Any]) -> str:
    tables = []
    for kind, of in found.items():
        name = kind.replace("_", " ")
        tables += [Table([name, "what it is for"], [[each, config.about] for each, config in of["presets"].items()],
                         left=(0, 1)),
                   Table([Column(f"parameter of {name}", "name"), Column("allowed", "allowed", left=True),
                          Column("what it sets (--set NAME=VALUE, or a line of a TOML file)", "about")],
                         [{"name": each, **field} for each, field in of["parameters"].items()])]
    return "\n\n".join(table.text() for table in tables)
