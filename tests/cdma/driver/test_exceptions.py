"""Exceptions of hooks and signals at any moment of a call of the driver in Python."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cdma.driver import (
    Driver,
    DriverError,
)
from cdma.golden.engine import Operation, Status
from tests.cdma.driver.systems import CODING, LINK, RING, STREAM, Halting, System

_OFFLOAD, _PREFETCH = Operation


def test_an_exception_ends_a_call() -> None:
    """Of a register's access, or of ``relax``, however long a call would poll; the driver goes on after it."""
    system = System(polls=0)
    driver = system.driver
    system.registers.halted = True

    def fails(*_: Any) -> None:
        raise KeyboardInterrupt("stopped")

    driver.relax = fails
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        driver.offload(0, STREAM, 4096, 8192, CODING)
    driver.relax = None
    system.registers.before = fails
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        driver.offload(0, STREAM, 4096, 8192, CODING)
    system.registers.before, system.registers.halted = lambda offset, value: None, False
    wrong: Any = SimpleNamespace(read32=lambda offset: "", write32=lambda offset, value: "not used")
    with pytest.raises(TypeError):
        Driver(wrong)
    system.registers._work(_OFFLOAD)
    assert driver.offload(0, STREAM, 4096, 8192, CODING).status is Status.OK


class Failing:
    """Registers, of which the access raises that comes after ``left`` others, before it is done or after it."""

    def __init__(self, registers: Halting, done: bool = False) -> None:
        self.registers, self.done, self.left = registers, done, -1

    def _access(self, call: Callable[..., int | None], *arguments: int) -> Any:
        self.left -= 1
        found = call(*arguments) if self.left != -1 or self.done else None
        if self.left == -1:
            raise OSError("no answer")
        return found

    def read32(self, offset: int) -> int:
        return self._access(self.registers.read32, offset)

    def write32(self, offset: int, value: int) -> None:
        self._access(self.registers.write32, offset, value)


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("name", ["write_back_init", "write_back_disable", "drain", "reset", "ring_init", "submit",
                                  "offload", "wait"])
def test_an_exception_at_any_access(name: str, done: bool) -> None:
    """C, which goes on with zeros, does not take the engine for idle, its ring for disabled, or a new one for its own;
    and no ring that it has is freed."""
    for left in range(100):
        system = System()
        registers, memory = Failing(system.registers, done), system.ring(4)
        driver = Driver(registers, polls=100, record_polls=2)
        driver.write_back_init(_OFFLOAD, memory, RING, 4)
        for _ in range(3):      # the next record is the ring's last one
            driver.offload(0, STREAM, 64, 128, CODING)
        if name != "offload":
            driver.submit(system.offload(1))
        given: list[Any] = {"write_back_init": [_OFFLOAD, memory, RING, 4], "reset": [], "submit": [system.offload(2)],
                            "ring_init": [_OFFLOAD, system.link[0x4000:], LINK + 0x4000, 4],
                            "offload": [0, STREAM, 64, 128, CODING]}.get(name, [_OFFLOAD])
        registers.left = left
        try:
            getattr(driver, name)(*given)
        except OSError:
            pass
        else:
            break
        has = ctypes.cast(driver.state.records[0], ctypes.c_void_p).value
        assert has in (None, *map(ctypes.addressof, driver._records[_OFFLOAD]))
        if name == "wait" and not done:
            assert driver.wait(_OFFLOAD).tag == 1, "it comes again"
        while driver.poll(_OFFLOAD) is not None:
            pass
        driver.drain(_OFFLOAD)
        assert not driver.state.pending[0] and not driver.state.late[0]
        assert driver.offload(0, STREAM, 64, 128, CODING).status is Status.OK
        driver.write_back_init(_OFFLOAD, memory, RING, 4)
        assert driver.offload(0, STREAM, 64, 128, CODING).status is Status.OK
    else:
        pytest.fail("it always raises")
    assert left


def test_an_exception_while_a_ring_is_full() -> None:
    """RING_HEAD was not read: entries that the engine has not read stay as they are."""
    system = System()
    registers = Failing(system.registers)
    driver = Driver(registers, polls=100)
    ring = driver.ring_init(_OFFLOAD, system.ring(4), RING, 4)
    driver.ring_submit(ring, system.offload(9))
    driver.wait(_OFFLOAD)
    system.registers.halted = True
    for tag in range(3):
        driver.ring_submit(ring, system.offload(tag))
    registers.left = 1
    with pytest.raises(OSError, match="no answer"):
        driver.ring_submit(ring, system.offload(3))
    assert (ring.head, ring.tail, driver.state.pending[0]) == (1, 0, 3)
    system.registers.halted = False
    driver.ring_enable(ring)
    assert [driver.wait(_OFFLOAD).tag for _ in range(3)] == [0, 1, 2] and driver.state.pending[0] == 0


def test_a_signal_at_any_moment() -> None:
    """Python's handler may run before the first line of a hook, where nothing catches what it raises: the call ends all
    the same, and what C reads then is no completion."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("Python handles signals on its main thread")
    system, lost = System(polls=1 << 20), []
    driver = system.driver
    system.registers.halted = True
    driver.submit(system.offload(1))
    waits: list[bool] = []

    def came(*_: Any) -> None:
        if waits:
            raise KeyboardInterrupt

    # Where the tests run in the background, SIGINT is ignored. After the call nothing is raised any more.
    handler, before = signal.signal(signal.SIGINT, came), sys.unraisablehook
    sys.unraisablehook = lost.append
    try:
        for _ in range(1000):
            sender = threading.Timer(0.001, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
            # It may come before the call, and where Python itself drops it, as in a finaliser, the call gives up.
            with pytest.raises((KeyboardInterrupt, DriverError)) as ended:
                waits.append(True)
                try:
                    sender.start()
                    driver.wait(_OFFLOAD)
                finally:
                    waits.clear()
            sender.join()
            assert ended.type is KeyboardInterrupt or not lost
            if lost:
                break
    finally:
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = before
    assert lost, "none came where it matters"
    assert driver.state.pending[0] == 1
    system.registers.halted = False
    system.registers._work(_OFFLOAD)
    assert driver.wait(_OFFLOAD).tag == 1
