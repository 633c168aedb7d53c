// First transfers through the engine: its Verilog, compiled by Verilator, between two memories that answer at random
// rates, driven by cdma_driver.h through AXI4-Lite. Every byte of both memories is compared, every result checked.
//
//     make            a seed by chance, which is printed
//     make SEED=7     the same run again
//
// engine.h is generated: the ports of this engine, and what it must make of tensor.bin (activations of a trained
// network), from the model that the engine is verified against. All else is the same for every engine, and yours to
// take: replace the tensor, add your descriptors, or put your interconnect in between.

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
static unsigned pulses;            // cycles in which irq_pulse was high

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
            if (&clock == &clocks[0]) {
                pulses += IRQ_PULSE(top);
                return;
            }
        }
    }
}

// A write or a read by AXI4-Lite; the address of a write and its data come a few cycles apart, in either order.
static uint32_t access(bool write, uint32_t offset, uint32_t value)
{
    uint64_t address_at = below(3), data_at = below(3);
    bool address = false, data = !write, answer = false;
    auto &valid = write ? top->s_axil_awvalid : top->s_axil_arvalid;
    top->s_axil_awaddr = top->s_axil_araddr = offset;
    top->s_axil_wdata = value;
    for (unsigned n = 0; !answer; n++) {
        valid = !address && n >= address_at;
        top->s_axil_wvalid = !data && n >= data_at;
        top->eval();
        address |= valid && (write ? top->s_axil_awready : top->s_axil_arready);
        data |= top->s_axil_wvalid && top->s_axil_wready;
        answer = write ? top->s_axil_bvalid : top->s_axil_rvalid;
        value = top->s_axil_rdata;
        if (n > 10000 || (answer && (write ? top->s_axil_bresp : top->s_axil_rresp)))
            fail("an access to register 0x%x is not answered with OKAY", offset);
        cycle();
    }
    return value;
}

static void write_register(void *, uint32_t offset, uint32_t value) { access(true, offset, value); }

static uint32_t read_register(void *, uint32_t offset) { return access(false, offset, 0); }

// ---- The transfers --------------------------------------------------------------------------------------------------

static const unsigned OFFLOAD = CDMA_OPERATION_OFFLOAD, PREFETCH = CDMA_OPERATION_PREFETCH;
static const uint64_t CAPACITY = RAW_BYTES + (RAW_BYTES / BLOCK_BYTES + 1) * 4;   // holds any stream of the tensor
static const uint64_t PAGES = (CAPACITY + 4095) / 4096;

// Link memory begins with what processor and engine share: rings of descriptors and of completions, and a page list.
static const uint64_t RINGS = 0, RECORDS = 2048, PAGE_LIST = 4096, SHARED = 8192;

// What a prefetch gives back, and the stream that it comes from and an offload of tensor.bin makes.
struct Sample {
    Bytes back, stream;
    unsigned coding, flags;
    uint64_t nonzero, raw_blocks;
    uint32_t crc;
};

static std::vector<Sample> samples;               // the tensor; then, where it is built, the tensor rounded to bfloat16
static struct cdma engine;
static Memory *device, *host;
static uint64_t source, target, stream, stored;   // where the tensor is and comes back to, where its stream goes and is

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

// New places for everything; only the tensor, and at `stored` its stream, are there.
static void begin(const Sample &sample)
{
    device->fill();
    host->fill();
    source = device->area(RAW_BYTES, BLOCK_BYTES);
    target = device->area(RAW_BYTES, BLOCK_BYTES);
    stream = host->area(CAPACITY, LINK_BEAT_BYTES);
    stored = host->area(sample.stream.size(), LINK_BEAT_BYTES);
    device->load(source, samples[0].back);
    host->load(stored, sample.stream);
}

static void compare(const char *what)
{
    host->compare(what);
    device->compare(what);
}

static volatile uint32_t *words(uint64_t offset) { return (volatile uint32_t *)&host->bytes[offset]; }

// The processor sleeps until the interrupt, until all these events have come.
static void wait_for(uint32_t events)
{
    for (uint32_t seen = 0; seen != events; seen |= cdma_take_events(&engine))
        for (unsigned n = 0; !top->irq; cycle())
            if (++n == 1000000)
                fail("the interrupt does not come");
}

// An offload and a prefetch. Through registers they come one after the other, and the processor polls; through rings
// they are both at work, and the processor sleeps. With CDMA_PAGE_LIST the stream is in pages, in any order.
static void transfer(const char *what, const Sample &sample, bool rings = false, unsigned flags = 0)
{
    begin(sample);
    uint64_t place = stream, part = CAPACITY;
    std::vector<uint64_t> parts(1, stream);
    if (flags & CDMA_PAGE_LIST) {
        place = host->base + PAGE_LIST;
        part = 4096;
        parts.resize(PAGES);
        for (uint64_t &page : parts)
            page = host->area(part, part);
        std::shuffle(parts.begin(), parts.end(), random_bits);
        std::memcpy(host->at(place), parts.data(), 8 * PAGES);
    }
    uint32_t pages = flags & CDMA_PAGE_LIST ? PAGES : 0;
    unsigned page_size = pages ? 12 : 0;
    flags |= sample.flags | (rings ? CDMA_INTERRUPT : 0);
    struct cdma_descriptor given[] = {
        {OFFLOAD, sample.coding, flags, 1, source, place, RAW_BYTES, CAPACITY, 0, 0, pages, page_size},
        {PREFETCH, sample.coding, flags | (engine.crc ? CDMA_CHECK_CRC : 0), 2, rings ? stored : place, target, RAW_BYTES,
         RAW_BYTES, sample.stream.size(), engine.crc ? sample.crc : 0, pages, page_size}};
    struct cdma_result results[2];
    struct cdma_ring ring[2];
    for (unsigned n = 0; n < 2; n++) {
        uint64_t offset = RINGS + 1024 * n;
        if (rings) {
            must_be(what, cdma_ring_init(&ring[n], &engine, given[n].operation, words(offset), host->base + offset, 8));
            must_be(what, cdma_ring_submit(&ring[n], &given[n]));
        } else {
            must_be(what, cdma_submit(&engine, &given[n]));
            must_be(what, cdma_wait(&engine, given[n].operation, &results[n]));
        }
    }
    if (rings) {
        wait_for(CDMA_REG_IRQ_STATUS_OFFLOAD_COMPLETION_MASK | CDMA_REG_IRQ_STATUS_PREFETCH_COMPLETION_MASK);
        for (unsigned n = 0; n < 2; n++)
            must_be(what, cdma_poll(&engine, given[n].operation, &results[n]));
    }
    const struct cdma_result &out = results[0], &back = results[1];
    must_equal("bytes of the stream", out.bytes, sample.stream.size());
    must_equal("elements that are not zero", out.nonzero, sample.nonzero);
    must_equal("blocks that were left raw", out.raw_blocks, sample.raw_blocks);
    must_equal("CRC of the stream", out.crc, engine.crc ? sample.crc : 0);
    must_equal("pages in use", out.pages, pages ? (out.bytes + part - 1) / part : 0);
    must_equal("bytes of the tensor", back.bytes, RAW_BYTES);
    for (unsigned n = 0; n < 2; n++) {
        struct cdma_counters counted;
        must_equal("tag", results[n].tag, n + 1);
        must_be("counters", cdma_take_counters(&engine, given[n].operation, &counted));
        must_equal("counter of raw bytes", counted.raw_bytes, RAW_BYTES);
        must_equal("counter of packed bytes", counted.packed_bytes, sample.stream.size());
    }
    for (uint64_t at = 0; at < sample.stream.size(); at += part)
        host->expect(parts[at / part], &sample.stream[at], std::min<uint64_t>(part, sample.stream.size() - at));
    device->expect(target, sample.back.data(), RAW_BYTES);
    compare(what);
    std::printf("%-10s %u -> %llu -> %u bytes, offload %llu and prefetch %llu cycles\n", what, RAW_BYTES,
                (unsigned long long)out.bytes, RAW_BYTES, (unsigned long long)out.cycles, (unsigned long long)back.cycles);
}

// A transfer by one call, which must end with this status; its destination may hold anything then, all around it must be
// as it was.
static struct cdma_result failing(const char *what, bool offload, int status)
{
    const Sample &sample = samples[0];
    struct cdma_result result;
    must_be(what, offload ? cdma_offload(&engine, source, stream, RAW_BYTES, CAPACITY, sample.coding, &result)
                          : cdma_prefetch(&engine, stored, target, sample.stream.size(), RAW_BYTES, sample.coding,
                                          sample.crc, &result), status);
    Memory &written = offload ? *host : *device;
    uint64_t to = offload ? stream : target;
    written.expect(to, written.at(to), offload ? CAPACITY : RAW_BYTES);
    compare(what);
    std::printf("%-10s %s\n", what, cdma_error_text(status));
    return result;
}

// An access that a memory answers with SLVERR: the status says which, where and at which lane.
static void fault(unsigned kind)
{
    static const int statuses[] = {CDMA_STATUS_LANE_READ_ERROR, CDMA_STATUS_LINK_WRITE_ERROR,
                                   CDMA_STATUS_LINK_READ_ERROR, CDMA_STATUS_LANE_WRITE_ERROR};
    begin(samples[0]);
    Memory &memory = kind == 0 || kind == 3 ? *device : *host;
    uint64_t from[] = {source, stream, stored, target};
    memory.faulty = true;
    memory.faulty_writes = kind & 1;
    memory.fault = from[kind] + below(&memory == device ? RAW_BYTES : samples[0].stream.size());
    struct cdma_result result = failing("fault", kind < 2, statuses[kind]);
    memory.faulty = false;
    must_equal("response of the fault", result.resp, 2);
    must_equal("address of the fault", result.place, memory.at_fault);
    must_equal("lane of the fault", result.lane, &memory == device ? memory.fault / BLOCK_BYTES % LANES : 0);
    cdma_take_events(&engine);
}

// With buffer_parity: a bit changes in a memory of a lane, and the offload says so.
static void parity()
{
    uint32_t errors;
    begin(samples[0]);
    unsigned lane = source / BLOCK_BYTES % LANES;
    must_be("parity", cdma_inject_buffer_error(&engine, lane, CDMA_MEMORY_RAW_BEATS));
    must_equal("lane of the error", failing("parity", true, CDMA_STATUS_BUFFER_PARITY).lane, lane);
    must_be("parity", cdma_buffer_errors(&engine, OFFLOAD, &errors));
    must_equal("errors of parity", errors, 1);
    cdma_take_events(&engine);
}

// With attribute_registers: the memories see what was chosen.
static void attributes()
{
    for (Memory *memory : {device, host})
        memory->attributes = {2 + 4 * (unsigned)below(4), (unsigned)below(8), (unsigned)below(16),
                              (unsigned)below(1 << USER_BITS)};
    must_be("attributes", cdma_set_lane_attributes(&engine, &device->attributes));
    must_be("attributes", cdma_set_link_attributes(&engine, &host->attributes));
}

// With address_windows: the engine reaches these two memories and no others, until its next reset.
static void windows()
{
    struct cdma_window inside = {device->base, device->end}, link = {host->base, host->end};
    must_be("windows", cdma_set_windows(&engine, &inside, &link));
    must_be("windows", cdma_lock_windows(&engine));
    must_be("windows", cdma_set_windows(&engine, &link, &inside), CDMA_E_LOCKED);
    begin(samples[0]);
    source = device->end;
    failing("windows", true, CDMA_STATUS_SOURCE_OUTSIDE_WINDOW);
}

static Bytes file(const char *name)
{
    std::ifstream in(name, std::ios::binary);
    if (!in)
        fail("there is no file %s: run it in its folder", name);
    return Bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? (unsigned)std::strtoul(argv[1], nullptr, 0) : std::random_device()() % 1000000;
    std::printf("%s: make SEED=%u\n", ENGINE, seed);
    random_bits.seed(seed);
    Verilated::randReset(2);     // registers without a reset start at random
    Verilated::randSeed(seed % 0x7fffffff + 1);
    top = new Vengine;
#define SAMPLE(back, stream, ...) samples.push_back(Sample{file(back), file(stream), __VA_ARGS__});
    EACH_SAMPLE(SAMPLE)

    Memory device_memory("device", LANE_ATTRIBUTES, 0, 2 * RAW_BYTES + 10 * BLOCK_BYTES);
    Memory host_memory("link", LINK_ATTRIBUTES, SHARED, 2 * CAPACITY + 10 * LINK_BEAT_BYTES + 5 * 4096 * (PAGES + 1));
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
    top->s_axil_awvalid = top->s_axil_wvalid = top->s_axil_arvalid = top->s_axil_awprot = top->s_axil_arprot = 0;
    top->s_axil_bready = top->s_axil_rready = 1;
    top->s_axil_wstrb = 15;
    for (int released = 0; released < 2; released++) {
        for (Clock &clock : clocks)
            clock.reset.set(released);
        for (unsigned n = 0; n < 16; n++)
            cycle();
    }

    must_be("init", cdma_init(&engine, nullptr, write_register, read_register));
    engine.polls = 1000000;
    must_be("interrupts", cdma_enable_interrupts(&engine, CDMA_REG_IRQ_ENABLE_OFFLOAD_COMPLETION_MASK
                                                              | CDMA_REG_IRQ_ENABLE_PREFETCH_COMPLETION_MASK));
    if (engine.attribute_registers)
        attributes();
    if (engine.address_windows)
        windows();
    transfer("polling", samples[0]);
    for (unsigned kind = 0; kind < 4; kind++)
        fault(kind);
    transfer("rings", samples[0], true);
    if (engine.narrowing)
        transfer("narrowing", samples[1]);
    if (engine.page_lists)
        transfer("pages", samples[0], false, CDMA_PAGE_LIST);
    if (engine.buffer_parity)
        parity();
    if (engine.write_back) {
        struct cdma_write_back records[2];
        for (unsigned operation : {OFFLOAD, PREFETCH}) {
            uint64_t offset = RECORDS + 1024 * (operation == PREFETCH);
            must_be("write-back", cdma_write_back_init(&records[operation == PREFETCH], &engine, operation,
                                                       words(offset), host->base + offset, 8));
        }
        pulses = 0;
        transfer("write-back", samples[0], true);
        if (pulses < 2)   // and one more, where the second event came while the first was taken
            fail("irq_pulse was high in %u cycles, not in one for each event", pulses);
    }
    top->final();
    delete top;
    std::printf("PASS\n");
    return 0;
}
