"""The base of all configurations: fields with help texts, changes by name, TOML files and presets."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Sequence
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast

from cdma.hdl.codec.coding import CODINGS, ELEMENT_BITS, EXPONENTS, TAGS_FIRST
from cdma.hdl.config.files import refuse_pipe

__all__ = [
    "BEAT_BYTES",
    "BLOCK_BYTES",
    "CODINGS_ALLOWED",
    "KEYWORDS",
    "MOVED",
    "PIPELINES",
    "PRESETS",
    "RENAMED",
    "CodingSettings",
    "CoreSettings",
    "Setting",
    "Settings",
    "names_in",
    "no_preset",
    "parameter",
    "read",
    "read_named",
    "refuse_moved",
]

PRESETS = Path(__file__).parent / "presets"
"""Where the shipped TOML files are."""

MOVED = {
    **{f"{shape}_{core}": (core, setting) for core in ("compressor", "decompressor")
       for shape, setting in (("fast", "pipeline=fast"), ("narrow", "beat_bytes=16"), ("wide", "beat_bytes=64"))},
    "fast_block_compressor": ("block_compressor", "pipeline=fast"),
    **{f"paper_block_{core}": (f"block_{core}", "codings=zvc32") for core in ("compressor", "decompressor")}}
"""Presets of earlier versions: the preset and the setting that give the same core."""

RENAMED = {"default": "engine", **{f"{preset}_engine": preset for preset in ("paper", "smallest", "tiny", "wide")}}
"""Presets of earlier versions that have another name."""

BEAT_BYTES = (16, 32, 64)
"""Allowed numbers of bytes of a beat."""

BLOCK_BYTES = tuple(512 << k for k in range(7))
"""Allowed numbers of raw bytes of a block."""

CODINGS_ALLOWED = "one or more of zvc8, zvc16, zvc32; bfloat16 beside zvc16; float32 beside zvc32"
"""What the parameter ``codings`` may be, in words."""

PIPELINES = ("small", "fast")
"""Pipelines of a core: ``small`` for few registers and a short latency, ``fast`` for a high clock."""

KEYWORDS = frozenset("""
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
    binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
    constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
    else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
    endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect
    export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global
    highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input
    inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local
    localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
    noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
    property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
    rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
    signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
    sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri
    tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
""".split())
"""The keywords of IEEE 1800-2017, annex B, those of Verilog among them."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_Own = TypeVar("_Own", bound="Settings")
_OwnCore = TypeVar("_OwnCore", bound="CoreSettings")

Setting = bool | int | str | list[int]
"""The value of a parameter, as JSON and TOML have it."""


def parameter(default: Any, about: str, choices: tuple[object, ...] | range = (), allowed: str = "") -> Any:
    """A field of a configuration: its default, what it sets, and the values it may have. ``allowed`` says in words what
    is allowed, where the choices alone do not; a flag may be true or false."""
    choices = (True, False) if isinstance(default, bool) else choices
    return field(default=default, metadata={"help": about, "choices": choices, "allowed": allowed or _words(choices)})


def _words(choices: tuple[object, ...] | range) -> str:
    if isinstance(choices, range):
        return f"{choices.start} to {choices.stop - 1}"
    *others, last = (str(each).lower() for each in choices)
    return f"{', '.join(others)} or {last}"


class Settings:
    """Named parameters that are checked when they are set.

    Subclasses are frozen dataclasses whose fields come from :func:`parameter`. Flags, numbers and texts are compared
    with the choices of their fields; subclasses check all else in ``__post_init__``.
    """

    name: str
    about: str

    @classmethod
    def fields(cls) -> dict[str, dataclasses.Field[Any]]:
        """Every parameter by name; ``metadata`` holds ``help``, ``choices`` and ``allowed``."""
        return {f.name: f for f in dataclasses.fields(cast(Any, cls))}

    def as_dict(self) -> dict[str, Setting]:
        """The resolved configuration as plain values, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value
                for name, value in dataclasses.asdict(cast(Any, self)).items()}

    def replace(self: _Own, **changes: Any) -> _Own:
        """A copy with some parameters changed."""
        unknown = sorted(set(changes) - set(self.fields()))
        if unknown:
            raise ValueError(f"unknown parameter {unknown[0]!r}: the parameters are {', '.join(self.fields())}")
        return dataclasses.replace(cast(Any, self), **changes)

    def with_settings(self: _Own, settings: list[str]) -> _Own:
        """A copy with ``name=value`` texts of the command line applied; values are TOML (bare words are texts)."""
        changes: dict[str, object] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals:
                raise ValueError(f"--set takes name=value, not {setting!r}: the names are {', '.join(self.fields())}")
            changes[name.strip()] = _value(value.strip())
        return self.replace(**changes)

    def _check(self) -> None:
        """Check every flag, number and text, and the name."""
        for name, of in self.fields().items():
            choices, value = of.metadata["choices"], getattr(self, name)
            if isinstance(of.default, bool):
                if not isinstance(value, bool):
                    raise TypeError(f"{name} must be true or false, not {value!r}")
            elif isinstance(of.default, int):
                if isinstance(value, bool) or not isinstance(value, int):
                    raise TypeError(f"{name} must be an integer, not {value!r}")
                if value not in choices:
                    allowed = (_words(choices) if isinstance(choices, range)
                               else f"one of {', '.join(map(str, choices))}")
                    raise ValueError(f"{name} must be {allowed}, not {value}")
            elif isinstance(of.default, str):
                if not isinstance(value, str):
                    raise TypeError(f"{name} must be a text, not {value!r}")
                if choices and value not in choices:
                    raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if not _NAME.match(self.name):
            raise ValueError(
                f"name must be a Verilog identifier (a letter, then letters, digits and _), not {self.name!r}")
        if self.name in KEYWORDS:
            raise ValueError(f"name must not be a keyword of SystemVerilog: {self.name!r} is one")

    def _check_element_bits(self) -> None:
        bits: Any = getattr(self, "element_bits")  # noqa: B009
        allowed = ", ".join(map(str, ELEMENT_BITS))
        if isinstance(bits, int) and not isinstance(bits, bool):
            bits = (bits,)
        if not isinstance(bits, tuple | list):
            raise TypeError(f"element_bits must be a list of integers, not {bits!r}")
        for each in bits:
            if isinstance(each, bool) or not isinstance(each, int) or each not in ELEMENT_BITS:
                raise ValueError(f"element_bits must be one or more of {allowed}, not {each!r}")
        if not bits:
            raise ValueError(f"element_bits must name at least one element size of {allowed}, not none")
        object.__setattr__(self, "element_bits", tuple(sorted(set(bits))))


class CoreSettings(Settings):
    """What the configurations of all cores have in common."""

    core: str
    beat_bytes: int
    pipeline: str

    def _check(self) -> None:
        """Derive the name if there is none, and check as all do."""
        if self.name == "":
            object.__setattr__(self, "name", f"cdma_{self.core}")
        super()._check()

    def replace(self: _OwnCore, **changes: Any) -> _OwnCore:
        """A copy with some parameters changed. A name that was derived from the core changes with the core."""
        if "core" in changes and "name" not in changes and self.name == f"cdma_{self.core}":
            changes["name"] = ""
        return super().replace(**changes)


class CodingSettings(Settings):
    """What the configurations have in common whose blocks have codings: names of
    :data:`cdma.hdl.codec.coding.CODINGS`."""

    codings: tuple[str, ...]

    def _check_codings(self) -> None:
        """Check the codings, and put them into the order of their numbers."""
        given: Any = self.codings
        if isinstance(given, str):
            given = [each.strip() for each in given.split(",")]
        if not isinstance(given, tuple | list):
            raise TypeError(f"codings must be a list of names, not {given!r}")
        for each in given:
            if each not in list(CODINGS):
                raise ValueError(f"codings must be one or more of {', '.join(CODINGS)}, not {each!r}")
        if not given:
            raise ValueError(f"codings must name at least one of {', '.join(CODINGS)}, not none")
        for size, number in EXPONENTS.items():
            (name,) = (each for each, other in CODINGS.items() if other == number)
            if name in given and f"zvc{8 * size}" not in given:
                raise ValueError(f"codings with {name} must have zvc{8 * size} too, not {', '.join(given)}")
        object.__setattr__(self, "codings", tuple(name for name in CODINGS if name in given))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The coding numbers that were built."""
        return tuple(CODINGS[name] for name in self.codings)

    @property
    def element_bytes(self) -> tuple[int, ...]:
        """Element sizes in bytes that are built with zero-value coding."""
        return tuple(size for size, number in TAGS_FIRST.items() if number in self.numbers)

    @property
    def exponents(self) -> tuple[int, ...]:
        """Element sizes in bytes that are built with exponent coding too."""
        return tuple(size for size, number in EXPONENTS.items() if number in self.numbers)


def _value(text: str) -> Any:
    if re.fullmatch(r"\d+(\s*,\s*\d+)+", text):
        text = f"[{text}]"
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def read(kind: type[_Own], path: Path) -> _Own:
    """The configuration in a TOML file.

    Raises
    ------
    ValueError
        If the file cannot be read, is a named pipe, is not TOML, sets nothing, or sets what is not allowed; TypeError
        for a value of a wrong type.
    """
    try:
        values = tomllib.loads(refuse_pipe(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read configuration {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    if not values:
        raise ValueError(f"{path} sets no parameter: the parameters are {', '.join(kind.fields())}")
    unknown = sorted(set(values) - set(kind.fields()))
    if unknown:
        raise ValueError(f"{path}: unknown parameter {unknown[0]!r}: the parameters are {', '.join(kind.fields())}")
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from error


def refuse_moved(name: str) -> None:
    """Raise :exc:`ValueError`, with what gives the same core, if a name is that of a preset of earlier versions."""
    if name in RENAMED:
        raise ValueError(f"the preset {name} is named {RENAMED[name]} now")
    if name in MOVED:
        preset, setting = MOVED[name]
        raise ValueError(f"{name} is no preset any more: '{preset} --set {setting} --set name=cdma_{name}' is the same "
                         f"core (in Python: the preset {preset} with replace())")


def no_preset(name: str, names: Sequence[str], of: str = "") -> ValueError:
    """The error that there is no such preset, with the names that are like it; ``of`` ends "no preset NAME"."""
    nearest = get_close_matches(name.lower().replace("-", "_"), names, 3, 0.5)
    meant = f" (did you mean {' or '.join(nearest)}?)" if nearest else ""
    return ValueError(f"no preset {name!r}{of}{meant}: there are {', '.join(names)}; or give the path of a .toml file")


def names_in(folder: Path) -> list[str]:
    """Names of the presets in a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def read_named(kind: type[_Own], folder: Path, preset_or_file: str | Path, of: str = "") -> _Own:
    """The configuration of a preset of a folder by name, or of a TOML file by path; ``of`` ends "no preset NAME".

    Raises
    ------
    ValueError
        If there is no such preset or file, if it is not TOML, or if a parameter is not allowed; TypeError for a value
        of a wrong type.
    """
    text = str(preset_or_file)
    if text.endswith(".toml") or "/" in text:
        return read(kind, Path(text))
    names = names_in(folder)
    if text not in names:
        refuse_moved(text)
        raise no_preset(text, names, of)
    return read(kind, folder / f"{text}.toml")
