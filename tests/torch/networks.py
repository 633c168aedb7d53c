"""Small networks, a training of them that is the same every time, and ``cdma`` in a folder."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cdma.__main__ import main

torch: Any = import_module("torch")
nn = torch.nn

BATCH = 6
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}


# Processes of a server that has PyTorch: to import it takes longer than most commands.
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["torch", "torch._dynamo", "cdma.__main__"])


def cdma(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """What a command in a folder says, and how it ends."""
    call = list(map(str, arguments))
    with TemporaryDirectory() as beside:
        process = _SERVER.Process(target=_run, args=(folder, beside, call))
        process.start()
        process.join()
        out, err = (Path(beside, name).read_text() for name in ("out", "err"))
    assert process.exitcode is not None
    return subprocess.CompletedProcess(call, process.exitcode, out, err)


def _run(folder: Path, beside: str, call: list[str]) -> None:
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(beside, name), os.O_CREAT | os.O_WRONLY | os.O_APPEND), number)
    os.chdir(folder)
    sys.argv = ["cdma", *call]
    sys.exit(main())


class Plain(nn.Module):
    """Convolutions with a ReLU function each, as modules of a name."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 5, 3, padding=1)
        self.pool, self.fc = nn.MaxPool2d(2), nn.Linear(5 * 16, 10)

    def forward(self, images: Any) -> Any:
        maps = torch.relu(self.conv2(torch.relu(self.conv1(images))))
        return self.fc(self.pool(maps).flatten(1))


class Residual(nn.Module):
    """One ReLU module that is called twice, in place, around a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.norm, self.relu, self.fc = nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.Linear(3 * 64, 10)

    def forward(self, images: Any) -> Any:
        maps = self.conv2(self.relu(self.norm(self.conv1(images))))
        return self.fc(self.relu(maps + images).flatten(1))


def images() -> Any:
    """A batch of images of 8x8, with negative values and without zeros."""
    return torch.randn(BATCH, 3, 8, 8, generator=torch.Generator().manual_seed(7))


def train(make: Callable[[], Any], watch: Callable[[Any], AbstractContextManager[Any]] | None = None,
          steps: int = 4) -> tuple[list[float], list[Any]]:
    """Losses and weights of a short training."""
    torch.manual_seed(3)
    model, losses = make(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    labels = torch.arange(BATCH) % 10
    with watch(model) if watch else nullcontext():
        for _ in range(steps):
            loss = nn.functional.cross_entropy(model(images()), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses, [weight.detach().clone() for weight in model.parameters()]
