"""What ``cdma timeline`` prints in plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdma.console.output import lanes_text
from cdma.report.blocks_text import alike_blocks
from cdma.report.table import Column, Table

__all__ = ["lists_text", "offloads_text", "paper_text", "timeline_text"]

_NAMES = 3  # offloaded tensors that a row names
_COMPUTE = ("float32", "tf32", "bfloat16", "float16", "float8")


def timeline_text(outcome: Mapping[str, Any]) -> str:
    """The rows of a network, then its layers."""
    rows = Table([Column("row", "row"), Column("forward ms", "forward_ms", ".2f"),
                  Column("backward ms", "backward_ms", ".2f"), Column("stall ms", "stall_ms", ".2f"),
                  Column("step ms", "step_ms", ".2f"), Column("speed-up", "speedup", ".3f"),
                  Column("ratio", "ratio", ".2f"), Column("swapped MB", lambda row: row["moved_bytes"] / 1e6, ".1f"),
                  Column("device GB", lambda row: row["memory_bytes"] / 1e9, ".2f")], outcome["rows"])
    layers = alike_blocks(outcome["layers"])
    stalls = Table([Column("layer", "layer"), Column("forward ms", "forward_ms", ".2f"),
                    Column("backward ms", "backward_ms", ".2f"),
                    Column("offloads", lambda layer: offloads_text(layer["offloads"])),
                    Column("MB", lambda layer: layer["offload_bytes"] / 1e6 if layer["offloads"] else None, ".1f"),
                    *(Column(row["row"], lambda layer, name=row["row"]: sum(layer["stall_ms"][name].values()), ".2f")
                      for row in outcome["rows"][1:])], layers)
    blocks = "; rows of several blocks have the times of one, and mean stalls" * (
        len(layers) < len(outcome["layers"]))
    engine = outcome["engine"]
    return (
        "{network} ({about}), batch {batch}, {types}, on {gpu_name};\n{times}; policy {policy}: {swapped_tensors} "
        "tensors, density {swapped_density:.3f} ({densities});\nlink {link_gb_per_s:g} GB/s; engine {engine[preset]}: "
        "{lanes}, a link port of {engine[link_beat_bytes]}, at {engine[clock_mhz]:g} MHz; {engine[share]};\n"
        "{schedule}:\n\n".format(types=_types(outcome), lanes=lanes_text(engine["lanes"], engine["beat_bytes"]),
                                 **outcome)
        + rows.text() + _too_large(outcome)
        + f"\n\nStalls of both passes in ms; the device has {outcome['memory_gb']:g} GB{blocks}:\n\n{stalls.text()}")


def _too_large(outcome: Mapping[str, Any]) -> str:
    """The rows that do not fit the device, in a line; empty if all do."""
    rows = {row["row"]: row["memory_bytes"] / 1e9 for row in outcome["rows"] if not row["fits"]}
    named = ", ".join(f"{name} ({size:.1f})" for name, size in rows.items())
    help_ = "" if "vdnn" not in rows else ": fewer samples, or weights on several GPUs (--shards), need less"
    return f"\n\nDoes not fit the {outcome['memory_gb']:g} GB of the device: {named}{help_}" if rows else ""


def paper_text(outcome: Mapping[str, Any]) -> str:
    """The six networks of the paper, and its headline figures beside ours."""
    steps, coded = ("oracle", "vdnn", "zvc", "exponents", "rle", "zlib"), ("zvc", "exponents", "rle", "zlib")
    networks = Table([
        Column("network", "network"), Column("batch", "batch"), Column("density", "swapped_density", ".3f"),
        *(Column(f"{name} ms", f"{name}.step_ms", ".1f") for name in steps),
        *(Column(f"{name} x", f"{name}.speedup", ".2f") for name in coded), Column("zvc ratio", "zvc.ratio", ".2f")],
        [{**entry, **{row["row"]: row for row in entry["rows"]}} for entry in outcome["networks"]])
    beside = Table([Column("figure, zvc", "figure"), Column("here", "here"), Column("Rhu et al.", "paper", left=False)],
                   outcome["beside"])
    return (f"Training steps on {outcome['gpu_name']}, policy {outcome['policy']}, link "
            f"{outcome['link_gb_per_s']:g} GB/s; {outcome['networks'][0]['schedule']}; x is the speed-up over "
            f"vdnn:\n\n{networks.text()}\n\n{beside.text()}")


def lists_text(lists: Mapping[str, Any]) -> str:
    """The networks and GPUs that can be named."""
    networks = Table([
        Column("network", "name"), Column("batch", "batch"),
        Column("input", lambda entry: "x".join(map(str, entry["input"])), left=False), Column("type", "dtype"),
        Column("parameters", "params", ","), Column("GFLOP/sample", "gflops", ".2f"),
        Column("saved MB", "activation_mb", ".1f"), Column("source", "about")], lists["networks"])
    gpus = Table([
        Column("gpu", "name"), Column("in full", "about"),
        *(Column(name, lambda entry, of=name: entry.peaks.get(of), "g") for name in _COMPUTE),
        Column("GB/s", "bandwidth", "g"), Column("GB", "memory", "g"), Column("link", "link"),
        Column("GB/s", "link_bandwidth", "g"), Column("source", "source")], lists["gpus"])
    return (f"{networks.text()}\n\nPeaks in TFLOP/s by the type of products, without sparsity; the link in one "
            f"direction:\n\n{gpus.text()}")


def offloads_text(names: Sequence[str]) -> str:
    """The first names, and how many more there are: a layer of a captured network may offload dozens."""
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + f" and {more} more" * (more > 0)


def _types(outcome: Mapping[str, Any]) -> str:
    """The type of values, and that of products where it is not the same."""
    dtype, compute = outcome["dtype"], outcome["compute"]
    alike = compute == dtype or (dtype.startswith("float8") and compute == "float8")
    return dtype if alike else f"{dtype} computed in {compute}"
