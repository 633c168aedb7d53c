// A counter and a label, to test the reader of coverage.
module counter (input wire aclk, input wire aresetn);
    reg [2:0] \odd.name ;
    initial \odd.name = 0;
    always @(posedge aclk) begin
        if (!aresetn) \odd.name <= 0;
        else \odd.name <= \odd.name + 1;
    end
endmodule

module cdma_memory_port (input wire aclk);
    reg full;
    initial full = 0;
    always @(posedge aclk) begin
        full <= 1;
        queue__full: cover (full);
    end
endmodule

module counter_bench (input wire aclk, input wire aresetn);
    counter counter (.aclk(aclk), .aresetn(aresetn));
    cdma_memory_port device (.aclk(aclk));
endmodule
