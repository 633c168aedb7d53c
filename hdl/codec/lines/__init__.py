"""The line codec: compressor and decompressor of zero-value coding, with the tag in front of each line."""
