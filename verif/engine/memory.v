// Memory with AXI4 ports, for simulation; knobs set its latency, pauses and errors.
//
//   port 0 <=axi=> +------------------+
//   port 1 <=axi=> | cdma_memory_port | beats  +-------+     NAME.load
//    ...           | one for each     |<======>| image |<==> NAME.dump
//                  +------------------+        +-------+
//
// All ports share one image. Each has its own read latency, stalls, bandwidth limit and failing addresses, set through
// the knobs. Each counts beats and checks that the master keeps the rules of AXI4 and of the engine's contract. Ports
// answer in order, whatever the identifier, but for reads of a memory that is MIXED. Knobs, counters and rules are
// numbered only here: Python reads them.
//
// Source: AMBA AXI and ACE (IHI 0022), chapters A3 and A5; xorshift generator: Marsaglia, J. Stat. Softw. 8 (2003).

`default_nettype none

module cdma_memory #(
    parameter NAME = "memory",
    parameter PORTS = 1,
    parameter ADDRESS_BITS = 40,
    parameter BEAT_BYTES = 32,
    parameter IMAGE_BYTES = 1 << 20,    // at most, a multiple of BEAT_BYTES
    parameter INTERLEAVE = 0,           // bytes of the blocks that are interleaved over the ports; 0: no blocks
    parameter MOST_BEATS = 256,         // of a burst
    parameter MOST_READS = 64,          // bursts that each port may have outstanding
    parameter MOST_WRITES = 64,
    parameter ATTRIBUTE_BITS = 11,      // of {user, qos, prot, cache}
    parameter [ATTRIBUTE_BITS-1:0] ATTRIBUTES = 0,  // that all requests must have, until the knob says others
    parameter SAFE_WRITES = 0,          // 1: the data of a write must be there when its address is taken
    parameter ID_BITS = 1,              // of an identifier
    parameter MIXED = 0                 // 1: outstanding reads must have different identifiers; a knob mixes answers
) (
    input  wire                             aclk,
    input  wire                             aresetn,

    input  wire                             knob_write,
    input  wire [7:0]                       knob_port,      // ALL_PORTS: every one
    input  wire [7:0]                       knob,
    input  wire [63:0]                      knob_value,
    output reg  [63:0]                      knob_read,      // of the port and counter that are named

    input  wire [PORTS*ADDRESS_BITS-1:0]    araddr,
    input  wire [PORTS*ID_BITS-1:0]         arid,
    input  wire [PORTS*8-1:0]               arlen,
    input  wire [PORTS*3-1:0]               arsize,
    input  wire [PORTS*2-1:0]               arburst,
    input  wire [PORTS*ATTRIBUTE_BITS-1:0]  arattributes,
    input  wire [PORTS-1:0]                 arvalid,
    output wire [PORTS-1:0]                 arready,
    output wire [PORTS*ID_BITS-1:0]         rid,
    output wire [PORTS*8*BEAT_BYTES-1:0]    rdata,
    output wire [PORTS*2-1:0]               rresp,
    output wire [PORTS-1:0]                 rlast,
    output wire [PORTS-1:0]                 rvalid,
    input  wire [PORTS-1:0]                 rready,

    input  wire [PORTS*ADDRESS_BITS-1:0]    awaddr,
    input  wire [PORTS*ID_BITS-1:0]         awid,
    input  wire [PORTS*8-1:0]               awlen,
    input  wire [PORTS*3-1:0]               awsize,
    input  wire [PORTS*2-1:0]               awburst,
    input  wire [PORTS*ATTRIBUTE_BITS-1:0]  awattributes,
    input  wire [PORTS-1:0]                 awvalid,
    output wire [PORTS-1:0]                 awready,
    input  wire [PORTS*8*BEAT_BYTES-1:0]    wdata,
    input  wire [PORTS*BEAT_BYTES-1:0]      wstrb,
    input  wire [PORTS-1:0]                 wlast,
    input  wire [PORTS-1:0]                 wvalid,
    output wire [PORTS-1:0]                 wready,
    output wire [PORTS*ID_BITS-1:0]         bid,
    output wire [PORTS*2-1:0]               bresp,
    output wire [PORTS-1:0]                 bvalid,
    input  wire [PORTS-1:0]                 bready
);
    localparam WIDTH = 8 * BEAT_BYTES;
    localparam WORDS = IMAGE_BYTES / BEAT_BYTES;
    localparam [7:0] ALL_PORTS = 255;

    // Knobs of the whole memory; those of the ports are below.
    localparam [7:0] KNOB_BASE = 64;        // address of the image's first byte, a multiple of its size
    localparam [7:0] KNOB_FIRST = 65;       // first beat to load or dump
    localparam [7:0] KNOB_LOAD = 66;        // load so many beats; byte 0 of the file is the highest of the first beat
    localparam [7:0] KNOB_DUMP = 67;        // dump so many beats, from byte 0 of the first
    localparam [7:0] KNOB_SIZE = 68;        // bytes of the image, where it is smaller than IMAGE_BYTES

    reg [WIDTH-1:0] image [0:WORDS-1];
    reg [63:0] base, size;
    reg [63:0] cycle;
    integer first, file, done, row, last, each;

    initial begin
        base = 0;
        size = IMAGE_BYTES;
        cycle = 0;
        first = 0;
    end

    always @(posedge aclk) begin
        cycle <= cycle + 1;
        // A clock that begins high has an edge at time 0, before the inputs are driven.
        if (knob_write && $time != 0) begin
            case (knob)
                KNOB_BASE: base <= knob_value;
                KNOB_SIZE: size <= knob_value;
                KNOB_FIRST: first <= knob_value[31:0];
                KNOB_LOAD: begin
                    file = $fopen({NAME, ".load"}, "rb");
                    done = $fread(image, file, first, knob_value[31:0]);
                    $fclose(file);
                    if (done != knob_value[31:0] * BEAT_BYTES) begin
                        $display("%s: %0d bytes were loaded, not %0d", NAME, done, knob_value * BEAT_BYTES);
                        $finish;
                    end
                end
                KNOB_DUMP: begin
                    file = $fopen({NAME, ".dump"}, "wb");
                    // Words of 32 bits, the lowest first; what was never loaded is 0. Each call costs more than the words
                    // it writes, so eight rows go with one.
                    row = first;
                    last = first + knob_value[31:0];
                    while (row < last)
                        if (row + 8 <= last) begin
                            $fwrite(file, "%u%u%u%u%u%u%u%u", image[row], image[row+1], image[row+2], image[row+3],
                                    image[row+4], image[row+5], image[row+6], image[row+7]);
                            row = row + 8;
                        end else begin
                            $fwrite(file, "%u", image[row]);
                            row = row + 1;
                        end
                    $fclose(file);
                end
                default: ;
            endcase
        end
    end

    wire [PORTS*64-1:0] counts;
    always @* begin
        knob_read = 0;
        for (each = 0; each < PORTS; each = each + 1)
            if (knob_port == each) knob_read = counts[64*each +: 64];
    end

    genvar n;
    generate for (n = 0; n < PORTS; n = n + 1) begin : port
        wire [31:0] read_index, write_index;
        wire [BEAT_BYTES-1:0] write_strobe;
        wire write_enable;
        reg [WIDTH-1:0] mask;
        integer i;

        cdma_memory_port #(
            .NAME(NAME), .PORT(n), .PORTS(PORTS), .ADDRESS_BITS(ADDRESS_BITS), .BEAT_BYTES(BEAT_BYTES),
            .INTERLEAVE(INTERLEAVE), .MOST_BEATS(MOST_BEATS),
            .MOST_READS(MOST_READS), .MOST_WRITES(MOST_WRITES),
            .ATTRIBUTE_BITS(ATTRIBUTE_BITS), .ATTRIBUTES(ATTRIBUTES), .SAFE_WRITES(SAFE_WRITES),
            .ID_BITS(ID_BITS), .MIXED(MIXED)
        ) port (
            .aclk(aclk), .aresetn(aresetn), .cycle(cycle), .base(base), .size(size),
            .knob_write(knob_write && (knob_port == n || knob_port == ALL_PORTS)), .knob(knob), .knob_value(knob_value),
            .knob_read(counts[64*n +: 64]),
            .read_index(read_index), .read_data(image[read_index]),
            .write_enable(write_enable), .write_index(write_index), .write_strobe(write_strobe),
            .araddr(araddr[ADDRESS_BITS*n +: ADDRESS_BITS]), .arid(arid[ID_BITS*n +: ID_BITS]), .arlen(arlen[8*n +: 8]),
            .arsize(arsize[3*n +: 3]), .arburst(arburst[2*n +: 2]),
            .arattributes(arattributes[ATTRIBUTE_BITS*n +: ATTRIBUTE_BITS]), .arvalid(arvalid[n]), .arready(arready[n]),
            .rid(rid[ID_BITS*n +: ID_BITS]), .rdata(rdata[WIDTH*n +: WIDTH]), .rresp(rresp[2*n +: 2]), .rlast(rlast[n]),
            .rvalid(rvalid[n]), .rready(rready[n]),
            .awaddr(awaddr[ADDRESS_BITS*n +: ADDRESS_BITS]), .awid(awid[ID_BITS*n +: ID_BITS]), .awlen(awlen[8*n +: 8]),
            .awsize(awsize[3*n +: 3]), .awburst(awburst[2*n +: 2]),
            .awattributes(awattributes[ATTRIBUTE_BITS*n +: ATTRIBUTE_BITS]), .awvalid(awvalid[n]), .awready(awready[n]),
            .wdata(wdata[WIDTH*n +: WIDTH]), .wstrb(wstrb[BEAT_BYTES*n +: BEAT_BYTES]), .wlast(wlast[n]),
            .wvalid(wvalid[n]), .wready(wready[n]),
            .bid(bid[ID_BITS*n +: ID_BITS]), .bresp(bresp[2*n +: 2]), .bvalid(bvalid[n]), .bready(bready[n])
        );

        always @(posedge aclk) begin
            if (write_enable) begin
                if (&write_strobe) begin
                    image[write_index] <= wdata[WIDTH*n +: WIDTH];
                end else begin
                    for (i = 0; i < BEAT_BYTES; i = i + 1) mask[8*i +: 8] = {8{write_strobe[i]}};
                    image[write_index] <= (image[write_index] & ~mask) | (wdata[WIDTH*n +: WIDTH] & mask);
                end
            end
        end
    end endgenerate
endmodule


// Pauses of a channel: in so many of 256 cycles a pause of 1 to 1 + mask cycles begins.
module cdma_memory_pause (
    input  wire         aclk,
    input  wire         aresetn,
    input  wire [15:0]  noise,
    input  wire [8:0]   often,
    input  wire [7:0]   mask,
    output wire         pause
);
    reg [8:0] left;
    assign pause = left != 0;
    always @(posedge aclk)
        if (!aresetn) left <= 0;
        else if (left != 0) left <= left - 1;
        else if (noise[7:0] < often) left <= 1 + (noise[15:8] & mask);
endmodule


// One AXI4 port: queues of bursts, latency and pauses.
module cdma_memory_port #(
    parameter NAME = "memory",
    parameter PORT = 0,
    parameter PORTS = 1,
    parameter ADDRESS_BITS = 40,
    parameter BEAT_BYTES = 32,
    parameter INTERLEAVE = 0,
    parameter MOST_BEATS = 256,
    parameter MOST_READS = 64,
    parameter MOST_WRITES = 64,
    parameter ATTRIBUTE_BITS = 11,
    parameter [ATTRIBUTE_BITS-1:0] ATTRIBUTES = 0,
    parameter SAFE_WRITES = 0,
    parameter ID_BITS = 1,
    parameter MIXED = 0
) (
    input  wire                     aclk,
    input  wire                     aresetn,
    input  wire [63:0]              cycle,
    input  wire [63:0]              base,
    input  wire [63:0]              size,
    input  wire                     knob_write,
    input  wire [7:0]               knob,
    input  wire [63:0]              knob_value,
    output reg  [63:0]              knob_read,

    output wire [31:0]              read_index,
    input  wire [8*BEAT_BYTES-1:0]  read_data,
    output wire                     write_enable,
    output wire [31:0]              write_index,
    output wire [BEAT_BYTES-1:0]    write_strobe,

    input  wire [ADDRESS_BITS-1:0]  araddr,
    input  wire [ID_BITS-1:0]       arid,
    input  wire [7:0]               arlen,
    input  wire [2:0]               arsize,
    input  wire [1:0]               arburst,
    input  wire [ATTRIBUTE_BITS-1:0] arattributes,
    input  wire                     arvalid,
    output wire                     arready,
    output reg  [ID_BITS-1:0]       rid,
    output reg  [8*BEAT_BYTES-1:0]  rdata,
    output reg  [1:0]               rresp,
    output reg                      rlast,
    output reg                      rvalid,
    input  wire                     rready,
    input  wire [ADDRESS_BITS-1:0]  awaddr,
    input  wire [ID_BITS-1:0]       awid,
    input  wire [7:0]               awlen,
    input  wire [2:0]               awsize,
    input  wire [1:0]               awburst,
    input  wire [ATTRIBUTE_BITS-1:0] awattributes,
    input  wire                     awvalid,
    output wire                     awready,
    input  wire [8*BEAT_BYTES-1:0]  wdata,
    input  wire [BEAT_BYTES-1:0]    wstrb,
    input  wire                     wlast,
    input  wire                     wvalid,
    output wire                     wready,
    output reg  [ID_BITS-1:0]       bid,
    output reg  [1:0]               bresp,
    output reg                      bvalid,
    input  wire                     bready
);
    localparam SLOTS = 64;              // bursts that may be open, each way
    localparam BEAT_BITS = $clog2(BEAT_BYTES);
    localparam [1:0] OKAY = 0, DECERR = 3;
    localparam FULL = 65536;            // credit that a beat costs; every cycle adds the bandwidth to it

    // Knobs.
    localparam [7:0] KNOB_READ_LATENCY = 0;     // cycles from a read request to its first beat, at least
    localparam [7:0] KNOB_WRITE_LATENCY = 1;    // cycles from the last beat of a write to its response, at least
    localparam [7:0] KNOB_BANDWIDTH = 2;        // beats in FULL cycles, each way, at most
    localparam [7:0] KNOB_STALL_AR = 3;         // how often each channel begins to pause, in 256 cycles
    localparam [7:0] KNOB_STALL_R = 4;
    localparam [7:0] KNOB_STALL_AW = 5;
    localparam [7:0] KNOB_STALL_W = 6;
    localparam [7:0] KNOB_STALL_B = 7;
    localparam [7:0] KNOB_STALL_MASK = 8;       // a pause takes 1 to 1 + mask cycles; mask is 2^n - 1
    localparam [7:0] KNOB_ADDRESS_AFTER_DATA = 9;   // 1: a write's address is taken only when its data waits
    localparam [7:0] KNOB_FAIL_FIRST = 10;      // addresses that answer with an error: first and last byte
    localparam [7:0] KNOB_FAIL_LAST = 11;
    localparam [7:0] KNOB_FAIL = 12;            // response, + 4 for reads, + 8 for writes; 0: none fails
    localparam [7:0] KNOB_SEED = 13;            // of the pauses
    localparam [7:0] KNOB_CLEAR = 14;           // set all counters to 0

    localparam [7:0] KNOB_FORGIVE = 15;         // clear the list of broken rules
    localparam [7:0] KNOB_SILENT = 16;          // channels that are stopped, a bit each: ar, r, aw, w, b
    localparam [7:0] KNOB_ATTRIBUTES = 17;      // what requests must have from now on: {user, qos, prot, cache}
    localparam [7:0] KNOB_WINDOW_FIRST = 18;    // addresses that the master may touch: first and last byte
    localparam [7:0] KNOB_WINDOW_LAST = 19;
    localparam [7:0] KNOB_SHUFFLE = 20;         // MIXED: behind so many of 256 beats, and behind every burst, any is next

    // Counters.
    localparam [7:0] COUNT_READ_BEATS = 0;
    localparam [7:0] COUNT_WRITE_BEATS = 1;
    localparam [7:0] COUNT_READ_BURSTS = 2;
    localparam [7:0] COUNT_WRITE_BURSTS = 3;
    localparam [7:0] COUNT_FIRST_READ = 4;      // cycle of the first beat that was read since the counters were cleared
    localparam [7:0] COUNT_LAST_READ = 5;
    localparam [7:0] COUNT_FIRST_WRITE = 6;
    localparam [7:0] COUNT_LAST_WRITE = 7;
    localparam [7:0] COUNT_OUTSIDE = 8;         // bursts that touch a byte outside the image
    localparam [7:0] COUNT_OPEN = 9;            // bursts that are open now
    localparam [7:0] COUNT_CYCLE = 10;
    localparam [7:0] COUNT_BROKEN = 11;         // rules that were broken, a bit each
    localparam [7:0] COUNT_READ_TOGGLES = 12;   // bits that differ from the beat before, of the beats that were read
    localparam [7:0] COUNT_WRITE_TOGGLES = 13;  // the same of those that were written; bytes without a strobe are held
    localparam [7:0] COUNT_SHUFFLED = 14;       // beats that were read before one of an older burst

    // Rules.
    localparam RULE_AR_HELD = 0;        // arvalid fell, or the request changed, before arready
    localparam RULE_AR_SIZE = 1;        // a read is no INCR burst of whole beats
    localparam RULE_AR_PAGE = 2;        // a read crosses 4 KiB
    localparam RULE_AR_ALIGNED = 3;     // a read does not start at a beat
    localparam RULE_AR_OWN = 4;         // a read touches a block of another port
    localparam RULE_AW_HELD = 5;        // awvalid fell, or the request changed, before awready
    localparam RULE_AW_SIZE = 6;        // a write is no INCR burst of whole beats
    localparam RULE_AW_PAGE = 7;        // a write crosses 4 KiB
    localparam RULE_AW_ALIGNED = 8;     // a write does not start at a beat
    localparam RULE_AW_OWN = 9;         // a write touches a block of another port
    localparam RULE_W_HELD = 10;        // wvalid fell, or its beat changed, before wready
    localparam RULE_W_LAST = 11;        // wlast is not on the last beat
    localparam RULE_W_STROBES = 12;     // wstrb is not a run of bytes from the first one on
    localparam RULE_RESET = 13;         // a valid is high in reset
    localparam RULE_KNOWN = 14;         // a valid or ready is unknown, or what it stands beside
    localparam RULE_AR_LONG = 15;       // a read has more beats than the longest burst
    localparam RULE_AW_LONG = 16;       // a write has more beats than the longest burst
    localparam RULE_AR_OPEN = 17;       // more reads are outstanding than may be
    localparam RULE_AW_OPEN = 18;       // more writes are outstanding than may be
    localparam RULE_AR_ATTRIBUTES = 19; // a read has other attributes than were chosen
    localparam RULE_AW_ATTRIBUTES = 20; // a write has other attributes than were chosen
    localparam RULE_W_WAITS = 21;       // the master waits between an address and the last beat of its data
    localparam RULE_AR_WINDOW = 22;     // a read touches an address outside the window
    localparam RULE_AW_WINDOW = 23;     // a write touches an address outside the window
    localparam RULE_AR_ID = 24;         // a read has the identifier of one that is outstanding
    localparam RULES = 25;

    reg [63:0] read_latency, write_latency, bandwidth, stall_mask, fail_first, fail_last, window_first, window_last;
    reg [8:0] stall_ar, stall_r, stall_aw, stall_w, stall_b;
    reg [3:0] fail;
    reg address_after_data;
    reg [4:0] silent;
    reg [8:0] shuffle;
    reg [ATTRIBUTE_BITS-1:0] attributes;
    initial begin
        silent = 0;
        shuffle = 0;
        attributes = ATTRIBUTES;
        read_latency = 0;
        write_latency = 0;
        bandwidth = FULL;
        stall_mask = 0;
        fail_first = 0;
        fail_last = 0;
        window_first = 0;
        window_last = ~64'd0;
        stall_ar = 0;
        stall_r = 0;
        stall_aw = 0;
        stall_w = 0;
        stall_b = 0;
        fail = 0;
        address_after_data = 0;
    end
    always @(posedge aclk) begin
        if (knob_write && $time != 0) begin
            case (knob)
                KNOB_READ_LATENCY: read_latency <= knob_value;
                KNOB_WRITE_LATENCY: write_latency <= knob_value;
                KNOB_BANDWIDTH: bandwidth <= knob_value;
                KNOB_STALL_AR: stall_ar <= knob_value[8:0];
                KNOB_STALL_R: stall_r <= knob_value[8:0];
                KNOB_STALL_AW: stall_aw <= knob_value[8:0];
                KNOB_STALL_W: stall_w <= knob_value[8:0];
                KNOB_STALL_B: stall_b <= knob_value[8:0];
                KNOB_STALL_MASK: stall_mask <= knob_value;
                KNOB_ADDRESS_AFTER_DATA: address_after_data <= knob_value[0];
                KNOB_FAIL_FIRST: fail_first <= knob_value;
                KNOB_FAIL_LAST: fail_last <= knob_value;
                KNOB_FAIL: fail <= knob_value[3:0];
                KNOB_SILENT: silent <= knob_value[4:0];
                KNOB_ATTRIBUTES: attributes <= knob_value[ATTRIBUTE_BITS-1:0];
                KNOB_SHUFFLE: shuffle <= knob_value[8:0];
                KNOB_WINDOW_FIRST: window_first <= knob_value;
                KNOB_WINDOW_LAST: window_last <= knob_value;
                default: ;
            endcase
        end
    end

    reg [63:0] noise, mixed;
    initial noise = 64'h9E3779B97F4A7C15 * (PORT + 1);
    always @(posedge aclk) begin
        mixed = noise ^ (noise << 13);
        mixed = mixed ^ (mixed >> 7);
        noise <= mixed ^ (mixed << 17);
        if (knob_write && $time != 0 && knob == KNOB_SEED) noise <= 64'h9E3779B97F4A7C15 * (PORT + 1) ^ knob_value;
    end
    wire pause_ar, pause_r, pause_aw, pause_w, pause_b;
    cdma_memory_pause ar_pause (aclk, aresetn, noise[15:0], stall_ar, stall_mask[7:0], pause_ar);
    cdma_memory_pause r_pause (aclk, aresetn, noise[27:12], stall_r, stall_mask[7:0], pause_r);
    cdma_memory_pause aw_pause (aclk, aresetn, noise[39:24], stall_aw, stall_mask[7:0], pause_aw);
    cdma_memory_pause w_pause (aclk, aresetn, noise[51:36], stall_w, stall_mask[7:0], pause_w);
    cdma_memory_pause b_pause (aclk, aresetn, noise[63:48], stall_b, stall_mask[7:0], pause_b);

    function outside;       // whether a beat is outside the image
        input [63:0] address;
        outside = address < base || address - base >= size;
    endfunction

    function failing;       // whether a beat is among the addresses that fail
        input [63:0] address;
        failing = address + BEAT_BYTES > fail_first && address <= fail_last;
    endfunction

    // Reads.
    reg [ADDRESS_BITS-1:0] read_address [0:SLOTS-1];
    reg [7:0] read_length [0:SLOTS-1];
    reg [63:0] read_time [0:SLOTS-1];
    reg [ID_BITS-1:0] read_id [0:SLOTS-1];
    reg [7:0] read_gone [0:SLOTS-1];    // beats that went
    reg [6:0] read_head, read_tail;
    reg [17:0] read_credit;             // what is left, in parts of a beat: spent first, then at most two beats are kept
    reg [SLOTS-1:0] read_over, over;    // MIXED: bursts behind the oldest one whose beats all went
    reg read_chosen, choosing;          // MIXED: the burst that is next, if there is one
    reg [5:0] read_choice;
    reg [6:0] oldest, span, from, candidate;
    integer step;
    wire [5:0] read_slot = MIXED ? read_choice : read_head[5:0];
    wire [7:0] read_beat = read_gone[read_slot];
    wire read_ends = read_beat == read_length[read_slot];
    wire [63:0] read_at = ((64'd0 | read_address[read_slot]) >> BEAT_BITS << BEAT_BITS) + read_beat * BEAT_BYTES;
    wire read_outside = outside(read_at);
    wire read_failing = fail[2] && failing(read_at);
    wire read_ripe = MIXED ? read_chosen : read_head != read_tail && cycle - read_time[read_slot] >= read_latency;
    wire read_go = (!rvalid || rready) && read_ripe && !pause_r && !silent[1] && read_credit >= FULL;
    wire [63:0] read_saved = read_credit + bandwidth - (read_go ? FULL : 0);
    wire [63:0] read_offset = (read_at - base) >> BEAT_BITS;
    assign read_index = read_outside ? 0 : read_offset[31:0];
    assign arready = aresetn && !pause_ar && !silent[0] && read_tail - read_head != SLOTS;

    always @(posedge aclk) begin
        if (arvalid && arready) begin
            read_address[read_tail[5:0]] <= araddr;
            read_length[read_tail[5:0]] <= arlen;
            read_time[read_tail[5:0]] <= cycle;
            read_id[read_tail[5:0]] <= arid;
            read_gone[read_tail[5:0]] <= 0;
            read_tail <= read_tail + 1;
        end
        read_credit <= read_saved > 2 * FULL ? 2 * FULL : read_saved;
        if (read_go) begin
            rvalid <= 1;
            rid <= read_id[read_slot];
            rdata <= read_outside || read_failing ? {BEAT_BYTES / 8 {noise}} : read_data;
            rresp <= read_outside ? DECERR : read_failing ? fail[1:0] : OKAY;
            rlast <= read_ends;
            read_gone[read_slot] <= read_beat + 1;
            if (read_ends && !MIXED) read_head <= read_head + 1;
        end else if (rready) begin
            // While valid is low, the payload must not be read, so it is noise.
            rvalid <= 0;
            rid <= noise[40 +: ID_BITS];
            rdata <= {BEAT_BYTES / 8 {noise}};
            rresp <= noise[1:0];
            rlast <= noise[3];
        end
        if (MIXED) begin
            // For the next cycle: without the knob the oldest burst, with it any one whose latency is over. All have
            // different identifiers, so every order is allowed.
            over = read_over;
            if (arvalid && arready) over[read_tail[5:0]] = 0;
            if (read_go && read_ends) over[read_slot] = 1;
            choosing = !read_chosen || (read_go && (read_ends || noise[55:48] < shuffle));
            if (choosing) read_chosen <= 0;
            span = read_tail - read_head;
            from = span == 0 || shuffle == 0 ? 0 : noise[38:32] % span;
            for (step = 0; step < span && choosing; step = step + 1) begin
                candidate = read_head + (from + step) % span;
                if (!over[candidate[5:0]] && cycle - read_time[candidate[5:0]] >= read_latency) begin
                    read_chosen <= 1;
                    read_choice <= candidate[5:0];
                    choosing = 0;
                end
            end
            oldest = read_head;
            while (oldest != read_tail && over[oldest[5:0]]) oldest = oldest + 1;
            read_head <= oldest;
            read_over <= over;
        end
        if (!aresetn) begin
            read_head <= 0;
            read_tail <= 0;
            read_chosen <= 0;
            read_credit <= FULL;
            rvalid <= 0;
        end
    end

    // Writes.
    reg [ADDRESS_BITS-1:0] write_address [0:SLOTS-1];
    reg [7:0] write_length [0:SLOTS-1];
    reg [ID_BITS-1:0] write_id [0:SLOTS-1];
    reg [6:0] write_head, write_tail;
    reg [7:0] write_beat;
    reg [17:0] write_credit;
    reg [1:0] write_worst;
    reg data_waits;
    wire [5:0] write_slot = write_head[5:0];
    wire [63:0] write_at = ((64'd0 | write_address[write_slot]) >> BEAT_BITS << BEAT_BITS) + write_beat * BEAT_BYTES;
    wire write_outside = outside(write_at);
    wire write_failing = fail[3] && failing(write_at);
    wire [1:0] write_resp = write_outside ? DECERR : write_failing ? fail[1:0] : write_worst;
    wire write_go = wvalid && wready;
    wire write_ends = write_beat == write_length[write_slot];
    wire [63:0] write_saved = write_credit + bandwidth - (write_go ? FULL : 0);
    wire [63:0] write_offset = (write_at - base) >> BEAT_BITS;
    assign write_index = write_offset[31:0];
    assign write_enable = write_go && !write_outside && !write_failing;
    assign write_strobe = wstrb;
    reg [6:0] answer_head, answer_tail;
    assign awready = aresetn && !pause_aw && !silent[2] && write_tail - answer_head != SLOTS
                     && (data_waits || !address_after_data);
    assign wready = aresetn && !pause_w && !silent[3] && write_head != write_tail && write_credit >= FULL;

    reg [1:0] answer_resp [0:SLOTS-1];
    reg [ID_BITS-1:0] answer_id [0:SLOTS-1];
    reg [63:0] answer_time [0:SLOTS-1];
    wire [5:0] answer_slot = answer_head[5:0];
    wire answer_go = (!bvalid || bready) && answer_head != answer_tail && !pause_b && !silent[4]
                     && cycle - answer_time[answer_slot] >= write_latency;

    always @(posedge aclk) begin
        data_waits <= wvalid && !wready;
        if (awvalid && awready) begin
            write_address[write_tail[5:0]] <= awaddr;
            write_length[write_tail[5:0]] <= awlen;
            write_id[write_tail[5:0]] <= awid;
            write_tail <= write_tail + 1;
        end
        write_credit <= write_saved > 2 * FULL ? 2 * FULL : write_saved;
        if (write_go) begin
            write_beat <= write_beat + 1;
            write_worst <= write_resp;
            if (write_ends) begin
                write_beat <= 0;
                write_worst <= OKAY;
                write_head <= write_head + 1;
                answer_resp[answer_tail[5:0]] <= write_resp;
                answer_id[answer_tail[5:0]] <= write_id[write_slot];
                answer_time[answer_tail[5:0]] <= cycle;
                answer_tail <= answer_tail + 1;
            end
        end
        if (answer_go) begin
            bvalid <= 1;
            bid <= answer_id[answer_slot];
            bresp <= answer_resp[answer_slot];
            answer_head <= answer_head + 1;
        end else if (bready) begin
            bvalid <= 0;
            bid <= noise[40 +: ID_BITS];
            bresp <= noise[5:4];
        end
        if (!aresetn) begin
            write_head <= 0;
            write_tail <= 0;
            write_beat <= 0;
            write_credit <= FULL;
            write_worst <= OKAY;
            answer_head <= 0;
            answer_tail <= 0;
            bvalid <= 0;
        end
    end

    // Rules that the master must keep.
    wire [63:0] ar_first = 64'd0 | araddr, ar_last = ((ar_first >> BEAT_BITS) + arlen << BEAT_BITS) + BEAT_BYTES - 1;
    wire [63:0] aw_first = 64'd0 | awaddr, aw_last = ((aw_first >> BEAT_BITS) + awlen << BEAT_BITS) + BEAT_BYTES - 1;
    reg [RULES-1:0] broken, now;
    integer place;
    // Bursts that the master has outstanding, before this cycle.
    reg [6:0] unread, unanswered;
    reg [(1<<ID_BITS)-1:0] named;       // identifiers of the reads among them
    always @(posedge aclk) begin
        if (rvalid && rready && rlast) named[rid] <= 0;
        if (arvalid && arready) named[arid] <= 1;
        unread <= unread + (arvalid && arready) - (rvalid && rready && rlast);
        unanswered <= unanswered + (awvalid && awready) - (bvalid && bready);
        if (!aresetn) begin
            unread <= 0;
            named <= 0;
            unanswered <= 0;
        end
    end
    reg data_due;                       // an address was taken two cycles ago or earlier, and its data are still to come
    always @(posedge aclk) data_due <= aresetn && write_head != write_tail && !(write_go && write_ends);
    reg ar_waited, aw_waited, w_waited, was_reset;
    reg alive;                          // set by a reset of two cycles or more: nothing is checked before it
    reg [ADDRESS_BITS+ATTRIBUTE_BITS+ID_BITS+12:0] ar_before, aw_before;
    reg [9*BEAT_BYTES:0] w_before;
    wire [ADDRESS_BITS+ATTRIBUTE_BITS+ID_BITS+12:0] ar_now = {arattributes, araddr, arid, arlen, arsize, arburst};
    wire [ADDRESS_BITS+ATTRIBUTE_BITS+ID_BITS+12:0] aw_now = {awattributes, awaddr, awid, awlen, awsize, awburst};
    wire [9*BEAT_BYTES:0] w_now = {wdata, wstrb, wlast};
    initial begin
        broken = 0;
        alive = 0;
        was_reset = 0;
    end

    function foreign;       // whether a burst touches a block of another port
        input [63:0] from;
        input [63:0] to;
        foreign = INTERLEAVE != 0 && (from / (INTERLEAVE + !INTERLEAVE) % PORTS != PORT
                                      || from / (INTERLEAVE + !INTERLEAVE) != to / (INTERLEAVE + !INTERLEAVE));
    endfunction

    always @(posedge aclk) begin
        now = 0;
        now[RULE_AR_HELD] = ar_waited && (!arvalid || ar_now !== ar_before);
        now[RULE_AW_HELD] = aw_waited && (!awvalid || aw_now !== aw_before);
        now[RULE_W_HELD] = w_waited && (!wvalid || w_now !== w_before);
        if (arvalid && arready) begin
            now[RULE_AR_SIZE] = arsize != BEAT_BITS || arburst != 1;
            now[RULE_AR_PAGE] = ar_first[63:12] != ar_last[63:12];
            now[RULE_AR_ALIGNED] = ar_first % BEAT_BYTES != 0;
            now[RULE_AR_OWN] = foreign(ar_first, ar_last);
            now[RULE_AR_LONG] = arlen >= MOST_BEATS;
            now[RULE_AR_OPEN] = unread >= MOST_READS;
            now[RULE_AR_ID] = MIXED && named[arid];
            now[RULE_AR_ATTRIBUTES] = arattributes != attributes;
            now[RULE_AR_WINDOW] = ar_first < window_first || ar_last > window_last;
        end
        if (awvalid && awready) begin
            now[RULE_AW_SIZE] = awsize != BEAT_BITS || awburst != 1;
            now[RULE_AW_PAGE] = aw_first[63:12] != aw_last[63:12];
            now[RULE_AW_ALIGNED] = aw_first % BEAT_BYTES != 0;
            now[RULE_AW_OWN] = foreign(aw_first, aw_last);
            now[RULE_AW_LONG] = awlen >= MOST_BEATS;
            now[RULE_AW_OPEN] = unanswered >= MOST_WRITES;
            now[RULE_AW_ATTRIBUTES] = awattributes != attributes;
            now[RULE_AW_WINDOW] = aw_first < window_first || aw_last > window_last;
        end
        // The first beat may come a cycle behind the address.
        now[RULE_W_WAITS] = SAFE_WRITES && write_head != write_tail && !wvalid && (write_beat != 0 || data_due);
        if (write_go) begin
            now[RULE_W_LAST] = wlast != write_ends;
            now[RULE_W_STROBES] = (wstrb & (wstrb + {{BEAT_BYTES-1{1'b0}}, 1'b1})) != 0;
        end
        now[RULE_KNOWN] = (^{arvalid, awvalid, wvalid, rready, bready}) === 1'bx
                          || (arvalid && (^ar_now) === 1'bx) || (awvalid && (^aw_now) === 1'bx)
                          || (wvalid && (^{wstrb, wlast}) === 1'bx);
        for (place = 0; place < BEAT_BYTES; place = place + 1)
            if (wvalid && wstrb[place] && (^wdata[8*place +: 8]) === 1'bx) now[RULE_KNOWN] = 1;
        // A synchronous reset is seen one clock edge later.
        if (!aresetn || was_reset || !alive) begin
            now = 0;
            now[RULE_RESET] = alive && was_reset && !aresetn && (arvalid || awvalid || wvalid);
        end
        was_reset <= !aresetn;
        // A simulator may run the first clock edge before the reset has reached the master.
        if (!aresetn && was_reset) alive <= 1;
        ar_waited <= aresetn && arvalid && !arready;
        aw_waited <= aresetn && awvalid && !awready;
        w_waited <= aresetn && wvalid && !wready;
        if (arvalid) ar_before <= ar_now;
        if (awvalid) aw_before <= aw_now;
        if (wvalid) w_before <= w_now;
        if (now & ~broken) $display("%s port %0d, cycle %0d: rules broken: %b", NAME, PORT, cycle, now);
        broken <= knob_write && $time != 0 && knob == KNOB_FORGIVE ? now : broken | now;
    end

    // Counters.
    reg [63:0] read_beats, write_beats, read_bursts, write_bursts, outsides;
    reg [63:0] first_read, last_read, first_write, last_write;
    reg [63:0] read_toggles, write_toggles, shuffled;
    reg [8*BEAT_BYTES-1:0] was_read, was_written, writes;
    integer lane;
    always @(posedge aclk) begin
        if (read_go && MIXED && read_slot != read_head[5:0]) shuffled <= shuffled + 1;
        if (arvalid && arready) begin
            read_bursts <= read_bursts + 1;
            if (outside(ar_first) || outside(ar_last)) outsides <= outsides + 1;
        end
        if (awvalid && awready) begin
            write_bursts <= write_bursts + 1;
            if (outside(aw_first) || outside(aw_last)) outsides <= outsides + 1;
        end
        if (rvalid && rready) begin
            read_beats <= read_beats + 1;
            if (read_beats == 0) first_read <= cycle;
            else read_toggles <= read_toggles + $countones(rdata ^ was_read);
            last_read <= cycle;
            was_read <= rdata;
        end
        if (write_go) begin
            write_beats <= write_beats + 1;
            for (lane = 0; lane < BEAT_BYTES; lane = lane + 1)
                writes[8*lane +: 8] = wstrb[lane] ? wdata[8*lane +: 8] : was_written[8*lane +: 8];
            if (write_beats == 0) first_write <= cycle;
            else write_toggles <= write_toggles + $countones(writes ^ was_written);
            last_write <= cycle;
            was_written <= writes;
        end
        if (!aresetn || (knob_write && $time != 0 && knob == KNOB_CLEAR)) begin
            read_beats <= 0;
            write_beats <= 0;
            read_bursts <= 0;
            write_bursts <= 0;
            outsides <= 0;
            shuffled <= 0;
            first_read <= 0;
            last_read <= 0;
            first_write <= 0;
            last_write <= 0;
            read_toggles <= 0;
            write_toggles <= 0;
            was_written <= 0;
        end
    end
`ifdef CDMA_COVER
    // Bins of the coverage plan, feature__bin: see verif/coverage/plan_memory.py.
    localparam PAGE_BEATS = 4096 / BEAT_BYTES;
    localparam BLOCK_BEATS = INTERLEAVE == 0 || INTERLEAVE >= 4096 ? PAGE_BEATS : INTERLEAVE / BEAT_BYTES;
    localparam LONGEST = MOST_BEATS < BLOCK_BEATS ? MOST_BEATS : BLOCK_BEATS;
    reg begins, ran;                    // the next beat that is read is the first of a burst; no reset a cycle ago
    wire ar_go = arvalid && arready, aw_go = awvalid && awready, r_go = rvalid && rready, b_go = bvalid && bready;
    wire r_bad = r_go && rresp[1] && !MIXED, b_bad = b_go && bresp[1];
    wire [11:0] ar_page = ar_first[11:0], ar_end = ar_last[11:0], aw_page = aw_first[11:0], aw_end = aw_last[11:0];
    initial ran = 0;
    always @(posedge aclk) begin
        ran <= aresetn && alive;
        begins <= !aresetn || (r_go ? rlast : begins);
        burst__read_single: cover (aresetn && ar_go && arlen == 0);
        burst__read_longest: cover (aresetn && ar_go && arlen == LONGEST - 1);
        burst__read_other: cover (aresetn && ar_go && arlen != 0 && arlen != LONGEST - 1);
        burst__read_starts_4k: cover (aresetn && ar_go && ar_page == 0);
        burst__read_ends_4k: cover (aresetn && ar_go && ar_end == 4095);
        burst__read_inside_4k: cover (aresetn && ar_go && ar_page != 0 && ar_end != 4095);
        burst__write_single: cover (aresetn && aw_go && awlen == 0);
        burst__write_longest: cover (aresetn && aw_go && awlen == LONGEST - 1);
        burst__write_other: cover (aresetn && aw_go && awlen != 0 && awlen != LONGEST - 1);
        burst__write_starts_4k: cover (aresetn && aw_go && aw_page == 0);
        burst__write_ends_4k: cover (aresetn && aw_go && aw_end == 4095);
        burst__write_inside_4k: cover (aresetn && aw_go && aw_page != 0 && aw_end != 4095);
        strobe__all: cover (aresetn && write_go && &wstrb);
        strobe__tail: cover (aresetn && write_go && !(&wstrb));
        channel__ar_flows: cover (aresetn && ar_go && !ar_waited);
        channel__ar_waits: cover (aresetn && arvalid && !arready);
        channel__r_flows: cover (aresetn && r_go);
        channel__r_waits: cover (aresetn && rvalid && !rready);
        channel__aw_flows: cover (aresetn && aw_go && !aw_waited);
        channel__aw_waits: cover (aresetn && awvalid && !awready);
        channel__w_flows: cover (aresetn && write_go && !w_waited);
        channel__w_waits: cover (aresetn && wvalid && !wready);
        channel__b_flows: cover (aresetn && b_go);
        channel__b_waits: cover (aresetn && bvalid && !bready);
        open__reads_one: cover (aresetn && unread == 1);
        open__reads_some: cover (aresetn && unread > 1);
        open__reads_most: cover (aresetn && unread == MOST_READS);
        open__writes_one: cover (aresetn && unanswered == 1);
        open__writes_some: cover (aresetn && unanswered > 1);
        open__writes_most: cover (aresetn && unanswered == MOST_WRITES);
        answer__read_error_first: cover (aresetn && r_bad && begins && !rlast);
        answer__read_error_inner: cover (aresetn && r_bad && !begins && !rlast);
        answer__read_error_last: cover (aresetn && r_bad && !begins && rlast);
        answer__read_slverr: cover (aresetn && r_bad && !rresp[0]);
        answer__read_decerr: cover (aresetn && r_bad && rresp[0]);
        answer__write_error: cover (aresetn && b_bad);
        answer__write_slverr: cover (aresetn && b_bad && !bresp[0]);
        answer__write_decerr: cover (aresetn && b_bad && bresp[0]);
        port_reset__reads_open: cover (ran && !aresetn && unread != 0);
        port_reset__writes_open: cover (ran && !aresetn && unanswered != 0);
        port_reset__idle: cover (ran && !aresetn && unread == 0 && unanswered == 0);
        both_ways__beats: cover (aresetn && r_go && write_go);
        read_order__in_order: cover (MIXED && read_go && read_slot == read_head[5:0]);
        read_order__before_an_older_one: cover (MIXED && read_go && read_slot != read_head[5:0]);
    end
`endif
    wire [6:0] open_reads = read_tail - read_head + rvalid, open_writes = write_tail - answer_head + bvalid;
    always @* begin
        case (knob)
            COUNT_READ_BEATS: knob_read = read_beats;
            COUNT_WRITE_BEATS: knob_read = write_beats;
            COUNT_READ_BURSTS: knob_read = read_bursts;
            COUNT_WRITE_BURSTS: knob_read = write_bursts;
            COUNT_FIRST_READ: knob_read = first_read;
            COUNT_LAST_READ: knob_read = last_read;
            COUNT_FIRST_WRITE: knob_read = first_write;
            COUNT_LAST_WRITE: knob_read = last_write;
            COUNT_OUTSIDE: knob_read = outsides;
            COUNT_OPEN: knob_read = open_reads + open_writes;
            COUNT_CYCLE: knob_read = cycle;
            COUNT_BROKEN: knob_read = broken;
            COUNT_READ_TOGGLES: knob_read = read_toggles;
            COUNT_WRITE_TOGGLES: knob_read = write_toggles;
            COUNT_SHUFFLED: knob_read = shuffled;
            default: knob_read = 0;
        endcase
    end
endmodule

`default_nettype wire
