"""What ``cdma timeline`` prints in plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.console.output import count, fixed, lanes_text
from cdma.report.blocks_text import alike_blocks
from cdma.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cdma.measure.timelines import PaperOutcome, TimelineLists, TimelineOutcome

__all__ = ["lists_text", "offloads_text", "paper_text", "timeline_text"]

_NAMES = 3  # offloaded tensors that a row names
_COMPUTE = ("float32", "tf32", "bfloat16", "float16", "float8")


def timeline_text(outcome: TimelineOutcome) -> str:
    """The rows of a network, then its layers."""
    rows = [[row.row, fixed(row.forward_ms, 2), fixed(row.backward_ms, 2), fixed(row.stall_ms, 2),
             fixed(row.step_ms, 2), fixed(row.speedup, 3), fixed(row.ratio, 2),
             fixed(row.moved_bytes / 1e6, 1), fixed(row.memory_bytes / 1e9, 2)] for row in outcome.summary.rows]
    algorithms = [row.row for row in outcome.summary.rows[1:]]
    layers = [[layer.layer, fixed(layer.forward_ms, 2), fixed(layer.backward_ms, 2),
               offloads_text(layer.offloads), fixed(layer.offload_bytes / 1e6, 1) if layer.offloads else "",
               *(fixed(sum(layer.stall_ms[name].values()), 2) for name in algorithms)]
              for layer in alike_blocks(outcome.summary.layers)]
    blocks = "; rows of several blocks have the times of one, and mean stalls" * (
        len(layers) < len(outcome.summary.layers))
    engine = outcome.engine
    return (
        f"{outcome.network} ({outcome.about}), batch {outcome.batch}, {_types(outcome)}, on {outcome.gpu_name};\n"
        f"{outcome.times}; policy {outcome.policy}: {outcome.summary.swapped_tensors} tensors, density "
        f"{outcome.summary.swapped_density:.3f} ({outcome.densities});\nlink {outcome.link_gb_per_s:g} GB/s; engine "
        f"{engine.preset}: {lanes_text(engine.lanes, engine.beat_bytes)}, a link port of "
        f"{engine.link_beat_bytes}, at {engine.clock_mhz:g} MHz; {engine.share};\n{outcome.schedule}:\n\n"
        + Table(["row", "forward ms", "backward ms", "stall ms", "step ms", "speed-up", "ratio", "swapped MB",
                 "device GB"], rows).text()
        + _too_large(outcome) + f"\n\nStalls of both passes in ms; the device has {outcome.memory_gb:g} GB{blocks}:\n\n"
        + Table(["layer", "forward ms", "backward ms", "offloads", "MB", *algorithms], layers, left=(0, 3)).text())


def _too_large(outcome: TimelineOutcome) -> str:
    """The rows that do not fit the device, in a line; empty if all do."""
    rows = {row.row: row.memory_bytes / 1e9 for row in outcome.summary.rows if not row.fits}
    if not rows:
        return ""
    named = ", ".join(f"{name} ({size:.1f})" for name, size in rows.items())
    help_ = "" if "vdnn" not in rows else ": fewer samples, or weights on several GPUs (--shards), need less"
    return f"\n\nDoes not fit the {outcome.memory_gb:g} GB of the device: {named}{help_}"


def paper_text(outcome: PaperOutcome) -> str:
    """The six networks of the paper, and its headline figures beside ours."""
    rows = [[entry.network, str(entry.batch), fixed(entry.summary.swapped_density, 3),
             *(fixed(entry.row(name).step_ms, 1) for name in ("oracle", "vdnn", "zvc", "exponents", "rle", "zlib")),
             *(fixed(entry.row(name).speedup, 2) for name in ("zvc", "exponents", "rle", "zlib")),
             fixed(entry.row("zvc").ratio, 2)] for entry in outcome.networks]
    head = ["network", "batch", "density", "oracle ms", "vdnn ms", "zvc ms", "exponents ms", "rle ms", "zlib ms",
            "zvc x", "exponents x", "rle x", "zlib x", "zvc ratio"]
    beside = [[line.figure, line.here, line.paper] for line in outcome.beside]
    return (f"Training steps on {outcome.gpu_name}, policy {outcome.policy}, link "
            f"{outcome.link_gb_per_s:g} GB/s; {outcome.networks[0].schedule}; x is the speed-up over "
            f"vdnn:\n\n{Table(head, rows).text()}\n\n" + Table(["figure, zvc", "here", "Rhu et al."], beside).text())


def lists_text(lists: TimelineLists) -> str:
    """The networks and GPUs that can be named."""
    networks = [[entry.name, str(entry.batch), "x".join(map(str, entry.input)), entry.dtype, count(entry.params),
                 fixed(entry.gflops, 2), fixed(entry.activation_mb, 1), entry.about] for entry in lists.networks]
    gpus = [[entry.name, entry.about, *(f"{entry.peaks[name]:g}" if name in entry.peaks else "" for name in _COMPUTE),
             f"{entry.bandwidth:g}", f"{entry.memory:g}", entry.link, f"{entry.link_bandwidth:g}", entry.source]
            for entry in lists.gpus]
    return (Table(["network", "batch", "input", "type", "parameters", "GFLOP/sample", "saved MB", "source"], networks,
                  left=(0, 3, 7)).text()
            + "\n\nPeaks in TFLOP/s by the type of products, without sparsity; the link in one direction:\n\n"
            + Table(["gpu", "in full", *_COMPUTE, "GB/s", "GB", "link", "GB/s", "source"], gpus).text())


def offloads_text(names: Sequence[str]) -> str:
    """The first names, and how many more there are: a layer of a captured network may offload dozens."""
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + f" and {more} more" * (more > 0)


def _types(outcome: TimelineOutcome) -> str:
    """The type of values, and that of products where it is not the same."""
    alike = outcome.compute == outcome.dtype or (outcome.dtype.startswith("float8") and outcome.compute == "float8")
    return outcome.dtype if alike else f"{outcome.dtype} computed in {outcome.compute}"
