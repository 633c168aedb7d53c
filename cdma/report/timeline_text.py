"""What ``cdma timeline`` prints in plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdma.console.output import count, fixed, lanes_text
from cdma.report.blocks_text import alike_blocks
from cdma.report.tables import table

__all__ = ["lists_text", "offloads_text", "paper_text", "timeline_text"]

_NAMES = 3  # offloaded tensors that a row names
_COMPUTE = ("float32", "tf32", "bfloat16", "float16", "float8")


def timeline_text(outcome: Mapping[str, Any]) -> str:
    """The rows of a network, then its layers."""
    rows = [[row["row"], *(fixed(row[name], 2) for name in ("forward_ms", "backward_ms", "stall_ms", "step_ms")),
             fixed(row["speedup"], 3), fixed(row["ratio"], 2), fixed(row["moved_bytes"] / 1e6, 1),
             fixed(row["memory_bytes"] / 1e9, 2)] for row in outcome["rows"]]
    algorithms = [row["row"] for row in outcome["rows"][1:]]
    layers = [[layer["layer"], fixed(layer["forward_ms"], 2), fixed(layer["backward_ms"], 2),
               offloads_text(layer["offloads"]), fixed(layer["offload_bytes"] / 1e6, 1) if layer["offloads"] else "",
               *(fixed(sum(layer["stall_ms"][name].values()), 2) for name in algorithms)]
              for layer in alike_blocks(outcome["layers"])]
    blocks = "; rows of several blocks have the times of one, and mean stalls" * (
        len(layers) < len(outcome["layers"]))
    engine = outcome["engine"]
    return (
        "{network} ({about}), batch {batch}, {types}, on {gpu_name};\n{times}; policy {policy}: {swapped_tensors} "
        "tensors, density {swapped_density:.3f} ({densities});\nlink {link_gb_per_s:g} GB/s; engine {engine[preset]}: "
        "{lanes}, a link port of {engine[link_beat_bytes]}, at {engine[clock_mhz]:g} MHz; {engine[share]};\n"
        "{schedule}:\n\n".format(types=_types(outcome), lanes=lanes_text(engine["lanes"], engine["beat_bytes"]),
                                 **outcome)
        + table(["row", "forward ms", "backward ms", "stall ms", "step ms", "speed-up", "ratio", "swapped MB",
                 "device GB"], rows) + _too_large(outcome)
        + f"\n\nStalls of both passes in ms; the device has {outcome['memory_gb']:g} GB{blocks}:\n\n"
        + table(["layer", "forward ms", "backward ms", "offloads", "MB", *algorithms], layers, left=(0, 3)))


def _too_large(outcome: Mapping[str, Any]) -> str:
    """The rows that do not fit the device, in a line; empty if all do."""
    rows = {row["row"]: row["memory_bytes"] / 1e9 for row in outcome["rows"] if not row["fits"]}
    named = ", ".join(f"{name} ({size:.1f})" for name, size in rows.items())
    help_ = "" if "vdnn" not in rows else ": fewer samples, or weights on several GPUs (--shards), need less"
    return f"\n\nDoes not fit the {outcome['memory_gb']:g} GB of the device: {named}{help_}" if rows else ""


def paper_text(outcome: Mapping[str, Any]) -> str:
    """The six networks of the paper, and its headline figures beside ours."""
    steps, coded = ("oracle", "vdnn", "zvc", "exponents", "rle", "zlib"), ("zvc", "exponents", "rle", "zlib")
    rows = []
    for entry in outcome["networks"]:
        by_name = {row["row"]: row for row in entry["rows"]}
        rows.append([entry["network"], str(entry["batch"]), fixed(entry["swapped_density"], 3),
                     *(fixed(by_name[name]["step_ms"], 1) for name in steps),
                     *(fixed(by_name[name]["speedup"], 2) for name in coded), fixed(by_name["zvc"]["ratio"], 2)])
    head = ["network", "batch", "density", *(f"{name} ms" for name in steps), *(f"{name} x" for name in coded),
            "zvc ratio"]
    return (f"Training steps on {outcome['gpu_name']}, policy {outcome['policy']}, link "
            f"{outcome['link_gb_per_s']:g} GB/s; {outcome['networks'][0]['schedule']}; x is the speed-up over "
            f"vdnn:\n\n{table(head, rows)}\n\n"
            + table(["figure, zvc", "here", "Rhu et al."], [list(line.values()) for line in outcome["beside"]]))


def lists_text(lists: Mapping[str, Any]) -> str:
    """The networks and GPUs that can be named."""
    networks = [[entry["name"], str(entry["batch"]), "x".join(map(str, entry["input"])), entry["dtype"],
                 count(entry["params"]), fixed(entry["gflops"], 2), fixed(entry["activation_mb"], 1), entry["about"]]
                for entry in lists["networks"]]
    gpus = [[entry.name, entry.about, *(f"{entry.peaks[name]:g}" if name in entry.peaks else "" for name in _COMPUTE),
             f"{entry.bandwidth:g}", f"{entry.memory:g}", entry.link, f"{entry.link_bandwidth:g}", entry.source]
            for entry in lists["gpus"]]
    return (table(["network", "batch", "input", "type", "parameters", "GFLOP/sample", "saved MB", "source"], networks,
                  left=(0, 3, 7))
            + "\n\nPeaks in TFLOP/s by the type of products, without sparsity; the link in one direction:\n\n"
            + table(["gpu", "in full", *_COMPUTE, "GB/s", "GB", "link", "GB/s", "source"], gpus, left=(0, 1, 9, 11)))


def offloads_text(names: Sequence[str]) -> str:
    """The first names, and how many more there are: a layer of a captured network may offload dozens."""
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + f" and {more} more" * (more > 0)


def _types(outcome: Mapping[str, Any]) -> str:
    """The type of values, and that of products where it is not the same."""
    dtype, compute = outcome["dtype"], outcome["compute"]
    alike = compute == dtype or (dtype.startswith("float8") and compute == "float8")
    return dtype if alike else f"{dtype} computed in {compute}"
