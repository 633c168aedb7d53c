"""Writes a module in Verilog-2005 for readers: plain names, expressions put together, short lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cdma.hdl.generate.split.expressions import AUTO, Folded
from cdma.hdl.generate.split.fold import Folding
from cdma.hdl.generate.split.names import PlainNames
from cdma.hdl.generate.split.source import Assignment, Connected, Declaration, Source

__all__ = ["MOST", "constants", "module_text", "repetitions", "wrapped"]

MOST = 120
"""Characters of a line."""

_REGISTER = re.compile(r"always @\((.*?)\)\s+(\S[^;]*?) <= ([^;]*);")
_LOADED = re.compile(r"^ *(_\d+_) <= (\w+)\[", re.MULTILINE)
_FIELD = re.compile(r"\w+\[[\d:]+\]")
_AUTO = re.compile(r"\b(?:select)?_\d+_(?!\w)")
_CONSTANT = re.compile(r"\b(\d+)'([hb])([0-9a-fxz?]+)")
_DIGITS = {"h": 4, "b": 1}
_REPEATED = re.compile(r"(?<![\w\[\]:'])([\w\[\]:']+)((?:, \1){3,})(?![\w\[\]:'])")
_MOST_DIGITS, _DIGITS_OF_A_PART = 96, 64
_FUNCTION = re.compile(r"function .*?(\w+);")
_WORDS = {
    "": "bits", "?": "choice", "other": "selected", "unary~": "not", "unary!": "none", "unary|": "any",
    "unary&": "all", "unary^": "parity", "&": "and", "|": "or", "^": "xor", "+": "sum", "-": "difference",
    "*": "product", "<<": "shifted", ">>": "shifted", "==": "equal", "!=": "unequal", "<": "less", "<=": "at_most",
    ">": "greater", ">=": "at_least",
}
"""Names of values that nobody named, by the operator that makes them."""


def module_text(source: Source, ports: Sequence[str]) -> str:
    """A module in Verilog-2005.

    Parameters
    ----------
    source : Source
        The module as Yosys wrote it.
    ports : sequence of str
        Its ports, in the order in which they are written.
    """
    writer = _Writer(source)
    lines = [*writer.head(ports), *writer.declarations(), *writer.functions(), *writer.statements(), "endmodule"]
    names = writer.names()
    found: list[str] = []
    for line in lines:
        text = repetitions(constants(_AUTO.sub(lambda auto: names[auto[0]], line)))
        found += wrapped(text.strip(), len(text) - len(text.lstrip())) if text else [""]
    return "\n".join([*found, ""])


class _Writer:
    """The lines of a module, of any length and with Yosys's names, and the names in their place."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._folding = Folding(source)
        self._declared = [one for name, one in source.declared.items() if name not in self._folding.gone]
        self._fields: dict[str, str] = {}
        for one in source.assignments:
            if _FIELD.fullmatch(one.value) and one.target.startswith(one.value.split("[")[0] + "_"):
                self._fields.setdefault(one.value, one.target)

    def head(self, ports: Sequence[str]) -> Iterator[str]:
        """The module and its ports."""
        found = [self._source.declared[port] for port in ports]
        yield f"module {self._source.name} ("
        for one in found:
            yield from (f"  {attribute}" for attribute in one.attributes)
            kind = "reg" if one.register else "wire"
            yield f"  {one.direction} {kind} {self._range(one)}{one.name}{'' if one is found[-1] else ','}"
        yield ");"

    def declarations(self) -> Iterator[str]:
        """Signals and memories that are no ports."""
        inner = [one for one in self._declared if not one.direction]
        for group in ([one for one in inner if one.words is not None],
                      [one for one in inner if one.words is None and one.register],
                      [one for one in inner if one.words is None and not one.register]):
            if group:
                yield ""
            for one in group:
                yield from (f"  {attribute}" for attribute in one.attributes)
                words = "" if one.words is None else f" [{one.words - 1}:0]"
                yield f"  {'reg' if one.register else 'wire'} {self._range(one)}{one.name}{words};"

    def functions(self) -> Iterator[str]:
        """Functions, which choose one of several values."""
        for text in self._source.functions:
            yield ""
            yield from ("  " + text).split("\n")

    def statements(self) -> Iterator[str]:
        """Instances, assignments and processes."""
        before = ""
        for statement in self._source.statements:
            if isinstance(statement, Assignment):
                if statement.target in self._folding.gone:
                    continue
                kind, lines = "assign", self._given(f"  assign {statement.target} =", statement.value, statement.target)
            elif isinstance(statement, Connected):
                kind, lines = "", self._instance(statement)
            elif register := _REGISTER.fullmatch(statement):
                clock, target, value = register.groups()
                kind = "register"
                lines = [f"  always @({clock})", *self._given(f"    {target} <=", value, target)]
            else:
                kind, lines = "", ("  " + self._folding.process(statement)).split("\n")
            if not kind or kind != before:
                yield ""
            before = kind
            yield from lines

    def _given(self, target: str, value: str, name: str) -> list[str]:
        """Lines that give a value to a target; a choice has a line for each arm if it does not fit into one."""
        folded = self._folding.value(value, name)
        if self._fields.get(value) != name:
            folded = Folded(self._with_fields(folded.text), folded.operator,
                            [(self._with_fields(one), self._with_fields(other)) for one, other in folded.arms])
        line = f"{target} {folded.line};"
        if not folded.arms or (len(folded.arms) == 1 and len(line) <= MOST - 20):
            return [line]
        indent = " " * (len(target) - len(target.lstrip()) + 2)
        return [target, *(f"{indent}{condition} ? {each} :" for condition, each in folded.arms),
                f"{indent}{folded.text};"]

    def _with_fields(self, text: str) -> str:
        """An expression with the names of fields in the place of the bits of their records."""
        return _FIELD.sub(lambda found: self._fields.get(found[0], found[0]), text)

    def _instance(self, instance: Connected) -> list[str]:
        ports = [f"    .{port}({self._folding.connection(text)})" for port, text in instance.ports.items()]
        return [f"  {instance.module}{instance.parameters} {instance.name} (",
                *(f"{port}," for port in ports[:-1]), *ports[-1:], "  );"]

    def _range(self, one: Declaration) -> str:
        bits = self._folding.width(one.name)
        return f"[{bits - 1}:0] " if bits > 1 else ""

    def names(self) -> dict[str, str]:
        """Names in the place of those that Yosys gave, by what makes or uses the value."""
        source = self._source
        names = PlainNames([*(name for name in source.declared if not AUTO.fullmatch(name)),
                            *(each.name for each in source.statements if isinstance(each, Connected))])
        found: dict[str, str] = {}
        for statement in source.statements:
            if isinstance(statement, Connected):
                found |= {text: names.plain(f"{statement.name}_{port}") for port, text in statement.ports.items()
                          if AUTO.fullmatch(text) and text not in found}
            elif isinstance(statement, str):
                found |= {name: names.plain(f"{memory}_read") for name, memory in _LOADED.findall(statement)}
                register = _REGISTER.fullmatch(statement)
                if register and AUTO.fullmatch(register[3]) and register[3] not in found:
                    found[register[3]] = names.plain(f"{register[2].split('[')[0]}_next")
        for text in source.functions:
            found[_FUNCTION.match(text)[1]] = names.numbered("select")      # type: ignore[index]
        for one in source.assignments:
            if AUTO.fullmatch(one.target) and one.target not in self._folding.gone and one.target not in found:
                found[one.target] = names.numbered(_WORDS[self._folding.value(one.value, one.target).kind])
        for one in self._declared:
            if AUTO.fullmatch(one.name) and one.name not in found:
                found[one.name] = names.numbered("parts")
        return found


def wrapped(text: str, indent: int) -> list[str]:
    """Lines of at most 120 characters; those behind the first one are indented by four more.

    Parameters
    ----------
    text : str
        One line, without indent. It is broken at spaces, but not in strings.
    indent : int
        Spaces before it.
    """
    found: list[str] = []
    line = " " * indent
    for word in re.findall(r'(?:"[^"]*"|[^\s"])+', text):
        if line.strip() and len(line) + 1 + len(word) > MOST:
            found.append(line)
            line = " " * (indent + 4)
        line += f" {word}" if line.strip() else word
    return [*found, line]


def constants(text: str) -> str:
    """A text in which constants of one bit are binary, and those of many digits concatenations of shorter ones."""
    return _CONSTANT.sub(lambda found: _constant(int(found[1]), found[2], found[3]), text)


def _constant(bits: int, base: str, digits: str) -> str:
    if bits == 1:
        return f"1'b{digits}"
    if len(digits) <= _MOST_DIGITS:
        return f"{bits}'{base}{digits}"
    if not digits.strip("0"):
        return f"{bits}'{base}0"
    low = _DIGITS_OF_A_PART * _DIGITS[base]
    parts = []
    while digits:
        parts.append(f"{min(bits, low)}'{base}{digits[-_DIGITS_OF_A_PART:]}")
        digits, bits = digits[:-_DIGITS_OF_A_PART], bits - low
    return "{ " + ", ".join(reversed(parts)) + " }"


def repetitions(text: str) -> str:
    """A text in which ``a, a, a, a`` in concatenations is ``{4{a}}``."""
    return _REPEATED.sub(lambda found: f"{{{found[2].count(',') + 1}{{{found[1]}}}}}", text)
