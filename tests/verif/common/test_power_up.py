"""Random values of registers: every register gets one, memories and all else stay as they are."""

from __future__ import annotations

import re

import pytest

from cdma.verif.common.power_up import random_registers

_TEXT = """\
module some(clk, q);
  input clk;
  output q;
  wire q;
  reg \\a.b ;
  reg [11:0] _012_;
  reg [7:0] words [3:0];
  always @(posedge clk)
    _012_ <= 12'h000;
endmodule
"""


def test_every_register_starts_with_bits_of_the_seed() -> None:
    one = random_registers(_TEXT, 1)
    found = re.findall(r"^  reg (.*) = (\d+)'b([01]+);$", one, re.MULTILINE)
    sizes = [(name, int(bits), len(value)) for name, bits, value in found]
    assert sizes == [("\\a.b ", 1, 1), ("[11:0] _012_", 12, 12)]
    assert re.sub(r" = \d+'b[01]+;", ";", one) == _TEXT
    assert random_registers(_TEXT, 1) == one != random_registers(_TEXT, 2)


def test_a_text_without_registers_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no register"):
        random_registers("module empty;\nendmodule\n", 1)
