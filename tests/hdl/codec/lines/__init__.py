"""Tests of hdl.codec.lines."""
