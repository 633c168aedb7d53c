/* The driver in C as a library for Python: its functions by their names, and hooks that are chosen at run time. */
#include <stdint.h>
#include "regs.h"

/* What a hook returns, and whether it came to its end: a signal's exception can end it before it can catch that. */
struct answer {
    uint32_t value, done;
};

/* What Python gives for each engine; `bus` of struct cdma points to it. Null hooks are not called. */
struct hooks {
    unsigned long reset_time_limit, record_polls;
    void (*write)(struct answer *answer, uint32_t offset, uint32_t value);
    void (*read)(struct answer *answer, uint32_t offset);
    void (*go_on)(struct answer *answer);
    void (*clean)(struct answer *answer, volatile uint32_t *place, uint32_t bytes);
    void (*invalidate)(struct answer *answer, volatile uint32_t *place, uint32_t bytes);
    void (*before_read)(struct answer *answer, int memory, uint64_t address, uint64_t bytes);
    void (*before_write)(struct answer *answer, int memory, uint64_t address, uint64_t bytes);
    void (*after_write)(struct answer *answer, int memory, uint64_t address, uint64_t bytes);
    struct cdma *engine;
    int enabled[2]; /* by direction: the engine may have a new ring of records */
};

/* A hook that raised ends the call: no other is called, and all return 0. */
static __thread int raised;
static void keep(const struct cdma *engine);

#define HOOKS(engine) ((const struct hooks *)(engine)->bus)
#define CALL(hooks, name, ...) __extension__({ \
    struct answer answer = {0, 0}; \
    if (!raised && (hooks)->name) { \
        (hooks)->name(&answer, ##__VA_ARGS__); \
        if (!answer.done) { \
            raised = 1; \
            keep((hooks)->engine); \
        } \
    } \
    raised ? 0 : answer.value; })
#define HOOK(engine, ...) ((void)CALL(HOOKS(engine), __VA_ARGS__))

/* Functions whose macros have no argument for the engine call theirs `engine`. */
#define CDMA_INLINE
#define CDMA_STOP(engine) (!CALL(HOOKS(engine), go_on))
#define CDMA_RESET_TIME_LIMIT (HOOKS(engine)->reset_time_limit)
#define CDMA_WRITE_BACK_POLLS (HOOKS(engine)->record_polls)
#define CDMA_CACHE_CLEAN(place, bytes) HOOK(engine, clean, place, bytes)
#define CDMA_CACHE_INVALIDATE(place, bytes) HOOK(engine, invalidate, place, bytes)
#define CDMA_BEFORE_READ(engine, memory, address, bytes) HOOK(engine, before_read, memory, address, bytes)
#define CDMA_BEFORE_WRITE(engine, memory, address, bytes) HOOK(engine, before_write, memory, address, bytes)
#define CDMA_AFTER_WRITE(engine, memory, address, bytes) HOOK(engine, after_write, memory, address, bytes)
#include "cdma_driver.h"

/* The engine and its rings of records when a hook raised, before anything was concluded from zeros. */
static __thread struct cdma then;
static __thread struct cdma_write_back rings[2];
/* Whether what raised is the read of a register. */
static __thread int unread;

static void keep(const struct cdma *engine)
{
    unsigned direction;

    then = *engine;
    for (direction = 0; direction < 2; direction++)
        if (then.records[direction])
            rings[direction] = *then.records[direction];
}

static uint32_t read_register(void *bus, uint32_t offset)
{
    int before = raised;
    uint32_t value = CALL((const struct hooks *)bus, read, offset);

    unread = raised && !before;
    return value;
}

static void write_register(void *bus, uint32_t offset, uint32_t value)
{
    static const uint32_t pages[2] = {CDMA_OFFLOAD_WRITE_BACK_PAGE, CDMA_PREFETCH_WRITE_BACK_PAGE};
    unsigned direction;

    if (raised)
        return;
    CALL((struct hooks *)bus, write, offset, value);
    for (direction = 0; direction < 2; direction++) {
        struct cdma_write_back *ring = &rings[direction];

        if (offset == pages[direction] + CDMA_WRITE_BACK_CONTROL && value)
            ((struct hooks *)bus)->enabled[direction] = 1;
        if (raised && offset == pages[direction] + CDMA_WRITE_BACK_HEAD) {
            /* Its record was read, but nobody gets it: once more. */
            if (!ring->index)
                ring->phase ^= 1;
            ring->index = (ring->index - 1) & (ring->entries - 1);
        }
    }
}

/* Find an engine; see cdma_init. */
int cdma_start(struct cdma *engine, struct hooks *hooks)
{
    hooks->engine = engine;
    return cdma_init(engine, hooks, write_register, read_register);
}

/* As cdma_ring_submit, but if a register could not be read, nothing was submitted. */
int cdma_ring_put(struct cdma_ring *ring, const struct cdma_descriptor *given)
{
    struct cdma_ring before = *ring;
    int error = cdma_ring_submit(ring, given);

    if (raised && unread) {
        *ring = before;
        if (!error)
            ring->engine->pending[cdma_direction(ring->operation)]--;
    }
    return error;
}

/*
 * Whether a hook has raised on this thread since this was called last. Then what seemed to end has not, in the
 * directions of these operations, while what began may have.
 */
int cdma_raised(struct cdma *engine, unsigned operations)
{
    unsigned direction;
    int found = raised, enabled;

    for (direction = 0; direction < 2; direction++) {
        if (!(operations & (direction ? CDMA_OPERATION_PREFETCH : CDMA_OPERATION_OFFLOAD)))
            continue;
        enabled = ((struct hooks *)engine->bus)->enabled[direction];
        ((struct hooks *)engine->bus)->enabled[direction] = 0;
        if (!found)
            continue;
        if (engine->late[direction] < then.late[direction])
            engine->late[direction] = then.late[direction];
        if (engine->pending[direction] < then.pending[direction])
            engine->pending[direction] = then.pending[direction];
        if (enabled)
            continue;
        engine->records[direction] = then.records[direction];
        if (then.records[direction])
            *then.records[direction] = rings[direction];
    }
    raised = 0;
    return found;
}
