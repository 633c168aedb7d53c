"""The Verilog of the self-test is clean, and the same every time."""

from pathlib import Path

import pytest

from hdl.selftest.config import SelftestConfig
from hdl.selftest.verilog import selftest_verilog
from tests.lint import lint


@pytest.mark.parametrize("bits", [(32,), (8, 16, 32)])
def test_verilator_has_nothing_to_say(bits: tuple[int, ...], tmp_path: Path) -> None:
    config = SelftestConfig(element_bits=bits, raw_bytes=1024)
    text = selftest_verilog(config, bytes(range(128)), 25_000_000)
    lint(config.name, text, tmp_path)
    assert selftest_verilog(config, bytes(range(128)), 25_000_000) == text
