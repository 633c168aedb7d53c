// What the boards' images take from their FPGA, as far as a simulation of the images needs it.

// Lattice ECP5
module IB(input I, output O); assign O = I; endmodule
module OBZ(input I, input T, output O); assign O = T ? 1'bz : I; endmodule
module SGSR(input CLK, input GSR); endmodule
module FD1S3AX #(parameter GSR = "ENABLED") (input CK, input D, output reg Q = 0); always @(posedge CK) Q <= D; endmodule

// The output is fed back, and divided the input is: for the ratios 1/2, 1/4, ...
module EHXPLLL #(
    parameter CLKI_DIV = 1, parameter CLKFB_DIV = 1, parameter CLKOP_DIV = 1, parameter CLKOP_CPHASE = 0,
    parameter CLKOP_FPHASE = 0, parameter CLKOP_ENABLE = "", parameter FEEDBK_PATH = "", parameter PLLRST_ENA = "",
    parameter INTFB_WAKE = "", parameter STDBY_ENABLE = "", parameter DPHASE_SOURCE = "",
    parameter OUTDIVIDER_MUXA = "", parameter OUTDIVIDER_MUXB = "", parameter OUTDIVIDER_MUXC = "",
    parameter OUTDIVIDER_MUXD = ""
) (
    input CLKI, input CLKFB, input RST, input STDBY, input PHASESEL0, input PHASESEL1, input PHASEDIR, input PHASESTEP,
    input PHASELOADREG, input PLLWAKESYNC, input ENCLKOP, output CLKOP, output LOCK
);
    pll_divider #(.RATIO(CLKI_DIV / CLKFB_DIV)) divider(.CLK(CLKI), .DIVIDED(CLKOP), .LOCKED(LOCK));
endmodule

// Xilinx 7 series
module IBUF(input I, output O); assign O = I; endmodule
module OBUFT(input I, input T, output O); assign O = T ? 1'bz : I; endmodule
module BUFG(input I, output O); assign O = I; endmodule
module FDPE #(parameter INIT = 0) (input C, input CE, input D, input PRE, output reg Q = INIT);
    always @(posedge C or posedge PRE) if (PRE) Q <= 1; else if (CE) Q <= D;
endmodule
module PLLE2_BASE #(
    parameter CLKIN1_PERIOD = 0.0, parameter DIVCLK_DIVIDE = 1, parameter CLKFBOUT_MULT = 1, parameter CLKOUT0_DIVIDE = 1
) (input CLKIN1, input CLKFBIN, input RST, input PWRDWN, output CLKFBOUT, output CLKOUT0, output LOCKED);
    pll_divider #(.RATIO(DIVCLK_DIVIDE * CLKOUT0_DIVIDE / CLKFBOUT_MULT)) divider(
        .CLK(CLKIN1), .DIVIDED(CLKOUT0), .LOCKED(LOCKED));
    assign CLKFBOUT = CLKIN1;
endmodule

// Locks after some cycles, as a PLL does.
module pll_divider #(parameter RATIO = 2) (input CLK, output reg DIVIDED = 0, output LOCKED);
    reg [7:0] count = 0;
    reg [3:0] age = 0;
    assign LOCKED = &age;
    always @(posedge CLK) begin
        count <= count + 1;
        if (count == RATIO / 2 - 1) begin
            count <= 0;
            DIVIDED <= !DIVIDED;
            if (!LOCKED) age <= age + 1;
        end
    end
endmodule
