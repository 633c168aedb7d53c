"""Small networks, a training of them that is the same every time, and ``cdma`` in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

torch: Any = import_module("torch")
nn = torch.nn

BATCH = 6
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}


def cdma(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "cdma", *map(str, arguments)], cwd=folder, env=ENVIRONMENT,
                          capture_output=True, text=True, check=False)


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
