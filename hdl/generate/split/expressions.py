"""Expressions of Yosys's Verilog: their operands, their widths, and how one stands inside another.

Yosys writes one operation a line, with spaces around operators and operands that are names, bits of names, constants
and concatenations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["AUTO", "Folded", "Operand", "Role", "operands", "target_width", "uses", "width"]

AUTO = re.compile(r"\b(_\d+_)(\[[\d:]+\])?")
"""A signal that Yosys named, with the bits that are taken of it."""

_ATOM = re.compile(r"(\w+)(?:\[(\d+)(?::(\d+))?\])?")
_CONSTANT = re.compile(r"(\d+)'")
_REPEATED = re.compile(r"(\d+)(\{.*\})", re.DOTALL)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_BITWISE = ("&", "|", "^")
_OPEN, _CLOSE = "({[", ")}]"

Role = str
"""What an operand is for. The width and the sign of ``logic``, ``condition`` and ``braces`` are its own; ``copy``,
``then`` and ``else`` are as wide as what they are given to; nothing is known of ``other`` and of ``bits``, which are
taken of a name."""


@dataclass(frozen=True)
class Operand:
    """An operand and its role."""

    text: str
    role: Role


@dataclass
class Folded:
    """An expression: its operator, as :func:`operands` names it, and the arms of a choice.

    A choice is ``arms``, each a condition and a value, and then ``text``, the value if no condition holds.
    """

    text: str
    operator: str = ""
    arms: list[tuple[str, str]] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The expression in one line."""
        return "".join(f"{condition} ? {value} : " for condition, value in self.arms) + self.text

    @property
    def kind(self) -> str:
        """The operator, ``?`` for a choice."""
        return "?" if self.arms else self.operator

    def inside(self, operator: str, *, first: bool = False) -> str:
        """The expression as an operand, in parentheses where it needs them or is clearer with them.

        Parameters
        ----------
        operator : str
            Whose operand it is.
        first : bool
            Whether it is its first one: ``a & b & c`` is ``(a & b) & c``, another netlist than ``a & (b & c)``.
        """
        alone = not self.kind
        same = first and self.kind == operator and operator in _BITWISE
        unary = self.kind.startswith("unary") and not operator.startswith("unary")
        return self.line if alone or same or unary else f"({self.line})"


def _items(text: str, separator: str) -> list[str]:
    """Parts of a text between separators that are not in parentheses, brackets or braces."""
    found, depth, start = [], 0, 0
    for place, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if char == separator and not depth:
            found.append(text[start:place])
            start = place + 1
    return [item.strip() for item in [*found, text[start:]] if item.strip()]


def width(text: str, widths: Mapping[str, int]) -> int | None:
    """Bits of an operand, or None if it is more than names, constants and concatenations of them."""
    if constant := _CONSTANT.match(text):
        return int(constant[1])
    if text.startswith("{") and text.endswith("}"):
        parts = [width(item, widths) for item in _items(text[1:-1], ",")]
        return None if None in parts else sum(filter(None, parts))
    if repeated := _REPEATED.fullmatch(text):
        inner = width(repeated[2], widths)
        return None if inner is None else int(repeated[1]) * inner
    found = _ATOM.fullmatch(text)
    if found is None or found[1] not in widths:
        return None
    return widths[found[1]] if found[2] is None else int(found[2]) - int(found[3] or found[2]) + 1


def target_width(text: str, widths: Mapping[str, int]) -> int | None:
    """Bits of what is assigned to, which may be a word of a memory or a part of one."""
    name, *places = re.split(r"(?=\[)", text, maxsplit=1)
    if places and (inner := _items(places[0].replace("][", "] ["), " ")) and name in widths:
        part = width(f"{name}{inner[-1]}", widths)
        return part if part is not None else widths[name]
    return width(text, widths)


def operands(text: str, bits: int | None, widths: Mapping[str, int]) -> tuple[str, list[Operand]]:
    """The operator of an expression that is given to ``bits`` bits, and its operands.

    The operator is empty for an operand alone, ``unary`` and the sign for a sign in front of one, ``?`` for a choice,
    and ``other`` for what is more than one operation.
    """
    items = _items(text, " ")
    sizes = [width(item, widths) for item in items]
    if len(items) == 1:
        return "", [Operand(text, "copy" if sizes[0] == bits is not None else "other")]
    if len(items) == 2 and items[0] in ("~", "!", "&", "|", "^"):
        return f"unary{items[0]}", [Operand(items[1], "logic" if sizes[1] == bits == 1 else "other")]
    if len(items) == 3 and items[1] in (*_BITWISE, *_COMPARISONS, "+", "-", "*", "<<", ">>"):
        logic = items[1] in _BITWISE and sizes[0] == sizes[2] == bits == 1
        return items[1], [Operand(item, "logic" if logic else "other") for item in (items[0], items[2])]
    if len(items) == 5 and items[1::2] == ["?", ":"]:
        fit = sizes[2] == sizes[4] == bits is not None
        return "?", [Operand(items[0], "condition"), Operand(items[2], "then" if fit else "other"),
                     Operand(items[4], "else" if fit else "other")]
    return "other", [Operand(text, "other")]


def uses(operand: Operand) -> Iterator[tuple[str, Role]]:
    """Yosys's names in an operand, each with its role there."""
    whole = AUTO.fullmatch(operand.text)
    for found in AUTO.finditer(operand.text):
        if found[2]:
            yield found[1], "bits"
        elif whole:
            yield found[1], operand.role
        else:
            yield found[1], "braces" if _bracket(operand.text[:found.start()]) == "{" else "other"


def _bracket(before: str) -> str:
    """The last bracket that is open behind a text, or nothing."""
    depth = 0
    for char in reversed(before):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth > 0:
            return char
    return ""
