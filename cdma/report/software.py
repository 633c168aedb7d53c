"""Tables of compression in software on the GPU, of :func:`cdma.workload.results.software.software`: beside the engine,
beside peers, and what was asked for. What was not measured says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdma.report.table import Column, Table, inside

__all__ = ["beside_table", "goals_table", "peers_table", "where"]

Figures = Mapping[str, Any]

_NONE = "not measured"


def where(found: Figures | None) -> str:
    """A sentence on what was measured, and with what."""
    if found is None:
        return "No GPU has run this yet."
    return (f"Measured on an {found['card']}, driver {found['driver'] or 'unknown'}, PyTorch {found['torch']}, Triton "
            f"{found['triton']}, {found['date']}.")


def beside_table(figures: Figures) -> Table:
    """Steps through the engine, modelled, and in software, measured."""
    rows = [{"step": step, "by": by, **(step[how] or {})} for step in figures["steps"]
            for how, by in (("modelled", "engine, modelled"), ("measured", "software, measured"))]
    return Table([Column("network", "step.network"), Column("batch", "step.batch"), Column("by", "by"), *(
        Column(heading, lambda row, key=key, form=form: format(row[key], form) if key in row else _NONE, left=False)
        for heading, key, form in (
            ("GB offloaded", "raw_gb", ".2f"), ("ratio", "ratio", ".2f"), ("ms, nothing offloaded", "plain_ms", ".1f"),
            ("ms, plain offload", "offload_ms", ".1f"), ("ms, compressed", "packed_ms", ".1f"),
            ("SM time, %", "sm", ".1f")))], rows)


def goals_table(found: Figures | None) -> Table:
    """What was asked for, and what was measured."""
    def by_step(key: str) -> str:
        steps = found["steps"].items() if found else ()
        return ", ".join(f"{name} {step[key]:.1f} %" for name, step in steps if step[key] is not None) or _NONE

    known = "1.386: the bytes are the golden model's" if found is None else None
    return Table(["", "required", "aimed at", "measured"], [
        ["bytes of 1 GiB, there and back", "the golden model's", "", _said(found, "equal")],
        ["encode, bfloat16, GB/s of raw bytes", "300", "500", _said(found, "codecs.exponents.encode_gbps")],
        ["decode, bfloat16, GB/s of raw bytes", "600", "1,000", _said(found, "codecs.exponents.decode_gbps")],
        ["encode, zero-value coding", "as exponents", "", _said(found, "codecs.zvc.encode_gbps")],
        ["decode, zero-value coding", "as exponents", "", _said(found, "codecs.zvc.decode_gbps")],
        ["ratio on the shipped GPT", "1.386", "", known or _said(found, "codecs.exponents.ratio", ".3f")],
        ["races and accesses, by compute-sanitizer", "clean", "", _said(found, "clean")],
        ["losses and gradients of a step", "identical", "", _said(found, "identical")],
        ["a step with copies exposed, against plain offload: share of (exposed time) x (1 - 1/ratio) saved", "80 %", "",
         by_step("saved")],
        ["share of a step in which the SMs code", "stated with every gain", "", by_step("sm")]], left=(0,))


def peers_table(found: Figures | None, dense: Figures, mm2: float) -> Table:
    """Software and the engine on dense bfloat16.

    Parameters
    ----------
    found
        What :func:`cdma.workload.results.software.measured` returns.
    dense, mm2
        The engine's row of ``engine_dense`` in the figures of ``cdma bench``, and its area.
    """
    rows = [[name, figures, *(_said(found, f"codecs.{codec}.{way}_gbps", ",.0f") for way in ("encode", "decode")),
             _said(found, f"codecs.{codec}.ratio", ".2f") if found else "1.39", "the codec's time", "0"]
            for name, figures, codec in (("`cdma.gpu`", "this project", "exponents"),
                                         ("nvCOMP, ANS", "measured", "nvcomp"))
            if inside(found, f"codecs.{codec}") or codec == "exponents"]
    offload, prefetch = (f"{dense[f'{way}_bytes_per_cycle']:.0f}" for way in ("offload", "prefetch"))
    return Table(["", "figures", "GB/s out", "GB/s back", "ratio", "time of SMs", "area"], [
        *rows, ["SplitZip", "published", "613", "2,182", "at most 1.33", "the codec's time", "0"],
        ["DietGPU, A100", "published", "250 to 600", "250 to 600", "not published", "the codec's time", "0"],
        ["this engine, 4 lanes at 1 GHz", "measured cycles", offload, prefetch, f"{dense['ratio']:.2f}", "none",
         f"{mm2:.2f} mm2 at 28 nm"]], left=(0, 1))


def _said(found: Figures | None, path: str, form: str = ",.0f") -> str:
    """What was measured: a number in a format, or whether it is so."""
    value = inside(found, path)
    return _NONE if value is None else format(value, form) if not isinstance(value, bool) else "yes" if value else "no"
