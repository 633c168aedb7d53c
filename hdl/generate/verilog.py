"""Generates the Verilog of a design, with its resolved configuration, ports and tool versions."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from amaranth.hdl import Fragment

from cdma.hdl.common.modules import Modules, port_values
from cdma.hdl.common.sram import SramWrapping, sram_name, wrapper
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.engine import Engine
from cdma.hdl.generate.axis import AxiStreamCore
from cdma.hdl.generate.axis_blocks import AxiStreamBlockCompressor, AxiStreamBlockDecompressor, axi_stream_block_core
from cdma.hdl.generate.backend import verilog_text
from cdma.hdl.generate.interfaces import Interface, Port, attributes, interfaces
from cdma.hdl.generate.split.modules import split_modules

__all__ = ["WAIVERS", "Verilog", "emit", "ports"]

WAIVERS = Path(__file__).parent / "waivers.vlt"
"""Lint waivers for the rules that generated Verilog cannot follow, each with its reason."""

_ONE_FILE = "DECLFILENAME"
"""The rule of which only a file with all modules needs a waiver."""


@dataclass(frozen=True)
class Verilog:
    """A generated design.

    Parameters
    ----------
    text : str
        All modules but the wrapper of the memories.
    sram : str or None
        This wrapper, if memories are wrapped.
    modules : dict
        Text of each module by its name, if the design is split; each comes behind those that are in it.
    """

    config: Design
    text: str
    ports: tuple[Port, ...]
    sram: str | None = None
    modules: Mapping[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, str]:
        """All Verilog, by file name; of a split design, its modules are in a folder of its name."""
        sram = {} if self.sram is None else {f"{sram_name(self.name)}.v": self.sram}
        if self.modules:
            return sram | {f"{self.name}/{name}.v": text for name, text in self.modules.items()}
        return {f"{self.name}.v": self.text} | sram

    @property
    def top_file(self) -> str:
        """Name of the file that has the top module."""
        return f"{self.name}/{self.name}.v" if self.modules else f"{self.name}.v"

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """The buses that the ports make up."""
        return interfaces(self.config, self.ports)

    @property
    def waivers(self) -> str:
        """Verilator configuration with the lint waivers and their reasons."""
        paragraphs = WAIVERS.read_text(encoding="utf-8").split("\n\n")
        return "\n\n".join(each for each in paragraphs if not (self.modules and _ONE_FILE in each))

    @property
    def name(self) -> str:
        """Name of the top module."""
        return self.config.name


def emit(config: Design, progress: Callable[[str, int, int], None] | None = None, *, split: bool = False) -> Verilog:
    """Generates the Verilog of a core, a block core or an engine.

    The text depends on the configuration and the tool versions alone; see
    :func:`cdma.hdl.generate.backend.verilog_text`.

    Parameters
    ----------
    config : CoreConfig, BlockCoreConfig or EngineConfig
        What to build.
    progress
        Called with the name of each stage and two zeros, since progress within a stage is not known.
    split : bool
        One text for each module, for readers, as :func:`cdma.hdl.generate.split.modules.split_modules` describes it; it
        does the same as the single text.

    Returns
    -------
    Verilog
        Text and ports, and the wrapper of the memories if they are wrapped.
    """
    top = _top(config)
    values, facts = port_values(top), _facts(top)
    wrapped = isinstance(config, EngineConfig) and config.memories == "wrapped"
    with _fewer_collections():
        if progress is not None:
            progress(f"elaborating {config.name}", 0, 0)
        platform = (SramWrapping if wrapped else Modules)(config.name)
        design = Fragment.get(top, platform)
        if progress is not None:
            progress(f"converting {config.name} to Verilog", 0, 0)
        shared, marks = platform.shared.values(), attributes(interfaces(config, facts))
        modules = split_modules(design, config.name, values, shared, marks) if split else {}
        text = "\n".join(modules.values()) or verilog_text(design, config.name, values, shared, marks)
    return Verilog(config=config, text=text, ports=facts, sram=wrapper(config.name) if wrapped else None,
                   modules=modules)


def ports(config: Design) -> tuple[Port, ...]:
    """The ports of a design, without generating it."""
    top = _top(config)
    top._MustUse__used = True  # type: ignore[attr-defined]    # Amaranth warns of what is not elaborated
    return _facts(top)


def _facts(top: Engine | AxiStreamCore | AxiStreamBlockCompressor | AxiStreamBlockDecompressor) -> tuple[Port, ...]:
    return tuple(Port(name, direction.value, len(value)) for name, (value, direction) in port_values(top).items())


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
