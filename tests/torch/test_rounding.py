"""Training with rounded activations, against PyTorch's own casts."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.workload.capturing import digits
from cdma.workload.capturing.example import accuracies
from cdma.workload.capturing.rounding import rounded
from cdma.workload.capturing.training import train as train_example
from tests.torch.networks import Plain, Residual, images, torch, train


def cast(model: Any, kind: Any) -> Any:
    """Hooks that cast all but weights there and back."""
    weights = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}

    def pack(tensor: Any) -> Any:
        plain = not tensor.is_floating_point() or tensor.data_ptr() in weights
        return tensor if plain else tensor.to(kind).to(tensor.dtype)

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)


@pytest.mark.parametrize("make", [Plain, Residual])
@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_gradients_are_those_of_activations_cast_by_pytorch(name: str, make: Any) -> None:
    ours = train(make, lambda model: rounded(model, name))
    theirs = train(make, lambda model: cast(model, getattr(torch, name)))
    assert ours[0] == theirs[0]
    assert all(torch.equal(*pair) for pair in zip(ours[1], theirs[1], strict=True))
    assert ours[0] != train(make)[0]


def test_forward_is_exact() -> None:
    torch.manual_seed(0)
    model = Plain()
    plain = model(images())
    with rounded(model, "float8_e4m3"):
        assert torch.equal(model(images()), plain)


def test_none_is_training_as_it_is() -> None:
    assert train(Plain, lambda model: rounded(model, None))[0] == train(Plain)[0]


def test_no_such_format() -> None:
    with pytest.raises(ValueError, match="there is no format 'int8' to narrow activations to: there are float16"), \
            rounded(Plain(), "int8"):
        pass


def test_accuracies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "EPOCHS", 2)
    found = accuracies([None, "bfloat16"], 2)
    assert [entry["narrow"] for entry in found] == [None, "bfloat16"]
    for entry in found:
        first, second = (train_example(digits.begin(seed), entry["narrow"]) for seed in (0, 1))
        assert entry["runs"] == [first, second]
        assert entry["accuracy"] == pytest.approx((first.accuracy + second.accuracy) / 2)
        assert entry["spread"] == pytest.approx(abs(first.accuracy - second.accuracy) / 2 ** 0.5)
        assert entry["loss"] == pytest.approx((first.losses[-1] + second.losses[-1]) / 2)
