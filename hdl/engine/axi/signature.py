"""Ports of AXI4 and AXI4-Lite as signatures, with the specification's own signal names.

Masters inside the engine have no attributes (AxCACHE, AxPROT, AxQOS, AxUSER): the engine's ports add them.

Source: AMBA AXI and ACE (IHI 0022), chapters A2 (signals), B1 (AXI4-Lite).
"""

from __future__ import annotations

from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.axi.attributes import attributes_layout

__all__ = ["ID_BITS", "Resp", "axi_full", "axi_lite", "axi_read", "axi_write"]

ID_BITS = 1
"""Bits of the identifiers of a port whose transactions all have the same one."""


class Resp(enum.Enum, shape=2):
    """Response to a transfer."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


def _request(channel: str, address_bits: int, id_bits: int) -> dict[str, wiring.Member]:
    return {
        f"{channel}id": Out(id_bits), f"{channel}addr": Out(address_bits), f"{channel}len": Out(8),
        f"{channel}size": Out(3), f"{channel}burst": Out(2),
        f"{channel}valid": Out(1), f"{channel}ready": In(1),
    }


def axi_read(address_bits: int, beat_bytes: int, id_bits: int = ID_BITS) -> wiring.Signature:
    """The read channels of an AXI4 port, as the master has them. All transactions have identifier 0, but those behind
    :class:`cdma.hdl.engine.axi.reorder.AxiReorder`."""
    return wiring.Signature(_request("ar", address_bits, id_bits) | {
        "rid": In(id_bits), "rdata": In(8 * beat_bytes), "rresp": In(2), "rlast": In(1),
        "rvalid": In(1), "rready": Out(1),
    })


def axi_write(address_bits: int, beat_bytes: int, id_bits: int = ID_BITS) -> wiring.Signature:
    """The write channels of an AXI4 port, as the master has them. All transactions have identifier 0."""
    return wiring.Signature(_request("aw", address_bits, id_bits) | {
        "wdata": Out(8 * beat_bytes), "wstrb": Out(beat_bytes), "wlast": Out(1), "wvalid": Out(1), "wready": In(1),
        "bid": In(id_bits), "bresp": In(2), "bvalid": In(1), "bready": Out(1),
    })


def axi_full(address_bits: int, beat_bytes: int, user_bits: int = 0, id_bits: int = ID_BITS) -> wiring.Signature:
    """An AXI4 port with all channels and attributes, as the master has it; with ``user_bits``, AxUSER too."""
    attributes = {f"{channel}{name}": Out(shape) for channel in ("ar", "aw")
                  for name, shape in attributes_layout(user_bits).members.items()}
    return wiring.Signature({**axi_read(address_bits, beat_bytes, id_bits).members,
                             **axi_write(address_bits, beat_bytes, id_bits).members, **attributes})


def axi_lite(address_bits: int) -> wiring.Signature:
    """An AXI4-Lite port of 32 bits, as the master has it; a subordinate has ``In(axi_lite(...))``."""
    return wiring.Signature({
        "awaddr": Out(address_bits), "awprot": Out(3), "awvalid": Out(1), "awready": In(1),
        "wdata": Out(32), "wstrb": Out(4), "wvalid": Out(1), "wready": In(1),
        "bresp": In(2), "bvalid": In(1), "bready": Out(1),
        "araddr": Out(address_bits), "arprot": Out(3), "arvalid": Out(1), "arready": In(1),
        "rdata": In(32), "rresp": In(2), "rvalid": In(1), "rready": Out(1),
    })
