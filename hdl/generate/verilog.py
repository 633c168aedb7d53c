"""Generates the Verilog of a design, with its resolved configuration, ports and tool versions."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from amaranth.hdl import Fragment

from hdl.common.modules import Modules, port_values
from hdl.common.sram import SramWrapping, sram_name, wrapper
from hdl.config.block_core import BlockCoreConfig
from hdl.config.catalog import Design
from hdl.config.engine import EngineConfig
from hdl.engine.engine import Engine
from hdl.generate.axis import AxiStreamCore
from hdl.generate.axis_blocks import AxiStreamBlockCompressor, AxiStreamBlockDecompressor, axi_stream_block_core
from hdl.generate.backend import verilog_text
from hdl.generate.interfaces import Interface, Port, attributes, interfaces

__all__ = ["WAIVERS", "Verilog", "emit"]

WAIVERS = Path(__file__).parent / "waivers.vlt"
"""Lint waivers for the rules that generated Verilog cannot follow, each with its reason."""


@dataclass(frozen=True)
class Verilog:
    """A generated design; ``sram`` is the wrapper of its memories, if they are wrapped."""

    config: Design
    text: str
    ports: tuple[Port, ...]
    sram: str | None = None

    @property
    def sources(self) -> dict[str, str]:
        """All Verilog, by file name."""
        found = {f"{self.name}.v": self.text}
        return found if self.sram is None else found | {f"{sram_name(self.name)}.v": self.sram}

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """The buses that the ports make up."""
        return interfaces(self.config, self.ports)

    @property
    def waivers(self) -> str:
        """Verilator configuration with the lint waivers and their reasons."""
        return WAIVERS.read_text(encoding="utf-8")

    @property
    def name(self) -> str:
        """Name of the top module."""
        return self.config.name


def emit(config: Design, progress: Callable[[str, int, int], None] | None = None) -> Verilog:
    """Generates the Verilog of a core, a block core or an engine.

    The text depends on the configuration and the tool versions alone; see :func:`hdl.generate.backend.verilog_text`.

    Parameters
    ----------
    config : CoreConfig, BlockCoreConfig or EngineConfig
        What to build.
    progress
        Called with the name of each stage and two zeros, since progress within a stage is not known.

    Returns
    -------
    Verilog
        Text and ports, and the wrapper of the memories if they are wrapped.
    """
    top = _top(config)
    ports = port_values(top)
    facts = tuple(Port(name, direction.value, len(value)) for name, (value, direction) in ports.items())
    wrapped = isinstance(config, EngineConfig) and config.memories == "wrapped"
    with _fewer_collections():
        if progress is not None:
            progress(f"elaborating {config.name}", 0, 0)
        platform = (SramWrapping if wrapped else Modules)(config.name)
        design = Fragment.get(top, platform)
        if progress is not None:
            progress(f"converting {config.name} to Verilog", 0, 0)
        text = verilog_text(design, config.name, ports, platform.shared.values(),
                            attributes(interfaces(config, facts)))
    return Verilog(config=config, text=text, ports=facts, sram=wrapper(config.name) if wrapped else None)


def _top(config: Design) -> Engine | AxiStreamCore | AxiStreamBlockCompressor | AxiStreamBlockDecompressor:
    if isinstance(config, EngineConfig):
        return Engine(config)
    return axi_stream_block_core(config) if isinstance(config, BlockCoreConfig) else AxiStreamCore(config)


@contextmanager
def _fewer_collections() -> Iterator[None]:
    """While entered, the garbage collector runs seldom.

    A netlist is millions of objects that live until it is written. Looking through them every 700 objects takes 40 % of
    the time; every 500,000 it takes 4 %, and no more memory.
    """
    before = gc.get_threshold()
    gc.set_threshold(500_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
