/*
 * The firmware of the SoC: moves a tensor through the engine and back in several ways, compares every byte, and prints
 * what the engine counted. It uses the public functions of the driver alone.
 *
 *     poll        blocking calls, which read the completion register until it is there
 *     interrupt   a descriptor with a flag; the processor counts until the handler has run
 *     ring        a descriptor for each part of the tensor, in a ring in main memory; transfers overlap
 *     write-back  the same, and completions come into a ring of records in main memory: the processor waits for them
 *                 without reading a register
 *
 * Main RAM: the tensor, its block streams, the tensor that came back, the ring of descriptors, that of records.
 */
#include <stddef.h>
#include <stdint.h>

#include "generated/csr.h"
#include "generated/dram.h"
#include "generated/mem.h"
#include "generated/soc.h"
#include "engine.h" /* the engine's registers, the tensor, and the places in main RAM */

/* A reset ends at once here, and a simulation must not wait for a million cycles if it does not. */
#define CDMA_RESET_TIME_LIMIT 12
/* The driver asks the engine now and then whether a record can still come. Here the limit of cdma_wait is enough. */
#define CDMA_WRITE_BACK_POLLS 0x7fffffffu
#include "cdma_driver.h"

#define RING_ENTRIES 16
#define END_OF_TRANSMISSION '\4'

extern const uint32_t dump[];

static uint32_t *const tensor = (uint32_t *)(MAIN_RAM_BASE + TENSOR_AT);
static uint32_t *const stream = (uint32_t *)(MAIN_RAM_BASE + STREAM_AT);
static uint32_t *const back = (uint32_t *)(MAIN_RAM_BASE + BACK_AT);
static volatile uint32_t *const ring_memory = (volatile uint32_t *)(MAIN_RAM_BASE + RING_AT);
static volatile uint32_t *const record_memory = (volatile uint32_t *)(MAIN_RAM_BASE + RECORDS_AT);

static struct cdma engine;
static volatile uint32_t events;      /* what the handler has taken */
static volatile uint32_t interrupts;  /* how often it has run */
static uint32_t register_reads;       /* by the driver, so far */
static uint32_t waiting_reads;        /* of these, while it waited for completions of a ring */
static int failures;

/* The compiler may call these two even where no library is linked. */
void *memcpy(void *to, const void *from, size_t size)
{
    uint8_t *target = to;
    const uint8_t *source = from;

    while (size--)
        *target++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t size)
{
    uint8_t *target = to;

    while (size--)
        *target++ = (uint8_t)value;
    return to;
}

static uint32_t peek(uint32_t address)
{
    return *(volatile uint32_t *)(uintptr_t)address;
}

static void poke(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)address = value;
}

/* The two functions that the driver asks for. */
static void write_register(void *bus, uint32_t offset, uint32_t value)
{
    poke((uint32_t)(uintptr_t)bus + offset, value);
}

static uint32_t read_register(void *bus, uint32_t offset)
{
    register_reads++;
    return peek((uint32_t)(uintptr_t)bus + offset);
}

static void print_char(char letter)
{
    while (peek(CSR_UART_TXFULL_ADDR))
        ;
    poke(CSR_UART_RXTX_ADDR, (uint8_t)letter);
}

static void print(const char *text)
{
    while (*text)
        print_char(*text++);
}

static void print_number(const char *name, uint32_t value)
{
    char digits[10];
    int count = 0;

    print(name);
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        print_char(digits[--count]);
}

static void fail(const char *what, const char *why)
{
    failures++;
    print("error: ");
    print(what);
    print(": ");
    print(why);
    print("\n");
}

/* Start the DRAM, if the main RAM is one: switch its pins to the processor, give the commands, and switch back. */
static void start_dram(void)
{
#ifdef CSR_SDRAM_BASE
    static const uint16_t steps[][5] = {
#define DRAM_STEP(control, bits, address, bank, cycles) {control, bits, address, bank, cycles},
        DRAM_STEPS(DRAM_STEP)
    };
    unsigned step;
    volatile uint32_t wait;

    for (step = 0; step < sizeof steps / sizeof *steps; step++) {
        poke(CSR_SDRAM_DFII_PI0_ADDRESS_ADDR, steps[step][2]);
        poke(CSR_SDRAM_DFII_PI0_BADDRESS_ADDR, steps[step][3]);
        if (steps[step][0]) {
            poke(CSR_SDRAM_DFII_CONTROL_ADDR, steps[step][1]);
        } else {
            poke(CSR_SDRAM_DFII_PI0_COMMAND_ADDR, steps[step][1]);
            poke(CSR_SDRAM_DFII_PI0_COMMAND_ISSUE_ADDR, 1);
        }
        /* A turn takes more than 8 cycles, because the variable is in memory. */
        for (wait = 0; wait < steps[step][4]; wait += 8)
            ;
    }
    poke(CSR_SDRAM_DFII_CONTROL_ADDR, 1);
#endif
}

/* Interrupts of VexRiscv: a mask of its own for the lines from outside, behind the two switches of RISC-V. */
static void allow_interrupts(void)
{
    uint32_t lines = 1u << DMA_INTERRUPT, external = 1u << 11, global = 1u << 3;

    __asm__ volatile("csrw 0xbc0, %0" ::"r"(lines));
    __asm__ volatile("csrs mie, %0" ::"r"(external));
    __asm__ volatile("csrs mstatus, %0" ::"r"(global));
}

__attribute__((interrupt("machine"), aligned(4))) void interrupt(void)
{
    interrupts++;
    events |= cdma_take_events(&engine);
}

static void fill(uint32_t *place, uint32_t bytes)
{
    while (bytes) {
        *place++ = 0xa5a5a5a5u;
        bytes -= 4;
    }
}

/* Before each way: nothing of an earlier one. */
static void prepare(void)
{
    fill(stream, STREAM_BYTES);
    fill(back, TENSOR_BYTES);
    interrupts = waiting_reads = 0;
}

/* After it: every byte must have come back, and the tensor must be as it was. */
static void compare(const char *way)
{
    uint32_t word, differ = 0;

    CDMA_BARRIER();
    for (word = 0; word < TENSOR_BYTES / 4; word++)
        if (back[word] != dump[word] || tensor[word] != dump[word])
            differ++;
    print(way);
    print_number(" compared ", TENSOR_BYTES);
    print_number(" differ ", differ);
    print_number(" interrupts ", interrupts);
    print_number(" reads ", waiting_reads);
    print("\n");
    if (differ)
        failures++;
}

/* Before a transfer: forget what was counted. Lanes that wait for a stream count that even while none is there. */
static void begin(unsigned operation)
{
    struct cdma_counters counted;

    cdma_take_counters(&engine, operation, &counted);
}

/* A line for a direction: the stream's checksum, and what the engine has counted since it began. */
static void report(const char *way, unsigned operation, uint32_t crc)
{
    struct cdma_counters counted;

    cdma_take_counters(&engine, operation, &counted);
    print(way);
    print(operation == CDMA_OPERATION_OFFLOAD ? " offload" : " prefetch");
    print_number(" raw ", (uint32_t)counted.raw_bytes);
    print_number(" packed ", (uint32_t)counted.packed_bytes);
    print_number(" crc ", crc);
    print_number(" cycles ", (uint32_t)counted.busy_cycles);
    print_number(" link ", (uint32_t)counted.link_busy_cycles);
    print_number(" memory ", (uint32_t)counted.memory_stalls);
    print_number(" buffer ", (uint32_t)counted.buffer_stalls);
    print("\n");
}

static uint32_t address_of(const volatile void *place)
{
    return (uint32_t)(uintptr_t)place;
}

static void by_polling(void)
{
    static const char way[] = "poll";
    struct cdma_result packed, raw;
    int error;

    begin(CDMA_OPERATION_OFFLOAD);
    error = cdma_offload(&engine, address_of(tensor), address_of(stream), TENSOR_BYTES,
                         cdma_capacity(&engine, TENSOR_BYTES), TENSOR_CODING, &packed);
    if (error) {
        fail(way, cdma_error_text(error));
        return;
    }
    report(way, CDMA_OPERATION_OFFLOAD, packed.crc);
    begin(CDMA_OPERATION_PREFETCH);
    error = cdma_prefetch(&engine, address_of(stream), address_of(back), packed.bytes, TENSOR_BYTES, TENSOR_CODING,
                          packed.crc, &raw);
    if (error) {
        fail(way, cdma_error_text(error));
        return;
    }
    report(way, CDMA_OPERATION_PREFETCH, raw.crc);
}

/* Queue a descriptor and do other work, here nothing, until the handler has seen its completion. */
static int until_interrupt(const struct cdma_descriptor *given, uint32_t event, struct cdma_result *result)
{
    uint32_t turns = 0;
    int error;

    events = 0;
    begin(given->operation);
    error = cdma_submit(&engine, given);
    if (error)
        return error;
    while (!(events & event))
        if (++turns == 10000000u)
            return CDMA_E_TIMEOUT;
    return cdma_poll(&engine, given->operation, result);
}

static struct cdma_descriptor offload_of(uint32_t at, uint32_t bytes, uint32_t stream_at)
{
    struct cdma_descriptor given = {CDMA_OPERATION_OFFLOAD, TENSOR_CODING, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    given.tag = at;
    given.source = address_of(tensor) + at;
    given.destination = address_of(stream) + stream_at;
    given.raw_bytes = bytes;
    given.capacity = cdma_capacity(&engine, bytes);
    return given;
}

/* The way back of what an offload has written. */
static struct cdma_descriptor prefetch_of(const struct cdma_descriptor *offload, const struct cdma_result *packed)
{
    struct cdma_descriptor given = *offload;

    given.operation = CDMA_OPERATION_PREFETCH;
    given.flags = CDMA_CHECK_CRC;
    given.source = offload->destination;
    given.destination = address_of(back) + (offload->source - address_of(tensor));
    given.capacity = offload->raw_bytes;
    given.packed_bytes = packed->bytes;
    given.crc = packed->crc;
    return given;
}

static void by_interrupt(void)
{
    static const char way[] = "interrupt";
    struct cdma_descriptor given = offload_of(0, TENSOR_BYTES, 0);
    struct cdma_result packed, raw;
    int error;

    cdma_enable_interrupts(&engine, CDMA_REG_IRQ_ENABLE_OFFLOAD_COMPLETION_MASK
                                        | CDMA_REG_IRQ_ENABLE_PREFETCH_COMPLETION_MASK);
    given.flags = CDMA_INTERRUPT;
    error = until_interrupt(&given, CDMA_REG_IRQ_STATUS_OFFLOAD_COMPLETION_MASK, &packed);
    if (error) {
        fail(way, cdma_error_text(error));
        return;
    }
    report(way, CDMA_OPERATION_OFFLOAD, packed.crc);
    given = prefetch_of(&given, &packed);
    given.flags |= CDMA_INTERRUPT;
    error = until_interrupt(&given, CDMA_REG_IRQ_STATUS_PREFETCH_COMPLETION_MASK, &raw);
    if (error) {
        fail(way, cdma_error_text(error));
        return;
    }
    report(way, CDMA_OPERATION_PREFETCH, raw.crc);
    cdma_enable_interrupts(&engine, 0);
}

/*
 * All descriptors of a direction through a ring, then all completions, from a ring of records if there is one; the
 * checksums of the streams are added up.
 */
static int through_ring(unsigned operation, const struct cdma_descriptor *given, struct cdma_write_back *records,
                        struct cdma_result *results, uint32_t *crc)
{
    static struct cdma_ring ring;
    uint32_t part, reads;
    int error = 0;

    if (records)
        error = cdma_write_back_init(records, &engine, operation, record_memory, address_of(record_memory),
                                     RING_ENTRIES);
    if (!error)
        error = cdma_ring_init(&ring, &engine, operation, ring_memory, address_of(ring_memory), RING_ENTRIES);
    begin(operation);
    for (part = 0; !error && part < TENSOR_PARTS; part++)
        error = cdma_ring_submit(&ring, &given[part]);
    reads = register_reads;
    for (part = 0, *crc = 0; !error && part < TENSOR_PARTS; part++) {
        error = cdma_wait(&engine, operation, &results[part]);
        if (!error && results[part].tag != given[part].tag)
            error = CDMA_E_TAG;
        *crc += results[part].crc;
    }
    waiting_reads += register_reads - reads;
    if (!error && records)
        error = cdma_write_back_disable(&engine, operation);
    return error ? error : cdma_ring_disable(&ring);
}

/* With a ring of records for each direction, one after the other in the same memory, or with null. */
static void by_rings(const char *way, struct cdma_write_back *records)
{
    static struct cdma_descriptor given[TENSOR_PARTS];
    static struct cdma_result results[TENSOR_PARTS];
    uint32_t part, crc;
    int error;

    for (part = 0; part < TENSOR_PARTS; part++) {
        uint32_t at = part * PART_BYTES, left = TENSOR_BYTES - at;

        given[part] = offload_of(at, left < PART_BYTES ? left : PART_BYTES, part * PART_STREAM_BYTES);
    }
    error = through_ring(CDMA_OPERATION_OFFLOAD, given, records, results, &crc);
    if (error) {
        fail(way, cdma_error_text(error));
        return;
    }
    report(way, CDMA_OPERATION_OFFLOAD, crc);
    for (part = 0; part < TENSOR_PARTS; part++)
        given[part] = prefetch_of(&given[part], &results[part]);
    error = through_ring(CDMA_OPERATION_PREFETCH, given, records ? records + 1 : 0, results, &crc);
    if (error) {
        fail(way, cdma_error_text(error));
        return;
    }
    report(way, CDMA_OPERATION_PREFETCH, crc);
}

static void by_ring(void)
{
    by_rings("ring", 0);
}

static void by_write_back(void)
{
    static struct cdma_write_back records[2];

    by_rings("write-back", records);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*move)(void);
    } ways[] = {{"poll", by_polling}, {"interrupt", by_interrupt}, {"ring", by_ring}, {"write-back", by_write_back}};
    uint32_t word;
    unsigned way, count;
    int error;

    start_dram();
    for (word = 0; word < TENSOR_BYTES / 4; word++)
        tensor[word] = dump[word];
    error = cdma_init(&engine, (void *)DMA_BASE, write_register, read_register);
    if (error) {
        fail("cdma_init", cdma_error_text(error));
    } else {
        print_number("engine lanes ", engine.lanes);
        print_number(" beat ", engine.beat_bytes);
        print_number(" link ", engine.link_beat_bytes);
        print_number(" block ", engine.block_bytes);
        print("\n");
        allow_interrupts();
        count = sizeof ways / sizeof *ways - !engine.write_back;
        for (way = 0; way < count; way++) {
            prepare();
            ways[way].move();
            compare(ways[way].name);
        }
    }
    print(failures ? "FAIL\n" : "PASS\n");
    print_char(END_OF_TRANSMISSION);
    return 0;
}
