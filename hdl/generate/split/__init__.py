"""Verilog for readers: one file a module, equal modules once, plain names, short lines."""
