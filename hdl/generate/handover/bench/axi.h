// Memories behind AXI4 ports: they answer at random rates, and refuse what a memory must not be asked.
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
#if USER_BITS
#define USER_PIN(name) PIN(name)
#else
static const uint64_t no_user = 0;
#define USER_PIN(name) Pin{(void *)&no_user, sizeof no_user}
#endif

struct AddressPins {
    Pin id, addr, len, size, burst, cache, prot, qos, user, valid, ready;
};
struct AxiPins {
    AddressPins ar, aw;
    Pin rid, rdata, rresp, rlast, rvalid, rready, wdata, wstrb, wlast, wvalid, wready, bid, bresp, bvalid, bready;
};
#define ADDRESS_PINS(p)                                                                                              \
    AddressPins{PIN(p##id), PIN(p##addr), PIN(p##len), PIN(p##size), PIN(p##burst), PIN(p##cache), PIN(p##prot),     \
                PIN(p##qos), USER_PIN(p##user), PIN(p##valid), PIN(p##ready)}
#define AXI_PINS(p)                                                                                                  \
    AxiPins{ADDRESS_PINS(p##_ar), ADDRESS_PINS(p##_aw), PIN(p##_rid), PIN(p##_rdata), PIN(p##_rresp), PIN(p##_rlast),\
            PIN(p##_rvalid), PIN(p##_rready), PIN(p##_wdata), PIN(p##_wstrb), PIN(p##_wlast), PIN(p##_wvalid),       \
            PIN(p##_wready), PIN(p##_bid), PIN(p##_bresp), PIN(p##_bvalid), PIN(p##_bready)}

// One of the two memories. Before each transfer it is noise; `expected` is what it must hold afterwards.
struct Memory {
    const char *name;
    struct cdma_attributes attributes;  // that every access must have
    uint64_t base, end, kept;           // first address and the one behind; bytes at its beginning for the processor
    Bytes bytes, expected;
    uint64_t next;                      // where the next area may begin
    bool faulty, faulty_writes;         // whether the beat at address `fault` is answered with SLVERR, which accesses
    uint64_t fault, at_fault;           // the address; and that of the burst that met it

    Memory(const char *name, const struct cdma_attributes &attributes, uint64_t kept, uint64_t size)
        : name(name), attributes(attributes), base((1 + below((1ull << (ADDRESS_BITS - 24)) - 2)) << 24),
          end(base + (kept + size + 4095) / 4096 * 4096), kept(kept), bytes(end - base), faulty(false)
    {
    }

    void fill()
    {
        std::generate(bytes.begin() + kept, bytes.end(), [] { return (uint8_t)below(256); });
        expected = bytes;
        next = base + kept;
    }
    uint64_t area(uint64_t size, uint64_t alignment)
    {
        uint64_t address = ((next + alignment - 1) / alignment + below(4)) * alignment;
        next = address + size;
        if (next > end)
            fail("the bench's %s memory is too small", name);
        return address;
    }
    uint8_t *at(uint64_t address) { return &bytes[address - base]; }
    void expect(uint64_t address, const uint8_t *data, size_t size)
    {
        std::copy(data, data + size, expected.begin() + (address - base));
    }
    void load(uint64_t address, const Bytes &data)
    {
        std::copy(data.begin(), data.end(), at(address));
        expect(address, data.data(), data.size());
    }
    void compare(const char *after)
    {
        for (uint64_t address = base + kept; address < end; address++)
            if (*at(address) != expected[address - base])
                fail("%s: the byte at 0x%llx of %s memory is 0x%02x, not 0x%02x", after, (unsigned long long)address,
                     name, *at(address), expected[address - base]);
    }
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
        if (p.ar.valid && p.ar.ready)
            reads.push_back(request(p.ar));
        if (p.aw.valid && p.aw.ready)
            writes.push_back(request(p.aw));
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
        p.ar.ready.set(reads.size() < 16 && chance(2));
        p.aw.ready.set(writes.size() < 16 && chance(3));
        p.wready.set(beats.size() < 16 && chance(4));
    }

private:
    struct Burst { uint64_t address; unsigned beats, id; uint64_t due; };
    struct Beat { Bytes data; uint64_t strobes; bool last; };
    struct Answer { unsigned id, response; uint64_t due; };

    bool chance(unsigned channel) const { return below(256) < rates[channel]; }

    Burst request(const AddressPins &a) const
    {
        uint64_t address = a.addr, beats = a.len + 1, bytes = beats * beat_bytes, last = address + bytes - 1;
        if (a.burst != 1 || 1u << a.size != beat_bytes || address % beat_bytes || address >> 12 != last >> 12)
            fail("%s: a burst is none of whole beats within 4 KiB: address 0x%llx, %llu bytes", name,
                 (unsigned long long)address, (unsigned long long)bytes);
        if (address < memory.base || last >= memory.end)
            fail("%s: access outside of the memory, at 0x%llx", name, (unsigned long long)address);
        if (lane >= 0 && (address / BLOCK_BYTES % LANES != (unsigned)lane || last / BLOCK_BYTES % LANES != (unsigned)lane))
            fail("%s: access to a block of another lane, at 0x%llx", name, (unsigned long long)address);
        const struct cdma_attributes &wanted = memory.attributes;
        if (a.cache != wanted.cache || a.prot != wanted.prot || a.qos != wanted.qos || a.user != wanted.user)
            fail("%s: wrong attributes of the access at 0x%llx", name, (unsigned long long)address);
        return Burst{address, (unsigned)beats, (unsigned)a.id, now + latency + below(8)};
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
        std::memcpy(p.rdata.place, memory.at(address), beat_bytes);
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
        uint8_t *place = memory.at(burst.address + write_beats * beat_bytes);
        if (beat.last != (++write_beats == burst.beats))
            fail("%s: wlast is at the wrong beat of the burst at 0x%llx", name, (unsigned long long)burst.address);
        for (unsigned n = 0; n < beat_bytes; n++)
            if (beat.strobes >> n & 1)
                place[n] = beat.data[n];
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
