"""The page of the figures that ``cdma bench`` measured: its main tables. The file of figures has all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cdma.report.page import Page, Section
from cdma.report.parts import Image, Part, Table, prose
from cdma.report.placing import spread
from cdma.report.plots.sweep import sweep_plot
from cdma.report.table import Column

__all__ = ["SWEEP_PLOT", "performance_page"]

Row = Mapping[str, Any]
"""A row of a section, as the file of figures has it."""

SWEEP_PLOT = "sweep.svg"
"""Name of the file with the plot of the sweep, beside the page."""

_GOAL_CELLS, _GOAL_SPEED, _GOAL_PAGES = 1000, 8, 0.99
"""MHz of units in cells of 45 nm; the speed grade of an ECP5 that the goals below are for; and the share of the rate at
one address that streams in pages reach."""

_GOALS_PLACED = {"tiny --set pipeline=fast": 100, "lean": 95, "block_compressor --set pipeline=fast": 130,
                 "block_decompressor --set pipeline=fast": 130, "exponent_block_compressor --set pipeline=fast": 118,
                 "exponent_block_decompressor --set pipeline=fast": 105}
"""MHz that designs shall reach on an ECP5, as the median of seeds."""

_DENSITIES, _LANES, _SPARSE = (0.2, 1.0), (1, 4, 16), 0.4
"""Densities and lanes on the page, and the density of values behind a ReLU of the codecs; the file has more."""

_INTRO = """\
`make bench` measures all of this in one run and writes this page, which has the main figures. The file
`bench/performance.json` has all of them: every array, density, unit, submodule and path. `cdma bench --compare` prints
what changed between two such files; `cdma simulate`, `cdma area` and `cdma timing` print the details of one
configuration. [Beside its peers](peers.md) has the figures of others."""

_NETWORK = """\
The [shipped dumps](../workload/data/README.md) through each engine: all arrays are offloaded in order, then prefetched
in reverse, one directly after the other. Raw bytes per cycle, and the gain over a plain DMA engine of the same width at
its best. The dense dump has activations of a small transformer, in short arrays, through the engines that build
exponents of bfloat16. `cdma simulate --engine PRESET` prints all arrays."""

_TOGGLES = """\
Bits that change on the link's data wires from one transferred beat to the next, over the shipped dumps: toggles per
raw byte, packed / plain (their quotient). Values are rounded to float16 (for the coding bfloat16 to bfloat16) or OCP
E4M3 float8 where elements are shorter than values. Plain is the raw array, moved by a DMA engine of the same width. A
packed bus toggles more per byte, because there are no zeros, but it moves fewer bytes. Above 1, packing saves time but
costs switching. Toggles are counted on the simulated bus, in both directions, and compared with a count from the bytes
of the streams; all wires have equal weight."""

_BANDWIDTH = """\
Raw bytes per cycle of a transfer of 1 MiB, from the first beat on any port to the last. The limit is that of ports of
these widths, min(lanes x beat, ratio x link). In brackets: how busy the limiting side is, which is the link from its
first to its last beat, or the lanes from the first to the last beat on any of them. Memories answer at once, or after
350 cycles with random pauses in a tenth of the cycles on every channel. In the second case the share is of the mean
number of cycles without pauses, so it can exceed 100 %. Where lanes and link have almost the same bandwidth, the start
and end of a transfer cost one or two per cent at 1 MiB."""

_SCALING = """\
Engines of 1 to 16 lanes of 32 bytes with links of 32 and 64 bytes, tensors of 1 MiB, sparse and dense: linear until the
link is full. Streams begin anywhere in a page of 4 KiB, so pages divide their bursts unevenly."""

_SMALL = """\
Tensors of a few blocks, driven through registers, 512 KiB of each size one directly after the other, at density 0.4.
The file has 16 KiB too. Several are in an engine at
the same time: the next one begins while those before it drain. The cells are raw bytes per cycle with their share of
the limit, without pauses of the memories, and, after the semicolon, the cycles of the completion of one such tensor
that has the engine for itself."""

_PAGES = """\
The default engine with `page_lists`: its block streams in [pages](programming.md#page-lists) of 4 KiB in any order, and
each at one address. Tensors go one directly after the other. Lists are read ahead over the same link, 8 bytes for a
page. Only the list of the first tensor is waited for: with fewer tensors, this wait is a larger part of the time."""

_RINGS = """\
The default engine with `write_back`, tensors of a few blocks one directly after the other: completions as records in a
[ring](programming.md#through-a-write-back-ring) in link memory, and in the window of registers. A record is 64 bytes on
the same link, and it is written only when all responses to the transfer's data are there. The column "record" is what a
driver waits for it: cycles from the last beat of data of a tensor that goes alone to the last beat of its record."""

_FRAGMENTS = """\
Transfers of {least} bytes to {most} KiB, as of a cache that moves in fragments, through engines with `write_back`:
descriptors from a [ring](programming.md#through-a-ring), completions as records in a ring, no register in between. Each
fragment begins at a block of its own, and these lie side by side; density {density:g}. The cells are the share of
min(lanes x beat, ratio x link): one direction at a time in order, with the cycles from the end of a transfer to the end
of the next one, then in random order, then with both directions at the same time.

With 32 transfers in flight an engine has a `queue_depth` of 64 and 32 `outstanding_reads`, for a link of hundreds of
cycles. What limits the shortest fragments is not the ports: control begins a transfer of a direction every 32 cycles,
the longest step of which is the check of a descriptor, and one of both directions every 27 or 28."""

_BETWEEN = (1 << 10, 1 << 14)
"""Sizes of fragments that the JSON has and the page leaves out."""

_AREA = """\
All units, lanes and memories, as `cdma area PRESET` prints them unit by unit. One lane is mapped and counted
as often as there are lanes; memories of less than 2048 bits count as registers. A bit of a memory macro with a read and
a write port is counted as 0.72 um2 at 45 nm, with periphery. Area is scaled with the square of the feature size, as in
the paper."""

_CORES = """\
Simulated over tensors of 64 KiB without a pause between them, counted from the end of one to the end of the next, with
a sink that is always ready: the lowest rate, as a share of the limit of the packed side, min(1, raw bytes / packed
bytes) beats per cycle, of all element sizes and densities.

The longest latency in cycles, from handshake to handshake, of single packets, by element size. First beat: in the
compressor from a line's last raw beat to the first packed beat of it; in the decompressor from the packed beat that
completes the tag and the elements of a line's first raw beat, to that raw beat. End of packet: in the compressor from
the last raw beat to the last packed beat."""

_BLOCKS = """\
Simulated over tensors of 64 KiB in blocks of 4 KiB without a pause between them, with sinks that are always ready: the
lowest rate at any density, as a share of the limit of the packed side, min(1, raw beats / beats of payloads) raw beats
per cycle, into the [block compressor](block_cores.md) / out of the block decompressor."""

_MAPPED = """\
Area of the whole core, flattened, and the clock in MHz that its slowest path from register to register allows; `cdma
area PRESET` shows the submodules. kGE are thousands of two-input NAND gates from a small table of gate sizes; um2 and
MHz are those of {library}, mapped by the recipe `fast`, timed with {tool} at the library's own corner, with an ideal
clock and wires without length. Memories of 2048 bits or more are macros and not counted; on an FPGA they are block RAM
and LUTs. The clock on an ECP5 is the median of place and route, as below."""

_UNITS = """\
MHz and gates of the slowest path from register to register of each unit, as `cdma timing PRESET` prints them
with both ends: in cells of {library} (recipe {recipe}), timed with {tool} at the library's own corner, with an ideal
clock and wires without length. A unit is mapped without the units inside it. Paths from one unit to another are in the
last row alone: it is the whole engine, mapped flat with one of its lanes. The engines with short blocks are not here:
they have memories that are too small for macros, and mapping does not buffer the nets that write the registers these
become. Memories are macros, where paths end and start as at registers: {setup_ps:g} ps of set-up, {output_ps:g} ps
clock-to-output, as of single-port macros of 32 kbit in the FakeRAM 45 nm set. `--memory-output` and `--memory-setup`
set the times of your macros."""

_OPTIONS = """\
Each option of the engine by itself, added to `paper` with its six lanes, as `cdma bench --only engine_options --liberty
FILE` measures it. kGE and its growth are of the logic of all units and lanes, memory is that in macros. The clock is
that of the engine mapped flat with one of its lanes, or of its slowest unit if that is slower. What parity takes is
mostly the trees over the rows of the buffers, which are as wide as a beat and more. `pipeline=fast` was measured before
it had registers in the decompressors: it is larger now."""

_PNR = """\
Placed and routed by {nextpnr} on an {device}, which has {luts:,} LUTs and {block_ram} block RAMs of 18 kbit, as `cdma
timing PRESET --target ecp5` does it: the median of three seeds with the slowest and the fastest; the path is that of
the fastest. The design's ports are connected to registers around it, which are not in the figures. Paths
from inputs and to outputs so count as paths between registers, without the delay of pins. LUTs have four inputs; those
of carry chains, of memories in LUTs and of routes through LUTs are counted. `ns` is the slowest path, `wires` the
routing in it, `levels` the LUTs, carries and multiplexers on it. Most of a slow path is wires, and seeds of one netlist
differ by up to a third. The default engine has more block RAMs than nextpnr routes in usual time. Cores in the pipeline
`small` are in the table above."""

_SWEEP = """\
Both cores over beats and pipelines, all element sizes, and the default engine over lanes and pipelines, as `cdma
timing --sweep` prints them. Throughput is raw bytes at one beat per cycle and lane, which the cores reach; the link
carries that when the ratio is lanes x beat / link beat or more. The clock of an engine is that of its slowest unit,
and its area includes its memories. The table has the Pareto front: no other point of the design has less area and as
much throughput. {library} (recipe {recipe}), timed with {tool}. Engines in the pipeline `fast` were measured before
their decompressors had one."""

_GOLDEN = """\
Speed in GB of raw data per second of one core's time, in one run on the same data: the golden model with each coding of
[blocks](formats.md#block-stream) of 4 KiB, by NumPy and by the
[C library](formats.md#compressed-tensors-on-the-host), which it uses where there is a C compiler; and general
compressors at level 1 on the whole array. "Byte planes" means that the bytes of the array are sorted first, all lowest
bytes of its elements, then the next; the time includes that. The columns are densities of values behind a ReLU; GELU:
dense values of both signs. Cells are compress / decompress (ratio). {machine}. CRC-32C, which is not in these figures:
{crc32c:.2f} GB/s of packed data."""


def performance_page(figures: Mapping[str, Any]) -> Page:
    """The page, with a section for each kind of figure that there is.

    Parameters
    ----------
    figures
        What ``cdma bench --output`` writes, as JSON has it.
    """
    made: dict[str, tuple[tuple[str, ...], Callable[..., Iterator[Part]]]] = {
        "The engine: networks there and back": (("engine_shipped", "engine_dense"), _networks),
        "The engine: switching activity": (("toggles",), _toggles),
        "The engine: effective bandwidth": (("engine",), _bandwidth),
        "The engine: how lanes scale": (("engine_scaling",), _scaling),
        "The engine: small tensors": (("engine_small",), _small),
        "The engine: streams in pages": (("engine_pages",), _pages),
        "The engine: completions in rings": (("engine_write_back",), _rings),
        "The engine: fragments": (("engine_fragments",), _fragments),
        "The engine: area": (("engine_area",), _engine_area),
        "The engine: timing": (("timing_units",), _units),
        "The engine: what options cost": (("engine_options",), _options),
        "The cores: beats per cycle and latency": (("throughput", "latency"), _cores),
        "The block cores: beats per cycle": (("block_throughput",), _blocks),
        "The cores: area and timing": (("area", "block_area", "timing", "block_timing", "pnr", "block_pnr"), _mapped),
        "Place and route on an ECP5": (("pnr", "block_pnr"), _pnr),
        "Area and throughput": (("sweep",), _sweep), "Golden model": (("golden",), _golden)}
    return Page("Performance", [Section("", prose(_INTRO)), *(
        Section(title, list(section(*(figures.get(name, []) for name in names))))
        for title, (names, section) in made.items() if any(figures.get(name) for name in names))])


def _code(key: str) -> Callable[[Row], str]:
    return lambda row: f"`{row[key]}`"


def _grouped(rows: Sequence[Row], keys: Sequence[str], across: Sequence[str]) -> list[dict[str, Any]]:
    """A row for all rows that have the same keys: the first of them, and in it each by its values of ``across``."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        group = found.setdefault(tuple(row[key] for key in keys), dict(row))
        group[" ".join(str(row[key]) for key in across)] = row
    return list(found.values())


def _transfers(rows: Sequence[Row], cell: Callable[[Row], str]) -> list[Column]:
    """A column for each direction and latency of rows that are grouped by these."""
    kinds = dict.fromkeys((row["direction"], row["latency"]) for row in rows)
    return [Column(f"{direction}, {latency} cycles", lambda row, key=f"{direction} {latency}": cell(row[key]))
            for direction, latency in kinds]


def _rate(row: Row) -> str:
    return f"{row['bytes_per_cycle']:.1f} ({row['share']:.1%})"


def _ratio(row: Row) -> float:
    return row["raw_bytes"] / row["packed_bytes"]


def _goal(aim: float, what: str, reached: Mapping[str, float]) -> str:
    """The goal, and what does not reach it."""
    missed = [f"{name} ({value:.4g})" for name, value in reached.items() if value < aim]
    return f"Goal: {aim} {what}. " + (f"Below it: {', '.join(missed)}." if missed else "All reach it.")


def _networks(sparse: Sequence[Row], dense: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_NETWORK)
    yield Table([Column("engine", _code("engine")), Column("dump", "dump"), Column("lanes", "lanes"),
                 Column("ratio", "ratio", ".3f"), Column("offload", "offload_bytes_per_cycle", ".1f"),
                 Column("prefetch", "prefetch_bytes_per_cycle", ".1f"), Column("gain", "gain", ".2f")],
                [{**row, "dump": dump} for dump, rows in (("sparse", sparse), ("dense", dense)) for row in rows])


def _toggles(rows: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_TOGGLES)
    yield Table([Column("coding", "coding"), *(
        Column(f"`{dump}`", lambda row, key=dump: "{packed_per_raw_byte:.3f} / {raw_per_raw_byte:.3f} "
               "({packed_by_raw:.2f})".format(**row[key])) for dump in dict.fromkeys(row["dump"] for row in rows))],
        _grouped(rows, ("coding",), ("dump",)))


def _bandwidth(rows: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_BANDWIDTH)
    yield Table([Column("engine", _code("name")), Column("density", "density", ".1f"), Column("ratio", _ratio, ".2f"),
                 Column("limit", "limit", ".1f"), *_transfers(rows, _rate)],
                _grouped([row for row in rows if row["density"] in _DENSITIES], ("name", "density"),
                         ("direction", "latency")))


def _scaling(rows: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_SCALING)
    yield Table([Column("link", "link_beat_bytes"), Column("coding", "coding"), Column("density", "density", ".1f"),
                 Column("lanes", "lanes"), Column("limit", "limit", ".1f"), *_transfers(rows, _rate)],
                _grouped([row for row in rows if row["lanes"] in _LANES],
                         ("link_beat_bytes", "coding", "density", "lanes"), ("direction", "latency")))


def _small(rows: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_SMALL)
    ends = {edge(row["tensor_bytes"] for row in rows) for edge in (min, max)}
    yield Table([Column("engine", _code("name")), Column("in flight", "transfers_in_flight"),
                 Column("KiB", lambda row: row["tensor_bytes"] // 1024), Column("limit", "limit", ".1f"),
                 *_transfers(rows, lambda row: f"{_rate(row)}; {row['alone_cycles']}")],
                _grouped([row for row in rows if row["tensor_bytes"] in ends], ("name", "tensor_bytes"),
                         ("direction", "latency")))


def _pages(rows: Sequence[Row]) -> Iterator[Part]:
    def share(row: Row) -> float:
        return row["bytes_per_cycle"] / row["contiguous_bytes_per_cycle"]

    yield from prose(_PAGES)
    yield Table([Column("coding", "coding"), Column("density", "density", ".1f"), Column("ratio", _ratio, ".2f"),
                 Column("latency", "latency", "", " cycles"), Column("direction", "direction"),
                 Column("in pages", "bytes_per_cycle", ".1f"),
                 Column("at one address", "contiguous_bytes_per_cycle", ".1f"), Column("share", share, ".1%")], rows)
    yield _goal(_GOAL_PAGES, "of the rate at one address", {
        f"{row['direction']} of {row['coding']} at {row['latency']} cycles": share(row) for row in rows})


def _rings(rows: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_RINGS)
    yield Table([Column("tensors", lambda row: f"{row['tensors']} x {row['tensor_bytes'] >> 10} KiB"),
                 Column("latency", "latency", "", " cycles"), Column("direction", "direction"),
                 Column("ring", "bytes_per_cycle", ".1f"), Column("window", "window_bytes_per_cycle", ".1f"),
                 Column("ring by window", lambda row: row["bytes_per_cycle"] / row["window_bytes_per_cycle"], ".1%"),
                 Column("record", "record_cycles")], rows)


def _fragments(rows: Sequence[Row]) -> Iterator[Part]:
    sizes = [row["tensor_bytes"] for row in rows]
    ways = dict.fromkeys(row["way"] for row in rows)

    def cell(group: Row, end: str) -> str:
        found = [group[f"{way} {end}"] for way in ways if f"{way} {end}" in group]
        return "; ".join(f"{row['share']:.0%}" + f", {row['cycles']:.0f}" * (row is found[0]) for row in found)

    yield from prose(_FRAGMENTS, least=min(sizes), most=max(sizes) >> 10, density=rows[0]["density"])
    yield Table([Column("engine", _code("name")), Column("in flight", "transfers_in_flight"),
                 Column("bytes", "tensor_bytes", ","), Column("limit", "limit", ".1f"),
                 *(Column(f"{direction}, {latency} cycles", lambda group, end=f"{direction} {latency}":
                          cell(group, end))
                   for direction, latency in dict.fromkeys((row["direction"], row["latency"]) for row in rows))],
                _grouped([row for row in rows if row["tensor_bytes"] not in _BETWEEN],
                         ("name", "transfers_in_flight", "tensor_bytes"), ("way", "direction", "latency")))
    areas = dict.fromkeys((row["name"], row["transfers_in_flight"], row["mm2_28"]) for row in rows)
    yield "At 28 nm they have " + ", ".join(
        f"{mm2:.3f} mm2 (`{name}`, {flight} in flight)" for name, flight, mm2 in areas) + "."


def _engine_area(rows: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_AREA)
    paper = rows[0]["paper_mm2"]
    yield Table([Column("engine", _code("name")), Column("lanes", "lanes"), Column("cells", "total.cells", ","),
                 Column("flip-flops", "total.flip_flops", ","), Column("kGE", "total.kge", ".1f"),
                 Column("um2", "total.um2", ",.0f", optional=True), Column("memory bits", "total.memory_bits", ","),
                 Column("28 nm, mm2: cores", "mm2_28.cores", ".3f"), Column("logic", "mm2_28.logic", ".3f"),
                 Column("memories", "mm2_28.memory", ".3f"), Column("engine", "mm2_28.engine", ".3f")], rows)
    yield f"The paper, 6 lanes: {paper['cores']} mm2 of compressors and decompressors, {paper['engine']} in all."


def _units(rows: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_UNITS, **rows[0], **rows[0]["macros"])
    yield from _by_unit(rows, "unit", lambda unit: f"{unit['mhz']:.0f} ({unit['gates']})")
    yield _goal(_GOAL_CELLS, "MHz for every unit in cells of 45 nm", {
        f"{unit['unit']} of `{row['name']}`": unit["mhz"] for row in rows for unit in row["units"]})


def _by_unit(rows: Sequence[Row], key: str, cell: Callable[[Row], str]) -> Iterator[Part]:
    """A row for each unit, and a column for each engine."""
    units = [{"engine": row["name"], **unit} for row in rows for unit in row["units"]]
    yield Table([Column("unit", key), *(
        Column(f"`{row['name']}`", lambda group, name=row["name"]: cell(group[name]) if name in group else "")
        for row in rows)], _grouped(units, (key,), ("engine",)))


def _options(rows: Sequence[Row]) -> Iterator[Part]:
    plain = rows[0]
    yield from prose(_OPTIONS)
    yield Table([Column("option", _code("option")), Column("kGE", "kge", ".1f"),
                 Column("growth", lambda row: row["kge"] / plain["kge"] - 1, "+.1%"),
                 Column("kbit of memory", lambda row: row["memory_bits"] / 1024, ".1f"),
                 Column("MHz", "mhz", ".0f"), Column("ps", "ps", ".0f")], rows)
    yield _goal(_GOAL_CELLS, "MHz with each option by itself", {_code("option")(row): row["mhz"] for row in rows})


def _cores(throughput: Sequence[Row], latency: Sequence[Row]) -> Iterator[Part]:
    yield from prose(_CORES)
    rows = _grouped(throughput, ("name",), ("element_bits", "density"))
    for row in rows:
        cycles = [each for each in latency if each["name"] == row["name"]]
        row |= {"share": min(each["share"] for each in throughput if each["name"] == row["name"]), **{
            key: ", ".join(str(each[key]) for each in cycles if each[key] is not None)
            for key in ("element_bits", "first_cycles", "flush_cycles")}}
    yield Table([Column("core", _code("name")), Column("beat bytes", "beat_bytes"),
                 Column("lowest share", "share", ".2%"), Column("element bits", "element_bits"),
                 Column("first beat", "first_cycles"), Column("end of packet", "flush_cycles")], rows)


def _blocks(rows: Sequence[Row]) -> Iterator[Part]:
    def cell(beat_bytes: int, coding: str) -> str:
        own = [row for row in rows if (row["beat_bytes"], row["coding"]) == (beat_bytes, coding)]
        return " / ".join(f"{min(row[key] / row['limit'] for row in own if row[key] is not None):.1%}"
                          for key in ("compress_beats_per_cycle", "decompress_beats_per_cycle"))

    yield from prose(_BLOCKS)
    yield Table([Column("beat bytes", "beat_bytes"), *(
        Column(coding, lambda row, key=coding: cell(row["beat_bytes"], key))
        for coding in dict.fromkeys(row["coding"] for row in rows))], _grouped(rows, ("beat_bytes",), ("coding",)))


def _mapped(area: Sequence[Row], block_area: Sequence[Row], timing: Sequence[Row], block_timing: Sequence[Row],
            pnr: Sequence[Row], block_pnr: Sequence[Row]) -> Iterator[Part]:
    clocks = {row["preset"]: path["mhz"] for row in (*timing, *block_timing) for path in row["paths"]
              if path["kind"] == "register to register"}
    placed = {row["preset"]: row for row in (*pnr, *block_pnr) if row["speed"] == _GOAL_SPEED}
    rows = [{**row, "mhz": clocks.get(row["preset"]), "placed": placed.get(row["preset"])}
            for row in _grouped([*area, *block_area], ("preset",), ("target",))]
    by = [*timing, *block_timing, {"library": "a cell library", "tool": "OpenSTA"}][0]
    yield from prose(_MAPPED, library=by["library"], tool=by["tool"])
    yield Table([Column("preset", _code("preset")), Column("kGE", "generic.total.kge", ".2f"),
                 Column("flip-flops", "generic.total.flip_flops", ","),
                 *([Column("um2", "liberty.total.um2", ",.0f")] if any("liberty" in row for row in rows) else []),
                 Column("MHz", "mhz", ",.0f", optional=True), Column("memory bits", "memory_bits", ","),
                 Column("ECP5: LUTs", "ecp5.total.luts", ","),
                 Column("MHz", "placed.median_mhz", ".1f", optional=True),
                 Column("spread", lambda row: spread(row["placed"] or {}), left=False, optional=True),
                 Column("Xilinx 7: LUTs", "xilinx7.total.luts", ",")], rows)


def _pnr(cores: Sequence[Row], blocks: Sequence[Row]) -> Iterator[Part]:
    rows = [*cores, *blocks]
    yield from prose(_PNR, nextpnr=rows[0]["nextpnr"], device=rows[0]["device"], **rows[0]["available"])
    yield Table([Column("design", _code("preset")), Column("speed grade", "speed"),
                 Column("MHz", lambda row: row["median_mhz"] if row["best"] else "too large", ".1f", left=False),
                 Column("spread", spread, left=False),
                 Column("goal", lambda row: _GOALS_PLACED.get(row["preset"]) if row["speed"] == _GOAL_SPEED else None),
                 Column("LUTs", "used.luts", ","), Column("flip-flops", "used.flip_flops", ","),
                 Column("block RAM", "used.block_ram", ","), Column("ns", "best.path.ns", ".2f"),
                 Column("wires", "best.path.routing_ns", ".2f"), Column("levels", "best.path.levels")],
                [row for row in rows if row["preset"] in _GOALS_PLACED])


def _sweep(sweep: Row) -> Iterator[Part]:
    yield from prose(_SWEEP, **sweep)
    yield Image("Area and throughput, with the Pareto fronts", SWEEP_PLOT, lambda: sweep_plot(sweep["points"]))
    yield Table([Column("design", "design"), Column("lanes", "lanes"), Column("beat", "beat_bytes"),
                 Column("pipeline", "pipeline"), Column("kGE", "kge", ".1f"), Column("MHz", "mhz", ".0f"),
                 Column("GB/s", "gb_per_s", ".1f")], [point for point in sweep["points"] if point["front"]])


def _golden(bench: Row) -> Iterator[Part]:
    def label(row: Row) -> str:
        return f"{row['density']:.1f}" if row["activation"] == "ReLU" else row["activation"]

    def cell(row: Row) -> str:
        if row["ratio"] is None:
            return row["note"]
        return f"{row['compress']:.2f} / {row['decompress']:.2f} ({row['ratio']:.2f})"

    rows = [{**row, "label": label(row)} for row in bench["rows"]
            if row["density"] in (_SPARSE, 1.0) and not row["coding"].startswith("lines")]
    labels = dict.fromkeys(row["label"] for row in rows)
    machine = ", ".join(f"{name} {value}" for name, value in bench["machine"].items())
    yield from prose(_GOLDEN, machine=machine[:1].upper() + machine[1:], crc32c=bench["crc32c"])
    yield Table([Column("values", "values"), Column("codec", lambda row: ", ".join(filter(None, (row["codec"],
                                                                                              row["coding"])))),
                 *(Column(name, lambda row, key=name: cell(row[key]) if key in row else "") for name in labels)],
                _grouped(rows, ("values", "codec", "coding"), ("label",)))
