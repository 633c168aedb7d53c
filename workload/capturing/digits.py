"""The worked example: a small convolutional network learns the handwritten digits that scikit-learn ships.

The images are 8x8 pixels in 17 shades, scaled up to 16x16. Every third one is for testing. Seeds are fixed, so that a
run is repeatable on the same machine and release of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from cdma.workload.capturing.training import Begun
from cdma.workload.extra import package

__all__ = ["BATCH", "EPOCHS", "Digits", "begin", "steps"]

torch = package("torch", "torch")

EPOCHS = 12
BATCH = 64
_SIDE = 16  # of an image after scaling
_RATE, _MOMENTUM, _DECAY = 0.03, 0.9, 5e-4


class Digits(torch.nn.Module):
    """Four convolutions, two max poolings and two linear layers; a ReLU after each but the last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.pool2 = torch.nn.MaxPool2d(2)
        self.conv3 = torch.nn.Conv2d(32, 48, 3, padding=1)
        self.conv4 = torch.nn.Conv2d(48, 48, 3, padding=1)
        self.pool4 = torch.nn.MaxPool2d(2)
        self.fc1 = torch.nn.Linear(48 * (_SIDE // 4) ** 2, 128)
        self.fc2 = torch.nn.Linear(128, 10)
        for weight in self.parameters():
            if weight.dim() > 1:
                torch.nn.init.kaiming_normal_(weight, nonlinearity="relu")

    def forward(self, images: Any) -> Any:
        """The scores of the ten digits."""
        relu = torch.nn.functional.relu
        maps = self.pool2(relu(self.conv2(relu(self.conv1(images)))))
        maps = self.pool4(relu(self.conv4(relu(self.conv3(maps)))))
        return self.fc2(relu(self.fc1(maps.flatten(1))))


def steps() -> int:
    """Training steps of a run."""
    return EPOCHS * (len(_data()[0]) // BATCH)


def begin(seed: int = 0, batch: int = BATCH) -> Begun:
    """The network and its optimizer, with weights and batches by a seed."""
    torch.manual_seed(seed)
    images, labels, others, right = _data()
    model = Digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=_RATE, momentum=_MOMENTUM, weight_decay=_DECAY)

    def epoch() -> Iterator[Callable[[], Any]]:
        for chosen in torch.randperm(len(images))[:len(images) // batch * batch].split(batch):
            yield lambda chosen=chosen: torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen])

    def score() -> Any:
        return (model(others).argmax(1) == right).float().mean()

    return Begun(model, optimizer, seed, EPOCHS, epoch, score)


@cache
def _data() -> tuple[Any, Any, Any, Any]:
    """Images and labels to train on, and to test on."""
    data, target = package("sklearn.datasets", "torch").load_digits(return_X_y=True)
    images = torch.tensor(data.reshape(-1, 1, 8, 8), dtype=torch.float32) / 16
    images = torch.nn.functional.interpolate(images, size=(_SIDE, _SIDE), mode="bilinear")
    labels = torch.tensor(target)
    test = torch.from_numpy(np.arange(len(labels)) % 3 == 0)
    return images[~test], labels[~test], images[test], labels[test]
