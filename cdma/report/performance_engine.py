"""The engine's sections of the page of figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdma.console.output import fixed, lanes_text
from cdma.measure.figures import DumpToggles, Figures
from cdma.report.area_text import engine_area_text
from cdma.report.page import Section
from cdma.report.parts import Fenced, Part, Table, prose
from cdma.report.simulation_text import engine_simulation_text
from cdma.verif.engine.throughput import EngineThroughput, SmallTensors
from cdma.verif.engine.throughput_options import PagedStreams, WrittenBack

__all__ = ["engine_sections"]

_NETWORK = """\
The shipped dump through each engine, as `cdma simulate --engine PRESET` prints it: all arrays offloaded in order, then
prefetched in reverse. In the table each array has the engine for itself, and cycles count from the start of its
descriptor to its completion, so short arrays show the latency of a transfer. Where the totals say "one directly after
the other", all arrays were queued at once, so that transfers overlap."""

_DENSE = """\
The dense [shipped dump](../workload/data/README.md), activations of a small transformer, through each engine that
builds exponents of bfloat16: `cdma simulate --engine PRESET workload/data/sums_gpt.safetensors`. Its arrays are
short, so what a transfer takes to start and to end is a large part of their cycles."""

_TOGGLES = """\
Bits that change on the link's data wires from one transferred beat to the next, over the shipped dumps; values are
rounded to float16 (for the coding bfloat16 to bfloat16) or OCP E4M3 float8 where elements are shorter than values.
Plain is the raw array, moved by a DMA engine of the same width. A packed bus toggles more per byte, because there are
no zeros, but it moves fewer bytes. The last column is packed toggles divided by plain toggles; above 1, packing saves
time but costs switching. Toggles are counted on the simulated bus, in both directions, and compared with a count from
the bytes of the streams. All wires have equal weight; on a link that scrambles or encodes its data the figures
differ."""

_THROUGHPUT = """\
Raw bytes per cycle of a transfer of 1 MiB, from the first beat on any port to the last, at every density. The limit is
that of ports of these widths, min(lanes x beat, ratio x link). In brackets: how busy the limiting side is, which is the
link from its first to its last beat, or the lanes from the first to the last beat on any of them. Memories answer at
once, or after 350 cycles with random pauses in a tenth of the cycles on every channel. In the second case the share is
of the mean number of cycles without pauses, so it can exceed 100 %.

Where lanes and link have almost the same bandwidth, the start and end of a transfer cost one or two per cent at 1 MiB:
the lanes of a prefetch start one after another, as their first blocks arrive over the link, and lanes end one after
another if the number of blocks is not a multiple of the number of lanes."""

_SCALING = """\
Engines of 1 to 16 lanes of 32 bytes with links of 32 and 64 bytes, tensors of 1 MiB, sparse and dense: linear until the
link is full. Streams begin anywhere in a page of 4 KiB, so pages divide their bursts unevenly, and with 12 lanes the
lanes have unequal numbers of blocks."""

_SMALL = """\
Tensors of a few blocks, 512 KiB of each size one directly after the other, at one density. Several are in an engine at
the same time: the next one begins while those before it drain. Bandwidth, limit and share are as above, without pauses
of the memories. The columns "alone" are the cycles of the completion of one such tensor that has the engine for
itself."""

_PAGES = """\
The default engine with `page_lists`: its block streams in [pages](programming.md#page-lists) of 4 KiB in any order, and
each at one address. Tensors go one directly after the other. Lists are read ahead over the same link, 8 bytes for a
page. Only the list of the first tensor is waited for: with fewer tensors, this wait is a larger part of the time."""

_GOAL_PAGES = 0.99
"""Share of the rate at one address that streams in pages reach: the goal."""

_WRITE_BACK = """\
The default engine with `write_back`, tensors of a few blocks one directly after the other: completions as records in a
[ring](programming.md#through-a-write-back-ring) in link memory, and in the window of registers. A record is 64 bytes on
the same link, and it is written only when all responses to the transfer's data are there. The column "record" is what a
driver waits for it: cycles from the last beat of data of a tensor that goes alone to the last beat of its record. The
time of offloads ends with their last record, which is written a latency after the last data; prefetches end at the
lanes."""

_AREA = """\
Unit by unit, as `cdma area --engine PRESET` prints it. One lane is mapped and counted as often as there are lanes;
memories of less than 2048 bits count as registers. A bit of a memory macro with a read and a write port is counted
as 0.72 um2 at 45 nm, with periphery: single-port macros of some kilobytes have 0.55 um2 per bit, and a cell with a
separate read port is 30 % larger. Area is scaled with the square of the feature size, as in the paper."""


def engine_sections(figures: Figures) -> Iterator[Section]:
    """A section for each kind of figure of the engine that there is."""
    if figures.engine_shipped:
        yield Section("The engine: a network there and back", [
            *prose(_NETWORK), *(Fenced(engine_simulation_text(outcome)) for outcome in figures.engine_shipped)])
    if figures.engine_dense:
        yield Section("The engine: dense values", [
            *prose(_DENSE), *(Fenced(engine_simulation_text(outcome)) for outcome in figures.engine_dense)])
    if figures.toggles:
        yield Section("The engine: switching activity", [*prose(_TOGGLES), _toggles(figures.toggles)])
    if figures.engine:
        yield Section("The engine: effective bandwidth", [*prose(_THROUGHPUT), *_throughput(figures.engine)])
    if figures.engine_scaling:
        yield Section("The engine: how lanes scale", [*prose(_SCALING), *_scaling(figures.engine_scaling)])
    if figures.engine_small:
        yield Section("The engine: small tensors", [*prose(_SMALL), _small(figures.engine_small)])
    if figures.engine_pages:
        yield Section("The engine: streams in pages", [
            *prose(_PAGES), _pages(figures.engine_pages), _pages_goal(figures.engine_pages)])
    if figures.engine_write_back:
        yield Section("The engine: completions in rings", [*prose(_WRITE_BACK), _rings(figures.engine_write_back)])
    if figures.engine_area:
        yield Section("The engine: area", [
            *prose(_AREA), *(Fenced(engine_area_text(report)) for report in figures.engine_area)])


def _toggles(rows: Sequence[DumpToggles]) -> Table:
    return Table(
        ["dump", "coding", "link bytes", "ratio", "plain, per raw byte", "packed, per raw byte",
         "packed, per packed byte", "packed by plain"],
        [[f"`{row.dump}`", row.coding, str(row.link_beat_bytes), fixed(row.ratio, 2),
          fixed(row.toggles.raw_per_raw_byte, 3), fixed(row.toggles.packed_per_raw_byte, 3),
          fixed(row.toggles.packed_per_packed_byte, 3), fixed(row.toggles.packed_by_raw, 2)] for row in rows])


def _throughput(rows: Sequence[EngineThroughput]) -> Iterator[Part]:
    for name in dict.fromkeys(row.name for row in rows):
        yield from _throughput_of([row for row in rows if row.name == name])


def _throughput_of(rows: Sequence[EngineThroughput]) -> Iterator[Part]:
    first = rows[0]
    kinds = list(dict.fromkeys((row.latency, row.stalls, row.direction) for row in rows))
    cells = {(row.density, row.latency, row.stalls, row.direction):
             f"{row.bytes_per_cycle:.1f} ({row.share:.1%})" for row in rows}
    limits = {(row.density, row.stalls): row for row in rows}
    yield (f"`{first.name}`: {lanes_text(first.lanes, first.beat_bytes)}, a link of "
           f"{first.link_beat_bytes}, coding {first.coding}:")
    yield Table(
        ["density", "ratio", "limit", *(f"{direction}, {latency} cycles" for latency, _, direction in kinds)],
        [[f"{density:.1f}", fixed(limits[density, 0].raw_bytes / limits[density, 0].packed_bytes, 2),
          fixed(limits[density, 0].limit, 1), *(cells[density, *kind] for kind in kinds)]
         for density in sorted({row.density for row in rows})])


def _small(rows: Sequence[SmallTensors]) -> Table:
    kinds = list(dict.fromkeys((row.latency, row.direction) for row in rows))
    places = list(dict.fromkeys((row.name, row.tensor_bytes) for row in rows))
    found = {(row.name, row.tensor_bytes, row.latency, row.direction): row for row in rows}
    heads = [f"{direction}, {latency} cycles" for latency, direction in kinds]
    return Table(
        ["engine", "in flight", "tensor", "density", "limit", *heads, *(f"alone: {head}" for head in heads)],
        [[f"`{name}`", str(found[name, size, *kinds[0]].transfers_in_flight), f"{size // 1024} KiB",
          fixed(found[name, size, *kinds[0]].density, 1), fixed(found[name, size, *kinds[0]].limit, 1),
          *(f"{row.bytes_per_cycle:.1f} ({row.share:.1%})" for row in (found[name, size, *kind] for kind in kinds)),
          *(str(found[name, size, *kind].alone_cycles) for kind in kinds)] for name, size in places])


def _pages(rows: Sequence[PagedStreams]) -> Table:
    return Table(
        ["coding", "density", "ratio", "tensor", "latency", "direction", "in pages", "at one address", "share"],
        [[row.coding, fixed(row.density, 1), fixed(row.raw_bytes / row.packed_bytes, 2),
          f"{row.tensors} x {row.raw_bytes // row.tensors // 1024} KiB", f"{row.latency} cycles", row.direction,
          fixed(row.bytes_per_cycle, 1), fixed(row.contiguous_bytes_per_cycle, 1),
          f"{row.bytes_per_cycle / row.contiguous_bytes_per_cycle:.1%}"] for row in rows])


def _pages_goal(rows: Sequence[PagedStreams]) -> str:
    missed = [f"{row.direction} of {row.coding} at {row.latency} cycles" for row in rows
              if row.bytes_per_cycle < _GOAL_PAGES * row.contiguous_bytes_per_cycle]
    return f"Goal: {_GOAL_PAGES:.0%}. " + (f"Below it: {', '.join(missed)}." if missed else "All reach it.")


def _scaling(rows: Sequence[EngineThroughput]) -> Iterator[str | Table]:
    for link, coding, density in dict.fromkeys((row.link_beat_bytes, row.coding, row.density) for row in rows):
        own = [row for row in rows if (row.link_beat_bytes, row.coding, row.density) == (link, coding, density)]
        cells = {(row.lanes, row.latency, row.direction): f"{row.bytes_per_cycle:.1f} ({row.share:.1%})"
                 for row in own}
        kinds = list(dict.fromkeys((row.latency, row.direction) for row in own))
        limits = {row.lanes: row.limit for row in own if row.stalls == 0}
        ratio = own[0].raw_bytes / own[0].packed_bytes
        yield f"A link of {link} bytes, coding {coding}, density {density:.1f}, ratio {fixed(ratio, 2)}:"
        yield Table(["lanes", "limit", *(f"{direction}, {latency} cycles" for latency, direction in kinds)],
                    [[str(lanes), fixed(limits[lanes], 1), *(cells[lanes, *kind] for kind in kinds)]
                     for lanes in sorted(limits)])


def _rings(rows: Sequence[WrittenBack]) -> Table:
    return Table(
        ["tensors", "latency", "direction", "ring", "window", "ring by window", "record"],
        [[f"{row.tensors} x {row.tensor_bytes >> 10} KiB", f"{row.latency} cycles", row.direction,
          fixed(row.bytes_per_cycle, 1), fixed(row.window_bytes_per_cycle, 1),
          f"{row.bytes_per_cycle / row.window_bytes_per_cycle:.1%}", str(row.record_cycles)] for row in rows])
