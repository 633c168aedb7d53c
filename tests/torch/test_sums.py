"""The dense worked example: its text and its training; test_docs.py looks at what it learns, and at the dump."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cdma.workload.capturing import sums, training
from cdma.workload.capturing.example import example
from cdma.workload.capturing.training import step, train

torch: Any = import_module("torch")


def test_every_line_is_a_sum() -> None:
    numbers = {sums.in_words(number): number for number in range(200)}
    assert len(numbers) == 200
    assert [sums.in_words(number) for number in (0, 13, 20, 42, 100, 101, 119, 199)] == [
        "zero", "thirteen", "twenty", "forty-two", "one hundred", "one hundred one", "one hundred nineteen",
        "one hundred ninety-nine"]
    lines = sums.text(500).splitlines()
    assert len(set(lines)) > 450
    for line in lines:
        left, _, right = line.removesuffix(".").partition(" is ")
        one, _, other = left.partition(" plus ")
        assert numbers[one] + numbers[other] == numbers[right]
    assert max(map(len, lines)) < sums.CONTEXT


def test_products_where_those_of_bfloat16_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly the same numbers; and autograd saves the same tensors."""
    found = []
    for slow in (False, True):
        monkeypatch.setattr(training, "_slow_products", lambda slow=slow: slow)
        begun, saved = sums.begin(batch=2), []

        def pack(tensor: Any, saved: list[Any] = saved) -> Any:
            saved.append((tensor.shape, tensor.stride(), tensor.dtype))
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = step(begun, next(begun.epoch()))
        found.append((saved, loss, torch.cat([each.grad.flatten() for each in begun.model.parameters()])))
    (plain, one, slope), (wide, other, its) = found
    assert wide == plain and other == pytest.approx(one, rel=1e-4)
    assert (its - slope).norm() < 0.01 * slope.norm()


def test_it_is_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "EPOCHS", 1)
    monkeypatch.setattr(sums, "_STEPS", 5)
    first, second, other = (train(sums.begin(seed)) for seed in (0, 0, 1))
    assert first == second
    assert first.losses != other.losses


def test_choices_that_do_not_fit(tmp_path: Path) -> None:
    for network in sums.PERCEPTRONS:
        with pytest.raises(ValueError, match=f"the example {network} is not narrowed"):
            example(tmp_path / "dump", network, "bfloat16")
    with pytest.raises(ValueError, match="there is no example 'rnn': there are cnn, gpt, relu2, llama"):
        example(tmp_path / "dump", "rnn")
