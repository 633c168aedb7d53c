"""The protocol rules at the ports of an engine, in every simulation of one."""

from __future__ import annotations

from collections.abc import Iterable

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.signature import axi_lite
from cdma.verif.engine.top import LITE_BITS, link_clock, memory_ports, rules
from cdma.verif.rules.instances import instance, with_rules

__all__ = ["with_port_rules"]

_FILES = ("axi4_write.v", "axi4_read.v", "axi4_lite.v")
_REGISTER_BITS = 32


def with_port_rules(text: str, module: str, config: EngineConfig) -> str:
    """Verilog whose module ``module`` has signals of the names of an engine's ports, with rules at all of them."""
    instances = [*(each for port, names in memory_ports(config).items() for each in _port(config, port, names)),
                 _registers()]
    return with_rules(text, module, _FILES, instances)


def _port(config: EngineConfig, port: str, names: Iterable[str]) -> list[str]:
    """Rules for both directions of a port to memory, with these signals."""
    link = port == "m_axi_link"
    kept, clock = rules(config, "link" if link else "lane"), link_clock(config) if link else ""
    beat_bytes = config.link_beat_bytes if link else config.beat_bytes
    widths = {"ADDR_WIDTH": config.address_bits, "DATA_WIDTH": 8 * beat_bytes,
              "ID_WIDTH": kept.id_bits, "USER_WIDTH": max(1, config.user_bits)}
    made = []
    for kind, channels, most in (("write", ("aw", "w", "b"), kept.most_writes), ("read", ("ar", "r"), kept.most_reads)):
        pins = {name: f"{port}_{name}" for name in names if _channel(name) in channels}
        made.append(instance(f"axi4_{kind}.v", f"{port}_{kind}_rules", {**widths, "MAX_OUTSTANDING": most},
                             {"aclk": f"{clock}aclk", "aresetn": f"{clock}aresetn", **pins}))
    return made


def _channel(name: str) -> str:
    return name[:2] if name[:2] in ("aw", "ar") else name[:1]


def _registers() -> str:
    """Rules for the port of the registers."""
    pins = {name: f"s_axil_{name}" for name in axi_lite(LITE_BITS).members}
    return instance("axi4_lite.v", "s_axil_rules", {"ADDR_WIDTH": LITE_BITS, "DATA_WIDTH": _REGISTER_BITS},
                    {"aclk": "aclk", "aresetn": "aresetn", **pins})
