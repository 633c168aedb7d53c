"""Tests of hdl.codec.blocks."""
