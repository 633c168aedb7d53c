"""An engine for Amaranth's simulator that settles combinational logic in the order of its signals.

Amaranth's own engine runs the logic of a module as a whole whenever one of its inputs changed, and passes on what
changed to all others at once. Where signals go back and forth between modules, as ready and valid do, it runs
everything dozens of times in each cycle. Here the logic of a module is cut into parts that share no signal, and parts
run one after the other, sources first: most of them once in a cycle. What a test sees is the same.
"""

from __future__ import annotations

from collections.abc import Generator
from heapq import heappop
from typing import Any, cast

from amaranth.hdl import Const, ShapeCastable, Signal, Value
from amaranth.lib import data
from amaranth.sim import pysim
from amaranth.sim._async import DomainReset, TestbenchContext, TickTrigger

from tests.hdl.parts import Compiler, Slot, State, ordered

__all__ = ["OrderedEngine"]


class _Edge:
    """A testbench that waits for the next edge of the clock, and what it wants to know of that moment."""

    __slots__ = ("_context", "_domain", "_process", "_sampled", "found")

    def __init__(self, context: _Context, process: Any, domain: Any, sampled: tuple[Any, ...]):
        self._context, self._process, self._domain, self._sampled = context, process, domain, sampled
        self.found: tuple[Any, ...] = ()

    def initial_eligible(self) -> bool:
        return False

    def run(self) -> None:
        get, reset = self._context.sampled, self._domain.rst
        self.found = (True, reset is not None and bool(get(reset)), *map(get, self._sampled))
        self._process.runnable = True
        self._process.waits_on = None


class _Tick(TickTrigger):
    """Amaranth's trigger of the clock; awaited once, it is one object and not a dozen."""

    def __init__(self, context: _Context, domain: Any, sampled: tuple[Any, ...] = ()):
        super().__init__(context._engine, context._process, domain=domain, sampled=sampled)
        self._context = context

    def sample(self, *exprs: Any) -> _Tick:
        return _Tick(self._context, self._domain, (*self._sampled, *exprs))

    def __await__(self) -> Generator[Any, None, tuple[Any, ...]]:
        edge = _Edge(self._context, self._process, self._domain, self._sampled)
        cast(OrderedEngine, self._engine).edges.append(edge)
        yield edge
        return edge.found

    # Amaranth's own loops take ticks from an asynchronous generator, and close it at their end. Python refuses that
    # where a testbench is dropped while it waits, as those of a run that failed are, and warns.

    async def until(self, condition: Any) -> tuple[Any, ...]:
        ticks = self.sample(Value.cast(condition))
        done = False
        while not done:
            _, reset, *values, done = await ticks
            if reset:
                raise DomainReset
        return tuple(values)

    async def repeat(self, count: int) -> tuple[Any, ...]:
        if count < 1:
            raise ValueError(f"the number of ticks must be 1 or more, not {count}")
        for _ in range(count):
            _, reset, *values = await self
            if reset:
                raise DomainReset
        return tuple(values)


_PLACES: dict[int, tuple[data.StructLayout, dict[str, tuple[int, int, Any]]]] = {}
"""Offset, mask and shape of each field of a layout, by the layout's number, which stays its own while it is here."""


def _packed(layout: data.StructLayout, values: dict[str, Any]) -> int:
    """The bits of a structure, 0 where no value is given; Amaranth makes objects of all fields each time."""
    if id(layout) not in _PLACES:
        _PLACES[id(layout)] = layout, {name: (field.offset, (1 << field.width) - 1, field.shape)
                                       for name, field in layout}
    bits, places = 0, _PLACES[id(layout)][1]
    for name, value in values.items():
        offset, mask, shape = places[name]
        kind = type(value)
        if kind is dict and isinstance(shape, data.StructLayout):
            number = _packed(shape, value)
        elif kind in (int, bool) and not isinstance(shape, ShapeCastable):
            number = value
        else:
            number = Const.cast(Const(value, shape)).value
        bits |= (number & mask) << offset
    return bits


class _Context(TestbenchContext):
    """What a testbench is given: short ways for plain signals, structures and integers, which are nearly all."""

    def tick(self, domain: Any = "sync", *, context: Any = None) -> TickTrigger:
        clocked = cast(OrderedEngine, self._engine).domain
        if domain == "sync" and context is None and clocked is not None:
            return _Tick(self, clocked)
        return super().tick(domain, context=context)

    def get(self, expr: Any) -> Any:
        if self._engine.state.pending:
            self._engine.step_design()
        return self.sampled(expr)

    def sampled(self, expr: Any) -> Any:
        """A value as it is, though something may have been set that is to change it."""
        if type(expr) is Signal:
            state = self._engine.state
            return state.slots[state.get_signal(expr)].curr
        return super().get(expr)

    def set(self, expr: Any, value: Any) -> None:
        kind = type(value)
        if kind is dict and isinstance(expr, data.View) and isinstance(layout := expr.shape(), data.StructLayout):
            self.set(expr.as_value(), _packed(layout, value))
            return
        if type(expr) is Signal and kind in (int, bool) and not expr._signed:
            state = self._engine.state
            slot = state.slots[state.get_signal(expr)]
            if not slot.is_comb:
                # The design settles when somebody looks at it, or when all testbenches wait.
                slot.update(value & (1 << len(expr)) - 1)
                return
        super().set(expr, value)


class OrderedEngine(pysim.PySimEngine):
    """Amaranth's engine for ``Simulator``, with combinational logic in order. It writes no waves."""

    def __init__(self, design: Any):
        self._design = design
        self._state = State()
        self._queue: list[int] = []
        compiler = Compiler(self._state, self._queue)
        self._processes = compiler(design.fragment)
        compiler.finish()
        self._parts = ordered(compiler.parts)
        for number, part in enumerate(self._parts):
            part.number = number
            for slot in part.inputs:
                cast(Slot, self._state.slots[slot]).readers.append(part)
        self._testbenches = []
        self._delta_cycles = 0
        self._vcd_writers = []
        self._active_triggers = set()
        self.domain: Any = design.fragment.domains.get("sync")
        self.edges: list[_Edge] = []
        if self.domain is not None:
            self._state.add_signal_waker(self.domain.clk, self._clock)
        self._wake_all()

    def _clock(self, before: int, after: int) -> bool:
        if after:
            self._active_triggers.update(self.edges)
            self.edges.clear()
        return True

    def reset(self) -> None:
        super().reset()
        self.edges.clear()
        self._active_triggers.clear()
        self._wake_all()

    def forget(self) -> None:
        """Drop the testbenches: the next run has its own."""
        self._testbenches.clear()

    def add_async_testbench(self, simulator: Any, process: Any, *, background: bool) -> None:
        def start(context: TestbenchContext) -> Any:
            return process(_Context(self._design, self, context._process))

        super().add_async_testbench(simulator, start, background=background)

    def get_value(self, expr: Any) -> int:
        value = expr if type(expr) is Signal else Value.cast(expr)
        if type(value) is Signal:
            return self._state.slots[self._state.get_signal(value)].curr
        return super().get_value(value)

    def advance(self) -> bool:
        """Let the design settle and the testbenches run, then go on to the next moment."""
        self.step_design()
        running = True
        while running:
            running = False
            for bench in self._testbenches:
                if bench.runnable:
                    bench.runnable = False
                    bench.run()
                    running = True
            if self._state.pending:
                self.step_design()
        self._state.timeline.advance()
        return any(each.critical for each in (*self._processes, *self._testbenches))

    def _wake_all(self) -> None:
        for part in self._parts:
            part.wake()

    def step_design(self) -> None:
        """Run what is clocked, then what follows from it, until nothing changes."""
        state, parts, queue = self._state, self._parts, self._queue
        settled = False
        while not settled:
            for trigger in self._active_triggers:
                trigger.run()
            self._active_triggers.clear()
            for process in self._processes:
                if process.runnable:
                    process.runnable = False
                    process.run()
            settled = state.commit()
            while queue:
                part = parts[heappop(queue)]
                part.waits = False
                part.run()
            settled = settled and not self._active_triggers
            self._delta_cycles += 1
