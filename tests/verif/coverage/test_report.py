"""Coverage of several runs is merged, holes are reported by name, and exclusions are judged."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np

from cdma.verif.coverage.plan import PLAN, Feature
from cdma.verif.coverage.report import (
    Exclusion,
    Point,
    add_up,
    design_results,
    functional,
    judge,
    read_exclusions,
    read_report,
)

_JUDGED = ("hit", "bins", "excluded", "holes", "contradicted")
_PLAN = (Feature("queue", "queues", "Empty and full.", ("empty", "full")),)


def _excluded(kind: str, name: str) -> Exclusion:
    return Exclusion(kind, name, "cannot be", "a test")


def _written(folder: Path, *samples: dict[str, dict[str, int]]) -> Path:
    (folder / "bins").mkdir(parents=True)
    for number, each in enumerate(samples):
        (folder / "bins" / f"{number}.json").write_text(json.dumps(each))
    return folder


def test_counts_of_simulations_are_added() -> None:
    assert add_up([{"queue": {"full": 1}}, {"queue": {"full": 2, "empty": 1}}, {"busy": {"both": 4}}]) == {
        "queue": {"full": 3, "empty": 1}, "busy": {"both": 4}}


def test_a_bin_that_was_not_seen_is_a_hole_and_one_outside_the_plan_is_named() -> None:
    (result,) = functional({"queue": {"full": 3, "half": 1}}, plan=_PLAN)
    assert result == {"feature": "queue", "room": "queues", "about": "Empty and full.", "bins": 2, "hit": 1,
                      "excluded": 0, "holes": ["empty"], "contradicted": [], "unplanned": ["half"]}


def test_an_excluded_bin_is_no_hole_and_is_reported_when_it_is_hit() -> None:
    (result,) = functional({"queue": {"full": 3}}, [_excluded("bin", "queue/e*")], _PLAN)
    assert [result[name] for name in _JUDGED] == [1, 1, 1, [], []]
    (result,) = functional({"queue": {"full": 3, "empty": 1}}, [_excluded("bin", "queue/e*")], _PLAN)
    assert [result[name] for name in _JUDGED] == [2, 2, 0, [], ["empty"]]


def test_an_exclusion_of_another_feature_or_kind_changes_nothing() -> None:
    (result,) = functional({}, [_excluded("bin", "other/empty"), _excluded("line", "queue/empty")], _PLAN)
    assert result["holes"] == ["empty", "full"]


def test_brackets_of_bits_are_no_sets_of_characters() -> None:
    judged = judge([("top:address[31]:0->1", 0), ("top:address[3]:0->1", 0)], [_excluded("toggle", "*address[31]*")])
    assert judged["holes"] == ["top:address[3]:0->1"]


def test_an_exclusion_may_begin_at_a_bit() -> None:
    rule = Exclusion("toggle", "*bytes", "cannot be", "a test", from_bit=21)
    judged = judge([("top:raw_bytes[20]:0->1", 0), ("top:raw_bytes[21]:0->1", 0), ("top:raw_bytes[39]:1->0", 0),
                    ("top:raw_bytes_0[39]:1->0", 0), ("top:bytes[30]:1->0", 1)], [rule])
    assert judged["holes"] == ["top:raw_bytes[20]:0->1", "top:raw_bytes_0[39]:1->0"]
    assert (judged["excluded"], judged["contradicted"]) == (2, ["top:bytes[30]:1->0"])


def test_bits_of_a_record_count_once_by_their_fields() -> None:
    points = [Point("toggle", "cdma_x", name, "", count) for name, count in (
        ("record[0]:0->1", 0), ("record[1]:0->1", 0), ("record.low:0->1", 3), ("record.high:0->1", 0),
        ("records:0->1", 1))]
    _, toggle = design_results("cdma_x", points)
    assert (toggle["points"], toggle["hit"], toggle["holes"]) == (3, 2, ["top:record.high:0->1"])


def test_every_exclusion_of_this_project_has_a_reason_and_a_bin_that_there_is() -> None:
    for each in read_exclusions():
        assert len(each.reason) > 10 and each.signed and each.kind in ("bin", "line", "toggle")
        if each.kind == "bin":
            name, _, pattern = each.name.partition("/")
            bins, = (one.bins for one in PLAN if one.name == name)
            assert any(re.match(_excluded("bin", pattern).pattern, one) for one in bins), each.name


def _compiled(folder: Path, counts: list[int]) -> None:
    (folder / "rtl").mkdir()
    points = ["line\x01page\x02v_line/cdma_x.unit\x01l\x027\x01n\x023\x01o\x02block",
              "toggle\x01page\x02v_toggle/cdma_x.unit\x01l\x028\x01n\x021\x01o\x02value__02ebit[0]:0->1",
              "user\x01page\x02v_user/cdma_memory_port__pi2\x01l\x029\x01n\x021\x01o\x02open___05Freads_one"]
    paths = ["cdma_x_bench.engine.unit", "cdma_x_bench.engine.unit", "cdma_x_bench.link.port[0].port.open__reads_one"]
    text = "".join(f"C '\x01t\x02{point}\x01h\x02{path}'\n" for point, path in zip(points, paths, strict=True))
    with gzip.open(folder / "rtl" / "cdma_x_bench-verilator-0.points.gz", "wt") as file:
        file.write(f"# SystemC::Coverage-3\n{text}")
    np.save(folder / "rtl" / "cdma_x_bench-verilator-0.npy", np.array(counts, np.uint64))


def test_folders_of_shards_are_one_report(tmp_path: Path) -> None:
    folders = [_written(tmp_path / "one", {"busy": {"both": 1}}), _written(tmp_path / "two", {"busy": {"none": 2}})]
    _compiled(folders[0], [1, 0, 5])
    _compiled(folders[1], [1, 0, 0])
    report = read_report(folders, [])
    features = {each["feature"]: each for each in report["features"]}
    assert features["busy"]["holes"] == ["offload", "prefetch"]
    assert features["open"]["hit"] == 1 and "link:reads_one" not in features["open"]["holes"]
    line, toggle = report["designs"]
    assert (line["design"], line["hit"], line["points"]) == ("cdma_x", 1, 1)
    assert (toggle["hit"], toggle["holes"]) == (0, ["unit:value.bit[0]:0->1"])
    assert report["shares"]["line"] == 1
    assert set(report["missed"]) == {"behaviour", "access", "toggle"}
