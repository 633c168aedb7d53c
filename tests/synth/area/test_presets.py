"""Every preset, mapped: what it may take at most, so that growth shows; and the FPGA runs of the cores to start with.

The limits are a few per cent above what the presets take in generic gates; those that the cores were designed to, in
45 nm cells with buffers and sizes, are wider: 36 and 32 kGE with all element sizes, 22 and 20 with 32 bits alone.
"""

from __future__ import annotations

import pytest

from cdma.hdl.config.core import load, preset_names
from cdma.synth.area.area import area
from tests.extended import extended

pytestmark = pytest.mark.usefixtures("kept_synthesis")

_KGE = {
    "compressor": 26.5, "decompressor": 27.5, "paper_compressor": 19.5, "paper_decompressor": 19.0}


@pytest.mark.parametrize("name", preset_names())
def test_presets_stay_as_small_as_they_are(name: str) -> None:
    config = load(name)
    report = area(config, modules=False)
    (total,) = report["rows"]
    assert (report["name"], total["module"], total["share"]) == (config.name, "total", 1.0)
    # The output alone is registered, twice: a beat and its spare one.
    assert 2 * 8 * config.beat_bytes < total["flip_flops"] < total["cells"]
    assert total["clock_gates"] > 0
    # A flip-flop is 16/3 gates: what is neither is logic, of which there is some.
    assert total["flip_flops"] * 16 / 3000 < total["kge"] <= _KGE[name]


def test_modules_of_a_core_add_up_to_little_more_than_the_whole() -> None:
    *modules, total = area(load("paper_decompressor"))["rows"]
    assert modules[0]["module"] == "(top)" and len(modules) > 5
    assert sum(row["share"] for row in modules) == pytest.approx(1, abs=0.001)
    assert total["kge"] <= sum(row["kge"] for row in modules) <= 1.2 * total["kge"]
    # Flattening finds registers that never change, no new ones.
    assert total["flip_flops"] <= sum(row["flip_flops"] for row in modules) <= 1.02 * total["flip_flops"]


def test_the_small_recipe_is_smaller() -> None:
    config = load("paper_compressor")
    fast, small = (area(config, recipe=recipe, modules=False)["total"]["kge"] for recipe in ("fast", "small"))
    assert 0 < small < 0.99 * fast


@extended
def test_the_decompressor_on_xilinx7_with_and_without_its_modules() -> None:
    # Some wires of its row buffer have the names of bits of others: abc9 stops at them unless nets are split first.
    *modules, total = area(load("decompressor"), target="xilinx7")["rows"]
    assert 3000 < total["luts"] < 7000
    assert total["flip_flops"] == sum(row["flip_flops"] for row in modules)
    assert "core.row_buffer" in {row["module"] for row in modules}


@extended
def test_a_core_on_ecp5() -> None:
    *modules, total = area(load("paper_compressor"), target="ecp5")["rows"]
    # Flattened, it may take some more LUTs: they are mapped by rules of thumb.
    assert total["luts"] == pytest.approx(sum(row["luts"] for row in modules), rel=0.02)
    assert total["flip_flops"] <= sum(row["flip_flops"] for row in modules) <= 1.02 * total["flip_flops"]
