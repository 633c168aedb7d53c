/* The reference driver as a shared library, for the bench of verif/engine/benches/reference_driver.py. */
#include REGS
/* A reset in simulation must not take a million cycles. */
#define CDMA_RESET_TIME_LIMIT 12
/* What goes on in the simulation while the driver looks into memory. */
static void (*relax)(void);
#define CDMA_RELAX() do { if (relax) relax(); } while (0)
#define CDMA_WRITE_BACK_POLLS 8
#include "cdma_driver.h"

static struct cdma engine;
static struct cdma_ring ring;
static struct cdma_write_back records[2];
static uint32_t published;

static void hold(void *bus, uint32_t offset, uint32_t value)
{
    (void)bus;
    (void)offset;
    published = value;
}

static void copy(const struct cdma_result *found, uint64_t *out)
{
    out[0] = found->tag;
    out[1] = found->status;
    out[2] = found->operation;
    out[3] = found->lane;
    out[4] = found->resp;
    out[5] = found->crc;
    out[6] = found->raw_blocks;
    out[7] = found->bytes;
    out[8] = found->nonzero;
    out[9] = found->cycles;
    out[10] = found->place;
    out[11] = found->pages;
}

int init(cdma_write_fn write, cdma_read_fn read)
{
    int error = cdma_init(&engine, 0, write, read);

    engine.polls = 20000;
    return error;
}

uint32_t built(int which)
{
    const uint32_t all[] = {engine.lanes, engine.beat_bytes, engine.link_beat_bytes, engine.address_bits,
                            engine.block_bytes, engine.queue_depth, (uint32_t)engine.crc,
                            (uint32_t)engine.narrowing, (uint32_t)engine.address_windows,
                            (uint32_t)engine.page_lists, (uint32_t)engine.write_back};
    return all[which];
}

int isolated(unsigned operation)
{
    return cdma_isolated(&engine, operation);
}

int set_time_limit(uint64_t link_cycles, uint64_t lane_cycles)
{
    return cdma_set_time_limit(&engine, link_cycles, lane_cycles);
}

int set_attributes(int link, unsigned cache, unsigned prot, unsigned qos, unsigned user)
{
    struct cdma_attributes chosen;

    chosen.cache = cache;
    chosen.prot = prot;
    chosen.qos = qos;
    chosen.user = user;
    return link ? cdma_set_link_attributes(&engine, &chosen) : cdma_set_lane_attributes(&engine, &chosen);
}

int set_windows(uint64_t device_base, uint64_t device_limit, uint64_t link_base, uint64_t link_limit)
{
    struct cdma_window device = {0, 0}, link = {0, 0};

    device.base = device_base;
    device.limit = device_limit;
    link.base = link_base;
    link.limit = link_limit;
    return cdma_set_windows(&engine, &device, &link);
}

int lock_windows(void)
{
    return cdma_lock_windows(&engine);
}

/* The count, or an error. */
int buffer_errors(unsigned operation)
{
    uint32_t count = 0;
    int error = cdma_buffer_errors(&engine, operation, &count);

    return error ? error : (int)count;
}

int inject_buffer_error(unsigned lane, unsigned memory)
{
    return cdma_inject_buffer_error(&engine, lane, memory);
}

int enable_interrupts(uint32_t events)
{
    return cdma_enable_interrupts(&engine, events);
}

int take_events(void)
{
    return (int)cdma_take_events(&engine);
}

int take_counters(unsigned operation, uint64_t *out)
{
    struct cdma_counters counted = {0, 0, 0, 0, 0, 0};
    int error = cdma_take_counters(&engine, operation, &counted);

    out[0] = counted.raw_bytes;
    out[1] = counted.packed_bytes;
    out[2] = counted.busy_cycles;
    out[3] = counted.link_busy_cycles;
    out[4] = counted.memory_stalls;
    out[5] = counted.buffer_stalls;
    return error;
}

const char *error_text(int error)
{
    return cdma_error_text(error);
}

uint64_t capacity(uint64_t raw_bytes)
{
    return cdma_capacity(&engine, raw_bytes);
}

int offload(uint64_t source, uint64_t destination, uint64_t raw_bytes, uint64_t room, uint64_t coding,
            uint64_t *out)
{
    struct cdma_result found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int status = cdma_offload(&engine, source, destination, raw_bytes, room, (unsigned)coding, &found);

    copy(&found, out);
    return status;
}

int prefetch(uint64_t source, uint64_t destination, uint64_t packed_bytes, uint64_t raw_bytes, uint64_t coding,
             uint64_t crc, uint64_t *out)
{
    struct cdma_result found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int status = cdma_prefetch(&engine, source, destination, packed_bytes, raw_bytes, (unsigned)coding,
                               (uint32_t)crc, &found);

    copy(&found, out);
    return status;
}

int offload_pages(uint64_t source, uint64_t list, uint64_t pages, uint64_t page_size, uint64_t raw_bytes, uint64_t room,
                  uint64_t coding, uint64_t *out)
{
    struct cdma_result found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct cdma_pages places = {0, 0, 0};
    int status;

    places.list = list;
    places.pages = (uint32_t)pages;
    places.page_size = (unsigned)page_size;
    status = cdma_offload_pages(&engine, source, &places, raw_bytes, room, (unsigned)coding, &found);
    copy(&found, out);
    return status;
}

int prefetch_pages(uint64_t list, uint64_t pages, uint64_t page_size, uint64_t destination, uint64_t packed_bytes,
                   uint64_t raw_bytes, uint64_t coding, uint64_t crc, uint64_t *out)
{
    struct cdma_result found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct cdma_pages places = {0, 0, 0};
    int status;

    places.list = list;
    places.pages = (uint32_t)pages;
    places.page_size = (unsigned)page_size;
    status = cdma_prefetch_pages(&engine, &places, destination, packed_bytes, raw_bytes, (unsigned)coding,
                                 (uint32_t)crc, &found);
    copy(&found, out);
    return status;
}

int poll(unsigned operation, uint64_t *out)
{
    struct cdma_result found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int status = cdma_poll(&engine, operation, &found);

    copy(&found, out);
    return status;
}

int wait(unsigned operation, uint64_t *out)
{
    struct cdma_result found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int status = cdma_wait(&engine, operation, &found);

    copy(&found, out);
    return status;
}

void set_polls(uint32_t polls)
{
    engine.polls = polls;
}

void set_address_bits(uint32_t bits)
{
    engine.address_bits = bits;
}

uint32_t late(unsigned operation)
{
    return engine.late[cdma_direction(operation)];
}

/* No pages: the stream is at one address. */
static void set_pages(struct cdma_descriptor *given, uint32_t pages, unsigned page_size)
{
    given->flags = pages ? CDMA_PAGE_LIST : 0;
    given->pages = pages;
    given->page_size = page_size;
}

int submit(unsigned operation, uint32_t tag, uint64_t source, uint64_t destination, uint64_t raw_bytes, uint64_t room,
           uint64_t packed_bytes, unsigned coding, uint32_t pages, unsigned page_size)
{
    struct cdma_descriptor given = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    given.operation = operation;
    given.coding = coding;
    given.tag = tag;
    given.source = source;
    given.destination = destination;
    given.raw_bytes = raw_bytes;
    given.capacity = room;
    given.packed_bytes = packed_bytes;
    set_pages(&given, pages, page_size);
    return cdma_submit(&engine, &given);
}

int drain(unsigned operation)
{
    return cdma_drain(&engine, operation);
}

int reset(void)
{
    return cdma_reset(&engine);
}

int ring_init(unsigned operation, volatile uint32_t *memory, uint64_t address, uint32_t entries)
{
    return cdma_ring_init(&ring, &engine, operation, memory, address, entries);
}

int ring_enable(void)
{
    return cdma_ring_enable(&ring);
}

int ring_disable(void)
{
    return cdma_ring_disable(&ring);
}

/* The bench copies the memory between the descriptor and the tail: the tail is held back for it. */
int ring_fill(uint32_t tag, uint64_t source, uint64_t destination, uint64_t raw_bytes, uint64_t room,
              unsigned coding, uint32_t pages, unsigned page_size)
{
    struct cdma_descriptor given = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    cdma_write_fn write = engine.write;
    int error;

    given.operation = ring.operation;
    given.coding = coding;
    given.tag = tag;
    given.source = source;
    given.destination = destination;
    given.raw_bytes = raw_bytes;
    given.capacity = room;
    set_pages(&given, pages, page_size);
    engine.write = hold;
    error = cdma_ring_submit(&ring, &given);
    engine.write = write;
    return error;
}

int ring_publish(void)
{
    cdma_write_channel(&engine, ring.operation, CDMA_CHANNEL_RING_TAIL, published);
    return 0;
}

void set_relax(void (*hook)(void))
{
    relax = hook;
}

int write_back_init(unsigned operation, volatile uint32_t *memory, uint64_t address, uint32_t entries)
{
    return cdma_write_back_init(&records[cdma_direction(operation)], &engine, operation, memory, address, entries);
}

int write_back_disable(unsigned operation)
{
    return cdma_write_back_disable(&engine, operation);
}

int set_coalescing(unsigned operation, uint32_t count, uint32_t cycles)
{
    return cdma_set_coalescing(&engine, operation, count, cycles);
}

/* Whether completions of a direction come from its write-back ring. */
int from_records(unsigned operation)
{
    return engine.records[cdma_direction(operation)] != 0;
}
