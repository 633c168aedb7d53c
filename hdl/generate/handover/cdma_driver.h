/*
 * cdma_driver.h: reference driver of the compressing DMA engine, C99, header only.
 *
 * No operating system, no allocation, no global state: a struct for each engine, and two functions that read and write
 * its registers. Include the engine's NAME_regs.h first. Functions return 0 when all is well, the status of a
 * completion (1 to 255), or a negative CDMA_E_ code; cdma_error_text() has a sentence for each.
 *
 *     struct cdma engine;
 *     struct cdma_result packed, raw;
 *     int error = cdma_init(&engine, base, write_register, read_register);
 *     if (!error)
 *         error = cdma_offload(&engine, activation, host, raw_bytes, host_bytes, 4, &packed);
 *     if (!error)
 *         error = cdma_prefetch(&engine, host, activation, packed.bytes, raw_bytes, 4, packed.crc, &raw);
 *     if (error)
 *         puts(cdma_error_text(error));
 */
#ifndef CDMA_DRIVER_H
#define CDMA_DRIVER_H

#ifndef CDMA_REGS_H
#error "include the NAME_regs.h of your engine before cdma_driver.h"
#endif

#include <stddef.h>
#include <stdint.h>

/* What orders writes to memory before writes to registers; the default suffices where both are coherent. */
#ifndef CDMA_BARRIER
#if defined(__GNUC__)
#define CDMA_BARRIER() __sync_synchronize()
#else
#error "define CDMA_BARRIER() for your compiler: stores before it are seen before stores behind it"
#endif
#endif

enum {
    CDMA_E_NO_ENGINE = -1, /* the MAGIC register is not there */
    CDMA_E_VERSION = -2,   /* a register map that this driver does not know */
    CDMA_E_FULL = -3,      /* no free place for a descriptor */
    CDMA_E_PENDING = -4,   /* no completion yet */
    CDMA_E_TIMEOUT = -5,   /* still none after cdma.polls reads */
    CDMA_E_RING_SIZE = -6  /* ring entries are no power of two from 2 to 65536, or its address no multiple of 64 */
};

/*
 * Flags of a descriptor. With CDMA_NARROW_... float32 values are rounded to 16 bits on their way out and restored on
 * their way back, by an offload and a prefetch with the same flag and 2 as their element size.
 */
enum {
    CDMA_INTERRUPT = 1,
    CDMA_CHECK_CRC = 2,        /* prefetch */
    CDMA_NO_FALLBACK = 4,      /* offload */
    CDMA_LEAVE_RAW = 8,        /* offload */
    CDMA_NARROW_BFLOAT16 = 16,
    CDMA_NARROW_FLOAT16 = 32
};

typedef void (*cdma_write_fn)(void *bus, uint32_t offset, uint32_t value);
typedef uint32_t (*cdma_read_fn)(void *bus, uint32_t offset);

struct cdma {
    void *bus;
    cdma_write_fn write;
    cdma_read_fn read;
    unsigned long polls; /* reads of a register until a blocking call gives up; 0: never */
    /* As the engine tells them. */
    uint32_t lanes, beat_bytes, link_beat_bytes, address_bits, block_bytes, queue_depth;
    int raw_fallback, crc, narrowing;
};

struct cdma_descriptor {
    unsigned operation;     /* CDMA_OPERATION_OFFLOAD or CDMA_OPERATION_PREFETCH */
    unsigned element_bytes; /* 1, 2 or 4; 2 with CDMA_NARROW_... */
    unsigned flags;
    uint32_t tag;           /* your own; comes back in the completion */
    uint64_t source;        /* offload: device address; prefetch: link address */
    uint64_t destination;   /* offload: link address; prefetch: device address */
    uint64_t raw_bytes;
    uint64_t capacity;      /* bytes that the destination holds */
    uint64_t packed_bytes;  /* prefetch: length of the block stream; offload: 0 */
    uint32_t crc;           /* expected, with CDMA_CHECK_CRC */
};

struct cdma_result {
    uint32_t tag;
    unsigned status, operation;
    unsigned lane, resp;    /* of an AXI error */
    uint32_t crc;           /* CRC-32C of the block stream */
    uint32_t raw_blocks;    /* blocks that were left raw */
    uint64_t bytes;         /* written to the destination */
    uint64_t nonzero;       /* non-zero elements (offload) */
    uint64_t cycles;
    uint64_t place;         /* where it went wrong: a block's number from 0, for TRAILING the number of blocks, or an
                               address */
};

/* A ring of descriptors in memory that the engine reads by itself over the link. */
struct cdma_ring {
    struct cdma *engine;
    uint32_t page;             /* CDMA_OFFLOAD_PAGE or CDMA_PREFETCH_PAGE */
    volatile uint32_t *memory; /* as the processor sees it */
    uint32_t entries, tail;
};

#define CDMA_FIELD(value, name) (((value) & name##_MASK) >> name##_SHIFT)

/* A sentence for an error code or a status. */
static inline const char *cdma_error_text(int error)
{
    switch (error) {
#define CDMA_TEXT(name, code, text) case (int)code: return text;
    CDMA_STATUSES(CDMA_TEXT)
#undef CDMA_TEXT
    case CDMA_E_NO_ENGINE: return "there is no engine at this address";
    case CDMA_E_VERSION: return "the engine's register map has another major version than this driver";
    case CDMA_E_FULL: return "no free place for a descriptor: take completions first";
    case CDMA_E_PENDING: return "no completion yet";
    case CDMA_E_TIMEOUT: return "gave up waiting: abort or reset, or raise cdma.polls";
    case CDMA_E_RING_SIZE: return "a ring has a power of two of entries, 2 to 65536, at a multiple of 64";
    default: return "unknown error";
    }
}

/* The page of an operation's channel. */
static inline uint32_t cdma_page(unsigned operation)
{
    return operation == CDMA_OPERATION_PREFETCH ? CDMA_PREFETCH_PAGE : CDMA_OFFLOAD_PAGE;
}

/* Abort all, and put every register, queue and ring back to reset. */
static inline int cdma_reset(struct cdma *engine)
{
    unsigned long polls = 0;

    engine->write(engine->bus, CDMA_REG_CONTROL, CDMA_REG_CONTROL_SOFT_RESET_MASK);
    while (engine->read(engine->bus, CDMA_REG_CONTROL) & CDMA_REG_CONTROL_SOFT_RESET_MASK)
        if (++polls == engine->polls)
            return CDMA_E_TIMEOUT;
    return 0;
}

/* Find an engine, reset it, and learn what was built. */
static inline int cdma_init(struct cdma *engine, void *bus, cdma_write_fn write, cdma_read_fn read)
{
    uint32_t geometry, sizes, features;
    int error;

    engine->bus = bus;
    engine->write = write;
    engine->read = read;
    engine->polls = 100000000ul;
    if (read(bus, CDMA_REG_MAGIC) != CDMA_MAGIC)
        return CDMA_E_NO_ENGINE;
    if (CDMA_FIELD(read(bus, CDMA_REG_VERSION), CDMA_REG_VERSION_MAJOR) != CDMA_VERSION_MAJOR)
        return CDMA_E_VERSION;
    error = cdma_reset(engine);
    if (error)
        return error;
    geometry = read(bus, CDMA_REG_GEOMETRY);
    sizes = read(bus, CDMA_REG_SIZES);
    features = read(bus, CDMA_REG_FEATURES);
    engine->lanes = CDMA_FIELD(geometry, CDMA_REG_GEOMETRY_LANES);
    engine->beat_bytes = CDMA_FIELD(geometry, CDMA_REG_GEOMETRY_BEAT_BYTES);
    engine->link_beat_bytes = CDMA_FIELD(geometry, CDMA_REG_GEOMETRY_LINK_BEAT_BYTES);
    engine->address_bits = CDMA_FIELD(geometry, CDMA_REG_GEOMETRY_ADDRESS_BITS);
    engine->block_bytes = CDMA_FIELD(sizes, CDMA_REG_SIZES_BLOCK_BYTES);
    engine->queue_depth = CDMA_FIELD(sizes, CDMA_REG_SIZES_QUEUE_DEPTH);
    engine->raw_fallback = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_RAW_FALLBACK);
    engine->crc = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_CRC);
    engine->narrowing = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_NARROWING);
    return 0;
}

/* Capacity that always holds the block stream of a tensor, whatever its values. */
static inline uint64_t cdma_capacity(const struct cdma *engine, uint64_t raw_bytes, unsigned element_bytes)
{
    uint64_t blocks = (raw_bytes + engine->block_bytes - 1) / engine->block_bytes;
    uint64_t tags = engine->raw_fallback ? 0 : (raw_bytes + 127) / 128 * (16 / element_bytes);

    return (raw_bytes + tags + 3) / 4 * 4 + 4 * blocks;
}

/* The 16 words of a descriptor. */
static inline void cdma_pack(const struct cdma_descriptor *given, uint32_t words[16])
{
    unsigned word;

    for (word = 0; word < 16; word++)
        words[word] = 0;
    words[0] = (uint32_t)given->operation << CDMA_CHANNEL_DESCRIPTOR_0_OPERATION_SHIFT
             | (uint32_t)given->element_bytes << CDMA_CHANNEL_DESCRIPTOR_0_ELEMENT_SHIFT
             | (uint32_t)given->flags << CDMA_CHANNEL_DESCRIPTOR_0_INTERRUPT_SHIFT;
    words[1] = given->tag;
    words[2] = (uint32_t)given->source;
    words[3] = (uint32_t)(given->source >> 32);
    words[4] = (uint32_t)given->destination;
    words[5] = (uint32_t)(given->destination >> 32);
    words[6] = (uint32_t)given->raw_bytes;
    words[7] = (uint32_t)(given->raw_bytes >> 32);
    words[8] = (uint32_t)given->capacity;
    words[9] = (uint32_t)(given->capacity >> 32);
    words[10] = (uint32_t)given->packed_bytes;
    words[11] = (uint32_t)(given->packed_bytes >> 32);
    words[12] = given->crc;
}

/* Queue a descriptor through the registers, without waiting. */
static inline int cdma_submit(struct cdma *engine, const struct cdma_descriptor *given)
{
    uint32_t page = cdma_page(given->operation), words[16];
    unsigned word;

    if (!CDMA_FIELD(engine->read(engine->bus, page + CDMA_CHANNEL_QUEUE), CDMA_CHANNEL_QUEUE_FREE))
        return CDMA_E_FULL;
    cdma_pack(given, words);
    for (word = 0; word < 16; word++)
        engine->write(engine->bus, page + CDMA_CHANNEL_DESCRIPTOR_0 + 4 * word, words[word]);
    CDMA_BARRIER();
    engine->write(engine->bus, page + CDMA_CHANNEL_DOORBELL, CDMA_CHANNEL_DOORBELL_PUSH_MASK);
    return 0;
}

/* Take the oldest completion of a direction: CDMA_E_PENDING if there is none, else its status. */
static inline int cdma_poll(struct cdma *engine, unsigned operation, struct cdma_result *result)
{
    uint32_t page = cdma_page(operation), words[16];
    unsigned word;

    if (!CDMA_FIELD(engine->read(engine->bus, page + CDMA_CHANNEL_COMPLETIONS), CDMA_CHANNEL_COMPLETIONS_COUNT))
        return CDMA_E_PENDING;
    for (word = 0; word < 12; word++)
        words[word] = engine->read(engine->bus, page + CDMA_CHANNEL_COMPLETION_0 + 4 * word);
    engine->write(engine->bus, page + CDMA_CHANNEL_COMPLETION_POP, CDMA_CHANNEL_COMPLETION_POP_POP_MASK);
    CDMA_BARRIER();
    result->tag = words[0];
    result->status = CDMA_FIELD(words[1], CDMA_CHANNEL_COMPLETION_1_STATUS);
    result->lane = CDMA_FIELD(words[1], CDMA_CHANNEL_COMPLETION_1_LANE);
    result->resp = CDMA_FIELD(words[1], CDMA_CHANNEL_COMPLETION_1_RESP);
    result->operation = CDMA_FIELD(words[1], CDMA_CHANNEL_COMPLETION_1_OPERATION);
    result->crc = words[2];
    result->raw_blocks = words[3];
    result->bytes = words[4] | (uint64_t)words[5] << 32;
    result->nonzero = words[6] | (uint64_t)words[7] << 32;
    result->cycles = words[8] | (uint64_t)words[9] << 32;
    result->place = words[10] | (uint64_t)words[11] << 32;
    return (int)result->status;
}

/* Wait for the oldest completion of a direction; its status. */
static inline int cdma_wait(struct cdma *engine, unsigned operation, struct cdma_result *result)
{
    unsigned long polls = 0;
    int status;

    while ((status = cdma_poll(engine, operation, result)) == CDMA_E_PENDING)
        if (++polls == engine->polls)
            return CDMA_E_TIMEOUT;
    return status;
}

/* Compress a tensor from device memory to the link, and wait. */
static inline int cdma_offload(struct cdma *engine, uint64_t source, uint64_t destination, uint64_t raw_bytes,
                               uint64_t capacity, unsigned element_bytes, struct cdma_result *result)
{
    struct cdma_descriptor given = {CDMA_OPERATION_OFFLOAD, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int error;

    given.element_bytes = element_bytes;
    given.source = source;
    given.destination = destination;
    given.raw_bytes = raw_bytes;
    given.capacity = capacity;
    error = cdma_submit(engine, &given);
    return error ? error : cdma_wait(engine, CDMA_OPERATION_OFFLOAD, result);
}

/* Expand a block stream from the link into device memory, its CRC checked if the engine can, and wait. */
static inline int cdma_prefetch(struct cdma *engine, uint64_t source, uint64_t destination, uint64_t packed_bytes,
                                uint64_t raw_bytes, unsigned element_bytes, uint32_t crc, struct cdma_result *result)
{
    struct cdma_descriptor given = {CDMA_OPERATION_PREFETCH, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int error;

    given.element_bytes = element_bytes;
    given.flags = engine->crc ? CDMA_CHECK_CRC : 0;
    given.source = source;
    given.destination = destination;
    given.raw_bytes = raw_bytes;
    given.capacity = raw_bytes;
    given.packed_bytes = packed_bytes;
    given.crc = crc;
    error = cdma_submit(engine, &given);
    return error ? error : cdma_wait(engine, CDMA_OPERATION_PREFETCH, result);
}

/* End the transfer of a direction that is at work; its completion says CDMA_STATUS_ABORTED, unless it was done. */
static inline void cdma_abort(struct cdma *engine, unsigned operation)
{
    engine->write(engine->bus, cdma_page(operation) + CDMA_CHANNEL_ABORT, CDMA_CHANNEL_ABORT_ABORT_MASK);
}

/* Let the engine read descriptors of a direction from a ring: `memory` for the processor, `address` on the link. */
static inline int cdma_ring_init(struct cdma_ring *ring, struct cdma *engine, unsigned operation,
                                 volatile uint32_t *memory, uint64_t address, uint32_t entries)
{
    uint32_t page = cdma_page(operation);

    if (entries < 2 || entries > 65536 || entries & (entries - 1) || address % 64)
        return CDMA_E_RING_SIZE;
    ring->engine = engine;
    ring->page = page;
    ring->memory = memory;
    ring->entries = entries;
    ring->tail = 0;
    engine->write(engine->bus, page + CDMA_CHANNEL_RING_CONTROL, 0);
    engine->write(engine->bus, page + CDMA_CHANNEL_RING_BASE_LO, (uint32_t)address);
    engine->write(engine->bus, page + CDMA_CHANNEL_RING_BASE_HI, (uint32_t)(address >> 32));
    engine->write(engine->bus, page + CDMA_CHANNEL_RING_SIZE, entries);
    engine->write(engine->bus, page + CDMA_CHANNEL_RING_CONTROL, CDMA_CHANNEL_RING_CONTROL_ENABLE_MASK);
    return 0;
}

/* Put a descriptor into the ring, and tell the engine; completions come as always. */
static inline int cdma_ring_submit(struct cdma_ring *ring, const struct cdma_descriptor *given)
{
    struct cdma *engine = ring->engine;
    uint32_t next = (ring->tail + 1) & (ring->entries - 1), words[16];
    unsigned word;

    if (next == engine->read(engine->bus, ring->page + CDMA_CHANNEL_RING_HEAD))
        return CDMA_E_FULL;
    cdma_pack(given, words);
    for (word = 0; word < 16; word++)
        ring->memory[16 * ring->tail + word] = words[word];
    ring->tail = next;
    CDMA_BARRIER();
    engine->write(engine->bus, ring->page + CDMA_CHANNEL_RING_TAIL, next);
    return 0;
}

#endif
