"""The configuration of a core: one frozen dataclass, checked in one place.

Every parameter of the generator is a field of :class:`CoreConfig`. The presets (TOML), the command line's
``--set name=value`` and the JSON beside the Verilog are all made from the fields and their metadata.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["BEAT_BYTES", "CORES", "ELEMENT_BITS", "LINE_BYTES", "CoreConfig", "load", "preset_names", "preset_path"]

LINE_BYTES = 128
"""Raw bytes of a line, the unit of zero-value coding."""

CORES = ("compressor", "decompressor")
"""The cores that can be generated alone."""

BEAT_BYTES = (16, 32, 64)
"""Bytes a stream transfer may carry."""

ELEMENT_BITS = (8, 16, 32)
"""Element sizes that zero-value coding knows."""

PIPELINES = ("small", "fast")
"""How deep a core is pipelined: for few registers and a short latency, or for a high clock."""

_PRESETS = Path(__file__).parent / "presets"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def _parameter(default: Any, about: str, allowed: str) -> Any:
    return field(default=default, metadata={"help": about, "allowed": allowed})


@dataclass(frozen=True, kw_only=True)
class CoreConfig:
    """What is fixed when a core is built.

    Raises
    ------
    TypeError
        If a value has the wrong type.
    ValueError
        If a value is not allowed; the message names the parameter, what was given and what is allowed.
    """

    core: str = _parameter("compressor", "which core to build", "compressor or decompressor")
    name: str = _parameter("", "name of the top module; cdma_CORE when empty", "a Verilog identifier")
    about: str = _parameter("", "one line saying what this configuration is for", "any text")
    beat_bytes: int = _parameter(32, "bytes of one transfer on both streams", "16, 32 or 64")
    element_bits: tuple[int, ...] = _parameter(
        ELEMENT_BITS, "element sizes the core can code, chosen per packet at run time", "one or more of 8, 16, 32")
    pipeline: str = _parameter(
        "small",
        "small: few registers and a short latency; fast: a stage more where bits are counted, for a high clock",
        "small or fast")

    def __post_init__(self) -> None:
        for name in ("core", "name", "about", "pipeline"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a text, not {getattr(self, name)!r}")
        if self.core not in CORES:
            raise ValueError(f"core must be one of {', '.join(CORES)}, not {self.core!r}")
        if self.pipeline not in PIPELINES:
            raise ValueError(f"pipeline must be one of {', '.join(PIPELINES)}, not {self.pipeline!r}")
        if not self.name:
            object.__setattr__(self, "name", f"cdma_{self.core}")
        if not _NAME.match(self.name):
            raise ValueError(
                f"name must be a Verilog identifier (a letter, then letters, digits and _), not {self.name!r}")
        if isinstance(self.beat_bytes, bool) or not isinstance(self.beat_bytes, int):
            raise TypeError(f"beat_bytes must be an integer, not {self.beat_bytes!r}")
        if self.beat_bytes not in BEAT_BYTES:
            raise ValueError(f"beat_bytes must be one of {', '.join(map(str, BEAT_BYTES))}, not {self.beat_bytes}")
        if isinstance(self.element_bits, int) and not isinstance(self.element_bits, bool):
            object.__setattr__(self, "element_bits", (self.element_bits,))
        if not isinstance(self.element_bits, tuple | list):
            raise TypeError(f"element_bits must be a list of integers, not {self.element_bits!r}")
        for bits in self.element_bits:
            if isinstance(bits, bool) or not isinstance(bits, int) or bits not in ELEMENT_BITS:
                raise ValueError(
                    f"element_bits must be one or more of {', '.join(map(str, ELEMENT_BITS))}, not {bits!r}")
        if not self.element_bits:
            raise ValueError("element_bits must name at least one element size of 8, 16, 32, not none")
        object.__setattr__(self, "element_bits", tuple(sorted(set(self.element_bits))))

    @property
    def element_bytes(self) -> tuple[int, ...]:
        """The element sizes in bytes: the values that ``tuser`` may carry."""
        return tuple(bits // 8 for bits in self.element_bits)

    @classmethod
    def fields(cls) -> dict[str, dataclasses.Field[Any]]:
        """Every parameter by name; ``metadata`` holds ``help`` and ``allowed``."""
        return {f.name: f for f in dataclasses.fields(cls)}

    def as_dict(self) -> dict[str, Any]:
        """The resolved configuration as plain values, ready for JSON."""
        return dataclasses.asdict(self) | {"element_bits": list(self.element_bits)}

    def replace(self, **changes: Any) -> CoreConfig:
        """A copy with some parameters changed.

        A name that was derived from the core follows the core.
        """
        unknown = sorted(set(changes) - set(self.fields()))
        if unknown:
            raise ValueError(f"unknown parameter {unknown[0]!r}: the parameters are {', '.join(self.fields())}")
        if "core" in changes and "name" not in changes and self.name == f"cdma_{self.core}":
            changes["name"] = ""
        return dataclasses.replace(self, **changes)

    def with_settings(self, settings: list[str]) -> CoreConfig:
        """A copy with ``name=value`` texts of the command line applied; values are TOML (bare words are texts)."""
        changes: dict[str, Any] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals:
                raise ValueError(f"--set takes name=value, not {setting!r}: the names are {', '.join(self.fields())}")
            changes[name.strip()] = _value(value.strip())
        return self.replace(**changes)


def _value(text: str) -> Any:
    if re.fullmatch(r"\d+(\s*,\s*\d+)+", text):
        text = f"[{text}]"
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def preset_names() -> list[str]:
    """Names of the shipped presets, sorted."""
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def preset_path(name: str) -> Path:
    """Path of a shipped preset's TOML file.

    Raises
    ------
    ValueError
        If there is no such preset.
    """
    if name not in preset_names():
        raise ValueError(
            f"no preset {name!r}: there are {', '.join(preset_names())} (or give the path of a .toml file)")
    return _PRESETS / f"{name}.toml"


def load(preset_or_file: str | Path) -> CoreConfig:
    """The configuration of a preset by name, or of a TOML file by path.

    Raises
    ------
    ValueError
        If there is no such preset or file, if it is not TOML, or if a parameter is not allowed.
    """
    text = str(preset_or_file)
    path = Path(text) if text.endswith(".toml") or "/" in text else preset_path(text)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read configuration {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    unknown = sorted(set(values) - set(CoreConfig.fields()))
    if unknown:
        raise ValueError(
            f"{path}: unknown parameter {unknown[0]!r}: the parameters are {', '.join(CoreConfig.fields())}")
    try:
        return CoreConfig(**values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from error
