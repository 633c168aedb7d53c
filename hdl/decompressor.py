"""The zero-value decompressor: tags and non-zero elements in, raw beats out."""
from amaranth.lib import wiring
class Decompressor(wiring.Component):
    LINE_BITS = 24
