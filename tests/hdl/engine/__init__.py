"""Tests of cdma.hdl.engine."""
