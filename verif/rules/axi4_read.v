// Rules of the read channels of an AXI4 port: address and data.
//
// Each rule has a name, and above it the clause that demands it: AMBA AXI and ACE, IHI 0022, numbered as in issue E.
// Signals that a port does not have are tied to their default, mostly 0; an identifier or user signal has one bit then.
// Data with one identifier belong to its oldest read, so beats of two reads that are mixed show as a wrong RLAST.

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

module axi4_read_rules #(
    parameter ADDR_WIDTH = 32,
    parameter DATA_WIDTH = 32,
    parameter ID_WIDTH = 1,
    parameter USER_WIDTH = 1,
    parameter MAX_OUTSTANDING = 16,     // bursts that may be open at a time
    parameter ASSERT_MANAGER = 1,       // rules for the manager: 0 assume, 1 assert, 2 off
    parameter ASSERT_SUBORDINATE = 1    // rules for the subordinate: the same
) (
    input wire aclk,
    input wire aresetn,
    input wire [ID_WIDTH-1:0] arid,
    input wire [ADDR_WIDTH-1:0] araddr,
    input wire [7:0] arlen,
    input wire [2:0] arsize,
    input wire [1:0] arburst,
    input wire arlock,
    input wire [3:0] arcache,
    input wire [2:0] arprot,
    input wire [3:0] arqos,
    input wire [3:0] arregion,
    input wire [USER_WIDTH-1:0] aruser,
    input wire arvalid,
    input wire arready,
    input wire [ID_WIDTH-1:0] rid,
    input wire [DATA_WIDTH-1:0] rdata,
    input wire [1:0] rresp,
    input wire rlast,
    input wire [USER_WIDTH-1:0] ruser,
    input wire rvalid,
    input wire rready
);
    localparam [1:0] FIXED = 0, INCR = 1, WRAP = 2, EXOKAY = 1;
    localparam AR_BITS = ID_WIDTH + ADDR_WIDTH + 29 + USER_WIDTH;
    localparam R_BITS = ID_WIDTH + DATA_WIDTH + 3 + USER_WIDTH;

    // Silent before the first clock edge in reset, behind a falling one. `was_reset`: the edge before was in reset.
    `AXI_SETTLES
    reg started, was_reset;
    initial started = 0;
    initial was_reset = 0;

    wire [AR_BITS-1:0] ar_payload = {arid, araddr, arlen, arsize, arburst, arlock, arcache, arprot, arqos, arregion,
        aruser};
    reg ar_waited;
    reg [AR_BITS-1:0] ar_was;
    wire [R_BITS-1:0] r_payload = {rid, rdata, rresp, rlast, ruser};
    reg r_waited;
    reg [R_BITS-1:0] r_was;

    wire [ADDR_WIDTH+11:0] ar_address = {12'd0, araddr};

    // The address within 4 KiB, the address bits below a beat, and the bytes of the whole burst.
    wire [15:0] ar_page = {4'd0, ar_address[11:0]};
    wire [15:0] ar_below = (16'd1 << arsize) - 16'd1;
    wire [15:0] ar_bytes = (arlen + 16'd1) << arsize;

    // Open reads, the oldest first: identifier, exclusive or not, beats to come behind the next one.
    localparam COUNT_BITS = $clog2(MAX_OUTSTANDING + 2);
    localparam ENTRY = ID_WIDTH + 9;
    reg [MAX_OUTSTANDING*ENTRY-1:0] open;
    reg [COUNT_BITS-1:0] reads;
    initial reads = 0;

    // The read that data belong to: the oldest one with their identifier.
    integer i, r_at;
    reg r_found;
    always @* begin
        r_found = 0;
        r_at = 0;
        i = 0;
        if (rvalid)
            for (i = MAX_OUTSTANDING - 1; i >= 0; i = i - 1)
                if (i < reads && open[i*ENTRY+9 +: ID_WIDTH] == rid) begin
                    r_found = 1;
                    r_at = i;
                end
    end
    wire [7:0] r_left = open[r_at*ENTRY +: 8];

    wire ar_go = arvalid && arready;
    wire r_go = rvalid && rready && r_found;
    wire r_pop = r_go && (rlast || r_left == 0);
    wire [COUNT_BITS-1:0] reads_left = reads - r_pop;

    integer k;
    always @(posedge aclk) begin
        if (`AXI_STARTED) begin
            // A3.1.2 reset: ARVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_RESET, !was_reset || !arvalid)
            // A3.1.2 reset: RVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_R_RESET, !was_reset || !rvalid)
        end
        if (`AXI_STARTED && aresetn) begin
            // A3.2.1 handshake: ARVALID stays high until ARREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_VALID_STABLE, !ar_waited || arvalid)
            // A3.2.1 handshake: the address, with all that belongs to it, stays the same until ARREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_PAYLOAD_STABLE, !(ar_waited && arvalid) || ar_payload == ar_was)
            // A3.2.1 handshake: ARVALID is not X, and the address, with all that belongs to it, is not while it is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_KNOWN, `AXI_KNOWN(arvalid) && (!arvalid || `AXI_KNOWN(ar_payload)))
            // A3.2.1 handshake: ARREADY is not X
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_AR_READY_KNOWN, `AXI_KNOWN(arready))
            // A3.4.1 burst size: a beat is not wider than the bus
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_SIZE, !arvalid || (8 << arsize) <= DATA_WIDTH)
            // A3.4.1 burst type: the type is FIXED, INCR or WRAP
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_BURST, !arvalid || arburst != 2'd3)
            // A3.4.1 burst length: a FIXED burst has at most 16 beats
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_FIXED_LENGTH, !arvalid || arburst != FIXED || arlen < 16)
            // A3.4.1 burst length: a WRAP burst has 2, 4, 8 or 16 beats
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_WRAP_LENGTH, !arvalid || arburst != WRAP || arlen == 1 || arlen == 3
                || arlen == 7 || arlen == 15)
            // A3.4.1 burst type: a WRAP burst starts at a multiple of its beat
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_WRAP_ALIGNED, !arvalid || arburst != WRAP || (ar_page & ar_below) == 0)
            // A3.4.1 address structure: an INCR burst does not cross a multiple of 4096 bytes
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_BOUNDARY, !arvalid || arburst != INCR
                || (ar_page & ~ar_below) + ar_bytes <= 4096)
            // A4.4 memory types: what is not modifiable is not allocated
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_CACHE, !arvalid || arcache[1] || arcache[3:2] == 0)
            // A7.2.4 exclusive access restrictions: an exclusive burst has at most 16 beats
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_LOCK_LENGTH, !arvalid || !arlock || arlen < 16)
            // A7.2.4 exclusive access restrictions: an exclusive burst has a power of two of bytes, at most 128
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_LOCK_BYTES, !arvalid || !arlock || ((arlen & (arlen + 8'd1)) == 0
                && ar_bytes <= 128))
            // A7.2.4 exclusive access restrictions: an exclusive burst starts at a multiple of its bytes
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_LOCK_ALIGNED, !arvalid || !arlock || (ar_page & (ar_bytes - 1)) == 0)
            // parameter MAX_OUTSTANDING: at most so many reads are open
            `AXI_RULE(ASSERT_MANAGER, AXI4_AR_OUTSTANDING, !ar_go || reads_left < MAX_OUTSTANDING)
            // A3.2.1 handshake: RVALID stays high until RREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_R_VALID_STABLE, !r_waited || rvalid)
            // A3.2.1 handshake: the data, with all that belongs to it, stays the same until RREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_R_PAYLOAD_STABLE, !(r_waited && rvalid) || r_payload == r_was)
            // A3.2.1 handshake: RVALID is not X, and RID, RRESP and RLAST are not while it is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_R_KNOWN, `AXI_KNOWN(rvalid) && (!rvalid
                || `AXI_KNOWN({rid, rresp, rlast})))
            // A3.2.1 handshake: RREADY is not X
            `AXI_RULE(ASSERT_MANAGER, AXI4_R_READY_KNOWN, `AXI_KNOWN(rready))
            // A3.3.1 dependencies between channels: data answer a read with their identifier, as many beats as it
            // asked for
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_R_REQUESTED, !rvalid || r_found)
            // A3.4.4 read structure: RLAST is high in the last beat of the oldest read of its identifier, and in no
            // other
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_R_LAST, !(rvalid && r_found) || rlast == (r_left == 0))
            // A7.2.3 exclusive access, subordinate: EXOKAY answers only exclusive reads
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_R_EXOKAY, !(rvalid && r_found) || rresp != EXOKAY || open[r_at*ENTRY+8])
        end

        if (!aresetn)
            reads <= 0;
        else begin
            if (r_pop)
                for (k = 0; k < MAX_OUTSTANDING - 1; k = k + 1)
                    if (k >= r_at) open[k*ENTRY +: ENTRY] <= open[(k+1)*ENTRY +: ENTRY];
            if (r_go && !r_pop)
                for (k = 0; k < MAX_OUTSTANDING; k = k + 1)
                    if (k == r_at) open[k*ENTRY +: 8] <= r_left - 8'd1;
            if (ar_go)
                for (k = 0; k < MAX_OUTSTANDING; k = k + 1)
                    if (k == reads_left) open[k*ENTRY +: ENTRY] <= {arid, arlock, arlen};
            reads <= reads_left + (ar_go && reads_left < MAX_OUTSTANDING);
        end
        ar_waited <= aresetn && arvalid && !arready;
        if (arvalid && !arready) ar_was <= ar_payload;
        r_waited <= aresetn && rvalid && !rready;
        if (rvalid && !rready) r_was <= r_payload;
        was_reset <= !aresetn;
        if (!aresetn && `AXI_SETTLED) started <= 1;
    end
endmodule

// verilator lint_restore
