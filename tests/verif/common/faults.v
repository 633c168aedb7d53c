// Passes packets unchanged, or with the fault that tuser of their first beat chooses; see bench_faults.py.
module faults (
    input aclk, input aresetn, input offer_in_reset, input [7:0] ends,
    input [127:0] s_axis_tdata, input [15:0] s_axis_tkeep, input s_axis_tlast, input [2:0] s_axis_tuser,
    input s_axis_tvalid, output s_axis_tready,
    output [127:0] m_axis_tdata, output [15:0] m_axis_tkeep, output m_axis_tlast, output m_axis_tvalid,
    input m_axis_tready, output [1:0] error_code
);
    reg [127:0] data;
    reg [15:0] keep;
    reg last, valid, first, waited;
    reg [2:0] user, fault;
    reg [3:0] beat;
    wire [2:0] current = first ? s_axis_tuser : fault;
    wire lost = current == 4 && beat == 3;
    wire blocked = valid && !m_axis_tready;
    assign s_axis_tready = aresetn && !blocked;
    assign m_axis_tdata = data ^ (user == 3 && waited) ^ (user == 1 && last);
    assign m_axis_tkeep = user == 5 && last ? {keep[15:1], 1'b0} : keep;
    assign m_axis_tlast = last && user != 7;
    assign m_axis_tvalid = (valid && !(user == 2 && waited)) || (offer_in_reset && !aresetn);
    assign error_code = user == 6 && last ? 2 : 0;
    always @(posedge aclk) if (ends == 8'hA5 && $time != 0) begin
        $display("faults: the end was asked for");
        $finish;
    end
    always @(posedge aclk) begin
        waited <= blocked && m_axis_tvalid;
        if (!aresetn) begin
            valid <= 0;
            first <= 1;
            waited <= 0;
        end else if (s_axis_tready) begin
            valid <= s_axis_tvalid && !lost;
            data <= s_axis_tdata;
            keep <= s_axis_tkeep;
            last <= s_axis_tlast;
            user <= current;
            if (s_axis_tvalid) begin
                first <= s_axis_tlast;
                fault <= current;
                beat <= first ? 1 : beat + 1;
            end
        end
    end
endmodule
