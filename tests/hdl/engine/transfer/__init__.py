"""Tests of hdl.engine.transfer."""
