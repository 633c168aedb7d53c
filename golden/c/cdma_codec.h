/*
 * cdma_codec.h: compresses tensors into block streams and expands them, on the host. C99, also valid C++; compile
 * cdma_codec.c with your program. It reads and writes what the engine does, byte for byte.
 *
 * It needs no operating system, allocates nothing and has no state, so calls may run in any number of threads. Buffers
 * may begin at any address; they must not overlap. Nothing is read or written outside them, whatever a stream holds. A
 * call takes up to 8 KiB of stack where the compiler optimises. Sizes and offsets are in bytes.
 *
 * A file holds a head and a stream: see cdma_write_head() and cdma_read_head(). The engine reads and writes bare streams.
 *
 * Functions return 0 (CDMA_CODEC_OK) or why they could not do what was asked; cdma_codec_text() explains it.
 *
 *     size_t bytes, capacity = cdma_compress_bound(raw_bytes, 4096, 0);
 *     uint8_t *packed = malloc(capacity);
 *     int status = cdma_compress(CDMA_CODING_ZVC32, 4096, 0, raw, raw_bytes, packed, capacity, &bytes);
 *     if (!status) {
 *         struct cdma_stream stream = {packed, bytes, 4096, raw_bytes, CDMA_CODING_ANY};
 *         struct cdma_fault fault;
 *         status = cdma_decompress(&stream, raw, raw_bytes, &bytes, &fault);
 *     }
 */
#ifndef CDMA_CODEC_H
#define CDMA_CODEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the payload of a block is coded. The lower four bits are the bytes of an element. NAME_regs.h has the same. */
#ifndef CDMA_CODINGS
#define CDMA_CODINGS
enum cdma_coding {
    CDMA_CODING_RAW = 0x00,
    CDMA_CODING_LINES8 = 0x01, /* the line stream: each line is a tag and its elements that are not zero */
    CDMA_CODING_LINES16 = 0x02,
    CDMA_CODING_LINES32 = 0x04,
    CDMA_CODING_ZVC8 = 0x11, /* the tags of all lines, then the elements that are not zero */
    CDMA_CODING_ZVC16 = 0x12,
    CDMA_CODING_ZVC32 = 0x14,
    CDMA_CODING_BFLOAT16 = 0x22, /* tags, and exponents in few bits */
    CDMA_CODING_FLOAT32 = 0x24,
    CDMA_CODING_ANY = -1 /* of a stream that is read: its blocks may have any coding */
};
#endif

/* Why a call failed. The first group is a mistake of the caller, the second a malformed stream. */
enum cdma_codec_status {
    CDMA_CODEC_OK = 0,

    CDMA_CODEC_BAD_POINTER = 1,
    CDMA_CODEC_BAD_CODING_ARGUMENT = 2,
    CDMA_CODEC_BAD_BLOCK_BYTES = 3,
    CDMA_CODEC_BAD_FLAGS = 4,
    CDMA_CODEC_BAD_RAW_BYTES = 5,
    CDMA_CODEC_OUTPUT_TOO_SMALL = 6,
    CDMA_CODEC_NO_BLOCK = 7,
    CDMA_CODEC_NO_HEAD = 8,

    CDMA_CODEC_TRUNCATED_HEADER = 16,
    CDMA_CODEC_BAD_CODING = 17,
    CDMA_CODEC_WRONG_SEQUENCE = 18,
    CDMA_CODEC_BAD_LENGTH = 19,
    CDMA_CODEC_TRUNCATED_DATA = 20,
    CDMA_CODEC_BAD_PADDING = 21,
    CDMA_CODEC_TRUNCATED_FACTS = 22,
    CDMA_CODEC_BAD_FACTS = 23,
    CDMA_CODEC_TRUNCATED_TAG = 24,
    CDMA_CODEC_BAD_TAG = 25,
    CDMA_CODEC_TRAILING_BYTES = 26,
    CDMA_CODEC_CRC_MISMATCH = 27
};

/* A sentence for a status, without a full stop. */
const char *cdma_codec_text(enum cdma_codec_status status);

/* Flags of cdma_compress. */
enum {
    CDMA_COMPRESS_NO_FALLBACK = 1 /* blocks that the coding does not make shorter are coded all the same */
};

/*
 * A capacity that suffices for the block stream of a tensor, whatever its values and its coding are. 0 if the block
 * size is not allowed, or the capacity does not fit into a size_t.
 */
size_t cdma_compress_bound(size_t raw_bytes, size_t block_bytes, unsigned flags);

/*
 * Write the block stream of a tensor.
 *
 * coding: of all blocks that do not stay raw. block_bytes: 512 to 32768, a multiple of 128. raw_bytes: a multiple of
 * the element. flags: 0 or CDMA_COMPRESS_NO_FALLBACK. *packed_bytes: the length of the stream, 0 after an error. raw and
 * out may be null where raw_bytes is 0.
 *
 * The capacity need not be the bound; with CDMA_CODEC_OUTPUT_TOO_SMALL the stream is longer than it. Bytes of the
 * output after the stream, within the capacity, are undefined.
 */
enum cdma_codec_status cdma_compress(enum cdma_coding coding, size_t block_bytes, unsigned flags, const void *raw,
                                     size_t raw_bytes, void *out, size_t capacity, size_t *packed_bytes);

/* The raw length of a stream where it is not known. */
#define CDMA_RAW_BYTES_UNKNOWN ((size_t)-1)

/* A block stream that is read, and what is known about it. */
struct cdma_stream {
    const void *bytes;       /* may be null where packed_bytes is 0 */
    size_t packed_bytes;     /* length of the stream */
    size_t block_bytes;      /* raw bytes of a block, as when it was written */
    size_t raw_bytes;        /* length of the tensor, or CDMA_RAW_BYTES_UNKNOWN; with it, a lost end is detected too */
    enum cdma_coding coding; /* that every block must have which is not raw, or CDMA_CODING_ANY */
};

/* Where a stream is malformed. -1 for what does not apply. */
struct cdma_fault {
    int64_t offset; /* byte of the stream */
    int64_t block;  /* number of the block, from 0 */
    int32_t line;   /* number of the line in its block, from 0 */
};

/*
 * Expand a whole stream.
 *
 * *raw_bytes: bytes written. After an error, those of the blocks before the faulty one: they are valid, and the rest of
 * the output is undefined within its capacity. fault: where the error is, or null. out may be null where the stream is
 * empty.
 *
 * The first fault in the order of the stream is reported. CDMA_CODEC_OUTPUT_TOO_SMALL is found where a block does not
 * fit; fault has that block.
 */
enum cdma_codec_status cdma_decompress(const struct cdma_stream *stream, void *out, size_t capacity, size_t *raw_bytes,
                                       struct cdma_fault *fault);

/* A block of a stream, as its header describes it. */
struct cdma_block {
    size_t number;        /* from 0; block n holds the raw bytes from n * block_bytes on */
    size_t offset;        /* of its header in the stream */
    size_t payload_bytes; /* without padding; the payload begins 4 bytes after the header */
    unsigned coding;      /* byte 2 of the header: a coding, with bit 7 set in a short block */
    size_t next;          /* offset of the next header, or the length of the stream */
};

/*
 * The first block of a stream, and the one after a block. CDMA_CODEC_NO_BLOCK: there is none, the stream has ended.
 *
 * Of the block, everything is checked that is outside its payload: the header, its length, missing bytes, padding.
 * After an error *block is undefined.
 */
enum cdma_codec_status cdma_first_block(const struct cdma_stream *stream, struct cdma_block *block,
                                        struct cdma_fault *fault);
enum cdma_codec_status cdma_next_block(const struct cdma_stream *stream, struct cdma_block *block,
                                       struct cdma_fault *fault);

/* The block of a number. It goes from header to header, so the time it takes grows with the number. */
enum cdma_codec_status cdma_find_block(const struct cdma_stream *stream, size_t number, struct cdma_block *block,
                                       struct cdma_fault *fault);

/*
 * Expand one block that one of the functions above found. Only its number and its offset are read, so these two may be
 * kept in an index. A capacity of block_bytes suffices. *raw_bytes: bytes written, 0 after an error.
 */
enum cdma_codec_status cdma_decompress_block(const struct cdma_stream *stream, const struct cdma_block *block,
                                             void *out, size_t capacity, size_t *raw_bytes, struct cdma_fault *fault);

/*
 * The CRC-32C of bytes, as completions report it of a stream. crc: 0, or that of the bytes before them, so a stream may
 * come in pieces.
 */
uint32_t cdma_crc32c(const void *bytes, size_t length, uint32_t crc);

/* CDMA_CODEC_CRC_MISMATCH if the stream has another CRC-32C than the expected one. */
enum cdma_codec_status cdma_check_crc(const struct cdma_stream *stream, uint32_t expected, struct cdma_fault *fault);

/* Bytes of the head of a file, and of the type in it. */
#define CDMA_HEAD_BYTES 64u
#define CDMA_TYPE_BYTES 32u

/* What the head of a file says, as cdma compress writes it in front of a stream. */
struct cdma_head {
    struct cdma_stream stream;  /* bytes and coding are not in the head; raw_bytes must be known */
    uint32_t crc32c;            /* of the stream: that of its completion, or cdma_crc32c() of it */
    unsigned element_bytes;     /* 0: a block stream; 1, 2 or 4: a line stream, and stream.block_bytes is 0 */
    char type[CDMA_TYPE_BYTES]; /* of the values, for instance "float32"; zeros behind it, none if it has 32 letters */
};

/* Write the head of a file: CDMA_HEAD_BYTES at out. The stream follows it in the file. */
enum cdma_codec_status cdma_write_head(const struct cdma_head *head, void *out);

/*
 * Read the head of a file, of which so many bytes are at hand: CDMA_HEAD_BYTES suffice. CDMA_CODEC_NO_HEAD: it begins
 * with none of this version, as a bare stream does. CDMA_CODEC_TRUNCATED_HEADER, CDMA_CODEC_CRC_MISMATCH: the head is
 * cut or damaged. CDMA_CODEC_OUTPUT_TOO_SMALL: its lengths do not fit into a size_t. After an error *head is undefined.
 *
 * head->stream.bytes is null then: read head->stream.packed_bytes more from the file (fewer are there if it was cut),
 * let it point to them, and give head->stream to cdma_check_crc() and cdma_decompress(), which refuses a line stream.
 */
enum cdma_codec_status cdma_read_head(const void *file, size_t length, struct cdma_head *head);

#ifdef __cplusplus
}
#endif

#endif
