"""Tests of cdma.hdl.common."""
