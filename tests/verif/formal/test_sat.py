"""Proofs by the SAT solver: the circuit is read and unrolled rightly, and it says what the SMT solver says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from amaranth.hdl import Mux, Signal

from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.run import run
from cdma.verif.formal.sat import Circuit, Network, read, unrolled


def _counter(limit: int, covered: int, steps: bool = True) -> Harness:
    h = Harness()
    count = Signal(4, name="count")
    step = h.free(1, "step")
    h.m.d.sync += count.eq(Mux(count == 9, 0, count + step))
    if not steps:
        h.assume("no_step", ~step)
    h.check("below_limit", count < limit)
    h.cover("is_reached", count == covered)
    return h


def _memory() -> Harness:
    """What a register without a reset holds at power-up is free, and stays."""
    h = Harness()
    kept = h.fixed(4, "kept")
    h.check("stays", h.past(kept, "kept") == Mux(h.past(h.begun, "begun"), kept, 0))
    h.cover("any_value", kept == 11)
    h.check("is_known", kept != 5)
    return h


@pytest.mark.parametrize("solver", ["smt", "sat"])
@pytest.mark.parametrize(("limit", "covered", "steps", "outcome", "step"), [
    (10, 7, True, "passed", None), (3, 1, True, "failed", 4), (10, 12, True, "vacuous", None),
    (1, 1, False, "vacuous", None)])
def test_the_solvers_agree(solver: str, limit: int, covered: int, steps: bool, outcome: str, step: int | None,
                           tmp_path: Path) -> None:
    proof = Proof("trial", "hdl/common/skid.py", "Something holds.", lambda: _counter(limit, covered, steps),
                  "bounded", 12, coverage="some steps", solver=solver)
    result = run(proof, tmp_path)
    assert (result.outcome, result.step) == (outcome, step)
    assert [name.split(" (")[0] for name in result.violated] == (["below_limit"] if outcome == "failed" else [])
    assert bool(result.trace) == (outcome == "failed")


def test_registers_power_up_with_any_value(tmp_path: Path) -> None:
    proof = Proof("trial", "hdl/common/skid.py", "Something holds.", _memory, "bounded", 4, coverage="4 cycles",
                  solver="sat")
    result = run(proof, tmp_path)
    assert result.outcome == "failed" and [name.split(" (")[0] for name in result.violated] == ["is_known"]


def test_a_proof_for_all_runs_cannot_ask_the_sat_solver() -> None:
    with pytest.raises(ValueError, match="sat not for induction"):
        Proof("trial", "hdl/common/skid.py", "Something holds.", _memory, "induction", solver="sat")


def test_a_proof_for_all_inputs_must_have_no_registers(tmp_path: Path) -> None:
    proof = Proof("trial", "hdl/common/skid.py", "Something holds.", _memory, "equivalence", solver="sat")
    with pytest.raises(ValueError, match="Yosys refused the netlist"):
        run(proof, tmp_path)


def _random_circuit(choice: random.Random) -> Circuit:
    inputs, registers, gates = 3, 4, 60
    pairs = [(choice.randrange(2 * (1 + inputs + registers + gate)),
              choice.randrange(2 * (1 + inputs + registers + gate))) for gate in range(gates)]
    literals = 2 * (1 + inputs + registers + gates)
    return Circuit(inputs, [choice.randrange(literals) for _ in range(registers)], pairs,
                   {f"assert_{number}": choice.randrange(literals) for number in range(6)})


def _values(network: Network, free: dict[int, int]) -> list[int]:
    values: list[int] = []
    for variable, gate in enumerate(network.gates):
        if gate is None:
            values.append(free.get(variable, 0))
        else:
            one, other = gate
            values.append((values[one >> 1] ^ (one & 1)) & (values[other >> 1] ^ (other & 1)))
    return values


@pytest.mark.parametrize("seed", range(40))
def test_an_unrolled_circuit_is_the_circuit(seed: int) -> None:
    choice = random.Random(seed)
    circuit, network = _random_circuit(choice), Network()
    cycles, state, free = unrolled(circuit, network), [0] * len(circuit.registers), dict[int, int]()
    for _ in range(4):
        first = len(network.gates)
        shown = next(cycles)
        given = [choice.randrange(2) for _ in range(circuit.inputs)]
        free |= {first + number: value for number, value in enumerate(given)}
        values = [0, *given, *state]
        for one, other in circuit.gates:
            values.append((values[one >> 1] ^ (one & 1)) & (values[other >> 1] ^ (other & 1)))
        state = [values[literal >> 1] ^ (literal & 1) for literal in circuit.registers]
        found = _values(network, free)
        for name, literal in circuit.outputs.items():
            assert found[shown[name] >> 1] ^ (shown[name] & 1) == values[literal >> 1] ^ (literal & 1)


def test_a_file_is_read(tmp_path: Path) -> None:
    # One input, a register that takes it, and a gate of both.
    file = tmp_path / "small.aag"
    file.write_text("aag 3 1 1 1 1\n2\n4 2\n6\n6 4 2\ni0 given\nl0 kept\no0 assert_both\nc\nmade by hand\n")
    assert read(file) == Circuit(1, [2], [(4, 2)], {"assert_both": 6})


@pytest.mark.parametrize("content", ["aag 1 0 1 1 0\n2 2 1\n2\no0 x\n", "aag 1 1 0 1 0\n2\n2\n"])
def test_registers_begin_with_0_and_outputs_have_names(content: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.aag"
    file.write_text(content)
    with pytest.raises(ValueError, match=r"unpack|name of its own"):
        read(file)
