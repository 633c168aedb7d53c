"""An AXI4-Lite master: one access to a register at a time."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.axi.signature import Resp, axi_lite

__all__ = ["RegisterMaster"]


class RegisterMaster(wiring.Component):
    """Writes or reads a register of 32 bits.

    ::

        start, write, address, write_data --> [aw, w | ar] --> bus
        done, read_data, error <------------- [b | r] <-------- bus

    Address and data of a write are sent together, and each waits for its own ``ready``.

    Parameters
    ----------
    address_bits : int
        Bits of a byte address.

    Members
    -------
    start : In(1)
        Begin an access; not before the last one is done.
    write : In(1)
        Write; otherwise read.
    address : In(address_bits - 2)
        Address of the register, in words.
    write_data : In(32)
        What is written.
    done : Out(1)
        One cycle, at the end of the access; with it:
    read_data : Out(32)
        What was read.
    error : Out(1)
        The access was not answered with OKAY.
    bus : Out(axi_lite(address_bits))
        The registers.

    Source: AMBA AXI and ACE (IHI 0022), A3.3, B1 (AXI4-Lite).
    """

    def __init__(self, address_bits: int):
        super().__init__({
            "start": In(1), "write": In(1), "address": In(address_bits - 2), "write_data": In(32),
            "done": Out(1), "read_data": Out(32), "error": Out(1), "bus": Out(axi_lite(address_bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        address = Signal.like(self.address)
        with m.If(self.start):
            m.d.sync += [
                address.eq(self.address), bus.wdata.eq(self.write_data),
                bus.awvalid.eq(self.write), bus.wvalid.eq(self.write), bus.arvalid.eq(~self.write),
            ]
        with m.Else():
            for channel in ("aw", "w", "ar"):
                valid, ready = getattr(bus, f"{channel}valid"), getattr(bus, f"{channel}ready")
                m.d.sync += valid.eq(valid & ~ready)
        m.d.comb += [
            bus.awaddr.eq(address << 2), bus.araddr.eq(address << 2), bus.wstrb.eq(Const(1).replicate(4)),
            bus.bready.eq(1), bus.rready.eq(1),
            self.done.eq(bus.bvalid | bus.rvalid),
            self.read_data.eq(bus.rdata),
            self.error.eq((bus.bvalid & (bus.bresp != Resp.OKAY)) | (bus.rvalid & (bus.rresp != Resp.OKAY))),
        ]
        return m
