"""What ``cdma alternatives`` gives: the rows of a network, the answer, and what it depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cdma.workload.alternatives.study import CODINGS, Alternative, Inputs, sensitivity

__all__ = ["WAITS_US", "AlternativesOutcome", "Sensitive", "sensitive"]

WAITS_US = (10.0, 50.0)
"""Microseconds to start a transfer and wait for it that are compared; a launch and a synchronisation of a GPU's stream
take a few to some tens."""


@dataclass(frozen=True)
class Sensitive:
    """Plain swapping and the engine under one change and schedule.

    Parameters
    ----------
    change, schedule
        What is changed, and ``layer`` or ``queue``.
    offload_x, engine_x
        Step times divided by that with memory enough: plain, and with the engine by coding.
    gain_percent
        How much faster the engine is than plain swapping, by coding.
    """

    change: str
    schedule: str
    offload_x: float
    engine_x: Mapping[str, float]
    gain_percent: Mapping[str, float]


@dataclass(frozen=True)
class AlternativesOutcome:
    """The alternatives of a network on a GPU, behind a link.

    Parameters
    ----------
    network, about, batch, dtype
        The network, what it is, samples of a step, and the type of its values.
    gpu, gpu_name, memory_gb, link_gb_per_s
        The GPU, its full name, 10^9 bytes of its memory, and 10^9 bytes a second of the link.
    times, densities, ahead
        Where times and densities come from, and the look-ahead, in words.
    codec_gb_per_s
        10^9 raw bytes a second of a software codec.
    everything
        All tensors are swapped, also where fewer would do.
    rows
        The alternatives that are shown.
    enough
        The one with memory enough.
    fastest_lossless, fastest
        Those of them that fit and are fastest: without loss, and of all; None if none fits.
    sensitivity
        The swapped rows under changes; empty if not asked for.
    """

    network: str
    about: str
    batch: int
    dtype: str
    gpu: str
    gpu_name: str
    memory_gb: float
    link_gb_per_s: float
    times: str
    densities: str
    ahead: str
    codec_gb_per_s: float
    everything: bool
    rows: tuple[Alternative, ...]
    enough: Alternative
    fastest_lossless: Alternative | None
    fastest: Alternative | None
    sensitivity: tuple[Sensitive, ...]


def sensitive(inputs: Inputs, others: Mapping[str, Inputs]) -> tuple[Sensitive, ...]:
    """How far the engine's gain depends on the time of a wait, on the share of the link, and on other inputs.

    Parameters
    ----------
    inputs
        Those of the rows.
    others
        More changes by name.
    """
    changes = {f"{us:g} us more for each transfer": replace(inputs, wait=us / 1e6) for us in WAITS_US}
    changes |= {f"{share:.0%} of the link": replace(inputs, link=inputs.link * share) for share in (0.75, 0.5, 0.25)}
    found = sensitivity(inputs, changes | dict(others))
    return tuple(line for change, rows in found.items() for line in _lines(change, rows))


def _lines(change: str, rows: tuple[Alternative, ...]) -> Iterator[Sensitive]:
    for schedule in ("layer", "queue"):
        by_name = {row.name: row for row in rows if row.schedule == schedule}
        plain, engine = by_name["offload"], {coding: by_name[f"engine, {coding}"] for coding in CODINGS}
        yield Sensitive(change, schedule, plain.slowdown, {coding: row.slowdown for coding, row in engine.items()},
                        {coding: 100 * (plain.step_ms / row.step_ms - 1) for coding, row in engine.items()})
