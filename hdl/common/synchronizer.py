"""A level from another clock domain."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Synchronizer"]


class Synchronizer(wiring.Component):
    """Takes a level, or a Gray code, from another clock domain through two registers.

    ::

        i --> [stage0] --> [stage1] --> o       both in `domain`, with the attribute ASYNC_REG

    Only ``stage0`` may be metastable. Constraints name these registers, and ASIC flows may put a cell in their place:
    each synchroniser is a module of its own. ``i`` must be a register of the other domain. Of several bits, one may
    change at a time.

    Parameters
    ----------
    domain : str
        Clock domain of the output.
    width : int
        Bits.
    init : int, optional
        What ``o`` is in the reset of ``domain`` and for two cycles after it; without it the registers have no reset.

    Members
    -------
    i, o : In(width), Out(width)
        In and out; 2 to 3 cycles of ``domain`` later.
    """

    def __init__(self, domain: str, width: int = 1, init: int | None = None):
        self.domain = domain
        self._init = init
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform: Any) -> Module:
        # Tests put one in its place whose bits come late at random.
        if hasattr(platform, "get_synchronizer"):
            return platform.get_synchronizer(self)
        return self.stages(self.i)

    def stages(self, i: Any) -> Module:
        """The two registers behind a value."""
        m = Module()
        stages = [Signal(len(self.i), name=f"stage{number}", init=self._init or 0, reset_less=self._init is None,
                         attrs={"ASYNC_REG": "TRUE"}) for number in range(2)]
        m.d[self.domain] += [stages[0].eq(i), stages[1].eq(stages[0])]
        m.d.comb += self.o.eq(stages[1])
        return m
