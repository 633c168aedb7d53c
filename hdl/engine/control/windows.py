"""The address windows: the parts of device memory and of link memory that descriptors and rings may use."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import window_layout
from cdma.hdl.engine.control.table import MEMORIES, WINDOW_BITS

__all__ = ["WINDOW_REGISTERS", "Windows", "windows_layout"]

WINDOW_REGISTERS = (*(f"{memory}_{end}_{half}" for memory in MEMORIES for end in ("base", "limit")
                      for half in ("lo", "hi")), "window_control")
"""The registers, in small letters."""


def windows_layout(config: EngineConfig) -> data.StructLayout:
    """The windows of both memories."""
    return data.StructLayout({memory: window_layout(config.address_bits) for memory in MEMORIES})


class Windows(wiring.Component):
    """Registers of the windows, and their lock. A soft reset changes none of them.

    A base or limit can be written while nothing uses it, and never again once the windows are locked: whatever was
    compared with a window when it began is inside that window until it ends.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    write : In
        One bit for each of ``WINDOW_REGISTERS`` that is written in this cycle with ``data``.
    data : In(32)
        The value written.
    idle : In(1)
        No ring is enabled, and no descriptor is being processed.
    refuse : Out(1)
        In the cycle of a write: the write is not allowed, and changes nothing.
    values : Out(windows_layout(config))
        The windows.
    locked : Out(1)
        They cannot be changed.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "write": In(data.StructLayout(dict.fromkeys(WINDOW_REGISTERS, 1))), "data": In(32), "idle": In(1),
            "refuse": Out(1), "values": Out(windows_layout(config)), "locked": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low_bits = 32 - WINDOW_BITS
        changes = Cat(self.write[name] for name in WINDOW_REGISTERS if name != "window_control").any()
        m.d.comb += self.refuse.eq((self.locked & (changes | self.write.window_control)) | (changes & ~self.idle))
        with m.If(self.write.window_control & self.data[0]):
            m.d.sync += self.locked.eq(1)
        for memory in MEMORIES:
            window = self.values[memory]
            unlimited = Signal(init=1, name=f"{memory}_unlimited")
            m.d.comb += window.unlimited.eq(unlimited)
            for end in ("base", "limit"):
                page = Signal(len(window[end]), name=f"{memory}_{end}")
                m.d.comb += window[end].eq(page)
                for half, part, value in (("lo", page[:low_bits], self.data[WINDOW_BITS:]),
                                          ("hi", page[low_bits:], self.data)):
                    with m.If(self.write[f"{memory}_{end}_{half}"] & ~self.refuse):
                        m.d.sync += part.eq(value)
                if end == "limit":
                    m.d.sync += unlimited.eq(page == 0)
        return m
