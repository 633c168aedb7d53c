// Rules of the write channels of an AXI4 port: address, data and response.
//
// Each rule has a name, and above it the clause that demands it: AMBA AXI and ACE, IHI 0022, numbered as in issue E.
// Signals that a port does not have are tied to their default, mostly 0; an identifier or user signal has one bit then.
// The bytes of WSTRB are checked where the address is there no later than its data; WLAST is always.

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

module axi4_write_rules #(
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
    input wire [ID_WIDTH-1:0] awid,
    input wire [ADDR_WIDTH-1:0] awaddr,
    input wire [7:0] awlen,
    input wire [2:0] awsize,
    input wire [1:0] awburst,
    input wire awlock,
    input wire [3:0] awcache,
    input wire [2:0] awprot,
    input wire [3:0] awqos,
    input wire [3:0] awregion,
    input wire [USER_WIDTH-1:0] awuser,
    input wire awvalid,
    input wire awready,
    input wire [DATA_WIDTH-1:0] wdata,
    input wire [DATA_WIDTH/8-1:0] wstrb,
    input wire wlast,
    input wire [USER_WIDTH-1:0] wuser,
    input wire wvalid,
    input wire wready,
    input wire [ID_WIDTH-1:0] bid,
    input wire [1:0] bresp,
    input wire [USER_WIDTH-1:0] buser,
    input wire bvalid,
    input wire bready
);
    localparam [1:0] FIXED = 0, INCR = 1, WRAP = 2, EXOKAY = 1;
    localparam LANES = DATA_WIDTH / 8;
    localparam AW_BITS = ID_WIDTH + ADDR_WIDTH + 29 + USER_WIDTH;
    localparam W_BITS = DATA_WIDTH + LANES + 1 + USER_WIDTH;
    localparam B_BITS = ID_WIDTH + 2 + USER_WIDTH;

    // Silent before the first clock edge in reset, behind a falling one. `was_reset`: the edge before was in reset.
    `AXI_SETTLES
    reg started, was_reset;
    initial started = 0;
    initial was_reset = 0;

    wire [AW_BITS-1:0] aw_payload = {awid, awaddr, awlen, awsize, awburst, awlock, awcache, awprot, awqos, awregion,
        awuser};
    reg aw_waited;
    reg [AW_BITS-1:0] aw_was;
    wire [W_BITS-1:0] w_payload = {wdata, wstrb, wlast, wuser};
    reg w_waited;
    reg [W_BITS-1:0] w_was;
    wire [B_BITS-1:0] b_payload = {bid, bresp, buser};
    reg b_waited;
    reg [B_BITS-1:0] b_was;

    wire [ADDR_WIDTH+11:0] aw_address = {12'd0, awaddr};

    // The address within 4 KiB, the address bits below a beat, and the bytes of the whole burst.
    wire [15:0] aw_page = {4'd0, aw_address[11:0]};
    wire [15:0] aw_below = (16'd1 << awsize) - 16'd1;
    wire [15:0] aw_bytes = (awlen + 16'd1) << awsize;

    // Open writes, the oldest first. The first `addresses` of them have an address, the first `bursts` all their data.
    // Where the data came first, the length is that of the data until the address is there.
    localparam COUNT_BITS = $clog2(MAX_OUTSTANDING + 2);
    localparam ENTRY = ID_WIDTH + 21;
    reg [MAX_OUTSTANDING*ENTRY-1:0] open;
    reg [COUNT_BITS-1:0] addresses, bursts;
    reg [8:0] beat;                     // of the burst whose data are under way
    initial addresses = 0;
    initial bursts = 0;
    initial beat = 0;
    wire [ENTRY-1:0] aw_entry = {awid, awlock, aw_address[6:0], awburst, awsize, awlen};

    // The write that the data belong to, where its address is there.
    wire data_known = addresses > bursts || (addresses == bursts && awvalid);
    wire [ENTRY-1:0] data_entry = addresses > bursts ? open[bursts*ENTRY +: ENTRY] : aw_entry;
    wire [7:0] data_length = data_entry[7:0];
    wire [2:0] data_size = data_entry[10:8];
    wire [1:0] data_burst = data_entry[12:11];
    wire [15:0] data_start = {9'd0, data_entry[19:13]};

    // Lanes that a beat may use: those of its size at its address, in the first one from the address on.
    wire [15:0] data_bytes = 16'd1 << data_size;
    wire [15:0] data_aligned = data_start & ~(data_bytes - 16'd1);
    wire [15:0] data_linear = data_burst == FIXED ? data_aligned : data_aligned + (beat << data_size);
    wire [15:0] data_wrap = data_burst == WRAP ? ((data_length + 16'd1) << data_size) - 16'd1 : 16'hffff;
    wire [15:0] data_address = (data_aligned & ~data_wrap) | (data_linear & data_wrap);
    wire [15:0] data_skipped = beat == 0 || data_burst == FIXED ? data_start - data_aligned : 16'd0;
    wire [LANES:0] data_ones = ({{LANES{1'b0}}, 1'b1} << data_bytes) - 1'b1;
    wire [LANES-1:0] data_lanes = ((data_ones[LANES-1:0] >> data_skipped) << data_skipped)
        << (data_address & (LANES - 1));

    // The oldest write that a response can belong to.
    integer i, b_at;
    reg b_found;
    always @* begin
        b_found = 0;
        b_at = 0;
        i = 0;
        if (bvalid)
            for (i = MAX_OUTSTANDING - 1; i >= 0; i = i - 1)
                if (i < addresses && open[i*ENTRY+21 +: ID_WIDTH] == bid) begin
                    b_found = 1;
                    b_at = i;
                end
    end

    wire aw_go = awvalid && awready;
    wire w_go = wvalid && wready;
    wire b_pop = bvalid && bready && b_found && b_at < bursts;
    wire [COUNT_BITS-1:0] addresses_left = addresses - b_pop, bursts_left = bursts - b_pop;

    integer k;
    always @(posedge aclk) begin
        if (`AXI_STARTED) begin
            // A3.1.2 reset: AWVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_RESET, !was_reset || !awvalid)
            // A3.1.2 reset: WVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_RESET, !was_reset || !wvalid)
            // A3.1.2 reset: BVALID is low in reset, and until the first clock edge after it
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_B_RESET, !was_reset || !bvalid)
        end
        if (`AXI_STARTED && aresetn) begin
            // A3.2.1 handshake: AWVALID stays high until AWREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_VALID_STABLE, !aw_waited || awvalid)
            // A3.2.1 handshake: the address, with all that belongs to it, stays the same until AWREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_PAYLOAD_STABLE, !(aw_waited && awvalid) || aw_payload == aw_was)
            // A3.2.1 handshake: AWVALID is not X, and the address, with all that belongs to it, is not while it is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_KNOWN, `AXI_KNOWN(awvalid) && (!awvalid || `AXI_KNOWN(aw_payload)))
            // A3.2.1 handshake: AWREADY is not X
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_AW_READY_KNOWN, `AXI_KNOWN(awready))
            // A3.4.1 burst size: a beat is not wider than the bus
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_SIZE, !awvalid || (8 << awsize) <= DATA_WIDTH)
            // A3.4.1 burst type: the type is FIXED, INCR or WRAP
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_BURST, !awvalid || awburst != 2'd3)
            // A3.4.1 burst length: a FIXED burst has at most 16 beats
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_FIXED_LENGTH, !awvalid || awburst != FIXED || awlen < 16)
            // A3.4.1 burst length: a WRAP burst has 2, 4, 8 or 16 beats
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_WRAP_LENGTH, !awvalid || awburst != WRAP || awlen == 1 || awlen == 3
                || awlen == 7 || awlen == 15)
            // A3.4.1 burst type: a WRAP burst starts at a multiple of its beat
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_WRAP_ALIGNED, !awvalid || awburst != WRAP || (aw_page & aw_below) == 0)
            // A3.4.1 address structure: an INCR burst does not cross a multiple of 4096 bytes
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_BOUNDARY, !awvalid || awburst != INCR
                || (aw_page & ~aw_below) + aw_bytes <= 4096)
            // A4.4 memory types: what is not modifiable is not allocated
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_CACHE, !awvalid || awcache[1] || awcache[3:2] == 0)
            // A7.2.4 exclusive access restrictions: an exclusive burst has at most 16 beats
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_LOCK_LENGTH, !awvalid || !awlock || awlen < 16)
            // A7.2.4 exclusive access restrictions: an exclusive burst has a power of two of bytes, at most 128
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_LOCK_BYTES, !awvalid || !awlock || ((awlen & (awlen + 8'd1)) == 0
                && aw_bytes <= 128))
            // A7.2.4 exclusive access restrictions: an exclusive burst starts at a multiple of its bytes
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_LOCK_ALIGNED, !awvalid || !awlock || (aw_page & (aw_bytes - 1)) == 0)
            // parameter MAX_OUTSTANDING: at most so many writes are open
            `AXI_RULE(ASSERT_MANAGER, AXI4_AW_OUTSTANDING, !aw_go || addresses_left < MAX_OUTSTANDING)
            // A3.2.1 handshake: WVALID stays high until WREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_VALID_STABLE, !w_waited || wvalid)
            // A3.2.1 handshake: the data, with all that belongs to it, stays the same until WREADY is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_PAYLOAD_STABLE, !(w_waited && wvalid) || w_payload == w_was)
            // A3.2.1 handshake: WVALID is not X, and WLAST and WSTRB are not while it is high
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_KNOWN, `AXI_KNOWN(wvalid) && (!wvalid || `AXI_KNOWN({wlast, wstrb})))
            // A3.2.1 handshake: WREADY is not X
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_W_READY_KNOWN, `AXI_KNOWN(wready))
            // A3.2.2 write data channel: WLAST is high in the last beat of a burst, and in no other
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_LAST, !wvalid || (data_known
                ? wlast == (beat == data_length) : beat < 256))
            // A3.2.2 write data channel: a burst whose data came before its address has as many beats as the address
            // says
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_LAST_AHEAD, !aw_go || (addresses < bursts
                ? open[addresses*ENTRY +: 8] == awlen : addresses > bursts || beat <= awlen))
            // A3.4.3 data structure: WSTRB is low in lanes that the beat does not use
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_LANES, !(wvalid && data_known) || (wstrb & ~data_lanes) == 0)
            // parameter MAX_OUTSTANDING: at most so many writes are open
            `AXI_RULE(ASSERT_MANAGER, AXI4_W_OUTSTANDING, !(w_go && wlast) || bursts_left < MAX_OUTSTANDING)
            // A3.2.1 handshake: BVALID stays high until BREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_B_VALID_STABLE, !b_waited || bvalid)
            // A3.2.1 handshake: the response stays the same until BREADY is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_B_PAYLOAD_STABLE, !(b_waited && bvalid) || b_payload == b_was)
            // A3.2.1 handshake: BVALID is not X, and the response is not while it is high
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_B_KNOWN, `AXI_KNOWN(bvalid) && (!bvalid || `AXI_KNOWN(b_payload)))
            // A3.2.1 handshake: BREADY is not X
            `AXI_RULE(ASSERT_MANAGER, AXI4_B_READY_KNOWN, `AXI_KNOWN(bready))
            // A3.3.1 dependencies between channels: a response answers a write with its identifier, one response each
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_B_REQUESTED, !bvalid || b_found)
            // A3.3.1 dependencies between channels: a response comes after the last beat of its write
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_B_AFTER_DATA, !(bvalid && b_found) || b_at < bursts)
            // A7.2.3 exclusive access, subordinate: EXOKAY answers only exclusive writes
            `AXI_RULE(ASSERT_SUBORDINATE, AXI4_B_EXOKAY, !(bvalid && b_found) || bresp != EXOKAY || open[b_at*ENTRY+20])
        end

        if (!aresetn) begin
            addresses <= 0;
            bursts <= 0;
            beat <= 0;
        end else begin
            if (b_pop)
                for (k = 0; k < MAX_OUTSTANDING - 1; k = k + 1)
                    if (k >= b_at) open[k*ENTRY +: ENTRY] <= open[(k+1)*ENTRY +: ENTRY];
            if (w_go && wlast && addresses <= bursts)
                for (k = 0; k < MAX_OUTSTANDING; k = k + 1)
                    if (k == bursts_left) open[k*ENTRY +: 8] <= beat[7:0];
            if (aw_go)
                for (k = 0; k < MAX_OUTSTANDING; k = k + 1)
                    if (k == addresses_left) open[k*ENTRY +: ENTRY] <= aw_entry;
            addresses <= addresses_left + (aw_go && addresses_left < MAX_OUTSTANDING);
            bursts <= bursts_left + (w_go && wlast && bursts_left < MAX_OUTSTANDING);
            if (w_go) beat <= wlast ? 9'd0 : beat == 9'd256 ? beat : beat + 9'd1;
        end
        aw_waited <= aresetn && awvalid && !awready;
        if (awvalid && !awready) aw_was <= aw_payload;
        w_waited <= aresetn && wvalid && !wready;
        if (wvalid && !wready) w_was <= w_payload;
        b_waited <= aresetn && bvalid && !bready;
        if (bvalid && !bready) b_was <= b_payload;
        was_reset <= !aresetn;
        if (!aresetn && `AXI_SETTLED) started <= 1;
    end
endmodule

// verilator lint_restore
