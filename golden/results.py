"""Converts results, which are frozen dataclasses or say themselves what JSON has of them, to JSON and back.

It is in a package at the bottom and imports nothing of the project, so that all packages above may import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["HIDDEN", "derived", "from_json", "to_json"]

_Result = TypeVar("_Result")

HIDDEN = MappingProxyType({"json": "hidden"})
"""Metadata of a field that is left out of JSON."""


class derived(property):  # noqa: N801 - a decorator, as property is
    """A property that is written to JSON too: after the fields, in the order of definition."""


def to_json(value: Any) -> Any:
    """Convert a result to plain values for :func:`json.dumps`.

    Whatever has a method ``as_json`` becomes what that gives. Other dataclasses become objects: their fields, then
    their :class:`derived` properties. Mappings stay objects, sequences become arrays, enumerations their values, paths
    text, and NumPy's numbers and arrays plain numbers and arrays.

    Raises
    ------
    TypeError
        If the result has a value of any other type.
    """
    if isinstance(value, Enum):
        return to_json(value.value)
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    if hasattr(value, "as_json"):
        return to_json(value.as_json())
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(getattr(value, name)) for name in (*_shown(value), *_derived(type(value)))}
    raise TypeError(f"a result must be made of dataclasses and plain values, not of {type(value).__name__}")


def _shown(kind: Any) -> list[str]:
    return [entry.name for entry in fields(kind) if entry.metadata != HIDDEN]


def _derived(kind: type) -> list[str]:
    """Names of the derived properties of a dataclass, those of its bases first."""
    return list({name: None for base in reversed(kind.__mro__) for name, member in vars(base).items()
                 if isinstance(member, derived)})


def from_json(kind: type[_Result], value: Any) -> _Result:
    """What :func:`to_json` gave plain values of: the way back.

    Derived properties are not read: they are calculated again. A field that JSON does not have takes its default.

    Parameters
    ----------
    kind
        A dataclass whose fields have type hints; or a type such as ``tuple[Row, ...]``, ``dict[str, Row]`` or
        ``Row | None``.
    value
        What :func:`json.loads` gives.

    Raises
    ------
    ValueError
        If it is no such value, or a field is missing or unknown; the message says where.
    TypeError
        If ``kind`` is a type that results are not made of.
    """
    return _read(kind, value, "")


def _read(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(arguments, value, place)
    if origin in (tuple, list):
        items = _checked(list, value, place)
        if origin is tuple and arguments[-1] is not Ellipsis:
            if len(items) != len(arguments):
                raise ValueError(f"{place or 'the result'} must have {len(arguments)} items, not {len(items)}")
            return tuple(_read(each, item, f"{place}[{n}]") for n, (each, item) in enumerate(zip(arguments, items,
                                                                                               strict=True)))
        return origin(_read(arguments[0], item, f"{place}[{n}]") for n, item in enumerate(items))
    if origin in (dict, Mapping):
        return {_key(arguments[0], key, place): _read(arguments[1], item, f"{place}[{key!r}]")
                for key, item in _checked(dict, value, place).items()}
    if kind is Any:
        return value
    if not isinstance(kind, type):
        raise TypeError(f"a result is not made of {kind}")
    if is_dataclass(kind):
        return _object_of(kind, _checked(dict, value, place), place)
    if issubclass(kind, (Enum, PurePath)):
        return kind(value)
    if kind in (bool, int, float, str, NoneType):
        return _checked(kind, value, place)
    raise TypeError(f"a result is not made of {kind.__name__}")


def _one_of(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    """A value of the first of these types that it fits."""
    refusals = []
    for kind in kinds:
        try:
            return _read(kind, value, place)
        except ValueError as error:
            refusals.append(str(error))
    # None fits nothing but None: the other refusals say more.
    raise ValueError(refusals[0])


def _key(kind: Any, key: str, place: str) -> Any:
    return _read(kind, int(key) if kind is int else key, place)


def _checked(kind: Any, value: Any, place: str) -> Any:
    # JSON has one kind of number: a whole one may stand for a float. But True is a number to isinstance alone.
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{place or 'the result'} must be {kind.__name__}, not {type(value).__name__}")
    return value


def _object_of(kind: Any, value: Mapping[str, Any], place: str) -> Any:
    hints, names = get_type_hints(kind), _shown(kind)
    if unknown := sorted(set(value).difference(names, _derived(kind))):
        raise ValueError(f"{place or 'the result'} has {unknown[0]!r}, which {kind.__name__} has not")
    for entry in fields(kind):
        if entry.name not in value and entry.default is MISSING and entry.default_factory is MISSING:
            raise ValueError(f"{place or 'the result'} has no {entry.name!r}, which {kind.__name__} needs")
    return kind(**{name: _read(hints[name], value[name], f"{place}.{name}".lstrip(".")) for name in names
                   if name in value})
