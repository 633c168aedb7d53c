"""Tables of the area and the clocks of presets, for the page of figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdma.console.output import count, fixed
from cdma.measure.figures import PresetArea, PresetTiming
from cdma.report.parts import Part, Table
from cdma.synth.timing.cores import TimingReport

__all__ = ["area_tables", "timing_tables"]


def area_tables(areas: Sequence[PresetArea]) -> Iterator[Part]:
    """A table for each target: the area of presets."""
    for target, library in dict.fromkeys((area.report.target, area.report.library) for area in areas):
        own = [area for area in areas if (area.report.target, area.report.library) == (target, library)]
        yield f"Mapped to {'generic gates' if target == 'generic' else library or target}:"
        if own[0].report.total.luts is not None:
            yield Table(["preset", "LUTs", "flip-flops"], [
                [f"`{area.preset}`", count(area.report.total.luts), count(area.report.total.flip_flops)]
                for area in own])
        else:
            rows = [(area.preset, area.report.total) for area in own]
            bits = {area.preset: area.report.memory_bits for area in own}
            yield Table(["preset", "cells", "flip-flops", "clock gates", "kGE", *(["um2"] if library else []),
                         *(["memory bits"] if any(bits.values()) else [])], [
                [f"`{preset}`", count(total.cells), count(total.flip_flops), count(total.clock_gates),
                 fixed(total.kge, 2), *([fixed(total.um2, 0)] if library else []),
                 *([count(bits[preset])] if any(bits.values()) else [])] for preset, total in rows])


def timing_tables(timings: Sequence[PresetTiming]) -> Iterator[Part]:
    """A table for each library: the clocks that the slowest path of each kind allows in presets."""
    kinds = list(dict.fromkeys(path.kind for timing in timings for path in timing.report.paths))
    for library, tool in dict.fromkeys((timing.report.library, timing.report.tool) for timing in timings):
        own = [timing for timing in timings if (timing.report.library, timing.report.tool) == (library, tool)]
        yield f"{library}, timed with {tool}, in MHz:"
        yield Table(["preset", *kinds], [[f"`{timing.preset}`", *(_clock(timing.report, kind) for kind in kinds)]
                                            for timing in own])


def _clock(report: TimingReport, kind: str) -> str:
    return next((count(round(path.mhz)) for path in report.paths if path.kind == kind), "")
