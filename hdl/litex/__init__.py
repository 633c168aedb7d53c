"""The engine in LiteX: a module for your SoC, and a whole SoC with its firmware."""
