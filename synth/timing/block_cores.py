"""The clock of a block core in the cells of a library; its larger memories are macros, where paths start and end."""

from __future__ import annotations

from pathlib import Path

from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.generate.verilog import emit
from cdma.synth.cells import library as libraries
from cdma.synth.timing.cores import TimingReport
from cdma.synth.timing.engines import Means, part_timing
from cdma.synth.timing.macros import DEFAULT, MacroTiming
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.yosys import Progress, find, report
from cdma.synth.units.hierarchy import Design

__all__ = ["block_timing"]


def block_timing(config: BlockCoreConfig, *, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE,
                 macros: MacroTiming = DEFAULT, progress: Progress | None = None) -> TimingReport:
    """Worst paths of a block core, flattened; its area is that of everything but the macros.

    Parameters
    ----------
    config : BlockCoreConfig
        Which block core.
    macros : MacroTiming
        Assumed timing of memory macros.
    liberty, recipe, progress
        As for :func:`cdma.synth.timing.cores.timing`.

    Raises
    ------
    ValueError
        As for :func:`cdma.synth.timing.cores.timing`.
    """
    opensta.require()
    means = Means(find(progress), libraries.load(liberty), macros, recipe)
    report(progress, f"generating {config.name}")
    design = Design(emit(config).text, config.name)
    report(progress, f"timing of {config.name}", 0, 1)
    part = part_timing(means, design, "", ())
    report(progress, f"timing of {config.name}", 1, 1)
    return TimingReport(config.name, means.library.name, recipe, opensta.version(), means.yosys.version, part.um2,
                        part.kge, part.paths)
