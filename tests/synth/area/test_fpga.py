"""Memories on FPGAs: every buffer of an engine is block RAM, and what cannot be is named."""

from __future__ import annotations

import pytest

from cdma.hdl.common.sram import LEAST_BITS
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.fpga import DISTRIBUTED, fpga_area
from cdma.synth.units.hierarchy import Design
from tests.extended import extended, usually

MEMORIES = """
module memories (input clk, input [1:0] we, input [6:0] wa, wb, ra, input [3:0] sa, input [31:0] d,
                 output reg [31:0] q, output [31:0] async_q, output [7:0] small_q, output reg [31:0] many_q,
                 output reg [15:0] table_q);
    reg [31:0] good [0:127];
    reg [31:0] async [0:127];
    reg [7:0] small [0:15];
    reg [31:0] many [0:63];
    reg [15:0] constants [0:255];
    integer i;
    initial for (i = 0; i < 256; i = i + 1) constants[i] = i * i;
    always @(posedge clk) begin
        if (we[0]) begin
            good[wa] <= d;
            async[wa] <= d;
            small[wa[3:0]] <= d[7:0];
            many[wa[5:0]] <= d;
        end
        if (we[1]) many[wb[5:0]] <= ~d;
        if (we == 3) many[d[5:0]] <= 0;
        q <= good[ra];
        many_q <= many[ra[5:0]];
        table_q <= constants[{ra, we[0]}];
    end
    assign async_q = async[ra];
    assign small_q = small[sa];
endmodule
"""
"""One memory for block RAM, one that is read without a clock, a small one, one with three write ports, a table."""

_CONFIG = EngineConfig(name="cdma_smallest", lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=1024,
                       buffer_bytes=2048, codings=("zvc32",), crc=False)


@pytest.mark.parametrize("target", usually("ecp5", of=["ecp5", "xilinx7"]))
def test_memories_that_block_ram_cannot_be_are_named(target: str) -> None:
    report = fpga_area(Design(MEMORIES, "memories"), target)
    memories = {memory["name"]: memory for memory in report["memories"]}
    assert {name: (memory["words"], memory["width"], memory["built"]) for name, memory in memories.items()} == {
        "good": (128, 32, "block RAM"), "async": (128, 32, "LUTs"), "small": (16, 8, "LUTs"),
        "many": (64, 32, "flip-flops")}
    assert report["no_block_ram"] == ["async", "many"]
    # The rows of the last in flip-flops, and what is read of it.
    assert report["flip_flops"] >= 64 * 32
    rams = {name: sum(memory["rams"].values()) for name, memory in memories.items()}
    assert rams["good"] == 1 and rams["many"] == 0
    assert sum(report["distributed_rams"].values()) == rams["async"] + rams["small"]


@extended
@pytest.mark.parametrize("target", ["ecp5", "xilinx7"])
def test_every_buffer_of_an_engine_is_block_ram(kept_engines: None, target: str) -> None:
    report = fpga_area(_CONFIG, target)
    bits = {memory["name"]: memory["words"] * memory["width"] for memory in report["memories"]}
    # Two queues and two rings of completions, and the store of counters; seven of what is in progress, which are in
    # LUTs; the lane's three; the link's. The lane's store has 16 beats beside a block; rows from the link say whether
    # they are a block's last, and where it ends.
    buffer, rows = 8 * _CONFIG.buffer_bytes, _CONFIG.buffer_bytes // _CONFIG.link_beat_bytes
    store = 8 * (_CONFIG.block_bytes + 16 * _CONFIG.beat_bytes)
    assert [size for size in bits.values() if size >= LEAST_BITS] == sorted(
        [*5 * [128 * 32], *7 * [64 * 32], buffer, buffer + rows * (1 + 3 + 1), store, 8 * 2 * 4096], reverse=True)
    assert report["no_block_ram"] == []
    assert [memory["built"] == DISTRIBUTED for memory in report["memories"] if bits[memory["name"]] >= LEAST_BITS] == [
        size == 64 * 32 for size in bits.values() if size >= LEAST_BITS]


def test_a_design_without_memories_has_none() -> None:
    none = Design("module none (input a, output b);\n  assign b = ~a;\nendmodule\n", "none")
    assert fpga_area(none, "ecp5")["memories"] == []


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ecp5, xilinx7, ultrascale\+, not 'ice40'"):
        fpga_area(Design(MEMORIES, "memories"), "ice40")
