"""Results as JSON: what becomes of every kind of value, and what is refused."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest

from golden.results import HIDDEN, INLINED, derived, to_json


class Kind(IntEnum):
    ONE = 1


@dataclass(frozen=True)
class Size:
    raw_bytes: int
    packed_bytes: int

    @derived
    def ratio(self) -> float:
        return self.raw_bytes / self.packed_bytes


@dataclass(frozen=True)
class Row(Size):
    name: str
    kind: Kind
    path: Path
    times: tuple[float, ...]
    parts: dict[int, Size]
    inside: Size | None = None
    spread: dict[str, float] = field(default_factory=lambda: {"mean": 2.0}, metadata=INLINED)
    content: object = field(default=None, metadata=HIDDEN)

    @derived
    def first(self) -> np.float64:
        return np.float64(self.times[0])

    @property
    def last(self) -> float:
        return self.times[-1]


ROW = Row(12, 4, "a", Kind.ONE, Path("b/c"), (1.5, 2.5), {7: Size(4, 4)}, content=object())


def test_fields_come_first_and_derived_properties_in_their_order() -> None:
    found = to_json(ROW)
    assert list(found.items()) == [
        ("raw_bytes", 12), ("packed_bytes", 4), ("name", "a"), ("kind", 1), ("path", "b/c"), ("times", [1.5, 2.5]),
        ("parts", {"7": {"raw_bytes": 4, "packed_bytes": 4, "ratio": 1.0}}), ("inside", None), ("mean", 2.0),
        ("ratio", 3.0), ("first", 1.5)]
    assert json.loads(json.dumps(found)) == found


def test_results_stay_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        ROW.name = "b"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(("value", "plain"), [
    (np.int64(3), 3), (np.bool_(True), True), (np.arange(3, dtype=np.uint8), [0, 1, 2]), ((1, [None]), [1, [None]]),
    (np.float32(0.5), 0.5), ({"a": Size(1, 1)}, {"a": {"raw_bytes": 1, "packed_bytes": 1, "ratio": 1.0}})])
def test_numpy_and_containers(value: object, plain: object) -> None:
    found = to_json(value)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize("value", [{1, 2}, object(), Size, b"bytes", [lambda: None]])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="made of dataclasses and plain values, not of"):
        to_json(value)
