"""Area of a whole engine: units, memories, scaling; in gates of the table and in cells of a library."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.golden.results import to_json
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.engines import SCALE_28, EngineArea, UnitArea, engine_area
from cdma.synth.cells.generic import BIT_UM2, NAND2_UM2
from cdma.verif.engine.build import engine_text
from tests.extended import usually
from tests.synth.conftest import TINY

_ROOT = Path(__file__).parents[3]
_CONFIG = EngineConfig(name="cdma_small", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=1024,
                       buffer_bytes=2048, codings=("zvc16",), crc=False, narrowing=True)


@pytest.fixture(scope="module", params=usually(of=[None, TINY]), ids=["generic", "library"])
def measured(request: pytest.FixtureRequest) -> EngineArea:
    return engine_area(_CONFIG, engine_text(_CONFIG, _ROOT / "build/sim"), liberty=request.param)


def test_every_unit_that_was_built_is_there(measured: EngineArea) -> None:
    assert [unit.unit for unit in measured.units] == [
        "compressor", "decompressor", "narrowing", "AXI of the lanes", "buffers, offload", "buffers, prefetch",
        "lane control", "aggregator", "distributor", "AXI of the link", "control", "glue"]
    for unit in measured.units:
        assert unit.instances == (2 if unit.unit in (
            "compressor", "decompressor", "narrowing", "AXI of the lanes", "buffers, offload", "buffers, prefetch",
            "lane control") else 1)
        assert unit.cells > 0 and unit.kge > 0
        assert (unit.um2 is None) == (measured.library is None)


def test_memory_bits_are_those_of_the_configuration(measured: EngineArea) -> None:
    bits = {unit.unit: unit.memory_bits for unit in measured.units if unit.memory_bits}
    lane = 8 * _CONFIG.buffer_bytes
    # A block and 16 beats; rows from the link say whether they are a block's last, and where it ends.
    store = 8 * _CONFIG.block_bytes + 16 * 8 * _CONFIG.beat_bytes
    ends = _CONFIG.buffer_bytes // _CONFIG.link_beat_bytes * (1 + 4 + 1)
    # Requests and tickets in progress, of both directions; and their totals.
    control = 4 * _CONFIG.queue_depth * 512 + 128 * 32 + 4 * 64 * 32
    link = 8 * 2 * 4096
    assert bits == {"buffers, offload": 2 * (lane + store), "buffers, prefetch": 2 * (lane + ends),
                    "AXI of the link": link, "control": control, "glue": 2 * 64 * 32}
    assert sum(bits.values()) == sum(
        number * int(size.split(" x ")[0]) * int(size.split(" x ")[1]) for size, number in measured.macros.items())


def test_totals_and_scaling(measured: EngineArea) -> None:
    found = to_json(measured)
    assert found["total"]["kge"] == pytest.approx(sum(unit["kge"] for unit in found["units"]), abs=1e-3)
    assert found["mm2_28"]["engine"] == pytest.approx(found["mm2_28"]["logic"] + found["mm2_28"]["memory"], abs=2e-4)
    assert found["mm2_28"]["memory"] == pytest.approx(
        found["total"]["memory_bits"] * BIT_UM2 * SCALE_28 / 1e6, abs=1e-4)


def test_gates_count_as_the_documented_area() -> None:
    unit = UnitArea("compressor", 1, 1, 0, 2.0, None, 1000)
    assert unit.logic_um2 == round(2000 * NAND2_UM2, 1)
    assert unit.memory_um2 == round(1000 * BIT_UM2, 1)
    assert UnitArea("compressor", 1, 1, 0, 2.0, 7.5, 0).logic_um2 == 7.5
