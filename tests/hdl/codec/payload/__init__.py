"""Tests of cdma.hdl.codec.payload."""
