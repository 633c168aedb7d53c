"""The sections on the block cores of the page of figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdma.console.output import fixed
from cdma.measure.figures import Figures
from cdma.report.page import Section
from cdma.report.parts import Fenced, Part, Table, prose
from cdma.report.performance_area import area_tables, timing_tables
from cdma.report.performance_timing import placed_tables
from cdma.report.simulation_text import blocks_simulation_text
from cdma.verif.core.blocks.throughput import BlockThroughput

__all__ = ["block_sections"]

_SHIPPED = """\
The shipped dump as `cdma simulate --blocks` prints it, array by array through the [block cores](block_cores.md)."""

_THROUGHPUT = """\
Raw beats per cycle in simulation, over tensors of 64 KiB in blocks of 4 KiB without a pause between them, with sinks
that are always ready: into the compressor / out of the decompressor. In brackets: the limit of the packed side, min(1,
raw beats / beats of payloads). Blocks that stay raw are not sent to the decompressor."""

_AREA = """\
Area of the whole core, flattened, as for the cores above. Memories of 2048 bits or more are macros and not counted; on
an FPGA they are block RAM and LUTs."""

_TIMING = """\
The clock that the slowest path of each kind allows, as for the cores above; memories are macros, whose times are those
of the units of engines."""

_PNR = """\
Placed and routed by nextpnr, as `cdma timing PRESET --target ecp5` does it."""


def block_sections(figures: Figures) -> Iterator[Section]:
    """A section for each kind of figure that there is."""
    if figures.block_shipped is not None:
        yield Section("The block cores: a real dump", [
            *prose(_SHIPPED), Fenced(blocks_simulation_text(figures.block_shipped))])
    if figures.block_throughput:
        yield Section("The block cores: beats per cycle", [*prose(_THROUGHPUT), *_throughput(figures.block_throughput)])
    if figures.block_area:
        yield Section("The block cores: area", [*prose(_AREA), *area_tables(figures.block_area)])
    if figures.block_timing:
        yield Section("The block cores: timing", [*prose(_TIMING), *timing_tables(figures.block_timing)])
    if figures.block_pnr:
        yield Section("The block cores on an ECP5", [*prose(_PNR), *placed_tables(figures.block_pnr)])


def _throughput(rows: Sequence[BlockThroughput]) -> Iterator[Part]:
    for beat_bytes in dict.fromkeys(row.beat_bytes for row in rows):
        own = [row for row in rows if row.beat_bytes == beat_bytes]
        codings = list(dict.fromkeys(row.coding for row in own))
        cells = {(row.density, row.coding): f"{fixed(row.compress_beats_per_cycle, 4)} / "
                 f"{fixed(row.decompress_beats_per_cycle, 4) or 'raw'} ({fixed(row.limit, 3)})" for row in own}
        yield f"Beats of {beat_bytes} bytes:"
        yield Table(["density", *codings], [[f"{density:.1f}", *(cells[density, coding] for coding in codings)]
                                            for density in sorted({row.density for row in own})])
