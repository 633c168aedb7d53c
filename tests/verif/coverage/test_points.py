"""The reader of Verilator's coverage, on a small design that is compiled and simulated, and on what is no coverage."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.verif.common import counted, runner
from cdma.verif.common.counted import RTL_VARIABLE, restored_points
from cdma.verif.common.cover import VARIABLE, restored
from cdma.verif.coverage.report import design_results, of_points, read_points

_HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, build_dir: Path) -> Path:
    """Coverage of two runs of a counter."""
    place = tmp_path_factory.mktemp("coverage")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(place))
        patch.setenv(RTL_VARIABLE, "1")
        patch.syspath_prepend(str(_HERE))
        patch.setenv("PYTHONPATH", f"{_HERE}:{_HERE.parents[2]}")
        built = runner.build((_HERE / "counter.v").read_text(encoding="utf-8"), "counter_bench",
                             simulator="verilator", build_dir=build_dir)
        for number, cycles in enumerate((2, 3)):
            runner.run(built, "bench_counter", job={"cycles": cycles}, folder=tmp_path_factory.mktemp(f"run{number}"))
    return place


def test_counts_of_runs_are_added(folder: Path) -> None:
    (_, text), = restored_points(folder)
    blocks = {each.count for each in read_points(text) if (each.kind, each.module) == ("line", "counter")
              and each.name.endswith(" block")}
    # The initial block runs once, the other one at every pulse.
    assert blocks == {1 + 1, 2 + 3}


def test_bits_branches_and_covers_have_names(folder: Path) -> None:
    (name, text), = restored_points(folder)
    assert name.startswith("counter_bench-verilator-")
    edges = {each.name: each.count > 0 for each in read_points(text)
             if (each.kind, each.module) == ("toggle", "counter") and each.name.startswith("odd.name")}
    assert edges == {"odd.name[0]:0->1": True, "odd.name[0]:1->0": True, "odd.name[1]:0->1": True,
                     "odd.name[1]:1->0": False, "odd.name[2]:0->1": False, "odd.name[2]:1->0": False}
    # It is full from the second pulse of a run on.
    assert of_points(read_points(text)) == {"queue": {"device:full": 1 + 2}}


def test_only_the_design_counts(folder: Path) -> None:
    (_, text), = restored_points(folder)
    lines, toggles = design_results("counter", read_points(text))
    assert (lines["kind"], toggles["kind"]) == ("line", "toggle")
    assert lines["hit"] < lines["points"] and 0 < toggles["hit"] < toggles["points"]
    assert "top:odd.name[2]:0->1" in toggles["holes"]
    assert not any("aclk" in hole for hole in toggles["holes"])


def test_benches_write_their_samples_when_they_end(folder: Path) -> None:
    assert sorted(each["pulses"]["seen"] for each in restored(folder)) == [2, 3]


def test_nothing_is_counted_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(RTL_VARIABLE, "1")
    assert counted.options("verilator") == ()
    (tmp_path / "coverage.dat").write_text("")
    counted.collect(tmp_path, tmp_path)
    assert (tmp_path / "coverage.dat").exists()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert "--coverage-toggle" in counted.options("verilator")
    assert counted.options("icarus") == ()


_SELECT = """\
  function [5:0] select_7_;
    casez (s)
      4'b???1:
        select_7_ = b;
      default:
        select_7_ = a;
  function [5:0] select_8_;
      default:
  assign x = select_7_(6'hxx, y, z);
  assign y = select_8_(6'h00, y, z);
"""


def test_a_default_that_is_called_with_no_value_has_a_name_of_its_own() -> None:
    point = "\x01l\x02{line}\x01n\x027\x01t\x02line\x01page\x02v_line/top\x01o\x02case\x01h\x02top'"
    points = "".join(point.format(line=line) for line in (3, 5, 8)).encode()
    named = counted._named(points, _SELECT).decode()
    assert [each.partition("\x01h")[0] for each in named.split("\x01o\x02")[1:]] == [
        "case", "default without a value", "case"]


@pytest.mark.parametrize(("text", "said"), [
    ("", "first line must begin with"),
    ("C 'x' 1\n", "first line must begin with"),
    ("# SystemC::Coverage-3\nnothing\n", "line 2 of the coverage is not a point"),
    ("# SystemC::Coverage-3\nC '\x01t\x02other\x01page\x02v_other/top' 1\n", "unknown kind 'other'"),
])
def test_what_is_no_coverage_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        list(read_points(text))
