"""The Verilog of the self-test is clean, and the same every time."""

import re
from pathlib import Path

import pytest

from cdma.hdl.generate.backend import verilog_text
from cdma.hdl.selftest.config import CoresTestConfig
from cdma.hdl.selftest.selftest import Selftest
from tests.lint import lint


def _text(bits: tuple[int, ...]) -> str:
    config = CoresTestConfig(element_bits=bits, raw_bytes=1024)
    return verilog_text(Selftest(config, bytes(range(128)), 25_000_000), config.name)


@pytest.mark.parametrize("bits", [(32,), (8, 16, 32)])
def test_verilator_has_nothing_to_say(bits: tuple[int, ...], tmp_path: Path) -> None:
    lint("cdma_selftest", _text(bits), tmp_path)


def test_only_the_words_of_roms_have_initial_values() -> None:
    text = _text((32,))
    blocks = re.findall(r"^  initial begin\n(.*?)^  end\n", text, re.DOTALL | re.MULTILINE)
    # The texts of the messages, and the lines of the dump for the sender and for the checker.
    assert len(blocks) == text.count("initial") == 3
    assert all(re.fullmatch(r"(    \w+\[\d+\] = \d+'h[0-9a-f]+;\n)+", block) for block in blocks)
    assert not re.findall(r"^ *reg\b[^;]*=.*", text, re.MULTILINE)
