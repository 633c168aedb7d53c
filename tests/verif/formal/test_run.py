"""The runner finds what is wrong with both solvers, says where, refuses what shows nothing, and keeps results only
while they hold; the SAT solver's circuit is read and unrolled rightly."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Mux, Signal

from cdma.__main__ import main
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof, ProofResult
from cdma.verif.formal.run import choose, run
from cdma.verif.formal.sat import Circuit, Network, read, unrolled


def _proof(harness: Any, depth: int = 8, coverage: str = "a few transfers", **others: Any) -> Proof:
    return Proof("trial", "hdl/common/skid.py", harness, depth=depth, coverage=coverage, **others)


def _counter(h: Harness, limit: int, covered: int, wraps: int = 10, steps: bool = True) -> None:
    count, step = Signal(4, name="count"), h.free(1, "step")
    h.m.d.sync += count.eq(Mux(count == wraps - 1, 0, count + step))
    if not steps:
        h.assume("no_step", ~step)
    h.check("below_limit", count < limit)
    h.cover("is_reached", count == covered)


def _counts(limit: int, covered: int, depth: int = 8, steps: bool = True, **others: Any) -> Proof:
    return _proof(_counter, depth, parameters={"limit": limit, "covered": covered, "steps": steps}, **others)


def _unknown(h: Harness, initial: bool) -> None:
    """What a register without a reset holds at power-up is free, and stays, whatever its initial value is."""
    kept, unset = h.fixed(4, "kept"), Signal(4, reset_less=True, init=3)
    h.m.d.sync += unset.eq(unset)
    h.check("stays", h.past(kept, "kept") == Mux(h.past(h.begun, "begun"), kept, 0))
    h.cover("any_value", kept == 11)
    h.check("is_known", (unset == 3) if initial else (kept != 5))


def _names(result: ProofResult) -> list[str]:
    return [name.split(" (")[0] for name in result.violated]


@pytest.mark.parametrize("solver", ["smt", "sat"])
@pytest.mark.parametrize(("limit", "covered", "steps", "outcome", "step"), [
    (10, 7, True, "passed", None), (3, 1, True, "failed", 4), (10, 12, True, "vacuous", None),
    (1, 1, False, "vacuous", None)])
def test_the_solvers_agree(solver: str, limit: int, covered: int, steps: bool, outcome: str, step: int | None,
                           tmp_path: Path) -> None:
    result = run(_counts(limit, covered, 12, steps, solver=solver), tmp_path)
    assert (result.outcome, result.step) == (outcome, step)
    assert _names(result) == (["below_limit"] if outcome == "failed" else [])
    assert result.missed == (("is_reached",) if outcome == "vacuous" else ())
    assert all("test_run.py" in line for line in result.violated) and all(name in result.message for name in (
        *result.missed, *result.violated))
    assert bool(result.trace) == (outcome == "failed") and (not result.trace or Path(result.trace).is_file())
    assert ("waves in" in result.message) == bool(result.trace)


@pytest.mark.parametrize("solver", ["smt", "sat"])
@pytest.mark.parametrize("initial", [True, False])
def test_registers_power_up_with_any_value(solver: str, initial: bool, tmp_path: Path) -> None:
    result = run(_proof(_unknown, 4, solver=solver, parameters={"initial": initial}), tmp_path)
    assert result.outcome == "failed" and _names(result) == ["is_known"]


@pytest.mark.parametrize(("claim", "said"), [("check", "needs a cover"), ("cover", "needs an assertion")])
def test_a_proof_without_covers_or_assertions_is_refused(claim: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        run(_proof(lambda h: getattr(h, claim)("one", h.free(1, "one"))), tmp_path)


@pytest.mark.parametrize(("limit", "depth", "outcome", "said"), [
    # Counts 10 to 14 are never reached, and lead to 15.
    (15, 2, "inconclusive", "not inductive"), (10, 1, "passed", "")])
def test_induction(limit: int, depth: int, outcome: str, said: str, tmp_path: Path) -> None:
    result = run(_counts(limit, 9, depth, coverage="", cover_depth=12), tmp_path)
    assert result.outcome == outcome and said in result.message


@pytest.mark.parametrize("solver", ["smt", "sat"])
def test_registers_are_no_logic_without_registers(solver: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Yosys refused the netlist"):
        run(_counts(10, 1, 0, coverage="", solver=solver), tmp_path)


def test_a_proof_for_all_runs_cannot_ask_the_sat_solver() -> None:
    with pytest.raises(ValueError, match="sat is not for induction"):
        _counts(10, 1, coverage="", solver="sat")


def test_a_result_is_kept_while_the_netlist_does_not_change(tmp_path: Path) -> None:
    first, again, changed = (run(_counts(limit, 1, 12), tmp_path) for limit in (10, 10, 9))
    assert not first.cached and again.cached and first.seconds == again.seconds
    assert changed.outcome == "failed" and not changed.cached


def test_shards_have_every_proof_once() -> None:
    shards = [[proof.name for proof in choose(shard=(index, 3))] for index in (1, 2, 3)]
    assert sorted(name for shard in shards for name in shard) == sorted(proof.name for proof in choose())


@pytest.mark.parametrize(("names", "which", "shard"), [(["nothing"], "all", (1, 1)), ([], "some", (1, 1)),
                                                       ([], "all", (3, 2)), (["skid"], "deep", (1, 1))])
def test_wrong_choices_are_refused(names: list[str], which: str, shard: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"must be|there is no proof|none of these proofs is deep"):
        choose(names, which, shard)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "skid", "--build-dir", str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["passed"] and [result["name"] for result in report["results"]] == ["skid"]
    assert main(["prove", "skid", "spare", "--build-dir", str(tmp_path)]) == 0
    assert "2 of 2 proved" in capsys.readouterr().out
    assert main(["prove", "--list", "--depth", "shallow"]) == 0
    assert "skid" in capsys.readouterr().out
    assert main(["prove", "lane_splitter", "spare", "--engine", "tiny", "--build-dir", str(tmp_path)]) == 0
    assert "1 with parameters of the configuration: lane_splitter\n" in capsys.readouterr().out
    assert main(["prove", "--engine", "block_compressor"]) == 2
    assert main(["prove", "nothing"]) == 2
    assert "cdma prove --list" in capsys.readouterr().err
    assert main(["prove", "--list", "--again"]) == 2
    assert "--list proves nothing: leave --again out" in capsys.readouterr().err


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
