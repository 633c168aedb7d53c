/* The driver's hooks and refusals at registers that complete every descriptor at once; prints what happens in order. */
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include "regs.h"

static uint32_t ring_words[64];

static void cache(const char *what, const volatile uint32_t *place, uint32_t bytes)
{
    if (bytes == 64 && what[0] == 'i')
        printf("%s %lu\n", what, (unsigned long)(place - ring_words) / 16);
    else if (bytes == 64)
        printf("%s %lu 1\n", what, (unsigned long)(place - ring_words) * 4);
    else
        printf("%s %lu %lu\n", what, (unsigned long)(place - ring_words) * 4, (unsigned long)(bytes / 64));
}

static void buffer(const char *what, int memory, uint64_t address, uint64_t bytes)
{
    printf("%s %s 0x%lx %lu\n", what, memory ? "link" : "device", (unsigned long)address, (unsigned long)bytes);
}

#define CDMA_BARRIER() ((void)puts("barrier"))
#define CDMA_READ_BARRIER() ((void)puts("read barrier"))
#define CDMA_CACHE_CLEAN(place, bytes) cache("clean", place, bytes)
#define CDMA_CACHE_INVALIDATE(place, bytes) cache("invalidate", place, bytes)
#define CDMA_BEFORE_READ(engine, memory, address, bytes) ((void)(engine), buffer("before read", memory, address, bytes))
#define CDMA_BEFORE_WRITE(engine, memory, address, bytes) \
    ((void)(engine), buffer("before write", memory, address, bytes))
#define CDMA_AFTER_WRITE(engine, memory, address, bytes) ((void)(engine), buffer("after write", memory, address, bytes))
#include "cdma_driver.h"

static uint32_t registers[1024];
static unsigned long writes;

/* A descriptor is completed as soon as its doorbell is written, and its completion stays until it is taken. */
static void write_register(void *bus, uint32_t offset, uint32_t value)
{
    uint32_t page = offset & 0x300, in_page = offset & 0xff;

    (void)bus;
    writes++;
    if (offset == CDMA_REG_CONTROL || (page && in_page == CDMA_CHANNEL_REFUSED))
        return;
    if (offset == CDMA_REG_IRQ_ENABLE)
        value &= 0x77;
    registers[offset / 4] = value;
    if (page == 0x300) {
        if (in_page == CDMA_WRITE_BACK_CONTROL)
            puts("write-back enable");
    } else if (page && in_page == CDMA_CHANNEL_DOORBELL) {
        puts("doorbell");
        registers[(page + CDMA_CHANNEL_COMPLETION_0) / 4] = registers[(page + CDMA_CHANNEL_DESCRIPTOR_1) / 4];
        registers[(page + CDMA_CHANNEL_COMPLETIONS) / 4] = 1;
    } else if (page && in_page == CDMA_CHANNEL_COMPLETION_POP) {
        registers[(page + CDMA_CHANNEL_COMPLETIONS) / 4] = 0;
    } else if (page && in_page == CDMA_CHANNEL_RING_TAIL) {
        puts("tail");
    }
}

static uint32_t read_register(void *bus, uint32_t offset)
{
    (void)bus;
    return registers[offset / 4];
}

static void refused(const char *name, int code)
{
    printf("%s %d\n", name, code);
}

static void refusals(struct cdma *engine, struct cdma_descriptor given, struct cdma_ring *ring)
{
    struct cdma_result result;
    struct cdma_counters counters;
    struct cdma_pages pages = {0x3000, 3, 12};
    struct cdma_descriptor bad = given;
    unsigned long before = writes;

    engine->pending[0] = 0;
    refused("no engine", cdma_init(0, 0, write_register, read_register));
    refused("no function", cdma_init(engine, 0, 0, read_register));
    refused("reset of nothing", cdma_reset(0));
    refused("no descriptor", cdma_submit(engine, 0));
    bad.operation = 3;
    refused("submit of no operation", cdma_submit(engine, &bad));
    bad = given;
    bad.coding = 0x111;
    refused("coding", cdma_submit(engine, &bad));
    refused("coding of a blocking call", cdma_offload(engine, 0, 0, 4, 8, 0x111, &result));
    bad = given;
    bad.flags = 0x10000;
    refused("flags", cdma_submit(engine, &bad));
    refused("flags in a ring", cdma_ring_submit(ring, &bad));
    bad = given;
    bad.page_size = 256;
    refused("page size", cdma_submit(engine, &bad));
    bad = given;
    bad.operation = CDMA_OPERATION_PREFETCH;
    refused("descriptor of the other direction", cdma_ring_submit(ring, &bad));
    refused("no ring", cdma_ring_submit(0, &given));
    refused("enable of no ring", cdma_ring_enable(0));
    refused("disable of no ring", cdma_ring_disable(0));
    refused("no result", cdma_offload(engine, 0, 0, 4, 8, 0x14, 0));
    refused("offload of no engine", cdma_offload(0, 0, 0, 4, 8, 0x14, &result));
    refused("prefetch of no engine", cdma_prefetch(0, 0, 0, 4, 8, 0x14, 0, &result));
    refused("poll of no operation", cdma_poll(engine, 0, &result));
    refused("wait of no operation", cdma_wait(engine, 7, &result));
    refused("poll without a result", cdma_poll(engine, 1, 0));
    refused("abort of no operation", cdma_abort(engine, 3));
    refused("drain of no operation", cdma_drain(engine, 3));
    refused("counters of no operation", cdma_take_counters(engine, 3, &counters));
    refused("no counters", cdma_take_counters(engine, 1, 0));
    refused("time limit of nothing", cdma_set_time_limit(0, 1, 1));
    refused("coalescing of no operation", cdma_set_coalescing(engine, 3, 1, 0));
    refused("disable of no write-back", cdma_write_back_disable(engine, 3));
    refused("windows of nothing", cdma_lock_windows(0));
    refused("attributes", cdma_set_link_attributes(engine, 0));
    refused("interrupts of nothing", cdma_enable_interrupts(0, 0));
    refused("events that were not built", cdma_enable_interrupts(engine, 0xff));
    engine->page_lists = engine->write_back = 0;
    refused("page lists", cdma_offload_pages(engine, 0, &pages, 4, 8, 0x14, &result));
    refused("coalescing", cdma_set_coalescing(engine, 1, 1, 0));
    printf("registers written by refusals:\n%lu\n", writes - before);
}

int main(void)
{
    struct cdma engine;
    struct cdma_result result;
    struct cdma_ring ring;
    struct cdma_write_back records;
    struct cdma_pages pages = {0x3000, 3, 12};
    struct cdma_descriptor given = {CDMA_OPERATION_OFFLOAD, 0x14, 0, 5, 0x1000, 0x2000, 256, 300, 0, 0, 0, 0};
    int error;

    registers[CDMA_REG_MAGIC / 4] = CDMA_MAGIC;
    registers[CDMA_REG_VERSION / 4] = CDMA_VERSION_MAJOR << 16 | CDMA_VERSION_MINOR;
    registers[CDMA_REG_GEOMETRY / 4] = 40u << 24 | 0x101001;
    registers[CDMA_REG_SIZES / 4] = 8u << 16 | 2048;
    registers[CDMA_REG_FEATURES / 4] = CDMA_REG_FEATURES_PAGE_LISTS_MASK | CDMA_REG_FEATURES_WRITE_BACK_MASK
                                     | CDMA_REG_FEATURES_ADDRESS_WINDOWS_MASK;
    registers[(CDMA_OFFLOAD_PAGE + CDMA_CHANNEL_QUEUE) / 4] = 8u << 8;
    registers[(CDMA_PREFETCH_PAGE + CDMA_CHANNEL_QUEUE) / 4] = 8u << 8;
    error = cdma_init(&engine, 0, write_register, read_register);
    puts("offload:");
    error |= cdma_offload(&engine, 0x1000, 0x2000, 256, 300, 0x14, &result);
    puts("prefetch:");
    error |= cdma_prefetch(&engine, 0x2000, 0x1000, 128, 256, 0x14, 0, &result);
    puts("offload of pages:");
    error |= cdma_offload_pages(&engine, 0x1000, &pages, 256, 300, 0x14, &result);
    puts("prefetch of pages:");
    error |= cdma_prefetch_pages(&engine, &pages, 0x1000, 128, 256, 0x14, 0, &result);
    puts("submit:");
    error |= cdma_submit(&engine, &given);
    puts("wait:");
    error |= cdma_wait(&engine, CDMA_OPERATION_OFFLOAD, &result);
    puts("take buffers:");
    cdma_take_buffers(&engine, &given);
    puts("set-up of the ring:");
    error |= cdma_ring_init(&ring, &engine, CDMA_OPERATION_OFFLOAD, ring_words, 0x4000, 4);
    error |= cdma_ring_submit(&ring, &given);
    puts("ring submit:");
    error |= cdma_ring_submit(&ring, &given);
    puts("set-up of the records:");
    memset(ring_words, 0xff, sizeof ring_words);
    puts("write back:");
    error |= cdma_write_back_init(&records, &engine, CDMA_OPERATION_OFFLOAD, ring_words, 0x4000, 4);
    puts("no record:");
    error |= cdma_poll(&engine, CDMA_OPERATION_OFFLOAD, &result) != CDMA_E_PENDING;
    ring_words[15] = 1;
    puts("record:");
    error |= cdma_poll(&engine, CDMA_OPERATION_OFFLOAD, &result);
    puts("refusals:");
    refusals(&engine, given, &ring);
    return error != 0;
}
