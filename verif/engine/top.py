# amaranth: UnusedElaboratable=no
"""The top of a simulation: an engine with a device memory at its lanes and a link memory on the other side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Shape
from amaranth.lib.wiring import Member

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.attributes import attributes_layout
from cdma.hdl.engine.axi.bursts import MOST_BEATS
from cdma.hdl.engine.axi.signature import ID_BITS, axi_lite, axi_read, axi_write
from cdma.hdl.engine.engine import Engine
from cdma.verif.engine.memory import SOURCE

__all__ = ["DEVICE", "IMAGE_BYTES", "KNOB_PORTS", "LINK", "LITE_BITS", "Rules", "attributes", "link_clock", "memory",
           "memory_ports", "rules", "top", "top_name", "wire_range"]

DEVICE, LINK = 0, 1
"""Numbers of the memories, for the knobs."""

IMAGE_BYTES = 1 << 22
"""Bytes of each memory unless said otherwise."""

LITE_BITS = 12
"""Address bits of the registers."""

KNOB_PORTS = ["input wire knob_write", "input wire knob_memory", "input wire [7:0] knob_port", "input wire [7:0] knob",
              "input wire [63:0] knob_value", "output wire [63:0] knob_read"]
"""Ports of a top that lead to the knobs of its memories."""

@dataclass(frozen=True)
class Rules:
    """What a memory allows of the requests of its masters, beyond AXI; parameters of the memory in Verilog.

    ``own_ids``: outstanding reads have different identifiers, and are answered in any order.
    """

    most_beats: int = MOST_BEATS
    most_reads: int = 64
    most_writes: int = 64
    user_bits: int = 0
    attributes: int = 0
    safe_writes: bool = False
    id_bits: int = ID_BITS
    own_ids: bool = False


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
    *ports, link = found = memory_ports(config)
    wires, pins = [], []
    for prefix, members in found.items():
        for name, member in members.items():
            wires.append(f"    wire {wire_range(member)}{prefix}_{name};")
            pins.append(f".{prefix}_{name}({prefix}_{name})")
    interrupts = ["irq", *(["irq_pulse"] if config.write_back else [])]
    clocks = ["aclk", "aresetn", *(["link_aclk", "link_aresetn"] if link_clock(config) else [])]
    header = [*(f"input wire {name}" for name in clocks), *(f"output wire {name}" for name in interrupts)]
    for name, member in axi_lite(LITE_BITS).members.items():
        direction = "input" if member.flow.value == "Out" else "output"
        header.append(f"{direction} wire {wire_range(member)}s_axil_{name}")
        pins.append(f".s_axil_{name}(s_axil_{name})")
    header += KNOB_PORTS
    pins += [f".{name}({name})" for name in (*clocks, *interrupts)]
    text = [
        f"module {top_name(config)} (\n    " + ",\n    ".join(header) + "\n);",
        *wires,
        f"    {config.name} engine (\n        " + ",\n        ".join(pins) + "\n    );",
        "    wire [63:0] device_read, link_read;",
        "    assign knob_read = knob_memory ? link_read : device_read;",
        memory("device", DEVICE, config.address_bits, config.beat_bytes, ports, image_bytes, config.block_bytes,
               rules(config, "lane")),
        memory("link", LINK, config.address_bits, config.link_beat_bytes, [link], image_bytes, 0,
               rules(config, "link"), link_clock(config)),
        "endmodule\n",
    ]
    return "\n".join([SOURCE, engine, *text])


def memory_ports(config: EngineConfig) -> dict[str, Mapping[str, Member]]:
    """The signals of an engine's ports to memory, by the ports' names: those of the lanes, then the link's."""
    members = Engine(config).signature.members
    return {name: members[name].signature.members for name in members if name.startswith("m_axi_")}


def attributes(config: EngineConfig, port: str) -> int:
    """The attributes of a kind of ports, ``lane`` or ``link``, as the memory takes them."""
    layout = attributes_layout(config.user_bits)
    return sum(getattr(config, f"{port}_{name}") << layout[name].offset for name in layout.members)


def rules(config: EngineConfig, port: str) -> Rules:
    """What an engine keeps at a kind of ports, ``lane`` or ``link``."""
    link = port == "link"
    return Rules(config.burst_beats, config.link_reads if link else config.outstanding_reads,
                 config.outstanding_link_writes if link else config.outstanding_reads, config.user_bits,
                 attributes(config, port),
                 config.safe_writes or (link and config.link_clock == "shared"),
                 config.link_id_bits if link else ID_BITS, link and config.link_read_ids > 1)


def link_clock(config: EngineConfig) -> str:
    """What the names of the clock and the reset of the link's port begin with."""
    return "link_" if config.link_clock == "separate" else ""


def wire_range(member: Member) -> str:
    """A port's width as Verilog has it before a name."""
    width = Shape.cast(member.shape).width
    return f"[{width - 1}:0] " if width > 1 else ""


def memory(name: str, number: int, address_bits: int, beat_bytes: int, ports: list[str], image_bytes: int,
           interleave: int, kept: Rules, clock: str = "") -> str:
    """An instance of the memory.

    Parameters
    ----------
    name
        Of the instance, and of the files that it loads and dumps.
    number
        Which value of ``knob_memory`` means it.
    ports
        Prefixes of the wires at its AXI ports.
    image_bytes, interleave
        As in Verilog.
    kept
        What requests must keep.
    clock
        What the names of its clock and reset begin with.
    """
    pins = [f".aclk({clock}aclk)", f".aresetn({clock}aresetn)", f".knob_write(knob_write && knob_memory == {number})",
            ".knob_port(knob_port)", ".knob(knob)", ".knob_value(knob_value)", f".knob_read({name}_read)"]
    # Verilog's concatenation begins with the highest bits.
    names = list(reversed(attributes_layout(kept.user_bits).members))
    for signal in {**axi_read(address_bits, beat_bytes).members, **axi_write(address_bits, beat_bytes).members}:
        pins.append(f".{signal}({{{', '.join(f'{port}_{signal}' for port in reversed(ports))}}})")
    for channel in ("ar", "aw"):
        bits = (f"{port}_{channel}{name}" for port in reversed(ports) for name in names)
        pins.append(f".{channel}attributes({{{', '.join(bits)}}})")
    values = {"NAME": f'"{name}"', "PORTS": len(ports), "ADDRESS_BITS": address_bits, "BEAT_BYTES": beat_bytes,
              "IMAGE_BYTES": image_bytes, "INTERLEAVE": interleave, "MOST_BEATS": kept.most_beats,
              "MOST_READS": kept.most_reads, "MOST_WRITES": kept.most_writes,
              "ATTRIBUTE_BITS": 11 + kept.user_bits, "ATTRIBUTES": kept.attributes,
              "SAFE_WRITES": int(kept.safe_writes), "ID_BITS": kept.id_bits, "MIXED": int(kept.own_ids)}
    parameters = ", ".join(f".{key}({value})" for key, value in values.items())
    return f"    cdma_memory #({parameters}) {name} (\n        " + ",\n        ".join(pins) + "\n    );"
