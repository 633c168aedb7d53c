"""``cdma capture`` on scripts of the user's, and on the worked example."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cdma.__main__ import main
from cdma.workload.capturing import digits
from cdma.workload.capturing.manifest import read_manifest
from cdma.workload.dumps import load
from tests.torch.networks import ENVIRONMENT, cdma

SCRIPT = '''
import sys
import torch
from torch import nn
import beside_the_script

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 8, 3), nn.Linear(8 * 36, 4)

    def forward(self, images):
        return self.fc(torch.relu(self.conv(images)).flatten(1))

torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(24, 1, 8, 8), torch.arange(24) % 4)
training, testing = (torch.utils.data.DataLoader(data, batch_size=8) for _ in range(2))
next(iter(training))
model, other = WRAP(Net()), nn.Sequential(nn.Linear(4, 4))
model.eval()
model(torch.zeros(1, 1, 8, 8))
model.train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for images, labels in training:
        loss = nn.CrossEntropyLoss()(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for images, labels in testing:
                model(images)
    print(f"epoch {epoch}: {loss.item()}")
other(torch.zeros(2, 4))
print(sys.argv[1:], __name__)
END
'''


def script(folder: Path, end: str = "", wrap: str = "") -> Path:
    """A training script of 9 steps in 3 epochs, with a module of its own beside it."""
    (folder / "scripts").mkdir()
    (folder / "scripts/beside_the_script.py").write_text("")
    path = folder / "scripts/train.py"
    path.write_text(SCRIPT.replace("WRAP", wrap).replace("END", end))
    return path


@pytest.mark.parametrize("wrap", ["", "torch.compile", "nn.DataParallel"])
def test_a_script(wrap: str, tmp_path: Path) -> None:
    path = script(tmp_path, wrap=wrap)
    done = cdma(tmp_path, "capture", "-o", "dump", "--every", "2", path, "--rate", "0.1")
    assert done.returncode == 0, done.stderr
    assert "Net, 5 steps captured" in done.stdout
    assert "['--rate', '0.1'] __main__" in done.stdout
    manifest = read_manifest(tmp_path / "dump")
    assert [(entry["step"], entry["epoch"]) for entry in manifest["files"]] == [(0, 0), (2, 0), (4, 1), (6, 2), (8, 2)]
    assert set(load(tmp_path / "dump")) == {f"step{step:06d}/conv" for step in range(0, 9, 2)}


def test_a_script_runs_as_it_does_alone(tmp_path: Path) -> None:
    path = script(tmp_path)
    alone = subprocess.run([sys.executable, str(path), "x"], cwd=tmp_path, capture_output=True, text=True, check=True)
    watched = cdma(tmp_path, "capture", "-o", "dump", "--every", "1", path, "x")
    assert watched.stdout.startswith(alone.stdout)


def test_json_is_all_that_is_printed(tmp_path: Path) -> None:
    done = cdma(tmp_path, "capture", "-o", "dump", "--steps", "1,3", "--json", script(tmp_path))
    told = json.loads(done.stdout)
    assert "epoch 2:" in done.stderr
    assert (told["folder"], told["model"], told["arrays"], told["notes"]) == ("dump", "Net", 2, [])
    assert told["files"] == read_manifest(tmp_path / "dump")["files"]


@pytest.mark.parametrize(("end", "code", "said"), [
    ("raise RuntimeError('out of luck')", 1, "RuntimeError('out of luck')\nRuntimeError: out of luck"),
    ("sys.exit(3)", 3, ""), ("sys.exit('no good')", 1, "no good\n"), ("sys.exit()", 0, "")])
def test_how_a_script_ends(end: str, code: int, said: str, tmp_path: Path) -> None:
    done = cdma(tmp_path, "capture", "-o", "dump", f"./{script(tmp_path, end).relative_to(tmp_path)}")
    assert done.returncode == code
    assert said in done.stderr
    # Of a traceback, what is of the script.
    assert "runpy" not in done.stderr and "cdma" not in done.stderr
    assert len(load(tmp_path / "dump")) == 1


def test_ctrl_c_leaves_a_dump(tmp_path: Path) -> None:
    path = script(tmp_path, "open('trained', 'w')\nimport time\ntime.sleep(100)")
    running = subprocess.Popen([sys.executable, "-m", "cdma", "capture", "-o", "dump", str(path)], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=ENVIRONMENT,
                               # Where tests run in the background, Ctrl-C is ignored.
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    until = time.monotonic() + 60
    while not (tmp_path / "trained").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err == "cdma: interrupted\n"
    assert "Net, 1 step captured" in out
    assert len(load(tmp_path / "dump")) == 1


def test_the_model_is_chosen(tmp_path: Path) -> None:
    done = cdma(tmp_path, "capture", "-o", "dump", "--model", "Seq*", "--least", "0", script(tmp_path))
    assert done.returncode == 0, done.stderr
    assert read_manifest(tmp_path / "dump")["model"] == "Sequential"


@pytest.mark.parametrize(("options", "message"), [
    (("--model", "Transformer"), "called no torch.nn.Module of class Transformer in training mode"),
    (("--modules", "pool*"), "no module fits pool*: there are data, conv, fc")])
def test_mistakes(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = cdma(tmp_path, "capture", "-o", "dump", *options, script(tmp_path))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_such_script(tmp_path: Path) -> None:
    done = cdma(tmp_path, "capture", "-o", "dump", "train.py")
    assert (done.returncode, done.stderr) == (
        2, "cdma: error: train.py is not a file: give the Python script that trains the model\n")


def test_the_worked_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                            tmp_path: Path) -> None:
    """Three of its twelve epochs; test_docs.py trains it to the end."""
    monkeypatch.setattr(digits, "EPOCHS", 3)
    monkeypatch.chdir(tmp_path)
    assert main(["capture", "--example", "digits", "--max-array", "64K", "--no-times", "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (told["folder"], told["model"], told["example"]["narrow"]) == ("digits", "Digits", None)
    assert told["example"]["accuracy"] > 0.8 and told["example"]["tested"] == "test images classified"
    first, _, last = told["example"]["losses"]
    assert last < 0.5 < 1 < first
    arrays = load(tmp_path / "digits")
    assert len(arrays) == told["arrays"] == 5 * 8
    assert max(array.nbytes for array in arrays.values()) <= 65536
