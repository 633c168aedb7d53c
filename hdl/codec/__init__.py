"""Codings: table of element sizes, zero scan, byte routing, line codec, blocks and their headers, narrowing."""
