"""Rows of layers, with alike blocks in one row each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["alike_blocks"]

_NUMBERED = re.compile(r"(.*?)(\d+)/")
_DIGITS = 5  # of times that count as equal; sums of floating-point numbers differ behind them


def alike_blocks(layers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The layers, those of successive blocks that compute and offload alike once.

    Their name says which blocks they are: ``block2..31/norm1``. Stalls are the mean of these blocks.
    """
    found: list[dict[str, Any]] = []
    run: list[tuple[int, list[dict[str, Any]]]] = []
    for number, block in _blocks(layers):
        before = run[-1] if run else None
        if (number is None or before is None or number != before[0] + 1
                or _shape(block, number) != _shape(before[1], before[0])):
            found += _merged(run)
            run = []
        if number is None:
            found += block
        else:
            run.append((number, block))
    return found + _merged(run)


def _blocks(layers: Sequence[dict[str, Any]]) -> Iterator[tuple[int | None, list[dict[str, Any]]]]:
    """Successive layers whose names begin alike, with the number of the block; None where there is none."""
    prefix: str | None = None
    block: list[dict[str, Any]] = []
    for layer in layers:
        found = _NUMBERED.match(layer["layer"])
        own = found[0] if found else None
        if block and own != prefix:
            yield _number(prefix), block
            block = []
        prefix = own
        block.append(layer)
    if block:
        yield _number(prefix), block


def _number(prefix: str | None) -> int | None:
    found = prefix and _NUMBERED.match(prefix)
    return int(found[2]) if found else None


def _shape(block: Sequence[dict[str, Any]], number: int) -> list[tuple[object, ...]]:
    """What alike blocks have in common, whatever their numbers."""
    return [(_renamed(layer["layer"], number, "", ""), f"{layer['forward_ms']:.{_DIGITS}g}",
             f"{layer['backward_ms']:.{_DIGITS}g}", layer["offload_bytes"],
             [_renamed(name, number, "", "-") for name in layer["offloads"]]) for layer in block]


def _renamed(name: str, number: int, own: str, before: str) -> str:
    """A name with other text for the block's number, and for that of the block before it."""
    found = _NUMBERED.match(name)
    if found is None or int(found[2]) not in (number, number - 1):
        return name
    return f"{found[1]}{own if int(found[2]) == number else before}{name[found.end(2):]}"


def _merged(run: Sequence[tuple[int, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    if len(run) < 2:
        return [layer for _, block in run for layer in block]
    (first, rows), last = run[0], run[-1][0]
    own, before = f"{first}..{last}", f"{first - 1}..{last - 1}"
    found = []
    for place, layer in enumerate(rows):
        several = [block[place]["stall_ms"] for _, block in run]
        stalls = {row: {way: sum(one[row].get(way, 0.0) for one in several) / len(run) for way in ways}
                  for row, ways in layer["stall_ms"].items()}
        found.append(layer | {"layer": _renamed(layer["layer"], first, own, before), "stall_ms": stalls, "offloads": [
            _renamed(name, first, own, before) for name in layer["offloads"]]})
    return found
