"""The clock of a design on an FPGA of AMD, estimated: levels of logic in the netlist, and a delay for each step.

Nothing is placed. A net takes a time that grows with the number of its readers, wherever they are. Registers stand at
the ports, so that paths from inputs and to outputs count too. What an implementation reaches can differ by a fifth and
more: the estimate is there to find the paths that are too long, and to compare one netlist with another.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cdma.hdl.config.catalog import Design as Config
from cdma.synth.area.rows import TOTAL, row
from cdma.synth.cells.fpga import FPGA
from cdma.synth.tools import scripts
from cdma.synth.tools.netlist import net_names
from cdma.synth.tools.yosys import Progress, find, report
from cdma.synth.units.division import lane_roots
from cdma.synth.units.hierarchy import Design

__all__ = ["FAMILIES", "TARGET_NS", "Delays", "analyse", "estimate"]

TARGET_NS = 4.0
"""Paths that are longer are named: 250 MHz, the user clock of PCI Express."""


@dataclass(frozen=True)
class Delays:
    """Delays of a family, in ns.

    Parameters
    ----------
    output, setup : float
        A flip-flop: from the clock to its output, and set-up of its data, enable and reset.
    lut, mux : float
        A look-up table, and a wide multiplexer behind it.
    net, fan_out : float
        A net with one reader, and what each doubling of the readers adds.
    carry, carry_bit : float
        Into a carry chain, and from one bit of it to the next.
    block_ram, block_ram_register, block_ram_setup : float
        Block RAM: from the clock to the data that is read, the same where a register follows that can be its own, and
        set-up of all inputs.
    lut_ram, lut_ram_output, lut_ram_setup : float
        RAMs and shift registers in look-up tables: from an address to the data, from the clock to the data, and set-up
        of what is written.
    """

    output: float
    setup: float
    lut: float
    mux: float
    net: float
    fan_out: float
    carry: float
    carry_bit: float
    block_ram: float
    block_ram_register: float
    block_ram_setup: float
    lut_ram: float
    lut_ram_output: float
    lut_ram_setup: float


FAMILIES = {
    "ultrascale+": Delays(
        output=0.08, setup=0.05, lut=0.10, mux=0.07, net=0.22, fan_out=0.045, carry=0.12, carry_bit=0.012,
        block_ram=1.00, block_ram_register=0.30, block_ram_setup=0.30, lut_ram=0.12, lut_ram_output=0.43,
        lut_ram_setup=0.10),
    "xilinx7": Delays(
        output=0.40, setup=0.05, lut=0.12, mux=0.20, net=0.48, fan_out=0.10, carry=0.40, carry_bit=0.025,
        block_ram=2.10, block_ram_register=0.70, block_ram_setup=0.45, lut_ram=0.15, lut_ram_output=0.75,
        lut_ram_setup=0.30),
}
"""The families, by target: round figures of a middle speed grade, with wires as in a design that fills half of a part.
Those of ``ultrascale+`` are about 0.5 ns for a level of logic, those of ``xilinx7`` about 0.85 ns."""


def estimate(config: Config | Design, target: str, progress: Progress | None = None) -> dict[str, Any]:
    """Map a design to an FPGA, flat, for the delays of its family, and estimate its clock.

    Of an engine's lanes the first one stands for all: it is mapped with the rest of the engine, and by itself for the
    area of the others.

    Parameters
    ----------
    config : configuration or Design
        The design.
    target : str
        One of :data:`FAMILIES`.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    dict
        ``name``, ``target``, ``yosys``, the ``delays`` in ns; ``luts`` (those of RAMs and shift registers too),
        ``flip_flops``, and the primitives that are ``rams`` and ``shift_registers``; and what :func:`analyse` finds.

    Raises
    ------
    ValueError
        If there is no such target, or no Yosys that is new enough.
    """
    if target not in FAMILIES:
        raise ValueError(f"target must be one of {', '.join(FAMILIES)}, not {target!r}")
    yosys = find(progress)
    design = Design.of(config, progress)
    roots = design.paths()

    def mapped(root: str, cut: Collection[str] = ()) -> tuple[Counter[str], dict[str, Any]]:
        top = roots[root]
        about = f"synthesis of {top} for {target}"
        report(progress, about)
        made = yosys.run(scripts.fpga_script(top, True, target, netlist=True, delays=True),
                         {"design.v": design.part(top, cut), "luts.v": _luts(FAMILIES[target])},
                         ["stat.json", "net.json"], about)
        counts = {name.lstrip("\\"): found for name, found in json.loads(made["stat.json"])["modules"].items()}
        return Counter(counts[top]["num_cells_by_type"]), json.loads(made["net.json"])["modules"][top]

    # Whatever the design, it has fewer lanes than modules.
    others = [root for root in lane_roots(range(1, len(roots))) if root in roots]
    counts, netlist = mapped("", {roots[root] for root in others})
    for root in lane_roots([0]):
        if more := sum(other.startswith(root[:-1]) for other in others):
            counts.update({cell: more * number for cell, number in mapped(root)[0].items()})
    fpga, total = FPGA[target], row(TOTAL, counts, target, None)
    return {"name": design.top, "target": target, "yosys": yosys.version, "delays": asdict(FAMILIES[target]),
            "luts": total["luts"], "flip_flops": total["flip_flops"],
            "rams": {cell: counts[cell] for cell in (*fpga.block_rams, *fpga.distributed_rams) if cell in counts},
            "shift_registers": sum(number for cell, number in counts.items() if cell.startswith("SRL")),
            **analyse(netlist, FAMILIES[target])}


def _luts(delays: Delays) -> str:
    """LUTs for Yosys' mapper, in Verilog, with these delays in ps, and areas as in its own library. Those of 7 and 8
    inputs are LUTs behind wide multiplexers, whose selections are the last inputs."""
    text = ""
    for inputs, area in enumerate((1, 2, 3, 3, 3, 5, 10, 20), start=1):
        muxes = max(0, inputs - 6)
        ns = [delays.lut + muxes * delays.mux if pin < 6 else (inputs - pin) * delays.mux for pin in range(inputs)]
        name, pins = f"\\$__ABC9_LUT{inputs} " if muxes else f"LUT{inputs}", [f"I{pin}" for pin in range(inputs)]
        paths = "".join(f" ({pin} => O) = {1000 * delay:.0f};" for pin, delay in zip(pins, ns, strict=True))
        text += (f"(* abc9_lut={area} *)\nmodule {name}(output O, input {', '.join(pins)});\n"
                 f"  parameter [{2 ** inputs - 1}:0] INIT = 0;\n  specify{paths} endspecify\nendmodule\n")
    return text


def analyse(module: Mapping[str, Any], delays: Delays) -> dict[str, Any]:
    """The slowest paths of a flat netlist.

    Parameters
    ----------
    module : mapping
        The module as Yosys writes it in JSON.
    delays : Delays
        Of the family.

    Returns
    -------
    dict
        The ``path`` that is slowest with its ``ns``, ``levels``, ``start`` and ``end``, None if there is none, and its
        ``mhz``; the most ``levels`` of any path; the number of ``ends``, and how many are ``over`` the limit,
        ``over_ns``; and these in ``groups`` by the units in which they start and end, worst first, each with its number
        of ``ends`` and its slowest path. Levels are look-up tables, carry chains and selections of wide multiplexers.
    """
    paths = sorted(_Paths(module, delays).all(), key=lambda path: -path["ns"])
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for path in paths:
        if path["ns"] > TARGET_NS:
            group = groups.setdefault((_unit(path["start"]), _unit(path["end"])), {**path, "ends": 0})
            group["ends"] += 1
    worst = paths[0] if paths else None
    return {"path": worst, "mhz": round(1000 / worst["ns"], 1) if worst else None,
            "levels": max((path["levels"] for path in paths), default=0), "ends": len(paths), "over_ns": TARGET_NS,
            "over": sum(group["ends"] for group in groups.values()), "groups": list(groups.values())}


def _unit(name: str) -> str:
    """Where a register is: its path without itself; lanes alike, and without the numbers that keep names apart."""
    return re.sub(r"\$\d+", "", re.sub(r"lane\d+", "lane*", name.rpartition(".")[0]))


_KINDS = {kind: re.compile(pattern) for kind, pattern in {
    "register": r"FD[RSCP]E", "block": r"RAMB|URAM|DSP", "ram": r"RAM\d", "shift": r"SRL", "carry": r"CARRY",
    "mux": r"MUXF", "lut": r"LUT", "wire": r"INV|BUF"}.items()}

_CLOCK = re.compile(r"C|W?CLK|CLK[AB]\w*")

_ENDS = {"register": re.compile("D|CE|R|S|CLR|PRE"), "block": re.compile(".*"),
         # The last address of a RAM with several is that of its write port.
         "ram": re.compile(r"D|DI\w*|WE|A\d*|ADDR[DH]"), "shift": re.compile("D|CE")}


class _Paths:
    """Arrival times of a module's nets: ns, levels, and the net before on the slowest way; None at its start."""

    def __init__(self, module: Mapping[str, Any], delays: Delays) -> None:
        self.delays, self.cells, self.names = delays, {}, net_names(module["netnames"])
        self.driver: dict[int, tuple[str, str, int]] = {}
        self.driven: dict[str, int | None] = {}
        self.readers: dict[Any, list[tuple[str, str]]] = {}
        for name, cell in module["cells"].items():
            kind = next((kind for kind, pattern in _KINDS.items() if pattern.match(cell["type"])), None)
            if kind is None:
                continue
            pins: dict[str, list[Any]] = {}
            self.cells[name] = kind, cell["type"], pins
            for pin, bits in cell["connections"].items():
                if cell["port_directions"][pin] == "output":
                    nets = {bit: (name, pin, index) for index, bit in enumerate(bits) if isinstance(bit, int)}
                    self.driver |= nets
                    self.driven[name] = next(iter(nets), None)
                elif not _CLOCK.fullmatch(pin):
                    pins[pin] = bits
                    for bit in bits:
                        self.readers.setdefault(bit, []).append((name, pin))
        self.outputs = [bit for port in module["ports"].values() if port["direction"] == "output"
                        for bit in port["bits"] if isinstance(bit, int)]
        for bit in self.outputs:
            self.readers.setdefault(bit, []).append(("", ""))
        self.arrivals: dict[int, tuple[float, int, int | None]] = {}

    def all(self) -> Iterator[dict[str, Any]]:
        """The slowest path to each end."""
        for name, (kind, _, pins) in self.cells.items():
            setup = {"register": self.delays.setup, "block": self.delays.block_ram_setup}.get(
                kind, self.delays.lut_ram_setup)
            for pin, bits in pins.items():
                if kind in _ENDS and _ENDS[kind].fullmatch(pin):
                    yield from (self._path(bit, name, setup) for bit in bits if isinstance(bit, int))
        yield from (self._path(bit, "", self.delays.setup) for bit in self.outputs)

    def _path(self, bit: int, end: str, setup: float) -> dict[str, Any]:
        ns, levels, _ = self._arrival(bit)
        first: int = bit
        while (before := self.arrivals[first][2]) is not None:
            first = before
        start = self.driver.get(first, ("",))[0]
        return {"ns": round(ns + self._net(bit) + setup, 3), "levels": levels,
                "start": self._name(start, first), "end": self._name(end, bit)}

    def _name(self, cell: str, net: int) -> str:
        """A register by the net that it drives, a memory by its own name, a port by its net."""
        if cell and self.cells[cell][0] != "register":
            return re.sub(r"(\.\d+)+$", "", cell)
        return self.names.get((self.driven[cell] or net) if cell else net, cell)

    def _net(self, bit: int) -> float:
        return self.delays.net + self.delays.fan_out * math.log2(max(1, len(self.readers.get(bit, ()))))

    def _arrival(self, bit: int) -> tuple[float, int, int | None]:
        stack = [bit]
        while stack:
            net = stack[-1]
            arcs = [] if net in self.arrivals else list(self._arcs(net))
            waits = [before for before, *_ in arcs if before not in self.arrivals]
            if waits:
                stack += waits
                continue
            stack.pop()
            if net not in self.arrivals:
                came = [(self.arrivals[before][0] + delay + self._net(before) * wired,
                         self.arrivals[before][1] + levels, before) for before, delay, levels, wired in arcs]
                self.arrivals[net] = max([(self._begins(net), 0, None), *came], key=lambda way: way[0])
        return self.arrivals[bit]

    def _begins(self, net: int) -> float:
        """When a net changes that a register drives, or a port or a memory; 0 for one that logic drives."""
        kind = self.cells[self.driver[net][0]][0] if net in self.driver else "register"
        if kind == "block":
            own = all(cell and self.cells[cell][0] == "register" and pin == "D" for cell, pin in self.readers[net])
            return self.delays.block_ram_register if own and len(self.readers[net]) == 1 else self.delays.block_ram
        return {"register": self.delays.output, "ram": self.delays.lut_ram_output,
                "shift": self.delays.lut_ram_output}.get(kind, 0.0)

    def _arcs(self, net: int) -> Iterator[tuple[int, float, int, bool]]:
        """What a net follows within a cycle: the net before, the delay, the levels, and whether there is a wire."""
        if net not in self.driver:
            return
        name, out, place = self.driver[net]
        kind, _, pins = self.cells[name]
        for pin, bits in pins.items():
            for index, bit in enumerate(bits):
                if isinstance(bit, int) and (arc := self._arc(kind, pin, index, out, place, bit)):
                    yield bit, *arc

    def _arc(self, kind: str, pin: str, index: int, out: str, place: int, bit: int) -> tuple[float, int, bool] | None:
        given = self.delays
        if kind == "lut":
            return given.lut, 1, True
        if kind == "wire":
            return 0.0, 0, False
        if kind == "mux":
            return given.mux, int(pin == "S"), pin == "S"
        if kind == "carry" and pin in ("S", "DI"):
            return (given.carry + given.carry_bit * (place - index), 1, True) if index <= place else None
        if kind == "carry":
            chained = bit in self.driver and self.cells[self.driver[bit][0]][0] == "carry"
            return given.carry_bit * (place + 1), 0, not chained
        address = {"DPO": r"DPRA\d*", "SPO": r"A\d*", "O": r"A\d*", "Q": r"A\d*", "Q15": "", "Q31": ""}.get(
            out, f"ADDR{out[-1]}")
        if kind in ("ram", "shift") and re.fullmatch(address, pin):
            return given.lut_ram, 1, True
        return None
