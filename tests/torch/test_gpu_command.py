"""``cdma gpu bench``, ``cdma train --device`` and the maintainer's script, rehearsed on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.__main__ import main
from cdma.gpu.bench import Setup, measure
from cdma.gpu.steps import steps
from cdma.workload.results.software import measured

ROOT = Path(__file__).resolve().parents[2]
HERE = ("--device", "cpu", "--bytes", "64K", "--runs", "1")


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The golden model codes, and not Triton's interpreter, which is slow; in the script too."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", "bench", *HERE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"card", "driver", "torch", "triton", "date"} <= found.keys()
    assert [(row["coding"], row["stream_equal"], row["back_equal"]) for row in found["bytes"]] == [
        ("bfloat16", True, True), ("zvc16", True, True), ("float32", True, True)]
    speeds = [row for row in found["speeds"] if "not_run" not in row]
    assert [row["coding"] for row in speeds] == ["bfloat16"] * 2 + ["zvc16"] * 3 + ["bfloat16", "float32"]
    assert all(row["encode_gbps"] > 0 and row["decode_gbps"] > 0 for row in speeds)
    assert [row["copy"] for row in found["copies"]] == ["out", "back", "both"]


def test_bench_in_text_tells_streams_that_differ(capsys: pytest.CaptureFixture[str],
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.gpu.bench.np.array_equal", lambda one, other: False)
    assert main(["gpu", "bench", *HERE]) == 1
    told = capsys.readouterr()
    assert "differs" in told.out and "speeds: not run: " in told.out
    assert told.err.endswith("differ from the golden model's\n")


def test_training(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--device", "cpu", "--example", "gpt2"]) == 0
    told = capsys.readouterr().out
    assert told.count("those of plain training") == 5
    assert all(f"gpt2     {way}" in told for way in ("plain", "save_on_cpu", "async", "compressed", "recompute"))


@pytest.mark.parametrize(("call", "message"), [
    (("gpu", "bench", "--device", "cuda:7"), "PyTorch finds no GPU cuda:7: name one that it has"),
    (("gpu", "bench", "--device", "cpu", "--bytes", "5000"), "--bytes must be whole blocks of 4096 bytes, not 5000"),
    (("train", "--device", "cpu", "--example", "sums"), "no example 'sums' with --device: there are gpt2, resnet50"),
    (("train", "--device", "cpu", "--golden"), "--device trains without an engine: leave --golden out")])
def test_mistakes(call: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(call)) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_shares_are_of_the_steps_that_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.gpu.rule.Rule.choose", lambda *_: "packed")
    row, = steps("cpu", "gpt2", ("compressed",), runs=2)
    assert 0 < row["codec_share"] < 1
    assert row["link_bytes"] < row["raw_bytes"] == row["engine"]["raw_bytes"] / 4


def test_what_there_is_no_time_for_says_so() -> None:
    """No row is begun when the time is over; every step says it."""
    told: list[int] = []
    found = measure(Setup("cpu", 1 << 16, ("golden",), 1), 0, lambda rows: told.append(len(rows)), ("bytes", "copies"))
    assert [[row.get("not_run") for row in found[name]] for name in ("bytes", "copies")] == 2 * [
        [None, "TimeoutError: 0 s are over"]]
    assert len(told) == 4


def test_the_script(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "tools/measure_gpu.py", str(tmp_path / "gpu.json"), "--cpu"], check=True, cwd=ROOT)
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert [name for name, rows in found.items() if isinstance(rows, list)] == [
        "bytes", "speeds", "copies", "offload", "sanitizer"]
    assert [(row["way"], row["identical"]) for row in found["offload"]] == 2 * [
        (way, True) for way in ("plain", "save_on_cpu", "async", "compressed", "recompute")]
    plain, packed = (found["offload"][number]["engine"] for number in (2, 3))
    assert packed["codec_seconds"] > 0 == plain["codec_seconds"]
    assert "compute-sanitizer" in found["sanitizer"][-1].get("not_run", "compute-sanitizer")
    # The pages would have it, were it of a GPU.
    (tmp_path / "gpu.json").write_text(json.dumps(found | {"device": "cuda"}))
    read = measured(tmp_path / "gpu.json")
    assert read is not None and read["equal"] and read["identical"] and read["link_gbps"] > 0
    assert [step["raw_gb"] > 0 and step["ratio"] >= 1 for step in read["steps"].values()] == [True, True]
