"""Tests of cdma.hdl.codec.lines."""
