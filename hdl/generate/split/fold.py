"""Puts the expressions of a module together, which Yosys writes as one signal for each operation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from cdma.hdl.generate.split.expressions import AUTO, Folded, Operand, Role, operands, target_width, uses, width
from cdma.hdl.generate.split.source import Assignment, Connected, Source

__all__ = ["Folding"]

_CLOCKED = re.compile(r"^( *)(?!if\b)(\S.*?) <= (.*);$", re.MULTILINE)
_IF = re.compile(r"^( *if \()(.*)(\)(?: begin)?)$", re.MULTILINE)
_LOW_BITS = ("+", "-", "*")
"""Operators whose lower bits do not depend on upper bits of their operands."""
_OF_ONE_BIT = ("==", "!=", "<", "<=", ">", ">=", "unary!", "unary|", "unary&", "unary^")
"""Operators whose result is one bit, whatever stands around them."""
_MOST_LOGIC, _MOST_ARMS, _MOST_VALUE = 90, 40, 60
"""Characters of a condition inside another, arms of a choice, and characters of any other expression in a choice."""

_VALUE_ROLES = ("copy", "then", "else")
_LOGIC_ROLES = ("logic", "condition", "braces", *_VALUE_ROLES)


class Folding:
    """The expressions of a module, each at the place where it is used if that is one place.

    An expression takes the place of a name only where that has no influence on its width and sign: of one bit anywhere
    between bits, and all others only where they are given to something that is as wide.

    Parameters
    ----------
    source : Source
        The module. Its texts stay as they are.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._widths = {name: one.width for name, one in source.declared.items() if one.words is None}
        self._sizes = {name: one.width for name, one in source.declared.items()}
        self._defined = {one.target: one.value for one in source.assignments if self._is_auto(one.target)}
        self._narrow()
        self._roles: defaultdict[str, list[Role]] = defaultdict(list)
        for operand in self._all_operands():
            for name, role in uses(operand):
                self._roles[name].append(role)
        self._inlined: dict[str, Folded] = {}
        self._kept: set[str] = set()
        self._fold()
        self.gone = {name for name in self._defined if name in self._inlined or name not in self._roles}
        """Signals that are not needed any more."""

    def width(self, name: str) -> int:
        """Bits of a signal, or of a row of a memory."""
        return self._sizes[name]

    def value(self, text: str, target: str) -> Folded:
        """What is assigned to a target."""
        return self._folded(*operands(self._cut(text), target_width(target, self._sizes), self._widths))

    def process(self, text: str) -> str:
        """The text of a process of more than one assignment."""
        def assigned(found: re.Match[str]) -> str:
            place = self._put(Operand(found[2], "other"))
            return f"{found[1]}{place} <= {self.value(found[3], found[2]).line};"

        text = _CLOCKED.sub(assigned, self._cut(text))
        return _IF.sub(lambda found: found[1] + self._condition(found[2]) + found[3], text)

    def _condition(self, text: str) -> str:
        """What is between the parentheses of an ``if``."""
        inlined = self._inlined.get(text)
        return inlined.line if inlined else self._put(Operand(text, "other"))

    def connection(self, text: str) -> str:
        """What a port of an instance is connected to."""
        return self._put(Operand(self._cut(text), "other"))

    def _is_auto(self, name: str) -> bool:
        return bool(AUTO.fullmatch(name)) and name in self._widths and not self._source.declared[name].register

    def _narrow(self) -> None:
        """Sums of which only lower bits are used get no other bits, so that these uses are of the whole signal."""
        taken: defaultdict[str, set[str]] = defaultdict(set)
        for text in self._texts():
            for name, bits in AUTO.findall(text):
                taken[name].add(bits)
        self._low: dict[str, str] = {}
        for name, value in self._defined.items():
            if len(taken[name]) == 1 and (bits := next(iter(taken[name]))) and bits.endswith((":0]", "[0]")):
                operator, parts = operands(value, None, self._widths)
                high = int(bits[1:-1].split(":")[0])
                sizes = [width(part.text, self._widths) for part in parts]
                if operator in _LOW_BITS and all(size is not None and size <= high + 1 for size in sizes):
                    self._low[name] = bits
                    self._widths[name] = self._sizes[name] = high + 1

    def _cut(self, text: str) -> str:
        """A text in which narrower signals stand without their bits."""
        return AUTO.sub(lambda found: found[1] if found[2] and self._low.get(found[1]) == found[2] else found[0], text)

    def _texts(self) -> Iterator[str]:
        """All texts in which signals are used."""
        for statement in self._source.statements:
            if isinstance(statement, Assignment):
                yield statement.value
                yield statement.target if not self._is_auto(statement.target) else ""
            elif isinstance(statement, Connected):
                yield from statement.ports.values()
            else:
                yield statement

    def _all_operands(self) -> Iterator[Operand]:
        """All operands of the module."""
        for statement in self._source.statements:
            if isinstance(statement, Assignment):
                yield from operands(self._cut(statement.value), target_width(statement.target, self._sizes),
                                    self._widths)[1]
                if not self._is_auto(statement.target):
                    yield Operand(statement.target, "target")
            elif isinstance(statement, Connected):
                yield from (Operand(self._cut(text), "other") for text in statement.ports.values())
            else:
                yield from self._operands_of_process(self._cut(statement))

    def _operands_of_process(self, text: str) -> Iterator[Operand]:
        for _, target, value in _CLOCKED.findall(text):
            yield Operand(target, "other")
            yield from operands(value, target_width(target, self._sizes), self._widths)[1]
        for _, condition, _ in _IF.findall(text):
            yield Operand(condition, "condition" if AUTO.fullmatch(condition) else "other")

    def _fold(self) -> None:
        """Folds every definition, those below first, and decides which take the place of their names."""
        for name in self._order():
            folded = self.value(self._defined[name], name)
            if self._fits(name, folded):
                self._inlined[name] = folded

    def _order(self) -> list[str]:
        """Definitions, each behind those that it uses; a loop, of bits that do not depend on each other, is cut."""
        found: list[str] = []
        seen: set[str] = set()
        for start in self._defined:
            stack = [(start, False)]
            while stack:
                name, done = stack.pop()
                if done:
                    found.append(name)
                elif name not in seen:
                    seen.add(name)
                    stack.append((name, True))
                    stack += [(each[1], False) for each in AUTO.finditer(self._defined[name])
                              if each[1] in self._defined and each[1] not in seen]
        return found

    def _fits(self, name: str, folded: Folded) -> bool:
        """Whether an expression takes the place of a name wherever that is used."""
        roles, bits = self._roles[name], self._widths[name]
        if name in self._kept or not roles:
            return False
        operator, parts = self._operation(name)
        if not operator and parts[0].role == "copy":
            plain = folded.text.isidentifier()
            return not folded.kind and (plain or "bits" not in roles) and (len(roles) == 1 or "{" not in folded.text)
        short = len(folded.line) <= _MOST_VALUE
        sizes = [width(part.text, self._widths) for part in parts]
        if operator == "?":
            chained = roles in (["else"], ["copy"]) and len(folded.arms) < _MOST_ARMS
            places = _LOGIC_ROLES if bits == 1 else ("then",)
            return parts[1].role == "then" and (chained or (len(roles) == 1 and roles[0] in places and short))
        if bits == 1 and (parts[0].role == "logic" or operator in _OF_ONE_BIT):
            negated = operator in ("unary~", "unary!") and len(folded.text) <= 20
            return (all(role in _LOGIC_ROLES for role in roles) and len(folded.line) <= _MOST_LOGIC
                    and (len(roles) == 1 or negated))
        if operator in _LOW_BITS and short and all(size is not None and size <= bits for size in sizes):
            return len(roles) == 1 and roles[0] in _VALUE_ROLES
        return roles == ["copy"]

    def _operation(self, name: str) -> tuple[str, list[Operand]]:
        """The operator and the operands of a definition, or of that of which it is a copy."""
        while True:
            operator, parts = operands(self._cut(self._defined[name]), self._widths[name], self._widths)
            if operator or parts[0].role != "copy" or parts[0].text not in self._inlined:
                return operator, parts
            name = parts[0].text

    def _folded(self, operator: str, parts: list[Operand]) -> Folded:
        """An expression with what takes the place of the names in it."""
        if operator == "?":
            condition, then, last = self._put(parts[0]), self._put(parts[1]), parts[2]
            behind = self._inlined.get(last.text) if last.role == "else" else None
            if behind is None:
                return Folded(self._put(last), arms=[(condition, then)], operator="?")
            if behind.operator and not behind.arms:
                return Folded(behind.text, arms=[(condition, then)], operator="?")
            return Folded(behind.text, arms=[(condition, then), *behind.arms], operator="?")
        if operator.startswith("unary"):
            return Folded(operator.removeprefix("unary") + self._put(parts[0], operator), operator)
        if len(parts) == 2:
            return Folded(f"{self._put(parts[0], operator, first=True)} {operator} {self._put(parts[1], operator)}",
                          operator)
        (only,) = parts
        if not operator and only.role == "copy" and only.text in self._inlined:
            return self._inlined[only.text]
        return Folded(self._put(only, ","), operator)

    def _put(self, operand: Operand, operator: str = "?", *, first: bool = False) -> str:
        """An operand with what takes the place of the names in it."""
        whole = AUTO.fullmatch(operand.text) is not None

        def place(found: re.Match[str]) -> str:
            folded = self._inlined.get(found[1])
            if folded is None:
                self._kept.add(found[1])
                return found[0]
            if found[2]:
                return folded.text + found[2]
            return folded.inside(operator, first=first) if whole else folded.line

        return AUTO.sub(place, operand.text)
