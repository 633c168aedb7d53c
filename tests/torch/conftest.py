"""PyTorch with one thread: networks of tests are small, and threads that wait for each other take whole cores."""

from __future__ import annotations

import os

import pytest

os.environ["OMP_NUM_THREADS"] = "1"     # before PyTorch is imported, and for processes that tests start

_LONG = ("test_docs.py", "test_train_command.py", "test_rounding.py")
"""Files whose tests train an example or compile an engine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes a minute, so that no worker is left with it at the end."""
    items.sort(key=lambda item: item.path.parent.name != "torch" or item.path.name not in _LONG)
