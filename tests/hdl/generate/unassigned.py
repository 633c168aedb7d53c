"""Finds register bits of generated Verilog that no assignment ever gives a value.

Registers start without a value there. A bit whose next value is always its own value keeps the noise of power-up for
ever, and so does a bit that is only ever copied from such bits.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

__all__ = ["unassigned"]

Bit = tuple[str, int]
"""One bit of a register, memory or wire: its name and its number."""

_VALUE: Bit = ("", 0)
"""A bit that has a value."""
_UNKNOWN: Bit = ("x", -1)
"""A bit of a constant that is x."""

_NAME = r"\\\S+ |[A-Za-z_][\w$]*"
_NAMES = re.compile(_NAME)
_MODULE = re.compile(rf"^module ({_NAME}).*?^endmodule$", re.MULTILINE | re.DOTALL)
_DECLARATION = re.compile(rf"^ *(wire|reg|input|output) (?:\[(\d+):0\] )?({_NAME})( \[\d+:0\])?;$", re.MULTILINE)
_ASSIGN = re.compile(r"^ *assign (.+?) = (.*);$", re.MULTILINE)
_CLOCKED = re.compile(rf"^ *({_NAME}) *((?:\[.*\])?) *<= (.*);$", re.MULTILINE)
_PART = re.compile(r"\]\[(?:(\d+):)?(\d+)\]$")
"""The end of the place that is written, if it is some bits of a word of a memory."""
_ROM = re.compile(rf"^ *initial.*?\n *({_NAME})\[", re.MULTILINE)
_OPERATOR = re.compile(r"(?:^| )[-+*&|^<>=!~]{1,3} ")
_TOKEN = re.compile(rf"({_NAME})|(\d+)'([bdh])([0-9a-fxz_]+)|(\d+)|(\S)")


class _ComputedError(Exception):
    """The expression is more than copies of bits, so its bits have values."""


class _Expression:
    """Parses an expression of names, constants, concatenations, choices and selecting functions into its bits.

    Each bit is the set of the bits that it may be a copy of.
    """

    def __init__(self, text: str, widths: dict[str, int]) -> None:
        self._tokens = _TOKEN.findall(text)
        self._widths = widths

    def bits(self) -> list[set[Bit]]:
        """All bits, the lowest first; :class:`_ComputedError` if the expression computes something."""
        found = self._choice()
        if self._tokens:
            raise _ComputedError
        return found

    def _next(self) -> str:
        return "".join(self._tokens[0]) if self._tokens else ""

    def _take(self, *expected: str) -> str:
        token = self._next()
        if not token or (expected and token not in expected):
            raise _ComputedError
        self._tokens.pop(0)
        return token

    def _choice(self) -> list[set[Bit]]:
        first = self._term()
        if self._next() != "?":
            return first
        self._take("?")
        true = self._choice()
        self._take(":")
        false = self._choice()
        return [a | b for a, b in zip(true, false, strict=True)]

    def _term(self) -> list[set[Bit]]:
        if not self._tokens:
            raise _ComputedError
        name, width, base, digits, _, sign = self._tokens[0]
        if sign == "{":
            return self._concatenation()
        if base:
            self._take()
            return [{bit} for bit in _constant(int(width), base, digits)]
        if not name:
            raise _ComputedError
        self._take()
        if self._next() == "(":
            return self._selection()
        if name not in self._widths:
            raise _ComputedError
        high, low = self._widths[name] - 1, 0
        if self._next() == "[":
            self._take("[")
            high = low = self._number()
            if self._take(":", "]") == ":":
                low = self._number()
                self._take("]")
        return [{(name, number)} for number in range(low, high + 1)]

    def _number(self) -> int:
        token = self._take()
        if not token.isdecimal():
            raise _ComputedError
        return int(token)

    def _concatenation(self) -> list[set[Bit]]:
        self._take("{")
        times = 1
        if self._next().isdecimal():
            times = self._number()
            inner = self._concatenation()
            self._take("}")
            return inner * times
        parts = [self._choice()]
        while self._take(",", "}") == ",":
            parts.append(self._choice())
        return [bit for part in reversed(parts) for bit in part]

    def _selection(self) -> list[set[Bit]]:
        """A function of Yosys that selects one of the words of its second argument, or else its first."""
        self._take("(")
        default = self._choice()
        self._take(",")
        words = self._choice()
        self._take(",")
        try:
            self._choice()
        except _ComputedError:
            self._tokens.clear()
        else:
            self._take(")")
        return [found.union(*words[number::len(default)]) for number, found in enumerate(default)]


def _constant(width: int, base: str, digits: str) -> Iterator[Bit]:
    """Bits of a constant, the lowest first."""
    each = {"b": 1, "h": 4, "d": width}[base]
    for number in range(width):
        digit = digits[-1 - number // each:][:1]
        yield _UNKNOWN if digit in ("x", "z") else _VALUE


class _Module:
    """The registers of one module, and what its wires copy."""

    def __init__(self, text: str) -> None:
        declared = _DECLARATION.findall(text)
        self._widths = {name: int(high or 0) + 1 for _, high, name, _ in declared}
        self._registers = {name for kind, _, name, _ in declared if kind == "reg"}
        self._clocked = _CLOCKED.findall(text)
        self._constant = _ROM.findall(text)
        # Assignments that may be copies, by the names they assign to; parsed when they are asked for.
        self._unread: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for target, value in _ASSIGN.findall(text):
            if not _OPERATOR.search(value):
                for name in _NAMES.findall(target):
                    self._unread[name].append((target, value))
        self._copied: dict[Bit, set[Bit]] = {}

    def unassigned(self) -> list[str]:
        """Bits of registers and memories that never get a value; the words of a memory are one."""
        nexts: dict[Bit, set[Bit]] = {
            (name, number): set() for name in self._registers for number in range(self._widths[name])}
        for name, place, value in self._clocked:
            memory = re.fullmatch(rf"({_NAME})\[(?!\d+(:\d+)?\]).*\]", value)
            part = _PART.search(place)
            low = int(part[2]) if part else 0
            high = int(part[1] or low) if part else self._widths[name] - 1
            bits = self._bits(memory[1] if memory else value) or [{_VALUE}] * (high - low + 1)
            for number, sources in enumerate(bits, low):
                nexts[name, number] |= self._origins(sources)
        for name in self._constant:
            nexts |= {(name, number): {_VALUE} for number in range(self._widths[name])}
        valued, left = {_VALUE}, set(nexts)
        while more := {bit for bit in left if nexts[bit] & valued}:
            valued |= more
            left -= more
        return _ranges(left)

    def _bits(self, value: str) -> list[set[Bit]] | None:
        try:
            return _Expression(value, self._widths).bits()
        except _ComputedError:
            return None

    def _origins(self, bits: Iterable[Bit]) -> set[Bit]:
        """Register bits and values that reach these bits through wires."""
        found, seen, left = set(), set(), list(bits)
        while left:
            bit = left.pop()
            if bit in seen:
                continue
            seen.add(bit)
            for target, value in self._unread.pop(bit[0], ()):
                places, sources = self._bits(target), self._bits(value)
                if places and sources:
                    self._copied |= {place.pop(): source for place, source in zip(places, sources, strict=True)}
            if bit == _UNKNOWN or bit[0] in self._registers:
                found.add(bit)
            elif bit in self._copied:
                left += self._copied[bit]
            else:
                found.add(_VALUE)
        return found


def unassigned(text: str) -> list[str]:
    """Registers and memories with bits that never get a value, as ``module: register[high:low]``.

    Parameters
    ----------
    text : str
        What :func:`cdma.hdl.generate.backend.verilog_text` wrote.
    """
    return [f"{module[1].strip()}: {each}" for module in _MODULE.finditer(text)
            for each in _Module(module[0]).unassigned()]


def _ranges(bits: Iterable[Bit]) -> list[str]:
    """Bits as ``name[high:low]``, adjacent ones together."""
    found: list[tuple[str, int, int]] = []
    for name, number in sorted(bits):
        if found and found[-1][0] == name and found[-1][2] == number - 1:
            found[-1] = name, found[-1][1], number
        else:
            found.append((name, number, number))
    return [f"{name.strip()}[{high}:{low}]" for name, low, high in found]
