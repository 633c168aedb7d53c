/* The driver in C as a library for Python: its functions by their names, and hooks that are chosen at run time. */
#include <stdint.h>
#include "regs.h"

/* What Python gives for each engine; `bus` of struct cdma points to it. Null hooks are not called. */
struct hooks {
    unsigned long reset_time_limit, record_polls;
    int (*go_on)(void);
    void (*clean)(volatile uint32_t *place, uint32_t bytes);
    void (*invalidate)(volatile uint32_t *place, uint32_t bytes);
    void (*before_read)(int memory, uint64_t address, uint64_t bytes);
    void (*before_write)(int memory, uint64_t address, uint64_t bytes);
    void (*after_write)(int memory, uint64_t address, uint64_t bytes);
};

#define HOOKS(engine) ((const struct hooks *)(engine)->bus)
#define HOOK(engine, name, ...) ((void)(HOOKS(engine)->name ? HOOKS(engine)->name(__VA_ARGS__) : (void)0))

/* Functions whose macros have no argument for the engine call theirs `engine`. */
#define CDMA_INLINE
#define CDMA_STOP(engine) (!HOOKS(engine)->go_on())
#define CDMA_RESET_TIME_LIMIT (HOOKS(engine)->reset_time_limit)
#define CDMA_WRITE_BACK_POLLS (HOOKS(engine)->record_polls)
#define CDMA_CACHE_CLEAN(place, bytes) HOOK(engine, clean, place, bytes)
#define CDMA_CACHE_INVALIDATE(place, bytes) HOOK(engine, invalidate, place, bytes)
#define CDMA_BEFORE_READ(engine, memory, address, bytes) HOOK(engine, before_read, memory, address, bytes)
#define CDMA_BEFORE_WRITE(engine, memory, address, bytes) HOOK(engine, before_write, memory, address, bytes)
#define CDMA_AFTER_WRITE(engine, memory, address, bytes) HOOK(engine, after_write, memory, address, bytes)
#include "cdma_driver.h"
