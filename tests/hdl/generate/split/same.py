"""Whether two Verilog texts describe the same circuit, whatever its parts are called and however it is divided.

Both texts become flat netlists of gates, registers and memories. Every signal gets a colour that says
how it is computed: a gate's is made of those of its inputs. Registers and memories begin with one colour, and get
finer ones, made of what they load, until no class of equal ones is divided any further. If then all outputs have the
same colours in both circuits, and each colour is there as often among the registers, the circuits have the same
outputs whenever their registers of equal colours have equal values: they are bisimilar.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cdma.synth.tools import yosys

__all__ = ["difference"]

_SCRIPT = ("read_verilog circuit.v; hierarchy -check -top {top}; proc; flatten; opt_expr; opt_clean -purge; "
           "memory_collect; wreduce; opt_clean -purge; techmap; simplemap; opt_expr; opt_clean; "
           "write_json circuit.json")
"""Nothing that chooses between forms, as ABC does: what is the same comes out in the same form."""

Bit = int | str
"""A signal of a netlist by its number, or a constant."""


@dataclass
class _Cell:
    """A gate, register or memory: what it is, and its signals by port."""

    kind: str
    inputs: list[Bit]
    outputs: list[Bit]


@dataclass
class _Circuit:
    """A flat netlist: gates, each behind those that it depends on; registers and memories; ports by name."""

    gates: list[_Cell]
    states: list[_Cell]
    inputs: dict[str, list[Bit]]
    outputs: dict[str, list[Bit]]


def difference(first: str, second: str, top: str) -> str | None:
    """What differs between two circuits, or None if they are the same.

    Parameters
    ----------
    first, second : str
        Verilog.
    top : str
        Name of the top in both.
    """
    circuits = [_circuit(text, top) for text in (first, second)]
    for ports in ("inputs", "outputs"):
        widths = [{name: len(bits) for name, bits in getattr(each, ports).items()} for each in circuits]
        if widths[0] != widths[1]:
            return f"the {ports} are not the same"
    colours = [[0] * len(each.states) for each in circuits]
    classes = 0
    while True:
        signals = [_signals(each, own) for each, own in zip(circuits, colours, strict=True)]
        colours = [[hash((own, cell.kind, *(of[bit] for bit in cell.inputs)))
                    for cell, own in zip(each.states, before, strict=True)]
                   for each, of, before in zip(circuits, signals, colours, strict=True)]
        if Counter(colours[0]) != Counter(colours[1]):
            return f"registers or memories differ: {len(colours[0])} and {len(colours[1])} of them"
        if len(set(colours[0])) == classes:
            break
        classes = len(set(colours[0]))
    for name, bits in circuits[0].outputs.items():
        other = circuits[1].outputs[name]
        if [signals[0][bit] for bit in bits] != [signals[1][bit] for bit in other]:
            return f"the output {name} is computed in another way"
    return None


def _signals(circuit: _Circuit, states: list[int]) -> dict[Bit, int]:
    """The colour of every signal, from those of registers and memories."""
    colours: dict[Bit, int] = {"0": hash("0"), "1": ~hash("0"), "x": hash("x")}
    for name, bits in circuit.inputs.items():
        colours |= {bit: hash((name, place)) for place, bit in enumerate(bits)}
    for cell, state in zip(circuit.states, states, strict=True):
        colours |= {bit: hash((cell.kind, state, place)) for place, bit in enumerate(cell.outputs)}
    for gate in circuit.gates:
        colours[gate.outputs[0]] = _GATES[gate.kind](*(colours[bit] for bit in gate.inputs))
    return colours


def _and(a: int, b: int) -> int:
    return a if a == b else hash(("and", min(a, b), max(a, b)))


def _xor(a: int, b: int) -> int:
    first, second = sorted((max(a, ~a), max(b, ~b)))
    colour = hash(("xor", first, second))
    return ~colour if (a < 0) != (b < 0) else colour


def _choice(a: int, b: int, select: int) -> int:
    first, second = (a, b) if select >= 0 else (b, a)
    return a if a == b else hash(("choice", first, second, max(select, ~select)))


_GATES = {
    "$_NOT_": lambda a: ~a, "$_BUF_": lambda a: a, "$_AND_": _and, "$_OR_": lambda a, b: ~_and(~a, ~b),
    "$_NAND_": lambda a, b: ~_and(a, b), "$_NOR_": lambda a, b: _and(~a, ~b), "$_XOR_": _xor,
    "$_XNOR_": lambda a, b: ~_xor(a, b), "$_ANDNOT_": lambda a, b: _and(a, ~b), "$_ORNOT_": lambda a, b: ~_and(~a, b),
    "$_MUX_": _choice,
}
"""The colour of a gate's output from those of its inputs, which Yosys names in alphabetical order. The colour of an
inverted signal is the complement, so that it does not matter where inverters are; nor does the order of inputs."""


def _circuit(text: str, top: str) -> _Circuit:
    script = _SCRIPT.format(top=top)
    netlist = yosys.find().run(script, {"circuit.v": text}, ["circuit.json"], f"the netlist of {top}")["circuit.json"]
    module = json.loads(netlist)["modules"][top]
    cells = [_cell(facts) for facts in module["cells"].values()]
    gates = {cell.outputs[0]: cell for cell in cells if cell.kind in _GATES}
    ports = {direction: {name: port["bits"] for name, port in module["ports"].items() if port["direction"] == direction}
             for direction in ("input", "output")}
    return _Circuit(list(_sorted(gates)), [cell for cell in cells if cell.kind not in _GATES],
                    ports["input"], ports["output"])


def _cell(facts: dict[str, Any]) -> _Cell:
    directions = facts["port_directions"]
    bits = {direction: [bit for port in sorted(facts["connections"]) if directions[port] == direction
                        for bit in facts["connections"][port]] for direction in ("input", "output")}
    parameters = {key: value for key, value in facts["parameters"].items() if key != "MEMID"}
    return _Cell(facts["type"] + (json.dumps(parameters, sort_keys=True) if parameters else ""), bits["input"],
                 bits["output"])


def _sorted(gates: dict[Bit, _Cell]) -> Iterator[_Cell]:
    """Gates, each behind those that it depends on."""
    done: set[Bit] = set()
    for start in gates:
        stack = [start]
        while stack:
            bit = stack[-1]
            if bit in done:
                stack.pop()
            elif missing := [each for each in gates[bit].inputs if each in gates and each not in done]:
                stack += missing
            else:
                done.add(stack.pop())
                yield gates[bit]
