"""Tests of cdma.hdl.codec.narrowing."""
