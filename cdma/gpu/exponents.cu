/* Whole blocks with exponents, of bfloat16 or float32 (VALUE_BYTES 2 or 4), LINES lines of 128 bytes each, a warp a
 * block: the bytes of docs/formats.md.
 *
 * A lane has a line of every 32 for what is said about lines, and halves of groups, 16 bytes, for data. NVRTC compiles
 * this for a GPU, a C compiler for the host, where LANES is a loop: every phase is the same code, so it is tested
 * without a GPU. Phases meet in the memory of their warp; what a phase writes, later ones read.
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

#ifndef LINES
#define LINES 32
#endif
#ifndef VALUE_BYTES
#define VALUE_BYTES 2
#endif
#ifndef WARPS
#define WARPS 4     /* of a thread block; their memories together are less than 48 KiB */
#endif

/* Lines are told by PARTS of 32; of a shorter block, lanes behind the last have lines of zeros, which are not coded. */
enum { PARTS = (LINES + 31) / 32, ROWS = 32 * PARTS, HALVES = 8 * LINES, BLOCK = 128 * LINES, NAME = 0x20 | VALUE_BYTES,
       TAG_WORDS = 4 / VALUE_BYTES, LONGEST = LINES + BLOCK + 4 * TAG_WORDS * LINES,
       WORDS = LINES < 8 ? 8 * ROWS : LONGEST / 4 + 4 };

/* Elements of a line, a group, half of one, and a word; bits of a stored and of a whole mantissa; elements of which 64
 * bits hold the mantissas. */
enum { LINE = 128 / VALUE_BYTES, GROUP = LINE / 4, HALF = GROUP / 2, PER_WORD = 4 / VALUE_BYTES,
       STORED = 8 * VALUE_BYTES - 8, MANTISSA = STORED - 1, CHUNK = VALUE_BYTES == 2 ? 8 : 2 };

typedef struct {
    uint32_t words[WORDS];              /* surveys of halves; then the payload, and what windows reach behind it */
    uint32_t facts[4 * ROWS];           /* of a group: tag | base << 16 | bits of a distance << 24 | signs << 28 | escape << 29 */
    uint32_t place[4 * ROWS];           /* bytes of its line before its rests, and << 16 before its mantissas */
    uint32_t start[ROWS];               /* bytes of its part before a line */
    uint8_t header[ROWS], base[ROWS], widths[ROWS];
    uint32_t keyed[PARTS], based[PARTS], narrows[PARTS], tagged[PARTS], wrong[PARTS], data[PARTS], ones[PARTS];
} Warp;

#ifdef __CUDACC__
#define FUNCTION static __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(32 * WARPS)
#define LANES(lane) for (uint32_t lane = threadIdx.x & 31, once = 1; once; once = 0, __syncwarp())
#define UNROLL _Pragma("unroll")
#define EACH_BLOCK(w, block, count) \
    __shared__ Warp warps[WARPS]; \
    Warp *w = warps + threadIdx.x / 32; \
    for (int64_t block = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; block < count; block = count)
#define ALIGNED __align__(16)
#else
#define FUNCTION static inline
#define KERNEL void
#define LANES(lane) for (uint32_t lane = 0; lane < 32; lane++)
#define UNROLL
#define EACH_BLOCK(w, block, count) \
    static Warp memory; \
    Warp *w = &memory; \
    for (int64_t block = 0; block < count; block++)
#define ALIGNED
#endif

typedef struct ALIGNED {
    uint32_t words[4];
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

/* The bits below one of 32. */
FUNCTION uint32_t below(uint32_t bit) { return (1u << bit) - 1; }
FUNCTION uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
FUNCTION uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
FUNCTION uint32_t padded(uint32_t bytes) { return (bytes + 3) & ~3u; }

/* The sum of the parts before one. */
FUNCTION uint32_t sum(const uint32_t *parts, uint32_t end)
{
    uint32_t found = 0;
    UNROLL for (uint32_t part = 0; part < PARTS; part++)
        found += part < end ? parts[part] : 0;
    return found;
}

/* Of a vote, the lines in front of one that said yes. */
FUNCTION uint32_t rank(const uint32_t *mask, uint32_t line)
{
    uint32_t found = 0;
    UNROLL for (uint32_t part = 0; part < PARTS; part++)
        found += part < line / 32 ? ones(mask[part]) : part == line / 32 ? ones(mask[part] & below(line % 32)) : 0;
    return found;
}

FUNCTION uint32_t yes(const uint32_t *mask, uint32_t line) { return mask[line / 32] >> line % 32 & 1; }
FUNCTION uint32_t all(const uint32_t *mask) { return rank(mask, ROWS); }

/* 32 bits from any bit on. */
FUNCTION uint32_t window(const uint32_t *words, uint32_t bit)
{
    const uint32_t *at = words + (bit >> 5);
    return (uint32_t)(((uint64_t)at[1] << 32 | at[0]) >> (bit & 31));
}

FUNCTION uint32_t element(const Half *half, uint32_t place)
{
    return half->words[place / PER_WORD] >> 8 * VALUE_BYTES * (place % PER_WORD) & ~0u >> (32 - 8 * VALUE_BYTES);
}

FUNCTION uint64_t window64(const uint32_t *words, uint32_t bit)
{
    return (uint64_t)window(words, bit + 32) << 32 | window(words, bit);
}

FUNCTION uint32_t rest_bits(uint32_t facts) { return larger((facts >> 24 & 15) + (facts >> 28 & 1), 1) - 1; }

/* Of half a group: tag | largest exponent << 8 | smallest but 0, less 1, or 255 << 16 | any negative << 24 | any of
 * exponent 0 that is not zero << 25. */
FUNCTION uint32_t survey(const Half *half)
{
    uint32_t tag = 0, most = 0, least = 255, signs = 0, flat = 0;
    UNROLL for (uint32_t place = 0; place < HALF; place++) {
        uint32_t bits = element(half, place), exponent = bits >> MANTISSA & 0xFF;
        tag |= (uint32_t)(bits != 0) << place;
        most = larger(most, exponent);
        least = smaller(least, exponent - 1);
        signs |= bits >> (8 * VALUE_BYTES - 1);
        flat |= bits != 0 && exponent == 0;
    }
    return tag | most << 8 | least << 16 | signs << 24 | flat << 25;
}

/* What the surveys of its halves say about a line. */
FUNCTION void describe(Warp *w, uint32_t part, uint32_t lane)
{
    uint32_t tag[4], least[4], need[4], base = 0, flags = 0, width = 0, there = 0, widths = 0, narrows = 0;
    uint32_t line = 32 * part + lane;
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t one = w->words[8 * line + 2 * group], other = w->words[8 * line + 2 * group + 1];
        tag[group] = (one & 0xFF) | (other & 0xFF) << HALF;
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
        w->facts[4 * line + group] = tag[group] | (whole ? 255 : base) << 16 | bits << 24 | signs << 28 | escape << 29;
    }
    w->base[line] = base;
    w->widths[line] = widths;
    w->header[line] = there ? (whole ? 7 : width) | signs << 3 | (uint32_t)(there == LINE) << 4 | escape << 5 | narrows << 6
                            : 0xFF;
    vote(&w->keyed[part], lane, there && !whole);
    vote(&w->narrows[part], lane, narrows);
    vote(&w->tagged[part], lane, there && there < LINE);
    before(&w->ones[part], lane, there);
}

/* The places of the groups of a line, behind those of the lines before. */
FUNCTION void arrange(Warp *w, uint32_t part, uint32_t lane)
{
    uint32_t bytes = 0, line = 32 * part + lane;
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t facts = w->facts[4 * line + group], count = ones(facts & 0xFFFF);
        uint32_t rests = (count * rest_bits(facts) + 7) >> 3;
        w->place[4 * line + group] = bytes | (bytes + rests) << 16;
        bytes += rests + count * (STORED / 8);
    }
    w->start[line] = before(&w->data[part], lane, bytes);
}

/* The base of the last line in front of one that has one; 0 where there is none. */
FUNCTION uint32_t base_before(const Warp *w, uint32_t line)
{
    uint32_t found = 0;
    UNROLL for (uint32_t part = 0; part < PARTS; part++) {
        uint32_t mask = part < line / 32 ? w->keyed[part] : part == line / 32 ? w->keyed[part] & below(line % 32) : 0;
        found = mask ? w->base[32 * part + length_of(mask) - 1] : found;
    }
    return found;
}

FUNCTION uint32_t tags_at(const Warp *w) { return padded(LINES + all(w->based) + all(w->narrows)); }
FUNCTION uint32_t data_at(const Warp *w) { return tags_at(w) + 4 * TAG_WORDS * all(w->tagged); }
FUNCTION uint32_t line_at(const Warp *w, uint32_t line) { return data_at(w) + sum(w->data, line / 32) + w->start[line]; }

FUNCTION uint32_t tag_at(const Warp *w, uint32_t line) { return tags_at(w) / 4 + TAG_WORDS * rank(w->tagged, line); }

/* 32 bits of the tag of a line, of 2 groups or 4. */
FUNCTION uint32_t tag_word(const Warp *w, uint32_t line, uint32_t word)
{
    uint32_t found = 0;
    UNROLL for (uint32_t group = 0; group < 32 / GROUP; group++)
        found |= (w->facts[4 * line + 32 / GROUP * word + group] & below(GROUP)) << GROUP * group;
    return found;
}

/* All that is said about the lines of a block; returns the bytes of its payload. */
FUNCTION uint32_t analyse(Warp *w, const Half *raw)
{
    LANES(lane) {
        for (uint32_t half = lane; half < 8 * ROWS; half += 32) {
            if (half < HALVES) {
                Half values = raw[half];
                w->words[half] = survey(&values);
            } else
                w->words[half] = 255 << 16;
        }
    }
    LANES(lane) {
        for (uint32_t part = 0; part < PARTS; part++)
            describe(w, part, lane);
    }
    LANES(lane) {
        for (uint32_t part = 0; part < PARTS; part++) {
            uint32_t line = 32 * part + lane;
            uint32_t based = yes(w->keyed, line) && w->base[line] != base_before(w, line);
            if (based)
                w->header[line] |= 0x80;
            vote(&w->based[part], lane, based);
            arrange(w, part, lane);
        }
    }
    return data_at(w) + sum(w->data, PARTS);
}

FUNCTION void merge64(uint32_t *words, uint32_t bit, uint64_t bits)
{
    uint32_t *at = words + (bit >> 5), shift = bit & 31;
    merge(at, (uint32_t)(bits << shift));
    merge(at + 1, (uint32_t)(bits << shift >> 32));
    merge(at + 2, shift ? (uint32_t)(bits >> (64 - shift)) : 0);
}

/* Rests and mantissas of half a group, into words that are 0 there. */
FUNCTION void pack(Warp *w, uint32_t half, const Half *values)
{
    uint32_t facts = w->facts[half / 2], place = w->place[half / 2], first = line_at(w, half / 8);
    uint32_t tag = facts >> HALF * (half & 1) & below(HALF), earlier = half & 1 ? ones(facts & below(HALF)) : 0;
    uint32_t base = facts >> 16 & 0xFF, signs = facts >> 28 & 1, escape = facts >> 29 & 1;
    uint32_t most = below(facts >> 24 & 15), size = rest_bits(facts), bit = 0;
    uint32_t to = 8 * (first + (place >> 16)) + earlier * STORED, filled = 0;
    uint64_t rests = 0, mantissas = 0;
    UNROLL for (uint32_t at = 0; at < HALF; at++) {
        uint32_t bits = element(values, at), exponent = bits >> MANTISSA & 0xFF;
        uint32_t distance = escape && !exponent ? most : base - exponent;
        uint32_t tail = distance << signs | (bits >> (8 * VALUE_BYTES - 1) & signs);
        if (tag >> at & 1) {
            rests |= (uint64_t)(tail >> 1) << bit;
            mantissas |= (uint64_t)((bits & below(MANTISSA)) | (tail & 1) << MANTISSA) << filled;
            bit += size;
            filled += STORED;
        }
        if (at % CHUNK == CHUNK - 1) {
            merge64(w->words, to, mantissas);
            to += filled;
            filled = 0;
            mantissas = 0;
        }
    }
    merge64(w->words, 8 * (first + (place & 0xFFFF)) + earlier * size, rests);
}

/* Half a group of a payload. */
FUNCTION void unpack(const Warp *w, uint32_t half, Half *values)
{
    uint32_t facts = w->facts[half / 2], place = w->place[half / 2], first = line_at(w, half / 8);
    uint32_t tag = facts >> HALF * (half & 1) & below(HALF), earlier = half & 1 ? ones(facts & below(HALF)) : 0;
    uint32_t base = facts >> 16 & 0xFF, signs = facts >> 28 & 1, escape = facts >> 29 & 1, width = facts >> 24 & 15;
    uint32_t most = below(width), size = rest_bits(facts), allowed = below(width + signs);
    uint32_t from = 8 * (first + (place >> 16)) + earlier * STORED;
    uint64_t rests = window64(w->words, 8 * (first + (place & 0xFFFF)) + earlier * size), mantissas = 0;
    UNROLL for (uint32_t word = 0; word < 4; word++)
        values->words[word] = 0;
    UNROLL for (uint32_t at = 0; at < HALF; at++) {
        if (at % CHUNK == 0)
            mantissas = window64(w->words, from);
        uint32_t rest = (uint32_t)rests & below(size), mantissa = (uint32_t)mantissas & below(STORED);
        uint32_t tail = (rest << 1 | mantissa >> MANTISSA) & allowed, distance = tail >> signs;
        uint32_t exponent = escape && distance == most ? 0 : (base - distance) & 0xFF;
        uint32_t found = (tail & signs) << (8 * VALUE_BYTES - 1) | exponent << MANTISSA | (mantissa & below(MANTISSA));
        if (tag >> at & 1) {
            values->words[at / PER_WORD] |= found << 8 * VALUE_BYTES * (at % PER_WORD);
            rests >>= size;
            mantissas >>= STORED;
            from += STORED;
        }
    }
}

/* Payload bytes of each block: in a first row with zero-value coding, in a second with exponents. */
KERNEL cdma_measure(const Half *raw, int32_t *lengths, int64_t row, int64_t count)
{
    EACH_BLOCK(w, block, count) {
        uint32_t packed = analyse(w, raw + block * HALVES);
        LANES(lane) {
            if (lane == 0) {
                lengths[block] = smaller(4 * TAG_WORDS * LINES + VALUE_BYTES * sum(w->ones, PARTS), BLOCK);
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
            uint8_t *bytes = (uint8_t *)w->words;
            for (uint32_t line = lane; line < LINES; line += 32) {
                bytes[line] = w->header[line];
                if (yes(w->based, line))
                    bytes[LINES + rank(w->based, line)] = w->base[line];
                if (yes(w->narrows, line))
                    bytes[LINES + all(w->based) + rank(w->narrows, line)] = w->widths[line];
                if (yes(w->tagged, line))
                    for (uint32_t word = 0; word < TAG_WORDS; word++)
                        w->words[tag_at(w, line) + word] = tag_word(w, line, word);
            }
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

/* The header of a line; behind the last one, that of a line of zeros. */
FUNCTION uint32_t header_of(const Warp *w, uint32_t line)
{
    return line < LINES ? ((const uint8_t *)w->words)[line] : 0xFF;
}

/* What header, base, widths and tag of a line say. */
FUNCTION void read_line(Warp *w, uint32_t part, uint32_t lane)
{
    const uint8_t *bytes = (const uint8_t *)w->words;
    uint32_t line = 32 * part + lane, header = header_of(w, line), coded = header != 0xFF, whole = (header & 7) == 7;
    uint32_t bases = rank(w->based, line) + yes(w->based, line), base = bases ? bytes[LINES + bases - 1] : 0;
    uint32_t wrong = coded && whole && header > 31, tag[TAG_WORDS];
    uint32_t widths = yes(w->narrows, line) ? bytes[LINES + all(w->based) + rank(w->narrows, line)] : 0;
    for (uint32_t word = 0; word < TAG_WORDS; word++)
        tag[word] = yes(w->tagged, line) ? w->words[tag_at(w, line) + word] : coded ? ~0u : 0;
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t width = whole ? 8 : header & 7, spared = widths >> 2 * group & 3;
        wrong |= spared > width;
        w->facts[4 * line + group] = (tag[group * GROUP / 32] >> group * GROUP % 32 & below(GROUP))
                                     | (whole ? 255 : base) << 16 | (spared > width ? 0 : width - spared) << 24
                                     | (header >> 3 & 1) << 28 | (whole ? 0 : header >> 5 & 1) << 29;
    }
    vote(&w->wrong[part], lane, wrong);
    arrange(w, part, lane);
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
            for (uint32_t part = 0; part < PARTS; part++) {
                uint32_t header = header_of(w, 32 * part + lane), coded = header != 0xFF;
                vote(&w->based[part], lane, coded && header & 0x80);
                vote(&w->narrows[part], lane, coded && header & 0x40);
                vote(&w->tagged[part], lane, coded && !(header & 0x10));
            }
        }
        LANES(lane) {
            for (uint32_t part = 0; part < PARTS; part++)
                read_line(w, part, lane);
        }
        if (all(w->wrong) || data_at(w) + sum(w->data, PARTS) != length
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
