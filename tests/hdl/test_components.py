"""Every component but whole designs is proved, or has a test that simulates it: built by name, or as one of the
``PARTS`` of what the test builds, in whose bytes, beats and cycles its faults show."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

from amaranth.lib import wiring

from cdma import hdl
from cdma.verif.formal.table import PROOFS

_TESTS = Path(__file__).resolve().parent
_SIMULATES = {"Bench", "clocked", "settled", "simulated"}

WHOLE = {
    "cdma.hdl.engine.engine.Engine", "cdma.hdl.generate.axis.AxiStreamCore",
    "cdma.hdl.generate.axis_blocks.AxiStreamBlockCompressor",
    "cdma.hdl.generate.axis_blocks.AxiStreamBlockDecompressor", "cdma.hdl.selftest.engine_trial.EngineTrial",
    "cdma.hdl.selftest.selftest.Selftest",
}
"""Whole designs: the benches of tests/verif drive their Verilog."""


def _components() -> set[str]:
    """All components that ``hdl`` defines, as ``module.class``, but private bases of others.

    What is in ``cdma.hdl.litex`` is no component of Amaranth's, and needs an extra; the bench that is handed over runs
    beside its engine only.
    """
    found = set()
    for module in pkgutil.walk_packages(hdl.__path__, "cdma.hdl."):
        if module.name.startswith(("cdma.hdl.litex.", "cdma.hdl.generate.handover.bench.")):
            continue
        for name, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(each, wiring.Component) and each.__module__ == module.name and not name.startswith("_") \
                    and not each.__subclasses__():
                found.add(f"{module.name}.{name}")
    return found


def _driven() -> set[str]:
    """Components that are built by name in a file of this folder that simulates, and the parts that it names."""
    found = set()
    for file in _TESTS.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in ast.walk(tree)
                    if isinstance(node, ast.ImportFrom) for alias in node.names}
        called = {node.func.id for node in ast.walk(tree)
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        if {imported.get(name, name).rpartition(".")[2] for name in called} & _SIMULATES:
            found |= {imported[name] for name in called if name in imported}
            found |= {part for node in tree.body if isinstance(node, ast.Assign)
                      and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "PARTS"
                      for part in ast.literal_eval(node.value)}
    return found


def _proved() -> set[str]:
    """Components in modules about which more is proved in every run of the tests than reset and progress."""
    modules = {f"cdma.{each.unit.removesuffix('.py').replace('/', '.')}" for each in PROOFS
               if each.set == "shallow" and not each.name.startswith(("reset_", "progress_"))}
    return {each for each in _components() if each.rpartition(".")[0] in modules}


def test_every_component_is_driven_by_a_test_or_proved() -> None:
    missing = _components() - _driven() - _proved() - WHOLE
    assert not missing, f"no test in tests/hdl builds and simulates {', '.join(sorted(missing))}: write one"


def test_no_exception_is_left_over() -> None:
    """What is excepted exists, and has no test of its own."""
    assert _components() >= WHOLE
    assert not WHOLE & _driven()
