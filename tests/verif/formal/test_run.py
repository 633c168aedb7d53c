"""The runner finds what is wrong, says where, refuses what shows nothing, and keeps results only while they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Shape, Signal, Value

from cdma.__main__ import main
from cdma.hdl.common.skid import Skid
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs import buffers
from cdma.verif.formal.run import choose, run


class OverwritingSkid(Skid):
    """A skid buffer whose spare place is written while it is full."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = Shape.cast(self._shape).width
        output = Signal(width, reset_less=True)
        spare = Signal(width, reset_less=True)
        held = Signal()
        full = Signal()
        incoming = Value.cast(self.i.payload)
        m.d.comb += [self.i.ready.eq(~full), self.o.valid.eq(held), Value.cast(self.o.payload).eq(output)]
        with m.If(self.o.ready | ~held):
            m.d.sync += [held.eq(self.i.valid | full), full.eq(0), output.eq(Mux(full, spare, incoming))]
        with m.Else():
            m.d.sync += full.eq(full | self.i.valid)
        m.d.sync += spare.eq(incoming)
        return m


def _proof(build: Any, mode: str = "bounded", depth: int = 8, **others: Any) -> Proof:
    coverage = "a few transfers" if mode == "bounded" else ""
    return Proof("trial", "hdl/common/skid.py", "Something holds.", build, mode, depth, coverage=coverage, **others)


def _counter(limit: int, covered: int, wraps: int = 10) -> Harness:
    h = Harness()
    count = Signal(4, name="count")
    h.m.d.sync += count.eq(Mux(count == wraps - 1, 0, count + h.free(1, "step")))
    h.check("below_limit", count < limit)
    h.cover("is_reached", count == covered)
    return h


def test_a_broken_component_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(buffers, "Skid", OverwritingSkid)
    skid, = choose(["skid"])
    result = run(skid, tmp_path)
    assert result.outcome == "failed"
    assert result.violated[0].split(" (")[0] in ("watched_is_stored", "watched_payload")
    assert "buffers.py:" in result.violated[0]
    assert result.step is not None and Path(result.trace).is_file()
    assert "waves in" in result.message and result.violated[0] in result.message


def test_the_line_of_a_violated_assertion_is_told(tmp_path: Path) -> None:
    result = run(_proof(lambda: _counter(limit=3, covered=1)), tmp_path)
    assert result.outcome == "failed" and result.step == 4
    assert [name.split(" (")[0] for name in result.violated] == ["below_limit"]
    assert "harness.py" not in result.violated[0] and "test_run.py" in result.violated[0]


def test_an_unreachable_cover_is_told(tmp_path: Path) -> None:
    result = run(_proof(lambda: _counter(limit=10, covered=12), cover_depth=20), tmp_path)
    assert result.outcome == "vacuous" and result.missed == ("is_reached",)
    assert "is_reached" in result.message


def test_assumptions_that_exclude_all_runs_are_told(tmp_path: Path) -> None:
    def build() -> Harness:
        h = _counter(limit=1, covered=0)
        h.assume("impossible", h.free(1, "one") & 0)
        return h

    assert run(_proof(build), tmp_path).outcome == "vacuous"


def test_a_proof_without_covers_is_refused(tmp_path: Path) -> None:
    def build() -> Harness:
        h = Harness()
        h.check("holds", h.free(1, "one") | 1)
        return h

    with pytest.raises(ValueError, match="needs a cover"):
        run(_proof(build), tmp_path)


def test_a_proof_without_assertions_is_refused(tmp_path: Path) -> None:
    def build() -> Harness:
        h = Harness()
        h.cover("one", h.free(1, "one"))
        return h

    with pytest.raises(ValueError, match="needs an assertion"):
        run(_proof(build), tmp_path)


def test_what_holds_but_is_not_inductive_is_no_proof(tmp_path: Path) -> None:
    # Counts 10 to 14 are never reached, and lead to 15.
    result = run(_proof(lambda: _counter(limit=15, covered=9), "induction", 2, cover_depth=12), tmp_path)
    assert result.outcome == "inconclusive" and "not inductive" in result.message


def test_induction_over_enough_cycles_is_a_proof(tmp_path: Path) -> None:
    assert run(_proof(lambda: _counter(limit=10, covered=9), "induction", 1, cover_depth=12), tmp_path).passed


def test_registers_are_no_logic_without_registers(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Yosys refused"):
        run(_proof(lambda: _counter(limit=10, covered=1), "equivalence"), tmp_path)


def test_registers_power_up_with_any_value(tmp_path: Path) -> None:
    def build() -> Harness:
        h = Harness()
        unset = Signal(4, reset_less=True, init=3)
        h.m.d.sync += unset.eq(unset)
        h.check("is_initial", unset == 3)
        h.cover("is_other", unset == 5)
        return h

    assert run(_proof(build, depth=2), tmp_path).outcome == "failed"


def test_a_result_is_kept_while_the_netlist_does_not_change(tmp_path: Path) -> None:
    first = run(_proof(lambda: _counter(limit=10, covered=1)), tmp_path)
    again = run(_proof(lambda: _counter(limit=10, covered=1)), tmp_path)
    changed = run(_proof(lambda: _counter(limit=9, covered=1), depth=12), tmp_path)
    assert not first.cached and again.cached and first.seconds == again.seconds
    assert changed.outcome == "failed" and not changed.cached


def test_shards_have_every_proof_once() -> None:
    shards = [[proof.name for proof in choose(shard=(index, 3))] for index in (1, 2, 3)]
    assert sorted(name for shard in shards for name in shard) == sorted(proof.name for proof in choose())


@pytest.mark.parametrize(("names", "which", "shard"), [(["nothing"], "all", (1, 1)), ([], "some", (1, 1)),
                                                       ([], "all", (3, 2))])
def test_wrong_choices_are_refused(names: list[str], which: str, shard: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"must be|there is no proof"):
        choose(names, which, shard)


def test_bounded_proofs_say_what_fits() -> None:
    with pytest.raises(ValueError, match="coverage"):
        Proof("trial", "hdl", "Holds.", Harness, "bounded", 4)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "skid", "--build-dir", str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["passed"] and [result["name"] for result in report["results"]] == ["skid"]
    assert main(["prove", "skid", "spare", "--build-dir", str(tmp_path)]) == 0
    assert "2 of 2 proved" in capsys.readouterr().out
    assert main(["prove", "--list", "--set", "shallow"]) == 0
    assert "skid" in capsys.readouterr().out
    assert main(["prove", "lane_splitter", "spare", "--engine", "tiny", "--build-dir", str(tmp_path)]) == 0
    assert "1 with parameters of the configuration: lane_splitter\n" in capsys.readouterr().out
    assert main(["prove", "--engine", "block_compressor"]) == 2
    assert main(["prove", "nothing"]) == 2
    assert "cdma prove --list" in capsys.readouterr().err
    assert main(["prove", "--list", "--again"]) == 2
    assert "--list proves nothing: leave --again out" in capsys.readouterr().err
