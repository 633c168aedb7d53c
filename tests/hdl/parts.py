"""The combinational logic of a design in parts that share no signal, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappush
from typing import Any

from amaranth.hdl import MemoryInstance, Signal
from amaranth.hdl._ast import SignalSet, _StatementList
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim import _pyrtl, pysim

from tests.hdl.values import Emitter, Keys, Statements

__all__ = ["Compiler", "Part", "Slot", "State", "ordered"]


class Part:
    """Combinational logic that runs as a whole.

    ``number`` is its place in the order; ``waits`` tells that it is to run.
    """

    __slots__ = ("inputs", "number", "outputs", "queue", "run", "waits")

    run: Callable[[], None]

    def __init__(self, queue: list[int], inputs: list[int], outputs: list[int]):
        self.queue, self.inputs, self.outputs = queue, inputs, outputs
        self.number, self.waits = 0, False

    def wake(self) -> None:
        if not self.waits:
            self.waits = True
            heappush(self.queue, self.number)


class Slot(pysim._PySignalState):
    """A signal that knows the parts that read it."""

    __slots__ = ("readers",)

    def __init__(self, signal: Any, pending: set[Any]):
        self.readers: list[Part] = []
        super().__init__(signal, pending)

    def commit(self) -> bool:
        if self.curr == self.next:
            return False
        self.become(self.next)
        return True

    def become(self, value: int) -> None:
        """Take a value at once."""
        if self.wakers:
            pysim._run_wakers(self.wakers, self.curr, value)
        self.curr = self.next = value
        for part in self.readers:
            if not part.waits:
                part.waits = True
                heappush(part.queue, part.number)


class State(pysim._PyEngineState):
    """Signals and memories by their numbers; signals are found by the number that Amaranth gives each."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[int, int] = {}

    def get_signal(self, signal: Any) -> int:
        number = self.numbers.get(signal.duid)
        if number is None:
            number = self.numbers[signal.duid] = len(self.slots)
            self.slots.append(Slot(signal, self.pending))
        return number


class Compiler(_pyrtl._FragmentCompiler):
    """Compiles the combinational logic of a design to parts, and what is clocked to processes; it leaves memories to
    Amaranth."""

    def __init__(self, state: State, queue: list[int]):
        super().__init__(state)
        self.queue = queue
        self.parts: list[Part] = []
        self._texts: list[str] = []
        self._runs: list[Any] = []
        self._keys = Keys()

    def finish(self) -> None:
        """Compile all texts, in one call, which is quicker than a thousand."""
        names = {"slots": self.state.slots, "pending": self.state.pending, **_pyrtl._ValueCompiler.helpers,
                 **_pyrtl._StatementCompiler.helpers}
        exec(compile("".join(self._texts), "<parts>", "exec"), names)
        for number, each in enumerate(self._runs):
            each.run = names[f"run_{number}"]

    def __call__(self, fragment: Any) -> set[Any]:
        if isinstance(fragment, MemoryInstance):
            processes = super().__call__(fragment)
        else:
            processes = {self._clocked(fragment.domains[name], statements)
                         for name, statements in fragment.statements.items() if name != "comb"}
            for statements in _apart(fragment.statements.get("comb", ())):
                self._compile(statements)
        for inner, _, _ in fragment.subfragments:
            processes |= self(inner)
        return processes

    def _compile(self, statements: _StatementList) -> None:
        emitter, inputs = Emitter(), SignalSet()
        outputs = self._assigned(statements)
        emitter._level += 1
        for number, (signal, _) in outputs.items():
            emitter.append(f"next_{number} = {signal.init}")
            self.state.slots[number].is_comb = True
        Statements(self.state, emitter, self._keys, inputs)(statements)
        for number, (signal, mask) in outputs.items():
            _keep_others(emitter, number, signal, mask, "curr")
            emitter.append(f"if slots[{number}].curr != next_{number}: slots[{number}].become(next_{number})")
        self.parts.append(Part(self.queue, [self.state.get_signal(signal) for signal in inputs], list(outputs)))
        self._add(self.parts[-1], emitter)

    def _clocked(self, domain: Any, statements: _StatementList) -> Any:
        """What Amaranth does; but what does not change is compared where it is, without a call."""
        assert domain.clk_edge == "pos" and not domain.async_reset, "the tests have no such clock"
        emitter, process = Emitter(), _pyrtl.PyRTLProcess(is_comb=False)
        self.state.add_signal_waker(domain.clk, _pyrtl.edge_waker(process, 1))
        registers = self._assigned(statements)
        emitter._level += 1
        for number in registers:
            emitter.append(f"next_{number} = slots[{number}].next")
        Statements(self.state, emitter, self._keys)(statements)
        if domain.rst is not None:
            emitter.append(f"if slots[{self.state.get_signal(domain.rst)}].curr:")
            with emitter.indent():
                emitter.append("pass")
                for number, (signal, _) in registers.items():
                    if not signal.reset_less:
                        emitter.append(f"next_{number} = {signal.init}")
        for number, (signal, mask) in registers.items():
            _keep_others(emitter, number, signal, mask, "next")
            emitter.append(f"if slots[{number}].next != next_{number}:")
            with emitter.indent():
                emitter.append(f"slots[{number}].next = next_{number}; pending.add(slots[{number}])")
        self._add(process, emitter)
        return process

    def _assigned(self, statements: _StatementList) -> dict[int, tuple[Signal, int]]:
        """The signals that are assigned to, by number, each with a mask of the bits."""
        masks = LHSMaskCollector()
        masks.visit_stmt(statements)
        return {self.state.get_signal(signal): (signal, mask) for signal, mask in masks.masks()}

    def _add(self, what: Any, emitter: Any) -> None:
        self._texts.append(f"def run_{len(self._runs)}():\n{emitter.flush()}")
        self._runs.append(what)


def _keep_others(emitter: Any, number: int, signal: Signal, mask: int, held: str) -> None:
    """Leaves the bits as they are that are not assigned to."""
    if signal.shape().signed and mask >> (len(signal) - 1):
        mask |= -1 << len(signal)
    if mask not in (-1, (1 << len(signal)) - 1):
        emitter.append(f"next_{number} = slots[{number}].{held} & {~mask} | next_{number} & {mask}")


def _apart(statements: Any) -> Iterator[_StatementList]:
    """Statements in lists that assign to no signal in common, each in the order given."""
    groups: list[tuple[set[int], list[int]]] = []
    for place, statement in enumerate(statements):
        masks = LHSMaskCollector()
        masks.visit_stmt(statement)
        signals, places = {signal.duid for signal, _ in masks.masks()}, [place]
        for group in [each for each in groups if not signals.isdisjoint(each[0])]:
            groups.remove(group)
            signals |= group[0]
            places += group[1]
        groups.append((signals, places))
    for _, places in groups:
        yield _StatementList(statements[place] for place in sorted(places))


def ordered(parts: list[Part]) -> list[Part]:
    """Parts after those whose outputs they read, as far as there is no loop: the reverse of a walk depth first."""
    writers: dict[int, list[Part]] = {}
    for part in parts:
        for slot in part.outputs:
            writers.setdefault(slot, []).append(part)
    done: set[Part] = set()
    found: list[Part] = []
    for root in parts:
        if root in done:
            continue
        done.add(root)
        path = [(root, iter([each for slot in root.inputs for each in writers.get(slot, ())]))]
        while path:
            part, sources = path[-1]
            for source in sources:
                if source not in done:
                    done.add(source)
                    path.append((source, iter([each for slot in source.inputs for each in writers.get(slot, ())])))
                    break
            else:
                path.pop()
                found.append(part)
    return found
