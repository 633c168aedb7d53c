"""AXI4-Lite: a master for an engine's registers, which takes no processor time while no register is accessed."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from itertools import repeat
from typing import Any, Protocol

from cocotb.triggers import Lock, RisingEdge

__all__ = ["Lite", "RegisterError", "Registers", "refused"]

_PATIENCE = 1000
OKAY, _SLVERR = 0, 2


class RegisterError(Exception):
    """A register answered with an error.

    Parameters
    ----------
    resp
        The response.
    """

    def __init__(self, what: str, resp: int) -> None:
        super().__init__(f"{what} was answered with {('OKAY', 'EXOKAY', 'SLVERR', 'DECERR')[resp]}")
        self.resp = resp


class Registers(Protocol):
    """Whatever reads and writes 32-bit registers by their byte offsets."""

    async def write(self, offset: int, value: int, strobe: int = 15) -> None:
        """Write the bytes of a register that the strobe names; RegisterError when it is refused."""
        ...

    async def read(self, offset: int) -> int:
        """Read a register; RegisterError when it is refused."""
        ...


async def refused(access: Awaitable[Any], what: str) -> None:
    """Check that an access to a register is answered with SLVERR."""
    try:
        await access
    except RegisterError as error:
        assert error.resp == _SLVERR, f"{what}: response {error.resp}"
    else:
        raise AssertionError(f"{what} was not refused")


class Lite:
    """Drives an AXI4-Lite port, one access at a time.

    Parameters
    ----------
    dut
        The top module; the clock is ``aclk``.
    prefix
        Of the port.

    Members
    -------
    pauses
        For every cycle whether valid or ready is held back, where AXI leaves the choice.
    """

    def __init__(self, dut: Any, prefix: str = "s_axil") -> None:
        self.pauses: Iterator[int] = repeat(0)
        self._dut = dut
        self._prefix = prefix
        self._pins: dict[str, Any] = {}
        self._lock = Lock()

    def idle(self) -> None:
        """Drive the idle values."""
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "awaddr", "awprot", "wdata", "wstrb", "araddr",
                     "arprot"):
            self._pin(name).value = 0

    async def write(self, offset: int, value: int, strobe: int = 15) -> None:
        """Write the bytes of a register that the strobe names.

        Raises
        ------
        RegisterError
            When it is refused.
        """
        async with self._lock:
            self._pin("awaddr").value, self._pin("wdata").value, self._pin("wstrb").value = offset, value, strobe
            resp = await self._access(("aw", "w"), "b", f"the write of register {offset:#05x}")
        if resp != OKAY:
            raise RegisterError(f"the write of register {offset:#05x}", resp)

    async def read(self, offset: int) -> int:
        """Read a register.

        Raises
        ------
        RegisterError
            When it is refused.
        """
        async with self._lock:
            self._pin("araddr").value = offset
            resp = await self._access(("ar",), "r", f"the read of register {offset:#05x}")
            value = int(self._pin("rdata").value)
        if resp != OKAY:
            raise RegisterError(f"the read of register {offset:#05x}", resp)
        return value

    def _pin(self, name: str) -> Any:
        if name not in self._pins:
            self._pins[name] = getattr(self._dut, f"{self._prefix}_{name}")
        return self._pins[name]

    async def _access(self, requests: tuple[str, ...], answer: str, what: str) -> int:
        """Raises valid on the channels of the request and ready on that of the answer; returns the response.

        ``rdata`` is read right after: the values before the edge are still there.
        """
        edge = RisingEdge(self._dut.aclk)
        waiting, offered, ready = list(requests), set[str](), False
        for _ in range(_PATIENCE):
            for channel in waiting:
                if channel not in offered and not next(self.pauses):
                    self._pin(f"{channel}valid").value = 1
                    offered.add(channel)
            wanted = not next(self.pauses)
            if wanted != ready:
                self._pin(f"{answer}ready").value = wanted
                ready = wanted
            await edge
            for channel in list(waiting):
                if channel in offered and int(self._pin(f"{channel}ready").value):
                    waiting.remove(channel)
                    self._pin(f"{channel}valid").value = 0
            if ready and int(self._pin(f"{answer}valid").value):
                if waiting:
                    raise AssertionError(f"{what} was answered before it was taken")
                self._pin(f"{answer}ready").value = 0
                return int(self._pin(f"{answer}resp").value)
        raise AssertionError(f"{what} was not answered in {_PATIENCE} cycles")
