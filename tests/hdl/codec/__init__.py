"""Tests of cdma.hdl.codec."""
