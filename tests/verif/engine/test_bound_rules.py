"""The protocol rules are at every port of an engine that is simulated, and a broken one ends the simulation."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import pytest

from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.generate.verilog import ports
from cdma.verif.common import runner
from cdma.verif.engine.bound_rules import with_port_rules
from cdma.verif.engine.build import checked_top, engine_text
from cdma.verif.engine.top import IMAGE_BYTES, top_name
from tests.extended import extended
from tests.verif.engine.sweep import TWO_CLOCKS

_NAME = attrgetter("name")
_CLOCKS = {"aclk", "aresetn", "link_aclk", "link_aresetn"}
_SMALL = EngineConfig(name="cdma_unstable", lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512,
                      buffer_bytes=1024, address_bits=32, codings=("zvc8",), crc=False)


@pytest.mark.parametrize("config", [*map(load_engine, engine_preset_names()), TWO_CLOCKS], ids=_NAME)
def test_every_signal_of_every_bus_is_checked(config: EngineConfig) -> None:
    text = with_port_rules(f"module {config.name};\nendmodule\n", config.name, config)
    checked = set(re.findall(r"\.\w+\(([a-z]\w+)\)", text[text.index(f"module {config.name}"):]))
    buses = {port.name for port in ports(config) if port.name.startswith(("m_axi", "s_axil"))}
    assert checked - _CLOCKS == buses
    assert (config.link_clock == "separate") == ("link_aclk" in checked)


@extended
def test_what_is_valid_in_reset_is_found(build_dir: Path, tmp_path: Path) -> None:
    text = engine_text(_SMALL, build_dir)
    for signal in ("m_axi_lane0_arvalid", "m_axi_link_awvalid", "s_axil_rvalid"):
        text, count = re.subn(rf"(?<=assign {signal} = )(.+)(?=;)", r"(\1) | ~aresetn", text)
        assert count == 1, signal
    # $fatal would end the simulation at the first of them.
    text = "`define AXI_RULE_FAILS $finish\n" + checked_top(text, _SMALL)
    built = runner.build(text, top_name(_SMALL), simulator="verilator", build_dir=build_dir)
    job = {"config": _SMALL.as_dict(), "image_bytes": IMAGE_BYTES, "share": 0.1, "models": False}
    with pytest.raises(runner.BenchError) as raised:
        runner.run(built, "cdma.verif.engine.benches.transfers", job=job, folder=tmp_path)
    assert sorted(re.findall(rf"rule (\w+) is broken at {_SMALL.name}_bench\.(\w+), time \d+", str(raised.value))) == [
        ("AXI4L_R_RESET", "s_axil_rules"), ("AXI4_AR_RESET", "m_axi_lane0_read_rules"),
        ("AXI4_AW_RESET", "m_axi_link_write_rules")]
