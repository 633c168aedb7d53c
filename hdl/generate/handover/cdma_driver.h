/*
 * cdma_driver.h: reference driver of the compressing DMA engine. C89 to C11, also valid C++; header only.
 *
 * It needs no operating system, allocates nothing and has no global state: a struct holds the state of one engine, and
 * two functions of yours write and read its registers. Include the engine's NAME_regs.h first. Functions return 0 for
 * success, the status of a completion (1 to 255), or a negative CDMA_E_ code; cdma_error_text() explains each.
 *
 *     struct cdma engine;
 *     struct cdma_result packed, raw;
 *     int error = cdma_init(&engine, base, write_register, read_register);
 *     if (!error)
 *         error = cdma_offload(&engine, activation, host, raw_bytes, host_bytes, CDMA_CODING_ZVC32, &packed);
 *     if (!error)
 *         error = cdma_prefetch(&engine, host, activation, packed.bytes, raw_bytes, CDMA_CODING_ZVC32, packed.crc,
 *                               &raw);
 *     if (error)
 *         puts(cdma_error_text(error));
 *
 * Threads: the two directions are independent. Calls for the same direction must not overlap, and cdma_init and
 * cdma_reset must not overlap with any other call.
 */
#ifndef CDMA_DRIVER_H
#define CDMA_DRIVER_H

#ifndef CDMA_REGS_H
#error "include the NAME_regs.h of your engine before cdma_driver.h"
#endif

/* Define CDMA_NO_STDINT where uint32_t and uint64_t are there already, and no <stdint.h>. */
#if defined(__KERNEL__)
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/processor.h>
#elif !defined(CDMA_NO_STDINT)
#include <stdint.h>
#endif

/* Functions of this file are static and inline, by whatever word the compiler has for it. */
#ifndef CDMA_INLINE
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define CDMA_INLINE static inline
#elif defined(__GNUC__)
#define CDMA_INLINE static __inline__
#else
#define CDMA_INLINE static
#endif
#endif

/*
 * Arm's barriers by their names, for CDMA_BARRIER() and for hooks of yours. CDMA_DMB() keeps accesses to memory and to
 * registers in order, for all of the system. CDMA_DSB() also waits until those before it, and maintenance of caches,
 * are done: a hook that maintains caches ends with it.
 */
#if defined(__GNUC__) && !defined(CDMA_DMB) \
    && (defined(__aarch64__) || defined(__ARM_ARCH_6M__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7))
#define CDMA_DMB() __asm__ volatile("dmb sy" ::: "memory")
#define CDMA_DSB() __asm__ volatile("dsb sy" ::: "memory")
#endif

/*
 * Define CDMA_BARRIER() before this file if the default is not right for you: accesses to memory that come before it
 * must be done for the engine before accesses to registers and memory that come after it. Where memory and registers
 * are behind different ports, whose order a DMB does not keep, define it as CDMA_DSB(). A fence of a compiler is for
 * memory between threads, and may leave out accesses to devices, as clang's for RISC-V and LoongArch do. Where this file
 * has none of its own, it takes that one: check it for your processor.
 */
#ifndef CDMA_BARRIER
#if defined(__KERNEL__)
#define CDMA_BARRIER() mb()
#elif defined(CDMA_DSB) && !defined(__aarch64__)
#define CDMA_BARRIER() CDMA_DSB()
#elif defined(CDMA_DMB)
#define CDMA_BARRIER() CDMA_DMB()
#elif defined(__GNUC__) && defined(__riscv)
#define CDMA_BARRIER() __asm__ volatile("fence iorw, iorw" ::: "memory")
#elif defined(__GNUC__) && defined(__x86_64__)
#define CDMA_BARRIER() __asm__ volatile("mfence" ::: "memory")
#elif defined(__GNUC__) && (defined(__powerpc__) || defined(__PPC__))
#define CDMA_BARRIER() __asm__ volatile("sync" ::: "memory")
#elif defined(__GNUC__) && defined(__loongarch__)
#define CDMA_BARRIER() __asm__ volatile("dbar 0" ::: "memory")
#elif defined(__GNUC__)
#define CDMA_BARRIER() __sync_synchronize()
#else
#error "define CDMA_BARRIER() for your compiler"
#endif
#endif

/*
 * Define CDMA_READ_BARRIER() if the default is not right for you: reads of memory that come before it must be done
 * before those that come after it. It separates the phase of a record from its other words.
 */
#ifndef CDMA_READ_BARRIER
#if defined(__KERNEL__)
#define CDMA_READ_BARRIER() dma_rmb()
#else
#define CDMA_READ_BARRIER() CDMA_BARRIER()
#endif
#endif

/* Define CDMA_RELAX() to do something between two reads of what is polled, for example to sleep. */
#ifndef CDMA_RELAX
#if defined(__KERNEL__)
#define CDMA_RELAX() cpu_relax()
#else
#define CDMA_RELAX() ((void)0)
#endif
#endif

/* Define CDMA_STOP(engine) for calls that a signal ends: whether a call that polls gives up at once, as after `polls`. */
#ifndef CDMA_STOP
#define CDMA_STOP(engine) ((void)(engine), 0)
#endif

/*
 * Cache maintenance, where the engine is not coherent with the processor's caches. By default these do nothing. Memory
 * that they are called for must be whole cache lines, which hold nothing else that the processor writes.
 *
 * Rings, at their address for the processor (volatile uint32_t *):
 *   CDMA_CACHE_CLEAN(place, bytes)        write to memory what the processor has written: the engine reads it next
 *   CDMA_CACHE_INVALIDATE(place, bytes)   forget what was read: the engine may have written it since
 *
 * Buffers of descriptors, at their address for the engine (uint64_t), in CDMA_DEVICE_MEMORY or CDMA_LINK_MEMORY:
 *   CDMA_BEFORE_READ(engine, memory, address, bytes)    the engine is going to read them: clean
 *   CDMA_BEFORE_WRITE(engine, memory, address, bytes)   the engine is going to write them: invalidate, so that no line
 *                                                       is written back over what the engine has written
 *   CDMA_AFTER_WRITE(engine, memory, address, bytes)    the engine has written them: invalidate what was read meanwhile
 *
 * Blocking calls call all of them. cdma_submit and cdma_ring_submit call those that come before; after the completion,
 * call cdma_take_buffers() with the descriptor. Pages of a page list are yours to maintain, because the driver does not
 * read the list; that of the list itself is done.
 */
#ifndef CDMA_CACHE_CLEAN
#define CDMA_CACHE_CLEAN(place, bytes) ((void)(place), (void)(bytes))
#endif
#ifndef CDMA_CACHE_INVALIDATE
#define CDMA_CACHE_INVALIDATE(place, bytes) ((void)(place), (void)(bytes))
#endif
#ifndef CDMA_BEFORE_READ
#define CDMA_BEFORE_READ(engine, memory, address, bytes) \
    ((void)(engine), (void)(memory), (void)(address), (void)(bytes))
#endif
#ifndef CDMA_BEFORE_WRITE
#define CDMA_BEFORE_WRITE(engine, memory, address, bytes) \
    ((void)(engine), (void)(memory), (void)(address), (void)(bytes))
#endif
#ifndef CDMA_AFTER_WRITE
#define CDMA_AFTER_WRITE(engine, memory, address, bytes) \
    ((void)(engine), (void)(memory), (void)(address), (void)(bytes))
#endif

/*
 * A reset ends within two periods of the time limit, so the driver sets a short one for it: 2 to the power of this many
 * cycles. It then reads CONTROL at most CDMA_RESET_POLLS times. A read takes at least 8 cycles, so the reads take twice
 * as long as the reset at most needs.
 */
#ifndef CDMA_RESET_TIME_LIMIT
#define CDMA_RESET_TIME_LIMIT 20
#endif
#ifndef CDMA_WRITE_BACK_POLLS
/* Looks for a record, after which the driver asks whether the ring still works; below 0xffffffff. */
#define CDMA_WRITE_BACK_POLLS 64
#endif
#ifndef CDMA_RESET_POLLS
#define CDMA_RESET_POLLS (1ul << (CDMA_RESET_TIME_LIMIT - 1))
#endif

enum {
    CDMA_E_NO_ENGINE = -1,      /* the MAGIC register is not there */
    CDMA_E_VERSION = -2,        /* the engine's register map does not fit NAME_regs.h */
    CDMA_E_FULL = -3,           /* no free place for a descriptor */
    CDMA_E_PENDING = -4,        /* no completion yet */
    CDMA_E_TIMEOUT = -5,        /* gave up after cdma.polls looks for a completion */
    CDMA_E_RING_SIZE = -6,      /* number of entries or address of a ring are not allowed */
    CDMA_E_ARGUMENT = -7,       /* a null pointer, an operation that does not exist or is not the ring's, or a value
                                   that is too large */
    CDMA_E_BUSY = -8,           /* a call that needs an idle engine while descriptors are at work */
    CDMA_E_TAG = -9,            /* a tag that is reserved for blocking calls */
    CDMA_E_REFUSED = -10,       /* the engine did not take what was written to the registers of a ring or a window */
    CDMA_E_RING_DISABLED = -11, /* the ring is disabled */
    CDMA_E_RESET = -12,         /* a soft reset did not end */
    CDMA_E_WINDOW = -14,        /* base or limit of an address window are not allowed */
    CDMA_E_LOCKED = -15,        /* address windows and attributes are locked */
    CDMA_E_NOT_BUILT = -16      /* the engine was built without what was asked for */
};

/*
 * Flags of a descriptor. With CDMA_NARROW_... float32 values are rounded to 16 bits by an offload and converted back by
 * a prefetch; both need the same flag and CDMA_CODING_ZVC16, or CDMA_CODING_BFLOAT16 with CDMA_NARROW_BFLOAT16.
 */
enum {
    CDMA_INTERRUPT = 1,
    CDMA_CHECK_CRC = 2,        /* prefetch */
    CDMA_NO_FALLBACK = 4,      /* offload */
    CDMA_LEAVE_RAW = 8,        /* offload */
    CDMA_NARROW_BFLOAT16 = 16,
    CDMA_NARROW_FLOAT16 = 32,
    CDMA_PAGE_LIST = 64        /* the address at the link is that of a page list; needs an engine with page_lists */
};

/* The memories of a descriptor's two buffers, for the hooks of cache maintenance. */
enum {
    CDMA_DEVICE_MEMORY = 0,
    CDMA_LINK_MEMORY = 1
};

/*
 * Tags from here on are the driver's own: cdma_offload and cdma_prefetch give every call a new one. A completion with
 * such a tag that no call waits for belongs to a call that gave up, and is dropped.
 */
#define CDMA_OWN_TAGS 0x80000000u

typedef void (*cdma_write_fn)(void *bus, uint32_t offset, uint32_t value);
typedef uint32_t (*cdma_read_fn)(void *bus, uint32_t offset);

struct cdma_write_back;

struct cdma {
    void *bus;
    cdma_write_fn write;
    cdma_read_fn read;
    unsigned long polls; /* how often a call looks at the engine before it gives up; 0: it never gives up */
    /* What was built, as cdma_init read it. */
    uint32_t lanes, beat_bytes, link_beat_bytes, address_bits, block_bytes, queue_depth;
    int crc, narrowing, page_lists, address_windows, attribute_registers, write_back, buffer_parity;
    /* By direction, 0 for offload and 1 for prefetch. */
    uint32_t calls[2];   /* blocking calls so far; their tags are counted with it */
    uint32_t late[2];    /* blocking calls without a completion yet; their buffers are in use, even after a timeout */
    uint32_t pending[2]; /* submitted descriptors whose completion cdma_poll has not returned */
    struct cdma_write_back *records[2]; /* where completions are, or null: in the registers */
};

struct cdma_descriptor {
    unsigned operation;     /* CDMA_OPERATION_OFFLOAD or CDMA_OPERATION_PREFETCH */
    unsigned coding;        /* CDMA_CODING_ZVC8, ..._ZVC16, ..._ZVC32, ..._BFLOAT16 or ..._FLOAT32 */
    unsigned flags;
    uint32_t tag;           /* your own, below CDMA_OWN_TAGS; the completion has the same */
    uint64_t source;        /* offload: device address; prefetch: link address */
    uint64_t destination;   /* offload: link address; prefetch: device address */
    uint64_t raw_bytes;
    uint64_t capacity;      /* size of the destination in bytes */
    uint64_t packed_bytes;  /* prefetch: length of the block stream; offload: 0 */
    uint32_t crc;           /* expected CRC of the block stream, with CDMA_CHECK_CRC */
    uint32_t pages;         /* entries of the page list, with CDMA_PAGE_LIST; otherwise 0 */
    unsigned page_size;     /* logarithm of the bytes of a page, 12 to 21, with CDMA_PAGE_LIST; otherwise 0 */
};

/*
 * Where a block stream is in link memory: at one address, or in pages. A page list has an address of 64 bits for each
 * page, each a multiple of the page size. The stream fills the pages in the order of the list. The list itself is in
 * link memory, at a multiple of the link's beat, and must not change until the completion.
 */
struct cdma_pages {
    uint64_t list;          /* link address of the first entry */
    uint32_t pages;         /* entries */
    unsigned page_size;     /* logarithm of the bytes of a page, 12 to 21 */
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
    uint64_t place;         /* where it failed: a block's number from 0, for TRAILING the number of blocks, for a bad
                               page the byte of the stream at which it begins, or an address */
    uint32_t pages;         /* pages that the stream takes, the first ones of its list; 0 without a list */
};

/* The part of a memory that descriptors and rings may use: multiples of 4096. */
struct cdma_window {
    uint64_t base;          /* the first address inside */
    uint64_t limit;         /* the first address behind it; 0: it ends with the address space */
};

/* A ring of descriptors in memory, which the engine reads over the link. */
struct cdma_ring {
    struct cdma *engine;
    unsigned operation;
    volatile uint32_t *memory; /* the ring's address for the processor */
    uint32_t entries;
    uint32_t tail;             /* the entry that is written next */
    uint32_t head;             /* RING_HEAD when it was last read: entries before it are free */
};

/* A ring of completions in memory, which the engine writes over the link. */
struct cdma_write_back {
    volatile uint32_t *memory; /* the ring's address for the processor */
    uint32_t entries;
    uint32_t index;            /* the record that is read next */
    uint32_t phase;            /* bit 0 of its last word, when it is there */
    uint32_t misses;           /* looks for a record that were in vain */
};

#define CDMA_FIELD(value, name) (((value) & name##_MASK) >> name##_SHIFT)

/* A sentence for an error code or a status. */
CDMA_INLINE const char *cdma_error_text(int error)
{
    switch (error) {
#define CDMA_TEXT(name, code, text) case (int)code: return text;
    CDMA_STATUSES(CDMA_TEXT)
#undef CDMA_TEXT
    case CDMA_E_NO_ENGINE: return "there is no engine at this address";
    case CDMA_E_VERSION: return "the engine's register map is of another version than NAME_regs.h";
    case CDMA_E_FULL: return "no free place for a descriptor: take completions first";
    case CDMA_E_PENDING: return "no completion yet";
    case CDMA_E_TIMEOUT: return "gave up waiting, but the engine goes on: drain or reset it, or raise cdma.polls";
    case CDMA_E_RING_SIZE:
        return "a ring has 2 to 65536 entries (a power of two), is aligned to 64 bytes, and ends within the addresses";
    case CDMA_E_ARGUMENT:
        return "a pointer is null, the operation is not offload, prefetch or the ring's, or a value is too large";
    case CDMA_E_BUSY:
        return "take the completions of submitted descriptors before a blocking call, and before attributes change";
    case CDMA_E_TAG: return "tags from 0x80000000 on are the driver's own";
    case CDMA_E_REFUSED:
        return "the engine refused it: the ring is outside the link's window, or a ring or a descriptor is in the way";
    case CDMA_E_RING_DISABLED: return "the ring is disabled: a descriptor could not be read, or the engine was reset";
    case CDMA_E_RESET: return "the soft reset does not end: is the engine's clock on? reset it by its pin";
    case CDMA_E_WINDOW:
        return "base and limit of a window are multiples of 4096 within the addresses, the limit not below the base";
    case CDMA_E_LOCKED:
        return "address windows and attributes are locked: only a reset of the engine by its pin opens them";
    case CDMA_E_NOT_BUILT: return "the engine was built without this: see its FEATURES register, and its parameters";
    default: return "unknown error";
    }
}

/* Whether an operation is one. */
CDMA_INLINE int cdma_operation_known(unsigned operation)
{
    return operation == CDMA_OPERATION_OFFLOAD || operation == CDMA_OPERATION_PREFETCH;
}

/* The index of an operation's direction in arrays of struct cdma. */
CDMA_INLINE unsigned cdma_direction(unsigned operation)
{
    return operation == CDMA_OPERATION_PREFETCH;
}

/* The offset of the registers of an operation's direction. */
CDMA_INLINE uint32_t cdma_page(unsigned operation)
{
    return operation == CDMA_OPERATION_PREFETCH ? CDMA_PREFETCH_PAGE : CDMA_OFFLOAD_PAGE;
}

/* Read a register of an operation's direction. */
CDMA_INLINE uint32_t cdma_read_channel(const struct cdma *engine, unsigned operation, uint32_t offset)
{
    return engine->read(engine->bus, cdma_page(operation) + offset);
}

/* Write a register of an operation's direction. */
CDMA_INLINE void cdma_write_channel(const struct cdma *engine, unsigned operation, uint32_t offset, uint32_t value)
{
    engine->write(engine->bus, cdma_page(operation) + offset, value);
}

/* Whether a call that has polled so many times gives up; counts the polls. */
CDMA_INLINE int cdma_gives_up(const struct cdma *engine, unsigned long *polls)
{
    CDMA_RELAX();
    return (engine->polls && ++*polls == engine->polls) || CDMA_STOP(engine);
}

/* The smallest n from 1 on with 2^n at least the given cycles, or the largest that the register holds; 0 for none. */
CDMA_INLINE uint32_t cdma_time_limit_log2(uint64_t cycles)
{
    uint64_t left;
    uint32_t n = 1;

    if (!cycles)
        return 0;
    /* Shifts by one, because some processors need a library to shift 64 bits by a variable. */
    for (left = (cycles - 1) >> 1; left && n < CDMA_REG_TIME_LIMIT_LINK_MASK >> CDMA_REG_TIME_LIMIT_LINK_SHIFT;
         left >>= 1)
        n++;
    return n;
}

/*
 * How many cycles the link and the lanes may go without an answer before a transfer ends with
 * CDMA_STATUS_..._TIMEOUT. Both are rounded up to a power of two from 2 on, and the engine may take twice as long;
 * 0: no limit.
 */
CDMA_INLINE int cdma_set_time_limit(struct cdma *engine, uint64_t link_cycles, uint64_t lane_cycles)
{
    if (!engine)
        return CDMA_E_ARGUMENT;
    engine->write(engine->bus, CDMA_REG_TIME_LIMIT,
                  cdma_time_limit_log2(link_cycles) << CDMA_REG_TIME_LIMIT_LINK_SHIFT
                  | cdma_time_limit_log2(lane_cycles) << CDMA_REG_TIME_LIMIT_LANES_SHIFT);
    return 0;
}

/* Whether address windows and attributes are locked. */
CDMA_INLINE int cdma_locked(const struct cdma *engine)
{
    return engine->address_windows
        && (engine->read(engine->bus, CDMA_REG_WINDOW_CONTROL) & CDMA_REG_WINDOW_CONTROL_LOCK_MASK) != 0;
}

/* Attributes of the bursts of a port, in the words of AXI; what they mean is the system's business. */
struct cdma_attributes {
    unsigned cache; /* AxCACHE */
    unsigned prot;  /* AxPROT */
    unsigned qos;   /* AxQOS */
    unsigned user;  /* AxUSER */
};

/* Write one of the two registers of attributes. */
CDMA_INLINE int cdma_set_attributes(struct cdma *engine, uint32_t offset, const struct cdma_attributes *chosen)
{
    uint32_t value, before;

    if (!engine || !chosen || chosen->cache > 15 || chosen->prot > 7 || chosen->qos > 15 || chosen->user > 0xffff)
        return CDMA_E_ARGUMENT;
    if ((chosen->cache & 12) && !(chosen->cache & 2))
        return CDMA_E_ARGUMENT; /* AXI4 defines no 4, 5, 8, 9, 12, 13: only what is modifiable is allocated */
    if (!engine->attribute_registers)
        return CDMA_E_NOT_BUILT;
    if (cdma_locked(engine))
        return CDMA_E_LOCKED;
    if (engine->read(engine->bus, CDMA_REG_STATUS)
        & (CDMA_REG_STATUS_OFFLOAD_BUSY_MASK | CDMA_REG_STATUS_PREFETCH_BUSY_MASK))
        return CDMA_E_BUSY;
    value = (uint32_t)chosen->cache << CDMA_REG_LANE_ATTRIBUTES_CACHE_SHIFT
            | (uint32_t)chosen->prot << CDMA_REG_LANE_ATTRIBUTES_PROT_SHIFT
            | (uint32_t)chosen->qos << CDMA_REG_LANE_ATTRIBUTES_QOS_SHIFT
            | (uint32_t)chosen->user << CDMA_REG_LANE_ATTRIBUTES_USER_SHIFT;
    before = engine->read(engine->bus, offset);
    engine->write(engine->bus, offset, value);
    if (engine->read(engine->bus, offset) == value)
        return 0;
    engine->write(engine->bus, offset, before); /* bits of AxUSER that were not built read as 0 */
    return CDMA_E_ARGUMENT;
}

/*
 * Choose the attributes of all lanes' ports for the bursts that follow; a reset brings those back that the engine was
 * built with. Only while no descriptor is at work, and not after cdma_lock_windows: then what was chosen stays.
 */
CDMA_INLINE int cdma_set_lane_attributes(struct cdma *engine, const struct cdma_attributes *chosen)
{
    return cdma_set_attributes(engine, CDMA_REG_LANE_ATTRIBUTES, chosen);
}

/* The same for the link's port: block streams, and descriptors of the rings. */
CDMA_INLINE int cdma_set_link_attributes(struct cdma *engine, const struct cdma_attributes *chosen)
{
    return cdma_set_attributes(engine, CDMA_REG_LINK_ATTRIBUTES, chosen);
}

/* The bits of STATUS that say that a port of a direction is isolated. An offload reads page lists at the link. */
CDMA_INLINE uint32_t cdma_isolated_mask(const struct cdma *engine, unsigned operation)
{
    return operation == CDMA_OPERATION_PREFETCH
        ? CDMA_REG_STATUS_LINK_READ_ISOLATED_MASK | CDMA_REG_STATUS_LANE_WRITE_ISOLATED_MASK
        : CDMA_REG_STATUS_LANE_READ_ISOLATED_MASK | CDMA_REG_STATUS_LINK_WRITE_ISOLATED_MASK
          | (engine->page_lists ? CDMA_REG_STATUS_LINK_READ_ISOLATED_MASK : 0);
}

/* Whether a port may still access the memory of a transfer of a direction that was reported as timed out or aborted. */
CDMA_INLINE int cdma_isolated(const struct cdma *engine, unsigned operation)
{
    return (engine->read(engine->bus, CDMA_REG_STATUS) & cdma_isolated_mask(engine, operation)) != 0;
}

/*
 * Abort all transfers and put every register and queue back to its reset value. Completions that were not taken are
 * lost, and rings must be initialised again. Ports that do not answer do not hold it up.
 */
CDMA_INLINE int cdma_reset(struct cdma *engine)
{
    unsigned long polls = 0;
    unsigned direction;

    if (!engine)
        return CDMA_E_ARGUMENT;
    engine->write(engine->bus, CDMA_REG_TIME_LIMIT,
                  (uint32_t)CDMA_RESET_TIME_LIMIT << CDMA_REG_TIME_LIMIT_LINK_SHIFT
                  | (uint32_t)CDMA_RESET_TIME_LIMIT << CDMA_REG_TIME_LIMIT_LANES_SHIFT);
    engine->write(engine->bus, CDMA_REG_CONTROL, CDMA_REG_CONTROL_SOFT_RESET_MASK);
    while (engine->read(engine->bus, CDMA_REG_CONTROL) & CDMA_REG_CONTROL_SOFT_RESET_MASK) {
        CDMA_RELAX();
        if (++polls == CDMA_RESET_POLLS || CDMA_STOP(engine))
            return CDMA_E_RESET;
    }
    for (direction = 0; direction < 2; direction++) {
        engine->late[direction] = engine->pending[direction] = 0;
        engine->records[direction] = 0;
    }
    return 0;
}

/* Find an engine, reset it, and read what was built. */
CDMA_INLINE int cdma_init(struct cdma *engine, void *bus, cdma_write_fn write, cdma_read_fn read)
{
    uint32_t version, geometry, sizes, features;
    uint32_t least = CDMA_VERSION_MINOR; /* a variable, because compilers warn of "less than the constant 0" */
    int error;

    if (!engine || !write || !read)
        return CDMA_E_ARGUMENT;
    engine->bus = bus;
    engine->write = write;
    engine->read = read;
    engine->polls = 100000000ul;
    engine->calls[0] = engine->calls[1] = 0;
    if (read(bus, CDMA_REG_MAGIC) != CDMA_MAGIC)
        return CDMA_E_NO_ENGINE;
    version = read(bus, CDMA_REG_VERSION);
    if (CDMA_FIELD(version, CDMA_REG_VERSION_MAJOR) != CDMA_VERSION_MAJOR
        || CDMA_FIELD(version, CDMA_REG_VERSION_MINOR) < least)
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
    engine->crc = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_CRC);
    engine->narrowing = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_NARROWING);
    engine->page_lists = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_PAGE_LISTS);
    engine->address_windows = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_ADDRESS_WINDOWS);
    engine->attribute_registers = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_ATTRIBUTE_REGISTERS);
    engine->write_back = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_WRITE_BACK);
    engine->buffer_parity = (int)CDMA_FIELD(features, CDMA_REG_FEATURES_BUFFER_PARITY);
    return 0;
}

/* Whether an address has only bits that were built, of which there are 32 at least: used by the functions below. */
CDMA_INLINE int cdma_reachable(const struct cdma *engine, uint64_t address)
{
    return engine->address_bits >= 64 || !((uint32_t)(address >> 32) >> ((engine->address_bits - 32) & 31));
}

/* Whether base and limit of a window are allowed: used by cdma_set_windows. */
CDMA_INLINE int cdma_window_allowed(const struct cdma *engine, const struct cdma_window *window)
{
    if (((window->base | window->limit) & 4095) || (window->limit && window->limit < window->base))
        return 0;
    return cdma_reachable(engine, window->base) && (!window->limit || cdma_reachable(engine, window->limit - 1));
}

/* Write 64 bits to two registers: used by cdma_set_windows. */
CDMA_INLINE void cdma_write_pair(struct cdma *engine, uint32_t offset, uint64_t value)
{
    engine->write(engine->bus, offset, (uint32_t)value);
    engine->write(engine->bus, offset + 4, (uint32_t)(value >> 32));
}

/*
 * Confine descriptors and rings to a part of device memory and of link memory. CDMA_E_REFUSED: a ring is enabled or a
 * descriptor is being processed, and only some of the registers may have been written; disable the rings, wait for the
 * completions, and call it again. A soft reset, so cdma_init and cdma_reset as well, leaves the windows as they are.
 */
CDMA_INLINE int cdma_set_windows(struct cdma *engine, const struct cdma_window *device,
                                   const struct cdma_window *link)
{
    if (!engine || !device || !link)
        return CDMA_E_ARGUMENT;
    if (!engine->address_windows)
        return CDMA_E_NOT_BUILT;
    if (!cdma_window_allowed(engine, device) || !cdma_window_allowed(engine, link))
        return CDMA_E_WINDOW;
    if (cdma_locked(engine))
        return CDMA_E_LOCKED;
    engine->write(engine->bus, CDMA_REG_REFUSED, CDMA_REG_REFUSED_ADDRESS_WINDOW_MASK);
    cdma_write_pair(engine, CDMA_REG_DEVICE_BASE_LO, device->base);
    cdma_write_pair(engine, CDMA_REG_DEVICE_LIMIT_LO, device->limit);
    cdma_write_pair(engine, CDMA_REG_LINK_BASE_LO, link->base);
    cdma_write_pair(engine, CDMA_REG_LINK_LIMIT_LO, link->limit);
    if (engine->read(engine->bus, CDMA_REG_REFUSED) & CDMA_REG_REFUSED_ADDRESS_WINDOW_MASK)
        return CDMA_E_REFUSED;
    return 0;
}

/* Lock address windows and attributes: from now on only a reset of the engine by its pin changes them. */
CDMA_INLINE int cdma_lock_windows(struct cdma *engine)
{
    if (!engine)
        return CDMA_E_ARGUMENT;
    if (!engine->address_windows)
        return CDMA_E_NOT_BUILT;
    if (cdma_locked(engine))
        return CDMA_E_LOCKED;
    engine->write(engine->bus, CDMA_REG_WINDOW_CONTROL, CDMA_REG_WINDOW_CONTROL_LOCK_MASK);
    return cdma_locked(engine) ? 0 : CDMA_E_REFUSED;
}

/*
 * A capacity that holds the block stream of a tensor of this length, whatever its values and its coding are, unless
 * CDMA_NO_FALLBACK is set.
 */
CDMA_INLINE uint64_t cdma_capacity(const struct cdma *engine, uint64_t raw_bytes)
{
    uint64_t blocks = raw_bytes;
    uint32_t size;

    /* Blocks have a power of two of bytes; some processors have no division of 64 bits. */
    for (size = engine->block_bytes; size > 1; size >>= 1)
        blocks = (blocks + 1) >> 1;
    return ((raw_bytes + 3) & ~(uint64_t)3) + (blocks << 2);
}

/* The 16 words of a descriptor. */
CDMA_INLINE void cdma_pack(const struct cdma_descriptor *given, uint32_t words[16])
{
    unsigned word;

    for (word = 0; word < 16; word++)
        words[word] = 0;
    words[0] = (uint32_t)given->operation << CDMA_CHANNEL_DESCRIPTOR_0_OPERATION_SHIFT
             | (uint32_t)given->coding << CDMA_CHANNEL_DESCRIPTOR_0_CODING_SHIFT
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
    words[13] = given->pages;
    words[14] = (uint32_t)given->page_size;
}

/* Whether a descriptor's fields fit into its words: used by the functions below. */
CDMA_INLINE int cdma_descriptor_fits(const struct cdma_descriptor *given)
{
    return cdma_operation_known(given->operation) && given->coding <= 0xff && given->flags <= 0xffff
        && given->page_size <= 0xff;
}

/* The buffers of a descriptor are the engine's from now on: called before the engine gets it. */
CDMA_INLINE void cdma_give_buffers(const struct cdma *engine, const struct cdma_descriptor *given)
{
    uint64_t list = (uint64_t)given->pages << 3;

    if (given->operation == CDMA_OPERATION_OFFLOAD) {
        CDMA_BEFORE_READ(engine, CDMA_DEVICE_MEMORY, given->source, given->raw_bytes);
        if (given->flags & CDMA_PAGE_LIST)
            CDMA_BEFORE_READ(engine, CDMA_LINK_MEMORY, given->destination, list);
        else
            CDMA_BEFORE_WRITE(engine, CDMA_LINK_MEMORY, given->destination, given->capacity);
    } else {
        if (given->flags & CDMA_PAGE_LIST)
            CDMA_BEFORE_READ(engine, CDMA_LINK_MEMORY, given->source, list);
        else
            CDMA_BEFORE_READ(engine, CDMA_LINK_MEMORY, given->source, given->packed_bytes);
        CDMA_BEFORE_WRITE(engine, CDMA_DEVICE_MEMORY, given->destination, given->raw_bytes);
    }
}

/*
 * The buffers of a descriptor are the processor's again: call it when cdma_poll or cdma_wait has returned its
 * completion, before the destination is read. Blocking calls do it themselves. It only calls CDMA_AFTER_WRITE.
 */
CDMA_INLINE void cdma_take_buffers(const struct cdma *engine, const struct cdma_descriptor *given)
{
    if (given->operation == CDMA_OPERATION_PREFETCH)
        CDMA_AFTER_WRITE(engine, CDMA_DEVICE_MEMORY, given->destination, given->raw_bytes);
    else if (!(given->flags & CDMA_PAGE_LIST))
        CDMA_AFTER_WRITE(engine, CDMA_LINK_MEMORY, given->destination, given->capacity);
}

/* Push a descriptor through the window, whatever its tag: used by the functions below. */
CDMA_INLINE int cdma_push(struct cdma *engine, const struct cdma_descriptor *given)
{
    unsigned operation = given->operation, word;
    uint32_t words[16];

    if (!cdma_descriptor_fits(given))
        return CDMA_E_ARGUMENT;
    if (!CDMA_FIELD(cdma_read_channel(engine, operation, CDMA_CHANNEL_QUEUE), CDMA_CHANNEL_QUEUE_FREE))
        return CDMA_E_FULL;
    cdma_give_buffers(engine, given);
    cdma_pack(given, words);
    for (word = 0; word < 16; word++)
        cdma_write_channel(engine, operation, CDMA_CHANNEL_DESCRIPTOR_0 + 4 * word, words[word]);
    /* An entry of the ring can take the free place before the doorbell gets to it, so ask whether it was refused. */
    cdma_write_channel(engine, operation, CDMA_CHANNEL_REFUSED, CDMA_CHANNEL_REFUSED_DOORBELL_MASK);
    CDMA_BARRIER();
    cdma_write_channel(engine, operation, CDMA_CHANNEL_DOORBELL, CDMA_CHANNEL_DOORBELL_PUSH_MASK);
    if (CDMA_FIELD(cdma_read_channel(engine, operation, CDMA_CHANNEL_REFUSED), CDMA_CHANNEL_REFUSED_DOORBELL))
        return CDMA_E_FULL;
    return 0;
}

/* Read and write a register of the write-back ring of an operation's direction: used by the functions below. */
CDMA_INLINE uint32_t cdma_read_write_back(const struct cdma *engine, unsigned operation, uint32_t offset)
{
    return engine->read(engine->bus, offset + (operation == CDMA_OPERATION_PREFETCH ? CDMA_PREFETCH_WRITE_BACK_PAGE
                                                                                    : CDMA_OFFLOAD_WRITE_BACK_PAGE));
}

CDMA_INLINE void cdma_write_write_back(const struct cdma *engine, unsigned operation, uint32_t offset, uint32_t value)
{
    engine->write(engine->bus, offset + (operation == CDMA_OPERATION_PREFETCH ? CDMA_PREFETCH_WRITE_BACK_PAGE
                                                                              : CDMA_OFFLOAD_WRITE_BACK_PAGE), value);
}

/* Copy the first 13 words of the next record, if it is there; whether it is: used by cdma_take_record. */
CDMA_INLINE int cdma_copy_record(struct cdma *engine, unsigned operation, uint32_t *words)
{
    struct cdma_write_back *ring = engine->records[cdma_direction(operation)];
    volatile uint32_t *record = ring->memory + 16 * ring->index;
    unsigned word;

    CDMA_CACHE_INVALIDATE(record, CDMA_RECORD_BYTES);
    if ((record[15] & 1) != ring->phase)
        return 0;
    CDMA_READ_BARRIER();
    /* Once more: a cache that fetches a line in parts may have the other words from before the phase. */
    CDMA_CACHE_INVALIDATE(record, CDMA_RECORD_BYTES);
    for (word = 0; word < 13; word++)
        words[word] = record[word];
    ring->index = (ring->index + 1) & (ring->entries - 1);
    if (!ring->index)
        ring->phase ^= 1;
    /* The engine gets places back by halves of the ring, so that few records cost a register write. */
    if (!(ring->index & (ring->entries / 2 - 1))) {
        CDMA_BARRIER();
        cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_HEAD, ring->index);
    }
    return 1;
}

/*
 * Completions of write-back records from TAIL on that were taken from memory, before their responses failed, are in the
 * registers too: remove them. The ring is disabled: used by the functions below.
 */
CDMA_INLINE void cdma_pop_taken(struct cdma *engine, unsigned operation, uint32_t taken)
{
    while (taken--)
        cdma_write_channel(engine, operation, CDMA_CHANNEL_COMPLETION_POP, CDMA_CHANNEL_COMPLETION_POP_POP_MASK);
}

/*
 * Take the next record of the write-back ring; whether there is one: used by cdma_take. Now and then, when there is
 * none, asks whether the ring is still enabled. If not, the last records are taken; then completions are in the
 * registers.
 */
CDMA_INLINE int cdma_take_record(struct cdma *engine, unsigned operation, uint32_t *words)
{
    struct cdma_write_back *ring = engine->records[cdma_direction(operation)];

    if (cdma_copy_record(engine, operation, words)) {
        if (ring->misses < CDMA_WRITE_BACK_POLLS)
            ring->misses = 0;
        return 1;
    }
    if (++ring->misses < CDMA_WRITE_BACK_POLLS)
        return 0;
    ring->misses = 0;
    if (cdma_read_write_back(engine, operation, CDMA_WRITE_BACK_CONTROL) & CDMA_WRITE_BACK_CONTROL_ENABLE_MASK)
        return 0;
    /* Records that came between the look and the question. */
    if (cdma_copy_record(engine, operation, words)) {
        ring->misses = CDMA_WRITE_BACK_POLLS;
        return 1;
    }
    cdma_pop_taken(engine, operation, (ring->index - cdma_read_write_back(engine, operation, CDMA_WRITE_BACK_TAIL))
                                      & (ring->entries - 1));
    engine->records[cdma_direction(operation)] = 0;
    return 0;
}

/* Count a completion that is taken: used by the functions below. */
CDMA_INLINE void cdma_count_taken(struct cdma *engine, unsigned direction, const uint32_t *words)
{
    uint32_t status = CDMA_FIELD(words[1], CDMA_CHANNEL_COMPLETION_1_STATUS);
    uint32_t *open = words[0] >= CDMA_OWN_TAGS ? &engine->late[direction] : &engine->pending[direction];

    /* An entry that could not be read stays in its ring, and is completed when it is read again. */
    if (*open && status != CDMA_STATUS_DESCRIPTOR_READ_ERROR && status != CDMA_STATUS_DESCRIPTOR_READ_TIMEOUT)
        (*open)--;
}

/* Take the oldest completion of a direction, whatever its tag; CDMA_E_PENDING if there is none, else its status. */
CDMA_INLINE int cdma_take(struct cdma *engine, unsigned operation, struct cdma_result *result)
{
    unsigned direction = cdma_direction(operation), word;
    uint32_t words[13];

    if (!engine->records[direction] || !cdma_take_record(engine, operation, words)) {
        if (engine->records[direction] || !CDMA_FIELD(cdma_read_channel(engine, operation, CDMA_CHANNEL_COMPLETIONS),
                                                      CDMA_CHANNEL_COMPLETIONS_COUNT))
            return CDMA_E_PENDING;
        for (word = 0; word < (engine->page_lists ? 13u : 12u); word++)
            words[word] = cdma_read_channel(engine, operation, CDMA_CHANNEL_COMPLETION_0 + 4 * word);
        cdma_write_channel(engine, operation, CDMA_CHANNEL_COMPLETION_POP, CDMA_CHANNEL_COMPLETION_POP_POP_MASK);
        CDMA_BARRIER();
    }
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
    result->pages = engine->page_lists ? words[12] : 0;
    cdma_count_taken(engine, direction, words);
    return (int)result->status;
}

/* Queue a descriptor through the registers, without waiting. */
CDMA_INLINE int cdma_submit(struct cdma *engine, const struct cdma_descriptor *given)
{
    int error;

    if (!engine || !given)
        return CDMA_E_ARGUMENT;
    if (given->tag >= CDMA_OWN_TAGS)
        return CDMA_E_TAG;
    error = cdma_push(engine, given);
    if (!error)
        engine->pending[cdma_direction(given->operation)]++;
    return error;
}

/*
 * Take the oldest completion of submitted descriptors of a direction: CDMA_E_PENDING if there is none, else its status.
 * Completions of blocking calls that gave up are dropped.
 */
CDMA_INLINE int cdma_poll(struct cdma *engine, unsigned operation, struct cdma_result *result)
{
    struct cdma_result found;
    uint32_t taken;
    int status;

    if (!engine || !result || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    /* There are never more completions than places for them, unless the bus itself has failed. */
    for (taken = 0; taken <= engine->queue_depth; taken++) {
        status = cdma_take(engine, operation, &found);
        if (status == CDMA_E_PENDING)
            return status;
        if (found.tag < CDMA_OWN_TAGS) {
            *result = found;
            return status;
        }
    }
    return CDMA_E_PENDING;
}

/* Wait for the oldest completion of submitted descriptors; after CDMA_E_TIMEOUT it can be called again. */
CDMA_INLINE int cdma_wait(struct cdma *engine, unsigned operation, struct cdma_result *result)
{
    unsigned long polls = 0;
    int status;

    while ((status = cdma_poll(engine, operation, result)) == CDMA_E_PENDING)
        if (cdma_gives_up(engine, &polls))
            return CDMA_E_TIMEOUT;
    return status;
}

/*
 * Queue a descriptor with a tag of the driver's own and wait for its completion: used by cdma_offload and
 * cdma_prefetch. The result is written only when that completion came.
 */
CDMA_INLINE int cdma_run(struct cdma *engine, struct cdma_descriptor *given, struct cdma_result *result)
{
    unsigned direction = cdma_direction(given->operation);
    struct cdma_result found;
    unsigned long polls = 0;
    int status;

    if (!result)
        return CDMA_E_ARGUMENT;
    if (engine->pending[direction])
        return CDMA_E_BUSY;
    given->tag = CDMA_OWN_TAGS | engine->calls[direction];
    status = cdma_push(engine, given);
    if (status)
        return status;
    engine->calls[direction] = (engine->calls[direction] + 1) & (CDMA_OWN_TAGS - 1);
    engine->late[direction]++;
    for (;;) {
        status = cdma_take(engine, given->operation, &found);
        if (status != CDMA_E_PENDING && found.tag == given->tag) {
            cdma_take_buffers(engine, given);
            *result = found;
            return status;
        }
        if (cdma_gives_up(engine, &polls))
            return CDMA_E_TIMEOUT;
    }
}

/*
 * Compress a tensor from device memory to the link, and wait. After CDMA_E_TIMEOUT the transfer goes on, and both
 * buffers are still in use: call cdma_drain before they are used for anything else.
 */
CDMA_INLINE int cdma_offload(struct cdma *engine, uint64_t source, uint64_t destination, uint64_t raw_bytes,
                               uint64_t capacity, unsigned coding, struct cdma_result *result)
{
    struct cdma_descriptor given = {CDMA_OPERATION_OFFLOAD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    if (!engine)
        return CDMA_E_ARGUMENT;
    given.coding = coding;
    given.source = source;
    given.destination = destination;
    given.raw_bytes = raw_bytes;
    given.capacity = capacity;
    return cdma_run(engine, &given, result);
}

/*
 * Expand a block stream from the link into device memory, check its CRC if the engine can, and wait. CDMA_E_TIMEOUT: as
 * for cdma_offload.
 */
CDMA_INLINE int cdma_prefetch(struct cdma *engine, uint64_t source, uint64_t destination, uint64_t packed_bytes,
                                uint64_t raw_bytes, unsigned coding, uint32_t crc, struct cdma_result *result)
{
    struct cdma_descriptor given = {CDMA_OPERATION_PREFETCH, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    if (!engine)
        return CDMA_E_ARGUMENT;
    given.coding = coding;
    if (engine->crc)
        given.flags = CDMA_CHECK_CRC;
    given.source = source;
    given.destination = destination;
    given.raw_bytes = raw_bytes;
    given.capacity = raw_bytes;
    given.packed_bytes = packed_bytes;
    given.crc = crc;
    return cdma_run(engine, &given, result);
}

/* As cdma_offload, into pages of link memory; result->pages of them are used, and the others are free. */
CDMA_INLINE int cdma_offload_pages(struct cdma *engine, uint64_t source, const struct cdma_pages *pages,
                                     uint64_t raw_bytes, uint64_t capacity, unsigned coding,
                                     struct cdma_result *result)
{
    struct cdma_descriptor given = {CDMA_OPERATION_OFFLOAD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    if (!engine || !pages)
        return CDMA_E_ARGUMENT;
    if (!engine->page_lists)
        return CDMA_E_NOT_BUILT;
    given.coding = coding;
    given.flags = CDMA_PAGE_LIST;
    given.source = source;
    given.destination = pages->list;
    given.raw_bytes = raw_bytes;
    given.capacity = capacity;
    given.pages = pages->pages;
    given.page_size = pages->page_size;
    return cdma_run(engine, &given, result);
}

/* As cdma_prefetch, from pages of link memory. */
CDMA_INLINE int cdma_prefetch_pages(struct cdma *engine, const struct cdma_pages *pages, uint64_t destination,
                                      uint64_t packed_bytes, uint64_t raw_bytes, unsigned coding, uint32_t crc,
                                      struct cdma_result *result)
{
    struct cdma_descriptor given = {CDMA_OPERATION_PREFETCH, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    if (!engine || !pages)
        return CDMA_E_ARGUMENT;
    if (!engine->page_lists)
        return CDMA_E_NOT_BUILT;
    given.coding = coding;
    given.flags = CDMA_PAGE_LIST;
    if (engine->crc)
        given.flags |= CDMA_CHECK_CRC;
    given.source = pages->list;
    given.destination = destination;
    given.raw_bytes = raw_bytes;
    given.capacity = raw_bytes;
    given.packed_bytes = packed_bytes;
    given.crc = crc;
    given.pages = pages->pages;
    given.page_size = pages->page_size;
    return cdma_run(engine, &given, result);
}

/*
 * Let events raise the interrupt, and no others: CDMA_REG_IRQ_ENABLE_..._MASK, or 0 for none. The completion of a
 * descriptor is an event only if it has the flag CDMA_INTERRUPT. CDMA_E_NOT_BUILT: this engine does not have all of the
 * events; the others are enabled.
 */
CDMA_INLINE int cdma_enable_interrupts(const struct cdma *engine, uint32_t events)
{
    if (!engine)
        return CDMA_E_ARGUMENT;
    engine->write(engine->bus, CDMA_REG_IRQ_ENABLE, events);
    return engine->read(engine->bus, CDMA_REG_IRQ_ENABLE) == events ? 0 : CDMA_E_NOT_BUILT;
}

/*
 * Take the events since the last call, for an interrupt handler: they are cleared, so that the interrupt ends. Take
 * completions after it, so that none is missed. Events are CDMA_REG_IRQ_STATUS_..._MASK.
 */
CDMA_INLINE uint32_t cdma_take_events(const struct cdma *engine)
{
    uint32_t events = engine->read(engine->bus, CDMA_REG_IRQ_STATUS);

    if (events)
        engine->write(engine->bus, CDMA_REG_IRQ_STATUS, events);
    return events;
}

/* What a direction has counted. */
struct cdma_counters {
    uint64_t raw_bytes;        /* of the transfers that succeeded */
    uint64_t packed_bytes;     /* of their block streams */
    uint64_t busy_cycles;      /* cycles in which a descriptor was being processed */
    uint64_t link_busy_cycles; /* cycles with a beat of a block stream on the link */
    uint64_t memory_stalls;    /* cycles in which lanes waited for their memory controllers, summed over all */
    uint64_t buffer_stalls;    /* cycles in which lanes waited for their buffers, summed over all */
};

/* Read a counter of the last snapshot by its number from 0: used by cdma_take_counters. */
CDMA_INLINE uint64_t cdma_read_counter(const struct cdma *engine, unsigned operation, uint32_t number)
{
    uint32_t offset = CDMA_CHANNEL_RAW_BYTES_LO + 8 * number;
    uint32_t low = cdma_read_channel(engine, operation, offset);

    return low | (uint64_t)cdma_read_channel(engine, operation, offset + 4) << 32;
}

/*
 * How many errors of parity lanes of a direction found in their memories since the last reset; 65535: at least as many.
 * CDMA_E_NOT_BUILT: the engine has no parity.
 */
CDMA_INLINE int cdma_buffer_errors(const struct cdma *engine, unsigned operation, uint32_t *count)
{
    uint32_t errors;

    if (!engine || !count || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    if (!engine->buffer_parity)
        return CDMA_E_NOT_BUILT;
    errors = engine->read(engine->bus, CDMA_REG_BUFFER_ERRORS);
    *count = operation == CDMA_OPERATION_OFFLOAD ? CDMA_FIELD(errors, CDMA_REG_BUFFER_ERRORS_OFFLOAD)
                                                 : CDMA_FIELD(errors, CDMA_REG_BUFFER_ERRORS_PREFETCH);
    return 0;
}

/*
 * Change a bit of what is read next from a memory of a lane (CDMA_MEMORY_...), to test what happens then: the transfer
 * ends with CDMA_STATUS_BUFFER_PARITY, or is repeated if others are at work beside it. A memory that was not built is
 * never read.
 */
CDMA_INLINE int cdma_inject_buffer_error(struct cdma *engine, unsigned lane, unsigned memory)
{
    if (!engine || lane >= engine->lanes || memory > CDMA_MEMORY_BURST_BEATS
        || (memory > CDMA_MEMORY_FRAMED_ROWS && memory < CDMA_MEMORY_PAYLOAD_ROWS))
        return CDMA_E_ARGUMENT;
    if (!engine->buffer_parity)
        return CDMA_E_NOT_BUILT;
    engine->write(engine->bus, CDMA_REG_BUFFER_INJECT, CDMA_REG_BUFFER_INJECT_INJECT_MASK
                  | (uint32_t)lane << CDMA_REG_BUFFER_INJECT_LANE_SHIFT
                  | (uint32_t)memory << CDMA_REG_BUFFER_INJECT_MEMORY_SHIFT);
    return 0;
}

/* Read the counters of a direction since the last call, and set them to zero. */
CDMA_INLINE int cdma_take_counters(const struct cdma *engine, unsigned operation, struct cdma_counters *counters)
{
    if (!engine || !counters || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    cdma_write_channel(engine, operation, CDMA_CHANNEL_COUNTER_CONTROL,
                       CDMA_CHANNEL_COUNTER_CONTROL_SNAPSHOT_MASK | CDMA_CHANNEL_COUNTER_CONTROL_CLEAR_MASK);
    counters->raw_bytes = cdma_read_counter(engine, operation, 0);
    counters->packed_bytes = cdma_read_counter(engine, operation, 1);
    counters->busy_cycles = cdma_read_counter(engine, operation, 2);
    counters->link_busy_cycles = cdma_read_counter(engine, operation, 3);
    counters->memory_stalls = cdma_read_counter(engine, operation, 4);
    counters->buffer_stalls = cdma_read_counter(engine, operation, 5);
    return 0;
}

/* End the oldest running transfer of a direction; its completion has CDMA_STATUS_ABORTED unless it was done. */
CDMA_INLINE int cdma_abort(struct cdma *engine, unsigned operation)
{
    if (!engine || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    cdma_write_channel(engine, operation, CDMA_CHANNEL_ABORT, CDMA_CHANNEL_ABORT_ABORT_MASK);
    return 0;
}

/* Disable the ring of a direction, and wait until no entry is being read: used by the functions below. */
CDMA_INLINE int cdma_stop_ring(struct cdma *engine, unsigned operation)
{
    unsigned long polls = 0;

    cdma_write_channel(engine, operation, CDMA_CHANNEL_RING_CONTROL, 0);
    while (CDMA_FIELD(cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_CONTROL),
                      CDMA_CHANNEL_RING_CONTROL_ENABLE))
        if (cdma_gives_up(engine, &polls))
            return CDMA_E_TIMEOUT;
    return 0;
}

/* Disable the write-back ring of a direction, if there is one, and wait until no record is being written. */
CDMA_INLINE int cdma_write_back_disable(struct cdma *engine, unsigned operation)
{
    struct cdma_write_back *ring;
    unsigned long polls = 0;

    if (!engine || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    ring = engine->records[cdma_direction(operation)];
    if (!ring)
        return 0;
    cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_CONTROL, 0);
    while (cdma_read_write_back(engine, operation, CDMA_WRITE_BACK_CONTROL) & CDMA_WRITE_BACK_CONTROL_ENABLE_MASK)
        if (cdma_gives_up(engine, &polls))
            return CDMA_E_TIMEOUT;
    /* cdma_poll takes the records that are left, then goes over to the registers. */
    ring->misses = CDMA_WRITE_BACK_POLLS;
    return 0;
}

/* Entries of the ring of a direction that the engine has not read; the ring is disabled. */
CDMA_INLINE uint32_t cdma_unread(struct cdma *engine, unsigned operation)
{
    uint32_t tail = cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_TAIL);
    uint32_t head = cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_HEAD);

    return (tail - head) & (cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_SIZE) - 1);
}

/*
 * End all transfers of a direction, and wait until the engine uses no buffer of it any more: for a caller that gives up
 * after CDMA_E_TIMEOUT, or wants to stop. Aborts what runs and drops all completions that were not taken. Disables the
 * ring; entries that were not read stay in it until cdma_ring_enable or cdma_ring_init. Disables the write-back ring as
 * well; completions are in the registers until cdma_write_back_init. CDMA_E_TIMEOUT: a memory does not answer, and may
 * still be accessed while cdma_isolated says so.
 */
CDMA_INLINE int cdma_drain(struct cdma *engine, unsigned operation)
{
    unsigned direction = cdma_direction(operation);
    uint32_t busy, waiting, running, completions;
    unsigned long polls = 0;
    int error;

    if (!engine || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    busy = cdma_isolated_mask(engine, operation)
           | (operation == CDMA_OPERATION_PREFETCH ? CDMA_REG_STATUS_PREFETCH_BUSY_MASK
                                                   : CDMA_REG_STATUS_OFFLOAD_BUSY_MASK);
    error = cdma_stop_ring(engine, operation);
    if (!error)
        error = cdma_write_back_disable(engine, operation);
    if (error)
        return error;
    engine->records[direction] = 0;
    for (;;) {
        /* In the order in which a descriptor passes them, so that none is missed. */
        waiting = CDMA_FIELD(cdma_read_channel(engine, operation, CDMA_CHANNEL_QUEUE), CDMA_CHANNEL_QUEUE_LEVEL);
        running = engine->read(engine->bus, CDMA_REG_STATUS) & busy;
        completions = CDMA_FIELD(cdma_read_channel(engine, operation, CDMA_CHANNEL_COMPLETIONS),
                                 CDMA_CHANNEL_COMPLETIONS_COUNT);
        if (running)
            cdma_abort(engine, operation);
        if (completions)
            cdma_write_channel(engine, operation, CDMA_CHANNEL_COMPLETION_POP, CDMA_CHANNEL_COMPLETION_POP_POP_MASK);
        else if (!waiting && !running)
            break;
        if (cdma_gives_up(engine, &polls))
            return CDMA_E_TIMEOUT;
    }
    CDMA_BARRIER();
    engine->late[direction] = 0;
    engine->pending[direction] = cdma_unread(engine, operation);
    return 0;
}

/* Let the engine read the ring, again after a descriptor could not be read or the ring was disabled. */
CDMA_INLINE int cdma_ring_enable(struct cdma_ring *ring)
{
    struct cdma *engine;

    if (!ring)
        return CDMA_E_ARGUMENT;
    engine = ring->engine;
    cdma_write_channel(engine, ring->operation, CDMA_CHANNEL_REFUSED, CDMA_CHANNEL_REFUSED_RING_MASK);
    cdma_write_channel(engine, ring->operation, CDMA_CHANNEL_RING_CONTROL, CDMA_CHANNEL_RING_CONTROL_ENABLE_MASK);
    if (CDMA_FIELD(cdma_read_channel(engine, ring->operation, CDMA_CHANNEL_REFUSED), CDMA_CHANNEL_REFUSED_RING))
        return CDMA_E_REFUSED;
    return 0;
}

/* Let the engine read no more of the ring, and wait until it has stopped; descriptors that were read are still done. */
CDMA_INLINE int cdma_ring_disable(struct cdma_ring *ring)
{
    return ring ? cdma_stop_ring(ring->engine, ring->operation) : CDMA_E_ARGUMENT;
}

/* Whether a ring of either kind may have this place and size: used by the functions below. */
CDMA_INLINE int cdma_ring_allowed(const struct cdma *engine, uint64_t address, uint32_t entries)
{
    uint64_t last = address + entries * CDMA_RECORD_BYTES - 1;

    return entries >= 2 && entries <= 65536 && !(entries & (entries - 1)) && !(address & (CDMA_RECORD_BYTES - 1))
        && last > address && cdma_reachable(engine, last);
}

/*
 * Let the engine read descriptors of a direction from a new, empty ring: `memory` is its address for the processor,
 * `address` the one on the link. The ring that was there before is disabled, and entries of it that were not read are
 * lost.
 */
CDMA_INLINE int cdma_ring_init(struct cdma_ring *ring, struct cdma *engine, unsigned operation,
                                 volatile uint32_t *memory, uint64_t address, uint32_t entries)
{
    unsigned direction = cdma_direction(operation);
    uint32_t unread;
    int error;

    if (!ring || !engine || !memory || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    if (!cdma_ring_allowed(engine, address, entries))
        return CDMA_E_RING_SIZE;
    ring->engine = engine;
    ring->operation = operation;
    ring->memory = memory;
    ring->entries = entries;
    ring->tail = ring->head = 0;
    error = cdma_stop_ring(engine, operation);
    if (error)
        return error;
    unread = cdma_unread(engine, operation);
    cdma_write_channel(engine, operation, CDMA_CHANNEL_RING_BASE_LO, (uint32_t)address);
    cdma_write_channel(engine, operation, CDMA_CHANNEL_RING_BASE_HI, (uint32_t)(address >> 32));
    cdma_write_channel(engine, operation, CDMA_CHANNEL_RING_SIZE, entries);
    if (cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_BASE_LO) != (uint32_t)address
        || cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_BASE_HI) != (uint32_t)(address >> 32)
        || cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_SIZE) != entries)
        return CDMA_E_REFUSED;
    engine->pending[direction] -= unread < engine->pending[direction] ? unread : engine->pending[direction];
    return cdma_ring_enable(ring);
}

/* Put a descriptor into the ring, and tell the engine; its completion comes as after cdma_submit. */
CDMA_INLINE int cdma_ring_submit(struct cdma_ring *ring, const struct cdma_descriptor *given)
{
    struct cdma *engine;
    unsigned operation, word;
    uint32_t next, words[16];

    if (!ring || !given || given->operation != ring->operation || !cdma_descriptor_fits(given))
        return CDMA_E_ARGUMENT;
    engine = ring->engine;
    operation = ring->operation;
    next = (ring->tail + 1) & (ring->entries - 1);
    if (given->tag >= CDMA_OWN_TAGS)
        return CDMA_E_TAG;
    if (!CDMA_FIELD(cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_CONTROL),
                    CDMA_CHANNEL_RING_CONTROL_ENABLE))
        return CDMA_E_RING_DISABLED;
    if (next == ring->head) {
        ring->head = cdma_read_channel(engine, operation, CDMA_CHANNEL_RING_HEAD);
        if (next == ring->head)
            return CDMA_E_FULL;
    }
    cdma_pack(given, words);
    for (word = 0; word < 16; word++)
        ring->memory[16 * ring->tail + word] = words[word];
    CDMA_CACHE_CLEAN(ring->memory + 16 * ring->tail, CDMA_RECORD_BYTES);
    cdma_give_buffers(engine, given);
    CDMA_BARRIER();
    cdma_write_channel(engine, operation, CDMA_CHANNEL_RING_TAIL, next);
    ring->tail = next;
    engine->pending[cdma_direction(operation)]++;
    return 0;
}

/* Leave the write-back ring of a direction, which is disabled: used by cdma_write_back_init. */
CDMA_INLINE void cdma_leave_records(struct cdma *engine, unsigned operation)
{
    unsigned direction = cdma_direction(operation);
    struct cdma_write_back *ring = engine->records[direction];
    uint32_t late = engine->late[direction], pending = engine->pending[direction];
    uint32_t tail, words[13];
    struct cdma_write_back before;

    if (!ring)
        return;
    before = *ring;
    tail = cdma_read_write_back(engine, operation, CDMA_WRITE_BACK_TAIL);
    while (ring->index != tail && cdma_copy_record(engine, operation, words))
        cdma_count_taken(engine, direction, words);
    if (ring->index != tail) {
        /* More records were taken than TAIL counts. Of the others from TAIL on, completions stay in the registers. */
        *ring = before;
        engine->late[direction] = late;
        engine->pending[direction] = pending;
        cdma_pop_taken(engine, operation, (ring->index - tail) & (ring->entries - 1));
    }
    engine->records[direction] = 0;
}

/*
 * Let the engine write the completions of a direction to a new ring: `memory` is its address for the processor,
 * `address` the one on the link. From then on cdma_poll, cdma_wait and blocking calls look into memory, and read a
 * register only now and then. The processor must see what the engine writes: memory that is not coherent has to be
 * mapped uncached, or CDMA_CACHE_INVALIDATE be defined. Records of a ring that was there before are lost, if they were
 * not taken. CDMA_E_TIMEOUT: the link has not answered a record of it, which may still be written.
 */
CDMA_INLINE int cdma_write_back_init(struct cdma_write_back *ring, struct cdma *engine, unsigned operation,
                                       volatile uint32_t *memory, uint64_t address, uint32_t entries)
{
    unsigned long polls = 0;
    uint32_t word;
    int error;

    if (!ring || !engine || !memory || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    if (!engine->write_back)
        return CDMA_E_NOT_BUILT;
    if (!cdma_ring_allowed(engine, address, entries))
        return CDMA_E_RING_SIZE;
    error = cdma_write_back_disable(engine, operation);
    if (error)
        return error;
    while (engine->read(engine->bus, CDMA_REG_STATUS) & CDMA_REG_STATUS_LINK_WRITE_ISOLATED_MASK)
        if (cdma_gives_up(engine, &polls))
            return CDMA_E_TIMEOUT;
    cdma_leave_records(engine, operation);
    ring->memory = memory;
    ring->entries = entries;
    ring->index = ring->misses = 0;
    ring->phase = 1;
    for (word = 0; word < 16 * entries; word++)
        memory[word] = 0;
    CDMA_CACHE_CLEAN(memory, entries * CDMA_RECORD_BYTES);
    CDMA_BARRIER();
    cdma_write_channel(engine, operation, CDMA_CHANNEL_REFUSED, CDMA_CHANNEL_REFUSED_WRITE_BACK_MASK);
    cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_BASE_LO, (uint32_t)address);
    cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_BASE_HI, (uint32_t)(address >> 32));
    cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_SIZE, entries);
    cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_CONTROL, CDMA_WRITE_BACK_CONTROL_ENABLE_MASK);
    if (cdma_read_channel(engine, operation, CDMA_CHANNEL_REFUSED) & CDMA_CHANNEL_REFUSED_WRITE_BACK_MASK)
        return CDMA_E_REFUSED;
    engine->records[cdma_direction(operation)] = ring;
    return 0;
}

/*
 * Report completions of a write-back ring together: after `count` records (at least 1, at most 65535), or so many
 * cycles after the first one (0: however long it takes; below 2^24). Errors are reported at once.
 */
CDMA_INLINE int cdma_set_coalescing(struct cdma *engine, unsigned operation, uint32_t count, uint32_t cycles)
{
    if (!engine || !cdma_operation_known(operation))
        return CDMA_E_ARGUMENT;
    if (!engine->write_back)
        return CDMA_E_NOT_BUILT;
    if (!count || count > CDMA_WRITE_BACK_COALESCE_COUNT_MASK || cycles > CDMA_WRITE_BACK_TIME_CYCLES_MASK)
        return CDMA_E_ARGUMENT;
    cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_COALESCE, count);
    cdma_write_write_back(engine, operation, CDMA_WRITE_BACK_TIME, cycles);
    return 0;
}

#endif
