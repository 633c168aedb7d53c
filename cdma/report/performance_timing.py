"""The sections on clocks of the page of figures: units of engines in cells, place and route, and the sweep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cdma.console.output import count, markdown
from cdma.report.timing_text import (
    CELLS_HEAD,
    PNR_HEAD,
    SWEEP_HEAD,
    pnr_row,
    pnr_units_rows,
    sweep_rows,
    unit_rows,
)

__all__ = ["SWEEP_PLOT", "timing_sections"]

SWEEP_PLOT = "sweep.svg"
"""Name of the file with the plot of the sweep, beside the page."""

_AIMED_CELLS, _AIMED_CORES, _AIMED_ENGINE, _AIMED_SPEED = 800, 125, 100, 8
"""MHz that units reach in cells of 45 nm, and cores and the tiny engine on an ECP5 of this speed grade: the aims."""

_UNITS = """\
## The engine: timing

The slowest path from register to register of each unit, as `cdma timing --engine PRESET` prints it: in cells at the
library's own corner, with an ideal clock and wires without length. A unit is mapped with the units inside it cut out;
paths from one unit to another show in the last row alone, the whole engine mapped flat with one lane for all. Gates are
those between the two registers."""

_MACROS = """\
Memories are macros, which end and start paths as registers do: {setup_ps:g} ps of set-up, {output_ps:g} ps from the
clock to what was read, and {pin_ff:g} fF at each input pin. That is what the single-port macros of 32 kbit of the
FakeRAM 45 nm set have (512 x 64: 305 ps, 1024 x 32: 309 ps; 64 x 7: 164 ps, 2048 x 39: 435 ps). `--memory-output` and
`--memory-setup` take those of yours."""

_PNR = """\
## Place and route on an ECP5

Really placed and routed by nextpnr, as `cdma timing PRESET --target ecp5` does it. The design's ports lead to registers
around it, a scan chain before its inputs and a chain that folds its outputs into one bit, so that paths from inputs and
to outputs count as paths between registers, and pins do not count. The registers around it are not in the figures. Out
of context nextpnr would take the clock through the fabric and leave paths from and to ports out. LUTs have four inputs;
those of carry chains, of memories in LUTs and of routes through LUTs are counted. Block RAMs have 18 kbit. `ns` is the
slowest path, `wires` what of it is routing, `levels` the LUTs, carries and multiplexers on it. What is too large for
the part has the figures of synthesis."""

_PNR_UNITS = """\
Each unit of an engine by itself, as `cdma timing --engine PRESET --target ecp5 --units` does it, with one seed. A unit
stands between registers, and registers stand for the units cut out of it: they have the names of ports, and a path from
unit to unit counts in both, up to the border. LUTs, flip-flops and block RAMs are those of all of its instances, the
path is that of its slowest part. Together they take more LUTs than the engine as a whole, which is mapped across the
borders."""

_TRIED = """\
What limits the decompressors: a tag lies wherever the line before it ends. Its place, whether all of it is there, and
whether the packet ends instead hang on each other, beat after beat, so that registers cannot be put in between; two
thirds or more of the slowest path are wires. What was tried and stayed, for `fast_decompressor` from 84 to 95 MHz
together: the first tag of the next packet is read ahead; each byte of a tag knows its row and lane a cycle early; the
lane is compared with all rows before one is picked; counts are summed in a cycle of their own; what was begun behind
the end of a packet is dropped instead of held up; registers load without knowing whether a tag is fetched. What was
tried and gave nothing: another clock to strive for, and more weight on timing in placement. Seeds differ by 5 MHz. What
is left to do is to count a whole tag as it is read, a line ahead, so that the place of the next tag is known two beats
before it is needed: that needs four beats a line, so for beats of 16 and 32 bytes, and a stage more of latency."""

_SWEEP = """\
## Area and throughput

Both cores over beats and pipelines, all element sizes, and the default engine over lanes and pipelines, as `cdma timing
--sweep` prints them. Throughput is raw bytes at one beat per cycle and lane, which is what the cores reach; the link
lets that through when the ratio is lanes x beat / link beat or more. The engine's clock is that of its slowest unit,
its area has its memories in it. On the front are those that no other of the same design beats in both."""


def timing_sections(figures: dict[str, Any]) -> Iterator[str]:
    """Markdown with a section for each kind of figure that there is."""
    if "timing_units" in figures:
        yield _UNITS
        for report in figures["timing_units"]:
            yield f"`{report['name']}` in {report['library']} (recipe {report['recipe']}), {report['tool']}:"
            yield markdown(["unit", *CELLS_HEAD], [[*row[:4], *_code(row[4:])] for row in unit_rows(report["units"])],
                           left=(0, 4, 5))
        yield _below(_AIMED_CELLS, "MHz for every unit in cells of 45 nm", {
            f"{unit['unit']} of `{report['name']}`": unit["mhz"]
            for report in figures["timing_units"] for unit in report["units"]})
        yield _MACROS.format(**figures["timing_units"][0]["macros"])
    if "pnr" in figures:
        yield _PNR
        yield from _pnr(figures["pnr"])
    if "pnr_units" in figures:
        yield from _pnr_units(figures["pnr_units"])
    if "sweep" in figures:
        sweep = figures["sweep"]
        yield _SWEEP
        yield f"![Area and throughput, with the Pareto fronts]({SWEEP_PLOT})"
        yield f"{sweep['library']} (recipe {sweep['recipe']}), timed with {sweep['tool']}:"
        yield markdown(["design", *SWEEP_HEAD], sweep_rows(sweep["points"]), left=(0, 3, 7))


def _pnr(reports: list[dict[str, Any]]) -> Iterator[str]:
    for device, speed in dict.fromkeys((report["device"], report["speed"]) for report in reports):
        own = [report for report in reports if (report["device"], report["speed"]) == (device, speed)]
        has = own[0]["available"]
        yield (f"{device}, speed grade {speed}, {own[0]['nextpnr']}, best and median of so many seeds; the part has "
               f"{count(has['luts'])} LUTs and {count(has['block_ram'])} block RAMs:")
        rows = [[str(len(report["runs"])), *pnr_row(report)] for report in own]
        yield markdown(["design", "seeds", *PNR_HEAD],
                       [[f"`{name}`", seeds, *row[:-2], *_code(row[-2:])] for seeds, name, *row in rows],
                       left=(0, 11, 12))

    reached = {report["preset"]: report["best"]["mhz"] for report in reports
               if report["best"] and report["speed"] == _AIMED_SPEED}
    cores = {f"`{preset}`": mhz for preset, mhz in reached.items() if preset.endswith("compressor")}
    yield _below(_AIMED_CORES, f"MHz for the cores on speed grade {_AIMED_SPEED}", cores)
    if any(mhz < _AIMED_CORES for preset, mhz in reached.items() if preset.endswith("decompressor")):
        yield _TRIED
    if "tiny" in reached:
        yield _below(_AIMED_ENGINE, f"MHz for the tiny engine on speed grade {_AIMED_SPEED}", {
            "`tiny`": reached["tiny"]})


def _pnr_units(reports: list[dict[str, Any]]) -> Iterator[str]:
    yield _PNR_UNITS
    for report in reports:
        yield f"`{report['name']}`, {report['device']}, speed grade {report['speed']}, {report['nextpnr']}:"
        yield markdown(["unit", *PNR_HEAD], [[*row[:-2], *_code(row[-2:])] for row in pnr_units_rows(report)],
                       left=(0, 10, 11))


def _below(aim: float, what: str, reached: dict[str, float]) -> str:
    """What is aimed at, and what stays below it."""
    missed = [f"{name} ({mhz:.0f})" for name, mhz in reached.items() if mhz < aim]
    return f"Aimed at: {aim} {what}. " + (f"Below: {', '.join(missed)}." if missed else "All are there.")


def _code(names: list[str]) -> list[str]:
    return [f"`{name}`" if name else "" for name in names]
