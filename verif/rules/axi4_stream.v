// Rules of an AXI4-Stream port; its manager is the transmitter.
//
// Each rule has a name, and above it the clause that demands it: AMBA AXI4-Stream, IHI 0051, numbered as in issue A.
// Signals that a port does not have are tied to their default: TKEEP and TSTRB to ones, TLAST to 1, all others to 0.

`ifndef AXI_RULE
  // A rule that does not hold is an assertion of a proof, or ends a simulation with its name, its port and the time.
  // SIDE says what is made of it: 0 assume, 1 assert, 2 nothing. Simulations check assumptions like assertions.
  `ifdef FORMAL
    `define AXI_RULE(SIDE, NAME, HOLDS) if (SIDE == 1) NAME: assert (HOLDS); else if (SIDE == 0) assume (HOLDS);
    `define AXI_STARTED !$initstate
    `define AXI_SETTLED 1'b1
    `define AXI_SETTLES
    `define AXI_KNOWN(BITS) 1'b1
  `else
    `ifndef AXI_RULE_FAILS
      `define AXI_RULE_FAILS $fatal(1)
    `endif
    `define AXI_RULE(SIDE, NAME, HOLDS) if (SIDE != 2 && !(HOLDS)) begin : NAME \
        $display("rule %m broken at %0t", $realtime); $fflush; `AXI_RULE_FAILS; end
    `define AXI_STARTED started
    // A two-state simulator may begin with a high clock, and then sees an edge before logic has settled. The time
    // does not tell: it stays 0 where the unit of time is longer than the run.
    `define AXI_SETTLED settled
    `define AXI_SETTLES reg settled; initial settled = 0; always @(negedge aclk) settled <= 1;
    `ifdef VERILATOR
      `define AXI_KNOWN(BITS) 1'b1
    `else
      `define AXI_KNOWN(BITS) ((^(BITS)) !== 1'bx)
    `endif
  `endif
`endif

// verilator lint_save
// verilator lint_off DECLFILENAME
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTH

module axi4_stream_rules #(
    parameter DATA_WIDTH = 32,          // a multiple of 8
    parameter ID_WIDTH = 1,
    parameter DEST_WIDTH = 1,
    parameter USER_WIDTH = 1,
    parameter NO_EMPTY = 0,             // 1: a packet has at least one byte; packets are not interleaved
    parameter CONTIGUOUS = 0,           // 1: bytes fill lanes from the first one on, and all but in the last beat
    parameter ASSERT_MANAGER = 1,       // rules for the transmitter: 0 assume, 1 assert, 2 off
    parameter ASSERT_SUBORDINATE = 1    // rules for the receiver: the same
) (
    input wire aclk,
    input wire aresetn,
    input wire [DATA_WIDTH-1:0] tdata,
    input wire [DATA_WIDTH/8-1:0] tkeep,
    input wire [DATA_WIDTH/8-1:0] tstrb,
    input wire tlast,
    input wire [ID_WIDTH-1:0] tid,
    input wire [DEST_WIDTH-1:0] tdest,
    input wire [USER_WIDTH-1:0] tuser,
    input wire tvalid,
    input wire tready
);
    localparam LANES = DATA_WIDTH / 8;
    localparam T_BITS = DATA_WIDTH + 2 * LANES + 1 + ID_WIDTH + DEST_WIDTH + USER_WIDTH;

    // Silent before the first clock edge in reset, behind a falling one. `was_reset`: the edge before was in reset.
    `AXI_SETTLES
    reg started, was_reset;
    initial started = 0;
    initial was_reset = 0;

    wire [T_BITS-1:0] t_payload = {tdata, tkeep, tstrb, tlast, tid, tdest, tuser};
    reg t_waited;
    reg [T_BITS-1:0] t_was;

    reg some;                           // an earlier beat of this packet has a byte
    initial some = 0;

    always @(posedge aclk) begin
        if (`AXI_STARTED) begin
            // 2.7.2 reset: TVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_MANAGER, AXIS_RESET, !was_reset || !tvalid)
        end
        if (`AXI_STARTED && aresetn) begin
            // 2.2.1 handshake: TVALID stays high until TREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXIS_VALID_STABLE, !t_waited || tvalid)
            // 2.2.1 handshake: data, TKEEP, TSTRB, TLAST, TID, TDEST and TUSER stay the same until TREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXIS_PAYLOAD_STABLE, !(t_waited && tvalid) || t_payload == t_was)
            // 2.2.1 handshake: TVALID is not X, and TKEEP, TSTRB, TLAST, TID and TDEST are not while it is high
            `AXI_RULE(ASSERT_MANAGER, AXIS_KNOWN, `AXI_KNOWN(tvalid) && (!tvalid
                || `AXI_KNOWN({tkeep, tstrb, tlast, tid, tdest})))
            // 2.2.1 handshake: TREADY is not X
            `AXI_RULE(ASSERT_SUBORDINATE, AXIS_READY_KNOWN, `AXI_KNOWN(tready))
            // 2.4.3 TKEEP and TSTRB combinations: TSTRB is low where TKEEP is
            `AXI_RULE(ASSERT_MANAGER, AXIS_KEEP_STROBE, !tvalid || (tstrb & ~tkeep) == 0)
            // parameter NO_EMPTY: a packet has at least one byte
            `AXI_RULE(ASSERT_MANAGER, AXIS_NO_EMPTY, NO_EMPTY == 0 || !(tvalid && tlast) || some || tkeep != 0)
            // parameter CONTIGUOUS: bytes fill lanes from the first one on, and all lanes but in the last beat
            `AXI_RULE(ASSERT_MANAGER, AXIS_CONTIGUOUS, CONTIGUOUS == 0 || !tvalid || (tlast
                ? (tkeep & (tkeep + 1'b1)) == 0 : &tkeep))
        end

        if (!aresetn) some <= 0;
        else if (tvalid && tready) some <= !tlast && (some || tkeep != 0);
        t_waited <= aresetn && tvalid && !tready;
        if (tvalid && !tready) t_was <= t_payload;
        was_reset <= !aresetn;
        if (!aresetn && `AXI_SETTLED) started <= 1;
    end
endmodule

// verilator lint_restore
