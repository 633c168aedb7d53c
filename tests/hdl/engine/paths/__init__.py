"""Tests of hdl.engine.paths."""
