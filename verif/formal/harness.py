"""A harness around the component that a proof is about: free inputs, assumptions, assertions and covers with names."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    ClockDomain,
    Const,
    Cover,
    Fragment,
    Module,
    Signal,
    Value,
    ValueLike,
)
from amaranth.hdl._ast import Initial
from amaranth.lib.memory import Memory

from cdma.verif.common.digest import ROOT
from cdma.verif.formal.names import names_of

__all__ = ["FormalPlatform", "Harness", "assigned"]

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Harness:
    """A module that a solver explores: one clock, a reset in the first cycle, and everything else free.

    Registers and memories begin with arbitrary values, as initial values are removed. The first cycle is a reset, and
    assertions and covers count from the second one on. Assumptions hold in every cycle.

    Attributes
    ----------
    m : Module
        Where a proof adds logic of its own.
    clock : Signal
        The clock.
    platform : FormalPlatform
        What components are elaborated for.
    assertions, covers : dict of str to str
        Their names, and the lines that they are made in.
    assumptions : set of str
        Names of what is assumed.
    verilog : list of str
        Texts of modules that the harness instantiates, with assertions of their own.
    """

    def __init__(self) -> None:
        self.m = Module()
        self.m._MustUse__used = True  # type: ignore[attr-defined]   # a harness that is refused is never elaborated
        self.platform = FormalPlatform(self.free)
        self.assertions: dict[str, str] = {}
        self.assumptions: set[str] = set()
        self.covers: dict[str, str] = {}
        self.verilog: list[str] = []
        self._inputs: list[Value] = []
        self._conditions: dict[str, Value] = {}
        self._parts: dict[str, Fragment] = {}
        self.m.domains.sync = sync = ClockDomain()
        self.clock = sync.clk
        self.begun = Signal()
        """Low in the first cycle, the reset."""
        self.m.d.comb += [sync.rst.eq(Initial()), self.begun.eq(~Initial())]

    def free(self, shape: Any, name: str) -> Any:
        """A signal that the solver chooses anew in every cycle."""
        signal = Signal(shape, name=name)
        self._inputs.append(Value.cast(signal))
        return signal

    def fixed(self, shape: Any, name: str) -> Any:
        """A signal that the solver chooses once: it stays as it is."""
        signal = Signal(shape, name=name, reset_less=True)
        self.m.d.sync += Value.cast(signal).eq(Value.cast(signal))
        return signal

    def add(self, name: str, component: Any) -> Any:
        """Put a component under the harness and elaborate it; returns the component.

        A component with a renamed domain or the like is given after the transformation.
        """
        self._parts[name] = part = Fragment.get(component, self.platform)
        self.m.submodules[name] = part
        return component

    def drive(self, interface: Any, name: str) -> Any:
        """Make an input stream free, and assume what streams promise: valid and payload stay until they are taken."""
        valid, payload = self.free(1, f"{name}_valid"), self.free(len(Value.cast(interface.payload)), f"{name}_payload")
        self.m.d.comb += [interface.valid.eq(valid), Value.cast(interface.payload).eq(payload)]
        self.promise(interface, name, self.assume)
        return interface

    def keeps(self, interface: Any, name: str, unless: ValueLike = 0) -> None:
        """Assert what streams promise of an output stream, whose ``ready`` becomes free.

        A transfer that waits may go in a cycle in which ``unless`` is high.
        """
        self.m.d.comb += interface.ready.eq(self.free(1, f"{name}_ready"))
        self.promise(interface, name, self.check, unless)

    def promise(self, interface: Any, name: str, claim: Callable[[str, ValueLike], None],
                unless: ValueLike = 0) -> None:
        """Claim, as an assumption or an assertion, that valid and payload of a stream stay until they are taken."""
        payload = Value.cast(interface.payload)
        waited, was = Signal(name=f"{name}_waited"), Signal(len(payload), name=f"{name}_was", reset_less=True)
        self.m.d.sync += [waited.eq(interface.valid & ~interface.ready & ~_bool(unless)), was.eq(payload)]
        claim(f"{name}_valid_stays", ~waited | interface.valid)
        claim(f"{name}_payload_stays", ~waited | ~interface.valid | (payload == was))

    def named(self, name: str, value: ValueLike) -> Signal:
        """A signal that has a value: what uses it repeatedly does not repeat how it is computed."""
        value = Value.cast(value)
        signal = Signal(len(value), name=name)
        self.m.d.comb += signal.eq(value)
        return signal

    def past(self, value: ValueLike, name: str) -> Signal:
        """The value in the cycle before, 0 in the first cycle after the reset."""
        value = Value.cast(value)
        was = Signal(len(value), name=f"past_{name}")
        self.m.d.sync += was.eq(value)
        return was

    def check(self, name: str, condition: ValueLike) -> None:
        """An assertion: the condition holds in every cycle after the reset."""
        self._claim(name, self.assertions)
        self._conditions[f"assert_{name}"] = holds = ~self.begun | _bool(condition)
        self.m.d.comb += Assert(holds, f"assert_{name}")

    def assume(self, name: str, condition: ValueLike) -> None:
        """An assumption about inputs: cycles in which it does not hold are not looked at."""
        holds = _bool(condition)
        self.assumptions.add(name)
        self._conditions[f"assume_{name}"] = self._conditions.get(f"assume_{name}", Const(1)) & holds
        self.m.d.comb += Assume(holds, f"assume_{name}")

    def cover(self, name: str, condition: ValueLike) -> None:
        """A cover: the solver has to find a run in which the condition holds once, or the proof is refused."""
        self._claim(name, self.covers)
        self._conditions[f"cover_{name}"] = holds = self.begun & _bool(condition)
        self.m.d.comb += Cover(holds, f"cover_{name}")

    def _claim(self, name: str, names: dict[str, str]) -> None:
        if not _NAME.fullmatch(name) or name in names:
            raise ValueError(f"{name!r} must be a name of its own of small letters, digits and underscores")
        names[name] = _place()

    def inner(self, path: str) -> Any:
        """A signal inside a component, for invariants: names of submodules and of the signal, joined by dots.

        Names are those of :func:`~cdma.verif.formal.names.names_of`.

        Raises
        ------
        ValueError
            If there is none of the name; the message lists those that are there.
        """
        folder, _, name = path.rpartition(".")
        found = dict(names_of(assigned(self.part(folder))))
        if name not in found:
            raise ValueError(f"{path}: there is no signal {name} here, but {', '.join(sorted(found))}")
        return found[name]

    def part(self, path: str) -> Fragment:
        """A component or a submodule of one: names joined by dots.

        Raises
        ------
        ValueError
            If there is none of the name; the message lists those that are there.
        """
        first, *folders = path.split(".")
        fragment = self._parts[first]
        for folder in folders:
            inside = {str(other): part for part, other, _ in fragment.subfragments}
            if folder not in inside:
                raise ValueError(f"{path}: there is no {folder} here, but {', '.join(sorted(inside))}")
            fragment = inside[folder]
        return fragment

    def rtlil(self, outputs: bool = False) -> str:
        """The netlist in RTLIL, its checks named.

        Parameters
        ----------
        outputs : bool, optional
            With the conditions of assumptions, assertions and covers as outputs, too: ``assert_`` and the name, and so
            on.

        Raises
        ------
        ValueError
            If it has no assertion or no cover: a proof without a cover may be vacuous. Or if outputs are asked for, and
            a module of Verilog has assertions of its own.
        """
        if not self.assertions and not self.verilog:
            raise ValueError("a proof needs an assertion: call check() of its harness")
        if not self.covers:
            raise ValueError("a proof needs a cover, which shows that it is not vacuous: call cover() of its harness")
        if not outputs:
            return _named(rtlil.convert(self.m, name="top", ports=[self.clock, *self._inputs]))
        if self.verilog:
            raise ValueError("assertions in modules of Verilog need the SMT solver")
        shown = {name: Signal(name=name) for name in self._conditions}
        self.m.d.comb += [signal.eq(self._conditions[name]) for name, signal in shown.items()]
        self._conditions = {}
        return rtlil.convert(self.m, name="top", ports=[self.clock, *self._inputs, *shown.values()])


def _place() -> str:
    """File and line of the first caller outside of this file."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return f"{os.path.relpath(os.path.realpath(frame.f_code.co_filename), ROOT)}:{frame.f_lineno}"


def _bool(condition: ValueLike) -> Value:
    return Value.cast(condition).bool()


def assigned(fragment: Fragment) -> Iterator[Signal]:
    """Signals that are assigned in a fragment, in the order of their assignments; one may come several times."""
    for domain in sorted(fragment.statements):
        for statement in fragment.statements[domain]:
            targets: Iterable[Signal] = statement._lhs_signals()
            yield from targets


class FormalPlatform:
    """Takes the place of a platform while a harness is elaborated.

    A row of a memory is a register without a reset. What a read finds of a part that is written in the same cycle is
    free, unless the port is transparent for that write: a design that uses it fails its proof. Synchronisers take, of
    each bit that changes while it is sampled, the old value or the new one.

    Attributes
    ----------
    memories : list of list of Signal
        The rows of each memory, in the order of elaboration.
    """

    def __init__(self, free: Callable[[int, str], Any]) -> None:
        self._free = free
        self.memories: list[list[Signal]] = []

    def get_memory(self, memory: Memory) -> Module:
        """The module built for a memory; Amaranth calls this method by its name."""
        m = Module()
        number = len(self.memories)
        width = len(Value.cast(memory.read_ports[0].data))
        rows = [Signal(width, name=f"row_{row}", reset_less=True) for row in range(memory.depth)]
        self.memories.append(rows)
        writes = [(write, Cat(bit.replicate(width // len(write.en)) for bit in write.en))
                  for write in memory.write_ports]
        if not writes:
            given = [int(value) for value in memory.data.init]
            m.d.comb += [row.eq(value) for row, value in zip(rows, given, strict=True)]
        for write, mask in writes:
            for row, value in enumerate(rows):
                with m.If(write.addr == row):
                    m.d[write.domain] += value.eq((Value.cast(write.data) & mask) | (value & ~mask))
        for place, read in enumerate(memory.read_ports):
            found = Array(rows)[read.addr] if memory.depth > 1 else rows[0]
            if read.domain == "comb":
                m.d.comb += Value.cast(read.data).eq(found)
                continue
            for write, mask in writes:
                met = (write.addr == read.addr).replicate(width) & mask
                other = (Value.cast(write.data) if write in read.transparent_for
                         else self._free(width, f"collision_{number}_{place}"))
                found = (found & ~met) | (other & met)
            shown = Signal(width, name=f"shown_{place}", reset_less=True)
            m.d.comb += Value.cast(read.data).eq(shown)
            with m.If(read.en):
                m.d[read.domain] += shown.eq(found)
        return m

    def get_synchronizer(self, synchronizer: Any) -> Module:
        """The module built for a synchroniser; :class:`cdma.hdl.common.synchronizer.Synchronizer` calls it by its
        name."""
        m = Module()
        width = len(synchronizer.i)
        before = Signal(width, name="before", reset_less=True)
        late = self._free(width, "late")
        m.d.sync += before.eq(synchronizer.i)
        m.submodules.stages = synchronizer.stages((synchronizer.i & ~late) | (before & late))
        return m


_CHECK = re.compile(r"^  cell \$check \S+\n((?:    .*\n)*?)    parameter \\FORMAT \"(\w+)\"\n", re.MULTILINE)


def _named(netlist: str) -> str:
    """RTLIL whose checks have the names that their messages give, and no message."""
    return _CHECK.sub(lambda found: f"  cell $check \\{found[2]}\n{found[1]}    parameter \\FORMAT \"\"\n", netlist)


