"""Tests of hdl.engine.lanes."""
