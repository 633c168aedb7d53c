"""Reads circuits of AND gates and registers in the binary AIGER format, as Yosys writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Circuit", "read"]


@dataclass(frozen=True)
class Circuit:
    """A circuit. A literal is twice the number of a variable, plus 1 if it is inverted; variable 0 is false.

    Variables are numbered in the order false, inputs, registers, gates.

    Parameters
    ----------
    inputs : int
        How many there are.
    registers : tuple of int
        The literal that each takes in the next cycle; all begin with 0.
    gates : tuple of (int, int)
        The two literals of each; they refer to variables of smaller numbers.
    outputs : dict of str to int
        Literals by name.
    """

    inputs: int
    registers: tuple[int, ...]
    gates: tuple[tuple[int, int], ...]
    outputs: dict[str, int]


def read(path: Path) -> Circuit:
    """The circuit in a file.

    Raises
    ------
    ValueError
        If the file is no binary AIGER file, if a register does not begin with 0, or if an output has no name.

    Source: Biere, "AIGER 1.9 and beyond", 2011.
    """
    content = path.read_bytes()
    lines, place = _lines(content)
    first = next(lines).split()
    if first[0] != b"aig" or any(int(number) for number in first[6:]):
        raise ValueError(f"{path} must be a binary AIGER file with outputs only, not {first!r}")
    inputs, registers, outputs, gates = map(int, first[2:6])
    following = []
    for line in (next(lines) for _ in range(registers)):
        literal, *initial = map(int, line.split())
        if initial not in ([], [0]):
            raise ValueError(f"{path}: registers must begin with 0")
        following.append(literal)
    literals = [int(next(lines)) for _ in range(outputs)]
    differences = _numbers(content, place)
    pairs = []
    for gate in range(gates):
        greater = 2 * (1 + inputs + registers + gate) - next(differences)
        pairs.append((greater, greater - next(differences)))
    names = {}
    for line in content[place[0]:].split(b"\nc")[0].splitlines():
        key, _, name = line.decode().partition(" ")
        if key[0] == "o":
            names[name.strip()] = literals[int(key[1:])]
    if len(names) != outputs:
        raise ValueError(f"{path}: each of the {outputs} outputs must have a name of its own, not {sorted(names)}")
    return Circuit(inputs, tuple(following), tuple(pairs), names)


def _lines(content: bytes) -> tuple[Iterator[bytes], list[int]]:
    """Lines one by one, and a list that holds the place behind the last one."""
    place = [0]

    def each() -> Iterator[bytes]:
        while True:
            end = content.index(b"\n", place[0])
            line, place[0] = content[place[0]:end], end + 1
            yield line
    return each(), place


def _numbers(content: bytes, place: list[int]) -> Iterator[int]:
    """Numbers of seven bits in a byte, the lowest first; the place moves on."""
    while True:
        value, shift = 0, 0
        while True:
            byte = content[place[0]]
            place[0] += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield value
