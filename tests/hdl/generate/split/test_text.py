"""How texts become plain: names, expressions that take the place of their names, and lines."""

from __future__ import annotations

import pytest

from cdma.hdl.generate.split.names import PlainNames, module_names, snake_case
from cdma.hdl.generate.split.source import read_modules
from cdma.hdl.generate.split.write import constants, module_text, repetitions, wrapped


def test_plain_names_differ() -> None:
    names = PlainNames(["taken"])
    wanted = ["\\i.data", "i_data", "i[0]$12", "end", "final", "\\$signal$3", "$signature__en", "taken", "logic"]
    assert [names.plain(each) for each in wanted] == [
        "i_data", "i_data_2", "i_0", "end_", "final_", "signal", "signature__en", "taken_2", "logic_"]
    assert [names.numbered(each) for each in ("sum", "sum", "taken")] == ["sum_1", "sum_2", "taken_3"]


def test_modules_of_one_class_are_numbered() -> None:
    assert module_names("own", ["fifo", "lane", "fifo", "sram"]) == [
        "own", "own_fifo_1", "own_lane", "own_fifo_2", "own_sram_2"]
    assert [snake_case(name) for name in ("SyncFIFOBuffered", "Crc32c", "_AxiLite")] == [
        "sync_fifo_buffered", "crc32c", "axi_lite"]


def test_lines_are_broken_at_spaces_only() -> None:
    text = "assign sum = " + " + ".join(f"{'term'}_{number}" for number in range(40)) + ";"
    lines = wrapped(text, 2)
    assert max(map(len, lines)) <= 120 and len(lines) > 2
    assert " ".join(line.strip() for line in lines) == text
    assert wrapped('(* style = "one  two" *)', 2) == ['  (* style = "one  two" *)']


def test_constants() -> None:
    assert constants("1'h0 & 4'hf") == "1'b0 & 4'hf"
    assert constants(f"1024'h{256 * '0'}") == "1024'h0"
    ones = constants(f"400'h{100 * 'f'}")
    assert ones == f"{{ 144'h{36 * 'f'}, 256'h{64 * 'f'} }}"
    assert repetitions("{ a[1], a[1], a[1], a[1], b }") == "{ {4{a[1]}}, b }"
    assert repetitions("{ a, a, ab, a, a }") == "{ a, a, ab, a, a }"


def _text(declarations: str, statements: str) -> str:
    """A module of these ports that Yosys could have written, as it is written for readers."""
    ports = "".join(f"  {direction} {name};\n  wire {name};\n" for direction, name in (
        ("input", "[3:0] a"), ("input", "c"), ("input", "d"), ("output", "[3:0] o")))
    text = f"module own(a, c, d, o);\n{ports}{declarations}{statements}endmodule\n"
    return module_text(read_modules(text)["own"], ["a", "c", "d", "o"])


def _written(declarations: str, statements: str) -> list[str]:
    """The statements of such a module."""
    lines = (line.strip() for line in _text(declarations, statements).split(");\n", 1)[1].splitlines())
    body = " ".join(line for line in lines if not line.startswith(("wire", "reg")))
    return [each.strip() for each in body.removesuffix("endmodule").split(";")][:-1]


_WIDE = "  wire [4:0] _0_;\n"
_EXPRESSIONS = {
    "bits are put together wherever they are used": (
        "  wire _0_;\n  wire _1_;\n",
        "  assign _0_ = ~ c;\n  assign _1_ = d & _0_;\n  assign o = _1_ ? a : 4'h0;\n",
        ["assign o = (d & ~c) ? a : 4'h0"]),
    "what is used twice keeps a name": (
        "  wire _0_;\n  wire [3:0] _1_;\n",
        "  assign _0_ = c & d;\n  assign _1_ = _0_ ? a : 4'h1;\n  assign o = _0_ ? 4'h2 : _1_;\n",
        ["assign and_1 = c & d", "assign o = and_1 ? 4'h2 : and_1 ? a : 4'h1"]),
    # There it would be as wide as its operands, and the carry would be lost.
    "a sum stays outside of a comparison": (
        f"{_WIDE}  wire _1_;\n",
        "  assign _0_ = a + a;\n  assign _1_ = _0_ == 5'h10;\n  assign o = _1_ ? a : 4'h0;\n",
        ["assign sum_1 = a + a", "assign o = (sum_1 == 5'h10) ? a : 4'h0"]),
    # An inverter of one bit has one bit; in a sum it would be as wide as that.
    "an inverter stays outside of a sum": (
        "  wire _0_;\n", "  assign _0_ = ~ c;\n  assign o = a + _0_;\n", ["assign not_1 = ~c", "assign o = a + not_1"]),
    "a sum without its carry is as wide as its place": (
        _WIDE, "  assign _0_ = a + 1'h1;\n  assign o = c ? _0_[3:0] : a;\n", ["assign o = c ? (a + 1'b1) : a"]),
    "upper bits of a sum need the whole sum": (
        _WIDE, "  assign _0_ = a + 1'h1;\n  assign o = c ? _0_[4:1] : a;\n",
        ["assign sum_1 = a + 1'b1", "assign o = c ? sum_1[4:1] : a"]),
    "bits of a copy are bits of the original": (
        "  wire [3:0] _0_;\n", "  assign _0_ = a;\n  assign o = { _0_[1:0], _0_[3:2] };\n",
        ["assign o = { a[1:0], a[3:2] }"]),
}


@pytest.mark.parametrize(("declarations", "statements", "expected"), _EXPRESSIONS.values(), ids=_EXPRESSIONS)
def test_expressions(declarations: str, statements: str, expected: list[str]) -> None:
    assert _written(declarations, statements) == expected


def test_a_sum_without_its_carry_is_declared_without_it() -> None:
    text = _text("  wire [4:0] _0_;\n  wire _1_;\n", "  assign _0_ = a + a;\n  assign _1_ = _0_[3:0] == 4'h3;\n"
                 "  assign o = _1_ ? a : _0_[3:0];\n")
    assert "  wire [3:0] sum_1;\n" in text and "assign o = (sum_1 == 4'h3) ? a : sum_1;" in text
