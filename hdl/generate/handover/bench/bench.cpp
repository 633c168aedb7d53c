// First transfers through the engine: its Verilog, compiled by Verilator, between two memories that answer at random
// rates, driven by cdma_driver.h through AXI4-Lite. Every byte of both memories is compared, every result checked.
//
//     make            a seed by chance, which is printed
//     make SEED=7     the same run again
//
// engine.h is generated: the ports of this engine, and what is known of tensor.bin (activations of a trained network)
// and of stream.bin (its block stream, from the model that the engine is verified against). All else is the same for
// every engine, and yours to take: replace the tensor, add your descriptors, or put your interconnect in between.

#include <fstream>
#include <iterator>
#include <memory>

#include "Vengine.h"
#include "verilated.h"

#include "axi.h"

static Vengine *top;

// ---- Clocks, and the registers through AXI4-Lite --------------------------------------------------------------------

struct Clock {
    Pin pin, reset;
    uint64_t half, next;         // picoseconds of half a period; when it changes next
    std::vector<Port *> ports;
};

static std::vector<Clock> clocks;  // aclk, and with LINK_CLOCK that of the link

// One cycle of aclk, up to just after its rising edge.
static void cycle()
{
    for (;;) {
        Clock &clock = clocks.size() > 1 && clocks[1].next < clocks[0].next ? clocks[1] : clocks[0];
        bool rises = !clock.pin;
        clock.next += clock.half;
        if (rises && clock.reset)
            for (Port *port : clock.ports)
                port->sample();
        clock.pin.set(rises);
        top->eval();
        if (rises) {
            for (Port *port : clock.ports)
                port->drive();
            top->eval();
            if (&clock == &clocks[0])
                return;
        }
    }
}

// Address and data come a few cycles apart, in either order.
static void write_register(void *, uint32_t offset, uint32_t value)
{
    uint64_t address_at = below(3), data_at = below(3);
    bool address = false, data = false, answer = false;
    top->s_axil_awaddr = offset;
    top->s_axil_awprot = 0;
    top->s_axil_wdata = value;
    top->s_axil_wstrb = 15;
    top->s_axil_bready = 1;
    for (unsigned n = 0; !answer; n++) {
        top->s_axil_awvalid = !address && n >= address_at;
        top->s_axil_wvalid = !data && n >= data_at;
        top->eval();
        address |= top->s_axil_awvalid && top->s_axil_awready;
        data |= top->s_axil_wvalid && top->s_axil_wready;
        answer = top->s_axil_bvalid;
        if (n > 10000 || (answer && top->s_axil_bresp))
            fail("the write of register 0x%x is not answered with OKAY", offset);
        cycle();
    }
    top->s_axil_bready = 0;
}

static uint32_t read_register(void *, uint32_t offset)
{
    bool address = false, answer = false;
    uint32_t value = 0;
    top->s_axil_araddr = offset;
    top->s_axil_arprot = 0;
    top->s_axil_rready = 1;
    for (unsigned n = 0; !answer; n++) {
        top->s_axil_arvalid = !address;
        top->eval();
        address |= top->s_axil_arvalid && top->s_axil_arready;
        answer = top->s_axil_rvalid;
        value = top->s_axil_rdata;
        if (n > 10000 || (answer && top->s_axil_rresp))
            fail("the read of register 0x%x is not answered with OKAY", offset);
        cycle();
    }
    top->s_axil_arvalid = 0;
    top->s_axil_rready = 0;
    return value;
}

// ---- The transfers --------------------------------------------------------------------------------------------------

static const unsigned OFFLOAD = CDMA_OPERATION_OFFLOAD, PREFETCH = CDMA_OPERATION_PREFETCH;
static const uint64_t CAPACITY = RAW_BYTES + (RAW_BYTES / BLOCK_BYTES + 1) * 4;   // holds any stream of the tensor
static const uint64_t RINGS = 8192;          // of link memory: rings of descriptors and of completions, and a page list
static const uint64_t PAGES = (CAPACITY + 4095) / 4096;

static Bytes tensor, packed;
static struct cdma engine;
static Memory *device, *host;
static uint64_t source, target, stream, stored;   // where the tensor is and comes back to, where its stream goes and is

// New places for everything; only the tensor, and at `stored` its stream, are there.
static void begin_round()
{
    device->begin_round();
    host->begin_round();
    source = device->area(RAW_BYTES, BLOCK_BYTES);
    target = device->area(RAW_BYTES, BLOCK_BYTES);
    stream = host->area(CAPACITY, LINK_BEAT_BYTES);
    stored = host->area(PACKED_BYTES, LINK_BEAT_BYTES);
    device->load(source, tensor);
    host->load(stored, packed);
}

static void must_be(const char *what, int error, int wanted = 0)
{
    if (error != wanted)
        fail("%s: %d (%s), not %d", what, error, cdma_error_text(error), wanted);
}

static void must_equal(const char *what, uint64_t found, uint64_t wanted)
{
    if (found != wanted)
        fail("%s is %llu, not %llu", what, (unsigned long long)found, (unsigned long long)wanted);
}

static void check_offload(const struct cdma_result &result)
{
    must_equal("bytes of the stream", result.bytes, PACKED_BYTES);
    must_equal("elements that are not zero", result.nonzero, NONZERO);
    must_equal("blocks that were left raw", result.raw_blocks, RAW_BLOCKS);
    must_equal("CRC of the stream", result.crc, engine.crc ? STREAM_CRC : 0);
}

// One after the other, both as they should be.
static void transfer(const char *what)
{
    struct cdma_result out, back;
    begin_round();
    must_be(what, cdma_offload(&engine, source, stream, RAW_BYTES, CAPACITY, CODING, &out));
    check_offload(out);
    host->expect(stream, packed.data(), packed.size());
    must_be(what, cdma_prefetch(&engine, stream, target, PACKED_BYTES, RAW_BYTES, CODING, out.crc, &back));
    must_equal("bytes of the tensor", back.bytes, RAW_BYTES);
    device->expect(target, tensor.data(), tensor.size());
    host->compare(what);
    device->compare(what);
    std::printf("%-10s %u -> %u -> %u bytes, offload %llu and prefetch %llu cycles\n", what, RAW_BYTES, PACKED_BYTES,
                RAW_BYTES, (unsigned long long)out.cycles, (unsigned long long)back.cycles);
}

static void check_counters()
{
    for (unsigned operation : {OFFLOAD, PREFETCH}) {
        struct cdma_counters counted;
        must_be("counters", cdma_take_counters(&engine, operation, &counted));
        must_equal("counter of raw bytes", counted.raw_bytes, RAW_BYTES);
        must_equal("counter of packed bytes", counted.packed_bytes, PACKED_BYTES);
    }
}

// An access that a memory answers with SLVERR: the status says which, where and at which lane.
static void fault()
{
    static const int statuses[] = {CDMA_STATUS_LANE_READ_ERROR, CDMA_STATUS_LINK_WRITE_ERROR,
                                   CDMA_STATUS_LINK_READ_ERROR, CDMA_STATUS_LANE_WRITE_ERROR};
    unsigned kind = below(4);
    bool offload = kind < 2;
    struct cdma_result result;
    begin_round();
    Memory &memory = kind == 0 || kind == 3 ? *device : *host;
    uint64_t from[] = {source, stream, stored, target};
    memory.faulty = true;
    memory.faulty_writes = kind & 1;
    memory.fault = from[kind] + below(&memory == device ? RAW_BYTES : PACKED_BYTES);
    must_be("fault", offload ? cdma_offload(&engine, source, stream, RAW_BYTES, CAPACITY, CODING, &result)
                             : cdma_prefetch(&engine, stored, target, PACKED_BYTES, RAW_BYTES, CODING, STREAM_CRC,
                                             &result), statuses[kind]);
    memory.faulty = false;
    must_equal("response of the fault", result.resp, 2);
    must_equal("address of the fault", result.place, memory.at_fault);
    must_equal("lane of the fault", result.lane, &memory == device ? memory.fault / BLOCK_BYTES % LANES : 0);
    // The destination may hold anything; all around it is as it was.
    Memory &written = offload ? *host : *device;
    uint64_t to = offload ? stream : target;
    written.expect(to, &written.bytes[to - written.base], offload ? CAPACITY : RAW_BYTES);
    host->compare("fault");
    device->compare("fault");
    std::printf("%-10s 0x%llx: %s\n", "fault", (unsigned long long)result.place, cdma_error_text(statuses[kind]));
}

// Descriptors in rings in memory, both directions at once; the processor sleeps until the interrupt.
static void rings_and_interrupt()
{
    static const uint32_t both =
        CDMA_REG_IRQ_ENABLE_OFFLOAD_COMPLETION_MASK | CDMA_REG_IRQ_ENABLE_PREFETCH_COMPLETION_MASK;
    struct cdma_ring rings[2];
    struct cdma_descriptor out = {OFFLOAD, CODING, CDMA_INTERRUPT, 1, 0, 0, RAW_BYTES, CAPACITY, 0, 0, 0, 0}, back =
        {PREFETCH, CODING, CDMA_INTERRUPT, 2, 0, 0, RAW_BYTES, RAW_BYTES, PACKED_BYTES, 0, 0, 0};
    struct cdma_result result;
    begin_round();
    out.source = source;
    out.destination = stream;
    back.source = stored;
    back.destination = target;
    must_be("ring", cdma_ring_init(&rings[0], &engine, OFFLOAD, host->words(0), host->base, 8));
    must_be("ring", cdma_ring_init(&rings[1], &engine, PREFETCH, host->words(1024), host->base + 1024, 8));
    cdma_take_events(&engine);   // those of the fault
    must_be("interrupt", cdma_enable_interrupts(&engine, both));
    must_be("ring", cdma_ring_submit(&rings[0], &out));
    must_be("ring", cdma_ring_submit(&rings[1], &back));
    for (uint32_t events = 0; events != both; events |= cdma_take_events(&engine))
        for (unsigned n = 0; !top->irq; cycle())
            if (++n == 1000000)
                fail("the interrupt does not come");
    must_be("ring", cdma_poll(&engine, OFFLOAD, &result));
    check_offload(result);
    must_equal("tag", result.tag, 1);
    must_be("ring", cdma_poll(&engine, PREFETCH, &result));
    must_equal("tag", result.tag, 2);
    host->expect(stream, packed.data(), packed.size());
    device->expect(target, tensor.data(), tensor.size());
    host->compare("ring");
    device->compare("ring");
    std::printf("%-10s both directions at once, with interrupts\n", "ring");
}

// With page_lists: the stream in pages of 4 KiB, whose order is by chance.
static void pages()
{
    struct cdma_pages list = {host->base + 4096, (uint32_t)PAGES, 12};
    struct cdma_result out, back;
    begin_round();
    std::vector<uint64_t> order(PAGES);
    for (uint64_t &page : order)
        page = host->area(4096, 4096);
    std::shuffle(order.begin(), order.end(), random_bits);
    std::memcpy(&host->bytes[4096], order.data(), 8 * PAGES);
    must_be("pages", cdma_offload_pages(&engine, source, &list, RAW_BYTES, CAPACITY, CODING, &out));
    check_offload(out);
    must_equal("pages in use", out.pages, (PACKED_BYTES + 4095) / 4096);
    for (size_t at = 0; at < packed.size(); at += 4096)
        host->expect(order[at / 4096], &packed[at], std::min<size_t>(4096, packed.size() - at));
    must_be("pages", cdma_prefetch_pages(&engine, &list, target, PACKED_BYTES, RAW_BYTES, CODING, out.crc, &back));
    device->expect(target, tensor.data(), tensor.size());
    host->compare("pages");
    device->compare("pages");
    std::printf("%-10s the stream in %u pages, there and back\n", "pages", out.pages);
}

// With buffer_parity: a bit changes in a memory of a lane, and the offload says so.
static void parity()
{
    struct cdma_result result;
    uint32_t errors;
    begin_round();
    unsigned lane = source / BLOCK_BYTES % LANES;
    must_be("parity", cdma_inject_buffer_error(&engine, lane, CDMA_MEMORY_RAW_BEATS));
    must_be("parity", cdma_offload(&engine, source, stream, RAW_BYTES, CAPACITY, CODING, &result),
            CDMA_STATUS_BUFFER_PARITY);
    must_equal("lane of the error", result.lane, lane);
    must_be("parity", cdma_buffer_errors(&engine, OFFLOAD, &errors));
    must_equal("errors of parity", errors, 1);
    std::printf("%-10s lane %u: %s\n", "parity", lane, cdma_error_text(CDMA_STATUS_BUFFER_PARITY));
}

static Bytes file(const char *name, size_t size)
{
    std::ifstream in(name, std::ios::binary);
    Bytes bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (bytes.size() != size)
        fail("%s has %zu bytes, not %zu", name, bytes.size(), size);
    return bytes;
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? (unsigned)std::strtoul(argv[1], nullptr, 0) : std::random_device()() % 1000000;
    std::printf("%s: make SEED=%u\n", ENGINE, seed);
    random_bits.seed(seed);
    Verilated::randReset(2);     // registers without a reset start at random
    Verilated::randSeed(seed % 0x7fffffff + 1);
    top = new Vengine;
    tensor = file("tensor.bin", RAW_BYTES);
    packed = file("stream.bin", PACKED_BYTES);

    Memory device_memory("device", 0, 2 * RAW_BYTES + 10 * BLOCK_BYTES);
    Memory host_memory("link", RINGS, 2 * CAPACITY + 10 * LINK_BEAT_BYTES + 5 * 4096 * (PAGES + 1));
    device = &device_memory;
    host = &host_memory;
    std::vector<std::unique_ptr<Port>> ports;
    clocks.push_back(Clock{PIN(aclk), PIN(aresetn), 500, 500, {}});
#define LANE(name) ports.emplace_back(new Port(#name, AXI_PINS(name), *device, BEAT_BYTES, (int)ports.size()));
    EACH_LANE(LANE)
    for (auto &port : ports)
        clocks[0].ports.push_back(port.get());
    ports.emplace_back(new Port("m_axi_link", AXI_PINS(m_axi_link), *host, LINK_BEAT_BYTES, -1));
#if LINK_CLOCK
    clocks.push_back(Clock{PIN(link_aclk), PIN(link_aresetn), 200 + below(1300), 500, {}});
#endif
    clocks.back().ports.push_back(ports.back().get());

    // Clocks run during the reset; every input has a value.
    top->s_axil_awvalid = top->s_axil_wvalid = top->s_axil_bready = top->s_axil_arvalid = top->s_axil_rready = 0;
    for (int released = 0; released < 2; released++) {
        for (Clock &clock : clocks) {
            clock.pin.set(released ? (uint64_t)clock.pin : 0);
            clock.reset.set(released);
        }
        for (unsigned n = 0; n < 16; n++)
            cycle();
    }

    must_be("init", cdma_init(&engine, nullptr, write_register, read_register));
    engine.polls = 1000000;
    transfer("polling");
    check_counters();
    fault();
    transfer("again");
    rings_and_interrupt();
    if (engine.page_lists)
        pages();
    if (engine.buffer_parity)
        parity();
    if (engine.write_back) {
        struct cdma_write_back records[2];
        must_be("write-back", cdma_write_back_init(&records[0], &engine, OFFLOAD, host->words(2048),
                                                   host->base + 2048, 8));
        must_be("write-back", cdma_write_back_init(&records[1], &engine, PREFETCH, host->words(3072),
                                                   host->base + 3072, 8));
        transfer("write-back");
    }
    top->final();
    delete top;
    std::printf("PASS\n");
    return 0;
}
