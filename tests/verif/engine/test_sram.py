"""Memories that a user replaces: the engine works with macros that keep the wrapper's contract.

The wrapper itself is simulated in the sweep of configurations. The engine here has the memory of reads in any order.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdma.hdl.codec.coding import most_metadata, most_tag_rows
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.common.sram import LEAST_BITS, sram_name
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.descriptor import RECORD_BYTES
from cdma.verif.engine.build import engine_text
from tests.extended import extended
from tests.lint import lint

_CONFIG = load_engine("tiny").replace(name="cdma_wrapped", memories="wrapped", narrowing=True, link_read_ids=3)
_SIZE = re.compile(r"\.DEPTH\(32'd(\d+)\),\s*(?:\.PARTS\(32'd\d+\),\s*)?\.WIDTH\(32'd(\d+)\)")


def _macros() -> str:
    return (Path(__file__).parent / "sram.v").read_text().replace("NAME", sram_name(_CONFIG.name))


def test_every_large_memory_is_wrapped(build_dir: Path) -> None:
    text = engine_text(_CONFIG, build_dir, sram="\n")
    left = [(int(width) + 1) * (int(depth) + 1)
            for width, depth in re.findall(r"reg \[(\d+):0\] \S+ \[(\d+):0\];", text)]
    assert left and max(left) < LEAST_BITS
    sizes = sorted((int(depth), int(width)) for depth, width in _SIZE.findall(text))
    config = _CONFIG
    link, row = 8 * config.link_beat_bytes, 8 * GROUP_BYTES     # with exponents, the codec works on rows of groups
    block = config.block_bytes // GROUP_BYTES
    tags = most_tag_rows(GROUP_BYTES, config.element_bytes, config.block_bytes)
    facts = -(-most_metadata(config.block_bytes, (4,), config.exponents) // GROUP_BYTES)    # and the tags of exponents
    queue = 16 * config.queue_depth, 32
    assert sizes == sorted([
        queue, queue, queue, queue, (128, 32), (2 * 256, link), (3 * 256, link + 2),
        (config.entries_ahead * RECORD_BYTES // config.link_beat_bytes, link),     # entries of rings
        *6 * [(64, 32)],                                            # requests, tickets and totals in progress
        (config.buffer_bytes // config.link_beat_bytes, link),      # blocks for the link
        (config.buffer_bytes // GROUP_BYTES, row + 8),              # payloads from the link
        (2 * max(tags, facts), row),                                # what stands in front of their data, of two blocks
        (block + 28, row + GROUP_BYTES),                            # raw beats, with a bit for each byte
        (128, 24),                                                  # facts of lines: as few rows as make a memory
        (2 * tags + 4, row),                                        # tags of two blocks
        (facts + 5, row),                                           # facts and tags of exponents of a block
        (4 * facts - 6, row + 1),                                   # data that wait until these have left
    ])


@extended
def test_lint_of_the_wrapper(build_dir: Path, tmp_path: Path) -> None:
    lint(_CONFIG.name, engine_text(_CONFIG, build_dir), tmp_path)


@extended
@pytest.mark.parametrize("module", ["transfers", "faults", "link_reads"])
def test_macros(module: str, engine_bench) -> None:
    engine_bench(_CONFIG, f"cdma.verif.engine.benches.{module}", share=0.2, sram=_macros())
