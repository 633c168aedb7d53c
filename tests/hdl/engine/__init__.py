"""Tests of hdl.engine."""
