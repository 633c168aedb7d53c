"""The line codec: compressor and decompressor of zero-value coding, with their packer, row buffer and tag reader."""
