"""All designs that can be generated, by name: presets of the engine, of the cores and of the block cores."""

from __future__ import annotations

import tomllib
from pathlib import Path

from cdma.hdl.config.block_core import BLOCK_CORES, BlockCoreConfig, block_preset_names, load_block
from cdma.hdl.config.core import CORES, CoreConfig, preset_names
from cdma.hdl.config.core import load as load_core
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.config.files import refuse_pipe
from cdma.hdl.config.settings import no_preset, read, refuse_moved

__all__ = ["Design", "kinds", "load_design", "names"]

Design = CoreConfig | BlockCoreConfig | EngineConfig
"""The configuration of any design."""


def names() -> list[str]:
    """Names of all presets, those of the engine first."""
    return [name for _, presets in kinds().values() for name in presets]


def kinds() -> dict[str, tuple[type[Design], dict[str, Design]]]:
    """The kinds of designs, the engine first: the dataclass of each kind and its presets by name."""
    return {
        "engine": (EngineConfig, {preset: load_engine(preset) for preset in engine_preset_names()}),
        "core": (CoreConfig, {preset: load_core(preset) for preset in preset_names()}),
        "block_core": (BlockCoreConfig, {preset: load_block(preset) for preset in block_preset_names()}),
    }


def load_design(preset_or_file: str) -> Design:
    """The configuration of any preset by name, or of a TOML file by path.

    A file that sets ``core`` configures that core or block core, and one that sets a parameter which only engines have
    an engine.

    Raises
    ------
    ValueError
        If there is no such preset or file, if it is not TOML or does not say what it configures, or if a parameter is
        not allowed.
    """
    if preset_or_file.endswith(".toml") or "/" in preset_or_file:
        path = refuse_pipe(preset_or_file)
        return read(_kind(path), path)
    if preset_or_file in engine_preset_names():
        return load_engine(preset_or_file)
    if preset_or_file in block_preset_names():
        return load_block(preset_or_file)
    if preset_or_file not in preset_names():
        refuse_moved(preset_or_file)
        raise no_preset(preset_or_file, names())
    return load_core(preset_or_file)


def _kind(path: Path) -> type[Design]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return CoreConfig    # loading it as a core's configuration reports the error
    every = (*CORES, *BLOCK_CORES)
    core = values.get("core")
    if core is not None:
        if core not in every:
            raise ValueError(f"{path}: core must be one of {', '.join(every)}, not {core!r}")
        return BlockCoreConfig if core in BLOCK_CORES else CoreConfig
    if set(values) <= set(CoreConfig.fields()) | set(BlockCoreConfig.fields()):
        raise ValueError(f"{path} does not say what it configures: set core to {', '.join(every[:-1])} or {every[-1]}, "
                         "or for an engine lanes or another parameter that only engines have")
    return EngineConfig
