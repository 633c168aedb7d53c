/* Whole blocks of 4096 bytes of bfloat16 with exponents, a warp a block: the bytes of docs/formats.md.
 *
 * A lane has a line for what is said about lines, and halves of groups, 8 elements, for data. NVRTC compiles this for a
 * GPU, a C compiler for the host, where LANES is a loop: every phase is the same code, so it is tested without a GPU.
 * Phases meet in the memory of their warp; what a phase writes, later ones read.
 */
#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

enum { LINES = 32, HALVES = 256, BLOCK = 4096, LONGEST = LINES + BLOCK + 256, WARPS = 4, NAME = 0x22 };

typedef struct {
    uint32_t words[LONGEST / 4 + 4];    /* surveys of halves; then the payload, and what windows reach behind it */
    uint32_t facts[4 * LINES];          /* of a group: tag | base << 16 | bits of a distance << 24 | signs << 28 | escape << 29 */
    uint32_t place[4 * LINES];          /* bytes of the payload before its rests, and << 16 before its mantissas */
    uint32_t start[LINES];
    uint8_t header[LINES], base[LINES], widths[LINES];
    uint32_t keyed, based, narrows, tagged, wrong, data, ones;
} Warp;

#ifdef __CUDACC__
#define FUNCTION static __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(32 * WARPS)
#define LANES(lane) for (uint32_t lane = threadIdx.x & 31, once = 1; once; once = 0, __syncwarp())
#define EACH_BLOCK(w, block, count) \
    __shared__ Warp warps[WARPS]; \
    Warp *w = warps + threadIdx.x / 32; \
    for (int64_t block = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; block < count; block = count)
#define ALIGNED __align__(16)
#else
#define FUNCTION static inline
#define KERNEL void
#define LANES(lane) for (uint32_t lane = 0; lane < 32; lane++)
#define EACH_BLOCK(w, block, count) \
    static Warp memory; \
    Warp *w = &memory; \
    for (int64_t block = 0; block < count; block++)
#define ALIGNED
#endif

typedef struct ALIGNED {
    uint32_t pairs[4];
} Half;

/* All lanes take part in these two. The result of a vote, a bit a lane, is there in the next phase. */
FUNCTION void vote(uint32_t *mask, uint32_t lane, uint32_t yes)
{
#ifdef __CUDACC__
    uint32_t votes = __ballot_sync(~0u, yes);
    if (lane == 0)
        *mask = votes;
#else
    *mask = (lane ? *mask : 0) | (uint32_t)(yes != 0) << lane;
#endif
}

/* The sum of the values of the lanes before; that of all is there in the next phase. */
FUNCTION uint32_t before(uint32_t *total, uint32_t lane, uint32_t value)
{
#ifdef __CUDACC__
    uint32_t sum = value;
    for (uint32_t step = 1; step < 32; step *= 2) {
        uint32_t other = __shfl_up_sync(~0u, sum, step);
        sum += lane >= step ? other : 0;
    }
    if (lane == 31)
        *total = sum;
    return sum - value;
#else
    uint32_t sum = lane ? *total : 0;
    *total = sum + value;
    return sum;
#endif
}

FUNCTION void merge(uint32_t *word, uint32_t bits)
{
#ifdef __CUDACC__
    if (bits)
        atomicOr(word, bits);
#else
    *word |= bits;
#endif
}

FUNCTION uint32_t ones(uint32_t bits)
{
#ifdef __CUDACC__
    return __popc(bits);
#else
    return __builtin_popcount(bits);
#endif
}

FUNCTION uint32_t length_of(uint32_t number)
{
#ifdef __CUDACC__
    return 32 - __clz(number);
#else
    return number ? 32 - __builtin_clz(number) : 0;
#endif
}

FUNCTION uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
FUNCTION uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
FUNCTION uint32_t padded(uint32_t bytes) { return (bytes + 3) & ~3u; }

/* 32 bits from any bit on. */
FUNCTION uint32_t window(const uint32_t *words, uint32_t bit)
{
    const uint32_t *at = words + (bit >> 5);
    return (uint32_t)(((uint64_t)at[1] << 32 | at[0]) >> (bit & 31));
}

FUNCTION uint32_t element(const Half *half, uint32_t place) { return half->pairs[place >> 1] >> 16 * (place & 1) & 0xFFFF; }
FUNCTION uint32_t rest_bits(uint32_t facts) { return larger((facts >> 24 & 15) + (facts >> 28 & 1), 1) - 1; }

/* Of 8 elements: tag | largest exponent << 8 | smallest but 0, less 1, or 255 << 16 | any negative << 24 | any of
 * exponent 0 that is not zero << 25. */
FUNCTION uint32_t survey(const Half *half)
{
    uint32_t tag = 0, most = 0, least = 255, signs = 0, flat = 0;
#ifdef __CUDACC__
    #pragma unroll
#endif
    for (uint32_t place = 0; place < 8; place++) {
        uint32_t bits = element(half, place), exponent = bits >> 7 & 0xFF;
        tag |= (uint32_t)(bits != 0) << place;
        most = larger(most, exponent);
        least = smaller(least, exponent - 1);
        signs |= bits >> 15;
        flat |= bits != 0 && exponent == 0;
    }
    return tag | most << 8 | least << 16 | signs << 24 | flat << 25;
}

/* A lane is a line: what the surveys of its halves say about it. */
FUNCTION void describe(Warp *w, uint32_t lane)
{
    uint32_t tag[4], least[4], need[4], base = 0, flags = 0, width = 0, there = 0, widths = 0, narrows = 0;
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t one = w->words[8 * lane + 2 * group], other = w->words[8 * lane + 2 * group + 1];
        tag[group] = (one & 0xFF) | (other & 0xFF) << 8;
        least[group] = smaller(one >> 16 & 0xFF, other >> 16 & 0xFF);
        base = larger(base, larger(one >> 8 & 0xFF, other >> 8 & 0xFF));
        flags |= one | other;
        there += ones(tag[group]);
    }
    uint32_t signs = flags >> 24 & 1, escape = base ? flags >> 25 & 1 : 0;
    for (uint32_t group = 0; group < 4; group++) {
        need[group] = least[group] == 255 ? 0 : length_of(base - 1 - least[group] + escape);
        width = larger(width, need[group]);
    }
    uint32_t whole = width > 6;
    if (whole)
        escape = 0;
    else
        for (uint32_t group = 0; group < 4; group++) {
            uint32_t spared = smaller(3, width - need[group]);
            widths |= spared << 2 * group;
            narrows |= spared && tag[group];
        }
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t bits = whole ? 8 : width - (narrows ? widths >> 2 * group & 3 : 0);
        w->facts[4 * lane + group] = tag[group] | (whole ? 255 : base) << 16 | bits << 24 | signs << 28 | escape << 29;
    }
    w->base[lane] = base;
    w->widths[lane] = widths;
    w->header[lane] = there ? (whole ? 7 : width) | signs << 3 | (uint32_t)(there == 64) << 4 | escape << 5 | narrows << 6
                            : 0xFF;
    vote(&w->keyed, lane, there && !whole);
    vote(&w->narrows, lane, narrows);
    vote(&w->tagged, lane, there && there < 64);
    before(&w->ones, lane, there);
}

/* A lane is a line: the places of its groups, behind those of the lines before. */
FUNCTION void arrange(Warp *w, uint32_t lane)
{
    uint32_t bytes = 0;
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t facts = w->facts[4 * lane + group], count = ones(facts & 0xFFFF);
        uint32_t rests = (count * rest_bits(facts) + 7) >> 3;
        w->place[4 * lane + group] = bytes | (bytes + rests) << 16;
        bytes += rests + count;
    }
    w->start[lane] = before(&w->data, lane, bytes);
}

FUNCTION uint32_t tags_at(const Warp *w) { return padded(LINES + ones(w->based) + ones(w->narrows)); }
FUNCTION uint32_t data_at(const Warp *w) { return tags_at(w) + 8 * ones(w->tagged); }

/* All that is said about the lines of a block; returns the bytes of its payload. */
FUNCTION uint32_t analyse(Warp *w, const Half *raw)
{
    LANES(lane) {
        for (uint32_t half = lane; half < HALVES; half += 32) {
            Half values = raw[half];
            w->words[half] = survey(&values);
        }
    }
    LANES(lane) {
        describe(w, lane);
    }
    LANES(lane) {
        uint32_t earlier = w->keyed & ((1u << lane) - 1);
        uint32_t last = earlier ? w->base[length_of(earlier) - 1] : 0;
        uint32_t based = (w->keyed >> lane & 1) && w->base[lane] != last;
        if (based)
            w->header[lane] |= 0x80;
        vote(&w->based, lane, based);
        arrange(w, lane);
    }
    return data_at(w) + w->data;
}

FUNCTION void merge64(uint32_t *words, uint32_t bit, uint64_t bits)
{
    uint32_t *at = words + (bit >> 5), shift = bit & 31;
    merge(at, (uint32_t)(bits << shift));
    merge(at + 1, (uint32_t)(bits << shift >> 32));
    merge(at + 2, shift ? (uint32_t)(bits >> (64 - shift)) : 0);
}

/* Rests and mantissas of 8 elements, into words that are 0 there. */
FUNCTION void pack(Warp *w, uint32_t half, const Half *values)
{
    uint32_t facts = w->facts[half / 2], place = w->place[half / 2], first = w->start[half / 8] + data_at(w);
    uint32_t tag = facts >> 8 * (half & 1) & 0xFF, rank = half & 1 ? ones(facts & 0xFF) : 0;
    uint32_t base = facts >> 16 & 0xFF, signs = facts >> 28 & 1, escape = facts >> 29 & 1;
    uint32_t most = (1u << (facts >> 24 & 15)) - 1, size = rest_bits(facts), bit = 0, byte = 0;
    uint64_t rests = 0, mantissas = 0;
#ifdef __CUDACC__
    #pragma unroll
#endif
    for (uint32_t at = 0; at < 8; at++) {
        uint32_t bits = element(values, at), exponent = bits >> 7 & 0xFF;
        uint32_t distance = escape && !exponent ? most : base - exponent;
        uint32_t tail = distance << signs | (bits >> 15 & signs);
        if (tag >> at & 1) {
            rests |= (uint64_t)(tail >> 1) << bit;
            mantissas |= (uint64_t)((bits & 0x7F) | (tail & 1) << 7) << byte;
            bit += size;
            byte += 8;
        }
    }
    merge64(w->words, 8 * (first + (place & 0xFFFF)) + rank * size, rests);
    merge64(w->words, 8 * (first + (place >> 16) + rank), mantissas);
}

/* 8 elements of a payload. */
FUNCTION void unpack(const Warp *w, uint32_t half, Half *values)
{
    uint32_t facts = w->facts[half / 2], place = w->place[half / 2], first = w->start[half / 8] + data_at(w);
    uint32_t tag = facts >> 8 * (half & 1) & 0xFF, rank = half & 1 ? ones(facts & 0xFF) : 0;
    uint32_t base = facts >> 16 & 0xFF, signs = facts >> 28 & 1, escape = facts >> 29 & 1, width = facts >> 24 & 15;
    uint32_t most = (1u << width) - 1, size = rest_bits(facts), allowed = (1u << (width + signs)) - 1;
    uint32_t bit = 8 * (first + (place & 0xFFFF)) + rank * size, byte = 8 * (first + (place >> 16) + rank);
    uint64_t rests = (uint64_t)window(w->words, bit + 32) << 32 | window(w->words, bit);
    uint64_t mantissas = (uint64_t)window(w->words, byte + 32) << 32 | window(w->words, byte);
    uint32_t found[8];
#ifdef __CUDACC__
    #pragma unroll
#endif
    for (uint32_t at = 0; at < 8; at++) {
        uint32_t rest = (uint32_t)rests & ((1u << size) - 1), mantissa = (uint32_t)mantissas & 0xFF;
        uint32_t tail = (rest << 1 | mantissa >> 7) & allowed, distance = tail >> signs;
        uint32_t exponent = escape && distance == most ? 0 : (base - distance) & 0xFF;
        found[at] = 0;
        if (tag >> at & 1) {
            found[at] = (tail & signs) << 15 | exponent << 7 | (mantissa & 0x7F);
            rests >>= size;
            mantissas >>= 8;
        }
    }
    for (uint32_t pair = 0; pair < 4; pair++)
        values->pairs[pair] = found[2 * pair] | found[2 * pair + 1] << 16;
}

/* Payload bytes of each block: in a first row with zero-value coding, in a second with exponents. */
KERNEL cdma_measure(const Half *raw, int32_t *lengths, int64_t row, int64_t count)
{
    EACH_BLOCK(w, block, count) {
        uint32_t packed = analyse(w, raw + block * HALVES);
        LANES(lane) {
            if (lane == 0) {
                lengths[block] = smaller(8 * LINES + 2 * w->ones, BLOCK);
                lengths[row + block] = smaller(packed, BLOCK);
            }
        }
    }
}

/* The blocks at their places, if exponents were chosen. */
KERNEL cdma_encode(const Half *raw, uint8_t *stream, const int64_t *places, const int32_t *chosen, int64_t count)
{
    if (*chosen != NAME)
        return;
    EACH_BLOCK(w, block, count) {
        const Half *from = raw + block * HALVES;
        uint32_t packed = analyse(w, from), length = smaller(packed, BLOCK), *to = (uint32_t *)(stream + places[block]);
        LANES(lane) {
            if (lane == 0)
                to[0] = length | (packed < BLOCK ? NAME : 0) << 16 | (uint32_t)(block & 0xFF) << 24;
            for (uint32_t word = lane; packed < BLOCK && word < BLOCK / 4; word += 32)
                w->words[word] = 0;
        }
        if (packed >= BLOCK) {
            LANES(lane) {
                for (uint32_t word = lane; word < BLOCK / 4; word += 32)
                    to[1 + word] = ((const uint32_t *)from)[word];
            }
            continue;
        }
        LANES(lane) {
            uint32_t below = (1u << lane) - 1, widths_at = LINES + ones(w->based);
            uint8_t *bytes = (uint8_t *)w->words;
            bytes[lane] = w->header[lane];
            if (w->based >> lane & 1)
                bytes[LINES + ones(w->based & below)] = w->base[lane];
            if (w->narrows >> lane & 1)
                bytes[widths_at + ones(w->narrows & below)] = w->widths[lane];
            if (w->tagged >> lane & 1)
                for (uint32_t group = 0; group < 4; group += 2)
                    w->words[tags_at(w) / 4 + 2 * ones(w->tagged & below) + group / 2] =
                        (w->facts[4 * lane + group] & 0xFFFF) | w->facts[4 * lane + group + 1] << 16;
        }
        LANES(lane) {
            for (uint32_t half = lane; half < HALVES; half += 32) {
                Half values = from[half];
                pack(w, half, &values);
            }
        }
        LANES(lane) {
            for (uint32_t word = lane; word < padded(length) / 4; word += 32)
                to[1 + word] = w->words[word];
        }
    }
}

/* A lane is a line: what its header, base, widths and tag say. */
FUNCTION void read_line(Warp *w, uint32_t lane)
{
    const uint8_t *bytes = (const uint8_t *)w->words;
    uint32_t header = bytes[lane], coded = header != 0xFF, whole = (header & 7) == 7, below = (1u << lane) - 1;
    uint32_t bases = ones(w->based & (below | 1u << lane)), base = bases ? bytes[LINES + bases - 1] : 0;
    uint32_t narrows = w->narrows >> lane & 1, wrong = coded && whole && header > 31, tag[2];
    uint32_t widths = narrows ? bytes[LINES + ones(w->based) + ones(w->narrows & below)] : 0;
    tag[0] = tag[1] = coded ? ~0u : 0;
    if (w->tagged >> lane & 1)
        for (uint32_t part = 0; part < 2; part++)
            tag[part] = w->words[tags_at(w) / 4 + 2 * ones(w->tagged & below) + part];
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t width = whole ? 8 : header & 7, spared = widths >> 2 * group & 3;
        wrong |= spared > width;
        w->facts[4 * lane + group] = (tag[group / 2] >> 16 * (group & 1) & 0xFFFF) | (whole ? 255 : base) << 16
                                     | (spared > width ? 0 : width - spared) << 24 | (header >> 3 & 1) << 28
                                     | (whole ? 0 : header >> 5 & 1) << 29;
    }
    vote(&w->wrong, lane, wrong);
    arrange(w, lane);
}

/* The blocks that have this coding, and with take_raw those that are raw; state of those that are right becomes 1. */
KERNEL cdma_decode(const uint8_t *stream, const int64_t *places, const uint16_t *lengths, Half *raw, uint8_t *state,
                   int64_t stream_bytes, int32_t take_raw, int64_t count)
{
    EACH_BLOCK(w, block, count) {
        int64_t place = places[block];
        if (place < 0 || place + 4 > stream_bytes)
            continue;
        const uint32_t *from = (const uint32_t *)(stream + place);
        uint32_t word = from[0], length = word & 0xFFFF, name = word >> 16 & 0xFF;
        if ((name != NAME && (name || !take_raw)) || word >> 24 != (block & 0xFF) || length != lengths[block]
            || length > (name ? LONGEST : BLOCK) || place + 4 + padded(length) > stream_bytes)
            continue;
        if (name == 0) {
            if (length == BLOCK)
                LANES(lane) {
                    for (uint32_t at = lane; at < BLOCK / 4; at += 32)
                        ((uint32_t *)(raw + block * HALVES))[at] = from[1 + at];
                    if (lane == 0)
                        state[block] = 1;
                }
            continue;
        }
        LANES(lane) {
            for (uint32_t at = lane; at < padded(length) / 4; at += 32)
                w->words[at] = from[1 + at];
        }
        LANES(lane) {
            uint32_t header = ((const uint8_t *)w->words)[lane], coded = header != 0xFF;
            vote(&w->based, lane, coded && header & 0x80);
            vote(&w->narrows, lane, coded && header & 0x40);
            vote(&w->tagged, lane, coded && !(header & 0x10));
        }
        LANES(lane) {
            read_line(w, lane);
        }
        if (w->wrong || data_at(w) + w->data != length
            || (length & 3 && w->words[length / 4] >> 8 * (length & 3)))
            continue;
        LANES(lane) {
            for (uint32_t half = lane; half < HALVES; half += 32) {
                Half values;
                unpack(w, half, &values);
                raw[block * HALVES + half] = values;
            }
            if (lane == 0)
                state[block] = 1;
        }
    }
}
