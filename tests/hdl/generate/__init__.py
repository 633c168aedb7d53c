"""Tests of cdma.hdl.generate."""
