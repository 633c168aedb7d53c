"""Tests of hdl.codec.narrowing."""
