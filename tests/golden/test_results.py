"""Results as JSON and back: what becomes of every kind of value, and what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.results import HIDDEN, derived, from_json, to_json


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
class Spread:
    figures: dict[str, float]

    def as_json(self) -> dict[str, float]:
        return self.figures


@dataclass(frozen=True)
class Row(Size):
    name: str
    kind: Kind
    path: Path
    times: tuple[float, ...]
    parts: dict[int, Size]
    inside: Size | None = None
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
        ("parts", {"7": {"raw_bytes": 4, "packed_bytes": 4, "ratio": 1.0}}), ("inside", None),
        ("ratio", 3.0), ("first", 1.5)]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(("value", "plain"), [
    (np.int64(3), 3), (np.bool_(True), True), (np.arange(3, dtype=np.uint8), [0, 1, 2]), ((1, [None]), [1, [None]]),
    (np.float32(0.5), 0.5), (Spread({"mean": 2.0}), {"mean": 2.0}),
    ({"a": Size(1, 1)}, {"a": {"raw_bytes": 1, "packed_bytes": 1, "ratio": 1.0}})])
def test_numpy_and_containers(value: object, plain: object) -> None:
    found = to_json(value)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize("value", [{1, 2}, object(), Size, b"bytes", [lambda: None]])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="made of dataclasses and plain values, not of"):
        to_json(value)


@dataclass(frozen=True)
class Named:
    preset: str
    size: Size
    pair: tuple[int, float] = (0, 0.0)
    many: list[Size] = field(default_factory=list)


@pytest.mark.parametrize(("kind", "value"), [
    (Row, replace(ROW, content=None)), (Named, Named("a", Size(2, 1), (1, 2.5), [Size(3, 1)])),
    (tuple[Size, ...], (Size(1, 1), Size(2, 1))), (dict[str, Size], {"a": Size(1, 1)}), (dict[int, float], {7: 0.5})])
def test_what_json_has_is_read_back(kind: type[object], value: object) -> None:
    written = json.loads(json.dumps(to_json(value)))
    found = from_json(kind, written)
    assert found == value
    assert to_json(found) == written


@pytest.mark.parametrize(("kind", "value", "sentence"), [
    (Size, {"raw_bytes": 1}, "the result has no 'packed_bytes', which Size needs"),
    (Size, {"raw_bytes": 1, "packed_bytes": 1, "more": 1}, "the result has 'more', which Size has not"),
    (Size, [1, 1], "the result must be dict, not list"),
    (Size, {"raw_bytes": 1.5, "packed_bytes": 1}, "raw_bytes must be int, not float"),
    (Size, {"raw_bytes": True, "packed_bytes": 1}, "raw_bytes must be int, not bool"),
    (Size, {"raw_bytes": None, "packed_bytes": 1}, "raw_bytes must be int, not NoneType"),
    (Named, {"preset": "a", "size": {"raw_bytes": 1, "packed_bytes": "1"}}, "size.packed_bytes must be int, not str"),
    (Named, {"preset": "a", "size": {"raw_bytes": 1, "packed_bytes": 1}, "pair": [1]}, "pair must have 2 items, not 1"),
    (tuple[Size, ...], [{"raw_bytes": 1, "packed_bytes": 1}, {"raw_bytes": 1}], "[1] has no 'packed_bytes'"),
    (dict[str, Size], {"a": 1}, "['a'] must be dict, not int"),
    (float | None, "1", "must be float, not str")])
def test_other_json_is_refused_with_its_place(kind: type[object], value: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        from_json(kind, value)


@pytest.mark.parametrize("kind", [set[int], object, bytes])
def test_types_that_results_are_not_made_of_are_refused(kind: type[object]) -> None:
    with pytest.raises(TypeError, match="a result is not made of"):
        from_json(kind, 1)
