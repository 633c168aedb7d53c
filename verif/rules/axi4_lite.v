// Rules of an AXI4-Lite port.
//
// Each rule has a name, and above it the clause that demands it: AMBA AXI and ACE, IHI 0022, numbered as in issue E.
// Signals that a port does not have are tied to 0.

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

module axi4_lite_rules #(
    parameter ADDR_WIDTH = 32,
    parameter DATA_WIDTH = 32,
    parameter MAX_OUTSTANDING = 16,     // reads, and writes, that may be open at a time
    parameter ASSERT_MANAGER = 1,       // rules for the manager: 0 assume, 1 assert, 2 off
    parameter ASSERT_SUBORDINATE = 1    // rules for the subordinate: the same
) (
    input wire aclk,
    input wire aresetn,
    input wire [ADDR_WIDTH-1:0] awaddr,
    input wire [2:0] awprot,
    input wire awvalid,
    input wire awready,
    input wire [DATA_WIDTH-1:0] wdata,
    input wire [DATA_WIDTH/8-1:0] wstrb,
    input wire wvalid,
    input wire wready,
    input wire [1:0] bresp,
    input wire bvalid,
    input wire bready,
    input wire [ADDR_WIDTH-1:0] araddr,
    input wire [2:0] arprot,
    input wire arvalid,
    input wire arready,
    input wire [DATA_WIDTH-1:0] rdata,
    input wire [1:0] rresp,
    input wire rvalid,
    input wire rready
);
    localparam [1:0] EXOKAY = 1;
    localparam AW_BITS = ADDR_WIDTH + 3;
    localparam W_BITS = DATA_WIDTH + DATA_WIDTH / 8;
    localparam B_BITS = 2;
    localparam AR_BITS = ADDR_WIDTH + 3;
    localparam R_BITS = DATA_WIDTH + 2;

    // Silent before the first clock edge in reset, behind a falling one. `was_reset`: the edge before was in reset.
    `AXI_SETTLES
    reg started, was_reset;
    initial started = 0;
    initial was_reset = 0;

    wire [AW_BITS-1:0] aw_payload = {awaddr, awprot};
    reg aw_waited;
    reg [AW_BITS-1:0] aw_was;
    wire [W_BITS-1:0] w_payload = {wdata, wstrb};
    reg w_waited;
    reg [W_BITS-1:0] w_was;
    wire [B_BITS-1:0] b_payload = {bresp};
    reg b_waited;
    reg [B_BITS-1:0] b_was;
    wire [AR_BITS-1:0] ar_payload = {araddr, arprot};
    reg ar_waited;
    reg [AR_BITS-1:0] ar_was;
    wire [R_BITS-1:0] r_payload = {rdata, rresp};
    reg r_waited;
    reg [R_BITS-1:0] r_was;

    // Addresses and data of writes, and reads, that have no response yet.
    localparam COUNT_BITS = $clog2(MAX_OUTSTANDING + 2);
    reg [COUNT_BITS-1:0] addresses, words, reads;
    initial addresses = 0;
    initial words = 0;
    initial reads = 0;
    wire aw_go = awvalid && awready, w_go = wvalid && wready, ar_go = arvalid && arready;
    wire b_go = bvalid && bready && addresses != 0 && words != 0, r_go = rvalid && rready && reads != 0;
    wire [COUNT_BITS-1:0] addresses_left = addresses - b_go, words_left = words - b_go, reads_left = reads - r_go;

    always @(posedge aclk) begin
        if (`AXI_STARTED) begin
            // A3.1.2 reset: AWVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AW_RESET, !was_reset || !awvalid)
            // A3.1.2 reset: WVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_MANAGER, AXI4L_W_RESET, !was_reset || !wvalid)
            // A3.1.2 reset: BVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_B_RESET, !was_reset || !bvalid)
            // A3.1.2 reset: ARVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AR_RESET, !was_reset || !arvalid)
            // A3.1.2 reset: RVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_R_RESET, !was_reset || !rvalid)
        end
        if (`AXI_STARTED && aresetn) begin
            // B1.1.1 functionality: the data have 32 or 64 bits
            `AXI_RULE(ASSERT_MANAGER, AXI4L_WIDTH, DATA_WIDTH == 32 || DATA_WIDTH == 64)
            // A3.2.1 handshake: AWVALID stays high until AWREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AW_VALID_STABLE, !aw_waited || awvalid)
            // A3.2.1 handshake: the address, with PROT, stays the same until AWREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AW_PAYLOAD_STABLE, !(aw_waited && awvalid) || aw_payload == aw_was)
            // A3.2.1 handshake: AWVALID is not X, and the address, with PROT, is not while it is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AW_KNOWN, `AXI_KNOWN(awvalid) && (!awvalid || `AXI_KNOWN(aw_payload)))
            // A3.2.1 handshake: AWREADY is not X
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_AW_READY_KNOWN, `AXI_KNOWN(awready))
            // parameter MAX_OUTSTANDING: at most so many writes are open
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AW_OUTSTANDING, !aw_go || addresses_left < MAX_OUTSTANDING)
            // A3.2.1 handshake: WVALID stays high until WREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_W_VALID_STABLE, !w_waited || wvalid)
            // A3.2.1 handshake: the data, with WSTRB, stays the same until WREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_W_PAYLOAD_STABLE, !(w_waited && wvalid) || w_payload == w_was)
            // A3.2.1 handshake: WVALID is not X, and WSTRB is not while it is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_W_KNOWN, `AXI_KNOWN(wvalid) && (!wvalid || `AXI_KNOWN(wstrb)))
            // A3.2.1 handshake: WREADY is not X
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_W_READY_KNOWN, `AXI_KNOWN(wready))
            // parameter MAX_OUTSTANDING: at most so many writes are open
            `AXI_RULE(ASSERT_MANAGER, AXI4L_W_OUTSTANDING, !w_go || words_left < MAX_OUTSTANDING)
            // A3.2.1 handshake: BVALID stays high until BREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_B_VALID_STABLE, !b_waited || bvalid)
            // A3.2.1 handshake: the response stays the same until BREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_B_PAYLOAD_STABLE, !(b_waited && bvalid) || b_payload == b_was)
            // A3.2.1 handshake: BVALID is not X, and the response is not while it is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_B_KNOWN, `AXI_KNOWN(bvalid) && (!bvalid || `AXI_KNOWN(b_payload)))
            // A3.2.1 handshake: BREADY is not X
            `AXI_RULE(ASSERT_MANAGER, AXI4L_B_READY_KNOWN, `AXI_KNOWN(bready))
            // A3.3.1 dependencies between channels: a response answers a write whose address and data were taken, one
            // response each
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_B_REQUESTED, !bvalid || (addresses != 0 && words != 0))
            // B1.1.1 functionality: EXOKAY is no response
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_B_EXOKAY, !bvalid || bresp != EXOKAY)
            // A3.2.1 handshake: ARVALID stays high until ARREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AR_VALID_STABLE, !ar_waited || arvalid)
            // A3.2.1 handshake: the address, with PROT, stays the same until ARREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AR_PAYLOAD_STABLE, !(ar_waited && arvalid) || ar_payload == ar_was)
            // A3.2.1 handshake: ARVALID is not X, and the address, with PROT, is not while it is high
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AR_KNOWN, `AXI_KNOWN(arvalid) && (!arvalid || `AXI_KNOWN(ar_payload)))
            // A3.2.1 handshake: ARREADY is not X
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_AR_READY_KNOWN, `AXI_KNOWN(arready))
            // parameter MAX_OUTSTANDING: at most so many reads are open
            `AXI_RULE(ASSERT_MANAGER, AXI4L_AR_OUTSTANDING, !ar_go || reads_left < MAX_OUTSTANDING)
            // A3.2.1 handshake: RVALID stays high until RREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_R_VALID_STABLE, !r_waited || rvalid)
            // A3.2.1 handshake: the data, with RRESP, stays the same until RREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_R_PAYLOAD_STABLE, !(r_waited && rvalid) || r_payload == r_was)
            // A3.2.1 handshake: RVALID is not X, and RRESP is not while it is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_R_KNOWN, `AXI_KNOWN(rvalid) && (!rvalid || `AXI_KNOWN(rresp)))
            // A3.2.1 handshake: RREADY is not X
            `AXI_RULE(ASSERT_MANAGER, AXI4L_R_READY_KNOWN, `AXI_KNOWN(rready))
            // A3.3.1 dependencies between channels: data answer a read whose address was taken, once each
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_R_REQUESTED, !rvalid || reads != 0)
            // B1.1.1 functionality: EXOKAY is no response
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4L_R_EXOKAY, !rvalid || rresp != EXOKAY)
        end

        addresses <= aresetn ? addresses_left + (aw_go && addresses_left < MAX_OUTSTANDING) : 0;
        words <= aresetn ? words_left + (w_go && words_left < MAX_OUTSTANDING) : 0;
        reads <= aresetn ? reads_left + (ar_go && reads_left < MAX_OUTSTANDING) : 0;
        aw_waited <= aresetn && awvalid && !awready;
        if (awvalid && !awready) aw_was <= aw_payload;
        w_waited <= aresetn && wvalid && !wready;
        if (wvalid && !wready) w_was <= w_payload;
        b_waited <= aresetn && bvalid && !bready;
        if (bvalid && !bready) b_was <= b_payload;
        ar_waited <= aresetn && arvalid && !arready;
        if (arvalid && !arready) ar_was <= ar_payload;
        r_waited <= aresetn && rvalid && !rready;
        if (rvalid && !rready) r_was <= r_payload;
        was_reset <= !aresetn;
        if (!aresetn && `AXI_SETTLED) started <= 1;
    end
endmodule

// verilator lint_restore
