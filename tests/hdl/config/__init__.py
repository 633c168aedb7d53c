"""Tests of cdma.hdl.config."""
