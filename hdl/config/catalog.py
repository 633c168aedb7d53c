"""All designs that can be generated, by name: presets of the engine and of the cores."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hdl.config.core import CoreConfig, preset_names
from hdl.config.core import load as load_core
from hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from hdl.config.pipes import refuse_pipe

__all__ = ["engine_name", "kinds", "load_design", "names"]


def engine_name(preset: str) -> str:
    """Name of an engine preset among all designs: ``engine`` for the default, otherwise ``NAME_engine``."""
    return "engine" if preset == "default" else f"{preset}_engine"


def names() -> list[str]:
    """Names of all presets, those of the engine first."""
    return [name for _, presets in kinds().values() for name in presets]


def kinds() -> dict[str, tuple[type[CoreConfig] | type[EngineConfig], dict[str, CoreConfig | EngineConfig]]]:
    """The kinds of designs, the engine first: the dataclass of each kind and its presets by name."""
    return {
        "engine": (EngineConfig, {engine_name(preset): load_engine(preset) for preset in engine_preset_names()}),
        "core": (CoreConfig, {preset: load_core(preset) for preset in preset_names()}),
    }


def load_design(preset_or_file: str) -> CoreConfig | EngineConfig:
    """The configuration of any preset by name, or of a TOML file by path.

    A file that sets a parameter which only engines have configures an engine, any other file a core.

    Raises
    ------
    ValueError
        If there is no such preset or file, if it is not TOML, or if a parameter is not allowed.
    """
    if preset_or_file.endswith(".toml") or "/" in preset_or_file:
        path = refuse_pipe(preset_or_file)
        return load_engine(path) if _of_engine(path) else load_core(path)
    engines = {engine_name(preset): preset for preset in engine_preset_names()}
    if preset_or_file in engines:
        return load_engine(engines[preset_or_file])
    if preset_or_file not in preset_names():
        raise ValueError(f"no preset {preset_or_file!r}: there are {', '.join(names())} (or give the path of a "
                         ".toml file)")
    return load_core(preset_or_file)


def _of_engine(path: Path) -> bool:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False    # loading it as a core's configuration reports the error
    return bool(set(values) & (set(EngineConfig.fields()) - set(CoreConfig.fields())))
