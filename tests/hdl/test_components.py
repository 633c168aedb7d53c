"""Every component but whole designs has a test of its own, one that builds it by name and simulates it, or is part of
one whose test compares what comes of it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

from amaranth.lib import wiring

from cdma import hdl

_TESTS = Path(__file__).resolve().parent
_SIMULATES = {"Bench", "clocked", "settled"}

WHOLE = {
    "cdma.hdl.engine.engine.Engine", "cdma.hdl.generate.axis.AxiStreamCore",
    "cdma.hdl.generate.axis_blocks.AxiStreamBlockCompressor",
    "cdma.hdl.generate.axis_blocks.AxiStreamBlockDecompressor", "cdma.hdl.selftest.engine_trial.EngineTrial",
    "cdma.hdl.selftest.selftest.Selftest",
}
"""Whole designs: the benches of tests/verif drive their Verilog."""

_PAYLOAD = {
    "block_compressor.BlockCompressor": "block_lengths.BlockLengths block_reader.BlockReader merger.Merger",
    "facts_writer.FactsWriter": "exponent_range.ExponentRange line_facts.LineFacts metadata_packer.MetadataPacker",
    "payload_store.PayloadStore":
        "line_reader.LineReader line_reader.Section payload_ring.PayloadRing tag_words.TagWords",
    "row_packer.RowPacker": "group_coder.GroupCoder group_mask.GroupMask",
    "row_unpacker.RowUnpacker": "block_result.BlockResult row_ring.RowRing tag_slicer.TagSlicer",
}
PARTS = {f"cdma.hdl.codec.payload.{part}": f"cdma.hdl.codec.payload.{whole}"
         for whole, parts in _PAYLOAD.items() for part in parts.split()}
"""Components in whose bytes, beats and cycles faults of their parts show: mutants of the parts were tried against the
tests of the whole."""


def _components() -> set[str]:
    """All components that ``hdl`` defines, as ``module.class``, but private bases of others.

    What is in ``cdma.hdl.litex`` is no component of Amaranth's, and needs an extra.
    """
    found = set()
    for module in pkgutil.walk_packages(hdl.__path__, "cdma.hdl."):
        if module.name.startswith("cdma.hdl.litex."):
            continue
        for name, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(each, wiring.Component) and each.__module__ == module.name and not name.startswith("_") \
                    and not each.__subclasses__():
                found.add(f"{module.name}.{name}")
    return found


def _driven() -> set[str]:
    """Components that are built by name in a file of this folder that simulates."""
    found = set()
    for file in _TESTS.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in ast.walk(tree)
                    if isinstance(node, ast.ImportFrom) for alias in node.names}
        called = {node.func.id for node in ast.walk(tree)
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        if {imported.get(name, name).rpartition(".")[2] for name in called} & _SIMULATES:
            found |= {imported[name] for name in called if name in imported}
    return found


def test_every_component_is_driven_by_a_test() -> None:
    driven = _driven()
    missing = _components() - driven - WHOLE - {part for part, whole in PARTS.items() if whole in driven}
    assert set(PARTS) <= _components() - driven
    assert not missing, f"no test in tests/hdl builds and simulates {', '.join(sorted(missing))}: write one"


def test_no_exception_is_left_over() -> None:
    """What is excepted exists, and has no test of its own."""
    assert _components() >= WHOLE
    assert not WHOLE & _driven()
