// What a user makes of the wrapper: rows of 32-bit macros side by side. A macro gives noise when it reads the row that it
// writes, and holds noise at power-up, as real ones may.
module NAME #(
    parameter WIDTH = 32,
    parameter DEPTH = 128,
    parameter ADDRESS_BITS = 7
) (
    input wire clk,
    input wire write_en,
    input wire [ADDRESS_BITS-1:0] write_addr,
    input wire [WIDTH-1:0] write_data,
    input wire read_en,
    input wire [ADDRESS_BITS-1:0] read_addr,
    output wire [WIDTH-1:0] read_data
);
    localparam MACROS = (WIDTH + 31) / 32;
    wire [32*MACROS+WIDTH-1:0] in = {{32*MACROS{1'b0}}, write_data};
    wire [32*MACROS-1:0] out;
    genvar k;
    generate for (k = 0; k < MACROS; k = k + 1) begin : slice
        macro_32 #(.DEPTH(DEPTH), .ADDRESS_BITS(ADDRESS_BITS)) macro (
            .clk(clk), .we(write_en), .wa(write_addr), .wd(in[32*k +: 32]),
            .re(read_en), .ra(read_addr), .rd(out[32*k +: 32]));
    end endgenerate
    assign read_data = out[WIDTH-1:0];
endmodule

module macro_32 #(
    parameter DEPTH = 128,
    parameter ADDRESS_BITS = 7
) (
    input wire clk,
    input wire we,
    input wire [ADDRESS_BITS-1:0] wa,
    input wire [31:0] wd,
    input wire re,
    input wire [ADDRESS_BITS-1:0] ra,
    output reg [31:0] rd
);
    reg [31:0] rows [0:DEPTH-1];
    integer row;

    initial begin
        rd = $urandom;
        for (row = 0; row < DEPTH; row = row + 1)
            rows[row] = $urandom;
    end

    always @(posedge clk) begin
        if (we)
            rows[wa] <= wd;
        if (re)
            rd <= we && wa == ra ? $urandom : rows[ra];
    end
endmodule
