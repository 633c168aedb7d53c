// A memory behind AXI4 ports that answers at random rates, and refuses what a memory must not be asked.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "engine.h"

typedef std::vector<uint8_t> Bytes;

static unsigned seed;
static std::mt19937_64 random_bits;

static uint64_t below(uint64_t limit) { return random_bits() % limit; }

static void fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    std::printf("FAIL: ");
    std::vprintf(format, values);
    std::printf("\nmake SEED=%u repeats it\n", seed);
    std::fflush(stdout);
    std::_Exit(1);
}

// A pin of the model, whatever type Verilator has for its width: little-endian bytes, of which 8 are a number.
struct Pin {
    void *place;
    size_t size;

    operator uint64_t() const
    {
        uint64_t value = 0;
        std::memcpy(&value, place, std::min<size_t>(size, 8));
        return value;
    }
    void set(uint64_t value) const { std::memcpy(place, &value, std::min<size_t>(size, 8)); }
};

#define PIN(name) Pin{&top->name, sizeof top->name}

struct AxiPins {
    Pin arid, araddr, arlen, arsize, arburst, arvalid, arready, rid, rdata, rresp, rlast, rvalid, rready;
    Pin awid, awaddr, awlen, awsize, awburst, awvalid, awready, wdata, wstrb, wlast, wvalid, wready;
    Pin bid, bresp, bvalid, bready;
};

#define AXI_PINS(p)                                                                                                  \
    AxiPins{PIN(p##_arid), PIN(p##_araddr), PIN(p##_arlen), PIN(p##_arsize), PIN(p##_arburst), PIN(p##_arvalid),     \
            PIN(p##_arready), PIN(p##_rid), PIN(p##_rdata), PIN(p##_rresp), PIN(p##_rlast), PIN(p##_rvalid),         \
            PIN(p##_rready), PIN(p##_awid), PIN(p##_awaddr), PIN(p##_awlen), PIN(p##_awsize), PIN(p##_awburst),      \
            PIN(p##_awvalid), PIN(p##_awready), PIN(p##_wdata), PIN(p##_wstrb), PIN(p##_wlast), PIN(p##_wvalid),     \
            PIN(p##_wready), PIN(p##_bid), PIN(p##_bresp), PIN(p##_bvalid), PIN(p##_bready)}

// One of the two memories. Before each round it is noise; `expected` is what it must hold afterwards.
struct Memory {
    const char *name;
    uint64_t base, kept;         // address of its first byte; bytes at its beginning that are the processor's
    Bytes bytes, expected;
    uint64_t next;               // where the next area may begin
    bool faulty, faulty_writes;  // whether the beat at address `fault` is answered with SLVERR, and which accesses
    uint64_t fault, at_fault;    // the address; and that of the burst that met it

    Memory(const char *name, uint64_t kept, uint64_t size)
        : name(name), base(below(1ull << (ADDRESS_BITS - 24)) << 24), kept(kept), bytes(kept + size), faulty(false)
    {
    }

    void begin_round()
    {
        std::generate(bytes.begin() + kept, bytes.end(), [] { return (uint8_t)below(256); });
        expected = bytes;
        next = base + kept;
    }
    uint64_t area(uint64_t size, uint64_t alignment)
    {
        uint64_t address = ((next + alignment - 1) / alignment + below(4)) * alignment;
        next = address + size;
        if (next > base + bytes.size())
            fail("the bench's %s memory is too small", name);
        return address;
    }
    void load(uint64_t address, const Bytes &data)
    {
        std::copy(data.begin(), data.end(), bytes.begin() + (address - base));
        expect(address, data.data(), data.size());
    }
    void expect(uint64_t address, const uint8_t *data, size_t size)
    {
        std::copy(data, data + size, expected.begin() + (address - base));
    }
    void compare(const char *after) const
    {
        for (size_t at = kept; at < bytes.size(); at++)
            if (bytes[at] != expected[at])
                fail("%s: the byte at 0x%llx of %s memory is 0x%02x, not 0x%02x", after, (unsigned long long)(base + at),
                     name, bytes[at], expected[at]);
    }
    volatile uint32_t *words(uint64_t offset) { return reinterpret_cast<volatile uint32_t *>(&bytes[offset]); }
};

// What answers at one AXI port. Each channel pauses at a rate of its own, and each port has a latency of its own.
class Port {
public:
    Port(const char *name, const AxiPins &pins, Memory &memory, unsigned beat_bytes, int lane)
        : name(name), p(pins), memory(memory), beat_bytes(beat_bytes), lane(lane), latency(below(64))
    {
        for (unsigned &rate : rates)
            rate = below(2) ? 256 : 64 + below(192);
        p.rvalid.set(0);
        p.bvalid.set(0);
    }

    // Just before a rising edge: see what the edge hands over.
    void sample()
    {
        now++;
        if (p.arvalid && p.arready)
            reads.push_back(request(p.arid, p.araddr, p.arlen, p.arsize, p.arburst));
        if (p.awvalid && p.awready)
            writes.push_back(request(p.awid, p.awaddr, p.awlen, p.awsize, p.awburst));
        if (p.wvalid && p.wready) {
            const uint8_t *data = static_cast<const uint8_t *>(p.wdata.place);
            beats.push_back(Beat{Bytes(data, data + beat_bytes), p.wstrb, p.wlast != 0});
        }
        read_taken = p.rvalid && p.rready;
        answer_taken = p.bvalid && p.bready;
    }

    // Just after it: give the answers, and say what will be taken at the next edge.
    void drive()
    {
        // A beat may be taken while the address of its burst still waits: then it waits here.
        while (!writes.empty() && !beats.empty())
            write_beat();
        if (read_taken)
            p.rvalid.set(0);
        if (!p.rvalid && !reads.empty() && chance(0))
            read_beat();
        if (answer_taken)
            p.bvalid.set(0);
        if (!p.bvalid && !answers.empty() && answers.front().due <= now && chance(1)) {
            p.bid.set(answers.front().id);
            p.bresp.set(answers.front().response);
            p.bvalid.set(1);
            answers.pop_front();
        }
        p.arready.set(reads.size() < 16 && chance(2));
        p.awready.set(writes.size() < 16 && chance(3));
        p.wready.set(beats.size() < 16 && chance(4));
    }

private:
    struct Burst { uint64_t address; unsigned beats, id; uint64_t due; };
    struct Beat { Bytes data; uint64_t strobes; bool last; };
    struct Answer { unsigned id, response; uint64_t due; };

    bool chance(unsigned channel) const { return below(256) < rates[channel]; }

    Burst request(uint64_t id, uint64_t address, uint64_t length, uint64_t size, uint64_t burst) const
    {
        uint64_t bytes = (length + 1) * beat_bytes, last = address + bytes - 1;
        if (burst != 1 || 1u << size != beat_bytes || address % beat_bytes || address >> 12 != last >> 12)
            fail("%s: a burst is none of whole beats within 4 KiB: address 0x%llx, %llu bytes", name,
                 (unsigned long long)address, (unsigned long long)bytes);
        if (address < memory.base || last >= memory.base + memory.bytes.size())
            fail("%s: access outside of the memory, at 0x%llx", name, (unsigned long long)address);
        if (lane >= 0 && (address / BLOCK_BYTES % LANES != (unsigned)lane || last / BLOCK_BYTES % LANES != (unsigned)lane))
            fail("%s: access to a block of another lane, at 0x%llx", name, (unsigned long long)address);
        return Burst{address, (unsigned)length + 1, (unsigned)id, now + latency + below(8)};
    }

    bool meets_fault(const Burst &burst, uint64_t from, uint64_t bytes, bool write) const
    {
        if (!memory.faulty || memory.faulty_writes != write || memory.fault - from >= bytes)
            return false;
        memory.at_fault = burst.address;
        return true;
    }

    void read_beat()
    {
        if (!read_beats) {
            // Reads with different identifiers are answered in any order, those with the same in theirs.
            unsigned id = reads[below(reads.size())].id;
            auto first = std::find_if(reads.begin(), reads.end(), [id](const Burst &burst) { return burst.id == id; });
            std::rotate(reads.begin(), first, first + 1);
            if (reads.front().due > now)
                return;
        }
        const Burst &burst = reads.front();
        uint64_t address = burst.address + read_beats * beat_bytes;
        std::memcpy(p.rdata.place, &memory.bytes[address - memory.base], beat_bytes);
        p.rid.set(burst.id);
        p.rresp.set(meets_fault(burst, address, beat_bytes, false) ? 2 : 0);
        p.rlast.set(++read_beats == burst.beats);
        p.rvalid.set(1);
        if (read_beats == burst.beats) {
            reads.pop_front();
            read_beats = 0;
        }
    }

    void write_beat()
    {
        const Burst &burst = writes.front();
        const Beat &beat = beats.front();
        uint64_t at = burst.address + write_beats * beat_bytes - memory.base;
        if (beat.last != (++write_beats == burst.beats))
            fail("%s: wlast is at the wrong beat of the burst at 0x%llx", name, (unsigned long long)burst.address);
        for (unsigned n = 0; n < beat_bytes; n++)
            if (beat.strobes >> n & 1)
                memory.bytes[at + n] = beat.data[n];
        if (beat.last) {
            bool error = meets_fault(burst, burst.address, burst.beats * beat_bytes, true);
            answers.push_back(Answer{burst.id, error ? 2u : 0u, now + latency + below(8)});
            writes.pop_front();
            write_beats = 0;
        }
        beats.pop_front();
    }

    const char *name;
    AxiPins p;
    Memory &memory;
    unsigned beat_bytes;
    int lane;                    // its number; -1 for the link
    uint64_t latency, now = 0;   // in cycles
    unsigned rates[5];           // of 256 cycles, how many go on: R, B, AR, AW, W
    std::deque<Burst> reads, writes;
    std::deque<Beat> beats;
    std::deque<Answer> answers;
    unsigned read_beats = 0, write_beats = 0;
    bool read_taken = false, answer_taken = false;
};
