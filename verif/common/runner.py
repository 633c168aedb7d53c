"""Builds generated Verilog for a simulator and runs cocotb benches on it.

A design is compiled once for each simulator and set of options. The name of a build's folder has a hash of design,
simulator, options and of this module; a file lock makes parallel processes wait for the one that compiles.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cocotb
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import Runner, Verilator, get_runner

from cdma.golden.results import to_json
from cdma.verif.common import counted, runtime, tools
from cdma.verif.common.broken import broken
from cdma.verif.common.cover import VARIABLE

__all__ = ["BenchError", "Build", "BuildError", "build", "lock", "run"]

TIMESCALE = ("1ns", "1ps")
_OPTIONS = {
    # Registers without a reset start with random bits, so that a bench sees what depends on them.
    "verilator": ("-O3", "--x-initial", "unique", "--x-assign", "unique", "-Wno-fatal"),
    "icarus": (),
}
_BLOCKS = "--hierarchical"
"""Verilator's option to compile chosen modules by themselves. The objects of its runtime do not depend on it."""

_EARLY = "simulation ended prematurely"
_TAIL = 25
_ERROR = re.compile(r"^%Error|\berror(:|$)|not found|undefined reference|\*\*\* ")
"""How Verilator, Icarus, compilers, linkers, the shell and make name errors."""


class BuildError(RuntimeError):
    """The simulator did not compile the design."""


class BenchError(RuntimeError):
    """A bench ran and found a fault, or the simulation ended before its bench did."""


@dataclass(frozen=True)
class Build:
    """A compiled design.

    Parameters
    ----------
    top
        Name of the top module.
    simulator
        One of :data:`cdma.verif.common.tools.SIMULATORS`.
    folder
        Where the compiled design is.
    waves
        Whether it can record waves.
    """

    top: str
    simulator: str
    folder: Path
    waves: bool


def build(verilog: str, top: str, *, simulator: str, build_dir: Path, waves: bool = False,
          options: Sequence[str] = ()) -> Build:
    """Compile Verilog, or find it compiled.

    Parameters
    ----------
    verilog
        The text of the design.
    build_dir
        Folder that holds all builds; made when missing, safe to delete at any time that nothing runs.
    waves
        Whether runs may record waves; such a build is slower.
    options
        More options of the simulator's compiler, for instance ``-g2005`` of Icarus.

    Raises
    ------
    ValueError
        If there is no such simulator.
    MissingToolError
        If something to compile with is not installed.
    BuildError
        If it does not compile; the message ends with the errors that the simulator named.
    """
    tools.require(simulator)
    options = [*_OPTIONS[simulator], *options, *counted.options(simulator)]
    if waves and simulator == "verilator" and tools.wave_format(simulator) == "fst":
        options.append("--trace-fst")
    key = [verilog, top, tools.version(simulator), cocotb.__version__, options, waves,
           *(Path(file).read_text(encoding="utf-8") for file in (__file__, tools.__file__))]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
    folder = build_dir.resolve() / f"{top}-{simulator}-{digest}"
    done = folder / "done"
    with lock(folder.with_suffix(".lock")):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            source = folder / f"{top}.v"
            source.write_text(verilog, encoding="utf-8")
            common = [*(each for each in options if each != _BLOCKS), str(waves)]
            shared = runtime.place(folder.parent, common) if simulator == "verilator" else None
            if shared is not None:
                runtime.use(shared, folder)
            _compile(source, top, simulator, options, waves, folder)
            if shared is not None:
                runtime.keep(shared, folder)
            _tidy(folder, top)
            done.touch()
    return Build(top, simulator, folder, waves)


def _compile(source: Path, top: str, simulator: str, options: Sequence[str], waves: bool, folder: Path) -> None:
    log = folder / "build.log"
    with tools.environment():
        runner = _runner(simulator)
        try:
            runner.build(sources=[source], hdl_toplevel=top, build_dir=folder, build_args=list(options), always=True,
                         timescale=TIMESCALE, waves=waves, log_file=log)
        except RuntimeError as error:
            said = log.read_text(errors="replace") if log.exists() else str(error)
            raise BuildError(f"{simulator} does not compile {top} ({log}):\n{_errors(said)}") from error


def _tidy(folder: Path, top: str) -> None:
    """Delete the files that only the compiler needed: they take a hundred times the space of the program."""
    kept = {top, f"{top}.v", "build.log", "sim.vvp", "cmds.f"}
    for file in folder.iterdir():
        if file.is_dir():
            shutil.rmtree(file)
        elif file.name not in kept:
            file.unlink()


class _Verilator(Verilator):
    """cocotb's runner, except that a bench can access only the ports of the top module.

    With all signals public, as cocotb requests, Verilator can remove or merge none of them: compilation takes three
    times as long, and simulation twice as long.
    """

    def _build_command(self) -> list[list[str]]:
        verilator, *make = super()._build_command()
        at = verilator.index("--public-flat-rw")
        commands = [[*verilator[:at], "--public-depth", "1", *verilator[at + 1:]], *make]
        if _BLOCKS in verilator:
            # This makefile builds the chosen modules, then the rest with Vtop.mk.
            commands[1:] = [["Vtop_hier.mk" if word == "Vtop.mk" else word for word in each] for each in make]
        if objects := runtime.objects(self.build_dir):
            # The makefile that Verilator writes must not be newer.
            commands.insert(1, ["touch", *objects])
        return commands


def _runner(simulator: str) -> Runner:
    runner = _Verilator() if simulator == "verilator" else get_runner(simulator)
    # The runner's own log repeats every command line; the build log and the bench log are what matters.
    runner.log.setLevel(logging.CRITICAL)
    return runner


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """While entered, parallel processes that enter with the same path wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(built: Build, module: str, *, job: object, folder: Path, seed: int = 1,
        tests: str | None = None, samples: Path | None = None) -> Any:
    """Run a bench on a compiled design.

    Parameters
    ----------
    module
        Dotted name of the module that holds the cocotb tests.
    job
        What the bench reads with :func:`cdma.verif.common.job.load`: a dataclass or plain values.
    folder
        Where the run writes its log, results and waves (made when missing).
    seed
        Seeds every random choice of the bench, and the registers' values before reset.
    tests
        Regular expression that picks tests by name; all when not given.
    samples
        Folder for what is sampled of the coverage plan; that of the environment, if any, when not given.

    Returns
    -------
    JSON
        What the bench handed to :func:`cdma.verif.common.job.report`; an empty object when it reported nothing.

    Raises
    ------
    BenchError
        If a test failed, none ran, the simulation ended early or a protocol rule was broken; the message names tests,
        causes, rules and the log.
    """
    tools.require(built.simulator)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log, results, report = folder / "bench.log", folder / "results.xml", folder / "report.json"
    (folder / "job.json").write_text(json.dumps(to_json(job)))
    report.unlink(missing_ok=True)
    # Verilator: random registers before reset. Icarus: waves into this run's folder, as Verilator does by itself.
    plusargs = {"verilator": ["+verilator+rand+reset+2", f"+verilator+seed+{seed % 2**31 or 1}"],
                "icarus": [f"+dumpfile_path={folder / 'dump.fst'}"]}[built.simulator]
    with tools.environment():
        runner = _runner(built.simulator)
        extra = {"CDMA_JOB": str(folder), **({VARIABLE: str(samples.resolve())} if samples is not None else {})}
        try:
            runner.test(test_module=module, hdl_toplevel=built.top, hdl_toplevel_lang="verilog", seed=seed,
                        build_dir=built.folder, test_dir=folder, results_xml=str(results), extra_env=extra,
                        plusargs=plusargs, waves=built.waves,
                        timescale=TIMESCALE, test_filter=tests, log_file=log)
        except (RuntimeError, SystemExit) as error:
            _keeps_rules(built, log)
            if not results.exists():
                raise BenchError(f"the simulation of {built.top} ended before its bench ({log}):\n"
                                  f"{_end(log.read_text(errors='replace'))}") from error
    _keeps_rules(built, log)
    counted.collect(built.folder, folder)
    _judge(results, log, module, tests)
    return json.loads(report.read_text()) if report.exists() else {}


def _keeps_rules(built: Build, log: Path) -> None:
    """A broken rule is the cause of whatever follows it, so nothing else is said."""
    if found := broken(log.read_text(errors="replace") if log.exists() else ""):
        raise BenchError(f"a port of {built.top} breaks a rule of its protocol ({log}):\n"
                         + "\n".join(map(str, found[:3])))


def _judge(results: Path, log: Path, module: str, tests: str | None) -> None:
    try:
        count, failed = get_results(results)
    except (RuntimeError, ElementTree.ParseError) as error:
        raise BenchError(f"the simulation ended before its bench ({log}):\n"
                          f"{_end(log.read_text(errors='replace'))}") from error
    if not count:
        raise BenchError(f"no test of {module} has a name that matches {tests!r}")
    if failed:
        causes = []
        for case in ElementTree.parse(results).getroot().iter("testcase"):
            for fault in (*case.iter("failure"), *case.iter("error")):
                cause = fault.get("message") or fault.get("error_msg") or (fault.text or "").strip() or "failed"
                causes.append(f"{case.get('name')}: {cause}")
        if any(_EARLY in cause for cause in causes):    # what ended it is in the log alone
            causes.append(_end(log.read_text(errors="replace")))
        raise BenchError(f"{failed} of {count} tests failed ({log}):\n" + "\n".join(causes))


def _errors(log: str) -> str:
    """Lines that name an error, without the warnings around them; the end where there are none."""
    return "\n".join([line for line in log.splitlines() if _ERROR.search(line)][:_TAIL]) or _end(log)


def _end(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-_TAIL:])
