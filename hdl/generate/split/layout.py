"""Short lines: long statements and constants of Verilog on several lines."""

from __future__ import annotations

import re

__all__ = ["MOST", "constants", "repetitions", "wrapped"]

MOST = 120
"""Characters of a line."""

_CONSTANT = re.compile(r"\b(\d+)'([hb])([0-9a-fxz?]+)")
_DIGITS = {"h": 4, "b": 1}
_REPEATED = re.compile(r"(?<![\w\[\]:'])([\w\[\]:']+)((?:, \1){3,})(?![\w\[\]:'])")
_MOST_DIGITS, _DIGITS_OF_A_PART = 96, 64


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
