"""What a verification shows of the coverage plan: what its configuration can hit."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.config.catalog import Design, load_design
from cdma.hdl.config.engine import EngineConfig
from cdma.measure.verified import Verification
from cdma.verif.regression.outcomes import Outcome, State


def _feature(config: Design, name: str, *hit: str) -> dict[str, Any]:
    bins = {name: dict.fromkeys(hit, 1)}
    outcome = Outcome("transfers", "", 1, State.PASSED, 1.0, bins=bins)
    found = Verification(config.name, "", config.as_dict(), "", "", "", "verilator", 1, ("1/1",), (outcome,))
    feature, = found.features()
    return feature


@pytest.mark.parametrize("core", ["compressor", "decompressor"])
def test_a_core_has_no_bins_of_others(core: str) -> None:
    found = _feature(load_design(core), "core_stall", f"{core}:source free:sink free")
    assert (found["hit"], found["bins"]) == (1, 4)
    assert all(hole.startswith(f"{core}:") for hole in found["holes"])


def test_codings_that_are_not_built_have_no_bins() -> None:
    config = EngineConfig(codings=("zvc8",))
    found = _feature(config, "block", "offload:zvc8:coded:first")
    assert found["holes"] and all(hole.split(":")[1] == "zvc8" for hole in found["holes"])
    config = EngineConfig(codings=("zvc16",), narrowing=True)
    found = _feature(config, "narrowed", "offload:zvc16:bfloat16")
    assert sorted(found["holes"]) == ["offload:zvc16:float16", "prefetch:zvc16:bfloat16", "prefetch:zvc16:float16"]


def test_values_of_parameters_are_no_features_of_one_configuration() -> None:
    config = load_design("tiny")
    outcome = Outcome("transfers", "", 1, State.PASSED, 1.0, bins={"option_crc": {"true": 1}})
    assert Verification(config.name, "", config.as_dict(), "", "", "", "verilator", 1, (), (outcome,)).features() == []
