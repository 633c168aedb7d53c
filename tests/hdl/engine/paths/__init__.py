"""Tests of cdma.hdl.engine.paths."""
