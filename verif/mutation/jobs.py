"""What a child does with a mutant: runs tests and proofs, makes and compares netlists, simulates a bench."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from cdma.verif.evidence.digest import ROOT

__all__ = ["bench", "equivalence", "netlist", "proof", "tests"]

_HDL, _AMARANTH = f"{ROOT}/hdl/", "/amaranth/hdl/"
_SAID = 300


class _First:
    """Notes the first failure, and whether it is one of making the hardware."""

    def __init__(self) -> None:
        self.by = self.said = ""
        self.outcome = "passed"
        self.ran = 0

    @pytest.hookimpl
    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        # An example that fails need not be made smaller, nor kept.
        settings.register_profile("mutation", settings.default, database=None,
                                  phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutation")

    @pytest.hookimpl
    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        # This comes behind the report of the same failure.
        if self.said or self.by not in ("", node.nodeid) or call.excinfo is None:
            return
        self.by = node.nodeid
        error = call.excinfo.value
        words = " ".join(str(error).split())
        self.said = f"{type(error).__name__}: {words}"[:_SAID]
        self.outcome = "invalid" if _is_generation(error) else "failed"

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: Any) -> None:
        self.ran += report.when == "call"
        if report.failed and self.outcome == "passed":
            self.outcome, self.by = "failed", report.nodeid


def _is_generation(error: BaseException | None) -> bool:
    """Whether Python that makes hardware raised something, not a test or a simulation."""
    while error is not None:
        places = []
        trace = error.__traceback__
        while trace is not None:
            places.append(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        if any(place.startswith(_HDL) for place in places) or (places and _AMARANTH in places[-1]):
            return True
        error = error.__cause__
    return False


def _invalid(by: str, error: Exception) -> dict[str, Any]:
    words = " ".join(str(error).split())
    return {"outcome": "invalid", "by": by, "said": f"{type(error).__name__}: {words}"[:_SAID]}


def tests(folder: Path, files: list[str]) -> dict[str, Any]:
    """Run tests up to the first that fails.

    Returns
    -------
    dict
        ``outcome``: ``passed``, ``failed``, or ``invalid`` when the hardware cannot be made. ``by``: the test that
        failed. ``said``: the exception. ``ran``: how many tests were run.
    """
    first = _First()
    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:terminalreporter",
                        "-p", "no:faulthandler", "--hypothesis-seed=1", f"--basetemp={folder / 'tests'}", *files],
                       plugins=[first])
    if first.outcome == "passed" and (code != 0 or not first.ran):
        return {"outcome": "failed", "by": files[0], "said": f"pytest ended with {code}, after {first.ran} tests",
                "ran": first.ran}
    return {"outcome": first.outcome, "by": first.by, "said": first.said, "ran": first.ran}


def _lines(measured: Any) -> dict[str, list[int]]:
    data = measured.get_data()
    return {Path(file).relative_to(ROOT).as_posix(): sorted(lines) for file in data.measured_files()
            if (lines := data.lines(file))}


def proof(folder: Path, proof: str, limit: float) -> dict[str, Any]:
    """Run a proof: ``passed``, ``failed`` or ``invalid``, as of tests."""
    from cdma.verif.formal.run import choose, run

    one, = (each for each in choose([proof]) if each.name == proof)
    try:
        result = run(one, folder, limit=limit)
    except Exception as error:
        if not _is_generation(error):
            raise
        return _invalid(f"proof {proof}", error)
    if result.outcome == "timeout":
        return {"outcome": "timeout", "by": f"proof {proof}", "said": ""}
    return {"outcome": "passed" if result.passed else "failed", "by": f"proof {proof}", "said": result.message[:_SAID]}


_SOURCE = re.compile(r"^ *attribute \\src .*\n", re.MULTILINE)


def netlist(folder: Path, design: str, lines: bool = False, kept: str = "") -> dict[str, Any]:
    """Make the netlist of a design of the coverage's choice: ``digest``, of RTLIL without lines of sources, and if
    asked for the ``lines`` of the hardware's sources that run; ``invalid`` if it cannot be made. ``kept`` is the file
    that the RTLIL is written to."""
    from coverage import Coverage

    if not lines:
        return _netlist(design, kept)
    measured = Coverage(data_file=None, source=[str(ROOT / "hdl")], config_file=False)
    measured.start()
    try:
        found = _netlist(design)
    finally:
        measured.stop()
    return {**found, "lines": _lines(measured)}


def _netlist(design: str, kept: str = "") -> dict[str, Any]:
    from amaranth.back import rtlil  # type: ignore[attr-defined]
    from amaranth.hdl import Fragment

    from cdma.hdl.common.modules import Modules, port_values
    from cdma.hdl.common.sram import SramWrapping
    from cdma.hdl.generate.verilog import _top
    from cdma.verif.coverage.runs import CHOSEN

    config = CHOSEN[design][0]
    try:
        top = _top(config)
        platform = (SramWrapping if _has_wrapper(config) else Modules)(config.name)
        text = rtlil.convert(Fragment.get(top, platform), name=config.name, ports=port_values(top), emit_src=False)
        text += "".join(rtlil.convert(each.design, name=each.name, ports=each.ports, emit_src=False)
                        for each in platform.shared.values())
    except Exception as error:
        return _invalid(f"netlist of {design}", error)
    text = _SOURCE.sub("", text)
    if kept:
        Path(kept).write_text(text, encoding="utf-8")
    return {"outcome": "passed", "by": "", "said": "", "digest": hashlib.sha256(text.encode()).hexdigest()[:16]}


def _has_wrapper(config: Any) -> bool:
    """Whether a design has its large memories in a module of their own."""
    from cdma.hdl.config.engine import EngineConfig

    return isinstance(config, EngineConfig) and config.memories == "wrapped"


def equivalence(folder: Path, design: str, plain: str, other: str) -> dict[str, Any]:
    """Prove that two kept netlists of a design do the same: ``proved``, or ``passed`` when there is no proof."""
    from cdma.hdl.common.sram import wrapper
    from cdma.verif.coverage.runs import CHOSEN
    from cdma.verif.mutation.equivalence import prove

    config = CHOSEN[design][0]
    proved = prove(Path(plain).read_text(encoding="utf-8"), Path(other).read_text(encoding="utf-8"), folder,
                   wrapper(config.name) if _has_wrapper(config) else "")
    return {"outcome": "proved" if proved else "passed", "by": f"netlists of {design}", "said": ""}


def bench(folder: Path, design: str, step: str, builds: str) -> dict[str, Any]:
    """Run a step of the regression on a design of the coverage's choice. It is compiled into ``builds``, where other
    steps of the same mutant find it."""
    from cdma.verif.coverage.runs import CHOSEN
    from cdma.verif.regression.outcomes import State
    from cdma.verif.regression.run import Task, run_step

    try:
        done = run_step(Task(CHOSEN[design][0], step, 1, Path(builds), ""))
    except Exception as error:
        if not _is_generation(error):
            raise
        return _invalid(f"bench {design}/{step}", error)
    failed = next((f" {test.name}" for test in done.tests if test.state is not State.PASSED), "")
    said = done.said.strip().splitlines()[-1:] or [""]
    return {"outcome": "passed" if done.state is State.PASSED else "failed", "by": f"bench {design}/{step}{failed}",
            "said": said[0][:_SAID]}


sys.dont_write_bytecode = True
