"""Blocks: header layout, header parser, header check, count of non-zero bytes, and the choice between coded and raw."""
