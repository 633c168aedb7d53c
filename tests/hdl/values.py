"""Values of Amaranth that are used often, worked out once: while a design is prepared, and when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import Const, Signal, _xfrm
from amaranth.hdl._ast import Concat, Operator, Part, Slice, SwitchValue
from amaranth.sim import _pyrtl

__all__ = ["Emitter", "Keys", "Statements", "values_once"]


class Emitter(_pyrtl._PythonEmitter):
    """Python that is written, and what has been worked out in each of the blocks that are open, by its key."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[dict[int, str]] = [{}]

    @contextmanager
    def indent(self) -> Iterator[None]:
        self.known.append({})
        with super().indent():
            yield
        self.known.pop()


class Keys:
    """Numbers of values: values that are the same function of the same signals have the same number."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        # By identity, with the value, which would be another one if it were not kept.
        self._found: dict[int, tuple[int, Any]] = {}

    def __call__(self, value: Any) -> int:
        if id(value) in self._found:
            return self._found[id(value)][0]
        match value:
            case Signal():
                about: Any = value.duid
            case Const():
                about = value.value, value.shape()
            case Operator():
                about = value.operator, *map(self, value.operands)
            case Slice():
                about = "slice", self(value.value), value.start, value.stop
            case Concat():
                about = "cat", *map(self, value.parts)
            case SwitchValue():
                about = "switch", self(value.test), *((patterns, self(each)) for patterns, each in value.cases)
            case Part():
                about = "part", self(value.value), self(value.offset), value.width, value.stride
            case _:
                raise TypeError(f"the tests have no such value: {value!r}")
        number = self._numbers.setdefault(about, len(self._numbers))
        self._found[id(value)] = number, value
        return number


class _Values(_pyrtl._RHSValueCompiler):
    """Compiles values. What is used twice is worked out once, as every backend of Verilog does."""

    def __init__(self, state: Any, emitter: Emitter, keys: Keys, inputs: Any):
        super().__init__(state, emitter, mode="curr", inputs=inputs)
        self._known, self._keys = emitter.known, keys

    def on_value(self, value: Any) -> Any:
        if type(value) in (Signal, Const):
            return super().on_value(value)
        key = self._keys(value)
        for block in self._known:
            if key in block:
                return block[key]
        code = super().on_value(value)
        self._known[-1][key] = code = code if len(code) < 40 else self.emitter.def_var("value", code)
        return code


class Statements(_pyrtl._StatementCompiler):
    """Compiles statements; ``inputs``, if given, gets the signals that they read."""

    def __init__(self, state: Any, emitter: Emitter, keys: Keys, inputs: Any = None):
        super().__init__(state, emitter)
        self.rhs = _Values(state, emitter, keys, inputs)
        self.lhs = _pyrtl._LHSValueCompiler(state, emitter, rhs=self.rhs)


@contextmanager
def values_once() -> Iterator[None]:
    """While entered, Amaranth works the shape of a value out once, and not at each use, and gives a value that is used
    often its domain once: half of the time that it takes to prepare a design."""
    before = [(kind, kind.shape) for kind in (Concat, Operator, Slice, SwitchValue)]
    for kind, shape in before:
        kind.shape = _once(shape)
    _xfrm.DomainLowerer.on_value = _lowered
    try:
        yield
    finally:
        for kind, shape in before:
            kind.shape = shape
        del _xfrm.DomainLowerer.on_value


def _once(shape: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def kept(value: Any) -> Any:
        try:
            return value.shape_kept
        except AttributeError:
            value.shape_kept = found = shape(value)
            return found
    return kept


def _lowered(lowerer: Any, value: Any) -> Any:
    """A value with the domains of the fragment that Amaranth's lowerer is in."""
    if getattr(lowerer, "kept_for", None) is not lowerer.domains:
        lowerer.kept_for, lowerer.kept = lowerer.domains, {}
    if id(value) not in lowerer.kept:
        # With the value, since another one may get its number once it is gone.
        lowerer.kept[id(value)] = _xfrm.ValueTransformer.on_value(lowerer, value), value
    return lowerer.kept[id(value)][0]
