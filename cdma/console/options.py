"""Options and inputs that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.hdl.config.files import refuse_pipe, write_file

if TYPE_CHECKING:
    import numpy as np

    from cdma.hdl.config.catalog import Design
    from cdma.hdl.config.engine import EngineConfig

__all__ = ["CODINGS", "DEFAULT_BLOCK_BYTES", "DEFAULT_PRESET", "add_command", "block_size", "build_option",
           "check_raw_options", "configurations", "core_options", "dtype_option", "element_option", "engine",
           "engine_option", "json_option", "one_array", "one_of", "read_stream", "refuse", "settings_option",
           "shard_option", "standard_input", "stream_option", "whole_number", "write_bytes"]

CODINGS = ("zvc8", "zvc16", "zvc32", "bfloat16", "float32")
"""Codings that block cores and engines build."""

DEFAULT_BLOCK_BYTES = 4096
"""Raw bytes of a block where none are given."""

DEFAULT_PRESET = "engine"
"""The preset that a command takes when none is named."""


def add_command(commands: Any, name: str, about: str, description: str, examples: str, run: Any) -> Any:
    """Add a sub-command whose help ends with examples; ``run`` takes the parsed call and returns the exit code."""
    parser = commands.add_parser(name, help=about, description=description, epilog=f"examples:\n{examples}",
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(run=run, parser=parser)
    return parser


def refuse(call: argparse.Namespace, why: str, *options: str) -> None:
    """Refuse options that would do nothing beside another one.

    Parameters
    ----------
    call
        The parsed call.
    why
        What the other option does, with its name: the first half of the message.
    options
        Names of options, with their dashes.

    Raises
    ------
    ValueError
        If one of them has another value than its default; the message names all that have.
    """
    places = {name: action.dest for action in call.parser._actions for name in action.option_strings}
    given = [name for name in options if getattr(call, places[name]) != call.parser.get_default(places[name])]
    if given:
        raise ValueError(f"{why}: leave {' and '.join(given)} out")


def json_option(parser: Any) -> None:
    """Add ``--json``, and ``--wide`` for what is printed without it."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--wide", action="store_true", help="print tables wider than the terminal")


def element_option(parser: Any, about: str, required: bool = False) -> None:
    """Add ``--element``, in bits."""
    parser.add_argument("--element", type=one_of(8, 16, 32), metavar="8|16|32", required=required, help=about)


def dtype_option(parser: Any, more: str = "") -> None:
    """Add ``--dtype``, the type of raw elements; ``more`` says what else it is the type of."""
    parser.add_argument("--dtype", metavar="TYPE", help="type of a raw file's elements, for instance float32, bfloat16 "
                        f"or float8_e4m3{f'; {more}' * bool(more)}")


def shard_option(parser: Any, about: str) -> None:
    """Add ``--shard``, a pair of numbers: the part, and how many there are."""
    parser.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N", help=about)


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"must be a part and the number of parts, as 2/4, not {text!r}")
    return int(part), int(parts)


def whole_number(text: str) -> int:
    """A number of 0 or more, for argparse."""
    number = _number(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of 0 or more, not {text!r}")
    return number


def one_of(*allowed: int) -> Callable[[str], int]:
    """What reads one of some numbers, for argparse."""
    def read(text: str) -> int:
        number = _number(text)
        if number not in allowed:
            listed = ", ".join(map(str, allowed[:-1]))
            raise argparse.ArgumentTypeError(f"must be {listed} or {allowed[-1]}, not {text!r}")
        return number

    return read


def block_size(text: str) -> int:
    """A block size, for argparse: a multiple of the 128 bytes of a line, from 512 to 32768."""
    size = _number(text)
    if not 512 <= size <= 32768 or size % 128:
        raise argparse.ArgumentTypeError(f"must be a multiple of 128 from 512 to 32768, not {text!r}")
    return size


def _number(text: str) -> int:
    """A whole number in any notation of Python; -1 for what is none."""
    try:
        return int(text, 0)
    except ValueError:
        return -1


def build_option(parser: Any) -> None:
    """Add ``--build-dir``, where simulator builds are kept."""
    parser.add_argument("--build-dir", default="build/sim", metavar="DIR",
                        help="folder for Verilog and simulator builds, which are reused (default: build/sim)")


def settings_option(parser: Any) -> None:
    """Add ``--set``, changes to parameters."""
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="change a parameter, for instance lanes=8 or codings=zvc16,zvc32; may be repeated")


def core_options(parser: Any) -> None:
    """Add the choice of configurations, engines' and cores': presets or files, and changes to them."""
    parser.add_argument("configurations", nargs="*", metavar="PRESET|FILE.toml",
                        help=f"preset (see 'cdma generate --list') or TOML file; default: {DEFAULT_PRESET}")
    settings_option(parser)


def configurations(call: argparse.Namespace) -> list[Design]:
    """The configurations that a call names, with its settings applied.

    Raises
    ------
    ValueError
        If one cannot be loaded, or two have the same name.
    """
    resolved = [_configured(name, call.settings) for name in call.configurations or [DEFAULT_PRESET]]
    names = [config.name for config in resolved]
    for name in names:
        same = [each for each in names if each.lower() == name.lower()]     # one file, where a disk ignores case
        if len(same) > 1:
            raise ValueError(f"two configurations are named {' and '.join(map(repr, dict.fromkeys(same)))}: give them "
                             "one at a time, or names of their own")
    return resolved


def _configured(name: str, settings: list[str]) -> Design:
    """A configuration with settings applied; an error of a setting says of which configuration."""
    from cdma.hdl.config.catalog import load_design

    config = load_design(name)
    try:
        return config.with_settings(settings)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error


def engine_option(parser: Any, default: str = DEFAULT_PRESET, more: str = "") -> None:
    """Add ``--engine``, a preset of the engine or a file, and ``--set``; ``more`` ends the help."""
    parser.add_argument("--engine", metavar="PRESET|FILE.toml", help="engine: preset (engine, lean, paper, "
                        f"smallest, tiny, wide) or TOML file (default: {default}){more}")
    settings_option(parser)


def engine(name: str, settings: list[str]) -> EngineConfig:
    """The engine of a preset or a TOML file, with settings applied.

    Raises
    ------
    ValueError
        If it cannot be loaded, or is no engine.
    """
    from cdma.hdl.config.catalog import load_design, names
    from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine

    config = load_design(name) if name in names() else load_engine(name)
    if not isinstance(config, EngineConfig):
        raise ValueError(f"{name} is a core, not an engine: the engines are {', '.join(engine_preset_names())}")
    return config.with_settings(settings)


def one_array(path: str, name: str | None, element: int | None, dtype: str | None = None) -> np.ndarray:
    """The one array of a file; ``-`` reads raw elements from standard input.

    Raises
    ------
    ValueError
        If the file cannot be read or has several arrays and none is named.
    """
    from cdma.workload.dumps import load, raw_array

    size = element and element // 8
    if path == "-":
        if element is None and dtype is None:
            raise ValueError("standard input is read as raw elements: say how large they are (--element 8, 16 or 32) "
                             "or of which type (--dtype)")
        return raw_array(standard_input(), "standard input", dtype, size)
    check_raw_options([path], dtype)
    arrays = load(path, array=name, dtype=dtype, element_bytes=size)
    if len(arrays) > 1:
        raise ValueError(f"{path} has {len(arrays)} arrays: choose one with --array ({', '.join(arrays)})")
    return next(iter(arrays.values()))


def check_raw_options(paths: Sequence[str | Path], dtype: str | None, shape: Sequence[int] | None = None,
                      element: int | None = None) -> None:
    """Check that ``--dtype``, ``--shape`` and ``--element`` are given only where a file needs them.

    Parameters
    ----------
    paths
        The dumps; none for the shipped one.
    dtype, shape, element
        What the options say; ``element`` of a command where it says nothing but the size of a raw file's elements.

    Raises
    ------
    ValueError
        If one is given, but all dumps say which types they hold; or both a type and a size are given.
    """
    from cdma.workload.dumps import has_types

    options = {"--dtype": dtype, "--shape": shape and ",".join(map(str, shape)), "--element": element}
    given = next((f"{name} {value}" for name, value in options.items() if value), None)
    if given is None or not all(map(has_types, paths)):
        if dtype and element:
            raise ValueError(f"--dtype {dtype} says how large the elements are: leave --element {element} out")
        return
    what = " and ".join(str(path) for path in paths) or "the shipped dump"
    says = "say which types they hold" if len(paths) > 1 else "says which types it holds"
    raise ValueError(f"{given} is for files of raw elements, but {what} {says}: leave {given.split()[0]} out")


def stream_option(parser: Any, about: str) -> None:
    """Add ``--stream``."""
    parser.add_argument("--stream", action="store_true", help=about)


def read_stream(call: argparse.Namespace, path: str, *bare: str) -> bytes:
    """The bytes of a file that begins with a head, or with ``--stream`` of a bare stream; ``-`` is standard input.

    Parameters
    ----------
    call
        The parsed call.
    path
        Of the file.
    bare
        Options that say what a head says, and so are for bare streams.

    Raises
    ------
    ValueError
        If it is a named pipe, has no head, or an option does not go with a head.
    """
    from cdma.golden.codec.files import MAGIC

    if not call.stream:
        refuse(call, "the head of the file says it (without a head: add --stream)", *bare)
    content = standard_input() if path == "-" else refuse_pipe(path).read_bytes()
    if not call.stream and not content.startswith(MAGIC):
        raise ValueError(f"{path} does not begin with the head of a file of cdma compress: it was cut, or it is a bare "
                         "stream (give --stream to read one)")
    return content


def standard_input() -> bytes:
    """All of standard input.

    Raises
    ------
    ValueError
        If it is closed.
    """
    if sys.stdin is None:
        raise ValueError("standard input is closed: give a file, or open it")
    return sys.stdin.buffer.read()


def write_bytes(path: str, content: Any) -> None:
    """Write bytes to a file; ``-`` is standard output."""
    if path == "-":
        # With PYTHONUNBUFFERED a call may write a part, for instance what still fits a disk.
        rest = memoryview(content)
        while rest:
            rest = rest[sys.stdout.buffer.write(rest):]
        return
    write_file(path, content)
