/*
 * Reads many inputs from a file and decodes each from and to buffers of exactly the size that it is told, so that a
 * sanitizer sees every access outside them. What decodes is compressed again. Exit status 1: the calls contradict each
 * other. An input is: block_bytes, coding (or -1), raw bytes (or -1), length; 4 bytes each; and the stream.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdma_codec.h"

static const enum cdma_coding codings[] = {
    CDMA_CODING_RAW, CDMA_CODING_LINES8, CDMA_CODING_LINES16, CDMA_CODING_LINES32, CDMA_CODING_ZVC8, CDMA_CODING_ZVC16,
    CDMA_CODING_ZVC32, CDMA_CODING_BFLOAT16, CDMA_CODING_FLOAT32};

static void check(int right, const char *what)
{
    if (!right) {
        puts(what);
        exit(1);
    }
}

/* A buffer of exactly so many bytes. */
static uint8_t *buffer(size_t bytes)
{
    uint8_t *found = (uint8_t *)malloc(bytes);

    check(found || !bytes, "no memory");
    return found;
}

/* Decode into a buffer of a capacity; the raw bytes are returned where that succeeds, else null. */
static uint8_t *decode(const struct cdma_stream *stream, size_t capacity, size_t *raw_bytes)
{
    uint8_t *out = buffer(capacity);
    struct cdma_fault fault;
    const enum cdma_codec_status status = cdma_decompress(stream, out, capacity, raw_bytes, &fault);

    check(*raw_bytes <= capacity, "more raw bytes than capacity");
    check(fault.offset <= (int64_t)stream->packed_bytes, "fault beyond the stream");
    if (!status)
        return out;
    free(out);
    return NULL;
}

/* Decode all blocks alone, and compare with the whole where there is one. */
static void decode_blocks(const struct cdma_stream *stream, const uint8_t *whole, size_t raw_bytes)
{
    uint8_t *out = buffer(stream->block_bytes);
    struct cdma_block block;
    struct cdma_fault fault;
    size_t at = 0, length;
    enum cdma_codec_status status = cdma_first_block(stream, &block, &fault);

    while (!status) {
        const enum cdma_codec_status one =
            cdma_decompress_block(stream, &block, out, stream->block_bytes, &length, &fault);

        if (whole) {
            check(!one && length <= raw_bytes - at, "a block alone fails");
            check(!length || !memcmp(out, whole + at, length), "a block alone differs");
            at += length;
        }
        check(block.next <= stream->packed_bytes, "next block beyond the stream");
        /* Blocks that are claimed where none is. */
        block.offset += 4;
        cdma_decompress_block(stream, &block, out, stream->block_bytes, &length, &fault);
        block.offset += stream->packed_bytes;
        check(cdma_decompress_block(stream, &block, out, stream->block_bytes, &length, &fault) == CDMA_CODEC_NO_BLOCK,
              "a block behind the end");
        status = cdma_next_block(stream, &block, &fault);
    }
    check(!whole || (status == CDMA_CODEC_NO_BLOCK && at == raw_bytes), "blocks are not the whole");
    free(out);
}

/* Compress with a coding, into no byte more than it takes, and expand again. */
static void compress(enum cdma_coding coding, size_t block_bytes, const uint8_t *raw, size_t raw_bytes, unsigned flags)
{
    const size_t bound = cdma_compress_bound(raw_bytes, block_bytes, flags);
    struct cdma_stream stream = {NULL, 0, block_bytes, raw_bytes, coding};
    uint8_t *packed = buffer(bound), *again;
    size_t length, decoded;

    check(!cdma_compress(coding, block_bytes, flags, raw, raw_bytes, packed, bound, &length), "the bound is too small");
    free(packed);
    packed = buffer(length);
    check(!cdma_compress(coding, block_bytes, flags, raw, raw_bytes, packed, length, &stream.packed_bytes), "too small");
    check(stream.packed_bytes == length, "another length");
    stream.bytes = packed;
    again = decode(&stream, raw_bytes, &decoded);
    check(decoded == raw_bytes && (!raw_bytes || !memcmp(again, raw, raw_bytes)), "other raw bytes");
    free(again);
    free(packed);
    if (length) {
        packed = buffer(length - 1);
        check(cdma_compress(coding, block_bytes, flags, raw, raw_bytes, packed, length - 1, &decoded)
              == CDMA_CODEC_OUTPUT_TOO_SMALL, "it fits where it cannot");
        free(packed);
    }
}

static void try_input(const struct cdma_stream *stream, unsigned number)
{
    const size_t most = (stream->packed_bytes / 4 + 1) * stream->block_bytes;
    size_t raw_bytes, length, i;
    uint8_t *raw = decode(stream, most, &raw_bytes);

    decode_blocks(stream, raw, raw_bytes);
    /* Blocks before a fault fit into their own length; no capacity may be exceeded. */
    free(decode(stream, raw_bytes, &length));
    check(length == raw_bytes, "another raw length");
    free(decode(stream, raw_bytes * (number % 8) / 8, &length));
    for (i = 0; raw && i < sizeof codings / sizeof *codings; i++) {
        const size_t element = codings[i] ? (unsigned)codings[i] & 15 : 1;

        if (raw_bytes % element == 0)
            compress(codings[i], stream->block_bytes, raw, raw_bytes, number % 2 ? CDMA_COMPRESS_NO_FALLBACK : 0);
    }
    free(raw);
}

int main(int count, char **names)
{
    FILE *file = fopen(count > 1 ? names[1] : "", "rb");
    int32_t head[4];
    unsigned number;

    check(file != NULL, "no file");
    for (number = 0; fread(head, sizeof head, 1, file) == 1; number++) {
        const size_t length = (size_t)head[3];
        uint8_t *bytes = buffer(length);
        struct cdma_stream stream = {bytes, length, (size_t)head[0], (size_t)head[2], (enum cdma_coding)head[1]};

        check(fread(bytes, 1, length, file) == length, "the file is cut");
        if (head[2] < 0)
            stream.raw_bytes = CDMA_RAW_BYTES_UNKNOWN;
        try_input(&stream, number);
        free(bytes);
    }
    printf("%u inputs\n", number);
    fclose(file);
    return 0;
}
