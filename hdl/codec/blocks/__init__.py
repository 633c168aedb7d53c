"""Blocks: header layout, header parser and header check."""
