"""An AXI4-Lite subordinate: turns the bus into single accesses to registers."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.axi.signature import Resp, axi_lite

__all__ = ["AxiLite", "register_port"]


def register_port(address_bits: int) -> wiring.Signature:
    """Accesses to registers of 32 bits, as the bus side has them; the registers have ``In(register_port(...))``.

    ``write`` or ``read`` is high for one cycle. ``address`` (of a word), ``write_data`` and ``write_strobe`` (a bit
    per byte) are valid from that cycle until ``ack``. ``ack`` is high for one cycle, in the next cycle or later;
    ``read_data`` and ``error`` (the access was refused) are valid with it. The next access begins after ``ack``.
    """
    return wiring.Signature({
        "address": Out(address_bits - 2), "write": Out(1), "write_data": Out(32), "write_strobe": Out(4),
        "read": Out(1), "ack": In(1), "read_data": In(32), "error": In(1),
    })


class AxiLite(wiring.Component):
    """Turns AXI4-Lite into single accesses.

    ::

        aw --> [register] --+                             +--> [register] --> port.address
        w  --> [register] --+--> [turns, one at a time] --+--> port
        ar --> [register] --+              |
        b  <-------- [register] <----------+
        r  <-------- [register] <----------+

    Every channel has one register, so addresses and data may come in any order and at any distance, and all outputs to
    the bus are registered. A write begins when its address and data have come and the previous write response was
    taken; a read begins when its address has come and the previous read data was taken. Writes and reads alternate,
    because after one access the next of the same kind cannot be there yet. The two lowest bits of an address are
    ignored.

    Latency: with ``ack`` in the next cycle, the response comes 4 cycles after the last part of the request.

    Parameters
    ----------
    address_bits : int
        Bits of a byte address.

    Members
    -------
    bus : In(axi_lite(address_bits))
        The bus. ``SLVERR`` answers an access with ``error``.
    port : Out(register_port(address_bits))
        The registers.

    Source: AMBA AXI and ACE (IHI 0022), A3.3 (dependencies between channels), B1 (AXI4-Lite).
    """

    def __init__(self, address_bits: int):
        super().__init__({"bus": In(axi_lite(address_bits)), "port": Out(register_port(address_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, port = self.bus, self.port
        places = {}
        for channel, parts in (("aw", (bus.awaddr[2:],)), ("w", (bus.wdata, bus.wstrb)), ("ar", (bus.araddr[2:],))):
            full = Signal(name=f"{channel}_full")
            held = Signal(len(Cat(parts)), name=f"{channel}_held", reset_less=True)
            m.d.comb += getattr(bus, f"{channel}ready").eq(~full)
            with m.If(~full):
                m.d.sync += [full.eq(getattr(bus, f"{channel}valid")), held.eq(Cat(parts))]
            places[channel] = full, held

        writes = Signal()
        may_write = Signal()
        may_read = Signal()
        address = Signal.like(port.address, reset_less=True)
        m.d.comb += [
            may_write.eq(places["aw"][0] & places["w"][0] & ~bus.bvalid),
            may_read.eq(places["ar"][0] & ~bus.rvalid),
            port.address.eq(address),
            Cat(port.write_data, port.write_strobe).eq(places["w"][1]),
        ]
        write_error = Signal(reset_less=True)
        read_error = Signal(reset_less=True)
        read_data = Signal(32, reset_less=True)
        m.d.comb += [
            bus.bresp.eq(Mux(write_error, Resp.SLVERR, Resp.OKAY)),
            bus.rresp.eq(Mux(read_error, Resp.SLVERR, Resp.OKAY)),
            bus.rdata.eq(read_data),
        ]
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.FSM():
            with m.State("wait"):
                # All registers decode the address, so it is registered behind the choice.
                m.d.sync += address.eq(Mux(may_write, places["aw"][1], places["ar"][1]))
                with m.If(may_write | may_read):
                    m.d.sync += writes.eq(may_write)
                    m.next = "go"
            with m.State("go"):
                m.d.comb += [port.write.eq(writes), port.read.eq(~writes)]
                m.next = "ack"
            with m.State("ack"):
                with m.If(port.ack):
                    with m.If(writes):
                        m.d.sync += [bus.bvalid.eq(1), write_error.eq(port.error),
                                     places["aw"][0].eq(0), places["w"][0].eq(0)]
                    with m.Else():
                        m.d.sync += [bus.rvalid.eq(1), read_error.eq(port.error), read_data.eq(port.read_data),
                                     places["ar"][0].eq(0)]
                    m.next = "wait"
        return m
