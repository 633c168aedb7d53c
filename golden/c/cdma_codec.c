/*
 * cdma_codec.c: the block stream in portable C99, also valid C++. cdma_codec.h has the contract, the page "Formats" of
 * the project's documentation the format.
 *
 * Functions of one element size are written once, with the size as first argument. They are inlined where it is a
 * constant, so compilers make a version for each size. Loops over the elements of a line have no branches: how many
 * bytes an element takes is computed from its bit of the tag. Such loops read or write as many bytes as the longest data
 * of a line has; near the end of a buffer they work on a copy.
 */
#include "cdma_codec.h"

#include <string.h>

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* Whether loads and stores of the processor have the byte order of the format. 0 is right everywhere, but slower. */
#ifndef CDMA_CODEC_LITTLE_ENDIAN
#if defined(__BYTE_ORDER__) && defined(__ORDER_LITTLE_ENDIAN__)
#define CDMA_CODEC_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#elif defined(_WIN32)
#define CDMA_CODEC_LITTLE_ENDIAN 1
#else
#define CDMA_CODEC_LITTLE_ENDIAN 0
#endif
#endif

/* What stands before the functions that expand: a build for one machine may ask its compiler for a version for each
 * processor. */
#ifndef CDMA_CODEC_CLONES
#define CDMA_CODEC_CLONES
#endif

#define LINE 128u       /* raw bytes of a line */
#define SLACK 8u        /* with exponents, accesses end so many bytes after the longest data of a line */
#define HEADER 4u       /* bytes of a block's header, and of the word with the raw length of a short block */
#define SHORT 0x80u     /* bit of the coding of a short block */
#define SMALLEST 512u   /* block sizes */
#define LARGEST 32768u
#define MOST_LINES (LARGEST / LINE)

/* Fields of a line header. */
#define ZEROS 0xFFu     /* no field: all elements are zero */
#define WIDTH 7u
#define WHOLE 7u        /* value of WIDTH: a distance has 8 bits, and the base is 255 */
#define SIGNS 8u
#define DENSE 16u
#define ESCAPE 32u
#define WIDTHS 64u
#define BASE 128u
#define WHOLE_BASE 255u
#define WHOLE_WIDTH 8u
#define GROUPS 4u       /* of a line */
#define MOST_PLACES 80u /* bfloat16 elements of a line, and a group more */

/* What functions that write a payload return where it does not fit. */
#define NO_ROOM ((size_t)-1)

#define NOWHERE ((size_t)-1)

/* ---- Numbers in memory ---- */

INLINE uint32_t load16(const uint8_t *from)
{
#if CDMA_CODEC_LITTLE_ENDIAN
    uint16_t value;

    memcpy(&value, from, sizeof value);
    return value;
#else
    return from[0] | (uint32_t)from[1] << 8;
#endif
}

INLINE uint32_t load32(const uint8_t *from)
{
#if CDMA_CODEC_LITTLE_ENDIAN
    uint32_t value;

    memcpy(&value, from, sizeof value);
    return value;
#else
    return load16(from) | load16(from + 2) << 16;
#endif
}

INLINE uint64_t load64(const uint8_t *from)
{
#if CDMA_CODEC_LITTLE_ENDIAN
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return value;
#else
    return load32(from) | (uint64_t)load32(from + 4) << 32;
#endif
}

INLINE void store16(uint8_t *to, uint32_t value)
{
#if CDMA_CODEC_LITTLE_ENDIAN
    const uint16_t narrow = (uint16_t)value;

    memcpy(to, &narrow, sizeof narrow);
#else
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
#endif
}

INLINE void store32(uint8_t *to, uint32_t value)
{
#if CDMA_CODEC_LITTLE_ENDIAN
    memcpy(to, &value, sizeof value);
#else
    store16(to, value);
    store16(to + 2, value >> 16);
#endif
}

INLINE void store64(uint8_t *to, uint64_t value)
{
#if CDMA_CODEC_LITTLE_ENDIAN
    memcpy(to, &value, sizeof value);
#else
    store32(to, (uint32_t)value);
    store32(to + 4, (uint32_t)(value >> 32));
#endif
}

/* Of each byte, how many bits are 1. */
INLINE uint64_t count_in_bytes(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
}

INLINE unsigned count_ones(uint64_t bits)
{
    return (unsigned)(count_in_bytes(bits) * 0x0101010101010101u >> 56);
}

/* A number with so many ones, less than 64. */
INLINE uint64_t ones(unsigned count)
{
    return ((uint64_t)1 << count) - 1;
}

INLINE size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

INLINE size_t lines_of(size_t raw_bytes)
{
    return (raw_bytes + LINE - 1) / LINE;
}

/* A length with its padding to whole words. */
INLINE size_t padded(size_t length)
{
    return (length + 3) & ~(size_t)3;
}

/* ---- Tags: bit i is element i. Elements of one byte need 128 bits; all others have high 0. ---- */

struct tag {
    uint64_t low, high;
};

/* Elements of a line. */
INLINE unsigned places(unsigned size)
{
    return LINE / size;
}

INLINE unsigned tag_bytes(unsigned size)
{
    return LINE / size / 8;
}

INLINE struct tag load_tag(unsigned size, const uint8_t *from)
{
    struct tag tag = {0, 0};

    tag.low = size == 4 ? load32(from) : load64(from);
    if (size == 1)
        tag.high = load64(from + 8);
    return tag;
}

INLINE void store_tag(unsigned size, uint8_t *to, struct tag tag)
{
    if (size == 4)
        store32(to, (uint32_t)tag.low);
    else
        store64(to, tag.low);
    if (size == 1)
        store64(to + 8, tag.high);
}

INLINE unsigned count_tag(unsigned size, struct tag tag)
{
    return count_ones(tag.low) + (size == 1 ? count_ones(tag.high) : 0);
}

/* The tag that has ones for the elements from a place on. */
INLINE struct tag tag_from(unsigned size, size_t place)
{
    struct tag tag = {0, 0};

    if (place < 64)
        tag.low = ~(uint64_t)0 << place;
    if (size == 4)
        tag.low &= 0xFFFFFFFFu;
    if (size == 1 && place < 128)
        tag.high = place <= 64 ? ~(uint64_t)0 : ~(uint64_t)0 << (place - 64);
    return tag;
}

INLINE int any_of(struct tag tag, struct tag mask)
{
    return ((tag.low & mask.low) | (tag.high & mask.high)) != 0;
}

INLINE int all_of(struct tag tag, struct tag mask)
{
    return (tag.low & mask.low) == mask.low && (tag.high & mask.high) == mask.high;
}

/* Eight bytes that are 0 or 1, as a bit each. */
INLINE uint64_t collect(const uint8_t *flags)
{
    return load64(flags) * 0x0102040810204080u >> 56;
}

/* The tag of a line of 128 bytes. */
INLINE struct tag tag_of(unsigned size, const uint8_t *line)
{
    uint8_t flags[LINE];
    struct tag tag = {0, 0};
    unsigned i;

    if (size == 1)
        for (i = 0; i < places(size); i++)
            flags[i] = line[i] != 0;
    else if (size == 2)
        for (i = 0; i < places(size); i++)
            flags[i] = load16(line + 2 * i) != 0;
    else
        for (i = 0; i < places(size); i++)
            flags[i] = load32(line + 4 * i) != 0;
    for (i = 0; i < tag_bytes(size) && i < 8; i++)
        tag.low |= collect(flags + 8 * i) << 8 * i;
    for (i = 8; i < tag_bytes(size); i++)
        tag.high |= collect(flags + 8 * i) << 8 * (i - 8);
    return tag;
}

/* ---- Elements of a line ---- */

/* Copy an element; how far the next one is from it, which is nothing where the bit is 0. */
INLINE unsigned gather_element(unsigned size, const uint8_t *from, uint8_t *to, uint64_t bit)
{
    memcpy(to, from, size);
    return size * (unsigned)(bit & 1);
}

/* Write the elements of a tag's ones, up to 64; the byte after them. */
INLINE uint8_t *gather_word(unsigned size, uint64_t bits, const uint8_t *line, uint8_t *out)
{
    const unsigned count = size == 4 ? 32 : 64;
    unsigned i;

    for (i = 0; i < count; i += 4) {
        out += gather_element(size, line, out, bits);
        out += gather_element(size, line + size, out, bits >> 1);
        out += gather_element(size, line + 2 * size, out, bits >> 2);
        out += gather_element(size, line + 3 * size, out, bits >> 3);
        line += 4 * size;
        bits >>= 4;
    }
    return out;
}

/* The same for a whole line. Writes up to LINE bytes. */
INLINE uint8_t *gather(unsigned size, struct tag tag, const uint8_t *line, uint8_t *out)
{
    out = gather_word(size, tag.low, line, out);
    return size == 1 ? gather_word(size, tag.high, line + 64, out) : out;
}

/* Copy an element, or zero where the bit is 0; how far the next one is from it. */
INLINE unsigned scatter_element(unsigned size, const uint8_t *from, uint8_t *to, uint64_t bit)
{
    const uint32_t mask = 0 - (uint32_t)(bit & 1);
    uint32_t value = 0;

    if (size == 1) {
        *to = (uint8_t)(*from & mask);
    } else {
        memcpy(&value, from, size);
        value &= mask;
        memcpy(to, &value, size);
    }
    return size & mask;
}

/* Put elements to the places of a tag's ones, up to 64, and zeros to all others; the element after them. */
INLINE const uint8_t *scatter_word(unsigned size, uint64_t bits, const uint8_t *data, uint8_t *line)
{
    const unsigned count = size == 4 ? 32 : 64;
    unsigned i;

    for (i = 0; i < count; i += 4) {
        data += scatter_element(size, data, line, bits);
        data += scatter_element(size, data, line + size, bits >> 1);
        data += scatter_element(size, data, line + 2 * size, bits >> 2);
        data += scatter_element(size, data, line + 3 * size, bits >> 3);
        line += 4 * size;
        bits >>= 4;
    }
    return data;
}

/* The same for a whole line. Reads up to LINE bytes. */
INLINE void scatter(unsigned size, struct tag tag, const uint8_t *data, uint8_t *line)
{
    data = scatter_word(size, tag.low, data, line);
    if (size == 1)
        scatter_word(size, tag.high, data, line + 64);
}

/* A line of a tensor; the last one, which may be shorter, as a copy with zeros behind it. */
INLINE const uint8_t *whole_line(const uint8_t *raw, size_t left, uint8_t *copy)
{
    if (left >= LINE)
        return raw;
    memcpy(copy, raw, left);
    memset(copy + left, 0, LINE - left);
    return copy;
}

/* Write the elements of a line that are not zero, and no byte beyond the room. */
INLINE void put_elements(unsigned size, struct tag tag, const uint8_t *line, uint8_t *out, size_t length, size_t room)
{
    if (room >= LINE) {
        gather(size, tag, line, out);
    } else {
        uint8_t copy[LINE];

        gather(size, tag, line, copy);
        memcpy(out, copy, length);
    }
}

/* Write the first raw bytes of a line, of whose data so many bytes are there. */
INLINE void put_line(unsigned size, struct tag tag, const uint8_t *data, size_t held, uint8_t *out, size_t raw_bytes)
{
    if (raw_bytes == LINE && held >= LINE) {
        scatter(size, tag, data, out);
    } else {
        uint8_t copy[LINE] = {0}, line[LINE];

        memcpy(copy, data, least_of(held, LINE));
        scatter(size, tag, copy, line);
        memcpy(out, line, raw_bytes);
    }
}

/* ---- Compression of a block. Functions return the payload bytes, or NO_ROOM. ---- */

/* The line stream. */
INLINE size_t compress_lines(unsigned size, const uint8_t *raw, size_t raw_bytes, uint8_t *out, size_t room)
{
    size_t at, used = 0;

    for (at = 0; at < raw_bytes; at += LINE) {
        uint8_t copy[LINE];
        const uint8_t *line = whole_line(raw + at, raw_bytes - at, copy);
        const struct tag tag = tag_of(size, line);
        const size_t length = size * count_tag(size, tag);
        struct tag written = tag;

        if (room - used < tag_bytes(size) + length)
            return NO_ROOM;
        if (raw_bytes - at < LINE) {
            const struct tag missing = tag_from(size, (raw_bytes - at) / size);

            written.low |= missing.low;
            written.high |= missing.high;
        }
        store_tag(size, out + used, written);
        used += tag_bytes(size);
        put_elements(size, tag, line, out + used, length, room - used);
        used += length;
    }
    return used;
}

/* Tags first, from byte `used` of the payload on. */
INLINE size_t compress_tags_first(unsigned size, const uint8_t *raw, size_t raw_bytes, uint8_t *out, size_t used,
                                  size_t room)
{
    uint8_t *tags = out + used;
    size_t at;

    used += lines_of(raw_bytes) * tag_bytes(size);
    if (room < used)
        return NO_ROOM;
    for (at = 0; at < raw_bytes; at += LINE) {
        uint8_t copy[LINE];
        const uint8_t *line = whole_line(raw + at, raw_bytes - at, copy);
        const struct tag tag = tag_of(size, line);
        const size_t length = size * count_tag(size, tag);

        if (room - used < length)
            return NO_ROOM;
        store_tag(size, tags, tag);
        tags += tag_bytes(size);
        put_elements(size, tag, line, out + used, length, room - used);
        used += length;
    }
    return used;
}

/*
 * ---- Exponents ----
 *
 * Elements of 2 bytes are bfloat16, those of 4 bytes float32. Their upper 16 bits look the same: sign, exponent, and 7
 * bits of mantissa. Loops over these have 16-bit numbers in arrays of a constant length and no branches, so compilers
 * turn them into vector instructions.
 */

/* Elements of a group. */
INLINE unsigned group_places(unsigned size)
{
    return places(size) / GROUPS;
}

/* What the line metadata of a line and its tag say. */
struct line_metadata {
    uint64_t tag;
    uint8_t header;
    uint8_t base;   /* exponent from which distances are measured */
    uint8_t widths; /* 0 where there is no such byte */
};

/* How many bits less than the width of the line the distances of a group have. */
INLINE unsigned taken_of(struct line_metadata metadata, unsigned group)
{
    return (unsigned)metadata.widths >> 2 * group & 3;
}

/* Whether the largest distance means exponent 0. */
INLINE int escapes(struct line_metadata metadata)
{
    return metadata.header & ESCAPE && (metadata.header & WIDTH) != WHOLE;
}

/* The upper 16 bits of the elements of a line. */
INLINE void load_tops(unsigned size, const uint8_t *from, uint16_t *tops)
{
    unsigned i;

    if (size == 2)
        for (i = 0; i < places(size); i++)
            tops[i] = (uint16_t)load16(from + 2 * i);
    else
        for (i = 0; i < places(size); i++)
            tops[i] = (uint16_t)(load32(from + 4 * i) >> 16);
}

/* What the line metadata of a line say of its groups. */
struct groups {
    unsigned count[GROUPS]; /* elements that are not zero */
    unsigned width[GROUPS]; /* bits of a distance */
    unsigned bits[GROUPS];  /* bits of a rest */
    unsigned rests[GROUPS]; /* bytes of all rests */
    unsigned bytes;         /* of the line's data */
};

INLINE struct groups groups_of(unsigned size, struct line_metadata metadata)
{
    const unsigned signs = (metadata.header & SIGNS) != 0, whole = (metadata.header & WIDTH) == WHOLE;
    const unsigned lane = group_places(size);
    uint64_t counts = count_in_bytes(metadata.tag);
    struct groups found;
    unsigned i;

    if (size == 2)
        counts += counts >> 8;
    found.bytes = 0;
    for (i = 0; i < GROUPS; i++) {
        found.count[i] = (unsigned)(counts >> lane * i) & 31;
        found.width[i] = whole ? WHOLE_WIDTH : (metadata.header & WIDTH) - taken_of(metadata, i);
        found.bits[i] = found.width[i] + signs - (found.width[i] + signs > 0);
        found.rests[i] = (found.count[i] * found.bits[i] + 7) / 8;
        found.bytes += found.rests[i] + found.count[i] * (size - 1);
    }
    return found;
}

/* For each element that is not zero, the largest distance that fits. Apart from the other line metadata: as one of their fields
 * it would be written in all loops over lines, and cost a quarter of the time. */
INLINE void find_farthest(unsigned size, const struct groups *groups, uint16_t *farthest)
{
    unsigned group, i, first = 0;

    for (group = 0; group < GROUPS; group++) {
        for (i = 0; i < group_places(size); i++)
            farthest[first + i] = (uint16_t)ones(groups->width[group]);
        first += groups->count[group];
    }
}

/* What a compressor has to know of the exponents of a line. */
struct exponents {
    unsigned largest;
    unsigned below[GROUPS]; /* of the exponents that are not 0, one less than the smallest; 255 without any */
    unsigned sign;          /* whether an element is negative */
    unsigned zeros;         /* exponents that are 0, those of zeros too */
};

INLINE struct exponents exponents_of(unsigned size, const uint8_t *line)
{
    struct exponents found;
    uint16_t tops[MOST_PLACES];
    int16_t less[MOST_PLACES];
    int16_t largest = 0, zeros = 0;
    uint16_t signs = 0;
    unsigned group, i;

    load_tops(size, line, tops);
    for (i = 0; i < places(size); i++) {
        const int16_t exponent = (int16_t)(tops[i] >> 7 & 255);

        less[i] = (int16_t)((exponent - 1) & 255);
        largest = exponent > largest ? exponent : largest;
        zeros = (int16_t)(zeros + (exponent == 0));
        signs = (uint16_t)(signs | tops[i]);
    }
    for (group = 0; group < GROUPS; group++) {
        int16_t below = 255;

        for (i = 0; i < group_places(size); i++)
            below = less[group_places(size) * group + i] < below ? less[group_places(size) * group + i] : below;
        found.below[group] = (unsigned)below;
    }
    found.largest = (unsigned)largest;
    found.zeros = (unsigned)zeros;
    found.sign = signs >> 15;
    return found;
}

/* The bits that a number needs; 7 for all that need more than 6. */
INLINE unsigned bits_for(unsigned number)
{
    static const uint8_t bits[64] = {
        0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
        6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6};

    return number > 63 ? 7 : bits[number];
}

/* The byte of widths of a line, if its groups want so many bits; 0 if no group that is not empty wants less. */
INLINE unsigned choose_widths(unsigned size, uint64_t tag, const unsigned *wanted, unsigned width)
{
    unsigned group, widths = 0, narrower = 0;

    for (group = 0; group < GROUPS; group++) {
        const unsigned less = width - wanted[group] > 3 ? 3 : width - wanted[group];
        const unsigned empty = (tag >> group_places(size) * group & ones(group_places(size))) == 0;

        widths |= less << 2 * group;
        narrower |= less & (empty - 1);
    }
    return narrower ? widths : 0;
}

/* The metadata of a line that is not all zeros; previous is the base of the line before. */
INLINE struct line_metadata choose_metadata(unsigned size, const uint8_t *line, uint64_t tag, unsigned previous)
{
    const struct exponents found = exponents_of(size, line);
    const unsigned dense = tag == tag_from(size, 0).low, zeros = places(size) - count_ones(tag);
    const unsigned escape = (found.largest > 0) & (found.zeros > zeros);
    struct line_metadata metadata = {tag, 0, WHOLE_BASE, 0};
    unsigned header = found.sign * SIGNS | dense * DENSE, wanted[GROUPS], width = 0, group;

    for (group = 0; group < GROUPS; group++) {
        const unsigned below = found.below[group];

        wanted[group] = below == 255 ? 0 : bits_for(found.largest - below - 1 + escape);
        width = wanted[group] > width ? wanted[group] : width;
    }
    header |= width;
    if (width != WHOLE) {
        metadata.base = (uint8_t)found.largest;
        metadata.widths = (uint8_t)choose_widths(size, tag, wanted, width);
        header |= escape * ESCAPE;
        if (metadata.widths)
            header |= WIDTHS;
        if (found.largest != previous)
            header |= BASE;
    }
    metadata.header = (uint8_t)header;
    return metadata;
}

/* Eight numbers of so many bits, which have a byte each, side by side. */
INLINE uint64_t squeeze(uint64_t bytes, unsigned bits)
{
    const uint64_t one = 0x00FF00FF00FF00FFu, two = 0x0000FFFF0000FFFFu, four = 0x00000000FFFFFFFFu;
    const unsigned gap = 8 - bits;

    bytes = (bytes & one) | (bytes & ~one) >> gap;
    bytes = (bytes & two) | (bytes & ~two) >> 2 * gap;
    return (bytes & four) | (bytes & ~four) >> 4 * gap;
}

/* Write the rests of a group, so many bits each, from bytes. Writes up to a byte for each element of the group, and one
 * more. */
INLINE void put_rests(unsigned size, const uint8_t *rests, unsigned count, unsigned bits, uint8_t *out)
{
    const unsigned filled = count * bits;
    unsigned octet;

    for (octet = 0; octet < group_places(size) / 8; octet++)
        store64(out + octet * bits, squeeze(load64(rests + 8 * octet), bits));
    /* Without the bits of elements behind the group; whole bytes of them are overwritten. */
    out[filled / 8] = (uint8_t)(out[filled / 8] & ones(filled % 8));
}

/* Find the tails of elements that are not zero. */
INLINE void find_tails(unsigned size, const uint8_t *values, struct line_metadata metadata, const struct groups *groups,
                       uint16_t *tails)
{
    const uint16_t base = metadata.base, signs = metadata.header & SIGNS ? 0xFFFF : 0;
    uint16_t tops[MOST_PLACES], distances[MOST_PLACES];
    unsigned i;

    load_tops(size, values, tops);
    for (i = 0; i < places(size); i++)
        distances[i] = (uint16_t)(base - (tops[i] >> 7 & 255));
    if (escapes(metadata)) {
        uint16_t farthest[MOST_PLACES] = {0};

        find_farthest(size, groups, farthest);
        for (i = 0; i < places(size); i++)
            distances[i] = (tops[i] >> 7 & 255) == 0 ? farthest[i] : distances[i];
    }
    for (i = 0; i < places(size); i++)
        tails[i] = (uint16_t)(distances[i] + (distances[i] & signs) + (tops[i] >> 15 & signs));
}

/* Write the data of a line. Writes up to LINE + SLACK bytes. */
INLINE void put_data(unsigned size, struct line_metadata metadata, const struct groups *groups, const uint8_t *line, uint8_t *out)
{
    const struct tag tag = {metadata.tag, 0};
    uint8_t gathered[LINE] = {0}, parts[2 * MOST_PLACES] = {0}, rests[MOST_PLACES] = {0};
    const uint8_t *values = metadata.header & DENSE ? line : gathered;
    uint16_t tails[MOST_PLACES];
    const uint8_t *part = parts, *rest = rests;
    unsigned group, i;

    if (!(metadata.header & DENSE))
        gather(size, tag, line, gathered);
    find_tails(size, values, metadata, groups, tails);
    for (i = 0; i < places(size); i++)
        rests[i] = (uint8_t)(tails[i] >> 1);
    for (i = 0; i < places(size); i++) {
        if (size == 2)
            parts[i] = (uint8_t)((load16(values + 2 * i) & 0x7F) | (uint32_t)tails[i] << 7);
        else
            store32(parts + 4 * i, (load32(values + 4 * i) & 0x7FFFFFu) | (tails[i] & 1u) << 23);
    }
    for (group = 0; group < GROUPS; group++) {
        const unsigned count = groups->count[group];

        put_rests(size, rest, count, groups->bits[group], out);
        out += groups->rests[group];
        if (size == 2)
            memcpy(out, part, 16);
        else
            for (i = 0; i < group_places(size); i++)
                memcpy(out + 3 * i, part + 4 * i, 4);
        out += (size - 1) * count;
        part += (size == 2 ? 1 : 4) * count;
        rest += count;
    }
}

/* Find the line metadata of all lines of a block; write them and the tags. The payload bytes up to the data, or NO_ROOM. */
INLINE size_t put_metadata(unsigned size, const uint8_t *raw, size_t raw_bytes, struct line_metadata *metadata, uint8_t *out,
                        size_t used, size_t room)
{
    const size_t lines = lines_of(raw_bytes);
    uint8_t bases[MOST_LINES], widths[MOST_LINES];
    size_t line, base_count = 0, width_count = 0, tag_count = 0;
    unsigned previous = 0;

    for (line = 0; line < lines; line++) {
        uint8_t copy[LINE];
        const uint8_t *from = whole_line(raw + LINE * line, raw_bytes - LINE * line, copy);
        const uint64_t tag = tag_of(size, from).low;

        metadata[line].tag = tag;
        metadata[line].header = ZEROS;
        if (!tag)
            continue;
        metadata[line] = choose_metadata(size, from, tag, previous);
        if ((metadata[line].header & WIDTH) != WHOLE)
            previous = metadata[line].base;
        bases[base_count] = metadata[line].base;
        base_count += metadata[line].header >> 7;
        widths[width_count] = metadata[line].widths;
        width_count += metadata[line].header >> 6 & 1;
        tag_count += !(metadata[line].header & DENSE);
    }
    if (room < used + padded(lines + base_count + width_count) + tag_count * tag_bytes(size))
        return NO_ROOM;
    for (line = 0; line < lines; line++)
        out[used++] = metadata[line].header;
    memcpy(out + used, bases, base_count);
    used += base_count;
    memcpy(out + used, widths, width_count);
    used += width_count;
    while (used % 4)
        out[used++] = 0;
    for (line = 0; line < lines; line++) {
        if (metadata[line].header != ZEROS && !(metadata[line].header & DENSE)) {
            const struct tag tag = {metadata[line].tag, 0};

            store_tag(size, out + used, tag);
            used += tag_bytes(size);
        }
    }
    return used;
}

/* Exponents, from byte `used` of the payload on. */
INLINE size_t compress_exponents(unsigned size, const uint8_t *raw, size_t raw_bytes, uint8_t *out, size_t used,
                                 size_t room)
{
    struct line_metadata metadata[MOST_LINES];
    size_t at;

    used = put_metadata(size, raw, raw_bytes, metadata, out, used, room);
    if (used == NO_ROOM)
        return NO_ROOM;
    for (at = 0; at < raw_bytes; at += LINE) {
        const struct line_metadata known = metadata[at / LINE];
        uint8_t copy[LINE], data[LINE + SLACK];
        uint8_t *to = room - used < LINE + SLACK ? data : out + used;
        struct groups groups;

        if (known.header == ZEROS)
            continue;
        groups = groups_of(size, known);
        if (room - used < groups.bytes)
            return NO_ROOM;
        put_data(size, known, &groups, whole_line(raw + at, raw_bytes - at, copy), to);
        if (to == data)
            memcpy(out + used, data, groups.bytes);
        used += groups.bytes;
    }
    return used;
}

/* ---- Compression of a tensor ---- */

/* Bytes of an element, or 0 if there is no such coding. */
static unsigned element_bytes(unsigned coding)
{
    switch (coding) {
    case CDMA_CODING_RAW:
    case CDMA_CODING_LINES8:
    case CDMA_CODING_ZVC8: return 1;
    case CDMA_CODING_LINES16:
    case CDMA_CODING_ZVC16:
    case CDMA_CODING_BFLOAT16: return 2;
    case CDMA_CODING_LINES32:
    case CDMA_CODING_ZVC32:
    case CDMA_CODING_FLOAT32: return 4;
    default: return 0;
    }
}

/* Whether blocks of a coding say that they are short. */
static int says_short(unsigned coding)
{
    return coding >= CDMA_CODING_ZVC8;
}

static int block_size_allowed(size_t block_bytes)
{
    return block_bytes >= SMALLEST && block_bytes <= LARGEST && block_bytes % LINE == 0;
}

/* Write the coded payload of a block. */
static size_t compress_payload(unsigned coding, const uint8_t *raw, size_t raw_bytes, int is_short, uint8_t *out,
                               size_t room)
{
    size_t used = 0;

    if (is_short && says_short(coding)) {
        if (room < HEADER)
            return NO_ROOM;
        store32(out, (uint32_t)raw_bytes);
        used = HEADER;
    }
    switch (coding) {
    case CDMA_CODING_LINES8: return compress_lines(1, raw, raw_bytes, out, room);
    case CDMA_CODING_LINES16: return compress_lines(2, raw, raw_bytes, out, room);
    case CDMA_CODING_LINES32: return compress_lines(4, raw, raw_bytes, out, room);
    case CDMA_CODING_ZVC8: return compress_tags_first(1, raw, raw_bytes, out, used, room);
    case CDMA_CODING_ZVC16: return compress_tags_first(2, raw, raw_bytes, out, used, room);
    case CDMA_CODING_ZVC32: return compress_tags_first(4, raw, raw_bytes, out, used, room);
    case CDMA_CODING_BFLOAT16: return compress_exponents(2, raw, raw_bytes, out, used, room);
    case CDMA_CODING_FLOAT32: return compress_exponents(4, raw, raw_bytes, out, used, room);
    default: return NO_ROOM;
    }
}

/* Write a block with header and padding; its bytes, or NO_ROOM. The room is a multiple of 4. */
static size_t compress_block(unsigned coding, size_t block_bytes, int fallback, size_t number, const uint8_t *raw,
                             size_t raw_bytes, uint8_t *out, size_t room)
{
    const int is_short = raw_bytes < block_bytes;
    unsigned written = coding;
    size_t length = NO_ROOM;

    if (room < HEADER)
        return NO_ROOM;
    room -= HEADER;
    if (coding != CDMA_CODING_RAW)
        length = compress_payload(coding, raw, raw_bytes, is_short, out + HEADER,
                                  fallback ? least_of(room, raw_bytes - 1) : room);
    if (is_short && says_short(coding))
        written |= SHORT;
    if (length == NO_ROOM) {
        /* It was too long, or the room too small; then it is too small for the raw bytes as well. */
        if (room < raw_bytes || !(fallback || coding == CDMA_CODING_RAW))
            return NO_ROOM;
        memcpy(out + HEADER, raw, raw_bytes);
        length = raw_bytes;
        written = CDMA_CODING_RAW;
    }
    store32(out, (uint32_t)length | (uint32_t)written << 16 | (uint32_t)(number & 255) << 24);
    memset(out + HEADER + length, 0, padded(length) - length);
    return HEADER + padded(length);
}

size_t cdma_compress_bound(size_t raw_bytes, size_t block_bytes, unsigned flags)
{
    size_t more;

    if (!block_size_allowed(block_bytes))
        return 0;
    more = HEADER * (raw_bytes / block_bytes + (raw_bytes % block_bytes != 0));
    /* The most that a line can grow, and the word of a short block. */
    if (flags & CDMA_COMPRESS_NO_FALLBACK)
        more += 16 * (raw_bytes / LINE + 1) + HEADER;
    return raw_bytes > NO_ROOM - more - 3 ? 0 : padded(raw_bytes + more);
}

enum cdma_codec_status cdma_compress(enum cdma_coding coding, size_t block_bytes, unsigned flags, const void *raw,
                                     size_t raw_bytes, void *out, size_t capacity, size_t *packed_bytes)
{
    const int fallback = !(flags & CDMA_COMPRESS_NO_FALLBACK);
    const uint8_t *from = (const uint8_t *)raw;
    uint8_t *to = (uint8_t *)out;
    size_t at, number = 0, used = 0;

    if (!packed_bytes)
        return CDMA_CODEC_BAD_POINTER;
    *packed_bytes = 0;
    if (raw_bytes && (!raw || !out))
        return CDMA_CODEC_BAD_POINTER;
    if (!element_bytes((unsigned)coding))
        return CDMA_CODEC_BAD_CODING_ARGUMENT;
    if (!block_size_allowed(block_bytes))
        return CDMA_CODEC_BAD_BLOCK_BYTES;
    if (flags & ~(unsigned)CDMA_COMPRESS_NO_FALLBACK)
        return CDMA_CODEC_BAD_FLAGS;
    if (raw_bytes % element_bytes((unsigned)coding))
        return CDMA_CODEC_BAD_RAW_BYTES;
    capacity &= ~(size_t)3;
    for (at = 0; at < raw_bytes; at += least_of(block_bytes, raw_bytes - at)) {
        const size_t length = compress_block((unsigned)coding, block_bytes, fallback, number++, from + at,
                                             least_of(block_bytes, raw_bytes - at), to + used, capacity - used);

        if (length == NO_ROOM)
            return CDMA_CODEC_OUTPUT_TOO_SMALL;
        used += length;
    }
    *packed_bytes = used;
    return CDMA_CODEC_OK;
}

/* ---- Expansion of a block ---- */

static enum cdma_codec_status fail(struct cdma_fault *fault, enum cdma_codec_status status, size_t offset, size_t block,
                                   size_t line)
{
    if (fault) {
        fault->offset = offset == NOWHERE ? -1 : (int64_t)offset;
        fault->block = block == NOWHERE ? -1 : (int64_t)block;
        fault->line = line == NOWHERE ? -1 : (int32_t)line;
    }
    return status;
}

/* A block as its header and what is known of the stream describe it. */
struct frame {
    struct cdma_fault *fault; /* where errors are reported, or null */
    const uint8_t *payload;
    size_t number, offset;    /* of the block, and of its header in the stream */
    size_t length, next;      /* payload bytes, and the offset of the next header */
    size_t least, most;       /* raw bytes that the block may have */
    unsigned coding, size;    /* without SHORT; bytes of an element */
    int is_short;             /* whether the coding says so */
};

/* Where a block goes. */
struct output {
    uint8_t *bytes;
    size_t capacity;
    size_t used; /* set to the raw bytes of the block */
};

/* Report a fault at a byte of the payload. */
static enum cdma_codec_status wrong(const struct frame *frame, enum cdma_codec_status status, size_t at, size_t line)
{
    return fail(frame->fault, status, frame->offset + HEADER + at, frame->number, line);
}

static enum cdma_codec_status too_small(const struct frame *frame)
{
    return fail(frame->fault, CDMA_CODEC_OUTPUT_TOO_SMALL, frame->offset, frame->number, NOWHERE);
}

static enum cdma_codec_status expand_raw(const struct frame *frame, struct output *output)
{
    if (output->capacity < frame->length)
        return too_small(frame);
    memcpy(output->bytes, frame->payload, frame->length);
    output->used = frame->length;
    return CDMA_CODEC_OK;
}

/* If the elements that are missing are the last of a partial line, how many it has; 0 if it is none. */
INLINE size_t partial_places(unsigned size, struct tag tag, size_t held_elements)
{
    size_t place, seen = 0;

    for (place = 0; place < places(size); place++) {
        const uint64_t bits = place < 64 ? tag.low : tag.high;

        if (bits >> (place & 63) & 1 && seen++ == held_elements)
            return all_of(tag, tag_from(size, place)) ? place : 0;
    }
    return 0;
}

/* Expand the line stream. */
INLINE enum cdma_codec_status expand_lines(unsigned size, const struct frame *frame, struct output *output)
{
    const uint8_t *payload = frame->payload;
    const size_t length = frame->length, most = frame->most;
    const int known = frame->least == most;
    size_t at = 0, raw = 0, line;

    for (line = 0; known ? raw < most : at < length; line++) {
        size_t wanted = places(size), held, bytes;
        struct tag tag;

        if (raw >= most)
            return wrong(frame, CDMA_CODEC_TRAILING_BYTES, at, line - 1);
        if (length - at < tag_bytes(size))
            return wrong(frame, CDMA_CODEC_TRUNCATED_TAG, at, line);
        tag = load_tag(size, payload + at);
        held = length - at - tag_bytes(size);
        if (known && most - raw < LINE) {
            const struct tag missing = tag_from(size, wanted = (most - raw) / size);

            if (!all_of(tag, missing))
                return wrong(frame, CDMA_CODEC_BAD_TAG, at, line);
            tag.low &= ~missing.low;
            tag.high &= ~missing.high;
        }
        bytes = size * count_tag(size, tag);
        if (held < bytes) {
            wanted = known ? 0 : partial_places(size, tag, held / size);
            if (!wanted)
                return wrong(frame, CDMA_CODEC_TRUNCATED_DATA, at, line);
            if (held % size)
                return wrong(frame, CDMA_CODEC_TRAILING_BYTES, length - held % size, line);
            bytes = held;
        }
        if (output->capacity - raw < size * wanted)
            return too_small(frame);
        at += tag_bytes(size);
        put_line(size, tag, payload + at, held, output->bytes + raw, size * wanted);
        at += bytes;
        raw += size * wanted;
    }
    if (at < length)
        return wrong(frame, CDMA_CODEC_TRAILING_BYTES, at, line - 1);
    output->used = raw;
    return CDMA_CODEC_OK;
}

/* Expand tags first: the payload from a byte on. */
INLINE enum cdma_codec_status expand_tags_first(unsigned size, const struct frame *frame, size_t at, size_t raw_bytes,
                                                uint8_t *out)
{
    const uint8_t *payload = frame->payload;
    const size_t length = frame->length, lines = lines_of(raw_bytes);
    size_t data = at + lines * tag_bytes(size), line;

    if (length < data)
        return wrong(frame, CDMA_CODEC_TRUNCATED_TAG, length, NOWHERE);
    for (line = 0; line < lines; line++) {
        const size_t wanted = least_of(raw_bytes - LINE * line, LINE);
        const struct tag tag = load_tag(size, payload + at);
        const size_t bytes = size * count_tag(size, tag);

        if (wanted < LINE && any_of(tag, tag_from(size, wanted / size)))
            return wrong(frame, CDMA_CODEC_BAD_TAG, at, line);
        if (length - data < bytes)
            return wrong(frame, CDMA_CODEC_TRUNCATED_DATA, data, line);
        put_line(size, tag, payload + data, length - data, out + LINE * line, wanted);
        at += tag_bytes(size);
        data += bytes;
    }
    if (data < length)
        return wrong(frame, CDMA_CODEC_TRAILING_BYTES, data, lines - 1);
    return CDMA_CODEC_OK;
}

/* Eight numbers of so many bits, side by side, as a byte each; the reverse of squeeze. */
INLINE uint64_t spread(uint64_t octet, unsigned bits)
{
    const uint64_t two = ones(2 * bits) * 0x0000000100000001u, one = ones(bits) * 0x0001000100010001u;
    const unsigned gap = 8 - bits;

    octet = (octet & ones(4 * bits)) | (octet & ~ones(4 * bits)) << 4 * gap;
    octet = (octet & two) | (octet & two << 2 * bits) << 2 * gap;
    return (octet & one) | (octet & one << bits) << gap;
}

/* Read the rests of a group, so many bits each, as bytes. Reads up to 8 bytes more. */
INLINE void take_rests(unsigned size, const uint8_t *data, unsigned bits, uint8_t *rests)
{
    unsigned octet;

    for (octet = 0; octet < group_places(size) / 8; octet++)
        store64(rests + 8 * octet, spread(load64(data + octet * bits), bits));
}

/* Expand the elements of a line that are not zero, from their rests and mantissas. */
INLINE void join(unsigned size, struct line_metadata metadata, const uint16_t *farthest, const uint8_t *rests,
                 const uint8_t *parts, uint8_t *values)
{
    const uint16_t base = metadata.base, signs = metadata.header & SIGNS ? 0xFFFF : 0, escape = escapes(metadata) ? 0xFFFF : 0;
    uint16_t tails[MOST_PLACES], tops[MOST_PLACES];
    unsigned i;

    for (i = 0; i < places(size); i++) {
        const uint32_t lowest = size == 2 ? (uint32_t)parts[i] >> 7 : load32(parts + 4 * i) >> 23 & 1;

        tails[i] = (uint16_t)((uint32_t)rests[i] << 1 | lowest);
    }
    for (i = 0; i < places(size); i++) {
        const uint16_t tail = tails[i];
        const uint16_t distance = (uint16_t)((tail >> 1 & signs) | (tail & ~signs)) & farthest[i];
        const uint16_t escaped = distance == farthest[i] ? escape : 0;

        tops[i] = (uint16_t)((tail & signs) << 15 | ((base - distance) & 255 & ~escaped) << 7);
    }
    for (i = 0; i < places(size); i++) {
        if (size == 2)
            store16(values + 2 * i, tops[i] | (parts[i] & 0x7Fu));
        else
            store32(values + 4 * i, (uint32_t)tops[i] << 16 | (load32(parts + 4 * i) & 0x7FFFFFu));
    }
}

/* Expand a line from its data. Reads up to LINE + SLACK bytes. */
INLINE void take_line(unsigned size, struct line_metadata metadata, const struct groups *groups, const uint8_t *data,
                      uint8_t *line)
{
    const struct tag tag = {metadata.tag, 0};
    uint8_t rests[MOST_PLACES], parts[2 * MOST_PLACES], values[LINE];
    uint16_t farthest[MOST_PLACES];
    unsigned group, i, first = 0;

    find_farthest(size, groups, farthest);
    for (group = 0; group < GROUPS; group++) {
        const unsigned count = groups->count[group];

        take_rests(size, data, groups->bits[group], rests + first);
        data += groups->rests[group];
        if (size == 2)
            memcpy(parts + first, data, 16);
        else
            for (i = 0; i < group_places(size); i++)
                memcpy(parts + 4 * (first + i), data + 3 * i, 4);
        data += (size - 1) * count;
        first += count;
    }
    if (metadata.header & DENSE) {
        join(size, metadata, farthest, rests, parts, line);
    } else {
        join(size, metadata, farthest, rests, parts, values);
        scatter(size, tag, values, line);
    }
}

/* Places of what a payload with exponents has of its next line. */
struct places {
    size_t header, base, widths, tag, data;
};

/* Find the places for the first line, and check all line headers. */
INLINE enum cdma_codec_status find_places(unsigned size, const struct frame *frame, size_t at, size_t lines,
                                          struct places *found)
{
    size_t line, bases = 0, widths = 0, tags = 0;

    if (frame->length < at + lines)
        return wrong(frame, CDMA_CODEC_TRUNCATED_FACTS, frame->length, NOWHERE);
    for (line = 0; line < lines; line++) {
        const unsigned header = frame->payload[at + line];

        if (header == ZEROS)
            continue;
        if ((header & WIDTH) == WHOLE && header & (ESCAPE | WIDTHS | BASE))
            return wrong(frame, CDMA_CODEC_BAD_FACTS, at + line, line);
        bases += (header & BASE) != 0;
        widths += (header & WIDTHS) != 0;
        tags += !(header & DENSE);
    }
    found->header = at;
    found->base = at + lines;
    found->widths = found->base + bases;
    found->tag = padded(found->widths + widths);
    found->data = found->tag + tags * tag_bytes(size);
    if (frame->length < found->tag)
        return wrong(frame, CDMA_CODEC_TRUNCATED_FACTS, frame->length, NOWHERE);
    if (frame->length < found->data)
        return wrong(frame, CDMA_CODEC_TRUNCATED_TAG, frame->length, NOWHERE);
    return CDMA_CODEC_OK;
}

/* The widths of a line: whether each group has as many bits as are taken from it. */
static int widths_possible(struct line_metadata metadata)
{
    unsigned group;

    for (group = 0; group < GROUPS; group++)
        if (taken_of(metadata, group) > (metadata.header & WIDTH))
            return 0;
    return 1;
}

/* Expand exponents: the payload from a byte on. */
INLINE enum cdma_codec_status expand_exponents(unsigned size, const struct frame *frame, size_t at, size_t raw_bytes,
                                               uint8_t *out)
{
    const uint8_t *payload = frame->payload;
    const size_t length = frame->length, lines = lines_of(raw_bytes);
    struct places next = {0, 0, 0, 0, 0};
    enum cdma_codec_status status = find_places(size, frame, at, lines, &next);
    uint8_t previous = 0;
    size_t line;

    if (status)
        return status;
    for (line = 0; line < lines; line++) {
        const size_t wanted = least_of(raw_bytes - LINE * line, LINE);
        struct line_metadata metadata = {tag_from(size, 0).low, payload[next.header++], WHOLE_BASE, 0};
        const uint8_t *data = payload + next.data;
        uint8_t *to = out + LINE * line;
        uint8_t copy[LINE + SLACK], part[LINE];
        struct groups groups;
        size_t tag_at;

        if (metadata.header == ZEROS) {
            memset(to, 0, wanted);
            continue;
        }
        if (metadata.header & WIDTHS) {
            metadata.widths = payload[next.widths];
            if (!widths_possible(metadata))
                return wrong(frame, CDMA_CODEC_BAD_FACTS, next.widths, line);
            next.widths++;
        }
        if (metadata.header & BASE)
            previous = payload[next.base++];
        if ((metadata.header & WIDTH) != WHOLE)
            metadata.base = previous;
        tag_at = metadata.header & DENSE ? next.header - 1 : next.tag;
        if (!(metadata.header & DENSE)) {
            metadata.tag = load_tag(size, payload + next.tag).low;
            next.tag += tag_bytes(size);
        }
        if (wanted < LINE && metadata.tag & tag_from(size, wanted / size).low)
            return wrong(frame, CDMA_CODEC_BAD_TAG, tag_at, line);
        groups = groups_of(size, metadata);
        if (length - next.data < groups.bytes)
            return wrong(frame, CDMA_CODEC_TRUNCATED_DATA, next.data, line);
        if (length - next.data < sizeof copy) {
            memset(copy, 0, sizeof copy);
            data = (const uint8_t *)memcpy(copy, data, groups.bytes);
        }
        take_line(size, metadata, &groups, data, wanted < LINE ? part : to);
        if (wanted < LINE)
            memcpy(to, part, wanted);
        next.data += groups.bytes;
    }
    if (next.data < length)
        return wrong(frame, CDMA_CODEC_TRAILING_BYTES, next.data, lines - 1);
    return CDMA_CODEC_OK;
}

/* Expand a payload of a coding that says whether a block is short. */
CDMA_CODEC_CLONES
static enum cdma_codec_status expand_sized(const struct frame *frame, struct output *output)
{
    size_t at = 0, raw_bytes = frame->most;

    if (frame->is_short) {
        at = HEADER;
        raw_bytes = load32(frame->payload);
        if (raw_bytes < frame->least || raw_bytes > frame->most || raw_bytes % frame->size)
            return wrong(frame, CDMA_CODEC_BAD_LENGTH, 0, NOWHERE);
    }
    if (output->capacity < raw_bytes)
        return too_small(frame);
    output->used = raw_bytes;
    switch (frame->coding) {
    case CDMA_CODING_ZVC8: return expand_tags_first(1, frame, at, raw_bytes, output->bytes);
    case CDMA_CODING_ZVC16: return expand_tags_first(2, frame, at, raw_bytes, output->bytes);
    case CDMA_CODING_ZVC32: return expand_tags_first(4, frame, at, raw_bytes, output->bytes);
    case CDMA_CODING_BFLOAT16: return expand_exponents(2, frame, at, raw_bytes, output->bytes);
    default: return expand_exponents(4, frame, at, raw_bytes, output->bytes);
    }
}

static enum cdma_codec_status expand(const struct frame *frame, struct output *output)
{
    switch (frame->coding) {
    case CDMA_CODING_RAW: return expand_raw(frame, output);
    case CDMA_CODING_LINES8: return expand_lines(1, frame, output);
    case CDMA_CODING_LINES16: return expand_lines(2, frame, output);
    case CDMA_CODING_LINES32: return expand_lines(4, frame, output);
    default: return expand_sized(frame, output);
    }
}

/* ---- Headers ---- */

/* Whether a stream may have blocks of the coding in a header. */
static int coding_allowed(const struct cdma_stream *stream, unsigned coding)
{
    const unsigned plain = coding & ~SHORT;

    if (!element_bytes(plain) || (coding & SHORT && !says_short(plain)))
        return 0;
    return stream->coding == CDMA_CODING_ANY || plain == CDMA_CODING_RAW || plain == (unsigned)stream->coding;
}

/* Find the raw bytes that a block may have; whether its coding allows any. */
static int find_raw_range(const struct cdma_stream *stream, struct frame *frame)
{
    frame->least = 1;
    frame->most = stream->block_bytes;
    if (stream->raw_bytes != CDMA_RAW_BYTES_UNKNOWN)
        frame->least = frame->most = least_of(frame->most, stream->raw_bytes - frame->number * stream->block_bytes);
    else if (frame->next < stream->packed_bytes)
        frame->least = frame->most;
    if (frame->is_short)
        frame->most = least_of(frame->most, stream->block_bytes - frame->size);
    else if (says_short(frame->coding))
        frame->least = stream->block_bytes;
    return frame->least <= frame->most;
}

/* Whether a coded payload of this length is possible. */
static int length_possible(const struct frame *frame)
{
    const size_t fewest = lines_of(frame->least), greatest = lines_of(frame->most), tag = tag_bytes(frame->size);
    const size_t word = frame->is_short ? HEADER : 0;
    size_t low = fewest * tag, high = greatest * tag + frame->most;

    if (frame->coding == CDMA_CODING_BFLOAT16 || frame->coding == CDMA_CODING_FLOAT32) {
        low = padded(fewest);
        high += padded(greatest);
    }
    return frame->length >= low + word && frame->length <= high + word;
}

/* Check the coding and the length of a block against the raw bytes that it may have. */
static enum cdma_codec_status check_length(const struct cdma_stream *stream, struct frame *frame)
{
    const unsigned grain = stream->coding == CDMA_CODING_ANY ? 1 : element_bytes((unsigned)stream->coding);
    int possible;

    if (!find_raw_range(stream, frame))
        return fail(frame->fault, CDMA_CODEC_BAD_CODING, frame->offset + 2, frame->number, NOWHERE);
    if (frame->coding == CDMA_CODING_RAW) {
        possible = frame->length >= frame->least && frame->length <= frame->most && frame->length % grain == 0;
    } else {
        if (frame->least == frame->most && frame->most % frame->size)
            return fail(frame->fault, CDMA_CODEC_BAD_CODING, frame->offset + 2, frame->number, NOWHERE);
        possible = length_possible(frame);
    }
    if (!possible)
        return fail(frame->fault, CDMA_CODEC_BAD_LENGTH, frame->offset, frame->number, NOWHERE);
    return CDMA_CODEC_OK;
}

/*
 * Read and check everything of a block that is outside its payload. The block begins within the stream or at its end,
 * and if the raw length is known, it has a block of this number.
 */
static enum cdma_codec_status read_frame(const struct cdma_stream *stream, size_t number, size_t offset,
                                         struct frame *frame, struct cdma_fault *fault)
{
    const uint8_t *bytes = (const uint8_t *)stream->bytes;
    const size_t left = stream->packed_bytes - offset;
    enum cdma_codec_status status;
    size_t at;

    if (left < HEADER)
        return fail(fault, CDMA_CODEC_TRUNCATED_HEADER, offset, number, NOWHERE);
    frame->fault = fault;
    frame->payload = bytes + offset + HEADER;
    frame->number = number;
    frame->offset = offset;
    frame->length = load16(bytes + offset);
    frame->coding = bytes[offset + 2] & ~SHORT;
    frame->size = element_bytes(frame->coding);
    frame->is_short = (bytes[offset + 2] & SHORT) != 0;
    /* A payload that is cut ends the stream. */
    frame->next = offset + HEADER + least_of(padded(frame->length), left - HEADER);
    if (!coding_allowed(stream, bytes[offset + 2]))
        return fail(fault, CDMA_CODEC_BAD_CODING, offset + 2, number, NOWHERE);
    if (bytes[offset + 3] != (number & 255))
        return fail(fault, CDMA_CODEC_WRONG_SEQUENCE, offset + 3, number, NOWHERE);
    status = check_length(stream, frame);
    if (status)
        return status;
    if (left - HEADER < padded(frame->length))
        return fail(fault, CDMA_CODEC_TRUNCATED_DATA, offset + HEADER, number, NOWHERE);
    for (at = offset + HEADER + frame->length; at < frame->next; at++)
        if (bytes[at])
            return fail(fault, CDMA_CODEC_BAD_PADDING, at, number, NOWHERE);
    return CDMA_CODEC_OK;
}

/* Whether the raw length is known and says that a stream has no block of a number. */
static int beyond_end(const struct cdma_stream *stream, size_t number)
{
    const size_t raw_bytes = stream->raw_bytes, block_bytes = stream->block_bytes;

    return raw_bytes != CDMA_RAW_BYTES_UNKNOWN && number >= raw_bytes / block_bytes + (raw_bytes % block_bytes != 0);
}

/* Read the block at a place, or CDMA_CODEC_NO_BLOCK where the stream has ended. */
static enum cdma_codec_status next_frame(const struct cdma_stream *stream, size_t number, size_t offset,
                                         struct frame *frame, struct cdma_fault *fault)
{
    const int ended = offset == stream->packed_bytes;

    if (beyond_end(stream, number)) {
        if (!ended)
            return fail(fault, CDMA_CODEC_TRAILING_BYTES, offset, number ? number - 1 : 0, NOWHERE);
        return CDMA_CODEC_NO_BLOCK;
    }
    if (ended && stream->raw_bytes == CDMA_RAW_BYTES_UNKNOWN)
        return CDMA_CODEC_NO_BLOCK;
    return read_frame(stream, number, offset, frame, fault);
}

static enum cdma_codec_status check_stream(const struct cdma_stream *stream, struct cdma_fault *fault)
{
    fail(fault, CDMA_CODEC_OK, NOWHERE, NOWHERE, NOWHERE);
    if (!stream || (!stream->bytes && stream->packed_bytes))
        return CDMA_CODEC_BAD_POINTER;
    if (stream->coding != CDMA_CODING_ANY && !element_bytes((unsigned)stream->coding))
        return CDMA_CODEC_BAD_CODING_ARGUMENT;
    if (!block_size_allowed(stream->block_bytes))
        return CDMA_CODEC_BAD_BLOCK_BYTES;
    if (stream->raw_bytes != CDMA_RAW_BYTES_UNKNOWN && stream->coding != CDMA_CODING_ANY
        && stream->raw_bytes % element_bytes((unsigned)stream->coding))
        return CDMA_CODEC_BAD_RAW_BYTES;
    return CDMA_CODEC_OK;
}

/* ---- What the header declares ---- */

enum cdma_codec_status cdma_decompress(const struct cdma_stream *stream, void *out, size_t capacity, size_t *raw_bytes,
                                       struct cdma_fault *fault)
{
    enum cdma_codec_status status = check_stream(stream, fault);
    uint8_t *to = (uint8_t *)out;
    size_t number, offset = 0;

    if (!raw_bytes)
        return CDMA_CODEC_BAD_POINTER;
    *raw_bytes = 0;
    if (!status && !out && stream->packed_bytes)
        status = CDMA_CODEC_BAD_POINTER;
    for (number = 0; !status; number++) {
        struct frame frame;
        struct output output = {0, 0, 0};

        status = next_frame(stream, number, offset, &frame, fault);
        if (status == CDMA_CODEC_NO_BLOCK)
            return CDMA_CODEC_OK;
        if (status)
            return status;
        output.bytes = to + *raw_bytes;
        output.capacity = capacity - *raw_bytes;
        status = expand(&frame, &output);
        if (!status)
            *raw_bytes += output.used;
        offset = frame.next;
    }
    return status;
}

/* Read the block at a place and describe it. */
static enum cdma_codec_status describe(const struct cdma_stream *stream, size_t number, size_t offset,
                                       struct cdma_block *block, struct cdma_fault *fault)
{
    struct frame frame;
    const enum cdma_codec_status status = next_frame(stream, number, offset, &frame, fault);

    if (!status) {
        block->number = number;
        block->offset = offset;
        block->payload_bytes = frame.length;
        block->coding = frame.coding | (frame.is_short ? SHORT : 0);
        block->next = frame.next;
    }
    return status;
}

enum cdma_codec_status cdma_first_block(const struct cdma_stream *stream, struct cdma_block *block,
                                        struct cdma_fault *fault)
{
    const enum cdma_codec_status status = check_stream(stream, fault);

    if (status)
        return status;
    return block ? describe(stream, 0, 0, block, fault) : CDMA_CODEC_BAD_POINTER;
}

enum cdma_codec_status cdma_next_block(const struct cdma_stream *stream, struct cdma_block *block,
                                       struct cdma_fault *fault)
{
    const enum cdma_codec_status status = check_stream(stream, fault);

    if (status)
        return status;
    if (!block)
        return CDMA_CODEC_BAD_POINTER;
    if (block->next > stream->packed_bytes)
        return CDMA_CODEC_NO_BLOCK;
    return describe(stream, block->number + 1, block->next, block, fault);
}

enum cdma_codec_status cdma_find_block(const struct cdma_stream *stream, size_t number, struct cdma_block *block,
                                       struct cdma_fault *fault)
{
    enum cdma_codec_status status = cdma_first_block(stream, block, fault);

    while (!status && block->number < number)
        status = cdma_next_block(stream, block, fault);
    return status;
}

enum cdma_codec_status cdma_decompress_block(const struct cdma_stream *stream, const struct cdma_block *block,
                                             void *out, size_t capacity, size_t *raw_bytes, struct cdma_fault *fault)
{
    enum cdma_codec_status status = check_stream(stream, fault);
    struct output output = {(uint8_t *)out, capacity, 0};
    struct frame frame;

    if (!raw_bytes)
        return CDMA_CODEC_BAD_POINTER;
    *raw_bytes = 0;
    if (status)
        return status;
    if (!block || !out)
        return CDMA_CODEC_BAD_POINTER;
    if (block->offset >= stream->packed_bytes || beyond_end(stream, block->number))
        return CDMA_CODEC_NO_BLOCK;
    status = read_frame(stream, block->number, block->offset, &frame, fault);
    if (!status)
        status = expand(&frame, &output);
    if (!status)
        *raw_bytes = output.used;
    return status;
}

uint32_t cdma_crc32c(const void *bytes, size_t length, uint32_t crc)
{
    const uint8_t *from = (const uint8_t *)bytes;
    uint32_t table[4][256], value;
    unsigned i, j;

    /* table[j][i]: what byte i does to the register when j zeros follow it. */
    for (i = 0; i < 256; i++) {
        value = i;
        for (j = 0; j < 8; j++)
            value = value >> 1 ^ (0x82F63B78u & (0 - (value & 1)));
        table[0][i] = value;
    }
    for (j = 1; j < 4; j++)
        for (i = 0; i < 256; i++)
            table[j][i] = table[j - 1][i] >> 8 ^ table[0][table[j - 1][i] & 255];
    value = ~crc;
    for (; length >= 4; length -= 4, from += 4) {
        value ^= load32(from);
        value = table[3][value & 255] ^ table[2][value >> 8 & 255] ^ table[1][value >> 16 & 255]
            ^ table[0][value >> 24];
    }
    for (; length; length--)
        value = value >> 8 ^ table[0][(value ^ *from++) & 255];
    return ~value;
}

enum cdma_codec_status cdma_check_crc(const struct cdma_stream *stream, uint32_t expected, struct cdma_fault *fault)
{
    const enum cdma_codec_status status = check_stream(stream, fault);

    if (status)
        return status;
    if (cdma_crc32c(stream->bytes, stream->packed_bytes, 0) != expected)
        return fail(fault, CDMA_CODEC_CRC_MISMATCH, stream->packed_bytes, NOWHERE, NOWHERE);
    return CDMA_CODEC_OK;
}

/* Where the fields of a head are. */
#define HEAD_ELEMENT 5
#define HEAD_BLOCK 6
#define HEAD_RAW 8
#define HEAD_PACKED 16
#define HEAD_TYPE 24
#define HEAD_STREAM_CRC 56
#define HEAD_CRC 60

/* The magic, and the version behind it. */
static const uint8_t HEAD_BEGIN[HEAD_ELEMENT] = {'c', 'D', 'M', 'A', 1};

static enum cdma_codec_status check_head(const struct cdma_head *head)
{
    const unsigned size = head->element_bytes;
    const size_t block = head->stream.block_bytes;

    if (size ? size > 4 || size == 3 || block : block < SMALLEST || block > LARGEST || block % LINE)
        return CDMA_CODEC_BAD_BLOCK_BYTES;
    return CDMA_CODEC_OK;
}

enum cdma_codec_status cdma_write_head(const struct cdma_head *head, void *out)
{
    uint8_t *to = (uint8_t *)out;
    enum cdma_codec_status status;

    if (!head || !out)
        return CDMA_CODEC_BAD_POINTER;
    status = check_head(head);
    if (status)
        return status;
    if (head->stream.raw_bytes == CDMA_RAW_BYTES_UNKNOWN)
        return CDMA_CODEC_BAD_RAW_BYTES;
    memcpy(to, HEAD_BEGIN, sizeof HEAD_BEGIN);
    to[HEAD_ELEMENT] = (uint8_t)head->element_bytes;
    store16(to + HEAD_BLOCK, (uint32_t)head->stream.block_bytes);
    store64(to + HEAD_RAW, head->stream.raw_bytes);
    store64(to + HEAD_PACKED, head->stream.packed_bytes);
    memcpy(to + HEAD_TYPE, head->type, CDMA_TYPE_BYTES);
    store32(to + HEAD_STREAM_CRC, head->crc32c);
    store32(to + HEAD_CRC, cdma_crc32c(to, HEAD_CRC, 0));
    return CDMA_CODEC_OK;
}

enum cdma_codec_status cdma_read_head(const void *file, size_t length, struct cdma_head *head)
{
    const uint8_t *from = (const uint8_t *)file;
    uint64_t raw_bytes, packed_bytes;

    if (!head || (!file && length))
        return CDMA_CODEC_BAD_POINTER;
    if (length < sizeof HEAD_BEGIN || memcmp(from, HEAD_BEGIN, sizeof HEAD_BEGIN))
        return CDMA_CODEC_NO_HEAD;
    if (length < CDMA_HEAD_BYTES)
        return CDMA_CODEC_TRUNCATED_HEADER;
    if (load32(from + HEAD_CRC) != cdma_crc32c(from, HEAD_CRC, 0))
        return CDMA_CODEC_CRC_MISMATCH;
    raw_bytes = load64(from + HEAD_RAW);
    packed_bytes = load64(from + HEAD_PACKED);
    if ((size_t)raw_bytes != raw_bytes || (size_t)packed_bytes != packed_bytes || raw_bytes == CDMA_RAW_BYTES_UNKNOWN)
        return CDMA_CODEC_OUTPUT_TOO_SMALL;
    head->stream.bytes = NULL;
    head->stream.packed_bytes = (size_t)packed_bytes;
    head->stream.block_bytes = load16(from + HEAD_BLOCK);
    head->stream.raw_bytes = (size_t)raw_bytes;
    head->stream.coding = CDMA_CODING_ANY;
    head->crc32c = load32(from + HEAD_STREAM_CRC);
    head->element_bytes = from[HEAD_ELEMENT];
    memcpy(head->type, from + HEAD_TYPE, CDMA_TYPE_BYTES);
    return check_head(head);
}

const char *cdma_codec_text(enum cdma_codec_status status)
{
    switch (status) {
    case CDMA_CODEC_OK: return "done";
    case CDMA_CODEC_BAD_POINTER: return "bad argument: a pointer is null";
    case CDMA_CODEC_BAD_CODING_ARGUMENT: return "bad argument: there is no such coding";
    case CDMA_CODEC_BAD_BLOCK_BYTES: return "bad argument: block_bytes is not 512 to 32768 or no multiple of 128";
    case CDMA_CODEC_BAD_FLAGS: return "bad argument: a flag is not defined";
    case CDMA_CODEC_BAD_RAW_BYTES: return "bad argument: raw_bytes is no multiple of the element";
    case CDMA_CODEC_OUTPUT_TOO_SMALL: return "the output does not hold the result";
    case CDMA_CODEC_NO_BLOCK: return "the stream has no such block";
    case CDMA_CODEC_NO_HEAD: return "the file does not begin with a head: it is a bare stream, or no stream";
    case CDMA_CODEC_TRUNCATED_HEADER: return "truncated header: the stream ends inside a header";
    case CDMA_CODEC_BAD_CODING:
        return "bad coding: it is unknown, not the one asked for, or impossible for the raw bytes of the block";
    case CDMA_CODEC_WRONG_SEQUENCE: return "wrong sequence: a block is lost, stale or out of order";
    case CDMA_CODEC_BAD_LENGTH: return "bad length: impossible for the raw bytes of the block";
    case CDMA_CODEC_TRUNCATED_DATA: return "truncated data: the stream or a payload ends before the data do";
    case CDMA_CODEC_BAD_PADDING: return "bad padding: a byte of padding is not zero";
    case CDMA_CODEC_TRUNCATED_FACTS: return "truncated facts: a payload ends before its line headers, bases and widths do";
    case CDMA_CODEC_BAD_FACTS: return "bad facts: a line header or a byte of widths contradicts itself";
    case CDMA_CODEC_TRUNCATED_TAG: return "truncated tag: a payload ends before its tags do";
    case CDMA_CODEC_BAD_TAG: return "bad tag: the last line has a wrong bit for a missing element";
    case CDMA_CODEC_TRAILING_BYTES: return "trailing bytes: bytes follow the last line of a block, or the last block";
    case CDMA_CODEC_CRC_MISMATCH: return "CRC mismatch: the CRC-32C of the stream is not the expected one";
    default: return "unknown status";
    }
}
