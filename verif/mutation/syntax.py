"""What a place in the syntax tree of a source file of the hardware is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["assigned_in_clock", "is_domain", "is_next", "is_text", "whole_number"]


def whole_number(node: ast.expr) -> int | None:
    """The whole number that is written there, or None."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or another constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_next(target: ast.expr) -> bool:
    """Whether something is ``m.next``."""
    return isinstance(target, ast.Attribute) and target.attr == "next"


def is_domain(target: ast.expr) -> bool:
    """Whether something is ``m.d.comb``, or ``m.d[domain]``."""
    place = target.value if isinstance(target, ast.Attribute | ast.Subscript) else None
    return isinstance(place, ast.Attribute) and place.attr == "d"


def assigned_in_clock(node: ast.ClassDef | ast.Module) -> frozenset[str]:
    """Names that are assigned to in a domain with a clock."""
    return frozenset(_assigned(node))


def _assigned(node: ast.AST) -> Iterator[str]:
    for inside in ast.walk(node):
        if isinstance(inside, ast.AugAssign) and is_domain(inside.target) and not (
                isinstance(inside.target, ast.Attribute) and inside.target.attr == "comb"):
            for call in ast.walk(inside.value):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "eq":
                    place = call.func.value
                    while isinstance(place, ast.Subscript):
                        place = place.value
                    yield ast.unparse(place)
