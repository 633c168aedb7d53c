"""The sections on clocks of the page of figures: units of engines in cells, place and route, and the sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdma.console.output import count, fixed
from cdma.measure.figures import EngineClocks, Figures, OptionCost, PlacedEngine, PlacedPreset
from cdma.report.page import Section
from cdma.report.parts import Image, Part, Table, prose
from cdma.report.plots.sweep import sweep_plot
from cdma.report.timing_text import (
    CELLS_HEAD,
    PNR_HEAD,
    SWEEP_HEAD,
    pnr_row,
    pnr_units_rows,
    sweep_rows,
    unit_rows,
)
from cdma.synth.timing.sweep import Sweep

__all__ = ["SWEEP_PLOT", "placed_tables", "timing_sections"]

SWEEP_PLOT = "sweep.svg"
"""Name of the file with the plot of the sweep, beside the page."""

_GOAL_CELLS, _GOAL_CORES, _GOAL_SPEED = 1000, 125, 8
"""MHz that units reach in cells of 45 nm, and cores on an ECP5 of this speed grade: the goals."""

_GOAL_ENGINES = {"tiny": 125}
"""MHz that engines reach on an ECP5: the goals."""

_UNITS = """\
The slowest path from register to register of each unit, as `cdma timing --engine PRESET` prints it: in cells at the
library's own corner, with an ideal clock and wires without length. A unit is mapped without the units inside it. Paths
from one unit to another are in the last row alone: it is the whole engine, mapped flat with one of its lanes. Gates are
those between the two registers. The engines with short blocks are not here: they have memories that are too small for
macros, and mapping does not buffer the nets that write the registers these become."""

_MACROS = """\
Memories are macros, where paths end and start as at registers: {setup_ps:g} ps of set-up, {output_ps:g} ps
clock-to-output, {pin_ff:g} fF at each input pin, and one write enable for all bits of a row. The times are those of
single-port macros of 32 kbit in the FakeRAM 45 nm set (512 x 64: 305 ps, 1024 x 32: 309 ps; 64 x 7: 164 ps, 2048 x 39:
435 ps). `--memory-output` and `--memory-setup` set the times of your macros."""

_OPTIONS = """\
Each option of the engine by itself, added to `paper` with its six lanes, as `cdma bench --only engine_options --liberty
FILE` measures it. kGE and its growth are of the logic of all units and lanes, memory is that in macros. The clock is
that of the engine mapped flat with one of its lanes, or of its slowest unit if that is slower. What parity takes is
mostly the trees over the rows of the buffers, which are as wide as a beat and more."""

_PNR = """\
Placed and routed by nextpnr, as `cdma timing PRESET --target ecp5` does it. The design's ports are connected to
registers around it: a scan chain drives its inputs, and a second chain folds its outputs into one bit. Paths from
inputs and to outputs so count as paths between registers, without the delay of pins. The registers around the design
are not in the figures. (nextpnr's out-of-context mode would route the clock through the fabric and leave out paths
from and to ports.) LUTs have four inputs; those of carry chains, of memories in LUTs and of routes through LUTs are
counted. Block RAMs have 18 kbit. `ns` is the slowest path, `wires` the routing in it, `levels` the LUTs, carries and
multiplexers on it. A design that is too large for the part has the figures of synthesis."""

_ENGINES = """\
`tiny` has all codings. These changes moved its slowest path, but did not make it shorter; each was placed once. An
earlier version reached 81 MHz: its path led from the block RAM of the tags, which takes 4.3 ns to answer, through the
packer of facts and tags. `pipeline=fast`, which has a register there: 73 MHz, limited by the ready from the link's
writer to the lanes. A skid buffer in front of the writer, which `fast` has since: 71 MHz, limited by the decompressor,
from the reader of rows to the slicer of tags. Four fifths of these paths are wires.

The default engine is larger than the part with all codings: 86,400 LUTs of 83,640 and 209 of 208 block RAMs, mapped
for area; a relaxed clock, other scripts of abc9, no carry chains in adders and memories of facts in LUTs were tried.
With zero-value codings only it takes 57,659 LUTs and 205
of the 208 block RAMs after synthesis, and nextpnr places it with an estimate of 50 to 55 MHz (goal: 100), but does not
route it in usual time: `router1` had 201,000 of 267,000 arcs left after a quarter of an hour, `router2` stayed at
25,700 overused wires from the seventh to the ninth pass. Nearly all block RAMs are in use, so those of one memory lie
far apart: nets from the address of a buffer to its block RAMs cross up to 139 rows and columns. By itself each of its
units reaches 114 MHz or more, as the last table of this section shows."""

_PNR_UNITS = """\
Each unit of an engine by itself, as `cdma timing --engine PRESET --target ecp5 --units` does it, with one seed. A unit
has registers at its ports, and registers replace the units inside it. These registers have the names of ports; a path
from unit to unit counts in both, up to the border. LUTs, flip-flops and block RAMs are those of all instances, the path
is that of the unit's slowest part. The units together take more LUTs than the engine as a whole, which is optimised
across the borders."""

_TRIED = """\
The critical loop of the decompressors: a tag starts where the line before it ends. The place of the tag, whether all
of it has arrived, and whether the packet ends depend on each other in every beat, so the loop cannot be pipelined. Two
thirds or more of the slowest path are wires. These changes took `fast_decompressor` from 84 to 95 MHz: the first tag
of the next packet is read ahead; the row and lane of each byte of a tag are calculated a cycle early; the lane is
compared with all rows before one is selected; counts are summed in a cycle of their own; reads beyond the end of a
packet are dropped instead of stalled; registers load whether or not a tag is fetched. These changes had no effect:
another target clock, and more weight on timing in placement. Seeds differ by 5 MHz. Not done yet: to count a whole tag
when it is read, a line ahead, so that the place of the next tag is known two beats before it is needed. That needs
four beats a line, so beats of 16 or 32 bytes, and one more stage of latency."""

_SWEEP = """\
Both cores over beats and pipelines, all element sizes, and the default engine over lanes and pipelines, as `cdma
timing --sweep` prints them. Throughput is raw bytes at one beat per cycle and lane, which the cores reach; the link
carries that when the ratio is lanes x beat / link beat or more. The clock of an engine is that of its slowest unit,
and its area includes its memories. `front` marks the Pareto front: no other point of the design has less area and as
much throughput."""


def timing_sections(figures: Figures) -> Iterator[Section]:
    """A section for each kind of figure of clocks that there is."""
    if figures.timing_units:
        yield Section("The engine: timing", list(_units(figures.timing_units)))
    if figures.engine_options:
        yield Section("The engine: what options cost", list(_options(figures.engine_options)))
    if figures.pnr or figures.pnr_units:
        yield Section("Place and route on an ECP5", [*_pnr(figures.pnr), *_pnr_units(figures.pnr_units)])
    if figures.sweep is not None:
        yield Section("Area and throughput", list(_sweep(figures.sweep)))


def _units(reports: Sequence[EngineClocks]) -> Iterator[Part]:
    yield from prose(_UNITS)
    for report in reports:
        yield f"`{report.name}` in {report.library} (recipe {report.recipe}), {report.tool}:"
        yield Table(["unit", *CELLS_HEAD], [[*row[:4], *_code(row[4:])] for row in unit_rows(report.units)],
                    left=(0, 4, 5))
    yield _below(_GOAL_CELLS, "MHz for every unit in cells of 45 nm", {
        f"{unit.unit} of `{report.name}`": unit.mhz for report in reports for unit in report.units})
    macros = reports[0].macros
    yield from prose(_MACROS, setup_ps=macros.setup_ps, output_ps=macros.output_ps, pin_ff=macros.pin_ff)


def _options(rows: Sequence[OptionCost]) -> Iterator[Part]:
    yield from prose(_OPTIONS)
    plain, *_ = rows
    yield f"{plain.library} (recipe {plain.recipe}), {plain.tool}:"
    yield Table(["option", "kGE", "growth", "kbit of memory", "MHz", "ps", "from", "to"], [
        [f"`{row.option}`" if row is not plain else row.option, fixed(row.kge, 1), f"{row.kge / plain.kge - 1:+.1%}",
         fixed(row.memory_bits / 1024, 1), fixed(row.mhz, 0), fixed(row.ps, 0), *_code([row.start, row.end])]
        for row in rows], left=(0, 6, 7))
    yield _below(_GOAL_CELLS, "MHz with each option by itself", {f"`{row.option}`": row.mhz for row in rows})


def _sweep(sweep: Sweep) -> Iterator[Part]:
    yield from prose(_SWEEP)
    yield Image("Area and throughput, with the Pareto fronts", SWEEP_PLOT, lambda: sweep_plot(sweep.points))
    yield f"{sweep.library} (recipe {sweep.recipe}), timed with {sweep.tool}:"
    yield Table(["design", *SWEEP_HEAD], sweep_rows(sweep.points), left=(0, 3, 7))


def placed_tables(reports: Sequence[PlacedPreset]) -> Iterator[Part]:
    """A table for each device and speed grade."""
    for device, speed in dict.fromkeys((report.device, report.speed) for report in reports):
        own = [report for report in reports if (report.device, report.speed) == (device, speed)]
        has = own[0].available
        yield (f"{device}, speed grade {speed}, {own[0].nextpnr}, best and median over the seeds; the part has "
               f"{count(has.luts)} LUTs and {count(has.block_ram)} block RAMs:")
        rows = [[str(len(report.runs)), *pnr_row(report)] for report in own]
        yield Table(["design", "seeds", *PNR_HEAD],
                       [[f"`{name}`", seeds, *row[:-2], *_code(row[-2:])] for seeds, name, *row in rows],
                       left=(0, 11, 12))


def _pnr(reports: Sequence[PlacedPreset]) -> Iterator[Part]:
    if not reports:
        return
    yield from prose(_PNR)
    yield from placed_tables(reports)
    reached = {report.preset: report.best.mhz for report in reports if report.best and report.speed == _GOAL_SPEED}
    cores = {f"`{preset}`": mhz for preset, mhz in reached.items() if preset.endswith("compressor")}
    yield _below(_GOAL_CORES, f"MHz for the cores on speed grade {_GOAL_SPEED}", cores)
    if any(mhz < _GOAL_CORES for preset, mhz in reached.items() if preset.endswith("decompressor")):
        yield from prose(_TRIED)
    for preset, goal in _GOAL_ENGINES.items():
        if preset in reached:
            yield _below(goal, f"MHz for `{preset}` on speed grade {_GOAL_SPEED}", {f"`{preset}`": reached[preset]})
    yield from prose(_ENGINES)


def _pnr_units(reports: Sequence[PlacedEngine]) -> Iterator[Part]:
    if reports:
        yield from prose(_PNR_UNITS)
    for report in reports:
        yield f"`{report.name}`, {report.device}, speed grade {report.speed}, {report.nextpnr}:"
        yield Table(["unit", *PNR_HEAD], [[*row[:-2], *_code(row[-2:])] for row in pnr_units_rows(report)],
                       left=(0, 10, 11))


def _below(aim: float, what: str, reached: dict[str, float]) -> str:
    """The goal, and what does not reach it."""
    missed = [f"{name} ({mhz:.0f})" for name, mhz in reached.items() if mhz < aim]
    return f"Goal: {aim} {what}. " + (f"Below it: {', '.join(missed)}." if missed else "All reach it.")


def _code(names: list[str]) -> list[str]:
    return [f"`{name}`" if name else "" for name in names]
