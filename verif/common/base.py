"""Base classes of the benches: drivers, monitors, a model, a scoreboard, and the testbench that holds them.

A bench sends items through drivers; the testbench shows every item to the model, which says what must come out;
monitors rebuild items from the pins and hand them to the scoreboard, which compares and keeps the differences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import cocotb
from cocotb.clock import Clock
from cocotb.task import Task
from cocotb.triggers import ClockCycles, Event, SimTimeoutError, with_timeout

__all__ = ["Agent", "Driver", "Model", "Monitor", "Scoreboard", "Testbench"]

CLOCK_NS = 2
_MOST_FAULTS = 100
Sent = TypeVar("Sent")
Seen = TypeVar("Seen")


class Agent(ABC):
    """Something that acts on every clock edge: one coroutine that can be started and killed."""

    def __init__(self) -> None:
        self._task: Task[None] | None = None

    def start(self) -> None:
        """Begin to act, from the state after a reset."""
        self.stop()
        self._task = cocotb.start_soon(self._run())

    def stop(self) -> None:
        """Stop acting, and discard items that are not finished."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    @abstractmethod
    async def _run(self) -> None:
        """Act until cancelled."""


class Driver(Agent, Generic[Sent]):
    """Puts items on pins, in the order they were sent."""

    @abstractmethod
    def send(self, item: Sent) -> None:
        """Queue an item."""


class Monitor(Agent, Generic[Seen]):
    """Rebuilds items from pins and checks the protocol.

    Parameters
    ----------
    notify
        Called with every item, in the order of the pins.
    """

    def __init__(self, notify: Callable[[Seen], None]) -> None:
        super().__init__()
        self.notify = notify


class Model(ABC, Generic[Sent, Seen]):
    """Predicts the output item of each input item."""

    @abstractmethod
    def expect(self, item: Sent) -> Any:
        """What :meth:`difference` needs to know to judge the item that comes out for this one."""

    @abstractmethod
    def difference(self, expected: Any, seen: Seen) -> str | None:
        """What is wrong with an item that came out, in a sentence; None when it is right."""


class Scoreboard(Generic[Sent, Seen]):
    """Compares what came out with what the model expects, in order.

    Members
    -------
    differences
        A sentence for each item that was wrong, and for each time the protocol was broken (the first hundred).
    judged
        For every item that was expected and came out, what was wrong with it, or None.
    seen
        Every item that came out.
    changed
        Set whenever an item came out or a fault was noted.
    """

    def __init__(self, model: Model[Sent, Seen]) -> None:
        self.model = model
        self.differences: list[str] = []
        self.judged: list[str | None] = []
        self.seen: list[Seen] = []
        self.changed = Event()
        self._expected: deque[tuple[str, Any]] = deque()
        self._sent = 0

    @property
    def outstanding(self) -> int:
        """How many items still have to come out."""
        return len(self._expected)

    def sent(self, item: Sent) -> None:
        """Note that an item is going in."""
        self._expected.append((f"packet {self._sent} ({item})", self.model.expect(item)))
        self._sent += 1

    def observe(self, item: Seen) -> None:
        """Judge an item that came out."""
        self.seen.append(item)
        if self._expected:
            name, expected = self._expected.popleft()
            fault = self.model.difference(expected, item)
            self.judged.append(fault)
            if fault is not None:
                self.differences.append(f"{name}: {fault}")
        else:
            self.differences.append(f"{item} came out, but nothing was outstanding")
        self.changed.set()

    def fault(self, sentence: str) -> None:
        """Note a fault that belongs to no item: a broken protocol."""
        if len(self.differences) < _MOST_FAULTS:
            self.differences.append(sentence)
        self.changed.set()

    def forget(self) -> None:
        """Expect no more items: those not finished are lost in a reset."""
        self._expected.clear()

    def waiting_for(self) -> str:
        """Name of the item that has to come out next."""
        return self._expected[0][0] if self._expected else "nothing"


class Testbench(ABC, Generic[Sent, Seen]):
    """A design under test with its clock, its reset, its agents and its scoreboard.

    Parameters
    ----------
    dut
        The top module's handle; the clock is ``aclk``, the reset ``aresetn``.
    model
        Says what must come out.
    """

    def __init__(self, dut: Any, model: Model[Sent, Seen]) -> None:
        self.dut = dut
        self.scoreboard: Scoreboard[Sent, Seen] = Scoreboard(model)
        self.agents: list[Agent] = []
        self._clock: Clock | None = None

    @abstractmethod
    def idle(self) -> None:
        """Drive every input to its idle value."""

    @abstractmethod
    def in_reset(self) -> None:
        """Check what must hold while the reset is held."""

    async def reset(self, cycles: int = 3) -> None:
        """Reset the design and the agents; items that are not finished are discarded."""
        if self._clock is None:
            self._clock = Clock(self.dut.aclk, CLOCK_NS, "ns")
            self._clock.start()
        for agent in self.agents:
            agent.stop()
        self.scoreboard.forget()
        self.dut.aresetn.value = 0
        self.idle()
        await ClockCycles(self.dut.aclk, cycles)
        self.in_reset()
        self.dut.aresetn.value = 1
        for agent in self.agents:
            agent.start()

    def close(self) -> None:
        """Stop the agents and the clock, so that another testbench can take the design."""
        for agent in self.agents:
            agent.stop()
        if self._clock is not None:
            self._clock.stop()
            self._clock = None

    async def drain(self, cycles: int, to_the_end: bool = False) -> None:
        """Wait until everything that was sent came out, then a little longer for what must not come.

        Parameters
        ----------
        cycles
            How many cycles may pass without an item coming out.
        to_the_end
            Go on after a difference.

        Raises
        ------
        AssertionError
            With the first differences, or with what did not come out.
        """
        board = self.scoreboard
        while board.outstanding and (to_the_end or not board.differences):
            board.changed.clear()
            try:
                await with_timeout(board.changed.wait(), cycles * CLOCK_NS, "ns")
            except SimTimeoutError:
                board.fault(f"{board.waiting_for()}: nothing came out for {cycles} cycles, "
                            f"{board.outstanding} packets are outstanding")
                break
        else:
            await ClockCycles(self.dut.aclk, 40)
        self.check()

    def check(self) -> None:
        """Raise AssertionError when anything was wrong so far."""
        if faults := self.scoreboard.differences:
            more = f"\nand {len(faults) - 3} more" if len(faults) > 3 else ""
            raise AssertionError("\n".join(faults[:3]) + more)
