// What a user makes of the wrapper: rows of 32-bit macros with write enables for bytes, side by side. A macro gives noise
// when it reads the row that it writes, and holds noise at power-up, as real ones may.
module NAME #(
    parameter WIDTH = 32,
    parameter DEPTH = 128,
    parameter ADDRESS_BITS = 7,
    parameter PARTS = 1
) (
    input wire clk,
    input wire [PARTS-1:0] write_en,
    input wire [ADDRESS_BITS-1:0] write_addr,
    input wire [WIDTH-1:0] write_data,
    input wire read_en,
    input wire [ADDRESS_BITS-1:0] read_addr,
    output wire [WIDTH-1:0] read_data
);
    localparam MACROS = (WIDTH + 31) / 32;
    wire [32*MACROS+WIDTH-1:0] in = {{32*MACROS{1'b0}}, write_data};
    wire [32*MACROS-1:0] out;
    wire [4*MACROS-1:0] bytes;
    genvar k;
    generate for (k = 0; k < 4 * MACROS; k = k + 1) begin : enable
        // The last macro may have bytes behind the end of a row; what is written to them does not matter.
        assign bytes[k] = write_en[(8 * k < WIDTH ? 8 * k : WIDTH - 1) * PARTS / WIDTH];
    end endgenerate
    generate for (k = 0; k < MACROS; k = k + 1) begin : slice
        macro_32 #(.DEPTH(DEPTH), .ADDRESS_BITS(ADDRESS_BITS)) macro (
            .clk(clk), .we(bytes[4*k +: 4]), .wa(write_addr), .wd(in[32*k +: 32]),
            .re(read_en), .ra(read_addr), .rd(out[32*k +: 32]));
    end endgenerate
    assign read_data = out[WIDTH-1:0];
endmodule

module macro_32 #(
    parameter DEPTH = 128,
    parameter ADDRESS_BITS = 7
) (
    input wire clk,
    input wire [3:0] we,
    input wire [ADDRESS_BITS-1:0] wa,
    input wire [31:0] wd,
    input wire re,
    input wire [ADDRESS_BITS-1:0] ra,
    output reg [31:0] rd
);
    reg [31:0] rows [0:DEPTH-1];
    integer row, k;

    initial begin
        rd = $urandom;
        for (row = 0; row < DEPTH; row = row + 1)
            rows[row] = $urandom;
    end

    always @(posedge clk) begin
        for (k = 0; k < 4; k = k + 1)
            if (we[k])
                rows[wa][8*k +: 8] <= wd[8*k +: 8];
        if (re)
            rd <= |we && wa == ra ? $urandom : rows[ra];
    end
endmodule
