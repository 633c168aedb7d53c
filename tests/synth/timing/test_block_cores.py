"""Timing of a block core, whose memories are macros."""

from __future__ import annotations

from cdma.hdl.config.block_core import load_block
from cdma.synth.timing.engines import block_timing
from tests.synth.conftest import TINY, needs_opensta


@needs_opensta
def test_a_block_core_in_the_cells_of_a_library() -> None:
    config = load_block("block_decompressor").replace(codings=("zvc32",), beat_bytes=16, block_bytes=512)
    report = block_timing(config, liberty=TINY, recipe="small")
    assert (report.name, report.recipe) == (config.name, "small")
    # The store of payloads is a macro: in flip-flops it alone would be more.
    assert 1 < report.kge < 20
    assert report.worst is not None
    assert report.worst.start.startswith("core.")
