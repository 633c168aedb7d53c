"""The protocol rules: legal traces keep all of them, and each rule is broken by a trace that breaks no other."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from cdma.synth.tools import yosys
from cdma.verif.common import runner, tools
from cdma.verif.common.broken import broken
from cdma.verif.rules.catalogue import FILES, rules, source
from cdma.verif.rules.instances import instance, pins_of
from tests.verif.rules.traces import CASES, INSTANCES, LEGAL, WIDTHS

_SIMULATORS = [simulator for simulator in tools.SIMULATORS if tools.available(simulator)]


def _top() -> str:
    """All modules of the rules at the pins of the top; reports do not end the simulation."""
    pins = [f"input wire [{bits - 1}:0] {channel}{name}" for channel, names in WIDTHS.items()
            for name, bits in names.items()]
    switches = [f"input wire on_{name}" for name in sorted({name.partition("_")[0] for name in INSTANCES})]
    text = ["`define AXI_RULE_FAILS", source(),
            "module rules_top (", ",\n".join(["input wire aclk, aresetn", *switches, *pins]), ");"]
    for name, (file, parameters, channels) in INSTANCES.items():
        joined = {f"{channel}{field}" for channel in channels for field in WIDTHS[channel]}
        pins = {"aclk": f"aclk && on_{name.partition('_')[0]}", "aresetn": "aresetn"}
        text.append(instance(file, name, parameters, pins | {pin: pin for pin in pins_of(file, ()) if pin in joined}))
    return "\n".join([*text, "endmodule\n"])


@pytest.mark.parametrize("simulator", _SIMULATORS)
def test_traces(simulator: str, build_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # bench_rules.py lies here; simulators inherit the path.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    built = runner.build(_top(), "rules_top", simulator=simulator, build_dir=build_dir)
    known = {rule.name: rule for rule in rules()}
    cases = [case for case in CASES if simulator == "icarus" or not known[case.rule].four_state]
    traces = [*((trace, name) for name, trace in LEGAL.items()),
              *((case.trace, case.instance.partition("_")[0]) for case in cases)]
    with pytest.raises(runner.BenchError, match=r"rule AXI4_AW_VALID_STABLE is broken at rules_top\.write, time \d+"):
        runner.run(built, "bench_rules", job={"traces": traces}, folder=tmp_path)
    times = json.loads((tmp_path / "report.json").read_text())["times"]
    reports = broken((tmp_path / "bench.log").read_text())

    def seen(number: int) -> list[tuple[str, str, int]]:
        first, last = times[number][0], times[number][-1]
        return [(each.place.removeprefix("rules_top."), each.rule, times[number].index(each.time)) for each in reports
                if first <= each.time <= last]

    assert not [each for each in reports if each.time < times[0][0]], "rules are armed by an edge at time 0"
    for number, name in enumerate(LEGAL):
        assert not seen(number), f"legal trace {name!r}: {seen(number)}"
    missed = []
    for number, case in enumerate(cases, len(LEGAL)):
        said = seen(number)
        if {each[1] for each in said} != {case.rule} or said[0][2] != case.at or all(
                each[0] != case.instance for each in said):
            missed.append(f"{case}: {said}")
    assert not missed, "\n".join(missed)
    assert not [each for each in reports if each.place.endswith("write_off")]


_BENCH = """\
`timescale 1ns/1ps
module bench;
    reg clk = 0, reset = 0, valid = 0;
    always #5 clk = ~clk;
    axi4_stream_rules #(.DATA_WIDTH(8)) rules (
        .aclk(clk), .aresetn(reset), .tdata(8'd1), .tkeep(1'b1), .tstrb(1'b1), .tlast(1'b1), .tid(1'b0), .tdest(1'b0),
        .tuser(1'b0), .tvalid(valid), .tready(1'b0));
    initial begin
        @(posedge clk) reset <= 1;
        @(posedge clk) valid <= 1;
        @(posedge clk) valid <= 0;
        repeat (2) @(posedge clk);
        $finish;
    end
endmodule
"""


@pytest.mark.skipif(not tools.available("icarus"), reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("end", ["", "`resetall\n"], ids=["", "resetall"])
@pytest.mark.parametrize("order", [("rules.v", "bench.v"), ("bench.v", "rules.v")], ids=["rules first", "bench first"])
def test_rules_need_no_time_scale(order: tuple[str, str], end: str, tmp_path: Path) -> None:
    """In a reset of one cycle they are armed, whatever the unit of time is."""
    (tmp_path / "rules.v").write_text(source("axi4_stream.v"))
    (tmp_path / "bench.v").write_text(_BENCH + end)
    subprocess.run(["iverilog", "-g2005", "-o", "bench", *order], cwd=tmp_path, check=True)
    done = subprocess.run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode and "rule bench.rules.AXIS_VALID_STABLE broken at 35000" in done.stdout


def test_rules_do_not_look_at_the_time() -> None:
    """It stays 0 where the unit of time is longer than the run."""
    assert "$time" not in source() and source().count("$realtime") == len(FILES)


def test_each_rule_is_broken_by_a_trace() -> None:
    assert {case.rule for case in CASES} == {rule.name for rule in rules()}


def test_each_rule_has_one_place_and_its_clause() -> None:
    assert not [name for name, count in Counter(rule.name for rule in rules()).items() if count > 1]
    assert len(rules()) == source().count("`AXI_RULE(ASSERT_")
    assert {rule.side for rule in rules()} == {"manager", "subordinate"}


def test_each_file_stands_alone_and_reports_in_the_same_way() -> None:
    heads = {source(file).partition("`ifndef AXI_RULE")[2].partition("// verilator lint_save")[0] for file in FILES}
    assert len(heads) == 1
    with pytest.raises(ValueError, match=r"there are no rules in 'axi5.v': choose from axi4_write.v, "):
        source("axi5.v")


def test_yosys_reads_each_rule_as_an_assertion_or_assumption(tmp_path: Path) -> None:
    found = yosys.find()
    inputs = {file: source(file) for file in FILES}
    script = [f"read_verilog -formal {' '.join(FILES)}", *(
        f"chparam -set ASSERT_SUBORDINATE 0 {file.removesuffix('.v')}_rules" for file in FILES),
        "proc", "tee -o said.txt select -list t:$check"]
    said = found.run("\n".join(script), inputs, ["said.txt"], "the protocol rules")["said.txt"]
    for rule in rules():
        assert (f"{rule.module}/{rule.name}\n" in said) == (rule.side == "manager"), rule
    assert said.count("\n") == len(rules())
