"""What ``cdma simulate`` prints of outcomes: of cores, of an engine, and of a plan on an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.console.output import arrays_text, count, fixed, lanes_text
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.outcomes import BlocksOutcome, CoresOutcome, EngineOutcome, Errors, Moved, PlannedOutcome
    from cdma.verif.core.blocks.simulate import BlockArrayResult
    from cdma.verif.core.simulate import ArrayResult
    from cdma.verif.engine.simulate import EngineArrayResult
    from cdma.workload.plan.file import Predicted

__all__ = ["blocks_simulation_text", "engine_simulation_text", "planned_simulation_text", "simulation_text"]


def simulation_text(outcome: CoresOutcome) -> str:
    """What ``cdma simulate`` prints of cores: a row per array, then the sum."""
    head = ["array", "bits", "raw bytes", "density", "ratio", "comp in", "out", "decomp in", "out", "limit", "result"]
    rows = [[
        row.name, str(array.element_bits), count(row.raw_bytes), fixed(row.density, 3),
        fixed(row.ratio, 3), fixed(row.compress_in_beats_per_cycle, 3),
        fixed(row.compress_out_beats_per_cycle, 3), fixed(row.decompress_in_beats_per_cycle, 3),
        fixed(row.decompress_out_beats_per_cycle, 3), fixed(row.limit, 3),
        _verdict(row)] for array, row in zip(outcome.arrays, outcome.results, strict=True)]
    passed = sum(row.passed for row in outcome.results)
    return (
        f"Beats of {outcome.beat_bytes} bytes per cycle, into and out of both cores, and the raw side's limit:\n\n"
        f"{Table(head, rows, left=(0, 10)).text()}\n\n"
        f"{arrays_text(len(rows))}, {count(outcome.raw_bytes)} -> {count(outcome.packed_bytes)} bytes, ratio "
        f"{fixed(outcome.ratio, 3)}; every byte compared in both directions: {passed} passed, "
        f"{len(rows) - passed} failed")


def blocks_simulation_text(outcome: BlocksOutcome) -> str:
    """What ``cdma simulate --blocks`` prints: a row per array, then a row per coding, then the sum."""
    head = ["array", "coding", "raw bytes", "density", "ratio", "raw blocks", "comp in", "out", "decomp in", "out",
            "limit", "result"]
    rows = [[
        row.name, row.coding, count(row.raw_bytes), fixed(row.density, 3), fixed(row.ratio, 3), count(row.raw_blocks),
        fixed(row.compress_in_beats_per_cycle, 3), fixed(row.compress_out_beats_per_cycle, 3),
        fixed(row.decompress_in_beats_per_cycle, 3), fixed(row.decompress_out_beats_per_cycle, 3),
        fixed(row.limit, 3), _verdict(row)] for row in outcome.arrays]
    totals = [[total.coding, count(total.arrays), count(total.raw_bytes), count(total.packed_bytes),
               fixed(total.ratio, 3), fixed(total.compress_beats_per_cycle, 3),
               fixed(total.decompress_beats_per_cycle, 3), fixed(total.limit, 3)] for total in outcome.codings]
    passed = sum(row.passed for row in outcome.arrays)
    return (
        f"Blocks of {count(outcome.block_bytes)} bytes in beats of {outcome.beat_bytes}; beats per cycle into and out "
        f"of both block cores, and the raw side's limit:\n\n"
        f"{Table(head, rows, left=(0, 1, 11)).text()}\n\n"
        + Table(["coding", "arrays", "raw bytes", "packed bytes", "ratio", "compressed per cycle", "expanded per cycle",
                 "limit"], totals).text() +
        f"\n\n{arrays_text(len(rows))}, {count(outcome.raw_bytes)} -> {count(outcome.packed_bytes)} bytes with "
        f"headers, ratio {fixed(outcome.ratio, 3)}; every byte compared in both directions: {passed} passed, "
        f"{len(rows) - passed} failed")


def engine_simulation_text(outcome: EngineOutcome) -> str:
    """What ``cdma simulate --engine`` prints."""
    head = ["array", "coding", "raw bytes", "density", "ratio", "raw blocks", "offload", "prefetch", "plain", "gain",
            "result"]
    rows = [[
        row.name, row.coding, count(row.raw_bytes), fixed(row.density, 3), fixed(row.ratio, 3),
        count(row.raw_blocks), fixed(row.offload_bytes_per_cycle, 1), fixed(row.prefetch_bytes_per_cycle, 1),
        fixed(row.plain_bytes_per_cycle, 1), fixed(row.gain, 2),
        _verdict(row)] for row in outcome.results]
    passed = sum(row.passed for row in outcome.results)
    toggles = outcome.toggles
    row = ", one directly after the other" if outcome.row else ""
    return (
        f"{outcome.engine}: {lanes_text(outcome.lanes, outcome.beat_bytes)}, a link of "
        f"{outcome.link_beat_bytes}; memories answer after {_memories(outcome)}.\n"
        f"Raw bytes per cycle, from descriptor to completion, beside a plain DMA of the same width at its best:\n\n"
        f"{Table(head, rows, left=(0, 1, 10)).text()}\n\n"
        f"{arrays_text(len(rows))}, {count(outcome.raw_bytes)} -> {count(outcome.packed_bytes)} bytes, ratio "
        f"{fixed(outcome.ratio, 3)}; offloaded in order, prefetched in reverse{row}:\n"
        f"{fixed(outcome.offload_bytes_per_cycle, 1)} and {fixed(outcome.prefetch_bytes_per_cycle, 1)} raw bytes "
        f"per cycle, {fixed(outcome.gain, 2)} times a plain DMA; every byte compared: {passed} passed, "
        f"{len(rows) - passed} failed\n"
        f"Toggles of the link's data wires per raw byte: {fixed(toggles.packed_per_raw_byte, 3)}, plain "
        f"{fixed(toggles.raw_per_raw_byte, 3)}; per packed byte {fixed(toggles.packed_per_packed_byte, 3)}")


def planned_simulation_text(outcome: PlannedOutcome) -> str:
    """What ``cdma simulate --plan`` prints."""
    head = ["array", "treatment", "raw bytes", "planned", "packed", "offload: planned", "cycles", "error",
            "prefetch: planned", "cycles", "error", "result"]
    rows = [[row.name, array.treatment, count(row.raw_bytes), count(array.predicted.packed_bytes),
             count(row.packed_bytes), *_planned(array.predicted, row, array.error), _verdict(row)]
            for array, row in zip(outcome.arrays, outcome.results, strict=True)]
    rows.append(["all", "", count(sum(row.raw_bytes for row in outcome.results)),
                 count(sum(array.predicted.packed_bytes for array in outcome.arrays)),
                 count(sum(row.packed_bytes for row in outcome.results)),
                 *_planned(outcome.predicted, outcome, outcome.error), ""])
    passed = sum(row.passed for row in outcome.results)
    return (
        f"{outcome.plan} on {outcome.engine}: {lanes_text(outcome.lanes, outcome.beat_bytes)} at "
        f"{outcome.clock_mhz:g} MHz, a link of {outcome.link_gb_per_s:g} GB/s; memories answer after "
        f"{_memories(outcome)}.\nCycles from descriptor to completion:\n\n"
        f"{Table(head, rows, left=(0, 1, 11)).text()}\n\n"
        f"{arrays_text(len(outcome.arrays))}; every byte compared: {passed} passed, "
        f"{len(outcome.arrays) - passed} failed")


def _planned(predicted: Predicted | Moved, measured: EngineArrayResult | PlannedOutcome, error: Errors) -> list[str]:
    """Planned and measured cycles of offload and prefetch, and their difference."""
    ways = ((predicted.offload_cycles, measured.offload_cycles, error.offload),
            (predicted.prefetch_cycles, measured.prefetch_cycles, error.prefetch))
    return [cell for before, after, off in ways for cell in (
        count(before), count(after), "" if off is None else f"{100 * off:+.1f} %")]


def _memories(outcome: EngineOutcome | PlannedOutcome) -> str:
    return f"{outcome.latency} cycles" + (f", stalls in {outcome.stalls:.0%}" if outcome.stalls else "")


def _verdict(row: ArrayResult | BlockArrayResult | EngineArrayResult) -> str:
    return "pass" if row.passed else f"FAIL: {row.difference}"
