"""Generates an engine and compiles it with the memories around it, or finds it compiled."""

from __future__ import annotations

from pathlib import Path

from hdl.engine_config import EngineConfig
from hdl.verilog import emit
from verif import runner
from verif.engine.top import IMAGE_BYTES, top, top_name

__all__ = ["build_bare", "build_engine"]


def build_engine(config: EngineConfig, *, image_bytes: int = IMAGE_BYTES, simulator: str = "verilator", build_dir: Path,
                 waves: bool = False) -> runner.Build:
    """An engine between a device memory and a link memory; errors as :func:`verif.runner.build`.

    Parameters
    ----------
    image_bytes
        Bytes of each memory.
    """
    text = top(emit(config).text, config, image_bytes)
    return runner.build(text, top_name(config), simulator=simulator, build_dir=build_dir, waves=waves)


def build_bare(config: EngineConfig, *, simulator: str = "verilator", build_dir: Path,
               waves: bool = False) -> runner.Build:
    """An engine alone, for bus models that drive its pins; errors as :func:`verif.runner.build`."""
    verilog = emit(config)
    return runner.build(verilog.text, verilog.name, simulator=simulator, build_dir=build_dir, waves=waves)
