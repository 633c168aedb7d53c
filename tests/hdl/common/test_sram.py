# amaranth: UnusedElaboratable=no
"""The wrapper of memories that are written in parts, in Icarus: each bit of the write enable writes its part."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from amaranth.hdl import Fragment, Instance
from amaranth.lib.memory import Memory

from cdma.hdl.common.modules import port_values
from cdma.hdl.common.row_fifo import RowFifo
from cdma.hdl.common.sram import LEAST_BITS, SramWrapping, wrapper
from cdma.hdl.generate.backend import verilog_text
from cdma.verif.common import tools

_PARTS, _WIDTH, _DEPTH = 8, 64, 40


def _wrapped(parts: int) -> str:
    dut, platform = RowFifo(_WIDTH, parts, _DEPTH), SramWrapping("own")
    ports = port_values(dut)
    return verilog_text(Fragment.get(dut, platform), "own", ports, platform.shared.values())


def test_only_memories_in_parts_say_how_many() -> None:
    assert re.findall(r"\.PARTS\(32'd(\d+)\)", _wrapped(_PARTS)) == [str(_PARTS)]
    assert "own_sram" in _wrapped(1) and "PARTS" not in _wrapped(1)


@pytest.mark.parametrize(("depth", "wrapped"), [(LEAST_BITS // 64 - 1, False), (LEAST_BITS // 64, True)])
def test_the_smallest_memory_that_is_wrapped(depth: int, wrapped: bool) -> None:
    platform = SramWrapping("own")
    memory = Memory(shape=64, depth=depth, init=[])
    memory.write_port()
    memory.read_port()
    assert isinstance(platform.get_memory(memory), Instance) is wrapped


@pytest.mark.skipif(not tools.available("icarus"), reason="Icarus Verilog is not installed")
def test_each_part_is_written_alone(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows, lines, expected = [[0] * _PARTS for _ in range(3)], [], []
    for step in range(40):
        row, value = step % 3, rng.getrandbits(_WIDTH)
        chosen = rng.getrandbits(_PARTS) if step >= 3 else (1 << _PARTS) - 1
        for part in range(_PARTS):
            if chosen >> part & 1:
                rows[row][part] = value >> 8 * part & 255
        expected.append(bytes(reversed(rows[row])).hex())
        lines.append(f"write({row}, {_PARTS}'d{chosen}, {_WIDTH}'h{value:x});")
    (tmp_path / "own.v").write_text(f"""\
{wrapper("own")}
module bench;
    reg clk = 0;
    reg [{_PARTS - 1}:0] enable = 0;
    reg [1:0] row = 0;
    reg [{_WIDTH - 1}:0] data = 0;
    wire [{_WIDTH - 1}:0] found;
    own_sram #(.WIDTH({_WIDTH}), .DEPTH(3), .ADDRESS_BITS(2), .PARTS({_PARTS})) dut (
        .clk(clk), .write_en(enable), .write_addr(row), .write_data(data),
        .read_en(1'b1), .read_addr(row), .read_data(found));
    task write(input [1:0] at, input [{_PARTS - 1}:0] parts, input [{_WIDTH - 1}:0] value);
        begin
            row = at; enable = parts; data = value;
            #1 clk = 1; #1 clk = 0; enable = 0;
            #1 clk = 1; #1 clk = 0;
            $display("%h", found);
        end
    endtask
    initial begin
        {" ".join(lines)}
    end
endmodule
""")
    with tools.environment():
        subprocess.run(["iverilog", "-g2005", "-o", "own.vvp", "own.v"], cwd=tmp_path, check=True)
        said = subprocess.run(["vvp", "own.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert said.split() == expected
