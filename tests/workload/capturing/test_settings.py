"""What is captured: steps, modules, samples and names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.workload.capturing.settings import CaptureError, Names, Settings, prefix, sample
from cdma.workload.characterise.arrays import characterise_array


def test_steps() -> None:
    assert [step for step in range(12) if Settings(every=5).due(step)] == [0, 5, 10]
    assert [step for step in range(12) if Settings(every=5, steps=(3, 4, 11)).due(step)] == [3, 4, 11]


def test_modules_are_chosen_by_name_or_class() -> None:
    chosen = Settings(modules=("features.*", "ReLU"))
    assert chosen.wanted("features.3", "Conv2d")
    assert chosen.wanted("relu1", "ReLU")
    assert not chosen.wanted("classifier", "Linear")


def test_patterns_without_a_module_are_an_error() -> None:
    there = [("", "Net"), ("conv1", "Conv2d"), ("fc", "Linear")]
    Settings(modules=("nothing", "fc")).check_modules(there)
    with pytest.raises(CaptureError, match=r"^no module fits cnov\*: there are conv1, fc$"):
        Settings(modules=("cnov*",)).check_modules(there)


@pytest.mark.parametrize(("choice", "message"), [
    ({"every": 0}, "every must be a whole number of 1 or more, not 0"),
    ({"every": True}, "every must be a whole number of 1 or more, not True"),
    ({"max_array": -1}, "max_array must be a whole number of 0 or more, not -1"),
    ({"max_total": 1.5}, r"max_total must be a whole number of 0 or more, not 1\.5"),
    ({"steps": (1, -2)}, r"steps must be whole numbers of 0 or more, not \[1, -2\]"),
    ({"steps": ()}, r"steps must be whole numbers of 0 or more, not \[\]"),
    ({"modules": ()}, "modules must be one pattern or more"),
    ({"form": "pt"}, "form must be npz or safetensors, not 'pt'"),
])
def test_choices_that_are_not_allowed(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**choice)


def test_names_of_a_module_are_numbered() -> None:
    names = Names()
    assert [names.next(module) for module in ("relu", "conv", "relu", "relu")] == ["relu", "conv", "relu#2", "relu#3"]


@pytest.mark.parametrize("step", [0, 10, 1234567])
def test_names_are_read_as_steps(step: int) -> None:
    array = characterise_array(np.zeros(4, np.float32), f"{prefix(step)}/features.3#2")
    assert (array.step, array.step_unit, array.layer) == (step, "step", "features.3#2")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.sampled_from([1, 2, 4, 8]), st.integers(0, 5000))
def test_a_sample_is_the_largest_that_fits(shape: list[int], size: int, limit: int) -> None:
    fitting = [count for count in range(1, shape[0] + 1) if np.empty((count, *shape[1:]), f"V{size}").nbytes <= limit]
    assert sample(shape, size, limit) == max(fitting, default=None)


def test_samples_of_single_and_of_no_values() -> None:
    assert [sample((), 4, 4), sample((), 4, 3), sample((5, 0), 4, 0)] == [1, None, 5]
