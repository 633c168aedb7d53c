"""What commands print of engines: area by unit, and dumps through the simulated engine."""

from __future__ import annotations

from typing import Any

from cdma.console.output import count, fixed, table

__all__ = ["engine_area_text", "engine_fpga_text", "engine_simulation_text", "planned_simulation_text"]


def engine_area_text(report: dict[str, Any]) -> str:
    """What ``cdma area --engine`` prints for a report that its ``--json`` has."""
    total, scaled, paper = report["total"], report["mm2_28"], report["paper_mm2"]
    head = ["unit", "instances", "cells", "flip-flops", "kGE", "um2", "memory bits"]
    rows = [[unit["unit"], str(unit["instances"]), count(unit["cells"]), count(unit["flip_flops"]),
             fixed(unit["kge"], 2), fixed(unit["um2"], 0), count(unit["memory_bits"] or None)]
            for unit in report["units"]]
    rows.append(["total", "", count(total["cells"]), count(total["flip_flops"]), fixed(total["kge"], 2),
                 fixed(total["um2"], 0), count(total["memory_bits"])])
    if report["library"] is None:
        head, rows = [*head[:5], head[6]], [[*row[:5], row[6]] for row in rows]
    logic = "the cells" if report["library"] else f"{report['nand2_um2']} um2 a gate"
    cores = sum(unit["logic_um2"] for unit in report["units"] if unit["unit"] in ("compressor", "decompressor"))
    macros = ", ".join(f"{number} of {size}" for size, number in report["macros"].items())
    return (
        f"{report['name']}, {report['lanes']} lanes, mapped to {report['library'] or 'generic gates'} "
        f"(recipe {report['recipe']}):\n\n"
        f"{table(head, rows)}\n\n"
        f"Memories (words x bits): {macros}.\n"
        f"At 45 nm: logic in {logic}, memories {report['bit_um2']} um2 a bit. At 28 nm: times (28/45)^2 = "
        f"{fixed(report['scale_28'], 3)}.\n\n" + table(
            ["at 28 nm, mm2", "this engine", "paper, 6 lanes"],
            [["compressors and decompressors", f"{cores / 1e6:.3f} x {report['scale_28']:.3f} = {scaled['cores']:.3f}",
              fixed(paper["cores"], 2)],
             ["all logic", fixed(scaled["logic"], 3), ""],
             ["memories", fixed(scaled["memory"], 3), ""],
             ["the whole engine", fixed(scaled["engine"], 3), fixed(paper["engine"], 1)]]))


def engine_fpga_text(report: dict[str, Any]) -> str:
    """What ``cdma area --engine --target FPGA`` prints for a report that its ``--json`` has."""
    rams = report["block_rams"] | report["distributed_rams"]
    large = [memory for memory in report["memories"] if memory["words"] * memory["width"] >= report["least_bits"]]
    rows = [[memory["name"], count(memory["words"]), str(memory["width"]), memory["built"],
             ", ".join(f"{number} {ram}" for ram, number in memory["rams"].items())] for memory in large]
    missed = [f"{memory['name']} ({memory['built']})" for memory in large if memory["name"] in report["no_block_ram"]]
    return (
        f"{report['name']}, {report['lanes']} lanes, mapped to {report['target']}:\n\n"
        + table(["LUTs", "flip-flops", *rams],
                [[count(report["luts"]), count(report["flip_flops"]), *map(count, rams.values())]], left=())
        + f"\n\nBuffers of {report['least_bits']} bits or more:\n\n"
        + table(["buffer", "words", "bits", "built as", "of"], rows, left=(0, 3, 4)) + "\n\n"
        + (f"warning: not in block RAM: {', '.join(missed)}" if missed else "Every one is block RAM."))


def engine_simulation_text(outcome: dict[str, Any]) -> str:
    """What ``cdma simulate --engine`` prints for an outcome that its ``--json`` has."""
    head = ["array", "raw bytes", "density", "ratio", "raw blocks", "offload", "prefetch", "plain", "gain", "result"]
    rows = [[
        row["name"], count(row["raw_bytes"]), fixed(row["density"], 3), fixed(row["ratio"], 3),
        count(row["raw_blocks"]), fixed(row["offload_bytes_per_cycle"], 1), fixed(row["prefetch_bytes_per_cycle"], 1),
        fixed(row["plain_bytes_per_cycle"], 1), fixed(row["gain"], 2),
        "pass" if row["passed"] else f"FAIL: {row['difference']}"] for row in outcome["arrays"]]
    passed = sum(row["passed"] for row in outcome["arrays"])
    toggles = outcome["toggles"]
    return (
        f"{outcome['engine']}: {outcome['lanes']} lanes of {outcome['beat_bytes']} bytes, a link of "
        f"{outcome['link_beat_bytes']}; memories answer after {_memories(outcome)}.\n"
        f"Raw bytes per cycle, from descriptor to completion, beside a plain DMA of the same width at its best:\n\n"
        f"{table(head, rows, left=(0, 9))}\n\n"
        f"{len(rows)} arrays, {count(outcome['raw_bytes'])} -> {count(outcome['packed_bytes'])} bytes, ratio "
        f"{fixed(outcome['ratio'], 3)}; offloaded in order, prefetched in reverse:\n"
        f"{fixed(outcome['offload_bytes_per_cycle'], 1)} and {fixed(outcome['prefetch_bytes_per_cycle'], 1)} raw bytes "
        f"per cycle, {fixed(outcome['gain'], 2)} times a plain DMA; every byte compared: {passed} passed, "
        f"{len(rows) - passed} failed\n"
        f"Toggles of the link's data wires per raw byte: {fixed(toggles['packed_per_raw_byte'], 3)}, plain "
        f"{fixed(toggles['raw_per_raw_byte'], 3)}; per packed byte {fixed(toggles['packed_per_packed_byte'], 3)}")


def planned_simulation_text(outcome: dict[str, Any]) -> str:
    """What ``cdma simulate --plan`` prints for an outcome that its ``--json`` has."""
    head = ["array", "treatment", "raw bytes", "planned", "packed", "offload: planned", "cycles", "error",
            "prefetch: planned", "cycles", "error", "result"]
    rows = [[row["name"], row["treatment"], count(row["raw_bytes"]), count(row["predicted"]["packed_bytes"]),
             count(row["packed_bytes"]), *_planned(row), "pass" if row["passed"] else f"FAIL: {row['difference']}"]
            for row in outcome["arrays"]]
    rows.append(["all", "", count(sum(row["raw_bytes"] for row in outcome["arrays"])),
                 count(sum(row["predicted"]["packed_bytes"] for row in outcome["arrays"])),
                 count(sum(row["packed_bytes"] for row in outcome["arrays"])), *_planned(outcome), ""])
    passed = sum(row["passed"] for row in outcome["arrays"])
    return (
        f"{outcome['plan']} on {outcome['engine']}: {outcome['lanes']} lanes of {outcome['beat_bytes']} bytes at "
        f"{outcome['clock_mhz']:g} MHz, a link of {outcome['link_gb_per_s']:g} GB/s; memories answer after "
        f"{_memories(outcome)}.\nCycles from descriptor to completion:\n\n"
        f"{table(head, rows, left=(0, 1, 11))}\n\n"
        f"{len(outcome['arrays'])} arrays; every byte compared: {passed} passed, "
        f"{len(outcome['arrays']) - passed} failed")


def _planned(row: dict[str, Any]) -> list[str]:
    """Planned and measured cycles of offload and prefetch, and their difference."""
    return [cell for way in ("offload", "prefetch") for cell in (
        count(row["predicted"][f"{way}_cycles"]), count(row[f"{way}_cycles"]),
        "" if row["error"][way] is None else f"{100 * row['error'][way]:+.1f} %")]


def _memories(outcome: dict[str, Any]) -> str:
    return f"{outcome['latency']} cycles" + (f", stalls in {outcome['stalls']:.0%}" if outcome["stalls"] else "")
