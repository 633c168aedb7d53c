"""Tests of cdma.hdl.codec.blocks."""
