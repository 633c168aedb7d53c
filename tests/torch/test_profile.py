"""Times of layers: which operation counts where, that they add up, and that the timeline reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cdma.workload import profile
from cdma.workload.capturing import CaptureError, profiling
from cdma.workload.capturing.profiling import Profiler, layer_times
from cdma.workload.timeline.profiles import load_profile
from tests.torch.networks import Plain, cdma, images, nn, torch

NETWORK = {"name": "plain", "batch": 6, "input": [3, 8, 8], "layers": [
    {"kind": "conv", "name": "conv1", "channels": 4, "kernel": 3, "pad": 1},
    {"kind": "conv", "name": "conv2", "channels": 5, "kernel": 3, "pad": 1},
    {"kind": "pool", "name": "pool", "kernel": 2, "stride": 2},
    {"kind": "fc", "name": "fc", "features": 10, "relu": False}]}


@dataclass
class Event:
    """As much of an event of torch.profiler as is read; times in microseconds."""

    name: str
    start: float
    end: float
    sequence_nr: int = -1
    cpu_parent: Any = None
    device_time_total: float = 0.0
    is_async: bool = False
    time_range: Any = field(init=False)
    cpu_time_total: float = field(init=False)

    def __post_init__(self) -> None:
        self.time_range = SimpleNamespace(start=self.start, end=self.end)
        self.cpu_time_total = self.end - self.start


def test_what_counts_where() -> None:
    root, conv, relu = Event("module: Net", 0, 1000), Event("module: conv", 100, 300), Event("module: relu", 400, 500)
    convolution = Event("aten::conv2d", 110, 290, 1, conv)
    first = [root, Event("aten::div", 10, 60, -1, root),
             # Without a gradient of its own, it carries the number of the convolution.
             Event("aten::zeros", 70, 90, 1, root), conv, convolution, Event("aten::add", 120, 130, 1, convolution),
             relu, Event("aten::relu", 410, 450, 2, relu), Event("aten::flatten", 600, 610, 3, root),
             Event("module: fc", 700, 900), Event("aten::linear", 710, 790, 4)]
    first[-1].cpu_parent = first[-2]
    backward = "autograd::engine::evaluate_function: "
    second = [Event(f"{backward}AddmmBackward0", 2000, 2200, 4), Event(f"{backward}ViewBackward0", 2200, 2201, 3),
              Event(f"{backward}ReluBackward0", 2300, 2340, 2), Event(f"{backward}ConvolutionBackward0", 2400, 2800, 1),
              Event(f"{backward}NllLossBackward0", 1900, 1990, 9), Event("aten::mm", 2010, 2020)]
    # The division before all layers is the first's, the ReLU in place and the flattening are the convolution's.
    assert layer_times([*second, *first], 2, {"conv", "fc"}) == {
        "conv": {"forward_ms": (50 + 20 + 180 + 40 + 10) / 2000, "backward_ms": (1 + 40 + 400) / 2000},
        "fc": {"forward_ms": 80 / 2000, "backward_ms": 200 / 2000}}


def test_kernels_count_where_there_is_a_device() -> None:
    conv = Event("module: conv", 0, 100)
    events = [conv, Event("aten::conv2d", 10, 20, 1, conv, device_time_total=4000.0),
              Event("autograd::engine::evaluate_function: ConvolutionBackward0", 200, 230, 1, device_time_total=9000.0)]
    assert layer_times(events, 1, {"conv"}) == {"conv": {"forward_ms": 4.0, "backward_ms": 9.0}}


def test_larger_layers_take_longer(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.Dropout(), nn.Conv2d(4, 256, 3))
    times = profile(model, torch.randn(8, 3, 48, 48), tmp_path / "times.json")
    assert list(times) == ["0", "2", "4"]
    for key in ("forward_ms", "backward_ms"):
        assert 0 < times["2"][key] < times["4"][key]
    assert json.loads((tmp_path / "times.json").read_text()) == {
        "format": "cdma-profile", "version": 1, "device": "cpu", "device_name": None, "layers": times}


@pytest.mark.parametrize("steps", [1, 3])
def test_every_step_is_measured_whole(steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[str] = []

    def times(events: Any, *arguments: Any) -> dict[str, dict[str, float]]:
        met.extend(event.name for event in events)
        return {}

    monkeypatch.setattr(profiling, "layer_times", times)
    profile(Plain(), images(), tmp_path / "times.json", warm_up=2, steps=steps)
    for name in ("module: Plain", "module: conv1", "module: fc", "aten::flatten",
                 "autograd::engine::evaluate_function: MaxPool2DWithIndicesBackward0"):
        assert met.count(name) == steps


def test_the_model_is_as_before(tmp_path: Path) -> None:
    model = Plain()
    profile(model, images(), tmp_path / "times.json", warm_up=0, steps=1)
    assert all(weight.grad is None for weight in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_the_timeline_reads_it(tmp_path: Path) -> None:
    times = profile(Plain(), images(), tmp_path / "times.json")
    found = load_profile(tmp_path / "times.json")
    assert found.device == "cpu"
    assert found.layers == {
        name: (pytest.approx(entry["forward_ms"] / 1e3), pytest.approx(entry["backward_ms"] / 1e3))
        for name, entry in times.items()}
    (tmp_path / "plain.json").write_text(json.dumps(NETWORK))
    done = cdma(tmp_path, "timeline", "plain.json", "--profile", "times.json", "--json")
    assert done.returncode == 0, done.stderr
    assert "times.json was measured on a CPU" in done.stderr
    oracle = next(row for row in json.loads(done.stdout)["rows"] if row["row"] == "oracle")
    assert oracle["step_ms"] == pytest.approx(sum(sum(entry.values()) for entry in times.values()))


def test_a_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\nfrom tests.torch.networks import Plain, train\nprint(train(Plain, steps=12)[0][-1])\n")
    done = cdma(tmp_path, "capture", "--profile", "times.json", "train.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "conv2" in done.stdout
    assert list(load_profile(tmp_path / "times.json").layers) == ["conv1", "conv2", "pool", "fc"]


_UNWRITABLE = """
import torch, sys
from pathlib import Path
from tests.torch.networks import Plain, train
class Late(Plain):
    calls = 0
    def forward(self, images):
        self.calls += 1
        if self.calls == 5:
            Path("times").rmdir()
        return super().forward(images)
print("trained", len(train(Late, steps=12)[0]))
"""


def test_training_goes_on_where_the_profile_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_UNWRITABLE)
    (tmp_path / "times").mkdir()
    done = cdma(tmp_path, "capture", "--profile", "times/times.json", "train.py")
    assert "Traceback" not in done.stderr, done.stderr
    assert "trained 12" in done.stdout
    assert done.returncode == 2
    assert done.stderr == "cdma: error: cannot write the profile times/times.json: No such file or directory\n"
    # The times are not lost: they are printed.
    assert "conv2" in done.stdout


@pytest.mark.parametrize(("file", "message"), [
    ("gone/times.json", "gone is not a folder: the profile goes into a folder that is there"),
    ("folder", "folder is a folder: give the profile the name of a file"),
])
def test_a_profile_that_cannot_be_written_stops_before_the_training(file: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "train.py").write_text("print('the script is not run')\n")
    done = cdma(tmp_path, "capture", "--profile", file, "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"cdma: error: {message}\n")


def test_a_program_hears_that_the_profile_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "times").mkdir()
    model = Plain()
    model.register_forward_pre_hook(lambda *_: (tmp_path / "times").rmdir() if (tmp_path / "times").exists() else None)
    with pytest.raises(CaptureError, match=r"cannot write the profile .*times.json: No such file or directory"):
        profile(model, images(), tmp_path / "times/times.json", steps=1)


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="in evaluation mode: call"):
        profile(Plain().eval(), images(), tmp_path / "times.json")
    with pytest.raises(ValueError, match="steps must be 1 or more, and warm_up 0 or more, not 0 and 3"):
        profile(Plain(), images(), tmp_path / "times.json", steps=0)
    model = Plain()
    with pytest.raises(CaptureError, match="had 2 steps: a profile takes 3 to warm up and 5 to measure"), \
            Profiler(model, tmp_path / "times.json"):
        for _ in range(2):
            model(images())
    with pytest.raises(KeyError), Profiler(model, tmp_path / "times.json", 0, 1):
        model(images())
        raise KeyError
    assert not list(tmp_path.iterdir())
