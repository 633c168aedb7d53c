"""A design on an ECP5, placed and routed: its clock, its worst path in the design's own names, and its area; and the
units of an engine, each by itself.

Units are those of :mod:`cdma.synth.units.division`. A part of a unit stands between registers, and registers replace
the parts that are cut out of it (see :mod:`cdma.synth.pnr.harness`). A path from unit to unit counts in both, up to the
border. Parts of lane 0 stand for all lanes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from statistics import median_low
from typing import Any

from cdma.hdl.config.catalog import Design as Config
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.cells.fpga import FPGA
from cdma.synth.pnr.harness import CHAINS, CLOCK, INSTANCE, harness, stand_in
from cdma.synth.tools import scripts
from cdma.synth.tools.nextpnr import NextpnrError, Report, find
from cdma.synth.tools.yosys import Progress, report
from cdma.synth.tools.yosys import find as find_yosys
from cdma.synth.units.division import each_part
from cdma.synth.units.hierarchy import Design

__all__ = ["DEVICES", "SPEEDS", "place", "place_units", "read_run", "resources"]

_INNER_CLOCK = "clk"
"""The clock's port of all modules but the top."""

SPEEDS = (6, 7, 8)
"""The speed grades; 8 is the fastest."""

_TARGET_MHZ = 200
"""Target clock of placement and routing: above that of all designs, so that optimisation does not stop early."""

_OPTIONS = {"LFE5U-25F": "--25k", "LFE5U-45F": "--45k", "LFE5U-85F": "--85k"}

_BELS = {"luts": "TRELLIS_COMB", "flip_flops": "TRELLIS_FF", "block_ram": "DP16KD", "dsp": "MULT18X18D"}


DEVICES = {device: dict(zip(_BELS, has, strict=True)) for device, has in {
    "LFE5U-25F": (24288, 24288, 56, 28), "LFE5U-45F": (43848, 43848, 108, 72),
    "LFE5U-85F": (83640, 83640, 208, 156)}.items()}
"""The parts by name, with their resources: look-up tables of four inputs, those of carry chains and of small memories
included; flip-flops; memory blocks of 18 kbit; and multipliers of 18 x 18 bits."""


def place(config: Config | Design, part: str = "", cut: Collection[str] = (), *, device: str = "LFE5U-85F",
          speed: int = 8, seeds: int = 1, progress: Progress | None = None) -> dict[str, Any]:
    """Place a design, or a part of one, on an ECP5, between the registers of :mod:`cdma.synth.pnr.harness`.

    A design that takes more than the FPGA has is not placed: its report says what it takes after synthesis.

    Parameters
    ----------
    config : configuration or Design
        The design.
    part : str
        The path of the part below the top; empty for the whole.
    cut : collection of str
        Modules inside it that registers replace.
    device : str
        One of :data:`DEVICES`.
    speed : int
        One of :data:`SPEEDS`.
    seeds : int
        How often to place and route, each time from another seed: 1, 2, ...
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    dict
        ``name`` of the module, ``device``, ``speed``, ``yosys``, ``nextpnr``; the resources ``used``, without the
        registers around it, and ``available``; the seed and the clock of each of the ``runs``, none if it is too large;
        the ``best`` of them with its ``path``, and ``median_mhz``, both None where there are none.

    Raises
    ------
    ValueError
        If there is no such device or speed grade, no Yosys or nextpnr, or the design cannot be placed or routed.
    """
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {device}")
    if speed not in SPEEDS:
        raise ValueError(f"speed grade must be one of {', '.join(map(str, SPEEDS))}, not {speed}")
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more, not {seeds}")
    nextpnr, yosys = find(), find_yosys(progress)
    design = Design.of(config, progress)
    top = design.paths()[part]
    # Chains have the order of the ports: of a whole design that in which they were made.
    ports = (not cut and design.interface) or design.ports(top)
    around = harness(top, ports, CLOCK if top == design.top else _INNER_CLOCK)
    others = [around, *(stand_in(name, design.ports(name), _INNER_CLOCK) for name in design.outside(top, cut))]
    stage = f"placing and routing {top} on {device}-{speed}"
    report(progress, f"synthesis of {top} for ECP5")
    text = "".join([design.part(top, cut, black_boxes=False), *(each.verilog for each in (*others[1:], around))])
    mapped = yosys.run(scripts.fpga_script(around.name, True, "ecp5", netlist=True), {"design.v": text},
                       ["net.json", "stat.json"], f"synthesis of {top} (target ecp5)")
    used, has, runs = _mapped(mapped["stat.json"]), DEVICES[device], []
    if all(used[name] <= has[name] for name in _BELS):
        for seed in range(1, seeds + 1):
            report(progress, stage, seed - 1, seeds)
            outcome = nextpnr.run(mapped["net.json"], [
                _OPTIONS[device], "--speed", str(speed), "--seed", str(seed), "--freq", str(_TARGET_MHZ),
                "--timing-allow-fail", "--lpf-allow-unconstrained"], f"place and route of {top} on {device}-{speed}")
            used = resources(outcome, "used")
            runs.append({"seed": seed, **read_run(outcome, f"{part}." if part else "")})
        report(progress, stage, seeds, seeds)
    used["luts"] -= sum(each.luts for each in others)
    used["flip_flops"] -= sum(each.flip_flops for each in others)
    return {"name": top, "device": device, "speed": speed, "yosys": yosys.version, "nextpnr": nextpnr.version,
            "used": used, "available": has, "runs": [{key: run[key] for key in ("seed", "mhz")} for run in runs],
            "best": max(runs, key=lambda run: run["mhz"], default=None),
            "median_mhz": median_low(run["mhz"] for run in runs) if runs else None}


def resources(outcome: Report, what: str) -> dict[str, int]:
    """Resources ``used`` or ``available``, as nextpnr's report says."""
    return {name: outcome["utilization"].get(bel, {}).get(what, 0) for name, bel in _BELS.items()}


def _mapped(stat: str) -> dict[str, int]:
    """Resources of a design after synthesis; placement adds a few LUTs for routes."""
    counts: Counter[str] = Counter()
    for module in json.loads(stat)["modules"].values():
        counts.update(module["num_cells_by_type"])
    luts = sum(counts[cell] * number for cell, number in FPGA["ecp5"].luts.items())
    return {"luts": luts} | {name: counts[bel] for name, bel in _BELS.items() if name != "luts"}


def read_run(outcome: Report, below: str = "") -> dict[str, Any]:
    """The clock, ``mhz``, and the slowest ``path`` in a report of nextpnr; only those within the clock's domain count.

    The path has its ``ns``; ``start`` and ``end``, behind the names ``below``; ``levels``, the look-up tables, carries
    and multiplexers on the way; the part of it that is wires, ``routing_ns``; and its ``stages``: ``kind``
    (``clk-to-q``, ``routing``, ``logic`` or ``setup``), ``ns``, and where it leads, a net for ``routing``, else a cell.

    Raises
    ------
    NextpnrError
        If the report has no path from register to register.
    """
    paths = [path for path in outcome["critical_paths"] if path["from"] == path["to"] != "<async>"]
    if not paths or not outcome["fmax"]:
        raise NextpnrError("nextpnr reports no path from register to register")
    mhz = min(clock["achieved"] for clock in outcome["fmax"].values())
    steps = max((path["path"] for path in paths), key=lambda path: sum(step["delay"] for step in path))
    return {"mhz": round(mhz, 1), "path": {
        "ns": round(sum(step["delay"] for step in steps), 3),
        "start": f"{below}{_plain(steps[0]['from']['cell'])}", "end": f"{below}{_plain(steps[-1]['to']['cell'])}",
        "levels": sum(step["type"] == "logic" for step in steps),
        "routing_ns": round(sum(step["delay"] for step in steps if step["type"] == "routing"), 3),
        "stages": [{"kind": step["type"], "ns": round(step["delay"], 3),
                    "name": _plain(step["net"] if step["type"] == "routing" else step["to"]["cell"])}
                   for step in steps]}}


def place_units(config: EngineConfig, *, device: str = "LFE5U-85F", speed: int = 8, seeds: int = 1,
                progress: Progress | None = None) -> dict[str, Any]:
    """Place each unit of an engine on a separate ECP5.

    Parameters
    ----------
    config : EngineConfig
        Which engine.
    device, speed, seeds, progress
        As for :func:`place`.

    Returns
    -------
    dict
        What was placed, where and by what; the ``units``, each with the resources ``used`` by all its ``instances`` and
        the runs of its slowest part; and the ``total`` of resources, without optimisation across borders.

    Raises
    ------
    ValueError
        As for :func:`place`.
    """
    design = Design.of(config, progress)
    parts = each_part(design, config.lanes, f"placing and routing {config.name} on {device}-{speed}", progress,
                      lambda part, cut: place(design, part, cut, device=device, speed=speed, seeds=seeds))
    units = []
    for unit in dict.fromkeys(unit for unit, *_ in parts):
        own = [(number, placed) for of, _, number, placed in parts if of == unit]
        slowest = min((placed for _, placed in own), key=lambda placed: placed["best"]["mhz"] if placed["best"] else 0)
        units.append({"name": unit, "instances": max(number for number, _ in own),
                      "used": _sum(placed["used"] for number, placed in own for _ in range(number)),
                      **{key: slowest[key] for key in ("runs", "best", "median_mhz")}})
    first = parts[0][-1]
    return {"name": config.name, **{key: first[key] for key in ("device", "speed", "yosys", "nextpnr", "available")},
            "units": units, "total": _sum(unit["used"] for unit in units)}


def _sum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    listed = list(parts)
    return {name: sum(part[name] for part in listed) for name in listed[0]}


_CELL = re.compile(r"(_(TRELLIS_FF|TRELLIS_DPR16X4|DP16KD|MULT18X18D|LUT4|CCU2C|PFUMX|L6MUX21)(_[A-Z][A-Z0-9]*)?(_\d+)?"
                   r"(?![A-Za-z]))+.*$")


_HARNESS = re.compile(rf"^{INSTANCE}\.|\b({'|'.join(CHAINS)})\.")


def _plain(name: str) -> str:
    """A name without the harness, and without what tools append to the design's names."""
    return _CELL.sub("", _HARNESS.sub("", name))
