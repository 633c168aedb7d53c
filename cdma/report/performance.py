"""The page of the figures that ``cdma bench`` measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdma.golden.bench import Bench, Speed
from cdma.measure.figures import Figures
from cdma.report.page import Page, Section
from cdma.report.parts import Fenced, Part, Table, prose
from cdma.report.performance_area import area_tables, timing_tables
from cdma.report.performance_blocks import block_sections
from cdma.report.performance_engine import engine_sections
from cdma.report.performance_timing import timing_sections
from cdma.report.simulation_text import simulation_text
from cdma.verif.core.throughput import Latency, Throughput

__all__ = ["performance_page"]

_INTRO = """\
`make bench` measures all of this in one run and writes this page; the figures as JSON are in
[performance.json](performance.json), and `cdma bench --compare` prints what changed between two such files. [Beside its
peers](peers.md) has the figures of others."""

_SHIPPED = """\
The [shipped dump](../workload/data/README.md), as `cdma simulate` prints it: array by array through compressor and
decompressor, back to back. The limit is that of the whole array. In a part so dense that its lines grow, the packed
side is full and the raw side waits. The cores buffer only a few beats, so a sparse part after it cannot compensate
for the wait. Arrays of uneven density can therefore stay below the limit (the lowest value on dumps of real networks
was 95.5 %, at 8 bits); arrays of even density reach it: see the next section."""

_THROUGHPUT = """\
Raw beats per cycle in simulation, over tensors of 64 KiB without a pause between them, counted from the end of one
to the end of the next, with a sink that is always ready. In brackets: the share of the limit of the packed side,
min(1, raw bytes / packed bytes). Raw beats are the input of the compressor and the output of the decompressor."""

_LATENCY = """\
The longest latency in cycles, from handshake to handshake, of single packets. First beat: in the compressor from a
line's last raw beat to the first packed beat of it; in the decompressor from the packed beat that completes the tag
and the elements of a line's first raw beat, to that raw beat. End of packet: in the compressor from the last raw
beat to the last packed beat. With narrow beats a line has eight beats and the compressor's pipeline is longer, so
the end of a packet leaves later."""

_AREA = """\
Area of the whole core, flattened; `cdma area PRESET` shows the submodules. kGE are thousands of two-input NAND
gates: for the generic target from a small table of gate sizes, with a cell library um2 divided by those of its NAND
gate."""

_TIMING = """\
The clock that the slowest path of each kind allows, in cells at the library's own corner, with an ideal clock and wires
without length; inputs arrive at the clock edge, and outputs are sampled at the next. The netlist is that of the area
above, mapped by the recipe `fast`."""

_GOLDEN = """\
Speed in GB of raw data per second of one core's time, in one run on the same data: the golden model with each coding of
[blocks](formats.md#block-stream) of 4 KiB, by NumPy and by the
[C library](formats.md#compressed-tensors-on-the-host), which it uses where there is a C compiler; and general
compressors at level 1 on the whole array. "Byte planes" means that the bytes of the array are sorted first, all lowest
bytes of its elements, then the next, which is the best case of general compressors on dense values; the time includes
that.

The columns are densities of values behind a ReLU, none negative, zeros at random places. GELU: dense values of both
signs, the output of a GELU. Cells are compress / decompress (ratio)."""


def performance_page(figures: Figures) -> Page:
    """The page, with a section for each kind of figure that there is."""
    sections = [Section("", prose(_INTRO)), *engine_sections(figures)]
    if figures.shipped is not None:
        sections.append(Section("The cores: a real dump", [*prose(_SHIPPED), Fenced(simulation_text(figures.shipped))]))
    if figures.throughput:
        sections.append(Section("The cores: beats per cycle", [*prose(_THROUGHPUT), *_throughput(figures.throughput)]))
    if figures.latency:
        sections.append(Section("The cores: latency", [*prose(_LATENCY), _latency(figures.latency)]))
    if figures.area:
        sections.append(Section("The cores: area", [*prose(_AREA), *area_tables(figures.area)]))
    if figures.timing:
        sections.append(Section("The cores: timing", [*prose(_TIMING), *timing_tables(figures.timing)]))
    sections += [*block_sections(figures), *timing_sections(figures)]
    if figures.golden is not None:
        sections.append(Section("Golden model", [*prose(_GOLDEN), *_golden(figures.golden)]))
    return Page("Performance", sections)


def _throughput(rows: Sequence[Throughput]) -> Iterator[Part]:
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        sizes = sorted({row.element_bits for row in own})
        cells = {(row.density, row.element_bits): f"{row.beats_per_cycle:.4f} ({row.share:.2%})"
                 for row in own}
        yield f"`{name}`, {own[0].beat_bytes}-byte beats:"
        yield Table(["density", *(f"{bits} bits" for bits in sizes)],
                       [[f"{density:.1f}", *(cells[density, bits] for bits in sizes)]
                        for density in sorted({row.density for row in own})])


def _golden(figures: Bench) -> Iterator[Part]:
    rows = figures.rows
    yield ", ".join(f"{name} {value}" for name, value in figures.machine.items()) + "."
    for values in dict.fromkeys(row.values for row in rows):
        own = [row for row in rows if row.values == values]
        cells = {(row.label, row.sample.label): _speed(row) for row in own}
        labels = list(dict.fromkeys(row.sample.label for row in own))
        yield f"Values of {values}:"
        yield Table(["codec", *labels], [[codec, *(cells[codec, label] for label in labels)]
                                         for codec in dict.fromkeys(row.label for row in own)])
    yield f"CRC-32C, which is not in these figures: {figures.crc32c:.2f} GB/s of packed data."


def _speed(row: Speed) -> str:
    if row.ratio is None:
        return row.note
    return f"{row.compress:.2f} / {row.decompress:.2f} ({row.ratio:.2f})"


def _latency(rows: Sequence[Latency]) -> Table:
    return Table(["core", "beat bytes", "element bits", "first beat", "end of packet"],
                    [[f"`{row.name}`", str(row.beat_bytes), str(row.element_bits), str(row.first_cycles),
                      "" if row.flush_cycles is None else str(row.flush_cycles)] for row in rows])
