"""Tests of cdma.hdl.engine.lanes."""
