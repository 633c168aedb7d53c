"""Lint finds lost bits, and lets pass what Amaranth writes on purpose."""

from pathlib import Path

import pytest

from cdma.verif.common.lint import findings


def _module(line: str) -> str:
    return f"""module top(input [3:0] a, input [1:0] b, output c);
  wire [1:0] \\$signal$1 ;
  assign \\$signal$1  = b;
  {line}
endmodule
"""


@pytest.mark.parametrize("shift", ["b", "b[1:0]", r"\$signal$1 ", r"\$signal$1 [1:0]"])
def test_a_word_may_be_taken_by_a_shift(shift: str, tmp_path: Path) -> None:
    used = "" if "signal" in shift else r" ^ (\$signal$1 == 2'h3)"
    text = _module(f"assign c = d{used};\n  wire d;\n  assign d = a >> {shift};")
    assert not findings("top", text, tmp_path)


@pytest.mark.parametrize("lost", ["a + 4'h1", r"a >> \$signal$1  | a", r"(a >> \$signal$1 ) + 4'h1"])
def test_a_lost_bit_is_found(lost: str, tmp_path: Path) -> None:
    found = findings("top", _module(f"assign c = {lost};"), tmp_path)
    assert any("WIDTHTRUNC" in line and f"assign c = {lost};" in line for line in found)


def test_what_is_not_waived_is_found(tmp_path: Path) -> None:
    found = findings("top", _module("assign c = a[0] & missing;"), tmp_path)
    assert any("missing" in line for line in found)
