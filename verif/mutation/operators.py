"""What can be changed in a source file of the hardware, found in its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from cdma.verif.mutation.mutant import Mutant
from cdma.verif.mutation.syntax import assigned_in_clock, is_domain, is_next, is_text, whole_number

__all__ = ["OPERATORS", "candidates"]

OPERATORS = {
    "compare": "a comparison is another one: < and <=, > and >=, == and !=",
    "arithmetic": "+ and -, & and |, ^ and |, << and >>, any() and all(), min and max are swapped; ~ and not are lost",
    "constant": "a number is one more, or one less",
    "slice": "a bound of a slice, or an index, is one more",
    "count": "a loop or a range is one shorter",
    "drop": "an assignment or a change of state is lost",
    "branch": "a condition is inverted, or the two values of a choice are swapped",
    "reset": "a register's initial value is 0, or it is not reset",
}
"""Kinds of changes, and what each does."""

_COMPARE = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_BINARY = {ast.Add: "-", ast.Sub: "+", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "|", ast.LShift: ">>",
           ast.RShift: "<<"}
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Add: "+",
          ast.Sub: "-", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
          ast.And: "and", ast.Or: "or"}
_METHODS = {"any": "all", "all": "any"}
_FUNCTIONS = {"min": "max", "max": "min"}
_NO_HARDWARE = ("name", "src_loc_at", "metadata", "doc", "about")
"""Keywords whose values are names and texts."""
_SHOWN = 36

Loop = ast.For | ast.comprehension


def candidates(path: str, text: bytes) -> list[Mutant]:
    """All mutants of a file, in the order of their places.

    Only bodies of functions are changed. Left out are docstrings, annotations, defaults of parameters, names and
    messages, and checks that do nothing but raise: they make no hardware.

    Parameters
    ----------
    path
        Of the file below the root, for the names.
    text
        The file.
    """
    finder = _Finder(path, text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.Module):
            registers = assigned_in_clock(node)
            for inside in node.body:
                if isinstance(inside, ast.FunctionDef):
                    finder.function(inside, registers)
    unique = {mutant.name: mutant for mutant in finder.found if mutant.applied(text) != text}
    return sorted(unique.values(), key=lambda mutant: (mutant.line, mutant.column, mutant.change))


class _Finder:
    def __init__(self, path: str, text: bytes) -> None:
        self.found: list[Mutant] = []
        self._path = path
        self._text = text
        starts = [0]
        for line in text.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        self._starts = starts
        self._lines = (0, 0)
        self._registers: frozenset[str] = frozenset()

    def function(self, node: ast.FunctionDef, registers: frozenset[str]) -> None:
        self._registers = registers
        self._body(node.body)

    def _begin(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def _source(self, node: ast.expr | ast.stmt) -> str:
        return self._text[self._begin(node):self._end(node)].decode()

    def _add(self, operator: str, start: int, end: int, new: str, change: str) -> None:
        line = self._text.count(b"\n", 0, start) + 1
        self.found.append(Mutant(self._path, line, start - self._starts[line - 1], change, operator, start, end, new,
                                 *self._lines))

    def _replace(self, operator: str, node: ast.expr | ast.stmt, new: str, change: str) -> None:
        self._add(operator, self._begin(node), self._end(node), new, change)

    def _body(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        head = [inside for inside in ast.iter_child_nodes(node) if isinstance(inside, ast.stmt)]
        self._lines = node.lineno, (max(node.lineno, head[0].lineno - 1) if head else node.end_lineno or node.lineno)
        if isinstance(node, ast.Raise | ast.Assert | ast.Pass | ast.Import | ast.ImportFrom) or is_text(node):
            return
        if isinstance(node, ast.FunctionDef):
            self._body(node.body)
        elif isinstance(node, ast.If):
            if not all(isinstance(inside, ast.Raise) for inside in node.body):
                self._inverted(node.test, "not ({})", "if")
                self._expression(node.test)
                self._body(node.body)
            self._body(node.orelse)
        elif isinstance(node, ast.With):
            for item in node.items:
                self._expression(item.context_expr)
            self._body(node.body)
        elif isinstance(node, ast.For):
            self._loop(node)
            self._body(node.body)
        elif isinstance(node, ast.AugAssign):
            if is_domain(node.target):
                self._dropped(node.value)
            elif (sign := _BINARY.get(type(node.op))) is not None:
                self._sign("arithmetic", node.target, node.value, f"{_SIGNS[type(node.op)]}=", f"{sign}=")
            self._expression(node.value)
        elif isinstance(node, ast.Assign):
            if is_next(node.targets[0]):
                self._replace("drop", node, "pass", f"drop {self._short(node)}")
            elif isinstance(node.value, ast.Call):
                self._lost_reset(node.targets[0], node.value)
            self._expression(node.value)
        elif isinstance(node, ast.AnnAssign):
            self._expression(node.value)
        else:
            for inside in ast.iter_child_nodes(node):
                if isinstance(inside, ast.expr):
                    self._expression(inside)

    def _dropped(self, value: ast.expr) -> None:
        """Each assignment of a statement that adds to a domain."""
        if isinstance(value, ast.List | ast.Tuple):
            for one in value.elts:
                self._replace("drop", one, "*[]", f"drop {self._short(one)}")
        else:
            self._replace("drop", value, "[]", f"drop {self._short(value)}")

    def _short(self, node: ast.expr | ast.stmt) -> str:
        words = " ".join(self._source(node).split())
        return words if len(words) <= _SHOWN else f"{words[:_SHOWN - 3]}..."

    def _lost_reset(self, target: ast.expr, call: ast.Call) -> None:
        named = ast.unparse(call.func) in ("Signal", "Signal.like")
        if named and ast.unparse(target) in self._registers and not any(k.arg == "reset_less" for k in call.keywords):
            at = self._end(call) - 1
            before = self._text[self._begin(call):at].decode().rstrip()
            comma = "" if before.endswith(("(", ",")) else ", "
            self._add("reset", at, at, f"{comma}reset_less=True", "lose reset")

    def _expression(self, node: ast.expr | None) -> None:
        if node is None or isinstance(node, ast.JoinedStr | ast.Name):
            return
        if isinstance(node, ast.Constant):
            self._constant(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Subscript):
            self._expression(node.value)
            self._subscript(node)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for loop in node.generators:
                self._loop(loop)
                for test in loop.ifs:
                    self._expression(test)
            for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
                self._expression(part)
        elif isinstance(node, ast.Lambda):
            self._expression(node.body)
        elif isinstance(node, ast.Dict):
            # Dictionaries are layouts: numbers in them are widths.
            for value in node.values:
                self._width(value) if isinstance(value, ast.Constant) else self._expression(value)
        else:
            self._operation(node)
            for inside in ast.iter_child_nodes(node):
                if isinstance(inside, ast.expr):
                    self._expression(inside)

    def _operation(self, node: ast.expr) -> None:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            kind = type(node.ops[0])
            if kind in _COMPARE:
                self._sign("compare", node.left, node.comparators[0], _SIGNS[kind], _COMPARE[kind])
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            self._sign("arithmetic", node.left, node.right, _SIGNS[type(node.op)], _BINARY[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            self._sign("arithmetic", node.values[0], node.values[1], old, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
            sign = "~" if isinstance(node.op, ast.Invert) else "not"
            self._add("arithmetic", self._begin(node), self._begin(node) + len(sign), "", f"lose {sign}")
        elif isinstance(node, ast.IfExp):
            self._swapped(node.body, node.orelse, "swap if else")

    def _sign(self, operator: str, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Replace the sign between two operands; around it may be brackets, spaces and comments."""
        at = self._end(left)
        while not self._text.startswith(old.encode(), at):
            at = self._text.index(b"\n", at) if self._text[at:at + 1] == b"#" else at + 1
            if at >= self._begin(right):
                return
        self._add(operator, at, at + len(old), new, f"{old} -> {new}")

    def _swapped(self, one: ast.expr, other: ast.expr, change: str) -> None:
        start, end = self._begin(one), self._end(other)
        between = self._text[self._end(one):self._begin(other)].decode()
        # Brackets around an operand are no part of it, and stay where they are.
        if between.count("(") == between.count(")") or change == "swap Mux":
            self._add("branch", start, end, f"{self._source(other)}{between}{self._source(one)}", change)

    def _inverted(self, test: ast.expr, form: str, change: str) -> None:
        """Invert a condition, unless another operator does so."""
        if isinstance(test, ast.UnaryOp | ast.Compare) and not isinstance(
                getattr(test, "ops", [None])[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.In | ast.Is | ast.IsNot):
            return
        self._replace("branch", test, form.format(self._source(test)), f"invert {change}")

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            self._off_by_one("constant", node, node.value)

    def _off_by_one(self, operator: str, node: ast.expr, value: int) -> None:
        text = self._source(node)
        self._replace(operator, node, f"{value + 1}", f"{text} -> {value + 1}")
        if value > 1:
            self._replace(operator, node, f"{value - 1}", f"{text} -> {value - 1}")

    def _width(self, node: ast.Constant) -> None:
        """A signal that is wider does the same; one that is narrower does not."""
        if isinstance(node.value, int) and node.value > 1:
            self._replace("constant", node, f"{node.value - 1}", f"{self._source(node)} -> {node.value - 1}")

    def _call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Attribute):
            self._expression(node.func.value)
            if name in _METHODS and not node.args:
                end = self._end(node.func)
                self._add("arithmetic", end - len(name), end, _METHODS[name], f"{name} -> {_METHODS[name]}")
            if name in ("If", "Elif") and node.args:
                self._inverted(node.args[0], "({}) == 0", name)
        elif name in _FUNCTIONS:
            self._replace("arithmetic", node.func, _FUNCTIONS[name], f"{name} -> {_FUNCTIONS[name]}")
        elif name == "Mux" and len(node.args) == 3:
            self._swapped(node.args[1], node.args[2], "swap Mux")
        if name == "range" and node.args:
            *others, last = node.args[:2]
            self._replace("count", last, f"{self._source(last)} - 1", f"range {self._short(last)} - 1")
            for one in (*others, *([] if isinstance(last, ast.Constant) else [last]), *node.args[2:]):
                self._expression(one)
        elif name in ("Signal", "In", "Out") and node.args and isinstance(node.args[0], ast.Constant):
            self._width(node.args[0])
        elif name not in ("isinstance", "super"):
            for one in node.args:
                self._expression(one.value if isinstance(one, ast.Starred) else one)
        for keyword in node.keywords:
            self._keyword(keyword)

    def _keyword(self, keyword: ast.keyword) -> None:
        if keyword.arg in _NO_HARDWARE:
            return
        if keyword.arg == "init" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value):
            self._replace("reset", keyword.value, "0", f"lose init={self._short(keyword.value)}")
        elif keyword.arg != "init":
            self._expression(keyword.value)

    def _subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Slice):
            for bound in filter(None, (node.slice.lower, node.slice.upper)):
                self._bound(bound)
        elif whole_number(node.slice) is not None:
            self._bound(node.slice)
        elif not isinstance(node.slice, ast.Tuple):
            self._expression(node.slice)

    def _bound(self, bound: ast.expr) -> None:
        number, text = whole_number(bound), self._source(bound)
        if number is None:
            self._replace("slice", bound, f"{text} + 1", f"[{self._short(bound)}] -> + 1")
            self._expression(bound)
        else:
            self._replace("slice", bound, f"{number + 1 if number >= 0 else number - 1}",
                          f"[{text}] -> [{number + 1 if number >= 0 else number - 1}]")

    def _loop(self, loop: Loop) -> None:
        self._expression(loop.iter)
