"""Tests of cdma.hdl.engine.transfer."""
