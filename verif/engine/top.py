"""The top of a simulation: an engine with a device memory at its lanes and a link memory on the other side."""

from __future__ import annotations

from amaranth.hdl import Shape
from amaranth.lib.wiring import Member

from hdl.config.engine import EngineConfig
from hdl.engine.axi.bursts import MOST_BEATS
from hdl.engine.axi.signature import axi_full, axi_lite
from verif.engine.memory import SOURCE

__all__ = ["DEVICE", "IMAGE_BYTES", "KNOB_PORTS", "LINK", "LITE_BITS", "memory", "top", "top_name", "wire_range"]

DEVICE, LINK = 0, 1
"""Numbers of the memories, for the knobs."""

IMAGE_BYTES = 1 << 22
"""Bytes of each memory unless said otherwise."""

LITE_BITS = 12
"""Address bits of the registers."""

KNOB_PORTS = ["input wire knob_write", "input wire knob_memory", "input wire [7:0] knob_port", "input wire [7:0] knob",
              "input wire [63:0] knob_value", "output wire [63:0] knob_read"]
"""Ports of a top that lead to the knobs of its memories."""

_UNUSED = ("arcache", "arprot", "awcache", "awprot")


def top_name(config: EngineConfig) -> str:
    """Name of the top's module."""
    return f"{config.name}_bench"


def top(engine: str, config: EngineConfig, image_bytes: int = IMAGE_BYTES) -> str:
    """Verilog of a simulation's top, with everything below it.

    Parameters
    ----------
    engine
        Verilog of the engine.
    config
        What it was generated from.
    image_bytes
        Bytes of each memory.
    """
    ports = [f"m_axi_lane{lane}" for lane in range(config.lanes)]
    wires, pins = [], []
    for prefix, beat_bytes in [*((port, config.beat_bytes) for port in ports),
                               ("m_axi_link", config.link_beat_bytes)]:
        for name, member in axi_full(config.address_bits, beat_bytes).members.items():
            wires.append(f"    wire {wire_range(member)}{prefix}_{name};")
            pins.append(f".{prefix}_{name}({prefix}_{name})")
    header = ["input wire aclk", "input wire aresetn", "output wire irq"]
    for name, member in axi_lite(LITE_BITS).members.items():
        direction = "input" if member.flow.value == "Out" else "output"
        header.append(f"{direction} wire {wire_range(member)}s_axil_{name}")
        pins.append(f".s_axil_{name}(s_axil_{name})")
    header += KNOB_PORTS
    pins += [f".{name}({name})" for name in ("aclk", "aresetn", "irq")]
    text = [
        f"module {top_name(config)} (\n    " + ",\n    ".join(header) + "\n);",
        *wires,
        f"    {config.name} engine (\n        " + ",\n        ".join(pins) + "\n    );",
        "    wire [63:0] device_read, link_read;",
        "    assign knob_read = knob_memory ? link_read : device_read;",
        memory("device", DEVICE, config.address_bits, config.beat_bytes, ports, image_bytes, config.block_bytes,
               config.burst_beats, config.outstanding_reads),
        memory("link", LINK, config.address_bits, config.link_beat_bytes, ["m_axi_link"], image_bytes, 0,
               config.burst_beats, config.outstanding_reads),
        "endmodule\n",
    ]
    return "\n".join([SOURCE, engine, *text])


def wire_range(member: Member) -> str:
    """A port's width as Verilog has it before a name."""
    width = Shape.cast(member.shape).width
    return f"[{width - 1}:0] " if width > 1 else ""


def memory(name: str, number: int, address_bits: int, beat_bytes: int, ports: list[str], image_bytes: int,
           interleave: int, most_beats: int = MOST_BEATS, most_open: int = 64) -> str:
    """An instance of the memory.

    Parameters
    ----------
    name
        Of the instance, and of the files that it loads and dumps.
    number
        Which value of ``knob_memory`` means it.
    ports
        Prefixes of the wires at its AXI ports.
    image_bytes, interleave, most_beats, most_open
        As in Verilog.
    """
    pins = [".aclk(aclk)", ".aresetn(aresetn)", f".knob_write(knob_write && knob_memory == {number})",
            ".knob_port(knob_port)", ".knob(knob)", ".knob_value(knob_value)", f".knob_read({name}_read)"]
    for signal in axi_full(address_bits, beat_bytes).members:
        if signal not in _UNUSED:
            # Verilog's concatenation begins with the highest bits.
            pins.append(f".{signal}({{{', '.join(f'{port}_{signal}' for port in reversed(ports))}}})")
    values = {"NAME": f'"{name}"', "PORTS": len(ports), "ADDRESS_BITS": address_bits, "BEAT_BYTES": beat_bytes,
              "IMAGE_BYTES": image_bytes, "INTERLEAVE": interleave, "MOST_BEATS": most_beats,
              "MOST_OPEN": most_open}
    parameters = ", ".join(f".{key}({value})" for key, value in values.items())
    return f"    cdma_memory #({parameters}) {name} (\n        " + ",\n        ".join(pins) + "\n    );"
