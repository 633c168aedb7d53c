"""What the engine says of its transactions beside address and length: AxCACHE, AxPROT, AxQOS and AxUSER."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AttributeHold", "attributes_layout"]


def attributes_layout(user_bits: int) -> data.StructLayout:
    """The attributes of a transaction; ``user`` only where there are bits of it.

    Source: AMBA AXI and ACE (IHI 0022), A4.4 (AxCACHE), A4.7 (AxPROT), A8.1 (AxQOS), A8.3 (AxUSER).
    """
    return data.StructLayout({"cache": 4, "prot": 3, "qos": 4} | ({"user": user_bits} if user_bits else {}))


class AttributeHold(wiring.Component):
    """Gives a request channel the attributes of a register, and keeps them while a request waits for its port.

    =====  ======  ======  =====  =====
    cycle  ``i``   valid   ready  ``o``
    =====  ======  ======  =====  =====
    0      A       0       any    A
    1      B       1       0      A
    2      B       1       1      A
    3      B       1       any    B
    =====  ======  ======  =====  =====

    AXI forbids to change a request that waits. The outputs are registers: they follow ``i`` by a cycle.

    Parameters
    ----------
    user_bits : int
        Bits of AxUSER.

    Members
    -------
    i : In(attributes_layout(user_bits))
        The attributes of requests that begin from the next cycle on.
    valid, ready : In(1)
        Of the port's channel.
    o : Out(attributes_layout(user_bits))
        The attributes at the port.
    """

    def __init__(self, user_bits: int):
        layout = attributes_layout(user_bits)
        super().__init__({"i": In(layout), "valid": In(1), "ready": In(1), "o": Out(layout)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(self.o.shape(), reset_less=True)
        m.d.comb += self.o.eq(held)
        with m.If(~self.valid | self.ready):
            m.d.sync += held.eq(self.i)
        return m
